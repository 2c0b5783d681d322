//! Root of the test-only shared library that is preloaded in front of libibverbs.

comptime {
    _ = @import("testing/fault_verbs.zig");
}
