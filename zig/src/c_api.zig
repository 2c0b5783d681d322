//! The only exported functions. They check what the caller passes, and turn every outcome into a `Status`.

const std = @import("std");
const builtin = @import("builtin");
const abi = @import("abi.zig");
const clock = @import("clock.zig");
const loopback = @import("loopback.zig");
const Ethtool = @import("counters/ethtool.zig").Ethtool;
const Files = @import("counters/files.zig").Files;
const Nvml = @import("gpu/nvml.zig").Nvml;
const Uncore = @import("counters/uncore.zig").Uncore;
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
                .counter_value_size = @sizeOf(abi.CounterValue),
                .ethtool_reading_size = @sizeOf(abi.EthtoolReading),
                .nvml_reading_size = @sizeOf(abi.NvmlReading),
                .uncore_config_size = @sizeOf(abi.UncoreConfig),
                .uncore_counter_size = @sizeOf(abi.UncoreCounter),
                .uncore_socket_size = @sizeOf(abi.UncoreSocket),
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

        pub fn hp_counters_create(paths: [*]const u8, paths_bytes: u64, count: u64) callconv(.c) ?*abi.Counters {
            return @ptrCast(Files.create(gpa, paths[0..paths_bytes], count) catch return null);
        }

        pub fn hp_counters_read(counters: *abi.Counters, values: [*]abi.CounterValue) callconv(.c) void {
            const files = implementation(Files, counters);
            files.read(values[0..files.files.len]);
        }

        pub fn hp_counters_destroy(counters: ?*abi.Counters) callconv(.c) void {
            if (counters) |handle| implementation(Files, handle).destroy();
        }

        pub fn hp_ethtool_create(name: [*:0]const u8) callconv(.c) ?*abi.Ethtool {
            return @ptrCast(Ethtool.create(gpa, std.mem.span(name)) catch return null);
        }

        pub fn hp_ethtool_read(ethtool: *abi.Ethtool, reading: *abi.EthtoolReading) callconv(.c) abi.Status {
            if (reading.struct_size != @sizeOf(abi.EthtoolReading)) return .struct_size_mismatch;
            implementation(Ethtool, ethtool).read(reading);
            return reading.status;
        }

        pub fn hp_ethtool_values(ethtool: *const abi.Ethtool) callconv(.c) [*]const u64 {
            return &implementation(Ethtool, ethtool).stats.values;
        }

        pub fn hp_ethtool_names(ethtool: *const abi.Ethtool) callconv(.c) [*]const u8 {
            return @ptrCast(&implementation(Ethtool, ethtool).strings.names);
        }

        pub fn hp_ethtool_destroy(ethtool: ?*abi.Ethtool) callconv(.c) void {
            if (ethtool) |handle| implementation(Ethtool, handle).destroy();
        }

        pub fn hp_nvml_open(library: [*:0]const u8, outcome: *abi.Outcome) callconv(.c) ?*abi.Nvml {
            if (!begin(outcome)) return null;
            return @ptrCast(Nvml.open(gpa, library, outcome) orelse return null);
        }

        pub fn hp_nvml_missing(nvml: *const abi.Nvml) callconv(.c) [*:0]const u8 {
            return &implementation(Nvml, nvml).missing;
        }

        pub fn hp_nvml_read(nvml: *const abi.Nvml, pci: [*:0]const u8, reading: *abi.NvmlReading) callconv(.c) abi.Status {
            if (!begin(reading)) return .struct_size_mismatch;
            implementation(Nvml, nvml).read(pci, reading);
            return reading.status;
        }

        pub fn hp_nvml_reinit(nvml: *abi.Nvml, outcome: *abi.Outcome) callconv(.c) abi.Status {
            if (!begin(outcome)) return .struct_size_mismatch;
            implementation(Nvml, nvml).reinit(outcome);
            return outcome.status;
        }

        pub fn hp_nvml_close(nvml: ?*abi.Nvml) callconv(.c) void {
            if (nvml) |handle| implementation(Nvml, handle).close();
        }

        pub fn hp_uncore_discover(config: *const abi.UncoreConfig, outcome: *abi.Outcome) callconv(.c) ?*abi.Uncore {
            if (!begin(outcome)) return null;
            if (config.struct_size != @sizeOf(abi.UncoreConfig)) {
                outcome.status = .struct_size_mismatch;
                return null;
            }
            return @ptrCast(Uncore.discover(gpa, config, outcome) orelse return null);
        }

        pub fn hp_uncore_counters(uncore: *const abi.Uncore, counters: ?[*]abi.UncoreCounter, capacity: u64) callconv(.c) u64 {
            const all = implementation(Uncore, uncore).counters.items;
            if (counters) |out| for (all[0..@min(all.len, capacity)], 0..) |counter, i| {
                out[i] = counter;
            };
            return all.len;
        }

        pub fn hp_uncore_open(uncore: *abi.Uncore, outcome: *abi.Outcome) callconv(.c) abi.Status {
            if (!begin(outcome)) return .struct_size_mismatch;
            implementation(Uncore, uncore).open(outcome);
            return outcome.status;
        }

        pub fn hp_uncore_read(uncore: *abi.Uncore, sockets: ?[*]abi.UncoreSocket, capacity: u64) callconv(.c) u64 {
            const self = implementation(Uncore, uncore);
            if (sockets) |out| self.read(out[0..capacity]);
            return self.sockets.items.len;
        }

        pub fn hp_uncore_close(uncore: ?*abi.Uncore) callconv(.c) void {
            if (uncore) |handle| implementation(Uncore, handle).close();
        }
    };
}

const gpa = std.heap.c_allocator;

/// What an opaque handle stands for.
fn implementation(comptime T: type, handle: anytype) if (@typeInfo(@TypeOf(handle)).pointer.is_const) *const T else *T {
    return @ptrCast(@alignCast(handle));
}

/// Clears an out-struct; false when it is of another size than ours, and nothing of it can be written.
fn begin(out: anytype) bool {
    const Out = @TypeOf(out.*);
    if (out.struct_size != @sizeOf(Out)) return false;
    out.* = std.mem.zeroes(Out);
    out.struct_size = @sizeOf(Out);
    return true;
}

fn tokenOf(cancel: *abi.Cancel) *clock.CancelToken {
    return @ptrCast(@alignCast(cancel));
}

fn padded(comptime text: []const u8) [abi.name_bytes]u8 {
    if (text.len >= abi.name_bytes) @compileError("too long a name: " ++ text);
    return (text ++ [_]u8{0} ** (abi.name_bytes - text.len)).*;
}
