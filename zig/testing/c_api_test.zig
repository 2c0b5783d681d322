//! The exported functions, called as C calls them, over the scripted provider.

const std = @import("std");
const builtin = @import("builtin");
const abi = @import("../src/abi.zig");
const c_api = @import("../src/c_api.zig");
const fake = @import("fake_verbs.zig");
const testing = std.testing;

comptime {
    c_api.exportOver(&fake.table);
}

extern fn hp_abi_version() u32;
extern fn hp_abi_describe(*abi.Description) abi.Status;
extern fn hp_cancel_create() ?*abi.Cancel;
extern fn hp_cancel_trigger(*abi.Cancel) void;
extern fn hp_cancel_destroy(?*abi.Cancel) void;
extern fn hp_counters_create([*]const u8, u64, u64) ?*abi.Counters;
extern fn hp_counters_read(*abi.Counters, [*]abi.CounterValue) void;
extern fn hp_counters_destroy(?*abi.Counters) void;
extern fn hp_ethtool_create([*:0]const u8) ?*abi.Ethtool;
extern fn hp_ethtool_read(*abi.Ethtool, *abi.EthtoolReading) abi.Status;
extern fn hp_ethtool_destroy(?*abi.Ethtool) void;
extern fn hp_nvml_open([*:0]const u8, *abi.Outcome) ?*abi.Nvml;
extern fn hp_nvml_close(?*abi.Nvml) void;
extern fn hp_uncore_discover(*const abi.UncoreConfig, *abi.Outcome) ?*abi.Uncore;
extern fn hp_uncore_close(?*abi.Uncore) void;
extern fn hp_loopback_run(*const abi.LoopbackConfig, ?*abi.Cancel, ?[*]u64, u64, *abi.LoopbackResult) abi.Status;

test "the library describes itself" {
    try testing.expectEqual(abi.abi_version, hp_abi_version());
    var description = std.mem.zeroes(abi.Description);
    try testing.expectEqual(.struct_size_mismatch, hp_abi_describe(&description));
    description.struct_size = @sizeOf(abi.Description);
    try testing.expectEqual(.ok, hp_abi_describe(&description));
    try testing.expectEqualStrings(builtin.zig_version_string, std.mem.sliceTo(&description.zig_version, 0));
    try testing.expectEqual(@sizeOf(abi.LoopbackConfig), description.loopback_config_size);
}

test "a struct of another size is refused and not touched" {
    var config = std.mem.zeroes(abi.LoopbackConfig);
    var result = std.mem.zeroes(abi.LoopbackResult);
    config.struct_size = @sizeOf(abi.LoopbackConfig);
    result.struct_size = @sizeOf(abi.LoopbackResult) - 8;
    try testing.expectEqual(.struct_size_mismatch, hp_loopback_run(&config, null, null, 0, &result));
    try testing.expectEqual(@sizeOf(abi.LoopbackResult) - 8, result.struct_size);
    try testing.expectEqual(.ok, result.status);

    config.struct_size += 8;
    result.struct_size = @sizeOf(abi.LoopbackResult);
    try testing.expectEqual(.struct_size_mismatch, hp_loopback_run(&config, null, null, 0, &result));
}

test "a token cancels a call" {
    const token = hp_cancel_create().?;
    defer hp_cancel_destroy(token);
    hp_cancel_destroy(null);
    hp_cancel_trigger(token);
    hp_cancel_trigger(token);
    var config = std.mem.zeroes(abi.LoopbackConfig);
    config.struct_size = @sizeOf(abi.LoopbackConfig);
    @memcpy(config.device[0..5], "fake0");
    config.port = 1;
    config.gid_index = -1;
    config.connections = 1;
    config.window = 1;
    config.message_bytes = 64;
    config.region_bytes = 64;
    config.small_samples = 1;
    config.large_samples = 1;
    config.bandwidth_budget_ns = 1;
    config.bandwidth_bytes_max = 64;
    config.completion_timeout_ns = 1_000_000;
    config.deadline_ns = 60_000_000_000;
    var result = std.mem.zeroes(abi.LoopbackResult);
    result.struct_size = @sizeOf(abi.LoopbackResult);
    fake.script = .{};
    try testing.expectEqual(.cancelled, hp_loopback_run(&config, token, null, 0, &result));
    try testing.expectEqual(.cancelled, result.status);
}

test "the readers of counters refuse structs of another size" {
    var outcome = std.mem.zeroes(abi.Outcome);
    try testing.expectEqual(null, hp_nvml_open("libc.so.6", &outcome));
    try testing.expectEqual(.ok, outcome.status);
    var config = std.mem.zeroes(abi.UncoreConfig);
    outcome.struct_size = @sizeOf(abi.Outcome);
    try testing.expectEqual(null, hp_uncore_discover(&config, &outcome));
    try testing.expectEqual(.struct_size_mismatch, outcome.status);
    const ethtool = hp_ethtool_create("lo").?;
    defer hp_ethtool_destroy(ethtool);
    var reading = std.mem.zeroes(abi.EthtoolReading);
    try testing.expectEqual(.struct_size_mismatch, hp_ethtool_read(ethtool, &reading));

    hp_counters_destroy(null);
    hp_ethtool_destroy(null);
    hp_nvml_close(null);
    hp_uncore_close(null);
}

test "a library that is not NVML is incomplete, one that is not there is missing" {
    const cases = [_]struct { library: [*:0]const u8, want: abi.Status, says: []const u8 }{
        .{ .library = "libc.so.6", .want = .library_incomplete, .says = "nvmlInit_v2 nvmlShutdown" },
        .{ .library = "libhostping-no-such-library.so.1", .want = .library_missing, .says = "cannot open shared object file" },
    };
    for (cases) |case| {
        var outcome = std.mem.zeroes(abi.Outcome);
        outcome.struct_size = @sizeOf(abi.Outcome);
        try testing.expectEqual(null, hp_nvml_open(case.library, &outcome));
        try testing.expectEqual(case.want, outcome.status);
        try testing.expect(std.mem.indexOf(u8, &outcome.failure.text, case.says) != null);
    }
}

test "files are read across the boundary" {
    const paths = "/proc/self/comm\x00/nonexistent\x00/proc/sys/kernel/pid_max\x00";
    const counters = hp_counters_create(paths, paths.len, 3).?;
    defer hp_counters_destroy(counters);
    var values: [3]abi.CounterValue = undefined;
    for (0..2) |_| {
        hp_counters_read(counters, &values);
        try testing.expectEqual(.text, values[0].state);
        try testing.expectEqual(.absent, values[1].state);
        try testing.expectEqual(@as(i32, @intFromEnum(std.c.E.NOENT)), values[1].errno_value);
        try testing.expectEqual(.number, values[2].state);
        try testing.expect(values[2].value > 0);
    }
}
