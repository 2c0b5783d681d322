//! The loopback probe: WRITEs from one region to another of the same endpoint, through one RNIC port that talks to itself.
//!
//! Order: open, choose a GID, pin memory, connect, check that the right bytes move, then the 1-byte latency, the large
//! latency, the sustained throughput, the links under load, and where the figure is low the tool check. Everything that
//! is made here is undone here, in reverse.

const std = @import("std");
const abi = @import("abi.zig");
const clock = @import("clock.zig");
const connection = @import("connection.zig");
const failure = @import("failure.zig");
const numa = @import("numa.zig");
const Region = @import("region.zig").Region;
const RegionRefusal = @import("region.zig").Refusal;
const samples = @import("samples.zig");
const sysfs = @import("sysfs.zig");
const verbs = @import("verbs.zig");
const c = std.c;

const Allocator = std.mem.Allocator;
const Connection = connection.Connection;
const E = c.E;
const Error = failure.Error;
const Port = @import("port.zig").Port;
const errnoOf = failure.errnoOf;
const lastErrno = failure.lastErrno;

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
/// Relaxed ordering lets payload overtake payload on its way through PCIe; the check of the bytes allows it this time.
const pattern_wait_ns = std.time.ns_per_ms;

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
    const report: failure.Report = .{
        .status = &result.status,
        .failure = &result.failure,
        .device = std.mem.sliceTo(&config.device, 0),
        .port = config.port,
        .pinned_bytes = 2 *| config.region_bytes,
    };
    var probe: Probe = .{
        .verbs = table,
        .allocator = allocator,
        .config = config,
        .result = result,
        .report = &report,
        .limit = .{ .cancel = cancel, .deadline_ns = started_ns +| config.deadline_ns },
    };
    probe.measure(small_ns) catch std.debug.assert(result.status != .ok);
    result.duration_ns = clock.now_ns() - started_ns;
}

const Probe = struct {
    verbs: *const verbs.Table,
    allocator: Allocator,
    config: *const abi.LoopbackConfig,
    result: *abi.LoopbackResult,
    report: *const failure.Report,
    limit: clock.Limit,

    port: Port = undefined,
    port_attributes: verbs.PortAttributes = undefined,
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

        self.port = try .open(self.verbs, self.report);
        defer self.port.close();

        const outcome = self.measurePort(small_ns);
        self.port.readBytes(&self.result.port_sent_bytes_after, &self.result.port_received_bytes_after);
        const until_ns = clock.now_ns() +| self.config.settle_ns;
        while (true) {
            try self.lookBehind();
            const now_ns = clock.now_ns();
            if (!self.isAmbiguous() or now_ns >= until_ns or self.limit.reached(now_ns) != null) return outcome;
            sleep(settle_step_ns);
        }
    }

    fn measurePort(self: *Probe, small_ns: []u64) Error!void {
        const attributes = try self.port.queryDevice();
        self.port_attributes = try self.port.query();
        self.result.port_state_before = .of(@intCast(@intFromEnum(self.port_attributes.state)));
        if (self.port_attributes.state != .active)
            return self.report.fail(.port_not_active, "ibv_query_port", 0, "port is {s}, must be ACTIVE", .{Port.stateName(self.port_attributes.state)});
        self.result.mtu_bytes = @as(u32, 128) << @intCast(std.math.clamp(self.port_attributes.active_mtu, 1, 5));
        const candidates = try self.port.candidateGids(&self.port_attributes, self.config.gid_index);
        self.clip(&attributes);
        self.readBefore();

        try self.mapRegions();
        defer self.read_region.unmap();
        defer self.write_region.unmap();
        const latencies = self.allocator.alloc(u64, @max(noise_samples, self.config.small_samples, self.config.large_samples)) catch
            return self.report.fail(.memory_refused, "malloc", @intFromEnum(E.NOMEM), "no memory for the latency samples", .{});
        defer self.allocator.free(latencies);

        self.pd = self.verbs.alloc_pd(self.port.context) orelse return self.report.refuse(.registration_refused, "ibv_alloc_pd", lastErrno());
        defer _ = self.verbs.dealloc_pd(self.pd);
        self.read_mr = try self.register(&self.read_region, verbs.access_local_write);
        defer _ = self.verbs.dereg_mr(self.read_mr);
        self.write_mr = try self.register(&self.write_region, verbs.access_local_write | verbs.access_remote_write);
        defer _ = self.verbs.dereg_mr(self.write_mr);
        // Room for the tool check's connections too, and for every write to fail.
        const entries: c_int = @intCast(2 * self.connections_wanted * self.window);
        self.cq = self.verbs.create_cq(self.port.context, @min(entries, @max(attributes.max_cqe, 1)), null, null, 0) orelse
            return self.report.refuse(.completion_queue_refused, "ibv_create_cq", lastErrno());
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
            return self.report.fail(.invalid_argument, "config", 0, range[0] ++ " is {d}, must be {d} to {d}", .{ range[1], range[2], range[3] });
        const device = std.mem.sliceTo(&config.device, 0);
        if (device.len == 0 or device.len == config.device.len)
            return self.report.fail(.invalid_argument, "config", 0, "device must be a name of 1 to {d} bytes", .{config.device.len - 1});
        for (config.hops[0..config.hop_count]) |*hop| if (std.mem.indexOfScalar(u8, hop, 0) == null)
            return self.report.fail(.invalid_argument, "config", 0, "a hop's path must be shorter than {d} bytes", .{hop.len});
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
            const reason = if (refusal.reason.len > 0) refusal.reason else failure.errnoName(refusal.errno);
            return self.report.fail(refusal.status, refusal.operation, refusal.errno, "{s} ({d} bytes on node {d})", .{ reason, bytes, self.config.memory_node });
        };
    }

    fn register(self: *Probe, region: *const Region, access: c_uint) Error!*verbs.MemoryRegion {
        const address = region.bytes.ptr;
        return self.verbs.reg_mr(self.pd, address, region.bytes.len, @intFromPtr(address), access | verbs.access_relaxed_ordering) orelse
            self.report.refuse(.registration_refused, "ibv_reg_mr", lastErrno());
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
                self.report.forget();
            }
        }
    }

    fn connectAndVerify(self: *Probe) Error!void {
        try self.connectUpTo(self.connections_wanted);
        errdefer self.disconnectDownTo(0);
        try self.verifyBytes();
    }

    fn failedByGid(self: *const Probe) bool {
        const got = &self.result.failure;
        return switch (self.result.status) {
            .queue_pair_refused => got.errno_value == @intFromEnum(E.TIMEDOUT),
            .completion_failed => got.completion_status == @intFromEnum(verbs.CompletionStatus.retry_exc_err),
            else => false,
        };
    }

    /// Adds connections until there are `count`, or none.
    fn connectUpTo(self: *Probe, count: u32) Error!void {
        const before = self.connection_count;
        errdefer self.disconnectDownTo(before);
        const plan: connection.Plan = .{
            .verbs = self.verbs,
            .report = self.report,
            .pd = self.pd,
            .cq = self.cq,
            .port = &self.port_attributes,
            .gid = self.source_gid,
            .window = self.window,
        };
        while (self.connection_count < count) {
            if (self.limit.reached(clock.now_ns())) |expiry| return self.report.expire(expiry, "ibv_create_qp");
            self.connections[self.connection_count] = try .open(&plan);
            self.connection_count += 1;
        }
    }

    fn disconnectDownTo(self: *Probe, count: u32) void {
        while (self.connection_count > count) {
            self.connection_count -= 1;
            self.connections[self.connection_count].close(self.verbs);
        }
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
            return self.report.fail(.wrong_data, "RDMA WRITE", 0, "byte {d} of {d} is 0x{x:0>2} at the target, 0x{x:0>2} was written", .{ i, want.len, got[i], byte });
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
        try self.post(self.connections[0], write);
        const polled = try self.poll(&completion);
        const end_ns = clock.now_ns();
        try self.expectSuccess(polled);
        if (self.limit.reached(end_ns)) |expiry| return self.report.expire(expiry, "ibv_poll_cq");
        return .{ .begin_ns = begin_ns, .end_ns = end_ns };
    }

    /// Keeps every connection's window full; counts between two completions, so that neither ramp nor drain is in the figure.
    fn sustain(self: *Probe) Error!abi.Throughput {
        var write: Write = undefined;
        write.prepare(self, self.config.message_bytes, self.chain());
        try self.fillWindows(&write);
        const round = self.connection_count * self.window;
        const warmup = @max(self.config.warmup_writes, round);
        const messages_min = 2 * round;
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
                const over_budget = now_ns - from.ns >= self.config.bandwidth_budget_ns and messages >= messages_min;
                if (over_budget or messages >= messages_max) {
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
            if (self.limit.reached(now_ns)) |expiry| return self.report.expire(expiry, "ibv_poll_cq");
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
            if (self.limit.reached(clock.now_ns())) |expiry| return self.report.expire(expiry, "ibv_poll_cq");
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
            .queue_pair_refused, .memlock_limit => return self.report.forget(),
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
            for (self.connections[0..self.connection_count], 0..) |through, i| {
                write.aim(self, i);
                try self.post(through, write);
                self.chains_in_flight += 1;
            }
        }
    }

    /// One new chain for each that has completed.
    fn postAgain(self: *Probe, write: *Write, polled: []const verbs.Completion) Error!void {
        for (polled) |completion| {
            write.aim(self, completion.wr_id);
            try self.post(self.connections[completion.wr_id], write);
        }
    }

    /// Waits for everything in flight, of which `seen` chains were polled and not posted again.
    fn drain(self: *Probe, seen: usize) Error!void {
        var buffer: [completions_per_poll]verbs.Completion = undefined;
        self.chains_in_flight -= seen;
        while (self.chains_in_flight > 0) {
            self.chains_in_flight -= (try self.pollSuccess(&buffer)).len;
            if (self.limit.reached(clock.now_ns())) |expiry| return self.report.expire(expiry, "ibv_poll_cq");
        }
    }

    inline fn post(self: *Probe, through: Connection, write: *Write) Error!void {
        var refused: ?*verbs.SendRequest = null;
        const rc = self.port.context.ops.post_send.?(through.source, &write.requests[0], &refused);
        if (rc != 0) return self.report.refuse(.post_refused, "ibv_post_send", errnoOf(rc));
    }

    inline fn pollSuccess(self: *Probe, buffer: []verbs.Completion) Error![]const verbs.Completion {
        const polled = try self.poll(buffer);
        try self.expectSuccess(polled);
        return polled;
    }

    /// At least one completion, good or bad.
    inline fn poll(self: *Probe, buffer: []verbs.Completion) Error![]const verbs.Completion {
        const poll_cq = self.port.context.ops.poll_cq.?;
        var wait: Wait = .{};
        while (true) {
            for (0..polls_per_check) |_| {
                const polled = poll_cq(self.cq, @intCast(buffer.len), buffer.ptr);
                if (polled > 0) return buffer[0..@intCast(polled)];
                if (polled < 0) return self.report.refuse(.device_unusable, "ibv_poll_cq", errnoOf(polled));
            }
            try self.checkWait(&wait);
        }
    }

    const Wait = struct { begin_ns: u64 = 0, events_at_ns: u64 = 0 };

    fn checkWait(self: *Probe, wait: *Wait) Error!void {
        const now_ns = clock.now_ns();
        if (wait.begin_ns == 0) wait.* = .{ .begin_ns = now_ns, .events_at_ns = now_ns + events_interval_ns };
        if (self.limit.reached(now_ns)) |expiry| return self.report.expire(expiry, "ibv_poll_cq");
        if (now_ns - wait.begin_ns >= self.config.completion_timeout_ns)
            return self.report.fail(.completion_lost, "ibv_poll_cq", 0, "a posted write did not complete in {d} ms", .{self.config.completion_timeout_ns / std.time.ns_per_ms});
        if (now_ns < wait.events_at_ns) return;
        wait.events_at_ns = now_ns + events_interval_ns;
        try self.port.checkPresence();
    }

    inline fn expectSuccess(self: *Probe, polled: []const verbs.Completion) Error!void {
        for (polled) |*completion| if (completion.status != .success) {
            @branchHint(.cold);
            return self.failCompletion(completion);
        };
    }

    fn failCompletion(self: *Probe, completion: *const verbs.Completion) Error {
        self.result.failure.completion_status = @intCast(@intFromEnum(completion.status));
        return self.report.fail(.completion_failed, "ibv_poll_cq", 0, "a write completed with {s} ({d}), vendor error 0x{x}", .{
            completion.status.name(), @intFromEnum(completion.status), completion.vendor_err,
        });
    }

    // What goes on around the measurement.

    fn readBefore(self: *Probe) void {
        for (self.result.hops[0..self.config.hop_count], 0..) |*hop, i| hop.before = sysfs.readLink(self.hopPath(i));
        self.port.readBytes(&self.result.port_sent_bytes_before, &self.result.port_received_bytes_before);
    }

    /// Figures of a device or port that went away meanwhile prove nothing, and an ambiguous failure may only be what that looks
    /// like from below.
    fn lookBehind(self: *Probe) Error!void {
        const state = self.port.stateNow();
        self.result.port_state_after = .of(if (state) |known| @intCast(@intFromEnum(known)) else null);
        if (self.result.status != .ok and !self.isAmbiguous()) return;
        try self.port.checkPresence();
        if (state != null and state != .active)
            return self.report.fail(.port_changed, "ibv_query_port", 0, "port went from ACTIVE to {s} while it was measured", .{Port.stateName(state)});
    }

    fn isAmbiguous(self: *const Probe) bool {
        return switch (self.result.status) {
            .completion_lost, .completion_failed, .post_refused, .queue_pair_refused => true,
            else => false,
        };
    }

    fn hopPath(self: *const Probe, i: usize) []const u8 {
        return std.mem.sliceTo(&self.config.hops[i], 0);
    }

    fn slotBytes(self: *const Probe) usize {
        return std.mem.alignForward(usize, self.config.message_bytes, std.heap.page_size_min);
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

/// Hardly two neighbouring bytes, cache lines or pages are alike, so that a torn or shifted write shows.
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

fn sleep(ns: u32) void {
    const pause: c.timespec = .{ .sec = 0, .nsec = ns };
    _ = c.nanosleep(&pause, null);
}
