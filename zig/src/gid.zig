//! Which GID of an Ethernet port to use: by what it is, never by its position.

const std = @import("std");
const verbs = @import("verbs.zig");

/// Candidates kept, best first.
pub const Candidates = struct {
    entries: [max]verbs.GidEntry = undefined,
    count: usize = 0,

    /// One more than the probe will try: the first choice and its one replacement.
    pub const max = 2;

    pub fn of(entry: verbs.GidEntry) Candidates {
        return .{ .entries = .{ entry, undefined }, .count = 1 };
    }

    pub fn slice(self: *const Candidates) []const verbs.GidEntry {
        return self.entries[0..self.count];
    }
};

/// Smaller is better. Private and unique-local ranges are as good as any other in a data centre; link-local addresses
/// come last since many drivers cannot resolve them. RoCE v1 is never chosen: it answers with retry errors on routed fabrics.
const Rank = enum(u8) { ipv4_or_global, unique_local, link_local };

fn rank(entry: verbs.GidEntry) ?Rank {
    if (entry.gid_type != .roce_v2) return null;
    const raw = entry.gid.raw;
    if (std.mem.allEqual(u8, &raw, 0)) return null;
    if (raw[0] == 0xfe and raw[1] & 0xc0 == 0x80) {
        // fe80:: without an interface identifier is an unset slot, not an address.
        return if (std.mem.allEqual(u8, raw[8..], 0)) null else .link_local;
    }
    if (raw[0] & 0xfe == 0xfc) return .unique_local;
    return .ipv4_or_global;
}

/// The best candidates of `port`; among equals the lower index.
pub fn choose(table: []const verbs.GidEntry, port: u32) Candidates {
    var best: Candidates = .{};
    inline for (comptime std.enums.values(Rank)) |wanted| {
        for (table) |entry| {
            if (best.count == Candidates.max) return best;
            if (entry.port_num == port and rank(entry) == wanted) {
                best.entries[best.count] = entry;
                best.count += 1;
            }
        }
    }
    return best;
}

fn entryOf(index: u32, gid_type: verbs.GidType, text: []const u8) verbs.GidEntry {
    var raw: [16]u8 = @splat(0);
    if (std.mem.startsWith(u8, text, "::ffff:")) {
        raw[10] = 0xff;
        raw[11] = 0xff;
        var parts = std.mem.splitScalar(u8, text["::ffff:".len..], '.');
        var i: usize = 12;
        while (parts.next()) |part| : (i += 1) raw[i] = std.fmt.parseInt(u8, part, 10) catch unreachable;
    } else {
        var halves = std.mem.splitSequence(u8, text, "::");
        const head = halves.next().?;
        const tail = halves.next() orelse "";
        writeGroups(raw[0..], head);
        const tail_bytes = 2 * (if (tail.len == 0) 0 else std.mem.count(u8, tail, ":") + 1);
        writeGroups(raw[16 - tail_bytes ..], tail);
    }
    return .{ .gid = .{ .raw = raw }, .gid_index = index, .port_num = 1, .gid_type = gid_type, .ndev_ifindex = 0 };
}

fn writeGroups(out: []u8, text: []const u8) void {
    var groups = std.mem.tokenizeScalar(u8, text, ':');
    var i: usize = 0;
    while (groups.next()) |group| : (i += 2)
        std.mem.writeInt(u16, out[i..][0..2], std.fmt.parseInt(u16, group, 16) catch unreachable, .big);
}

test "GID choice on tables of real ports" {
    const cases = [_]struct { name: []const u8, table: []const verbs.GidEntry, want: []const u32 }{
        .{ .name = "mlx5: v6 v1, v6 v2, v4 v1, v4 v2", .table = &.{
            entryOf(0, .roce_v1, "fe80::1234"),       entryOf(1, .roce_v2, "fe80::1234"),
            entryOf(2, .roce_v1, "::ffff:192.0.2.6"), entryOf(3, .roce_v2, "::ffff:192.0.2.6"),
        }, .want = &.{ 3, 1 } },
        .{ .name = "a private IPv4 address beats link-local", .table = &.{
            entryOf(0, .roce_v2, "fe80::1"), entryOf(1, .roce_v2, "::ffff:10.102.0.9"),
        }, .want = &.{ 1, 0 } },
        .{ .name = "IPv6 only: unique-local beats link-local", .table = &.{
            entryOf(0, .roce_v2, "fe80::1"), entryOf(1, .roce_v2, "fd00:db8::5"),
        }, .want = &.{ 1, 0 } },
        .{ .name = "global before unique-local, equals by index", .table = &.{
            entryOf(4, .roce_v2, "fd93::1"), entryOf(5, .roce_v2, "2001:db8::1"), entryOf(6, .roce_v2, "::ffff:192.0.2.6"),
        }, .want = &.{ 5, 6 } },
        .{ .name = "only link-local", .table = &.{entryOf(0, .roce_v2, "fe80::1")}, .want = &.{0} },
        .{ .name = "link-local without an interface identifier", .table = &.{entryOf(0, .roce_v2, "fe80::")}, .want = &.{} },
        .{ .name = "RoCE v1 alone", .table = &.{entryOf(0, .roce_v1, "::ffff:192.0.2.6")}, .want = &.{} },
        .{ .name = "switchdev: every slot is zero", .table = &.{ entryOf(0, .roce_v2, "::"), entryOf(1, .ib, "::") }, .want = &.{} },
        .{ .name = "no table", .table = &.{}, .want = &.{} },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        const chosen = choose(case.table, 1);
        try std.testing.expectEqual(case.want.len, chosen.count);
        for (case.want, chosen.slice()) |want, entry| try std.testing.expectEqual(want, entry.gid_index);
        try std.testing.expectEqual(0, choose(case.table, 2).count);
    }
}
