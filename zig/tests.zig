//! Root of the Zig tests.

test {
    _ = @import("src/clock.zig");
    _ = @import("src/counters/ethtool.zig");
    _ = @import("src/counters/files.zig");
    _ = @import("src/counters/uncore.zig");
    _ = @import("src/counters/uncore_events.zig");
    _ = @import("src/gid.zig");
    _ = @import("src/numa.zig");
    _ = @import("src/region.zig");
    _ = @import("src/samples.zig");
    _ = @import("src/sysfs.zig");
    _ = @import("testing/c_api_test.zig");
    _ = @import("testing/fault_verbs.zig");
    _ = @import("testing/header_test.zig");
    _ = @import("testing/loopback_test.zig");
}
