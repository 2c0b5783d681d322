//! A scripted provider behind `verbs.Table`: devices of memory and counters that do what a `Script` says.
//! It is strict where hardware is: keys and ranges of memory, states of queue pairs, depth of queues. Time is counted in
//! polls, so that a script plays the same way on any machine. Every object is counted, so that tests can prove that all are given back.

const std = @import("std");
const verbs = @import("../src/verbs.zig");
const c = std.c;
const E = c.E;

const gpa = std.heap.c_allocator;

pub const Step = enum {
    none,
    get_device_list,
    open_device,
    query_device,
    query_port,
    query_gid_table,
    alloc_pd,
    reg_mr,
    create_cq,
    create_qp,
    modify_init,
    modify_rtr,
    modify_rts,
    post_send,
    poll_cq,
};

pub const Gids = enum { mlx5, irdma, ipv6_only, switchdev, none };

pub const Script = struct {
    /// Devices fake0, fake1, …
    devices: u32 = 1,
    /// The device that the faults below belong to; -1: all.
    faulty: i32 = -1,
    transport: verbs.TransportType = .ib,
    link_layer: verbs.LinkLayer = .ethernet,
    port_state: verbs.PortState = .active,
    gids: Gids = .mlx5,
    max_qp: u32 = 1024,
    max_qp_wr: u32 = 4096,
    max_cqe: u32 = 1 << 16,
    /// Polls that one write takes, on its queue pair, or where `shared` on the whole device.
    polls_per_write: u32 = 1,
    shared: bool = false,

    /// This step fails with `fail_errno` once it has succeeded `fail_after` times.
    fail: Step = .none,
    fail_errno: u16 = @intFromEnum(E.INVAL),
    fail_after: u32 = 0,
    /// This step sleeps first, as a verb does that hangs in the kernel.
    stall: Step = .none,
    stall_ms: u32 = 0,
    /// From this write on (the first is 1; 0 never): its completion gets lost, carries `completion_status`, moves wrong bytes.
    lose_write: u64 = 0,
    fail_write: u64 = 0,
    completion_status: verbs.CompletionStatus = .rem_access_err,
    spoil_write: u64 = 0,
    /// With this write the device dies: a fatal event, and nothing completes any more.
    kill_write: u64 = 0,
    /// With this write the port goes down, with its event, and nothing completes any more.
    port_down_write: u64 = 0,
    /// Writes fail as with `fail_write`; only the query after so many others shows the port down.
    port_down_query: u32 = 0,
    /// Queue pairs of this GID index fail at RTR with ETIMEDOUT, or their writes with a retry error; -1: none.
    gid_without_route: i32 = -1,
    gid_without_reply: i32 = -1,

    /// "key=value,key=value" with the names above.
    pub fn parse(text: []const u8) error{BadScript}!Script {
        var parsed: Script = .{};
        var items = std.mem.tokenizeScalar(u8, text, ',');
        next: while (items.next()) |item| {
            const equals = std.mem.indexOfScalar(u8, item, '=') orelse return error.BadScript;
            inline for (@typeInfo(Script).@"struct".fields) |field| {
                if (std.mem.eql(u8, item[0..equals], field.name)) {
                    @field(parsed, field.name) = try parseValue(field.type, item[equals + 1 ..]);
                    continue :next;
                }
            }
            return error.BadScript;
        }
        return parsed;
    }

    fn parseValue(comptime T: type, text: []const u8) error{BadScript}!T {
        return switch (@typeInfo(T)) {
            .int => std.fmt.parseInt(T, text, 10) catch error.BadScript,
            .bool => if (std.mem.eql(u8, text, "true")) true else if (std.mem.eql(u8, text, "false")) false else error.BadScript,
            .@"enum" => std.meta.stringToEnum(T, text) orelse error.BadScript,
            else => comptime unreachable,
        };
    }
};

/// What the next device list plays when no environment variable is asked; Zig tests set it.
pub var script: Script = .{};

/// Objects that exist now, over all devices.
pub const Census = struct {
    device_lists: i32 = 0,
    contexts: i32 = 0,
    domains: i32 = 0,
    regions: i32 = 0,
    completion_queues: i32 = 0,
    queue_pairs: i32 = 0,

    pub fn total(self: Census) i32 {
        var sum: i32 = 0;
        inline for (@typeInfo(Census).@"struct".fields) |field| sum += @field(self, field.name);
        return sum;
    }
};

var counted: Census = .{};

pub fn census() Census {
    var now: Census = .{};
    inline for (@typeInfo(Census).@"struct".fields) |field| @field(now, field.name) = @atomicLoad(i32, &@field(counted, field.name), .monotonic);
    return now;
}

fn count(comptime kind: []const u8, delta: i32) void {
    _ = @atomicRmw(i32, &@field(counted, kind), .Add, delta, .monotonic);
}

/// The provider that plays `script`.
pub const table: verbs.Table = tableFrom(.variable);
/// The provider that plays the environment variable HOSTPING_FAKE_VERBS.
pub const table_from_environment: verbs.Table = tableFrom(.environment);

const Source = enum { variable, environment };

fn tableFrom(comptime source: Source) verbs.Table {
    return .{
        .get_device_list = struct {
            fn get(_: ?*c_int) callconv(.c) ?[*:null]?*verbs.Device {
                return deviceList(switch (source) {
                    .variable => script,
                    .environment => Script.parse(if (c.getenv("HOSTPING_FAKE_VERBS")) |text| std.mem.span(text) else "") catch
                        @panic("HOSTPING_FAKE_VERBS is not a list of key=value as fake_verbs.zig names them"),
                });
            }
        }.get,
        .free_device_list = freeDeviceList,
        .open_device = openDevice,
        .close_device = closeDevice,
        .get_async_event = getAsyncEvent,
        .ack_async_event = ackAsyncEvent,
        .query_device = queryDevice,
        .query_port = queryPort,
        .query_gid_table = queryGidTable,
        .alloc_pd = allocPd,
        .dealloc_pd = deallocPd,
        .reg_mr = regMr,
        .dereg_mr = deregMr,
        .create_cq = createCq,
        .destroy_cq = destroyCq,
        .create_qp = createQp,
        .modify_qp = modifyQp,
        .destroy_qp = destroyQp,
    };
}

const devices_max = 16;
const queue_pairs_max = 256;
const first_queue_pair_number = 0x11;
const port_lid = 7;

const List = struct {
    pointers: [devices_max:null]?*verbs.Device,
    devices: [devices_max]FakeDevice,
};

const FakeDevice = struct {
    device: verbs.Device,
    script: Script,
    has_faults: bool,
    open_contexts: u32,
};

const FakeContext = struct {
    context: verbs.Context,
    script: Script,
    has_faults: bool,
    steps: std.EnumArray(Step, u32),
    writes: u64,
    ticks: u64,
    device_ready_at: u64,
    dead: bool,
    event: ?verbs.EventType,
    port_state: verbs.PortState,
    regions: [8]?*verbs.MemoryRegion,
    queue_pairs: [queue_pairs_max]?*FakeQueuePair,

    fn of(context: *verbs.Context) *FakeContext {
        return @alignCast(@fieldParentPtr("context", context));
    }

    /// Counts the step; the errno to fail with, or 0.
    fn enter(self: *FakeContext, step: Step) u16 {
        if (self.dead) return @intFromEnum(E.NODEV);
        const done = self.steps.get(step);
        self.steps.set(step, done + 1);
        if (self.has_faults and self.script.stall == step)
            _ = usleep(self.script.stall_ms * std.time.us_per_ms);
        return if (self.has_faults and self.script.fail == step and done >= self.script.fail_after) self.script.fail_errno else 0;
    }

    /// The errno of a peer that cannot be addressed so.
    fn checkAddress(self: *const FakeContext, attributes: *const verbs.QueuePairAttributes) u16 {
        if (attributes.ah_attr.is_global == 0)
            return if (self.script.link_layer == .infiniband and attributes.ah_attr.dlid == port_lid) 0 else @intFromEnum(E.INVAL);
        const lost = self.has_faults and attributes.ah_attr.grh.sgid_index == self.script.gid_without_route;
        return if (lost) @intFromEnum(E.TIMEDOUT) else 0;
    }

    fn memoryAt(self: *const FakeContext, comptime key: []const u8, value: u32, address: u64, length: u32) ?[]u8 {
        for (self.regions) |slot| {
            const mr = slot orelse continue;
            const base = @intFromPtr(mr.addr.?);
            if (@field(mr, key) == value and address >= base and address + length <= base + mr.length)
                return @as([*]u8, @ptrFromInt(address))[0..length];
        }
        return null;
    }
};

const Pending = struct {
    request: verbs.SendRequest,
    piece: verbs.ScatterGather,
    number: u64,
    ready_at: u64,
};

const FakeQueuePair = struct {
    qp: verbs.QueuePair,
    owner: *FakeContext,
    spoiled: bool,
    peer_number: u32,
    gid_index: i32,
    ready_at: u64,
    /// A ring of posted writes: [done, executed) wait for a signalled one behind them, [executed, posted) for their time.
    ring: []Pending,
    posted: u64,
    executed: u64,
    done: u64,

    /// Moves the bytes, as far as keys, ranges, the peer and the script allow.
    fn execute(self: *FakeQueuePair, pending: *const Pending) verbs.CompletionStatus {
        const owner = self.owner;
        const played = &owner.script;
        if (owner.has_faults) {
            if (self.gid_index >= 0 and self.gid_index == played.gid_without_reply) return .retry_exc_err;
            if (played.fail_write != 0 and pending.number >= played.fail_write) return played.completion_status;
        }
        const length = pending.piece.length;
        const source = owner.memoryAt("lkey", pending.piece.lkey, pending.piece.addr, length) orelse return .loc_prot_err;
        const target = owner.memoryAt("rkey", pending.request.rkey, pending.request.remote_addr, length) orelse return .rem_access_err;
        const peer = owner.queue_pairs[self.peer_number - first_queue_pair_number] orelse return .retry_exc_err;
        if (peer.peer_number != self.qp.qp_num or (peer.qp.state != .rtr and peer.qp.state != .rts)) return .retry_exc_err;
        @memcpy(target, source);
        if (owner.has_faults and played.spoil_write != 0 and pending.number >= played.spoil_write) target[length / 2] ^= 0x10;
        return .success;
    }
};

extern fn usleep(microseconds: c_uint) c_int;

fn refuse(errno: u16) void {
    c._errno().* = errno;
}

fn deviceList(played: Script) ?[*:null]?*verbs.Device {
    if (played.fail == .get_device_list) {
        refuse(played.fail_errno);
        return null;
    }
    std.debug.assert(played.devices <= devices_max);
    const list = gpa.create(List) catch unreachable;
    list.pointers = @splat(null);
    for (0..played.devices) |i| {
        const device = &list.devices[i];
        device.* = .{
            .device = std.mem.zeroes(verbs.Device),
            .script = played,
            .has_faults = played.faulty < 0 or played.faulty == i,
            .open_contexts = 0,
        };
        device.device.transport_type = played.transport;
        _ = std.fmt.bufPrint(&device.device.name, "fake{d}", .{i}) catch unreachable;
        _ = std.fmt.bufPrint(&device.device.dev_name, "uverbs-fake{d}", .{i}) catch unreachable;
        if (c.getenv("HOSTPING_FAKE_SYSFS")) |root|
            _ = std.fmt.bufPrint(&device.device.ibdev_path, "{s}/fake{d}", .{ std.mem.span(root), i }) catch unreachable;
        list.pointers[i] = &device.device;
    }
    count("device_lists", 1);
    return &list.pointers;
}

fn freeDeviceList(pointers: [*:null]?*verbs.Device) callconv(.c) void {
    const list: *List = @alignCast(@fieldParentPtr("pointers", @as(*[devices_max:null]?*verbs.Device, @ptrCast(pointers))));
    for (pointers[0..devices_max], 0..) |pointer, i| if (pointer != null) std.debug.assert(list.devices[i].open_contexts == 0);
    gpa.destroy(list);
    count("device_lists", -1);
}

fn openDevice(device: *verbs.Device) callconv(.c) ?*verbs.Context {
    const fake: *FakeDevice = @alignCast(@fieldParentPtr("device", device));
    if (fake.has_faults and fake.script.fail == .open_device) {
        refuse(fake.script.fail_errno);
        return null;
    }
    const self = gpa.create(FakeContext) catch unreachable;
    self.* = .{
        .context = std.mem.zeroInit(verbs.Context, .{
            .device = device,
            // Real descriptors, so that a test can count them in /proc.
            .cmd_fd = c.open("/dev/null", .{ .ACCMODE = .RDWR, .CLOEXEC = true }),
            .async_fd = c.open("/dev/null", .{ .ACCMODE = .RDWR, .CLOEXEC = true }),
            .num_comp_vectors = 1,
        }),
        .script = fake.script,
        .has_faults = fake.has_faults,
        .steps = .initFill(0),
        .writes = 0,
        .ticks = 0,
        .device_ready_at = 0,
        .dead = false,
        .event = null,
        .port_state = fake.script.port_state,
        .regions = @splat(null),
        .queue_pairs = @splat(null),
    };
    self.context.ops.poll_cq = pollCq;
    self.context.ops.post_send = postSend;
    fake.open_contexts += 1;
    count("contexts", 1);
    return &self.context;
}

fn closeDevice(context: *verbs.Context) callconv(.c) c_int {
    const self: *FakeContext = .of(context);
    const device: *FakeDevice = @alignCast(@fieldParentPtr("device", context.device));
    device.open_contexts -= 1;
    _ = c.close(context.cmd_fd);
    _ = c.close(context.async_fd);
    gpa.destroy(self);
    count("contexts", -1);
    return 0;
}

fn getAsyncEvent(context: *verbs.Context, event: *verbs.AsyncEvent) callconv(.c) c_int {
    const self: *FakeContext = .of(context);
    const kind = self.event orelse {
        refuse(@intFromEnum(E.AGAIN));
        return -1;
    };
    event.* = .{ .element = .{ .port_num = 1 }, .event_type = kind };
    self.event = null;
    return 0;
}

fn ackAsyncEvent(_: *verbs.AsyncEvent) callconv(.c) void {}

fn queryDevice(context: *verbs.Context, attributes: *verbs.DeviceAttributes) callconv(.c) c_int {
    const self: *FakeContext = .of(context);
    const errno = self.enter(.query_device);
    if (errno != 0) return errno;
    attributes.* = std.mem.zeroInit(verbs.DeviceAttributes, .{
        .max_qp = @as(c_int, @intCast(self.script.max_qp)),
        .max_qp_wr = @as(c_int, @intCast(self.script.max_qp_wr)),
        .max_cqe = @as(c_int, @intCast(self.script.max_cqe)),
        .phys_port_cnt = 1,
    });
    return 0;
}

fn queryPort(context: *verbs.Context, port: u8, attributes: *verbs.PortAttributes) callconv(.c) c_int {
    const self: *FakeContext = .of(context);
    const errno = self.enter(.query_port);
    if (errno != 0) return errno;
    if (port != 1) return @intFromEnum(E.INVAL);
    if (self.has_faults and self.script.port_down_query != 0 and self.steps.get(.query_port) > self.script.port_down_query) self.port_state = .down;
    attributes.* = std.mem.zeroInit(verbs.PortAttributes, .{
        .state = self.port_state,
        .max_mtu = 5,
        .active_mtu = 3,
        .gid_tbl_len = 16,
        .link_layer = self.script.link_layer,
        .lid = port_lid,
    });
    return 0;
}

fn queryGidTable(context: *verbs.Context, entries: [*]verbs.GidEntry, entries_max: usize, _: u32, entry_size: usize) callconv(.c) isize {
    const self: *FakeContext = .of(context);
    const errno = self.enter(.query_gid_table);
    if (errno != 0) return -@as(isize, errno);
    std.debug.assert(entry_size == @sizeOf(verbs.GidEntry));
    const link_local = "\xfe\x80\x00\x00\x00\x00\x00\x00\x02\x00\x00\xff\xfe\x00\x00\x01";
    const unique_local = "\xfd\x93\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05";
    const ipv4 = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xc0\x00\x02\x06";
    const zero = "\x00" ** 16;
    const Row = struct { verbs.GidType, *const [16]u8 };
    const rows: []const Row = switch (self.script.gids) {
        .mlx5 => &.{ .{ .roce_v1, link_local }, .{ .roce_v2, link_local }, .{ .roce_v1, ipv4 }, .{ .roce_v2, ipv4 } },
        .irdma => &.{ .{ .roce_v2, link_local }, .{ .roce_v2, ipv4 } },
        .ipv6_only => &.{ .{ .roce_v2, link_local }, .{ .roce_v2, unique_local } },
        .switchdev => &.{ .{ .roce_v1, zero }, .{ .roce_v2, zero } },
        .none => &.{},
    };
    for (rows, entries[0..@min(rows.len, entries_max)], 0..) |row, *entry, i| {
        entry.* = .{ .gid = .{ .raw = row[1].* }, .gid_index = @intCast(i), .port_num = 1, .gid_type = row[0], .ndev_ifindex = 2 };
    }
    return @intCast(@min(rows.len, entries_max));
}

fn allocPd(context: *verbs.Context) callconv(.c) ?*verbs.ProtectionDomain {
    const self: *FakeContext = .of(context);
    const errno = self.enter(.alloc_pd);
    if (errno != 0) {
        refuse(errno);
        return null;
    }
    const pd = gpa.create(verbs.ProtectionDomain) catch unreachable;
    pd.* = .{ .context = context, .handle = 1 };
    count("domains", 1);
    return pd;
}

fn deallocPd(pd: *verbs.ProtectionDomain) callconv(.c) c_int {
    gpa.destroy(pd);
    count("domains", -1);
    return 0;
}

fn regMr(pd: *verbs.ProtectionDomain, address: *anyopaque, length: usize, iova: u64, access: c_uint) callconv(.c) ?*verbs.MemoryRegion {
    const self: *FakeContext = .of(pd.context);
    const errno = self.enter(.reg_mr);
    if (errno != 0) {
        refuse(errno);
        return null;
    }
    std.debug.assert(iova == @intFromPtr(address));
    const slot = std.mem.indexOfScalar(?*verbs.MemoryRegion, &self.regions, null).?;
    const mr = gpa.create(verbs.MemoryRegion) catch unreachable;
    const key: u32 = @intCast(0x100 + slot);
    const remote_key: u32 = if (access & verbs.access_remote_write != 0) key | 0x8000 else 0;
    mr.* = .{ .context = pd.context, .pd = pd, .addr = address, .length = length, .handle = 1, .lkey = key, .rkey = remote_key };
    self.regions[slot] = mr;
    count("regions", 1);
    return mr;
}

fn deregMr(mr: *verbs.MemoryRegion) callconv(.c) c_int {
    const self: *FakeContext = .of(mr.context);
    self.regions[std.mem.indexOfScalar(?*verbs.MemoryRegion, &self.regions, mr).?] = null;
    gpa.destroy(mr);
    count("regions", -1);
    return 0;
}

fn createCq(context: *verbs.Context, entries: c_int, _: ?*anyopaque, _: ?*anyopaque, _: c_int) callconv(.c) ?*verbs.CompletionQueue {
    const self: *FakeContext = .of(context);
    var errno = self.enter(.create_cq);
    if (entries < 1 or entries > self.script.max_cqe) errno = @intFromEnum(E.INVAL);
    if (errno != 0) {
        refuse(errno);
        return null;
    }
    const cq = gpa.create(verbs.CompletionQueue) catch unreachable;
    cq.* = .{ .context = context, .channel = null, .cq_context = null, .handle = 1, .cqe = entries };
    count("completion_queues", 1);
    return cq;
}

fn destroyCq(cq: *verbs.CompletionQueue) callconv(.c) c_int {
    gpa.destroy(cq);
    count("completion_queues", -1);
    return 0;
}

fn createQp(pd: *verbs.ProtectionDomain, init: *verbs.QueuePairInit) callconv(.c) ?*verbs.QueuePair {
    const self: *FakeContext = .of(pd.context);
    var errno = self.enter(.create_qp);
    if (init.cap.max_send_wr > self.script.max_qp_wr or init.cap.max_inline_data != 0) errno = @intFromEnum(E.INVAL);
    const slot = std.mem.indexOfScalar(?*FakeQueuePair, &self.queue_pairs, null) orelse queue_pairs_max;
    if (slot >= @min(self.script.max_qp, queue_pairs_max)) errno = @intFromEnum(E.NOMEM);
    if (errno != 0) {
        refuse(errno);
        return null;
    }
    const fake = gpa.create(FakeQueuePair) catch unreachable;
    fake.* = .{
        .qp = .{
            .context = pd.context,
            .qp_context = null,
            .pd = pd,
            .send_cq = init.send_cq,
            .recv_cq = init.recv_cq,
            .srq = null,
            .handle = 1,
            .qp_num = @intCast(first_queue_pair_number + slot),
            .state = .reset,
            .qp_type = init.qp_type,
        },
        .owner = self,
        .spoiled = false,
        .peer_number = 0,
        .gid_index = -1,
        .ready_at = 0,
        .ring = gpa.alloc(Pending, init.cap.max_send_wr) catch unreachable,
        .posted = 0,
        .executed = 0,
        .done = 0,
    };
    self.queue_pairs[slot] = fake;
    count("queue_pairs", 1);
    return &fake.qp;
}

fn fakeOf(qp: *verbs.QueuePair) *FakeQueuePair {
    return @alignCast(@fieldParentPtr("qp", qp));
}

fn destroyQp(qp: *verbs.QueuePair) callconv(.c) c_int {
    const fake = fakeOf(qp);
    fake.owner.queue_pairs[qp.qp_num - first_queue_pair_number] = null;
    gpa.free(fake.ring);
    gpa.destroy(fake);
    count("queue_pairs", -1);
    return 0;
}

/// RESET, INIT, RTR, RTS, one after the other; a queue pair that once failed takes no further step, not even from RESET.
fn modifyQp(qp: *verbs.QueuePair, attributes: *verbs.QueuePairAttributes, mask: c_int) callconv(.c) c_int {
    const fake = fakeOf(qp);
    const self = fake.owner;
    const m = verbs.qp_mask;
    const want: struct { from: verbs.QueuePairState, step: Step, mask: c_int } = switch (attributes.qp_state) {
        .init => .{ .from = .reset, .step = .modify_init, .mask = m.state | m.pkey_index | m.port | m.access_flags },
        .rtr => .{ .from = .init, .step = .modify_rtr, .mask = m.state | m.av | m.path_mtu | m.dest_qpn | m.rq_psn | m.max_dest_rd_atomic | m.min_rnr_timer },
        .rts => .{ .from = .rtr, .step = .modify_rts, .mask = m.state | m.timeout | m.retry_cnt | m.rnr_retry | m.sq_psn | m.max_rd_atomic },
        else => return @intFromEnum(E.INVAL),
    };
    var errno = self.enter(want.step);
    if (fake.spoiled or qp.state != want.from or mask != want.mask) errno = @intFromEnum(E.INVAL);
    if (want.step == .modify_rtr and errno == 0) errno = self.checkAddress(attributes);
    if (errno != 0) {
        fake.spoiled = true;
        return errno;
    }
    if (want.step == .modify_rtr) {
        fake.peer_number = attributes.dest_qp_num;
        fake.gid_index = if (attributes.ah_attr.is_global != 0) attributes.ah_attr.grh.sgid_index else -1;
    }
    qp.state = attributes.qp_state;
    return 0;
}

fn postSend(qp: *verbs.QueuePair, first: *verbs.SendRequest, refused: *?*verbs.SendRequest) callconv(.c) c_int {
    const fake = fakeOf(qp);
    const self = fake.owner;
    var next: ?*verbs.SendRequest = first;
    while (next) |request| : (next = request.next) {
        var errno = self.enter(.post_send);
        if (qp.state != .rts or request.opcode != .rdma_write or request.num_sge != 1) errno = @intFromEnum(E.INVAL);
        if (fake.posted - fake.done == fake.ring.len) errno = @intFromEnum(E.NOMEM);
        if (errno != 0) {
            refused.* = request;
            return errno;
        }
        self.writes += 1;
        if (self.has_faults and self.writes == self.script.kill_write) {
            self.dead = true;
            self.event = .device_fatal;
            self.port_state = .down;
        }
        if (self.has_faults and self.writes == self.script.port_down_write) {
            self.event = .port_err;
            self.port_state = .down;
        }
        const free_at = @max(self.ticks, if (self.script.shared) self.device_ready_at else fake.ready_at);
        fake.ready_at = free_at + self.script.polls_per_write;
        self.device_ready_at = fake.ready_at;
        fake.ring[fake.posted % fake.ring.len] = .{ .request = request.*, .piece = request.sg_list[0], .number = self.writes, .ready_at = fake.ready_at };
        fake.posted += 1;
    }
    return 0;
}

fn pollCq(cq: *verbs.CompletionQueue, completions_max: c_int, completions: [*]verbs.Completion) callconv(.c) c_int {
    const self: *FakeContext = .of(cq.context);
    self.ticks += 1;
    if (self.port_state != .active or self.dead) return 0;
    const errno = self.enter(.poll_cq);
    if (errno != 0) return -@as(c_int, errno);
    var filled: usize = 0;
    for (self.queue_pairs) |slot| {
        const fake = slot orelse continue;
        while (filled < completions_max and fake.executed < fake.posted) {
            const pending = &fake.ring[fake.executed % fake.ring.len];
            if (pending.ready_at > self.ticks) break;
            if (self.has_faults and self.script.lose_write != 0 and pending.number >= self.script.lose_write) break;
            const status = fake.execute(pending);
            fake.executed += 1;
            if (status == .success and pending.request.send_flags & verbs.send_signaled == 0) continue;
            fake.done = fake.executed;
            completions[filled] = std.mem.zeroInit(verbs.Completion, .{
                .wr_id = pending.request.wr_id,
                .status = status,
                .qp_num = fake.qp.qp_num,
            });
            filled += 1;
        }
    }
    return @intCast(filled);
}
