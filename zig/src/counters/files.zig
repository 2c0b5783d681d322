//! Counter files: small files of the kernel that are kept open and read again and again, all of a set in one go.
//! What a file says is told as it is; what its number means, and whether it moved, is for the caller.

const std = @import("std");
const abi = @import("../abi.zig");
const failure = @import("../failure.zig");
const c = std.c;
const linux = std.os.linux;

/// A counter is at most 20 digits and a newline; what is longer is told by its beginning.
const read_bytes = 64;
/// linux/magic.h. A removed file of sysfs says so itself (ENODEV); elsewhere its old content can be read for ever.
const sysfs_magic = 0x62656572;
/// struct statfs begins with the magic number and has 120 bytes on 64-bit kernels.
const Statfs = extern struct { magic: i64, rest: [14]u64 };

pub const Files = struct {
    allocator: std.mem.Allocator,
    paths: []const u8,
    files: []File,

    const File = struct {
        path: [*:0]const u8,
        fd: c_int = -1,
        /// On another file system than sysfs.
        may_be_unlinked: bool = false,
    };

    /// `paths` holds `count` terminated strings.
    pub fn create(allocator: std.mem.Allocator, paths: []const u8, count: usize) error{OutOfMemory}!*Files {
        std.debug.assert(count >= 1 and count <= abi.counter_files_max);
        std.debug.assert(paths.len > 0 and paths[paths.len - 1] == 0);
        std.debug.assert(std.mem.count(u8, paths, "\x00") == count);
        const self = try allocator.create(Files);
        errdefer allocator.destroy(self);
        const own = try allocator.dupe(u8, paths);
        errdefer allocator.free(own);
        const files = try allocator.alloc(File, count);
        var rest: []const u8 = own;
        for (files) |*file| {
            file.* = .{ .path = @ptrCast(rest.ptr) };
            rest = rest[std.mem.indexOfScalar(u8, rest, 0).? + 1 ..];
        }
        self.* = .{ .allocator = allocator, .paths = own, .files = files };
        return self;
    }

    pub fn destroy(self: *Files) void {
        for (self.files) |*file| close(file);
        self.allocator.free(self.files);
        self.allocator.free(self.paths);
        self.allocator.destroy(self);
    }

    pub fn read(self: *Files, values: []abi.CounterValue) void {
        std.debug.assert(values.len == self.files.len);
        for (self.files, values) |*file, *value| value.* = readFile(file);
    }
};

fn readFile(file: *Files.File) abi.CounterValue {
    var buffer: [read_bytes]u8 = undefined;
    // Twice: a file that was open may be stale; one that was just opened is what it is.
    for (0..2) |_| {
        const was_open = file.fd >= 0;
        if (!was_open) if (open(file)) |errno| return absent(errno);
        const n = while (true) {
            const got = c.pread(file.fd, &buffer, buffer.len, 0);
            if (got >= 0 or failure.lastErrno() != @intFromEnum(c.E.INTR)) break got;
        };
        if (n >= 0 and !(was_open and isUnlinked(file))) return parse(buffer[0..@intCast(n)]);
        const errno = failure.lastErrno();
        if (n < 0 and !(was_open and tellsStale(errno))) {
            // ENODEV from a file just opened: its device is going. Others (EIO, EINVAL, ENODATA) are the device's answer for now.
            if (tellsStale(errno)) close(file);
            return absent(errno);
        }
        close(file);
    }
    unreachable; // the second round had just opened the file
}

fn open(file: *Files.File) ?u16 {
    file.fd = c.open(file.path, .{ .ACCMODE = .RDONLY, .CLOEXEC = true, .NONBLOCK = true });
    if (file.fd < 0) return failure.lastErrno();
    var statfs: Statfs = undefined;
    const rc = linux.syscall2(.fstatfs, @intCast(file.fd), @intFromPtr(&statfs));
    file.may_be_unlinked = rc != 0 or statfs.magic != sysfs_magic;
    return null;
}

fn close(file: *Files.File) void {
    if (file.fd >= 0) _ = c.close(file.fd);
    file.fd = -1;
}

fn tellsStale(errno: u16) bool {
    return switch (@as(c.E, @enumFromInt(errno))) {
        .NODEV, .NOENT, .NXIO, .STALE => true,
        else => false,
    };
}

/// Removed, or replaced by another of its name.
fn isUnlinked(file: *const Files.File) bool {
    if (!file.may_be_unlinked) return false;
    var now: linux.Statx = undefined;
    const empty_path = 0x1000; // AT_EMPTY_PATH
    const rc = linux.statx(file.fd, "", empty_path, .{ .NLINK = true }, &now);
    return rc == 0 and now.nlink == 0;
}

fn absent(errno: u16) abi.CounterValue {
    return .{ .value = 0, .state = .absent, .errno_value = errno, .text = @splat(0) };
}

fn parse(content: []const u8) abi.CounterValue {
    const text = std.mem.trim(u8, std.mem.sliceTo(content, 0), " \t\r\n");
    var value: abi.CounterValue = .{ .value = 0, .state = .number, .errno_value = 0, .text = @splat(0) };
    if (parseDecimal(text)) |number| {
        value.value = number;
        return value;
    }
    value.state = .text;
    failure.put(&value.text, "{s}", .{text});
    return value;
}

/// Digits alone: no sign, no underscore, nothing that does not fit 64 bits.
fn parseDecimal(text: []const u8) ?u64 {
    if (text.len == 0) return null;
    for (text) |char| if (!std.ascii.isDigit(char)) return null;
    return std.fmt.parseInt(u64, text, 10) catch null;
}

const testing = std.testing;

test "what a file may hold" {
    const cases = [_]struct { name: []const u8, content: []const u8, number: ?u64 = null, text: []const u8 = "" }{
        .{ .name = "a counter", .content = "12345\n", .number = 12345 },
        .{ .name = "zero is a number", .content = "0\n", .number = 0 },
        .{ .name = "the largest", .content = "18446744073709551615\n", .number = std.math.maxInt(u64) },
        .{ .name = "larger than any counter", .content = "18446744073709551616\n", .text = "18446744073709551616" },
        .{ .name = "mlx4 VF", .content = "N/A (no PMA)\n", .text = "N/A (no PMA)" },
        .{ .name = "negative", .content = "-1\n", .text = "-1" },
        .{ .name = "an underscore is no digit", .content = "1_000\n", .text = "1_000" },
        .{ .name = "hexadecimal", .content = "0x10\n", .text = "0x10" },
        .{ .name = "port state", .content = "4: ACTIVE\n", .text = "4: ACTIVE" },
        .{ .name = "empty", .content = "" },
        .{ .name = "only a newline", .content = "\n" },
        .{ .name = "terminated inside", .content = "7\x00garbage", .number = 7 },
        .{ .name = "cut", .content = "x" ** read_bytes, .text = "x" ** (abi.counter_text_bytes - 1) },
        .{ .name = "two numbers", .content = "1 2\n", .text = "1 2" },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        const value = parse(case.content);
        try testing.expectEqual(0, value.errno_value);
        if (case.number) |number| {
            try testing.expectEqual(.number, value.state);
            try testing.expectEqual(number, value.value);
        } else try testing.expectEqual(.text, value.state);
        try testing.expectEqualStrings(case.text, std.mem.sliceTo(&value.text, 0));
    }
}
