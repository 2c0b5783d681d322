//! The only exported functions. They check what the caller passes, and turn every outcome into a `Status`.

const std = @import("std");
const builtin = @import("builtin");
const abi = @import("abi.zig");
const clock = @import("clock.zig");
const loopback = @import("loopback.zig");
const verbs = @import("verbs.zig");

/// Exports every function of `abi.functions`, with its verbs going through `table`.
pub fn exportOver(comptime table: *const verbs.Table) void {
    const Api = ApiOver(table);
    for (abi.functions) |function| {
        if (@TypeOf(@field(Api, function.name)) != function.Type) @compileError(function.name ++ " differs from abi.zig");
        @export(&@field(Api, function.name), .{ .name = function.name });
    }
}

pub const panic = std.debug.FullPanic(struct {
    /// A programming error: one line, then the end. No unwinding, the debug information is not shipped.
    fn panic(message: []const u8, _: ?usize) noreturn {
        @branchHint(.cold);
        const stderr = 2;
        for ([_][]const u8{ "hostping: internal error: ", message, "\n" }) |part| _ = std.c.write(stderr, part.ptr, part.len);
        std.c.abort();
    }
}.panic);

fn ApiOver(comptime table: *const verbs.Table) type {
    return struct {
        pub fn hp_abi_version() callconv(.c) u32 {
            return abi.abi_version;
        }

        pub fn hp_abi_describe(description: *abi.Description) callconv(.c) abi.Status {
            if (description.struct_size != @sizeOf(abi.Description)) return .struct_size_mismatch;
            description.* = .{
                .struct_size = @sizeOf(abi.Description),
                .abi_version = abi.abi_version,
                .failure_size = @sizeOf(abi.Failure),
                .loopback_config_size = @sizeOf(abi.LoopbackConfig),
                .loopback_result_size = @sizeOf(abi.LoopbackResult),
                .status_count = @typeInfo(abi.Status).@"enum".fields.len,
                .zig_version = comptime padded(builtin.zig_version_string),
                .optimize_mode = comptime padded(@tagName(builtin.mode)),
            };
            return .ok;
        }

        pub fn hp_cancel_create() callconv(.c) ?*abi.Cancel {
            const token = std.heap.c_allocator.create(clock.CancelToken) catch return null;
            token.* = .{};
            return @ptrCast(token);
        }

        pub fn hp_cancel_trigger(cancel: *abi.Cancel) callconv(.c) void {
            tokenOf(cancel).triggered.store(true, .release);
        }

        pub fn hp_cancel_destroy(cancel: ?*abi.Cancel) callconv(.c) void {
            if (cancel) |handle| std.heap.c_allocator.destroy(tokenOf(handle));
        }

        pub fn hp_loopback_run(
            config: *const abi.LoopbackConfig,
            cancel: ?*abi.Cancel,
            small_ns: ?[*]u64,
            small_ns_capacity: u64,
            result: *abi.LoopbackResult,
        ) callconv(.c) abi.Status {
            // A result of another size may be smaller than ours: nothing of it can be written.
            if (result.struct_size != @sizeOf(abi.LoopbackResult) or config.struct_size != @sizeOf(abi.LoopbackConfig))
                return .struct_size_mismatch;
            const samples: []u64 = if (small_ns) |pointer| pointer[0..small_ns_capacity] else &.{};
            const token: ?*const clock.CancelToken = if (cancel) |handle| tokenOf(handle) else null;
            loopback.run(table, std.heap.c_allocator, config, token, samples, result);
            return result.status;
        }
    };
}

fn tokenOf(cancel: *abi.Cancel) *clock.CancelToken {
    return @ptrCast(@alignCast(cancel));
}

fn padded(comptime text: []const u8) [abi.name_bytes]u8 {
    if (text.len >= abi.name_bytes) @compileError("too long a name: " ++ text);
    return (text ++ [_]u8{0} ** (abi.name_bytes - text.len)).*;
}
