//! Small files of the kernel: whole reads into a caller's buffer, nothing kept open. What cannot be read is null.

const std = @import("std");
const abi = @import("abi.zig");
const c = std.c;

/// The trimmed text of `dir`/`name`.
pub fn readText(buffer: []u8, dir: []const u8, name: []const u8) ?[]const u8 {
    var path_buffer: [512]u8 = undefined;
    const path = std.fmt.bufPrintSentinel(&path_buffer, "{s}/{s}", .{ dir, name }, 0) catch return null;
    const fd = c.open(path, .{ .ACCMODE = .RDONLY, .CLOEXEC = true, .NONBLOCK = true });
    if (fd < 0) return null;
    defer _ = c.close(fd);
    var used: usize = 0;
    while (used < buffer.len) {
        const n = c.read(fd, buffer.ptr + used, buffer.len - used);
        if (n < 0) {
            if (c._errno().* == @intFromEnum(c.E.INTR)) continue;
            return null;
        }
        if (n == 0) break;
        used += @intCast(n);
    }
    return std.mem.trim(u8, buffer[0..used], " \t\r\n\x00");
}

pub fn readNumber(dir: []const u8, name: []const u8) ?u64 {
    var buffer: [64]u8 = undefined;
    return std.fmt.parseInt(u64, readText(&buffer, dir, name) orelse return null, 10) catch null;
}

pub fn exists(path: [*:0]const u8) bool {
    return c.access(path, c.F_OK) == 0;
}

/// The PCIe link of a device's folder; reading it makes the kernel read the device's config space.
pub fn readLink(dir: []const u8) abi.LinkReading {
    var buffer: [64]u8 = undefined;
    const speed = if (readText(&buffer, dir, "current_link_speed")) |text| parseSpeed(text) else null;
    const width = if (readNumber(dir, "current_link_width")) |lanes| knownWidth(lanes) else null;
    return .{ .speed_mts = .of(speed), .width_lanes = .of(width) };
}

/// "16.0 GT/s PCIe" is 16000; "Unknown" is null.
fn parseSpeed(text: []const u8) ?u64 {
    const end = std.mem.indexOf(u8, text, " GT/s") orelse return null;
    var parts = std.mem.splitScalar(u8, text[0..end], '.');
    const whole = std.fmt.parseInt(u32, parts.first(), 10) catch return null;
    const tenths = if (parts.next()) |digits|
        (if (digits.len == 1) std.fmt.parseInt(u32, digits, 10) catch return null else return null)
    else
        0;
    return @as(u64, whole) * 1000 + tenths * 100;
}

/// The kernel shows 0 or 255 for a link that it cannot read.
fn knownWidth(lanes: u64) ?u64 {
    return if (lanes >= 1 and lanes <= 32) lanes else null;
}

/// Calls `each(context, cpu)` for every CPU of a kernel list such as "0-3,8".
pub fn forEachInList(text: []const u8, context: anytype, comptime each: fn (@TypeOf(context), usize) void) error{Malformed}!void {
    var items = std.mem.tokenizeScalar(u8, text, ',');
    while (items.next()) |item| {
        var ends = std.mem.splitScalar(u8, item, '-');
        const first = std.fmt.parseInt(u16, ends.first(), 10) catch return error.Malformed;
        const last = if (ends.next()) |end| std.fmt.parseInt(u16, end, 10) catch return error.Malformed else first;
        for (first..@as(usize, last) + 1) |i| each(context, i);
    }
}

test "link speeds as the kernel writes them" {
    const cases = [_]struct { text: []const u8, want: ?u64 }{
        .{ .text = "2.5 GT/s PCIe", .want = 2500 },
        .{ .text = "16.0 GT/s PCIe", .want = 16000 },
        .{ .text = "64.0 GT/s PCIe", .want = 64000 },
        .{ .text = "8 GT/s", .want = 8000 },
        .{ .text = "Unknown", .want = null },
        .{ .text = "Unknown speed", .want = null },
        .{ .text = "", .want = null },
        .{ .text = "-1 GT/s", .want = null },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.text});
        try std.testing.expectEqual(case.want, parseSpeed(case.text));
    }
    try std.testing.expectEqual(null, knownWidth(0));
    try std.testing.expectEqual(null, knownWidth(255));
    try std.testing.expectEqual(16, knownWidth(16));
}

test "lists" {
    const Collected = struct {
        items: [16]usize = undefined,
        count: usize = 0,
        fn add(self: *@This(), i: usize) void {
            self.items[self.count] = i;
            self.count += 1;
        }
    };
    var got: Collected = .{};
    try forEachInList("0-2,8,10-11", &got, Collected.add);
    try std.testing.expectEqualSlices(usize, &.{ 0, 1, 2, 8, 10, 11 }, got.items[0..got.count]);
    try std.testing.expectError(error.Malformed, forEachInList("0-x", &got, Collected.add));
}

test "a file that is not there is unknown" {
    try std.testing.expectEqual(null, readNumber("/nonexistent", "file"));
    const link = readLink("/nonexistent");
    try std.testing.expectEqual(null, link.speed_mts.get());
    try std.testing.expectEqual(null, link.width_lanes.get());
}
