//! Memory under test: mapped, placed on a NUMA node, touched and checked to be there.

const std = @import("std");
const abi = @import("abi.zig");
const numa = @import("numa.zig");
const sysfs = @import("sysfs.zig");
const c = std.c;
const linux = std.os.linux;

const huge_page_bytes = 2 << 20;
/// MADV_POPULATE_WRITE (Linux 5.14): touches pages and reports a shortage as an error, where a plain write would be killed.
const madv_populate_write = 23;

pub const Refusal = struct {
    status: abi.Status,
    operation: []const u8,
    errno: u16 = 0,
    /// What the memory would have needed; empty when the errno says it all.
    reason: []const u8 = "",
};

/// Memory of any kind that an RNIC can read and write. Host memory is the only kind so far; another one adds an arm to `Kind`,
/// its own `map…` and its way to register, and the loops do not change.
pub const Region = struct {
    bytes: []align(std.heap.page_size_min) u8,
    kind: Kind,

    pub const Kind = union(enum) {
        host: Host,
    };

    pub const Host = struct {
        page_kind: abi.PageKind,
        placement_verified: bool,
    };

    /// At least `byte_count` bytes on `node` (-1: anywhere).
    pub fn mapHost(byte_count: usize, node: i32, allow_huge: bool, refusal: *Refusal) error{Refused}!Region {
        if (allow_huge) {
            if (mapPages(byte_count, node, .huge_2mib, refusal)) |region| return region else |_| {}
        }
        return mapPages(byte_count, node, .base, refusal);
    }

    pub fn unmap(self: *const Region) void {
        switch (self.kind) {
            .host => _ = c.munmap(self.bytes.ptr, self.bytes.len),
        }
    }
};

fn mapPages(byte_count: usize, node: i32, page_kind: abi.PageKind, refusal: *Refusal) error{Refused}!Region {
    const page_bytes: usize = switch (page_kind) {
        .base => std.heap.pageSize(),
        .huge_2mib => huge_page_bytes,
    };
    const length = std.mem.alignForward(usize, byte_count, page_bytes);
    if (page_kind == .base and node >= 0 and !hasRoom(@intCast(node), length)) {
        refusal.* = .{ .status = .placement_failed, .operation = "meminfo", .reason = "too little free memory on the node" };
        return error.Refused;
    }

    const flags: c.MAP = .{ .TYPE = .PRIVATE, .ANONYMOUS = true, .HUGETLB = page_kind == .huge_2mib };
    const flag_bits = @as(u32, @bitCast(flags)) | if (page_kind == .huge_2mib) @as(u32, 21 << 26) else 0; // MAP_HUGE_2MB
    const address = c.mmap(null, length, .{ .READ = true, .WRITE = true }, @bitCast(flag_bits), -1, 0);
    if (address == c.MAP_FAILED) {
        refusal.* = .{ .status = .memory_refused, .operation = "mmap", .errno = currentErrno() };
        return error.Refused;
    }
    const base: [*]align(std.heap.page_size_min) u8 = @ptrCast(@alignCast(address));
    const bytes = base[0..length];
    errdefer _ = c.munmap(base, length);

    if (node >= 0) try bind(bytes, @intCast(node), refusal);
    try populate(bytes, page_kind, refusal);
    const verified = node >= 0 and try isPlaced(bytes, page_bytes, @intCast(node), refusal);
    return .{ .bytes = bytes, .kind = .{ .host = .{ .page_kind = page_kind, .placement_verified = verified } } };
}

fn bind(bytes: []align(std.heap.page_size_min) u8, node: u32, refusal: *Refusal) error{Refused}!void {
    const mask = numa.maskOf(node);
    const rc = linux.syscall6(.mbind, @intFromPtr(bytes.ptr), bytes.len, @intFromEnum(numa.Policy.bind), @intFromPtr(&mask), numa.nodes_max, 0);
    switch (linux.errno(rc)) {
        .SUCCESS => {},
        // A kernel without NUMA has one node, and everything is on it.
        .NOSYS => if (node != 0) {
            refusal.* = .{ .status = .placement_failed, .operation = "mbind", .errno = @intFromEnum(linux.E.NOSYS) };
            return error.Refused;
        },
        else => |e| {
            refusal.* = .{ .status = .placement_failed, .operation = "mbind", .errno = @intFromEnum(e) };
            return error.Refused;
        },
    }
}

fn populate(bytes: []align(std.heap.page_size_min) u8, page_kind: abi.PageKind, refusal: *Refusal) error{Refused}!void {
    const e = linux.errno(linux.syscall3(.madvise, @intFromPtr(bytes.ptr), bytes.len, madv_populate_write));
    if (e == .SUCCESS) return;
    // An older kernel: base pages can be touched, huge ones could end the process when another one takes the last.
    if (e == .INVAL and page_kind == .base) return @memset(bytes, 0);
    refusal.* = .{ .status = .memory_refused, .operation = "madvise(MADV_POPULATE_WRITE)", .errno = @intFromEnum(e) };
    return error.Refused;
}

/// Binding to a node that is nearly full would push out others' pages, or wake the OOM killer: leave four times the need.
fn hasRoom(node: u32, length: usize) bool {
    var dir_buffer: [64]u8 = undefined;
    const dir = std.fmt.bufPrint(&dir_buffer, numa.node_dir_format, .{node}) catch unreachable;
    var text_buffer: [8192]u8 = undefined;
    const text = sysfs.readText(&text_buffer, dir, "meminfo") orelse return true; // no such node: mbind will say so
    var free_kib: u64 = 0;
    for ([_][]const u8{ "MemFree:", "Active(file):", "Inactive(file):" }) |key| {
        const at = std.mem.indexOf(u8, text, key) orelse continue;
        var words = std.mem.tokenizeAny(u8, text[at + key.len ..], " \n");
        free_kib += std.fmt.parseInt(u64, words.next() orelse continue, 10) catch continue;
    }
    return free_kib * 1024 / 4 >= length;
}

/// Asks the kernel where each page is. False when it cannot tell; an error when a page is elsewhere.
fn isPlaced(bytes: []align(std.heap.page_size_min) u8, page_bytes: usize, node: u32, refusal: *Refusal) error{Refused}!bool {
    const batch = 512;
    var pages: [batch]usize = undefined;
    var nodes: [batch]c_int = undefined;
    var offset: usize = 0;
    while (offset < bytes.len) {
        var count: usize = 0;
        while (count < batch and offset < bytes.len) : (count += 1) {
            pages[count] = @intFromPtr(bytes.ptr) + offset;
            offset += page_bytes;
        }
        const rc = linux.syscall6(.move_pages, 0, count, @intFromPtr(&pages), 0, @intFromPtr(&nodes), 0);
        switch (linux.errno(rc)) {
            .SUCCESS => {},
            .NOSYS, .PERM => return false,
            else => |e| {
                refusal.* = .{ .status = .placement_failed, .operation = "move_pages", .errno = @intFromEnum(e) };
                return error.Refused;
            },
        }
        for (nodes[0..count]) |found| if (found != node) {
            refusal.* = .{ .status = .placement_failed, .operation = "move_pages", .reason = "a page lies on another node" };
            return error.Refused;
        };
    }
    return true;
}

fn currentErrno() u16 {
    return @intCast(c._errno().*);
}

test "host memory is as large as asked, writable, and given back" {
    var refusal: Refusal = undefined;
    for ([_]bool{ true, false }) |allow_huge| for ([_]i32{ -1, 0 }) |node| {
        const region = try Region.mapHost(300_000, node, allow_huge, &refusal);
        defer region.unmap();
        try std.testing.expect(region.bytes.len >= 300_000);
        @memset(region.bytes, 0x5a);
        if (!allow_huge) try std.testing.expectEqual(.base, region.kind.host.page_kind);
        if (node < 0) try std.testing.expect(!region.kind.host.placement_verified);
    };
}

test "a node that does not exist is refused by name" {
    var refusal: Refusal = undefined;
    try std.testing.expectError(error.Refused, Region.mapHost(4096, numa.nodes_max - 2, false, &refusal));
    try std.testing.expectEqual(.placement_failed, refusal.status);
    try std.testing.expectEqualStrings("mbind", refusal.operation);
}
