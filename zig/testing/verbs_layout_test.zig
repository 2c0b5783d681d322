//! src/verbs.zig against the installed infiniband/verbs.h: every field that both name has one offset and one size, every
//! constant one value. Fields under names of our own (placeholders, arms of unions) are listed with the header's name for them.

const std = @import("std");
const verbs = @import("../src/verbs.zig");
const h = @cImport(@cInclude("infiniband/verbs.h"));
const testing = std.testing;

/// `whole`: libibverbs reads or fills all of it, so that the sizes must agree too.
const Extent = enum { whole, prefix };

const structs = .{
    .{ verbs.GidEntry, h.struct_ibv_gid_entry, Extent.whole },
    .{ verbs.Device, h.struct_ibv_device, Extent.whole },
    .{ verbs.ContextOps, h.struct_ibv_context_ops, Extent.whole },
    .{ verbs.Context, h.struct_ibv_context, Extent.prefix },
    .{ verbs.DeviceAttributes, h.struct_ibv_device_attr, Extent.whole },
    .{ verbs.PortAttributes, h.struct_ibv_port_attr, Extent.whole },
    .{ verbs.ProtectionDomain, h.struct_ibv_pd, Extent.prefix },
    .{ verbs.MemoryRegion, h.struct_ibv_mr, Extent.whole },
    .{ verbs.CompletionQueue, h.struct_ibv_cq, Extent.prefix },
    .{ verbs.Completion, h.struct_ibv_wc, Extent.whole },
    .{ verbs.QueuePair, h.struct_ibv_qp, Extent.prefix },
    .{ verbs.QueuePairCapacity, h.struct_ibv_qp_cap, Extent.whole },
    .{ verbs.QueuePairInit, h.struct_ibv_qp_init_attr, Extent.whole },
    .{ verbs.GlobalRoute, h.struct_ibv_global_route, Extent.whole },
    .{ verbs.AddressHandle, h.struct_ibv_ah_attr, Extent.whole },
    .{ verbs.QueuePairAttributes, h.struct_ibv_qp_attr, Extent.whole },
    .{ verbs.ScatterGather, h.struct_ibv_sge, Extent.whole },
    .{ verbs.SendRequest, h.struct_ibv_send_wr, Extent.whole },
    .{ verbs.AsyncEvent, h.struct_ibv_async_event, Extent.whole },
};

/// Ours, and where the header has it: offset and, where it is one field, size.
const renamed = .{
    .{ verbs.Device, "reserved", 0, 16 },
    .{ verbs.ContextOps, "before_poll_cq", 0, @offsetOf(h.struct_ibv_context_ops, "poll_cq") },
    .{ verbs.ContextOps, "before_post_send", @offsetOf(h.struct_ibv_context_ops, "req_notify_cq"), @offsetOf(h.struct_ibv_context_ops, "post_send") - @offsetOf(h.struct_ibv_context_ops, "req_notify_cq") },
    .{ verbs.ContextOps, "after_post_send", @offsetOf(h.struct_ibv_context_ops, "post_recv"), @sizeOf(h.struct_ibv_context_ops) - @offsetOf(h.struct_ibv_context_ops, "post_recv") },
    .{ verbs.Completion, "imm_data", @offsetOf(h.struct_ibv_wc, "byte_len") + 4, 4 },
    .{ verbs.SendRequest, "imm_data", @offsetOf(h.struct_ibv_send_wr, "send_flags") + 4, 4 },
    .{ verbs.SendRequest, "remote_addr", @offsetOf(h.struct_ibv_send_wr, "wr"), 8 },
    .{ verbs.SendRequest, "rkey", @offsetOf(h.struct_ibv_send_wr, "wr") + 8, 4 },
    .{ verbs.SendRequest, "union_rest", @offsetOf(h.struct_ibv_send_wr, "wr") + 12, @sizeOf(@FieldType(h.struct_ibv_send_wr, "wr")) - 12 },
    .{ verbs.SendRequest, "qp_type", @offsetOf(h.struct_ibv_send_wr, "qp_type"), 8 },
    .{ verbs.SendRequest, "bind_mw", @offsetOf(h.struct_ibv_send_wr, "qp_type") + 8, @sizeOf(h.struct_ibv_send_wr) - @offsetOf(h.struct_ibv_send_wr, "qp_type") - 8 },
};

fn renamedAt(comptime T: type, comptime name: []const u8) ?struct { usize, usize } {
    inline for (renamed) |entry| if (entry[0] == T and std.mem.eql(u8, entry[1], name)) return .{ entry[2], entry[3] };
    return null;
}

test "structs have the header's layout" {
    @setEvalBranchQuota(100_000);
    try testing.expectEqual(@sizeOf(h.union_ibv_gid), @sizeOf(verbs.Gid));
    inline for (structs) |entry| {
        const Ours = entry[0];
        const Theirs = entry[1];
        errdefer std.debug.print("struct {s}\n", .{@typeName(Ours)});
        if (entry[2] == .whole) try testing.expectEqual(@sizeOf(Theirs), @sizeOf(Ours));
        try testing.expectEqual(@alignOf(Theirs), @alignOf(Ours));
        inline for (@typeInfo(Ours).@"struct".fields) |field| {
            errdefer std.debug.print("field {s}\n", .{field.name});
            const want = comptime renamedAt(Ours, field.name) orelse .{ @offsetOf(Theirs, field.name), @sizeOf(@FieldType(Theirs, field.name)) };
            try testing.expectEqual(want[0], @offsetOf(Ours, field.name));
            try testing.expectEqual(want[1], @sizeOf(field.type));
        }
    }
}

test "constants have the header's values" {
    const cases = .{
        .{ h.IBV_GID_TYPE_ROCE_V1, verbs.GidType.roce_v1 },
        .{ h.IBV_GID_TYPE_ROCE_V2, verbs.GidType.roce_v2 },
        .{ h.IBV_TRANSPORT_IB, verbs.TransportType.ib },
        .{ h.IBV_TRANSPORT_IWARP, verbs.TransportType.iwarp },
        .{ h.IBV_TRANSPORT_USNIC, verbs.TransportType.usnic },
        .{ h.IBV_TRANSPORT_USNIC_UDP, verbs.TransportType.usnic_udp },
        .{ h.IBV_TRANSPORT_UNSPECIFIED, verbs.TransportType.unspecified },
        .{ h.IBV_PORT_DOWN, verbs.PortState.down },
        .{ h.IBV_PORT_ACTIVE, verbs.PortState.active },
        .{ h.IBV_PORT_ACTIVE_DEFER, verbs.PortState.active_defer },
        .{ h.IBV_LINK_LAYER_INFINIBAND, verbs.LinkLayer.infiniband },
        .{ h.IBV_LINK_LAYER_ETHERNET, verbs.LinkLayer.ethernet },
        .{ h.IBV_QPF_GRH_REQUIRED, verbs.port_flag_grh_required },
        .{ h.IBV_ACCESS_LOCAL_WRITE, verbs.access_local_write },
        .{ h.IBV_ACCESS_REMOTE_WRITE, verbs.access_remote_write },
        .{ h.IBV_ACCESS_RELAXED_ORDERING, verbs.access_relaxed_ordering },
        .{ h.IBV_QPT_RC, verbs.QueuePairType.rc },
        .{ h.IBV_QPS_RESET, verbs.QueuePairState.reset },
        .{ h.IBV_QPS_INIT, verbs.QueuePairState.init },
        .{ h.IBV_QPS_RTR, verbs.QueuePairState.rtr },
        .{ h.IBV_QPS_RTS, verbs.QueuePairState.rts },
        .{ h.IBV_QP_STATE, verbs.qp_mask.state },
        .{ h.IBV_QP_ACCESS_FLAGS, verbs.qp_mask.access_flags },
        .{ h.IBV_QP_PKEY_INDEX, verbs.qp_mask.pkey_index },
        .{ h.IBV_QP_PORT, verbs.qp_mask.port },
        .{ h.IBV_QP_AV, verbs.qp_mask.av },
        .{ h.IBV_QP_PATH_MTU, verbs.qp_mask.path_mtu },
        .{ h.IBV_QP_TIMEOUT, verbs.qp_mask.timeout },
        .{ h.IBV_QP_RETRY_CNT, verbs.qp_mask.retry_cnt },
        .{ h.IBV_QP_RNR_RETRY, verbs.qp_mask.rnr_retry },
        .{ h.IBV_QP_RQ_PSN, verbs.qp_mask.rq_psn },
        .{ h.IBV_QP_MAX_QP_RD_ATOMIC, verbs.qp_mask.max_rd_atomic },
        .{ h.IBV_QP_MIN_RNR_TIMER, verbs.qp_mask.min_rnr_timer },
        .{ h.IBV_QP_SQ_PSN, verbs.qp_mask.sq_psn },
        .{ h.IBV_QP_MAX_DEST_RD_ATOMIC, verbs.qp_mask.max_dest_rd_atomic },
        .{ h.IBV_QP_DEST_QPN, verbs.qp_mask.dest_qpn },
        .{ h.IBV_WR_RDMA_WRITE, verbs.Opcode.rdma_write },
        .{ h.IBV_SEND_SIGNALED, verbs.send_signaled },
        .{ h.IBV_EVENT_DEVICE_FATAL, verbs.EventType.device_fatal },
        .{ h.IBV_EVENT_PORT_ERR, verbs.EventType.port_err },
    };
    inline for (cases, 0..) |case, i| {
        errdefer std.debug.print("constant {d}\n", .{i});
        const ours = if (@typeInfo(@TypeOf(case[1])) == .@"enum") @intFromEnum(case[1]) else case[1];
        try testing.expectEqual(@as(i64, case[0]), @as(i64, ours));
    }
}

test "completion statuses have the header's names" {
    @setEvalBranchQuota(10_000);
    inline for (@typeInfo(verbs.CompletionStatus).@"enum".fields) |field| {
        const name = comptime name: {
            var buffer: [field.name.len]u8 = undefined;
            break :name "IBV_WC_" ++ std.ascii.upperString(&buffer, field.name);
        };
        try testing.expectEqual(@as(i64, @field(h, name)), field.value);
    }
}
