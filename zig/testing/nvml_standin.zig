//! Test-only shared library that stands in for libnvidia-ml.so.1: GPUs that do what a small file says, which is read anew with each
//! call. It is strict where the real one is lax: calls before nvmlInit_v2 or after nvmlShutdown, one shutdown too many, and a
//! second call into a device that hangs are misuses, and counted.
//!
//! NVML_STANDIN names the file, a line for each device and one for the library, `name=value` separated by blanks:
//!   library init=CODE fail=CODE calls=N      nvmlInit_v2 returns CODE; the first N calls (of any kind but these two) return CODE
//!   0000:17:00.0 utilization=35 sent=1000 received=2000 compute=1 graphics=0 mode=0 mig=0 hang=1
//! `utilization=!3` returns code 3; a value that is not given is not supported (3). `hang=1`: calls into the device return when
//! the file says so no more, or is gone.
//! NVML_STANDIN_CENSUS names a file that holds, at any time, one line: "initialised 1 calls 12 running 0 misuses 0".
//!
//! Editions: `current`; `old` has neither MIG nor the newer versions of the process lists; `broken` lacks nvmlInit_v2.

const std = @import("std");
const c = std.c;

const Edition = @TypeOf(@import("options").edition);

const success = 0;
const uninitialized = 1;
const invalid_argument = 2;
const not_supported = 3;
const not_found = 6;
const insufficient_size = 7;

const devices_max = 16;

const Device = struct {
    pci: [32]u8 = @splat(0),
    running: std.atomic.Value(u32) = .init(0),
};

var lock: std.atomic.Mutex = .unlocked;
var initialised: i64 = 0;
var calls: u64 = 0;
var failed_calls: u64 = 0;
var running: u64 = 0;
var misuses: u64 = 0;
var devices: [devices_max]Device = @splat(.{});
var device_count: usize = 0;

fn acquire() void {
    while (!lock.tryLock()) std.atomic.spinLoopHint();
}

pub fn exportAs(comptime edition: Edition) void {
    const always = .{
        "nvmlShutdown",                "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetPcieThroughput", "nvmlDeviceGetComputeMode",         "nvmlErrorString",
    };
    inline for (always) |name| @export(&@field(Api, name), .{ .name = name });
    if (edition != .broken) @export(&Api.nvmlInit_v2, .{ .name = "nvmlInit_v2" });
    const version = if (edition == .old) "" else "_v3";
    @export(&Api.computeProcesses, .{ .name = "nvmlDeviceGetComputeRunningProcesses" ++ version });
    @export(&Api.graphicsProcesses, .{ .name = "nvmlDeviceGetGraphicsRunningProcesses" ++ version });
    if (edition != .old) @export(&Api.nvmlDeviceGetMigMode, .{ .name = "nvmlDeviceGetMigMode" });
}

const Api = struct {
    fn nvmlInit_v2() callconv(.c) c_int {
        var script: Script = .read();
        const code = script.library("init") orelse success;
        acquire();
        defer release();
        if (code == success) initialised += 1;
        return @intCast(code);
    }

    fn nvmlShutdown() callconv(.c) c_int {
        acquire();
        defer release();
        if (initialised == 0 or (initialised == 1 and running > 0)) misuses += 1;
        if (initialised == 0) return uninitialized;
        initialised -= 1;
        return success;
    }

    fn nvmlErrorString(code: c_int) callconv(.c) [*:0]const u8 {
        return switch (code) {
            success => "Success",
            uninitialized => "Uninitialized",
            not_supported => "Not Supported",
            not_found => "Not Found",
            15 => "GPU is lost",
            else => "Unknown Error",
        };
    }

    fn nvmlDeviceGetHandleByPciBusId_v2(pci: [*:0]const u8, out: *?*Device) callconv(.c) c_int {
        var script: Script = .read();
        if (begin(&script)) |code| return code;
        if (script.line(std.mem.span(pci)) == null) return not_found;
        const device = deviceOf(std.mem.span(pci)) orelse return invalid_argument;
        out.* = device;
        return success;
    }

    fn nvmlDeviceGetUtilizationRates(device: *Device, rates: *[2]c_uint) callconv(.c) c_int {
        rates[1] = 0;
        return answer(device, "utilization", &rates[0]);
    }

    fn nvmlDeviceGetPcieThroughput(device: *Device, counter: c_int, out: *c_uint) callconv(.c) c_int {
        return switch (counter) {
            0 => answer(device, "sent", out),
            1 => answer(device, "received", out),
            else => invalid_argument,
        };
    }

    fn nvmlDeviceGetComputeMode(device: *Device, out: *c_uint) callconv(.c) c_int {
        return answer(device, "mode", out);
    }

    fn nvmlDeviceGetMigMode(device: *Device, current: *c_uint, pending: *c_uint) callconv(.c) c_int {
        const code = answer(device, "mig", current);
        pending.* = current.*;
        return code;
    }

    fn computeProcesses(device: *Device, count: *c_uint, infos: ?*anyopaque) callconv(.c) c_int {
        return processes(device, "compute", count, infos);
    }

    fn graphicsProcesses(device: *Device, count: *c_uint, infos: ?*anyopaque) callconv(.c) c_int {
        return processes(device, "graphics", count, infos);
    }

    fn processes(device: *Device, comptime name: []const u8, count: *c_uint, infos: ?*anyopaque) c_int {
        const room = count.*;
        if (room > 0 and infos == null) return invalid_argument;
        const code = answer(device, name, count);
        if (code != success) return code;
        return if (count.* > room) insufficient_size else success;
    }
};

/// The code of a call that goes no further, or null.
fn begin(script: *Script) ?c_int {
    const code = script.library("fail") orelse success;
    const limit: u64 = @intCast(script.library("calls") orelse 0);
    acquire();
    defer release();
    calls += 1;
    if (initialised == 0) {
        misuses += 1;
        return uninitialized;
    }
    if (limit == 0) failed_calls = 0;
    if (code != success and failed_calls < limit) {
        failed_calls += 1;
        return @intCast(code);
    }
    return null;
}

fn answer(device: *Device, comptime name: []const u8, out: *c_uint) c_int {
    var script: Script = .read();
    if (begin(&script)) |code| return code;
    if (device.running.fetchAdd(1, .acq_rel) > 0) countMisuse();
    enter();
    defer {
        _ = device.running.fetchSub(1, .acq_rel);
        leave();
    }
    const pci = std.mem.sliceTo(&device.pci, 0);
    while (script.number(pci, "hang") orelse 0 != 0) {
        const pause: c.timespec = .{ .sec = 0, .nsec = std.time.ns_per_ms };
        _ = c.nanosleep(&pause, null);
        script = .read();
    }
    const text = script.value(pci, name) orelse return not_supported;
    if (text[0] == '!') return std.fmt.parseInt(c_int, text[1..], 10) catch invalid_argument;
    out.* = std.fmt.parseInt(c_uint, text, 10) catch return invalid_argument;
    return success;
}

fn deviceOf(pci: []const u8) ?*Device {
    acquire();
    defer release();
    for (devices[0..device_count]) |*device| if (std.mem.eql(u8, std.mem.sliceTo(&device.pci, 0), pci)) return device;
    if (device_count == devices_max or pci.len >= devices[0].pci.len) return null;
    const device = &devices[device_count];
    device_count += 1;
    @memcpy(device.pci[0..pci.len], pci);
    return device;
}

fn countMisuse() void {
    acquire();
    defer release();
    misuses += 1;
}

fn enter() void {
    acquire();
    defer release();
    running += 1;
}

fn leave() void {
    acquire();
    defer release();
    running -= 1;
}

/// Unlocks, after the census was written.
fn release() void {
    defer lock.unlock();
    const path = c.getenv("NVML_STANDIN_CENSUS") orelse return;
    var buffer: [128]u8 = undefined;
    const text = std.fmt.bufPrint(&buffer, "initialised {d} calls {d} running {d} misuses {d}\n", .{ initialised, calls, running, misuses }) catch unreachable;
    const fd = c.open(path, .{ .ACCMODE = .WRONLY, .CREAT = true, .CLOEXEC = true }, @as(c_uint, 0o644));
    if (fd < 0) return;
    _ = c.pwrite(fd, text.ptr, text.len, 0);
    _ = c.ftruncate(fd, @intCast(text.len));
    _ = c.close(fd);
}

const Script = struct {
    buffer: [4096]u8 = undefined,
    len: usize = 0,

    fn read() Script {
        var script: Script = .{};
        const path = c.getenv("NVML_STANDIN") orelse return script;
        const fd = c.open(path, .{ .ACCMODE = .RDONLY, .CLOEXEC = true });
        if (fd < 0) return script;
        defer _ = c.close(fd);
        const n = c.read(fd, &script.buffer, script.buffer.len);
        if (n > 0) script.len = @intCast(n);
        return script;
    }

    /// What follows `name` on its line.
    fn line(self: *const Script, name: []const u8) ?[]const u8 {
        var lines = std.mem.tokenizeScalar(u8, self.buffer[0..self.len], '\n');
        while (lines.next()) |text| {
            var words = std.mem.tokenizeScalar(u8, text, ' ');
            if (std.mem.eql(u8, words.next() orelse continue, name)) return words.rest();
        }
        return null;
    }

    fn value(self: *const Script, object: []const u8, name: []const u8) ?[]const u8 {
        var words = std.mem.tokenizeScalar(u8, self.line(object) orelse return null, ' ');
        while (words.next()) |word| {
            if (word.len > name.len + 1 and word[name.len] == '=' and std.mem.startsWith(u8, word, name)) return word[name.len + 1 ..];
        }
        return null;
    }

    fn number(self: *const Script, object: []const u8, name: []const u8) ?i64 {
        return std.fmt.parseInt(i64, self.value(object, name) orelse return null, 10) catch null;
    }

    fn library(self: *const Script, name: []const u8) ?i64 {
        return self.number("library", name);
    }
};
