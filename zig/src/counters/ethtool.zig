//! The statistics of a netdev over the kernel's ethtool ioctl: names read once, values in one call. Needs no privilege.

const std = @import("std");
const abi = @import("../abi.zig");
const failure = @import("../failure.zig");
const c = std.c;
const linux = std.os.linux;

// linux/sockios.h, linux/ethtool.h
const SIOCGIFINDEX = 0x8933;
const SIOCETHTOOL = 0x8946;
const ETHTOOL_GDRVINFO = 0x03;
const ETHTOOL_GSTRINGS = 0x1b;
const ETHTOOL_GSTATS = 0x1d;
const ETHTOOL_GSSET_INFO = 0x37;
const ETH_SS_STATS = 1;

const name_size = 16; // IFNAMSIZ

const IfReq = extern struct {
    name: [name_size]u8,
    data: extern union { pointer: ?*anyopaque, index: c_int, padding: [24]u8 },
};

const DriverInfo = extern struct {
    cmd: u32 = ETHTOOL_GDRVINFO,
    driver: [32]u8 = @splat(0),
    rest: [160]u8 = @splat(0),
};

const SetInfo = extern struct {
    cmd: u32 = ETHTOOL_GSSET_INFO,
    reserved: u32 = 0,
    mask: u64 = 1 << ETH_SS_STATS,
    count: u32 = 0,
};

const Strings = extern struct {
    cmd: u32,
    set: u32,
    count: u32,
    names: [abi.statistics_max][abi.statistic_name_bytes]u8,
};

const Stats = extern struct {
    cmd: u32,
    count: u32,
    values: [abi.statistics_max]u64,
};

comptime {
    std.debug.assert(@sizeOf(IfReq) == 40);
    std.debug.assert(@sizeOf(DriverInfo) == 196);
    std.debug.assert(@offsetOf(Strings, "names") == 12);
    std.debug.assert(@offsetOf(Stats, "values") == 8);
}

pub const Ethtool = struct {
    allocator: std.mem.Allocator,
    name: [name_size]u8,
    socket: c_int = -1,
    /// 0: nothing was read yet.
    index: c_int = 0,
    driver: [32]u8 = @splat(0),
    generation: u64 = 0,
    // Both of full size, though a NIC uses a small part of them: kernels before 7b07be1ff1cb (Linux 6.19) write as many as the driver
    // has at that moment, whatever was asked for. Untouched pages cost nothing.
    strings: *Strings,
    stats: *Stats,

    pub fn create(allocator: std.mem.Allocator, name: []const u8) error{OutOfMemory}!*Ethtool {
        std.debug.assert(name.len >= 1 and name.len < name_size);
        const self = try allocator.create(Ethtool);
        errdefer allocator.destroy(self);
        const strings = try map(Strings);
        errdefer unmap(strings);
        self.* = .{ .allocator = allocator, .name = @splat(0), .strings = strings, .stats = try map(Stats) };
        @memcpy(self.name[0..name.len], name);
        return self;
    }

    pub fn destroy(self: *Ethtool) void {
        if (self.socket >= 0) _ = c.close(self.socket);
        unmap(self.strings);
        unmap(self.stats);
        self.allocator.destroy(self);
    }

    pub fn read(self: *Ethtool, reading: *abi.EthtoolReading) void {
        reading.* = std.mem.zeroes(abi.EthtoolReading);
        reading.struct_size = @sizeOf(abi.EthtoolReading);
        self.readInto(reading) catch {
            // Whoever comes next under this name is another device.
            self.index = 0;
            return;
        };
        reading.status = .ok;
        reading.count = self.stats.count;
        reading.generation = self.generation;
        failure.put(&reading.driver, "{s}", .{std.mem.sliceTo(&self.driver, 0)});
    }

    fn readInto(self: *Ethtool, reading: *abi.EthtoolReading) failure.Error!void {
        if (self.socket < 0) {
            self.socket = c.socket(c.AF.INET, c.SOCK.DGRAM | c.SOCK.CLOEXEC, 0);
            if (self.socket < 0) return self.refuse(reading, "socket", failure.lastErrno());
        }
        var request: IfReq = .{ .name = self.name, .data = .{ .padding = @splat(0) } };
        try self.ioctl(reading, "SIOCGIFINDEX", SIOCGIFINDEX, &request);
        const index = request.data.index;
        if (index != self.index) try self.learn(reading, index);

        try self.readValues(reading);
        if (self.stats.count == self.strings.count) return;
        // The set changed, with the number of queues for one.
        try self.learn(reading, index);
        try self.readValues(reading);
        if (self.stats.count != self.strings.count)
            return self.fail(reading, .device_unusable, "ETHTOOL_GSTATS", 0, "{d} values for {d} names: the set changes while it is read", .{ self.stats.count, self.strings.count });
    }

    /// Who drives the device and what its statistics are called.
    fn learn(self: *Ethtool, reading: *abi.EthtoolReading, index: c_int) failure.Error!void {
        var info: DriverInfo = .{};
        try self.ask(reading, "ETHTOOL_GDRVINFO", &info);
        var set: SetInfo = .{};
        try self.ask(reading, "ETHTOOL_GSSET_INFO", &set);
        if (set.mask & (1 << ETH_SS_STATS) == 0 or set.count == 0)
            return self.fail(reading, .unsupported, "ETHTOOL_GSSET_INFO", 0, "driver {s} has no statistics", .{std.mem.sliceTo(&info.driver, 0)});
        if (set.count > abi.statistics_max)
            return self.fail(reading, .unsupported, "ETHTOOL_GSSET_INFO", 0, "{d} statistics, at most {d} can be read", .{ set.count, abi.statistics_max });
        self.strings.cmd = ETHTOOL_GSTRINGS;
        self.strings.set = ETH_SS_STATS;
        self.strings.count = set.count;
        try self.ask(reading, "ETHTOOL_GSTRINGS", self.strings);
        if (self.strings.count != set.count)
            return self.fail(reading, .device_unusable, "ETHTOOL_GSTRINGS", 0, "{d} names of {d}: the set changes while it is read", .{ self.strings.count, set.count });
        self.index = index;
        self.driver = info.driver;
        self.generation += 1;
    }

    fn readValues(self: *Ethtool, reading: *abi.EthtoolReading) failure.Error!void {
        self.stats.cmd = ETHTOOL_GSTATS;
        self.stats.count = self.strings.count;
        try self.ask(reading, "ETHTOOL_GSTATS", self.stats);
        self.stats.count = @min(self.stats.count, abi.statistics_max);
    }

    fn ask(self: *Ethtool, reading: *abi.EthtoolReading, operation: []const u8, data: *anyopaque) failure.Error!void {
        var request: IfReq = .{ .name = self.name, .data = .{ .pointer = data } };
        return self.ioctl(reading, operation, SIOCETHTOOL, &request);
    }

    fn ioctl(self: *Ethtool, reading: *abi.EthtoolReading, operation: []const u8, number: u32, request: *IfReq) failure.Error!void {
        const rc = linux.ioctl(self.socket, number, @intFromPtr(request));
        const errno = linux.errno(rc);
        if (errno != .SUCCESS) return self.refuse(reading, operation, @intFromEnum(errno));
    }

    fn refuse(self: *Ethtool, reading: *abi.EthtoolReading, operation: []const u8, errno: u16) failure.Error {
        return switch (@as(c.E, @enumFromInt(errno))) {
            .NODEV => self.fail(reading, if (self.index != 0) .device_removed else .device_not_found, operation, errno, "no netdev of that name in this network namespace", .{}),
            .OPNOTSUPP => self.fail(reading, .unsupported, operation, errno, "its driver does not offer this", .{}),
            .PERM, .ACCES => self.fail(reading, .permission_denied, operation, errno, "{s}", .{failure.errnoName(errno)}),
            else => self.fail(reading, .device_unusable, operation, errno, "{s}", .{failure.errnoName(errno)}),
        };
    }

    fn fail(self: *const Ethtool, reading: *abi.EthtoolReading, status: abi.Status, operation: []const u8, errno: u16, comptime reason: []const u8, args: anytype) failure.Error {
        reading.status = status;
        failure.describe(&reading.failure, operation, std.mem.sliceTo(&self.name, 0), errno, reason, args);
        return error.Failed;
    }
};

/// Zeroed, and without a page behind it until it is written to.
fn map(comptime T: type) error{OutOfMemory}!*T {
    const rc = linux.mmap(null, @sizeOf(T), .{ .READ = true, .WRITE = true }, .{ .TYPE = .PRIVATE, .ANONYMOUS = true, .NORESERVE = true }, -1, 0);
    return if (linux.errno(rc) == .SUCCESS) @ptrFromInt(rc) else error.OutOfMemory;
}

fn unmap(pointer: anytype) void {
    _ = linux.munmap(@ptrCast(pointer), @sizeOf(@TypeOf(pointer.*)));
}

const testing = std.testing;

test "netdevs without statistics, and without being" {
    const cases = [_]struct { name: []const u8, want: abi.Status, operation: []const u8 }{
        .{ .name = "lo", .want = .unsupported, .operation = "ETHTOOL_GDRVINFO" },
        .{ .name = "no_such_netdev", .want = .device_not_found, .operation = "SIOCGIFINDEX" },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        const ethtool: *Ethtool = try .create(testing.allocator, case.name);
        defer ethtool.destroy();
        var reading: abi.EthtoolReading = undefined;
        for (0..2) |_| {
            ethtool.read(&reading);
            try testing.expectEqual(case.want, reading.status);
            try testing.expectEqual(0, reading.count);
            try testing.expectStringStartsWith(&reading.failure.text, case.name);
        }
    }
}
