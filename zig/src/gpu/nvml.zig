//! NVIDIA's management library, found at run time: what its GPUs are doing. Every call may hang in the driver, so the caller
//! keeps a thread for each device. Numbers and names are those of NVIDIA's nvml.h.

const std = @import("std");
const abi = @import("../abi.zig");
const failure = @import("../failure.zig");
const c = std.c;

const success = 0;
const insufficient_size = 7;
const function_not_found = 13;

const pcie_util_tx_bytes = 0;
const pcie_util_rx_bytes = 1;
/// nvmlDeviceGetPcieThroughput counts in KB/s.
const pcie_unit_bytes = 1000;

const Device = *opaque {};
const Utilization = extern struct { gpu: c_uint, memory: c_uint };

const DeviceNumber = *const fn (Device, *c_uint) callconv(.c) c_int;
/// The infos are never asked for, so their size, in which the versions differ, does not matter.
const Processes = *const fn (Device, *c_uint, ?*anyopaque) callconv(.c) c_int;

/// The calls, each with its names from the newest to the oldest that works for us.
const Calls = struct {
    init: *const fn () callconv(.c) c_int,
    shutdown: *const fn () callconv(.c) c_int,
    handle: *const fn ([*:0]const u8, *Device) callconv(.c) c_int,
    utilization: ?*const fn (Device, *Utilization) callconv(.c) c_int,
    pcie: ?*const fn (Device, c_int, *c_uint) callconv(.c) c_int,
    compute: ?Processes,
    graphics: ?Processes,
    compute_mode: ?DeviceNumber,
    mig_mode: ?*const fn (Device, *c_uint, *c_uint) callconv(.c) c_int,
    error_string: ?*const fn (c_int) callconv(.c) ?[*:0]const u8,

    const names = .{
        .init = .{"nvmlInit_v2"},
        .shutdown = .{"nvmlShutdown"},
        .handle = .{"nvmlDeviceGetHandleByPciBusId_v2"},
        .utilization = .{"nvmlDeviceGetUtilizationRates"},
        .pcie = .{"nvmlDeviceGetPcieThroughput"},
        .compute = .{ "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses" },
        .graphics = .{ "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses" },
        .compute_mode = .{"nvmlDeviceGetComputeMode"},
        .mig_mode = .{"nvmlDeviceGetMigMode"},
        .error_string = .{"nvmlErrorString"},
    };

    /// Symbols that are missing are named in `missing`; false when it cannot do without one of them.
    fn load(self: *Calls, library: *anyopaque, missing: *std.Io.Writer) bool {
        var complete = true;
        inline for (@typeInfo(Calls).@"struct".fields) |field| {
            const required = @typeInfo(field.type) != .optional;
            const aliases = @field(names, field.name);
            const symbol = inline for (aliases) |name| {
                if (c.dlsym(library, name)) |symbol| break symbol;
            } else null;
            if (symbol == null) {
                if (required) complete = false;
                missing.print("{s}{s}", .{ if (missing.end > 0) " " else "", aliases[0] }) catch {};
            }
            if (required) {
                if (symbol) |found| @field(self, field.name) = @ptrCast(@alignCast(found));
            } else {
                @field(self, field.name) = if (symbol) |found| @ptrCast(@alignCast(found)) else null;
            }
        }
        return complete;
    }
};

pub const Nvml = struct {
    allocator: std.mem.Allocator,
    library: *anyopaque,
    calls: Calls,
    initialised: bool,
    missing: [512:0]u8,

    /// Null with the reason in `outcome`.
    pub fn open(allocator: std.mem.Allocator, name: [*:0]const u8, outcome: *abi.Outcome) ?*Nvml {
        const self = allocator.create(Nvml) catch {
            fail(outcome, .memory_refused, "malloc", std.mem.span(name), 0, "no memory for its handle", .{});
            return null;
        };
        self.load(allocator, name, outcome) catch {
            allocator.destroy(self);
            return null;
        };
        return self;
    }

    fn load(self: *Nvml, allocator: std.mem.Allocator, name: [*:0]const u8, outcome: *abi.Outcome) failure.Error!void {
        const object = std.mem.span(name);
        const library = c.dlopen(name, .{ .NOW = true }) orelse {
            const reason = if (c.dlerror()) |text| std.mem.span(text) else "no reason given";
            fail(outcome, .library_missing, "dlopen", object, 0, "{s}", .{reason});
            return error.Failed;
        };
        errdefer _ = c.dlclose(library);
        self.* = .{ .allocator = allocator, .library = library, .calls = undefined, .initialised = false, .missing = @splat(0) };
        var missing: std.Io.Writer = .fixed(&self.missing);
        if (!self.calls.load(library, &missing)) {
            fail(outcome, .library_incomplete, "dlsym", object, 0, "it lacks {s}", .{missing.buffered()});
            return error.Failed;
        }
        self.initialise(outcome);
        if (outcome.status != .ok) return error.Failed;
    }

    fn initialise(self: *Nvml, outcome: *abi.Outcome) void {
        const code = self.calls.init();
        self.initialised = code == success;
        if (code == success) {
            outcome.status = .ok;
        } else {
            fail(outcome, .library_refused, "nvmlInit_v2", "NVML", code, "{s} ({d})", .{ self.errorText(code), code });
        }
    }

    pub fn reinit(self: *Nvml, outcome: *abi.Outcome) void {
        if (self.initialised) _ = self.calls.shutdown();
        self.initialised = false;
        self.initialise(outcome);
    }

    pub fn close(self: *Nvml) void {
        if (self.initialised) _ = self.calls.shutdown();
        _ = c.dlclose(self.library);
        self.allocator.destroy(self);
    }

    pub fn read(self: *const Nvml, pci: [*:0]const u8, reading: *abi.NvmlReading) void {
        var device: Device = undefined;
        // Looked up each time: handles end with a new initialisation, and a GPU may have come back.
        const code = self.calls.handle(pci, &device);
        if (code != success) {
            reading.status = .library_refused;
            describe(&reading.failure, "nvmlDeviceGetHandleByPciBusId_v2", std.mem.span(pci), code, "{s} ({d})", .{ self.errorText(code), code });
            return;
        }
        reading.status = .ok;
        reading.utilization_percent = self.utilization(device);
        reading.pcie_sent_bytes_per_second = self.pcieThroughput(device, pcie_util_tx_bytes);
        reading.pcie_received_bytes_per_second = self.pcieThroughput(device, pcie_util_rx_bytes);
        reading.compute_processes = countProcesses(self.calls.compute, device);
        reading.graphics_processes = countProcesses(self.calls.graphics, device);
        reading.compute_mode = self.computeMode(device);
        reading.mig_mode = self.migMode(device);
    }

    fn utilization(self: *const Nvml, device: Device) abi.NvmlValue {
        const call = self.calls.utilization orelse return absent(function_not_found);
        var rates: Utilization = undefined;
        const code = call(device, &rates);
        return if (code == success) value(rates.gpu) else absent(code);
    }

    fn pcieThroughput(self: *const Nvml, device: Device, counter: c_int) abi.NvmlValue {
        const call = self.calls.pcie orelse return absent(function_not_found);
        var throughput: c_uint = undefined;
        const code = call(device, counter, &throughput);
        return if (code == success) value(@as(u64, throughput) * pcie_unit_bytes) else absent(code);
    }

    fn computeMode(self: *const Nvml, device: Device) abi.NvmlValue {
        const call = self.calls.compute_mode orelse return absent(function_not_found);
        var mode: c_uint = undefined;
        const code = call(device, &mode);
        return if (code == success) value(mode) else absent(code);
    }

    fn migMode(self: *const Nvml, device: Device) abi.NvmlValue {
        const call = self.calls.mig_mode orelse return absent(function_not_found);
        var current: c_uint = undefined;
        var pending: c_uint = undefined;
        const code = call(device, &current, &pending);
        return if (code == success) value(current) else absent(code);
    }

    fn errorText(self: *const Nvml, code: c_int) []const u8 {
        const call = self.calls.error_string orelse return "NVML error";
        return if (call(code)) |text| std.mem.span(text) else "NVML error";
    }
};

/// Asked with room for none: success means that there is none, "insufficient size" tells how many there are.
fn countProcesses(call: ?Processes, device: Device) abi.NvmlValue {
    var count: c_uint = 0;
    const code = (call orelse return absent(function_not_found))(device, &count, null);
    return switch (code) {
        success, insufficient_size => value(count),
        else => absent(code),
    };
}

fn value(number: u64) abi.NvmlValue {
    return .{ .value = number, .code = success, .reserved = 0 };
}

fn absent(code: c_int) abi.NvmlValue {
    return .{ .value = 0, .code = code, .reserved = 0 };
}

fn fail(outcome: *abi.Outcome, status: abi.Status, operation: []const u8, object: []const u8, code: c_int, comptime reason: []const u8, args: anytype) void {
    outcome.status = status;
    describe(&outcome.failure, operation, object, code, reason, args);
}

fn describe(out: *abi.Failure, operation: []const u8, object: []const u8, code: c_int, comptime reason: []const u8, args: anytype) void {
    failure.describe(out, operation, object, 0, reason, args);
    out.library_code = code;
}
