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
