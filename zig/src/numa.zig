//! Where the calling thread runs and where its memory comes from; both are put back afterwards.

const std = @import("std");
const sysfs = @import("sysfs.zig");
const linux = std.os.linux;

pub const nodes_max = 1024;
const cpus_max = 8192;

pub const node_dir_format = "/sys/devices/system/node/node{d}";

pub const Policy = enum(usize) { default = 0, preferred = 1, bind = 2, _ };

fn Mask(comptime bits: usize) type {
    return struct {
        words: [bits / 64]u64 = @splat(0),

        fn set(self: *@This(), i: usize) void {
            if (i < bits) self.words[i / 64] |= @as(u64, 1) << @intCast(i % 64);
        }

        fn isEmpty(self: *const @This()) bool {
            return std.mem.allEqual(u64, &self.words, 0);
        }
    };
}

pub const NodeMask = Mask(nodes_max);
const CpuMask = Mask(cpus_max);

pub fn maskOf(node: u32) NodeMask {
    var mask: NodeMask = .{};
    mask.set(node);
    return mask;
}

/// While it lives, the calling thread runs on one node's CPUs and takes new memory from there where it can.
/// Values end with `restore`, on the same thread.
pub const Stay = struct {
    cpus_before: ?CpuMask = null,
    policy_before: ?struct { mode: usize, nodes: NodeMask } = null,

    /// `node` -1: unknown, nothing is moved. What the kernel refuses (cpusets, no NUMA) is left as it was.
    pub fn on(node: i32) Stay {
        var stay: Stay = .{};
        if (node < 0) return stay;
        const wanted: u32 = @intCast(node);

        var before: CpuMask = .{};
        if (okay(linux.syscall3(.sched_getaffinity, 0, @sizeOf(CpuMask), @intFromPtr(&before)))) {
            var target = cpusOf(wanted);
            for (&target.words, before.words) |*word, allowed| word.* &= allowed;
            if (!target.isEmpty() and okay(linux.syscall3(.sched_setaffinity, 0, @sizeOf(CpuMask), @intFromPtr(&target))))
                stay.cpus_before = before;
        }

        var mode: c_int = 0;
        var nodes: NodeMask = .{};
        if (okay(linux.syscall5(.get_mempolicy, @intFromPtr(&mode), @intFromPtr(&nodes), nodes_max, 0, 0))) {
            const mask = maskOf(wanted);
            if (okay(linux.syscall3(.set_mempolicy, @intFromEnum(Policy.preferred), @intFromPtr(&mask), nodes_max)))
                stay.policy_before = .{ .mode = @intCast(mode), .nodes = nodes };
        }
        return stay;
    }

    pub fn pinned(self: *const Stay) bool {
        return self.cpus_before != null;
    }

    pub fn restore(self: *const Stay) void {
        if (self.policy_before) |*policy| {
            // The default policy is set with an empty mask only.
            const nodes: usize = if (policy.nodes.isEmpty()) 0 else @intFromPtr(&policy.nodes);
            _ = linux.syscall3(.set_mempolicy, policy.mode, nodes, if (nodes == 0) 0 else nodes_max);
        }
        if (self.cpus_before) |*cpus| _ = linux.syscall3(.sched_setaffinity, 0, @sizeOf(CpuMask), @intFromPtr(cpus));
    }
};

fn cpusOf(node: u32) CpuMask {
    var mask: CpuMask = .{};
    var dir_buffer: [64]u8 = undefined;
    const dir = std.fmt.bufPrint(&dir_buffer, node_dir_format, .{node}) catch unreachable;
    var text_buffer: [4096]u8 = undefined;
    const text = sysfs.readText(&text_buffer, dir, "cpulist") orelse return mask;
    sysfs.forEachInList(text, &mask, CpuMask.set) catch return .{};
    return mask;
}

pub fn okay(rc: usize) bool {
    return linux.errno(rc) == .SUCCESS;
}

test "the thread is put back as it was" {
    var before: CpuMask = .{};
    try std.testing.expect(okay(linux.syscall3(.sched_getaffinity, 0, @sizeOf(CpuMask), @intFromPtr(&before))));
    const stay: Stay = .on(0);
    stay.restore();
    var after: CpuMask = .{};
    try std.testing.expect(okay(linux.syscall3(.sched_getaffinity, 0, @sizeOf(CpuMask), @intFromPtr(&after))));
    try std.testing.expectEqual(before, after);
}

test "an unknown node moves nothing" {
    const stay: Stay = .on(-1);
    try std.testing.expect(!stay.pinned());
    const absent: Stay = .on(nodes_max - 1);
    try std.testing.expect(!absent.pinned());
    absent.restore();
}
