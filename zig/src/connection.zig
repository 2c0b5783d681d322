//! A reliable connection between two queue pairs: created, and taken through INIT and RTR to RTS, or destroyed.

const std = @import("std");
const failure = @import("failure.zig");
const verbs = @import("verbs.zig");

const E = std.c.E;
const Error = failure.Error;

/// Each limit generous enough for the fabric of a host, tight enough to end: 67 ms, seven times.
const transport = struct {
    const timeout = 14;
    const retry_cnt = 7;
    const rnr_retry = 7;
    const min_rnr_timer = 12;
    const hop_limit = 64;
};

/// What queue pairs are made of, and where they meet.
pub const Plan = struct {
    verbs: *const verbs.Table,
    report: *const failure.Report,
    pd: *verbs.ProtectionDomain,
    cq: *verbs.CompletionQueue,
    /// Of the port, for its LID and MTU.
    port: *const verbs.PortAttributes,
    /// Null where LIDs do.
    gid: ?verbs.GidEntry,
    /// Writes that may be posted and not yet completed.
    window: u32,
};

/// One queue pair that writes and the one that it writes to, on the same port.
pub const Connection = struct {
    source: *verbs.QueuePair,
    target: *verbs.QueuePair,

    /// A queue pair that fails on its way is destroyed: not every driver takes one back from RESET.
    pub fn open(plan: *const Plan) Error!Connection {
        const source = try create(plan, plan.window);
        errdefer _ = plan.verbs.destroy_qp(source);
        const target = try create(plan, 1);
        errdefer _ = plan.verbs.destroy_qp(target);
        for ([_]*verbs.QueuePair{ source, target }) |qp| try toInit(plan, qp);
        try toReadyToReceive(plan, source, target.qp_num);
        try toReadyToReceive(plan, target, source.qp_num);
        for ([_]*verbs.QueuePair{ source, target }) |qp| try toReadyToSend(plan, qp);
        return .{ .source = source, .target = target };
    }

    pub fn close(self: Connection, table: *const verbs.Table) void {
        _ = table.destroy_qp(self.source);
        _ = table.destroy_qp(self.target);
    }
};

fn create(plan: *const Plan, send_depth: u32) Error!*verbs.QueuePair {
    var init: verbs.QueuePairInit = .{
        .qp_context = null,
        .send_cq = plan.cq,
        .recv_cq = plan.cq,
        .srq = null,
        .cap = .{ .max_send_wr = send_depth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0 },
        .qp_type = .rc,
        .sq_sig_all = 0,
    };
    return plan.verbs.create_qp(plan.pd, &init) orelse {
        const errno = failure.lastErrno();
        return switch (@as(E, @enumFromInt(errno))) {
            .OPNOTSUPP, .NOSYS => plan.report.fail(.device_unsupported, "ibv_create_qp", errno, "the device has no reliable connections", .{}),
            else => plan.report.refuse(.queue_pair_refused, "ibv_create_qp", errno),
        };
    };
}

const mask = verbs.qp_mask;

fn toInit(plan: *const Plan, qp: *verbs.QueuePair) Error!void {
    var attributes = std.mem.zeroes(verbs.QueuePairAttributes);
    attributes.qp_state = .init;
    attributes.port_num = @intCast(plan.report.port);
    attributes.qp_access_flags = verbs.access_remote_write;
    try modify(plan, qp, &attributes, mask.state | mask.pkey_index | mask.port | mask.access_flags, "ibv_modify_qp(INIT)");
}

fn toReadyToReceive(plan: *const Plan, qp: *verbs.QueuePair, peer: u32) Error!void {
    var attributes = std.mem.zeroes(verbs.QueuePairAttributes);
    attributes.qp_state = .rtr;
    attributes.path_mtu = plan.port.active_mtu;
    attributes.dest_qp_num = peer;
    attributes.max_dest_rd_atomic = 1;
    attributes.min_rnr_timer = transport.min_rnr_timer;
    attributes.ah_attr.port_num = @intCast(plan.report.port);
    attributes.ah_attr.dlid = plan.port.lid;
    if (plan.gid) |entry| {
        attributes.ah_attr.is_global = 1;
        attributes.ah_attr.grh.dgid = entry.gid;
        attributes.ah_attr.grh.sgid_index = @intCast(entry.gid_index);
        attributes.ah_attr.grh.hop_limit = transport.hop_limit;
    }
    const changed = mask.state | mask.av | mask.path_mtu | mask.dest_qpn | mask.rq_psn | mask.max_dest_rd_atomic | mask.min_rnr_timer;
    try modify(plan, qp, &attributes, changed, "ibv_modify_qp(RTR)");
}

fn toReadyToSend(plan: *const Plan, qp: *verbs.QueuePair) Error!void {
    var attributes = std.mem.zeroes(verbs.QueuePairAttributes);
    attributes.qp_state = .rts;
    attributes.timeout = transport.timeout;
    attributes.retry_cnt = transport.retry_cnt;
    attributes.rnr_retry = transport.rnr_retry;
    attributes.max_rd_atomic = 1;
    const changed = mask.state | mask.timeout | mask.retry_cnt | mask.rnr_retry | mask.sq_psn | mask.max_rd_atomic;
    try modify(plan, qp, &attributes, changed, "ibv_modify_qp(RTS)");
}

fn modify(plan: *const Plan, qp: *verbs.QueuePair, attributes: *verbs.QueuePairAttributes, changed: c_int, operation: []const u8) Error!void {
    const rc = plan.verbs.modify_qp(qp, attributes, changed);
    if (rc != 0) return plan.report.refuse(.queue_pair_refused, operation, failure.errnoOf(rc));
}
