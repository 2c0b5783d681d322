//! The part of libibverbs that the probes use: types, constants and one table of functions.
//! The layouts are those of infiniband/verbs.h (rdma-core 32 and newer), written down here so that a build needs no
//! development package; zig/testing/verbs_layout_test.zig compares them with the real header.
//! Structs that the library allocates are declared as far as we read them.

const std = @import("std");

/// A union with two 64-bit words in the header, hence the alignment.
pub const Gid = extern struct { raw: [16]u8 align(8) };

pub const GidType = enum(u32) { ib = 0, roce_v1 = 1, roce_v2 = 2, _ };

pub const GidEntry = extern struct {
    gid: Gid,
    gid_index: u32,
    port_num: u32,
    gid_type: GidType,
    ndev_ifindex: u32,
};

pub const TransportType = enum(c_int) { unknown = -1, ib = 0, iwarp = 1, usnic = 2, usnic_udp = 3, unspecified = 4, _ };

pub const Device = extern struct {
    reserved: [2]?*anyopaque,
    node_type: c_int,
    transport_type: TransportType,
    name: [64]u8,
    /// Of the uverbs device: "uverbs0".
    dev_name: [64]u8,
    dev_path: [256]u8,
    /// The device's folder in /sys/class/infiniband.
    ibdev_path: [256]u8,
};

pub const PollCq = fn (*CompletionQueue, c_int, [*]Completion) callconv(.c) c_int;
pub const PostSend = fn (*QueuePair, *SendRequest, *?*SendRequest) callconv(.c) c_int;

/// Operations that providers fill per context; the two that we call stand among placeholders.
pub const ContextOps = extern struct {
    before_poll_cq: [11]?*const anyopaque,
    poll_cq: ?*const PollCq,
    before_post_send: [13]?*const anyopaque,
    post_send: ?*const PostSend,
    after_post_send: [6]?*const anyopaque,
};

pub const Context = extern struct {
    device: *Device,
    ops: ContextOps,
    cmd_fd: c_int,
    async_fd: c_int,
    num_comp_vectors: c_int,
};

pub const DeviceAttributes = extern struct {
    fw_ver: [64]u8,
    node_guid: u64,
    sys_image_guid: u64,
    max_mr_size: u64,
    page_size_cap: u64,
    vendor_id: u32,
    vendor_part_id: u32,
    hw_ver: u32,
    max_qp: c_int,
    max_qp_wr: c_int,
    device_cap_flags: c_uint,
    max_sge: c_int,
    max_sge_rd: c_int,
    max_cq: c_int,
    max_cqe: c_int,
    max_mr: c_int,
    max_pd: c_int,
    max_qp_rd_atom: c_int,
    max_ee_rd_atom: c_int,
    max_res_rd_atom: c_int,
    max_qp_init_rd_atom: c_int,
    max_ee_init_rd_atom: c_int,
    atomic_cap: c_int,
    max_ee: c_int,
    max_rdd: c_int,
    max_mw: c_int,
    max_raw_ipv6_qp: c_int,
    max_raw_ethy_qp: c_int,
    max_mcast_grp: c_int,
    max_mcast_qp_attach: c_int,
    max_total_mcast_qp_attach: c_int,
    max_ah: c_int,
    max_fmr: c_int,
    max_map_per_fmr: c_int,
    max_srq: c_int,
    max_srq_wr: c_int,
    max_srq_sge: c_int,
    max_pkeys: u16,
    local_ca_ack_delay: u8,
    phys_port_cnt: u8,
};

pub const PortState = enum(c_int) { nop = 0, down = 1, init = 2, armed = 3, active = 4, active_defer = 5, _ };

pub const LinkLayer = enum(u8) { unspecified = 0, infiniband = 1, ethernet = 2, _ };

pub const PortAttributes = extern struct {
    state: PortState,
    max_mtu: c_int,
    active_mtu: c_int,
    gid_tbl_len: c_int,
    port_cap_flags: u32,
    max_msg_sz: u32,
    bad_pkey_cntr: u32,
    qkey_viol_cntr: u32,
    pkey_tbl_len: u16,
    lid: u16,
    sm_lid: u16,
    lmc: u8,
    max_vl_num: u8,
    sm_sl: u8,
    subnet_timeout: u8,
    init_type_reply: u8,
    active_width: u8,
    active_speed: u8,
    phys_state: u8,
    link_layer: LinkLayer,
    flags: u8,
    port_cap_flags2: u16,
};

/// `PortAttributes.flags`: every packet needs a global route header.
pub const port_flag_grh_required: u8 = 1 << 0;

pub const ProtectionDomain = extern struct {
    context: *Context,
    handle: u32,
};

pub const MemoryRegion = extern struct {
    context: *Context,
    pd: *ProtectionDomain,
    addr: ?*anyopaque,
    length: usize,
    handle: u32,
    lkey: u32,
    rkey: u32,
};

pub const access_local_write: c_uint = 1 << 0;
pub const access_remote_write: c_uint = 1 << 1;
/// Optional: the library drops it on devices and kernels without it.
pub const access_relaxed_ordering: c_uint = 1 << 20;

pub const CompletionQueue = extern struct {
    context: *Context,
    channel: ?*anyopaque,
    cq_context: ?*anyopaque,
    handle: u32,
    cqe: c_int,
};

pub const CompletionStatus = enum(c_int) {
    success = 0,
    loc_len_err = 1,
    loc_qp_op_err = 2,
    loc_eec_op_err = 3,
    loc_prot_err = 4,
    wr_flush_err = 5,
    mw_bind_err = 6,
    bad_resp_err = 7,
    loc_access_err = 8,
    rem_inv_req_err = 9,
    rem_access_err = 10,
    rem_op_err = 11,
    retry_exc_err = 12,
    rnr_retry_exc_err = 13,
    loc_rdd_viol_err = 14,
    rem_inv_rd_req_err = 15,
    rem_abort_err = 16,
    inv_eecn_err = 17,
    inv_eec_state_err = 18,
    fatal_err = 19,
    resp_timeout_err = 20,
    general_err = 21,
    tm_err = 22,
    tm_rndv_incomplete = 23,
    _,

    /// The name as in IBV_WC_…, lower case.
    pub fn name(self: CompletionStatus) []const u8 {
        return std.enums.tagName(CompletionStatus, self) orelse "unknown_err";
    }
};

pub const Completion = extern struct {
    wr_id: u64,
    status: CompletionStatus,
    opcode: c_int,
    vendor_err: u32,
    byte_len: u32,
    imm_data: u32,
    qp_num: u32,
    src_qp: u32,
    wc_flags: c_uint,
    pkey_index: u16,
    slid: u16,
    sl: u8,
    dlid_path_bits: u8,
};

pub const QueuePairType = enum(c_int) { rc = 2, _ };
pub const QueuePairState = enum(c_int) { reset = 0, init = 1, rtr = 2, rts = 3, sqd = 4, sqe = 5, err = 6, unknown = 7, _ };

pub const QueuePair = extern struct {
    context: *Context,
    qp_context: ?*anyopaque,
    pd: *ProtectionDomain,
    send_cq: *CompletionQueue,
    recv_cq: *CompletionQueue,
    srq: ?*anyopaque,
    handle: u32,
    qp_num: u32,
    state: QueuePairState,
    qp_type: QueuePairType,
};

pub const QueuePairCapacity = extern struct {
    max_send_wr: u32,
    max_recv_wr: u32,
    max_send_sge: u32,
    max_recv_sge: u32,
    max_inline_data: u32,
};

pub const QueuePairInit = extern struct {
    qp_context: ?*anyopaque,
    send_cq: *CompletionQueue,
    recv_cq: *CompletionQueue,
    srq: ?*anyopaque,
    cap: QueuePairCapacity,
    qp_type: QueuePairType,
    sq_sig_all: c_int,
};

pub const GlobalRoute = extern struct {
    dgid: Gid,
    flow_label: u32,
    sgid_index: u8,
    hop_limit: u8,
    traffic_class: u8,
};

pub const AddressHandle = extern struct {
    grh: GlobalRoute,
    dlid: u16,
    sl: u8,
    src_path_bits: u8,
    static_rate: u8,
    is_global: u8,
    port_num: u8,
};

pub const QueuePairAttributes = extern struct {
    qp_state: QueuePairState,
    cur_qp_state: QueuePairState,
    path_mtu: c_int,
    path_mig_state: c_int,
    qkey: u32,
    rq_psn: u32,
    sq_psn: u32,
    dest_qp_num: u32,
    qp_access_flags: c_uint,
    cap: QueuePairCapacity,
    ah_attr: AddressHandle,
    alt_ah_attr: AddressHandle,
    pkey_index: u16,
    alt_pkey_index: u16,
    en_sqd_async_notify: u8,
    sq_draining: u8,
    max_rd_atomic: u8,
    max_dest_rd_atomic: u8,
    min_rnr_timer: u8,
    port_num: u8,
    timeout: u8,
    retry_cnt: u8,
    rnr_retry: u8,
    alt_port_num: u8,
    alt_timeout: u8,
    rate_limit: u32,
};

pub const qp_mask = struct {
    pub const state: c_int = 1 << 0;
    pub const access_flags: c_int = 1 << 3;
    pub const pkey_index: c_int = 1 << 4;
    pub const port: c_int = 1 << 5;
    pub const av: c_int = 1 << 7;
    pub const path_mtu: c_int = 1 << 8;
    pub const timeout: c_int = 1 << 9;
    pub const retry_cnt: c_int = 1 << 10;
    pub const rnr_retry: c_int = 1 << 11;
    pub const rq_psn: c_int = 1 << 12;
    pub const max_rd_atomic: c_int = 1 << 13;
    pub const min_rnr_timer: c_int = 1 << 15;
    pub const sq_psn: c_int = 1 << 16;
    pub const max_dest_rd_atomic: c_int = 1 << 17;
    pub const dest_qpn: c_int = 1 << 20;
};

pub const ScatterGather = extern struct {
    addr: u64,
    length: u32,
    lkey: u32,
};

pub const Opcode = enum(c_int) { rdma_write = 0, _ };
pub const send_signaled: c_uint = 1 << 1;

pub const SendRequest = extern struct {
    wr_id: u64,
    next: ?*SendRequest,
    sg_list: [*]ScatterGather,
    num_sge: c_int,
    opcode: Opcode,
    send_flags: c_uint,
    imm_data: u32,
    /// The RDMA arm of a union that is 32 bytes long.
    remote_addr: u64,
    rkey: u32,
    union_rest: [20]u8,
    qp_type: [8]u8,
    bind_mw: [48]u8,
};

pub const EventType = enum(c_int) { device_fatal = 8, port_err = 10, _ };

pub const AsyncEvent = extern struct {
    /// A pointer, or a port number in its first four bytes.
    element: extern union { pointer: ?*anyopaque, port_num: c_int },
    event_type: EventType,
};

/// Every verb that the probes call, once. The shipped library holds `libibverbs`, tests a scripted provider.
/// Posting and polling go through `Context.ops`, which the provider behind `open_device` fills.
pub const Table = struct {
    get_device_list: *const fn (?*c_int) callconv(.c) ?[*:null]?*Device,
    free_device_list: *const fn ([*:null]?*Device) callconv(.c) void,
    open_device: *const fn (*Device) callconv(.c) ?*Context,
    close_device: *const fn (*Context) callconv(.c) c_int,
    get_async_event: *const fn (*Context, *AsyncEvent) callconv(.c) c_int,
    ack_async_event: *const fn (*AsyncEvent) callconv(.c) void,
    query_device: *const fn (*Context, *DeviceAttributes) callconv(.c) c_int,
    query_port: *const fn (*Context, u8, *PortAttributes) callconv(.c) c_int,
    query_gid_table: *const fn (*Context, [*]GidEntry, usize, u32, usize) callconv(.c) isize,
    alloc_pd: *const fn (*Context) callconv(.c) ?*ProtectionDomain,
    dealloc_pd: *const fn (*ProtectionDomain) callconv(.c) c_int,
    reg_mr: *const fn (*ProtectionDomain, *anyopaque, usize, u64, c_uint) callconv(.c) ?*MemoryRegion,
    dereg_mr: *const fn (*MemoryRegion) callconv(.c) c_int,
    create_cq: *const fn (*Context, c_int, ?*anyopaque, ?*anyopaque, c_int) callconv(.c) ?*CompletionQueue,
    destroy_cq: *const fn (*CompletionQueue) callconv(.c) c_int,
    create_qp: *const fn (*ProtectionDomain, *QueuePairInit) callconv(.c) ?*QueuePair,
    modify_qp: *const fn (*QueuePair, *QueuePairAttributes, c_int) callconv(.c) c_int,
    destroy_qp: *const fn (*QueuePair) callconv(.c) c_int,
};

// `ibv_reg_mr_iova2` (1.8) instead of `ibv_reg_mr`: only it lets the library drop an optional access flag.
pub const libibverbs: Table = .{
    .get_device_list = extern_c.ibv_get_device_list,
    .free_device_list = extern_c.ibv_free_device_list,
    .open_device = extern_c.ibv_open_device,
    .close_device = extern_c.ibv_close_device,
    .get_async_event = extern_c.ibv_get_async_event,
    .ack_async_event = extern_c.ibv_ack_async_event,
    .query_device = extern_c.ibv_query_device,
    .query_port = extern_c.ibv_query_port,
    .query_gid_table = extern_c._ibv_query_gid_table,
    .alloc_pd = extern_c.ibv_alloc_pd,
    .dealloc_pd = extern_c.ibv_dealloc_pd,
    .reg_mr = extern_c.ibv_reg_mr_iova2,
    .dereg_mr = extern_c.ibv_dereg_mr,
    .create_cq = extern_c.ibv_create_cq,
    .destroy_cq = extern_c.ibv_destroy_cq,
    .create_qp = extern_c.ibv_create_qp,
    .modify_qp = extern_c.ibv_modify_qp,
    .destroy_qp = extern_c.ibv_destroy_qp,
};

const extern_c = struct {
    extern fn ibv_get_device_list(?*c_int) ?[*:null]?*Device;
    extern fn ibv_free_device_list([*:null]?*Device) void;
    extern fn ibv_open_device(*Device) ?*Context;
    extern fn ibv_close_device(*Context) c_int;
    extern fn ibv_get_async_event(*Context, *AsyncEvent) c_int;
    extern fn ibv_ack_async_event(*AsyncEvent) void;
    extern fn ibv_query_device(*Context, *DeviceAttributes) c_int;
    extern fn ibv_query_port(*Context, u8, *PortAttributes) c_int;
    extern fn _ibv_query_gid_table(*Context, [*]GidEntry, usize, u32, usize) isize;
    extern fn ibv_alloc_pd(*Context) ?*ProtectionDomain;
    extern fn ibv_dealloc_pd(*ProtectionDomain) c_int;
    extern fn ibv_reg_mr_iova2(*ProtectionDomain, *anyopaque, usize, u64, c_uint) ?*MemoryRegion;
    extern fn ibv_dereg_mr(*MemoryRegion) c_int;
    extern fn ibv_create_cq(*Context, c_int, ?*anyopaque, ?*anyopaque, c_int) ?*CompletionQueue;
    extern fn ibv_destroy_cq(*CompletionQueue) c_int;
    extern fn ibv_create_qp(*ProtectionDomain, *QueuePairInit) ?*QueuePair;
    extern fn ibv_modify_qp(*QueuePair, *QueuePairAttributes, c_int) c_int;
    extern fn ibv_destroy_qp(*QueuePair) c_int;
};
