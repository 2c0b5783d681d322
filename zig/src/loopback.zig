//! The loopback probe: WRITEs from one region to another of the same endpoint, through one RNIC port that talks to itself.
//!
//! Order: open, choose a GID, pin memory, connect, check that the right bytes move, then the 1-byte latency, the large
//! latency, the sustained throughput, the links under load, and where the figure is low the tool check. Everything that
//! is made here is undone here, in reverse.

const std = @import("std");
const abi = @import("abi.zig");
const clock = @import("clock.zig");
const gid = @import("gid.zig");
const numa = @import("numa.zig");
const Region = @import("region.zig").Region;
const RegionRefusal = @import("region.zig").Refusal;
const samples = @import("samples.zig");
const sysfs = @import("sysfs.zig");
const verbs = @import("verbs.zig");
const c = std.c;

const Allocator = std.mem.Allocator;
const E = c.E;

/// The reason is in the result already.
const Error = error{Failed};

/// Empty polls between two looks at the clock: some 20 µs, and no cost to a latency that is counted in single polls.
const polls_per_check = 1024;
/// A wait this long without a completion looks for the device's own events and for the device, which costs system calls.
const events_interval_ns = 10 * std.time.ns_per_ms;
/// Writes posted with one doorbell; one completion is asked for the last of them.
const chain_max = 16;
/// Empty measurements for the self-noise.
const noise_samples = 1001;
/// A repetition with twice the connections that carries this much more (in per cent) shows the tool as the limit.
const tool_check_gain_percent = 110;
/// Between two looks at a port after a failed write.
const settle_step_ns = 5 * std.time.ns_per_ms;
const completions_per_poll = 16;
/// Entries of all ports together; the kernel refuses a table that does not fit.
const gid_table_max = 1024;
/// Relaxed ordering lets payload overtake payload on its way through PCIe; the check of the bytes allows it this time.
const pattern_wait_ns = std.time.ns_per_ms;

/// Pinned by the queues beside the regions, roughly.
const rings_bytes = 1 << 20;
/// ENOMEM under a limit below this many times the need is the limit's doing: other probes and processes count into it too.
const memlock_margin = 16;

/// Each limit generous enough for the fabric of a host, tight enough to end: 67 ms, seven times.
const transport = struct {
    const timeout = 14;
    const retry_cnt = 7;
    const rnr_retry = 7;
    const min_rnr_timer = 12;
    const hop_limit = 64;
};

pub fn run(
    table: *const verbs.Table,
    allocator: Allocator,
    config: *const abi.LoopbackConfig,
    cancel: ?*const clock.CancelToken,
    small_ns: []u64,
    result: *abi.LoopbackResult,
) void {
    const started_ns = clock.now_ns();
    result.* = std.mem.zeroes(abi.LoopbackResult);
    result.struct_size = @sizeOf(abi.LoopbackResult);
    var probe: Probe = .{
        .verbs = table,
        .allocator = allocator,
        .config = config,
        .result = result,
        .limit = .{ .cancel = cancel, .deadline_ns = started_ns +| config.deadline_ns },
    };
    probe.measure(small_ns) catch std.debug.assert(result.status != .ok);
    result.duration_ns = clock.now_ns() - started_ns;
}

/// One queue pair that writes and the one that it writes to.
const Connection = struct {
    source: *verbs.QueuePair,
    target: *verbs.QueuePair,
};

const Probe = struct {
    verbs: *const verbs.Table,
    allocator: Allocator,
    config: *const abi.LoopbackConfig,
    result: *abi.LoopbackResult,
    limit: clock.Limit,

    context: *verbs.Context = undefined,
    events_readable: bool = false,
    was_registered: bool = false,
    port: verbs.PortAttributes = undefined,
    pd: *verbs.ProtectionDomain = undefined,
    cq: *verbs.CompletionQueue = undefined,
    read_region: Region = undefined,
    write_region: Region = undefined,
    read_mr: *verbs.MemoryRegion = undefined,
    write_mr: *verbs.MemoryRegion = undefined,
    window: u32 = undefined,
    /// What was asked for and what the device has room for, in connections.
    connections_wanted: u32 = undefined,
    connections_possible: u32 = undefined,
    connections: [2 * abi.connections_max]Connection = undefined,
    connection_count: u32 = 0,
    /// Null where LIDs do.
    source_gid: ?verbs.GidEntry = null,
    next_slot: usize = 0,
    chains_in_flight: usize = 0,

    fn measure(self: *Probe, small_ns: []u64) Error!void {
        try self.checkConfig();
        const stay: numa.Stay = .on(self.config.rnic_node);
        defer stay.restore();
        self.result.thread_on_rnic_node = @intFromBool(stay.pinned());

        const device_list = try self.open();
        defer self.verbs.free_device_list(device_list);
        defer _ = self.verbs.close_device(self.context);

        const outcome = self.measurePort(small_ns);
        self.readPortBytes(&self.result.port_sent_bytes_after, &self.result.port_received_bytes_after);
        const until_ns = clock.now_ns() +| self.config.settle_ns;
        while (true) {
            try self.lookBehind();
            const now_ns = clock.now_ns();
            if (!self.isAmbiguous() or now_ns >= until_ns or self.limit.reached(now_ns) != null) return outcome;
            sleep(settle_step_ns);
        }
    }

    fn measurePort(self: *Probe, small_ns: []u64) Error!void {
        const attributes = try self.queryDevice();
        self.port = try self.queryPort();
        self.result.port_state_before = .of(@intCast(@intFromEnum(self.port.state)));
        if (self.port.state != .active)
            return self.fail(.port_not_active, "ibv_query_port", 0, "port is {s}, must be ACTIVE", .{portStateName(self.port.state)});
        self.result.mtu_bytes = @as(u32, 128) << @intCast(std.math.clamp(self.port.active_mtu, 1, 5));
        const candidates = try self.candidateGids();
        self.clip(&attributes);
        self.readBefore();

        try self.mapRegions();
        defer self.read_region.unmap();
        defer self.write_region.unmap();
        const latencies = self.allocator.alloc(u64, @max(noise_samples, self.config.small_samples, self.config.large_samples)) catch
            return self.fail(.memory_refused, "malloc", @intFromEnum(E.NOMEM), "no memory for the latency samples", .{});
        defer self.allocator.free(latencies);

        self.pd = self.verbs.alloc_pd(self.context) orelse return self.refuse(.registration_refused, "ibv_alloc_pd", lastErrno());
        defer _ = self.verbs.dealloc_pd(self.pd);
        self.read_mr = try self.register(&self.read_region, verbs.access_local_write);
        defer _ = self.verbs.dereg_mr(self.read_mr);
        self.write_mr = try self.register(&self.write_region, verbs.access_local_write | verbs.access_remote_write);
        defer _ = self.verbs.dereg_mr(self.write_mr);
        // Room for the tool check's connections too, and for every write to fail.
        const entries: c_int = @intCast(2 * self.connections_wanted * self.window);
        self.cq = self.verbs.create_cq(self.context, @min(entries, @max(attributes.max_cqe, 1)), null, null, 0) orelse
            return self.refuse(.completion_queue_refused, "ibv_create_cq", lastErrno());
        defer _ = self.verbs.destroy_cq(self.cq);

        try self.connectByBestGid(candidates.slice());
        defer self.disconnectDownTo(0);

        self.measureNoise(latencies[0..noise_samples]);
        const small = try self.measureLatency(1, latencies[0..self.config.small_samples]);
        const stored = @min(small.len, small_ns.len);
        @memcpy(small_ns[0..stored], small[0..stored]);
        self.result.samples_stored = stored;
        self.result.small = samples.summarize(small);
        self.result.large = samples.summarize(try self.measureLatency(self.config.message_bytes, latencies[0..self.config.large_samples]));
        self.result.paper_bytes_per_second = .of(paperFigure(self.config.message_bytes, self.result.small.p50_ns, self.result.large.p50_ns));
        self.result.sustained = try self.sustain();
        try self.readLinksUnderLoad();
        try self.checkTool();
    }

    // Setting up.

    fn checkConfig(self: *Probe) Error!void {
        const config = self.config;
        const ranges = .{
            .{ "port", config.port, 1, 255 },
            .{ "connections", config.connections, 1, abi.connections_max },
            .{ "window", config.window, 1, abi.window_max },
            .{ "message_bytes", config.message_bytes, 2, abi.message_bytes_max },
            .{ "small_samples", config.small_samples, 1, abi.latency_samples_max },
            .{ "large_samples", config.large_samples, 1, abi.latency_samples_max },
            .{ "region_bytes", config.region_bytes, config.message_bytes, abi.region_bytes_max },
            .{ "bandwidth_budget_ns", config.bandwidth_budget_ns, 1, std.math.maxInt(u64) },
            .{ "bandwidth_bytes_max", config.bandwidth_bytes_max, config.message_bytes, std.math.maxInt(u64) },
            .{ "completion_timeout_ns", config.completion_timeout_ns, 1, std.math.maxInt(u64) },
            .{ "deadline_ns", config.deadline_ns, 1, std.math.maxInt(u64) },
            .{ "gid_index", config.gid_index, -1, 255 },
            .{ "memory_node", config.memory_node, -1, numa.nodes_max - 2 },
            .{ "rnic_node", config.rnic_node, -1, numa.nodes_max - 2 },
            .{ "hop_count", config.hop_count, 0, abi.hops_max },
            .{ "flags", config.flags, 0, abi.flag_base_pages },
        };
        inline for (ranges) |range| if (range[1] < range[2] or range[1] > range[3])
            return self.fail(.invalid_argument, "config", 0, range[0] ++ " is {d}, must be {d} to {d}", .{ range[1], range[2], range[3] });
        const device = std.mem.sliceTo(&config.device, 0);
        if (device.len == 0 or device.len == config.device.len)
            return self.fail(.invalid_argument, "config", 0, "device must be a name of 1 to {d} bytes", .{config.device.len - 1});
        for (config.hops[0..config.hop_count]) |*hop| if (std.mem.indexOfScalar(u8, hop, 0) == null)
            return self.fail(.invalid_argument, "config", 0, "a hop's path must be shorter than {d} bytes", .{hop.len});
    }

    /// The caller frees the list once the context is closed.
    fn open(self: *Probe) Error![*:null]?*verbs.Device {
        const wanted = self.deviceName();
        const list = self.verbs.get_device_list(null) orelse {
            const errno = lastErrno();
            return switch (@as(E, @enumFromInt(errno))) {
                .NOSYS => self.explainAbsence(errno),
                .PERM, .ACCES => self.refuse(.permission_denied, "ibv_get_device_list", errno),
                else => self.refuse(.device_unusable, "ibv_get_device_list", errno),
            };
        };
        errdefer self.verbs.free_device_list(list);
        const device = for (std.mem.span(list)) |entry| {
            if (std.mem.eql(u8, std.mem.sliceTo(&entry.?.name, 0), wanted)) break entry.?;
        } else return self.explainAbsence(0);
        switch (device.transport_type) {
            .iwarp, .usnic, .usnic_udp => return self.fail(.device_unsupported, "ibv_get_device_list", 0, "the device's transport is {s}, the probe needs InfiniBand or RoCE", .{@tagName(device.transport_type)}),
            else => {},
        }
        c._errno().* = 0;
        self.context = self.verbs.open_device(device) orelse return self.explainOpen(device, lastErrno());
        self.events_readable = setNonBlocking(self.context.async_fd);
        self.was_registered = sysfs.exists(@ptrCast(&device.dev_path));
        return list;
    }

    /// libibverbs lists devices by their uverbs files, the kernel has them without, too.
    fn explainAbsence(self: *Probe, errno: u16) Error {
        var path_buffer: [128]u8 = undefined;
        const path = std.fmt.bufPrintSentinel(&path_buffer, "/sys/class/infiniband/{s}", .{self.deviceName()}, 0) catch unreachable;
        if (sysfs.exists(path))
            return self.fail(.uverbs_missing, "ibv_get_device_list", errno, "the device has no uverbs file; load ib_uverbs, or pass /dev/infiniband into the container", .{});
        return self.fail(.device_not_found, "ibv_get_device_list", errno, "no RDMA device of that name", .{});
    }

    fn explainOpen(self: *Probe, device: *const verbs.Device, errno: u16) Error {
        var path_buffer: [128]u8 = undefined;
        const path = std.fmt.bufPrintSentinel(&path_buffer, "/dev/infiniband/{s}", .{std.mem.sliceTo(&device.dev_name, 0)}, 0) catch unreachable;
        return switch (@as(E, @enumFromInt(errno))) {
            .PERM, .ACCES => self.fail(.permission_denied, "ibv_open_device", errno, "no permission to open {s}; run as root, or give its group access", .{path}),
            .NOENT, .NXIO => self.fail(.uverbs_missing, "ibv_open_device", errno, "{s} is missing; load ib_uverbs, or pass the file into the container", .{path}),
            else => self.refuse(.device_unusable, "ibv_open_device", errno),
        };
    }

    fn queryDevice(self: *Probe) Error!verbs.DeviceAttributes {
        var attributes: verbs.DeviceAttributes = undefined;
        const rc = self.verbs.query_device(self.context, &attributes);
        if (rc != 0) return self.refuse(.device_unusable, "ibv_query_device", errnoOf(rc));
        return attributes;
    }

    fn queryPort(self: *Probe) Error!verbs.PortAttributes {
        // The exported function may leave the newest fields alone.
        var attributes = std.mem.zeroes(verbs.PortAttributes);
        const rc = self.verbs.query_port(self.context, @intCast(self.config.port), &attributes);
        if (rc != 0) return self.refuse(.device_unusable, "ibv_query_port", errnoOf(rc));
        return attributes;
    }

    /// InfiniBand ports are addressed by LID, and need no candidate unless they ask for a global route.
    fn candidateGids(self: *Probe) Error!gid.Candidates {
        const on_ethernet = self.port.link_layer == .ethernet;
        if (!on_ethernet and self.port.flags & verbs.port_flag_grh_required == 0) return .{};
        var table: [gid_table_max]verbs.GidEntry = undefined;
        const count = self.verbs.query_gid_table(self.context, &table, table.len, 0, @sizeOf(verbs.GidEntry));
        if (count < 0) return self.refuse(.device_unusable, "ibv_query_gid_table", errnoOf(count));
        const entries = table[0..@intCast(count)];
        const wanted: ?u32 = if (self.config.gid_index >= 0) @intCast(self.config.gid_index) else if (on_ethernet) null else 0;
        if (wanted) |index| {
            for (entries) |entry| if (entry.port_num == self.config.port and entry.gid_index == index) {
                var only: gid.Candidates = .{ .count = 1 };
                only.entries[0] = entry;
                return only;
            };
            return self.fail(.no_usable_gid, "ibv_query_gid_table", 0, "GID index {d} is empty", .{index});
        }
        const candidates = gid.choose(entries, self.config.port);
        if (candidates.count == 0)
            return self.fail(.no_usable_gid, "ibv_query_gid_table", 0, "none of {d} GIDs can carry RoCE v2 (switchdev mode, or no IP address?)", .{entries.len});
        return candidates;
    }

    fn clip(self: *Probe, attributes: *const verbs.DeviceAttributes) void {
        self.connections_possible = @intCast(@max(@divTrunc(attributes.max_qp, 2), 1));
        self.connections_wanted = @min(self.config.connections, self.connections_possible);
        const send_depth: u32 = @intCast(@max(attributes.max_qp_wr, 1));
        const entries: u32 = @intCast(@max(attributes.max_cqe, 1));
        self.window = @min(self.config.window, send_depth, @max(entries / self.connections_wanted, 1));
    }

    fn mapRegions(self: *Probe) Error!void {
        const bytes = @max(self.config.region_bytes, self.slotBytes());
        self.read_region = try self.mapRegion(bytes);
        errdefer self.read_region.unmap();
        self.write_region = try self.mapRegion(bytes);
        const read_host = self.read_region.kind.host;
        const write_host = self.write_region.kind.host;
        // Of two kinds the smaller pages are told, of two findings the weaker one.
        self.result.page_kind = if (read_host.page_kind == write_host.page_kind) read_host.page_kind else .base;
        self.result.placement_verified = @intFromBool(read_host.placement_verified and write_host.placement_verified);
        for (0..self.slotBytes()) |i| self.read_region.bytes[i] = patternByte(i);
        for (0..self.slotBytes()) |i| self.write_region.bytes[i] = ~patternByte(i);
    }

    fn mapRegion(self: *Probe, bytes: usize) Error!Region {
        var refusal: RegionRefusal = undefined;
        return Region.mapHost(bytes, self.config.memory_node, self.config.flags & abi.flag_base_pages == 0, &refusal) catch {
            const reason = if (refusal.reason.len > 0) refusal.reason else errnoName(refusal.errno);
            return self.fail(refusal.status, refusal.operation, refusal.errno, "{s} ({d} bytes on node {d})", .{ reason, bytes, self.config.memory_node });
        };
    }

    fn register(self: *Probe, region: *const Region, access: c_uint) Error!*verbs.MemoryRegion {
        const address = region.bytes.ptr;
        return self.verbs.reg_mr(self.pd, address, region.bytes.len, @intFromPtr(address), access | verbs.access_relaxed_ordering) orelse
            self.refuse(.registration_refused, "ibv_reg_mr", lastErrno());
    }

    /// Connects with the best GID, and once with the next one where the first does not connect or does not carry.
    fn connectByBestGid(self: *Probe, candidates: []const verbs.GidEntry) Error!void {
        if (candidates.len == 0) return self.connectAndVerify();
        for (candidates, 1..) |candidate, attempt| {
            self.source_gid = candidate;
            self.result.gid_attempts = @intCast(attempt);
            self.result.gid_index = .of(candidate.gid_index);
            if (self.connectAndVerify()) return else |err| {
                if (attempt == candidates.len or !self.failedByGid()) return err;
                self.forgetFailure();
            }
        }
    }

    fn connectAndVerify(self: *Probe) Error!void {
        try self.connectUpTo(self.connections_wanted);
        errdefer self.disconnectDownTo(0);
        try self.verifyBytes();
    }

    fn failedByGid(self: *const Probe) bool {
        const failure = &self.result.failure;
        return switch (self.result.status) {
            .queue_pair_refused => failure.errno_value == @intFromEnum(E.TIMEDOUT),
            .completion_failed => failure.completion_status == @intFromEnum(verbs.CompletionStatus.retry_exc_err),
            else => false,
        };
    }

    /// Adds connections until there are `count`. A queue pair that fails is destroyed: not every driver takes one back from RESET.
    fn connectUpTo(self: *Probe, count: u32) Error!void {
        const before = self.connection_count;
        errdefer self.disconnectDownTo(before);
        while (self.connection_count < count) {
            if (self.limit.reached(clock.now_ns())) |expiry| return self.expire(expiry, "ibv_create_qp");
            const source = try self.createQueuePair(self.window);
            errdefer _ = self.verbs.destroy_qp(source);
            const target = try self.createQueuePair(1);
            errdefer _ = self.verbs.destroy_qp(target);
            for ([_]*verbs.QueuePair{ source, target }) |qp| try self.toInit(qp);
            try self.toReadyToReceive(source, target.qp_num);
            try self.toReadyToReceive(target, source.qp_num);
            for ([_]*verbs.QueuePair{ source, target }) |qp| try self.toReadyToSend(qp);
            self.connections[self.connection_count] = .{ .source = source, .target = target };
            self.connection_count += 1;
        }
    }

    fn disconnectDownTo(self: *Probe, count: u32) void {
        while (self.connection_count > count) {
            self.connection_count -= 1;
            const connection = self.connections[self.connection_count];
            _ = self.verbs.destroy_qp(connection.source);
            _ = self.verbs.destroy_qp(connection.target);
        }
    }

    fn createQueuePair(self: *Probe, send_depth: u32) Error!*verbs.QueuePair {
        var init: verbs.QueuePairInit = .{
            .qp_context = null,
            .send_cq = self.cq,
            .recv_cq = self.cq,
            .srq = null,
            .cap = .{ .max_send_wr = send_depth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0 },
            .qp_type = .rc,
            .sq_sig_all = 0,
        };
        return self.verbs.create_qp(self.pd, &init) orelse {
            const errno = lastErrno();
            return switch (@as(E, @enumFromInt(errno))) {
                .OPNOTSUPP, .NOSYS => self.fail(.device_unsupported, "ibv_create_qp", errno, "the device has no reliable connections", .{}),
                else => self.refuse(.queue_pair_refused, "ibv_create_qp", errno),
            };
        };
    }

    fn toInit(self: *Probe, qp: *verbs.QueuePair) Error!void {
        var attributes = std.mem.zeroes(verbs.QueuePairAttributes);
        attributes.qp_state = .init;
        attributes.port_num = @intCast(self.config.port);
        attributes.qp_access_flags = verbs.access_remote_write;
        const m = verbs.qp_mask;
        try self.modify(qp, &attributes, m.state | m.pkey_index | m.port | m.access_flags, "ibv_modify_qp(INIT)");
    }

    fn toReadyToReceive(self: *Probe, qp: *verbs.QueuePair, peer: u32) Error!void {
        var attributes = std.mem.zeroes(verbs.QueuePairAttributes);
        attributes.qp_state = .rtr;
        attributes.path_mtu = self.port.active_mtu;
        attributes.dest_qp_num = peer;
        attributes.max_dest_rd_atomic = 1;
        attributes.min_rnr_timer = transport.min_rnr_timer;
        attributes.ah_attr.port_num = @intCast(self.config.port);
        attributes.ah_attr.dlid = self.port.lid;
        if (self.source_gid) |entry| {
            attributes.ah_attr.is_global = 1;
            attributes.ah_attr.grh.dgid = entry.gid;
            attributes.ah_attr.grh.sgid_index = @intCast(entry.gid_index);
            attributes.ah_attr.grh.hop_limit = transport.hop_limit;
        }
        const m = verbs.qp_mask;
        try self.modify(qp, &attributes, m.state | m.av | m.path_mtu | m.dest_qpn | m.rq_psn | m.max_dest_rd_atomic | m.min_rnr_timer, "ibv_modify_qp(RTR)");
    }

    fn toReadyToSend(self: *Probe, qp: *verbs.QueuePair) Error!void {
        var attributes = std.mem.zeroes(verbs.QueuePairAttributes);
        attributes.qp_state = .rts;
        attributes.timeout = transport.timeout;
        attributes.retry_cnt = transport.retry_cnt;
        attributes.rnr_retry = transport.rnr_retry;
        attributes.max_rd_atomic = 1;
        const m = verbs.qp_mask;
        try self.modify(qp, &attributes, m.state | m.timeout | m.retry_cnt | m.rnr_retry | m.sq_psn | m.max_rd_atomic, "ibv_modify_qp(RTS)");
    }

    fn modify(self: *Probe, qp: *verbs.QueuePair, attributes: *verbs.QueuePairAttributes, mask: c_int, operation: []const u8) Error!void {
        const rc = self.verbs.modify_qp(qp, attributes, mask);
        if (rc != 0) return self.refuse(.queue_pair_refused, operation, errnoOf(rc));
    }

    // Measuring. These loops allocate nothing, and make no system call but the clock's except in a wait that is already long.

    /// One large write, compared at its target.
    fn verifyBytes(self: *Probe) Error!void {
        self.next_slot = 0;
        var write: Write = undefined;
        write.prepare(self, self.config.message_bytes, 1);
        _ = try self.writeOnce(&write);
        const want = self.read_region.bytes[0..self.config.message_bytes];
        const got: []const volatile u8 = self.write_region.bytes[0..self.config.message_bytes];
        const until_ns = clock.now_ns() + pattern_wait_ns;
        for (want, 0..) |byte, i| while (got[i] != byte) {
            if (clock.now_ns() < until_ns) continue;
            return self.fail(.wrong_data, "RDMA WRITE", 0, "byte {d} of {d} is 0x{x:0>2} at the target, 0x{x:0>2} was written", .{ i, want.len, got[i], byte });
        };
    }

    fn measureNoise(self: *Probe, buffer: []u64) void {
        for (buffer) |*sample| {
            const begin_ns = clock.now_ns();
            sample.* = clock.now_ns() - begin_ns;
        }
        std.sort.pdq(u64, buffer, {}, std.sort.asc(u64));
        self.result.self_noise_p50_ns = samples.percentile(buffer, 50);
        self.result.self_noise_p99_ns = samples.percentile(buffer, 99);
    }

    /// Writes one at a time; returns the samples taken, in order.
    fn measureLatency(self: *Probe, bytes: u32, buffer: []u64) Error![]u64 {
        var write: Write = undefined;
        write.prepare(self, bytes, 1);
        const warm_by_ns = clock.now_ns() +| self.config.latency_budget_ns;
        for (0..self.config.warmup_writes) |_| {
            const times = try self.writeOnce(&write);
            if (times.end_ns >= warm_by_ns) break;
        }
        const until_ns = clock.now_ns() +| self.config.latency_budget_ns;
        for (buffer, 1..) |*sample, count| {
            const times = try self.writeOnce(&write);
            sample.* = times.end_ns - times.begin_ns;
            if (times.end_ns >= until_ns) return buffer[0..count];
        }
        return buffer;
    }

    const Times = struct { begin_ns: u64, end_ns: u64 };

    inline fn writeOnce(self: *Probe, write: *Write) Error!Times {
        var completion: [1]verbs.Completion = undefined;
        write.aim(self, 0);
        const begin_ns = clock.now_ns();
        try self.post(&self.connections[0], write);
        const polled = try self.poll(&completion);
        const end_ns = clock.now_ns();
        try self.expectSuccess(polled);
        if (self.limit.reached(end_ns)) |expiry| return self.expire(expiry, "ibv_poll_cq");
        return .{ .begin_ns = begin_ns, .end_ns = end_ns };
    }

    /// Keeps every connection's window full; counts between two completions, so that neither ramp nor drain is in the figure.
    fn sustain(self: *Probe) Error!abi.Throughput {
        var write: Write = undefined;
        write.prepare(self, self.config.message_bytes, self.chain());
        try self.fillWindows(&write);
        const warmup = @max(self.config.warmup_writes, self.connection_count * self.window);
        const warm_by_ns = clock.now_ns() +| self.config.bandwidth_budget_ns;
        const messages_max = self.config.bandwidth_bytes_max / self.config.message_bytes;
        var buffer: [completions_per_poll]verbs.Completion = undefined;
        var completed: u64 = 0;
        var begin: ?struct { ns: u64, completed: u64 } = null;
        while (true) {
            const polled = try self.pollSuccess(&buffer);
            const now_ns = clock.now_ns();
            completed += polled.len * write.count;
            if (begin) |from| {
                const messages = completed - from.completed;
                if (now_ns - from.ns >= self.config.bandwidth_budget_ns or messages >= messages_max) {
                    try self.drain(polled.len);
                    return .{
                        .bytes = messages * self.config.message_bytes,
                        .duration_ns = @max(now_ns - from.ns, 1),
                        .connections = self.connection_count,
                        .window = self.window,
                    };
                }
            } else if (completed >= warmup or now_ns >= warm_by_ns) {
                begin = .{ .ns = now_ns, .completed = completed };
            }
            if (self.limit.reached(now_ns)) |expiry| return self.expire(expiry, "ibv_poll_cq");
            try self.postAgain(&write, polled);
        }
    }

    /// Idle links downshift: each hop is read with writes in flight behind it.
    fn readLinksUnderLoad(self: *Probe) Error!void {
        if (self.config.hop_count == 0) return;
        var write: Write = undefined;
        write.prepare(self, self.config.message_bytes, self.chain());
        try self.fillWindows(&write);
        var buffer: [completions_per_poll]verbs.Completion = undefined;
        for (self.result.hops[0..self.config.hop_count], 0..) |*hop, i| {
            hop.during = sysfs.readLink(self.hopPath(i));
            const polled = try self.pollSuccess(&buffer);
            if (self.limit.reached(clock.now_ns())) |expiry| return self.expire(expiry, "ibv_poll_cq");
            try self.postAgain(&write, polled);
        }
        try self.drain(0);
    }

    /// Before a low figure is believed: do twice the connections carry more?
    fn checkTool(self: *Probe) Error!void {
        const below = self.config.tool_check_below_bytes_per_second;
        const first = rate(self.result.sustained);
        if (below == 0 or first >= below) return;
        const doubled = 2 * self.connection_count;
        self.result.tool_check = .not_possible;
        if (doubled > self.connections_possible) return;
        self.connectUpTo(doubled) catch |err| switch (self.result.status) {
            .queue_pair_refused, .memlock_limit => return self.forgetFailure(),
            else => return err,
        };
        self.result.repeat = try self.sustain();
        self.result.tool_check = limitOf(self.result.sustained, self.result.repeat);
    }

    /// Writes per doorbell.
    fn chain(self: *const Probe) u32 {
        return std.math.clamp(self.window / 4, 1, chain_max);
    }

    fn fillWindows(self: *Probe, write: *Write) Error!void {
        self.chains_in_flight = 0;
        // Round after round, so that no connection starts with its whole window ahead of the others.
        for (0..self.window / write.count) |_| {
            for (self.connections[0..self.connection_count], 0..) |*connection, i| {
                write.aim(self, i);
                try self.post(connection, write);
                self.chains_in_flight += 1;
            }
        }
    }

    /// One new chain for each that has completed.
    fn postAgain(self: *Probe, write: *Write, polled: []const verbs.Completion) Error!void {
        for (polled) |completion| {
            write.aim(self, completion.wr_id);
            try self.post(&self.connections[completion.wr_id], write);
        }
    }

    /// Waits for everything in flight, of which `seen` chains were polled and not posted again.
    fn drain(self: *Probe, seen: usize) Error!void {
        var buffer: [completions_per_poll]verbs.Completion = undefined;
        self.chains_in_flight -= seen;
        while (self.chains_in_flight > 0) {
            self.chains_in_flight -= (try self.pollSuccess(&buffer)).len;
            if (self.limit.reached(clock.now_ns())) |expiry| return self.expire(expiry, "ibv_poll_cq");
        }
    }

    inline fn post(self: *Probe, connection: *const Connection, write: *Write) Error!void {
        var refused: ?*verbs.SendRequest = null;
        const rc = self.context.ops.post_send.?(connection.source, &write.requests[0], &refused);
        if (rc != 0) return self.refuse(.post_refused, "ibv_post_send", errnoOf(rc));
    }

    inline fn pollSuccess(self: *Probe, buffer: []verbs.Completion) Error![]const verbs.Completion {
        const polled = try self.poll(buffer);
        try self.expectSuccess(polled);
        return polled;
    }

    /// At least one completion, good or bad.
    inline fn poll(self: *Probe, buffer: []verbs.Completion) Error![]const verbs.Completion {
        const poll_cq = self.context.ops.poll_cq.?;
        var wait: Wait = .{};
        while (true) {
            for (0..polls_per_check) |_| {
                const polled = poll_cq(self.cq, @intCast(buffer.len), buffer.ptr);
                if (polled > 0) return buffer[0..@intCast(polled)];
                if (polled < 0) return self.refuse(.device_unusable, "ibv_poll_cq", errnoOf(polled));
            }
            try self.checkWait(&wait);
        }
    }

    const Wait = struct { begin_ns: u64 = 0, events_at_ns: u64 = 0 };

    fn checkWait(self: *Probe, wait: *Wait) Error!void {
        const now_ns = clock.now_ns();
        if (wait.begin_ns == 0) wait.* = .{ .begin_ns = now_ns, .events_at_ns = now_ns + events_interval_ns };
        if (self.limit.reached(now_ns)) |expiry| return self.expire(expiry, "ibv_poll_cq");
        if (now_ns - wait.begin_ns >= self.config.completion_timeout_ns)
            return self.fail(.completion_lost, "ibv_poll_cq", 0, "a posted write did not complete in {d} ms", .{self.config.completion_timeout_ns / std.time.ns_per_ms});
        if (now_ns < wait.events_at_ns) return;
        wait.events_at_ns = now_ns + events_interval_ns;
        try self.checkEvents();
        try self.checkRegistration();
    }

    inline fn expectSuccess(self: *Probe, polled: []const verbs.Completion) Error!void {
        for (polled) |*completion| if (completion.status != .success) {
            @branchHint(.cold);
            return self.failCompletion(completion);
        };
    }

    fn failCompletion(self: *Probe, completion: *const verbs.Completion) Error {
        self.result.failure.completion_status = @intCast(@intFromEnum(completion.status));
        return self.fail(.completion_failed, "ibv_poll_cq", 0, "a write completed with {s} ({d}), vendor error 0x{x}", .{
            completion.status.name(), @intFromEnum(completion.status), completion.vendor_err,
        });
    }

    // What goes on around the measurement.

    fn checkEvents(self: *Probe) Error!void {
        if (!self.events_readable) return;
        var event: verbs.AsyncEvent = undefined;
        while (self.verbs.get_async_event(self.context, &event) == 0) {
            const kind = event.event_type;
            const port = event.element.port_num;
            self.verbs.ack_async_event(&event);
            switch (kind) {
                .device_fatal => return self.fail(.device_removed, "ibv_get_async_event", 0, "the device reported IBV_EVENT_DEVICE_FATAL", .{}),
                .port_err => if (port == self.config.port)
                    return self.fail(.port_changed, "ibv_get_async_event", 0, "the port reported IBV_EVENT_PORT_ERR", .{}),
                else => {},
            }
        }
        const errno = lastErrno();
        if (errno == @intFromEnum(E.IO) or errno == @intFromEnum(E.NODEV)) return self.refuse(.device_removed, "ibv_get_async_event", errno);
    }

    fn readBefore(self: *Probe) void {
        for (self.result.hops[0..self.config.hop_count], 0..) |*hop, i| hop.before = sysfs.readLink(self.hopPath(i));
        self.readPortBytes(&self.result.port_sent_bytes_before, &self.result.port_received_bytes_before);
    }

    /// Figures of a device or port that went away meanwhile prove nothing, and an ambiguous failure may only be what that looks
    /// like from below.
    fn lookBehind(self: *Probe) Error!void {
        const state = self.portStateNow();
        self.result.port_state_after = .of(if (state) |known| @intCast(@intFromEnum(known)) else null);
        if (self.result.status != .ok and !self.isAmbiguous()) return;
        try self.checkEvents();
        try self.checkRegistration();
        if (state != null and state != .active)
            return self.fail(.port_changed, "ibv_query_port", 0, "port went from ACTIVE to {s} while it was measured", .{portStateName(state)});
    }

    fn isAmbiguous(self: *const Probe) bool {
        return switch (self.result.status) {
            .completion_lost, .completion_failed, .post_refused, .queue_pair_refused => true,
            else => false,
        };
    }

    /// Null when it cannot be told.
    fn portStateNow(self: *Probe) ?verbs.PortState {
        var attributes = std.mem.zeroes(verbs.PortAttributes);
        if (self.verbs.query_port(self.context, @intCast(self.config.port), &attributes) != 0) return null;
        return attributes.state;
    }

    /// A driver that cannot take a device from its users (soft-RoCE) makes the removal wait for them and sends no event;
    /// only the device's entry disappears.
    fn checkRegistration(self: *Probe) Error!void {
        if (self.was_registered and !sysfs.exists(@ptrCast(&self.context.device.dev_path)))
            return self.fail(.device_removed, "sysfs", @intFromEnum(E.NOENT), "the device's uverbs entry is gone: it is being removed", .{});
    }

    /// In 4-byte words, in the port's `counters` folder.
    fn readPortBytes(self: *Probe, sent: *abi.OptionalU64, received: *abi.OptionalU64) void {
        var dir_buffer: [512]u8 = undefined;
        const device_dir = std.mem.sliceTo(&self.context.device.ibdev_path, 0);
        const dir = std.fmt.bufPrint(&dir_buffer, "{s}/ports/{d}/counters", .{ device_dir, self.config.port }) catch return;
        sent.* = .of(if (sysfs.readNumber(dir, "port_xmit_data")) |words| words *% 4 else null);
        received.* = .of(if (sysfs.readNumber(dir, "port_rcv_data")) |words| words *% 4 else null);
    }

    fn deviceName(self: *const Probe) []const u8 {
        return std.mem.sliceTo(&self.config.device, 0);
    }

    fn hopPath(self: *const Probe, i: usize) []const u8 {
        return std.mem.sliceTo(&self.config.hops[i], 0);
    }

    fn slotBytes(self: *const Probe) usize {
        return std.mem.alignForward(usize, self.config.message_bytes, std.heap.page_size_min);
    }

    // Failing: the reason goes into the result, the error only unwinds.

    fn fail(self: *Probe, status: abi.Status, operation: []const u8, errno: u16, comptime reason: []const u8, args: anytype) Error {
        std.debug.assert(status != .ok);
        const failure = &self.result.failure;
        self.result.status = status;
        failure.errno_value = errno;
        put(&failure.operation, "{s}", .{operation});
        put(&failure.object, "{s} port {d}", .{ self.deviceName(), self.config.port });
        put(&failure.text, "{s} port {d}: {s}: " ++ reason, .{ self.deviceName(), self.config.port, operation } ++ args);
        return error.Failed;
    }

    fn forgetFailure(self: *Probe) void {
        self.result.status = .ok;
        self.result.failure = std.mem.zeroes(abi.Failure);
    }

    fn expire(self: *Probe, expiry: clock.Expiry, operation: []const u8) Error {
        return switch (expiry) {
            .cancelled => self.fail(.cancelled, operation, 0, "cancelled", .{}),
            .deadline => self.fail(.deadline_exceeded, operation, 0, "not done after {d} ms", .{self.config.deadline_ns / std.time.ns_per_ms}),
        };
    }

    /// `status`, unless the errno tells more.
    fn refuse(self: *Probe, status: abi.Status, operation: []const u8, errno: u16) Error {
        switch (@as(E, @enumFromInt(errno))) {
            .NODEV, .IO => return self.fail(.device_removed, operation, errno, "{s}, the device went away", .{errnoName(errno)}),
            .NOMEM => {
                const limit = memlockLimitBytes() orelse return self.fail(status, operation, errno, "ENOMEM, RLIMIT_MEMLOCK is unlimited", .{});
                const pinned = 2 * self.config.region_bytes + rings_bytes;
                const verdict: abi.Status = if (limit < memlock_margin * pinned) .memlock_limit else status;
                return self.fail(verdict, operation, errno, "ENOMEM, RLIMIT_MEMLOCK is {d} bytes and the probe pins about {d}; raise it (ulimit -l, LimitMEMLOCK=infinity)", .{ limit, pinned });
            },
            else => return self.fail(status, operation, errno, "{s}", .{errnoName(errno)}),
        }
    }
};

/// A chain of writes, the last of which asks for a completion. Points into itself: prepare it where it stays.
const Write = struct {
    requests: [chain_max]verbs.SendRequest,
    pieces: [chain_max]verbs.ScatterGather,
    count: u32,
    /// Large writes walk through the region, 1-byte ones stay on one cache line.
    walks: bool,

    fn prepare(self: *Write, probe: *const Probe, bytes: u32, count: u32) void {
        std.debug.assert(count >= 1 and count <= chain_max);
        self.count = count;
        self.walks = bytes > 1;
        for (self.requests[0..count], self.pieces[0..count], 1..) |*request, *piece, next| {
            piece.* = .{ .addr = 0, .length = bytes, .lkey = probe.read_mr.lkey };
            request.* = std.mem.zeroInit(verbs.SendRequest, .{
                .next = if (next < count) &self.requests[next] else null,
                .sg_list = @as([*]verbs.ScatterGather, @ptrCast(piece)),
                .num_sge = 1,
                .opcode = .rdma_write,
                .send_flags = if (next == count) verbs.send_signaled else 0,
                .rkey = probe.write_mr.rkey,
            });
        }
    }

    /// Sets the addresses, and the connection's index as the id of the completion.
    inline fn aim(self: *Write, probe: *Probe, connection_index: u64) void {
        const slot_bytes = probe.slotBytes();
        for (self.requests[0..self.count], self.pieces[0..self.count]) |*request, *piece| {
            const offset = if (self.walks) probe.next_slot * slot_bytes else 0;
            piece.addr = @intFromPtr(probe.read_region.bytes.ptr) + offset;
            request.remote_addr = @intFromPtr(probe.write_region.bytes.ptr) + offset;
            request.wr_id = connection_index;
            probe.next_slot += 1;
            if ((probe.next_slot + 1) * slot_bytes > probe.read_region.bytes.len) probe.next_slot = 0;
        }
    }
};

/// No two neighbouring bytes, cache lines or pages are alike.
fn patternByte(i: usize) u8 {
    return @truncate((i *% 0x9e3779b97f4a7c15) >> 56);
}

/// Bytes per second of the difference between a large and a 1-byte write; null when the large one was not slower.
fn paperFigure(bytes: u64, small_ns: u64, large_ns: u64) ?u64 {
    if (large_ns <= small_ns) return null;
    return bytes * std.time.ns_per_s / (large_ns - small_ns);
}

/// Bytes per second.
fn rate(throughput: abi.Throughput) u64 {
    return @intCast(@as(u128, throughput.bytes) * std.time.ns_per_s / throughput.duration_ns);
}

/// Whose limit `first` was, now that `repeat` had twice the connections.
pub fn limitOf(first: abi.Throughput, repeat: abi.Throughput) abi.ToolCheck {
    return if (rate(repeat) * 100 >= rate(first) * tool_check_gain_percent) .tool_limited else .path_limited;
}

fn portStateName(state: ?verbs.PortState) []const u8 {
    return switch (state orelse return "unreadable") {
        .nop => "NOP",
        .down => "DOWN",
        .init => "INIT",
        .armed => "ARMED",
        .active => "ACTIVE",
        .active_defer => "ACTIVE_DEFER",
        _ => "an unknown state",
    };
}

/// The soft limit, null when there is none.
fn memlockLimitBytes() ?u64 {
    const limit = std.posix.getrlimit(.MEMLOCK) catch return null;
    return if (limit.cur == std.math.maxInt(@TypeOf(limit.cur))) null else limit.cur;
}

fn setNonBlocking(fd: c_int) bool {
    const flags = c.fcntl(fd, c.F.GETFL);
    if (flags < 0) return false;
    const nonblock: c_int = @bitCast(c.O{ .NONBLOCK = true });
    return c.fcntl(fd, c.F.SETFL, flags | nonblock) == 0;
}

/// "EINVAL"; verbs do not always set it.
fn errnoName(errno: u16) []const u8 {
    if (errno == 0) return "failed without an errno";
    return switch (@as(E, @enumFromInt(errno))) {
        inline else => |known| "E" ++ @tagName(known),
        _ => "an unknown errno",
    };
}

fn sleep(ns: u32) void {
    const pause: c.timespec = .{ .sec = 0, .nsec = ns };
    _ = c.nanosleep(&pause, null);
}

/// Verbs return an errno, its negative, or -1 and set it.
fn errnoOf(rc: isize) u16 {
    return if (rc == -1) lastErrno() else @intCast(@abs(rc));
}

fn lastErrno() u16 {
    return @intCast(c._errno().*);
}

/// Formats into a zero-terminated field, cutting what does not fit.
fn put(field: []u8, comptime format: []const u8, args: anytype) void {
    var writer: std.Io.Writer = .fixed(field[0 .. field.len - 1]);
    writer.print(format, args) catch {};
    @memset(field[writer.end..], 0);
}
