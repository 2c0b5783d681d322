//! Uncore PMUs: what a socket's memory channels and inter-socket links carry, counted by the hardware for everybody on the
//! host. What there is, is read from sysfs; a kernel or a virtual machine may show none.

const std = @import("std");
const abi = @import("../abi.zig");
const events = @import("uncore_events.zig");
const failure = @import("../failure.zig");
const sysfs = @import("../sysfs.zig");
const c = std.c;
const linux = std.os.linux;

const Error = failure.Error;

const pmus_max = 256;
const devices_dir = "bus/event_source/devices";

// linux/perf_event.h
const format_total_times = 1 << 0 | 1 << 1; // PERF_FORMAT_TOTAL_TIME_ENABLED, …_RUNNING
const flag_fd_cloexec = 1 << 3;

pub const Uncore = struct {
    allocator: std.mem.Allocator,
    counters: std.ArrayList(abi.UncoreCounter) = .empty,
    /// One for each counter once opened, else none.
    open_events: []Open = &.{},
    /// Ascending.
    sockets: std.ArrayList(u32) = .empty,

    const Open = struct {
        fd: c_int,
        last: Reading = .{ .count = 0, .enabled_ns = 0, .running_ns = 0 },
        /// Since it was opened, filled up for the time that it did not run.
        total: u64 = 0,
    };

    pub fn discover(allocator: std.mem.Allocator, config: *const abi.UncoreConfig, outcome: *abi.Outcome) ?*Uncore {
        var discovery: Discovery = .{
            .kind = config.kind,
            .root = std.mem.sliceTo(&config.sysfs_root, 0),
            .cpu = if (config.cpu_family == 0 and config.cpu_model == 0) .this() else .{ .family = config.cpu_family, .model = config.cpu_model },
            .outcome = outcome,
        };
        const self = allocator.create(Uncore) catch {
            discovery.tellNoMemory();
            return null;
        };
        self.* = .{ .allocator = allocator };
        discovery.run(self) catch |err| {
            if (err == error.OutOfMemory) discovery.tellNoMemory();
            self.close();
            return null;
        };
        outcome.status = .ok;
        return self;
    }

    pub fn close(self: *Uncore) void {
        self.closeEvents();
        self.counters.deinit(self.allocator);
        self.sockets.deinit(self.allocator);
        self.allocator.destroy(self);
    }

    fn closeEvents(self: *Uncore) void {
        for (self.open_events) |event| if (event.fd >= 0) {
            _ = c.close(event.fd);
        };
        self.allocator.free(self.open_events);
        self.open_events = &.{};
    }

    pub fn open(self: *Uncore, outcome: *abi.Outcome) void {
        std.debug.assert(self.open_events.len == 0);
        self.openAll(outcome) catch return self.closeEvents();
        outcome.status = .ok;
    }

    fn openAll(self: *Uncore, outcome: *abi.Outcome) Error!void {
        self.open_events = self.allocator.alloc(Open, self.counters.items.len) catch
            return report(outcome, .memory_refused, "malloc", "uncore PMUs", 0, "no memory for their events", .{});
        for (self.open_events) |*event| event.* = .{ .fd = -1 };
        for (self.open_events, self.counters.items) |*event, *counter| {
            var attributes: linux.perf_event_attr = .{
                .type = @enumFromInt(counter.pmu_type),
                .config = counter.config,
                .config1 = counter.config1,
                .config2 = counter.config2,
                .read_format = format_total_times,
            };
            // Everybody's events, on the CPU that the PMU's mask names.
            const rc = linux.perf_event_open(&attributes, -1, @intCast(counter.cpu), -1, flag_fd_cloexec);
            const errno = linux.errno(rc);
            if (errno != .SUCCESS) return explain(outcome, counter, @intFromEnum(errno));
            event.fd = @intCast(rc);
            event.last = readEvent(event.fd) orelse
                return report(outcome, .pmu_refused, "read", std.mem.sliceTo(&counter.pmu, 0), failure.lastErrno(), "event {s} opens and cannot be read", .{std.mem.sliceTo(&counter.event, 0)});
        }
    }

    /// Ascending by socket; a sum without all of its parts is absent.
    pub fn read(self: *Uncore, sockets: []abi.UncoreSocket) void {
        const covered = @min(sockets.len, self.sockets.items.len);
        for (sockets[0..covered], self.sockets.items[0..covered]) |*out, socket| {
            out.* = .{ .socket = socket, .reserved = 0, .read_bytes = .absent, .written_bytes = .absent, .sent_bytes = .absent };
            inline for (.{ abi.UncoreDirection.read, .written, .sent }, .{ "read_bytes", "written_bytes", "sent_bytes" }) |direction, field|
                @field(out, field) = .of(self.sum(socket, direction));
        }
    }

    fn sum(self: *Uncore, socket: u32, direction: abi.UncoreDirection) ?u64 {
        var bytes: ?u64 = null;
        var complete = true;
        for (self.open_events, self.counters.items) |*event, *counter| {
            if (counter.socket != socket or counter.direction != direction) continue;
            // All of them are read, also past one that fails: their next deltas begin here.
            if (advance(event)) |total| {
                bytes = (bytes orelse 0) +% @as(u64, @truncate(@as(u128, total) * counter.bytes_numerator / counter.bytes_denominator));
            } else complete = false;
        }
        return if (complete) bytes else null;
    }

    /// The total up to now; null when the event cannot be read, or did not get to count since the last time.
    fn advance(event: *Open) ?u64 {
        const now = readEvent(event.fd) orelse return null;
        const grown = scaled(event.last, now) orelse return null;
        event.total +%= grown;
        event.last = now;
        return event.total;
    }
};

const Reading = struct { count: u64, enabled_ns: u64, running_ns: u64 };

fn readEvent(fd: c_int) ?Reading {
    var values: [3]u64 = undefined;
    const n = c.read(fd, @ptrCast(&values), @sizeOf(@TypeOf(values)));
    if (n != @sizeOf(@TypeOf(values))) return null;
    return .{ .count = values[0], .enabled_ns = values[1], .running_ns = values[2] };
}

/// What was counted between two readings, filled up in proportion for the time in which others had the counter.
fn scaled(before: Reading, now: Reading) ?u64 {
    const count = now.count -% before.count;
    const enabled = now.enabled_ns -% before.enabled_ns;
    const running = now.running_ns -% before.running_ns;
    if (enabled == running) return count;
    if (running == 0) return null;
    return @truncate(@as(u128, count) * enabled / running);
}

fn explain(outcome: *abi.Outcome, counter: *const abi.UncoreCounter, errno: u16) Error {
    const pmu = std.mem.sliceTo(&counter.pmu, 0);
    return switch (@as(c.E, @enumFromInt(errno))) {
        .ACCES, .PERM => {
            var buffer: [16]u8 = undefined;
            const paranoid = sysfs.readText(&buffer, "/proc/sys/kernel", "perf_event_paranoid") orelse "unreadable";
            return report(outcome, .permission_denied, "perf_event_open", pmu, errno, "{s}; it needs CAP_PERFMON, or kernel.perf_event_paranoid at 0 or below (it is {s})", .{ failure.errnoName(errno), paranoid });
        },
        else => report(outcome, .pmu_refused, "perf_event_open", pmu, errno, "{s} for event {s} on CPU {d}", .{ failure.errnoName(errno), std.mem.sliceTo(&counter.event, 0), counter.cpu }),
    };
}

fn report(outcome: *abi.Outcome, status: abi.Status, operation: []const u8, object: []const u8, errno: u16, comptime reason: []const u8, args: anytype) Error {
    outcome.status = status;
    failure.describe(&outcome.failure, operation, object, errno, reason, args);
    return error.Failed;
}

const Name = struct {
    bytes: [abi.name_bytes]u8,

    fn text(self: *const Name) []const u8 {
        return std.mem.sliceTo(&self.bytes, 0);
    }

    /// uncore_imc_9 before uncore_imc_10.
    fn lessThan(_: void, a: Name, b: Name) bool {
        if (a.text().len != b.text().len) return a.text().len < b.text().len;
        return std.mem.lessThan(u8, a.text(), b.text());
    }
};

const Discovery = struct {
    kind: abi.UncoreKind,
    root: []const u8,
    cpu: events.Cpu,
    outcome: *abi.Outcome,

    fn fail(self: *const Discovery, status: abi.Status, operation: []const u8, object: []const u8, comptime reason: []const u8, args: anytype) Error {
        return report(self.outcome, status, operation, object, 0, reason, args);
    }

    fn tellNoMemory(self: *const Discovery) void {
        self.fail(.memory_refused, "malloc", "uncore PMUs", "no memory for their list", .{}) catch {};
    }

    fn prefixes(self: *const Discovery) []const []const u8 {
        return switch (self.kind) {
            .memory => &.{"uncore_imc"},
            .inter_socket => &.{ "uncore_upi", "uncore_qpi" },
        };
    }

    fn run(self: *const Discovery, uncore: *Uncore) (Error || error{OutOfMemory})!void {
        var names: std.ArrayList(Name) = .empty;
        defer names.deinit(uncore.allocator);
        try self.list(uncore.allocator, &names);
        for (names.items) |*name| try self.addPmu(uncore, name.text());
        std.mem.sort(u32, uncore.sockets.items, {}, std.sort.asc(u32));
    }

    /// The PMUs of the kind. A controller may show the same traffic twice: free-running counters only count where there are no others.
    fn list(self: *const Discovery, allocator: std.mem.Allocator, names: *std.ArrayList(Name)) (Error || error{OutOfMemory})!void {
        var path_buffer: [abi.path_bytes + 64]u8 = undefined;
        const path = std.fmt.bufPrintSentinel(&path_buffer, "{s}/{s}", .{ self.root, devices_dir }, 0) catch unreachable;
        const dir = c.opendir(path) orelse return report(self.outcome, .pmu_missing, "opendir", path, failure.lastErrno(), "{s}", .{failure.errnoName(failure.lastErrno())});
        defer _ = c.closedir(dir);
        var programmable = false;
        while (c.readdir(dir)) |entry| {
            const name = std.mem.sliceTo(&entry.name, 0);
            if (name.len >= abi.name_bytes or !self.wants(name)) continue;
            if (names.items.len == pmus_max) return self.fail(.unsupported, "readdir", path, "more than {d} PMUs", .{pmus_max});
            programmable = programmable or std.mem.indexOf(u8, name, events.free_running) == null;
            var item: Name = .{ .bytes = @splat(0) };
            @memcpy(item.bytes[0..name.len], name);
            try names.append(allocator, item);
        }
        if (names.items.len == 0)
            return self.fail(.pmu_missing, "readdir", path, "the kernel shows no {s} PMU (a virtual machine, another CPU, or intel_uncore not loaded)", .{self.prefixes()[0]});
        if (programmable) {
            var kept: usize = 0;
            for (names.items) |name| {
                if (std.mem.indexOf(u8, name.text(), events.free_running) != null) continue;
                names.items[kept] = name;
                kept += 1;
            }
            names.shrinkRetainingCapacity(kept);
        }
        std.mem.sort(Name, names.items, {}, Name.lessThan);
    }

    /// "uncore_imc", "uncore_imc_3", "uncore_imc_free_running_0"; not "uncore_imc_something_else".
    fn wants(self: *const Discovery, name: []const u8) bool {
        for (self.prefixes()) |prefix| {
            if (!std.mem.startsWith(u8, name, prefix)) continue;
            var rest = name[prefix.len..];
            if (std.mem.startsWith(u8, rest, events.free_running)) rest = rest[events.free_running.len..];
            if (rest.len == 0) return true;
            if (rest.len < 2 or rest[0] != '_') return false;
            return for (rest[1..]) |char| {
                if (!std.ascii.isDigit(char)) break false;
            } else true;
        }
        return false;
    }

    fn addPmu(self: *const Discovery, uncore: *Uncore, pmu: []const u8) (Error || error{OutOfMemory})!void {
        var dir_buffer: [abi.path_bytes + 128]u8 = undefined;
        const dir = std.fmt.bufPrint(&dir_buffer, "{s}/{s}/{s}", .{ self.root, devices_dir, pmu }) catch unreachable;
        const pmu_type = sysfs.readNumber(dir, "type") orelse return self.fail(.pmu_unknown, "type", pmu, "its file type cannot be read", .{});
        var mask_buffer: [1024]u8 = undefined;
        const mask = sysfs.readText(&mask_buffer, dir, "cpumask") orelse return self.fail(.pmu_unknown, "cpumask", pmu, "its file cpumask cannot be read", .{});
        var cpus: CpuList = .{};
        sysfs.forEachInList(mask, &cpus, CpuList.add) catch {
            cpus.count = 0;
        };
        if (cpus.count == 0 or cpus.overflow) return self.fail(.pmu_unknown, "cpumask", pmu, "its file cpumask holds {s}", .{mask});

        for (events.choices(self.kind)) |set| {
            var resolved: [4]events.Resolved = undefined;
            std.debug.assert(set.len <= resolved.len);
            for (set, resolved[0..set.len]) |event, *slot| {
                slot.* = (events.resolve(self.cpu, dir, pmu, event.name) catch
                    return self.fail(.pmu_unknown, event.name, pmu, "its description of the event makes no sense", .{})) orelse break;
            } else {
                for (cpus.items[0..cpus.count]) |cpu| {
                    const socket = try self.socketOf(uncore, pmu, cpu);
                    for (set, resolved[0..set.len]) |event, *how| {
                        if (uncore.counters.items.len == abi.uncore_counters_max)
                            return self.fail(.unsupported, event.name, pmu, "more than {d} events", .{abi.uncore_counters_max});
                        try uncore.counters.append(uncore.allocator, counterOf(pmu, event, how, cpu, socket, @truncate(pmu_type)));
                    }
                }
                return;
            }
        }
        return self.fail(.pmu_unknown, "events", pmu, "neither sysfs nor hostping's table describes its events (CPU family {d} model {d})", .{ self.cpu.family, self.cpu.model });
    }

    fn socketOf(self: *const Discovery, uncore: *Uncore, pmu: []const u8, cpu: u32) (Error || error{OutOfMemory})!u32 {
        var dir_buffer: [abi.path_bytes + 64]u8 = undefined;
        const dir = std.fmt.bufPrint(&dir_buffer, "{s}/devices/system/cpu/cpu{d}/topology", .{ self.root, cpu }) catch unreachable;
        const package = sysfs.readNumber(dir, "physical_package_id") orelse
            return self.fail(.pmu_unknown, "cpumask", pmu, "the socket of CPU {d} cannot be read", .{cpu});
        const socket = std.math.cast(u32, package) orelse return self.fail(.pmu_unknown, "cpumask", pmu, "CPU {d} is of socket {d}", .{ cpu, package });
        if (std.mem.indexOfScalar(u32, uncore.sockets.items, socket) == null) {
            if (uncore.sockets.items.len == abi.sockets_max) return self.fail(.unsupported, "cpumask", pmu, "more than {d} sockets", .{abi.sockets_max});
            try uncore.sockets.append(uncore.allocator, socket);
        }
        return socket;
    }
};

fn counterOf(pmu: []const u8, event: events.Event, how: *const events.Resolved, cpu: u32, socket: u32, pmu_type: u32) abi.UncoreCounter {
    var counter = std.mem.zeroes(abi.UncoreCounter);
    failure.put(&counter.pmu, "{s}", .{pmu});
    failure.put(&counter.event, "{s}", .{event.name});
    if (how.source) |source| {
        failure.put(&counter.source, "{s}", .{source});
    } else {
        failure.put(&counter.source, "{s}/{s}/events/{s} in sysfs", .{ devices_dir, pmu, event.name });
    }
    counter.direction = event.direction;
    counter.cpu = cpu;
    counter.socket = socket;
    counter.pmu_type = pmu_type;
    counter.config, counter.config1, counter.config2 = how.encoding.config;
    counter.bytes_numerator = how.ratio.numerator;
    counter.bytes_denominator = how.ratio.denominator;
    return counter;
}

const CpuList = struct {
    items: [abi.sockets_max * 4]u32 = undefined,
    count: usize = 0,
    overflow: bool = false,

    fn add(self: *CpuList, cpu: usize) void {
        if (self.count == self.items.len) {
            self.overflow = true;
            return;
        }
        self.items[self.count] = @intCast(cpu);
        self.count += 1;
    }
};

const testing = std.testing;

test "what did not run all the time is filled up" {
    const cases = [_]struct { name: []const u8, before: Reading, now: Reading, want: ?u64 }{
        .{ .name = "alone", .before = .{ .count = 10, .enabled_ns = 100, .running_ns = 100 }, .now = .{ .count = 110, .enabled_ns = 200, .running_ns = 200 }, .want = 100 },
        .{ .name = "half of the time", .before = .{ .count = 10, .enabled_ns = 100, .running_ns = 100 }, .now = .{ .count = 60, .enabled_ns = 200, .running_ns = 150 }, .want = 100 },
        .{ .name = "never", .before = .{ .count = 10, .enabled_ns = 100, .running_ns = 100 }, .now = .{ .count = 10, .enabled_ns = 200, .running_ns = 100 }, .want = null },
        .{ .name = "at once", .before = .{ .count = 10, .enabled_ns = 100, .running_ns = 100 }, .now = .{ .count = 10, .enabled_ns = 100, .running_ns = 100 }, .want = 0 },
        .{ .name = "wrapped", .before = .{ .count = std.math.maxInt(u64), .enabled_ns = 0, .running_ns = 0 }, .now = .{ .count = 4, .enabled_ns = 1, .running_ns = 1 }, .want = 5 },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        try testing.expectEqual(case.want, scaled(case.before, case.now));
    }
}

test "names of PMUs" {
    var outcome: abi.Outcome = undefined;
    const cases = [_]struct { kind: abi.UncoreKind, name: []const u8, want: bool }{
        .{ .kind = .memory, .name = "uncore_imc", .want = true },
        .{ .kind = .memory, .name = "uncore_imc_11", .want = true },
        .{ .kind = .memory, .name = "uncore_imc_free_running_3", .want = true },
        .{ .kind = .memory, .name = "uncore_imc_free_running", .want = true },
        .{ .kind = .memory, .name = "uncore_imc_", .want = false },
        .{ .kind = .memory, .name = "uncore_imcx", .want = false },
        .{ .kind = .memory, .name = "uncore_upi_0", .want = false },
        .{ .kind = .inter_socket, .name = "uncore_upi_2", .want = true },
        .{ .kind = .inter_socket, .name = "uncore_qpi_1", .want = true },
        .{ .kind = .inter_socket, .name = "uncore_m3upi_0", .want = false },
        .{ .kind = .inter_socket, .name = "cpu", .want = false },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        const discovery: Discovery = .{ .kind = case.kind, .root = "", .cpu = .{ .family = 6, .model = 85 }, .outcome = &outcome };
        try testing.expectEqual(case.want, discovery.wants(case.name));
    }
}
