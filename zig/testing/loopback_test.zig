//! The loopback probe against the scripted provider: what it measures, how each failure comes back, and that nothing stays behind.

const std = @import("std");
const abi = @import("../src/abi.zig");
const clock = @import("../src/clock.zig");
const fake = @import("fake_verbs.zig");
const loopback = @import("../src/loopback.zig");
const verbs = @import("../src/verbs.zig");
const c = std.c;
const E = c.E;
const testing = std.testing;

const ms = std.time.ns_per_ms;

fn configFor(device: []const u8) abi.LoopbackConfig {
    var config = std.mem.zeroes(abi.LoopbackConfig);
    config.struct_size = @sizeOf(abi.LoopbackConfig);
    config.port = 1;
    @memcpy(config.device[0..device.len], device);
    config.memory_node = -1;
    config.rnic_node = -1;
    config.gid_index = -1;
    config.flags = abi.flag_base_pages;
    config.connections = 2;
    config.window = 8;
    config.message_bytes = 512;
    config.small_samples = 20;
    config.large_samples = 10;
    config.warmup_writes = 2;
    config.region_bytes = 16 << 10;
    config.latency_budget_ns = 1000 * ms;
    config.bandwidth_budget_ns = 1000 * ms;
    config.bandwidth_bytes_max = 100 * 512;
    config.completion_timeout_ns = 20 * ms;
    config.deadline_ns = 20_000 * ms;
    return config;
}

fn probe(script: fake.Script, config: *const abi.LoopbackConfig) abi.LoopbackResult {
    fake.script = script;
    var result: abi.LoopbackResult = undefined;
    loopback.run(&fake.table, testing.allocator, config, null, &.{}, &result);
    return result;
}

fn text(field: []const u8) []const u8 {
    return std.mem.sliceTo(field, 0);
}

test "a healthy port is measured" {
    var config = configFor("fake0");
    config.memory_node = 0;
    config.rnic_node = 0;
    config.hop_count = 1;
    @memcpy(config.hops[0][0.."/nonexistent".len], "/nonexistent");
    var stored: [8]u64 = @splat(0);
    fake.script = .{};
    var result: abi.LoopbackResult = undefined;
    loopback.run(&fake.table, testing.allocator, &config, null, &stored, &result);

    try testing.expectEqual(.ok, result.status);
    try testing.expectEqualStrings("", text(&result.failure.text));
    try testing.expectEqual(20, result.small.count);
    try testing.expect(result.small.min_ns <= result.small.p50_ns and result.small.p50_ns <= result.small.p99_ns);
    try testing.expect(result.small.p99_ns <= result.small.max_ns and result.small.min_ns > 0);
    try testing.expectEqual(10, result.large.count);
    try testing.expectEqual(8, result.samples_stored);
    for (stored) |sample| try testing.expect(sample >= result.small.min_ns and sample <= result.small.max_ns);
    try testing.expectEqual(0, result.sustained.bytes % 512);
    try testing.expect(result.sustained.bytes >= 100 * 512 and result.sustained.duration_ns > 0);
    try testing.expectEqual(2, result.sustained.connections);
    try testing.expectEqual(8, result.sustained.window);
    try testing.expectEqual(.not_needed, result.tool_check);
    try testing.expectEqual(0, result.repeat.duration_ns);
    try testing.expectEqual(3, result.gid_index.get());
    try testing.expectEqual(1, result.gid_attempts);
    try testing.expectEqual(1024, result.mtu_bytes);
    try testing.expectEqual(4, result.port_state_before.get());
    try testing.expectEqual(4, result.port_state_after.get());
    // What cannot be read is absent, not zero.
    try testing.expectEqual(null, result.port_sent_bytes_before.get());
    try testing.expectEqual(null, result.hops[0].during.speed_mts.get());
    try testing.expect(result.self_noise_p50_ns <= result.self_noise_p99_ns);
}

test "every failure has its own name" {
    const errno = struct {
        fn of(e: E) u16 {
            return @intFromEnum(e);
        }
    }.of;
    const cases = [_]struct { name: []const u8, script: fake.Script, want: abi.Status, operation: []const u8, errno: u16 = 0, device: []const u8 = "fake0", mentions: []const u8 = "" }{
        .{ .name = "no device of that name", .script = .{}, .device = "fake7", .want = .device_not_found, .operation = "ibv_get_device_list", .mentions = "fake7 port 1" },
        .{ .name = "no RDMA in the kernel", .script = .{ .fail = .get_device_list, .fail_errno = errno(.NOSYS) }, .want = .device_not_found, .operation = "ibv_get_device_list", .errno = errno(.NOSYS) },
        .{ .name = "iWARP", .script = .{ .transport = .iwarp }, .want = .device_unsupported, .operation = "ibv_get_device_list", .mentions = "iwarp" },
        .{ .name = "no uverbs file", .script = .{ .fail = .open_device, .fail_errno = errno(.NOENT) }, .want = .uverbs_missing, .operation = "ibv_open_device", .errno = errno(.NOENT), .mentions = "/dev/infiniband/uverbs-fake0" },
        .{ .name = "no permission", .script = .{ .fail = .open_device, .fail_errno = errno(.ACCES) }, .want = .permission_denied, .operation = "ibv_open_device", .errno = errno(.ACCES) },
        .{ .name = "open fails without an errno", .script = .{ .fail = .open_device, .fail_errno = 0 }, .want = .device_unusable, .operation = "ibv_open_device", .mentions = "without an errno" },
        .{ .name = "gone before it is opened", .script = .{ .fail = .open_device, .fail_errno = errno(.NODEV) }, .want = .device_removed, .operation = "ibv_open_device", .errno = errno(.NODEV) },
        .{ .name = "query refused", .script = .{ .fail = .query_device }, .want = .device_unusable, .operation = "ibv_query_device", .errno = errno(.INVAL), .mentions = "EINVAL" },
        .{ .name = "query finds it removed", .script = .{ .fail = .query_port, .fail_errno = errno(.IO) }, .want = .device_removed, .operation = "ibv_query_port", .errno = errno(.IO) },
        .{ .name = "port down", .script = .{ .port_state = .down }, .want = .port_not_active, .operation = "ibv_query_port", .mentions = "DOWN" },
        .{ .name = "switchdev: GIDs all zero", .script = .{ .gids = .switchdev }, .want = .no_usable_gid, .operation = "ibv_query_gid_table" },
        .{ .name = "no GIDs", .script = .{ .gids = .none }, .want = .no_usable_gid, .operation = "ibv_query_gid_table" },
        .{ .name = "GID table unreadable", .script = .{ .fail = .query_gid_table }, .want = .device_unusable, .operation = "ibv_query_gid_table", .errno = errno(.INVAL) },
        .{ .name = "domain refused", .script = .{ .fail = .alloc_pd }, .want = .registration_refused, .operation = "ibv_alloc_pd", .errno = errno(.INVAL) },
        .{ .name = "first region refused", .script = .{ .fail = .reg_mr, .fail_errno = errno(.FAULT) }, .want = .registration_refused, .operation = "ibv_reg_mr", .errno = errno(.FAULT) },
        .{ .name = "second region refused", .script = .{ .fail = .reg_mr, .fail_after = 1 }, .want = .registration_refused, .operation = "ibv_reg_mr", .errno = errno(.INVAL) },
        .{ .name = "completion queue refused", .script = .{ .fail = .create_cq }, .want = .completion_queue_refused, .operation = "ibv_create_cq", .errno = errno(.INVAL) },
        .{ .name = "queue pair refused", .script = .{ .fail = .create_qp }, .want = .queue_pair_refused, .operation = "ibv_create_qp", .errno = errno(.INVAL) },
        .{ .name = "target queue pair refused", .script = .{ .fail = .create_qp, .fail_after = 1 }, .want = .queue_pair_refused, .operation = "ibv_create_qp", .errno = errno(.INVAL) },
        .{ .name = "no reliable connections (EFA)", .script = .{ .fail = .create_qp, .fail_errno = errno(.OPNOTSUPP) }, .want = .device_unsupported, .operation = "ibv_create_qp", .errno = errno(.OPNOTSUPP) },
        .{ .name = "INIT refused", .script = .{ .fail = .modify_init, .fail_after = 1 }, .want = .queue_pair_refused, .operation = "ibv_modify_qp(INIT)", .errno = errno(.INVAL) },
        .{ .name = "RTR refused", .script = .{ .fail = .modify_rtr, .fail_after = 1 }, .want = .queue_pair_refused, .operation = "ibv_modify_qp(RTR)", .errno = errno(.INVAL) },
        .{ .name = "RTS refused", .script = .{ .fail = .modify_rts, .fail_after = 3 }, .want = .queue_pair_refused, .operation = "ibv_modify_qp(RTS)", .errno = errno(.INVAL) },
        .{ .name = "post refused", .script = .{ .fail = .post_send, .fail_after = 9 }, .want = .post_refused, .operation = "ibv_post_send", .errno = errno(.INVAL) },
        .{ .name = "poll fails", .script = .{ .fail = .poll_cq, .fail_after = 9 }, .want = .device_unusable, .operation = "ibv_poll_cq", .errno = errno(.INVAL) },
        .{ .name = "wrong bytes", .script = .{ .spoil_write = 1 }, .want = .wrong_data, .operation = "RDMA WRITE", .mentions = "byte 256 of 512" },
        .{ .name = "first completion lost", .script = .{ .lose_write = 1 }, .want = .completion_lost, .operation = "ibv_poll_cq", .mentions = "20 ms" },
        .{ .name = "completion lost among the small writes", .script = .{ .lose_write = 10 }, .want = .completion_lost, .operation = "ibv_poll_cq" },
        .{ .name = "completion lost under load", .script = .{ .lose_write = 60 }, .want = .completion_lost, .operation = "ibv_poll_cq" },
        .{ .name = "completion failed", .script = .{ .fail_write = 10 }, .want = .completion_failed, .operation = "ibv_poll_cq", .mentions = "rem_access_err (10)" },
        .{ .name = "an unsignalled write failed under load", .script = .{ .fail_write = 61, .completion_status = .wr_flush_err }, .want = .completion_failed, .operation = "ibv_poll_cq", .mentions = "wr_flush_err (5)" },
        .{ .name = "device removed among the small writes", .script = .{ .kill_write = 10 }, .want = .device_removed, .operation = "ibv_get_async_event", .mentions = "DEVICE_FATAL" },
        .{ .name = "device removed under load", .script = .{ .kill_write = 60 }, .want = .device_removed, .operation = "ibv_post_send", .errno = errno(.NODEV) },
        .{ .name = "port down among the small writes", .script = .{ .port_down_write = 10 }, .want = .port_changed, .operation = "ibv_get_async_event" },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        const config = configFor(case.device);
        const result = probe(case.script, &config);
        errdefer std.debug.print("got {s}: {s}\n", .{ @tagName(result.status), text(&result.failure.text) });
        try testing.expectEqual(case.want, result.status);
        try testing.expectEqualStrings(case.operation, text(&result.failure.operation));
        try testing.expectEqual(case.errno, result.failure.errno_value);
        try testing.expect(std.mem.indexOf(u8, text(&result.failure.text), case.operation) != null);
        try testing.expect(std.mem.indexOf(u8, text(&result.failure.text), case.mentions) != null);
        try testing.expectEqual(0, fake.census().total());
    }
}

test "a completion's own status comes with the failure" {
    const config = configFor("fake0");
    const result = probe(.{ .fail_write = 10, .completion_status = .retry_exc_err }, &config);
    try testing.expectEqual(.completion_failed, result.status);
    try testing.expectEqual(12, result.failure.completion_status);
}

test "a removal ends a wait long before its completion counts as lost" {
    var config = configFor("fake0");
    config.completion_timeout_ns = 60_000 * ms;
    config.deadline_ns = 120_000 * ms;
    const result = probe(.{ .kill_write = 10 }, &config);
    try testing.expectEqual(.device_removed, result.status);
    try testing.expect(result.duration_ns < 30_000 * ms);
}

test "a link that goes down fails a write before its port says so" {
    const cases = [_]struct { name: []const u8, settle_ns: u64, want: abi.Status, state_after: u64 }{
        .{ .name = "with time to settle", .settle_ns = 10_000 * ms, .want = .port_changed, .state_after = 1 },
        .{ .name = "without", .settle_ns = 0, .want = .completion_failed, .state_after = 4 },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        var config = configFor("fake0");
        config.settle_ns = case.settle_ns;
        const result = probe(.{ .fail_write = 10, .port_down_query = 3 }, &config);
        try testing.expectEqual(case.want, result.status);
        try testing.expectEqual(case.state_after, result.port_state_after.get());
    }
}

test "a failure that explains itself does not wait for the port" {
    var config = configFor("fake0");
    config.settle_ns = 60_000 * ms;
    config.deadline_ns = 120_000 * ms;
    const result = probe(.{ .gids = .none }, &config);
    try testing.expectEqual(.no_usable_gid, result.status);
    try testing.expect(result.duration_ns < 30_000 * ms);
}

test "memory that is refused under a low limit names the limit" {
    const limit = try std.posix.getrlimit(.MEMLOCK);
    const cases = [_]struct { name: []const u8, soft: @TypeOf(limit.cur), step: fake.Step, want: abi.Status, mentions: []const u8 }{
        .{ .name = "64 KiB at the region", .soft = 65536, .step = .reg_mr, .want = .memlock_limit, .mentions = "RLIMIT_MEMLOCK is 65536 bytes" },
        .{ .name = "64 KiB at the completion queue", .soft = 65536, .step = .create_cq, .want = .memlock_limit, .mentions = "RLIMIT_MEMLOCK is 65536 bytes" },
        .{ .name = "64 KiB at the queue pair", .soft = 65536, .step = .create_qp, .want = .memlock_limit, .mentions = "LimitMEMLOCK=infinity" },
        .{ .name = "unlimited", .soft = limit.max, .step = .create_cq, .want = .completion_queue_refused, .mentions = "ENOMEM" },
    };
    defer std.posix.setrlimit(.MEMLOCK, limit) catch unreachable;
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        // Only where the hard limit is low can the last case not be played.
        if (case.want != .memlock_limit and limit.max < 1 << 30) continue;
        try std.posix.setrlimit(.MEMLOCK, .{ .cur = case.soft, .max = limit.max });
        const config = configFor("fake0");
        const result = probe(.{ .fail = case.step, .fail_errno = @intFromEnum(E.NOMEM) }, &config);
        try testing.expectEqual(case.want, result.status);
        try testing.expect(std.mem.indexOf(u8, text(&result.failure.text), case.mentions) != null);
    }
}

test "memory on a node that does not exist" {
    var config = configFor("fake0");
    config.memory_node = 1000;
    const result = probe(.{}, &config);
    try testing.expectEqual(.placement_failed, result.status);
    try testing.expectEqualStrings("mbind", text(&result.failure.operation));
    try testing.expect(std.mem.indexOf(u8, text(&result.failure.text), "on node 1000") != null);
    try testing.expectEqual(0, fake.census().total());
}

test "GID choice and its one retry" {
    const cases = [_]struct { name: []const u8, script: fake.Script, index: i32 = -1, want: abi.Status, gid: ?u64, attempts: u32 }{
        .{ .name = "mlx5's table", .script = .{}, .want = .ok, .gid = 3, .attempts = 1 },
        .{ .name = "irdma's table", .script = .{ .gids = .irdma }, .want = .ok, .gid = 1, .attempts = 1 },
        .{ .name = "IPv6 only", .script = .{ .gids = .ipv6_only }, .want = .ok, .gid = 1, .attempts = 1 },
        .{ .name = "asked for", .script = .{}, .index = 1, .want = .ok, .gid = 1, .attempts = 1 },
        .{ .name = "asked for one that is empty", .script = .{}, .index = 9, .want = .no_usable_gid, .gid = null, .attempts = 0 },
        .{ .name = "the best has no route", .script = .{ .gid_without_route = 3 }, .want = .ok, .gid = 1, .attempts = 2 },
        .{ .name = "the best gets no reply", .script = .{ .gid_without_reply = 3 }, .want = .ok, .gid = 1, .attempts = 2 },
        .{ .name = "both fail", .script = .{ .gid_without_route = 3, .gid_without_reply = 1 }, .want = .completion_failed, .gid = 1, .attempts = 2 },
        .{ .name = "asked for one without route", .script = .{ .gid_without_route = 3 }, .index = 3, .want = .queue_pair_refused, .gid = 3, .attempts = 1 },
        .{ .name = "another failure is no reason", .script = .{ .fail = .modify_rtr }, .want = .queue_pair_refused, .gid = 3, .attempts = 1 },
        .{ .name = "InfiniBand needs none", .script = .{ .link_layer = .infiniband, .gids = .none }, .want = .ok, .gid = null, .attempts = 0 },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        var config = configFor("fake0");
        config.gid_index = case.index;
        const result = probe(case.script, &config);
        try testing.expectEqual(case.want, result.status);
        try testing.expectEqual(case.gid, result.gid_index.get());
        try testing.expectEqual(case.attempts, result.gid_attempts);
        if (case.want == .ok) try testing.expectEqualStrings("", text(&result.failure.text));
        try testing.expectEqual(0, fake.census().total());
    }
}

test "depths and connections are clipped to the device" {
    const cases = [_]struct { name: []const u8, script: fake.Script, connections: u32, window: u32 }{
        .{ .name = "room for all", .script = .{}, .connections = 4, .window = 64 },
        .{ .name = "short queues", .script = .{ .max_qp_wr = 10 }, .connections = 4, .window = 10 },
        .{ .name = "one write at a time", .script = .{ .max_qp_wr = 1 }, .connections = 4, .window = 1 },
        .{ .name = "few queue pairs", .script = .{ .max_qp = 5 }, .connections = 2, .window = 64 },
        .{ .name = "a small completion queue", .script = .{ .max_cqe = 100 }, .connections = 4, .window = 25 },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        var config = configFor("fake0");
        config.connections = 4;
        config.window = 64;
        const result = probe(case.script, &config);
        try testing.expectEqual(.ok, result.status);
        try testing.expectEqual(case.connections, result.sustained.connections);
        try testing.expectEqual(case.window, result.sustained.window);
    }
}

test "a low figure is measured again with twice the connections" {
    const always = std.math.maxInt(u64);
    const cases = [_]struct { name: []const u8, script: fake.Script = .{}, below: u64, want: ?abi.ToolCheck }{
        .{ .name = "not asked for", .below = 0, .want = .not_needed },
        .{ .name = "fast enough", .below = 1, .want = .not_needed },
        .{ .name = "low", .below = always, .want = null },
        .{ .name = "low, one queue for the whole device", .script = .{ .shared = true }, .below = always, .want = null },
        .{ .name = "no room for more queue pairs", .script = .{ .max_qp = 4 }, .below = always, .want = .not_possible },
        .{ .name = "more queue pairs are refused", .script = .{ .fail = .create_qp, .fail_after = 5 }, .below = always, .want = .not_possible },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        var config = configFor("fake0");
        config.tool_check_below_bytes_per_second = case.below;
        const result = probe(case.script, &config);
        try testing.expectEqual(.ok, result.status);
        try testing.expectEqual(case.want == null, result.repeat.duration_ns != 0);
        // Which of the two figures is higher is up to the machine here; the next test has the rule.
        try testing.expectEqual(case.want orelse loopback.limitOf(result.sustained, result.repeat), result.tool_check);
        if (case.want == null) try testing.expectEqual(4, result.repeat.connections);
        try testing.expectEqual(0, fake.census().total());
    }
}

test "the tool check tells a slow path from a slow tool" {
    const at = struct {
        fn rate(bytes: u64, duration_ns: u64) abi.Throughput {
            return .{ .bytes = bytes, .duration_ns = duration_ns, .connections = 1, .window = 1 };
        }
    }.rate;
    const cases = [_]struct { name: []const u8, first: abi.Throughput, repeat: abi.Throughput, want: abi.ToolCheck }{
        .{ .name = "twice as fast", .first = at(1000, 1000), .repeat = at(2000, 1000), .want = .tool_limited },
        .{ .name = "a tenth faster", .first = at(1000, 1000), .repeat = at(1100, 1000), .want = .tool_limited },
        .{ .name = "hardly faster", .first = at(1000, 1000), .repeat = at(1090, 1000), .want = .path_limited },
        .{ .name = "as fast, for twice the time", .first = at(1000, 1000), .repeat = at(2000, 2000), .want = .path_limited },
        .{ .name = "slower", .first = at(1000, 1000), .repeat = at(900, 1000), .want = .path_limited },
        .{ .name = "400 Gb/s for an hour", .first = at(90 << 40, 3_600_000_000_000), .repeat = at(180 << 40, 3_600_000_000_000), .want = .tool_limited },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.name});
        try testing.expectEqual(case.want, loopback.limitOf(case.first, case.repeat));
    }
}

test "a deadline and a token end a wait that nothing else would end" {
    var config = configFor("fake0");
    config.completion_timeout_ns = 60_000 * ms;
    config.deadline_ns = 30 * ms;
    const late = probe(.{ .lose_write = 10 }, &config);
    try testing.expectEqual(.deadline_exceeded, late.status);

    config.deadline_ns = 60_000 * ms;
    fake.script = .{ .lose_write = 10 };
    var token: clock.CancelToken = .{};
    const thread = try std.Thread.spawn(.{}, struct {
        fn trigger(t: *clock.CancelToken) void {
            const until_ns = clock.now_ns() + 30 * ms;
            while (clock.now_ns() < until_ns) std.atomic.spinLoopHint();
            t.triggered.store(true, .release);
        }
    }.trigger, .{&token});
    var result: abi.LoopbackResult = undefined;
    loopback.run(&fake.table, testing.allocator, &config, &token, &.{}, &result);
    thread.join();
    try testing.expectEqual(.cancelled, result.status);
    try testing.expect(result.duration_ns < 30_000 * ms);
    try testing.expectEqual(0, fake.census().total());
}

test "a deadline ends a measurement that goes well" {
    var config = configFor("fake0");
    config.bandwidth_budget_ns = 60_000 * ms;
    config.bandwidth_bytes_max = std.math.maxInt(u64);
    config.deadline_ns = 50 * ms;
    const result = probe(.{}, &config);
    try testing.expectEqual(.deadline_exceeded, result.status);
    try testing.expect(result.duration_ns < 30_000 * ms);

    config.small_samples = abi.latency_samples_max;
    config.latency_budget_ns = 60_000 * ms;
    config.deadline_ns = 5 * ms;
    try testing.expectEqual(.deadline_exceeded, probe(.{}, &config).status);
}

test "a token that is triggered before the call" {
    var token: clock.CancelToken = .{ .triggered = .init(true) };
    const config = configFor("fake0");
    fake.script = .{};
    var result: abi.LoopbackResult = undefined;
    loopback.run(&fake.table, testing.allocator, &config, &token, &.{}, &result);
    try testing.expectEqual(.cancelled, result.status);
}

test "budgets end the measurements early" {
    var config = configFor("fake0");
    config.small_samples = 100_000;
    config.latency_budget_ns = 1;
    config.bandwidth_budget_ns = 1;
    config.bandwidth_bytes_max = std.math.maxInt(u64);
    const result = probe(.{}, &config);
    try testing.expectEqual(.ok, result.status);
    try testing.expectEqual(1, result.small.count);
    // Two windows of 8 writes on 2 connections, and what the last poll brought with it.
    try testing.expect(result.sustained.bytes >= 2 * 2 * 8 * 512);
    try testing.expect(result.sustained.bytes < 4 * 2 * 8 * 512);

    config.bandwidth_bytes_max = 512;
    const capped = probe(.{}, &config);
    try testing.expectEqual(.ok, capped.status);
    try testing.expect(capped.sustained.bytes < 2 * 2 * 8 * 512);
}

test "nonsense is refused by the name of its field" {
    const Case = struct { field: []const u8, spoil: *const fn (*abi.LoopbackConfig) void };
    const cases = [_]Case{
        .{ .field = "port", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.port = 0;
            }
        }.f },
        .{ .field = "connections", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.connections = abi.connections_max + 1;
            }
        }.f },
        .{ .field = "window", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.window = 0;
            }
        }.f },
        .{ .field = "message_bytes", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.message_bytes = 1;
            }
        }.f },
        .{ .field = "region_bytes", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.region_bytes = 511;
            }
        }.f },
        .{ .field = "small_samples", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.small_samples = 0;
            }
        }.f },
        .{ .field = "deadline_ns", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.deadline_ns = 0;
            }
        }.f },
        .{ .field = "gid_index", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.gid_index = -2;
            }
        }.f },
        .{ .field = "hop_count", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.hop_count = abi.hops_max + 1;
            }
        }.f },
        .{ .field = "hop", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.hop_count = 1;
                config.hops[0] = @splat('x');
            }
        }.f },
        .{ .field = "device", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.device = @splat(0);
            }
        }.f },
        .{ .field = "flags", .spoil = struct {
            fn f(config: *abi.LoopbackConfig) void {
                config.flags = 1 << 31;
            }
        }.f },
    };
    for (cases) |case| {
        errdefer std.debug.print("case: {s}\n", .{case.field});
        var config = configFor("fake0");
        case.spoil(&config);
        const result = probe(.{}, &config);
        try testing.expectEqual(.invalid_argument, result.status);
        try testing.expect(std.mem.indexOf(u8, text(&result.failure.text), case.field) != null);
    }
}

test "the measuring loops allocate nothing" {
    // The provider fails the first request for memory that comes after the queue pairs are up.
    const Gate = struct {
        inner: std.mem.Allocator,
        refused: u32 = 0,
        allowed: u32 = 0,

        fn allocator(self: *@This()) std.mem.Allocator {
            return .{ .ptr = self, .vtable = &.{ .alloc = alloc, .resize = std.mem.Allocator.noResize, .remap = std.mem.Allocator.noRemap, .free = free } };
        }
        fn alloc(ptr: *anyopaque, length: usize, alignment: std.mem.Alignment, address: usize) ?[*]u8 {
            const self: *@This() = @ptrCast(@alignCast(ptr));
            if (fake.census().queue_pairs > 0) {
                self.refused += 1;
                return null;
            }
            self.allowed += 1;
            return self.inner.rawAlloc(length, alignment, address);
        }
        fn free(ptr: *anyopaque, memory: []u8, alignment: std.mem.Alignment, address: usize) void {
            const self: *@This() = @ptrCast(@alignCast(ptr));
            self.inner.rawFree(memory, alignment, address);
        }
    };
    var gate: Gate = .{ .inner = testing.allocator };
    var config = configFor("fake0");
    config.tool_check_below_bytes_per_second = std.math.maxInt(u64);
    fake.script = .{};
    var result: abi.LoopbackResult = undefined;
    loopback.run(&fake.table, gate.allocator(), &config, null, &.{}, &result);
    try testing.expectEqual(.ok, result.status);
    try testing.expectEqual(0, gate.refused);
    try testing.expectEqual(1, gate.allowed);
}

test "ten thousand rounds leave nothing behind, failing at every step or not at all" {
    var config = configFor("fake0");
    config.connections = 1;
    config.window = 4;
    config.small_samples = 1;
    config.large_samples = 1;
    config.warmup_writes = 0;
    config.region_bytes = 4096;
    config.bandwidth_bytes_max = 512;
    config.completion_timeout_ns = 1;
    const failing = comptime std.enums.values(fake.Step);
    const descriptors_before = try openDescriptors();
    const mappings_before = try mappedKib();
    var seen: std.EnumSet(abi.Status) = .empty;
    for (0..10_000) |round| {
        // Each step, at its first, second, … use; the rounds of `none` play lost and failed completions, removals and wrong bytes.
        const step = failing[round % failing.len];
        const turn: u32 = @intCast(round / failing.len % 8);
        const result = probe(if (step != .none) .{ .fail = step, .fail_after = turn } else switch (turn) {
            0 => .{ .lose_write = 1 },
            1 => .{ .fail_write = 1 },
            2 => .{ .kill_write = 1 },
            3 => .{ .port_down_write = 1 },
            4 => .{ .spoil_write = 1 },
            5 => .{ .gid_without_route = 3 },
            6 => .{ .gid_without_reply = 3 },
            else => .{},
        }, &config);
        seen.insert(result.status);
        const left = fake.census().total();
        if (left != 0) {
            std.debug.print("round {d}, {s} after {d}: {s}, {d} objects left\n", .{ round, @tagName(step), turn, text(&result.failure.text), left });
            return error.Leak;
        }
    }
    try testing.expectEqual(descriptors_before, try openDescriptors());
    // One region of 4 KiB in every other round would be 20 MiB.
    try testing.expect(try mappedKib() < mappings_before + (8 << 10));
    for ([_]abi.Status{ .ok, .completion_failed, .completion_lost, .wrong_data, .registration_refused, .queue_pair_refused, .completion_queue_refused, .post_refused }) |status|
        try testing.expect(seen.contains(status));
}

fn openDescriptors() !usize {
    const dir = c.opendir("/proc/self/fd") orelse return error.NoProc;
    defer _ = c.closedir(dir);
    var entries: usize = 0;
    while (c.readdir(dir)) |_| entries += 1;
    return entries;
}

/// The size of the address space.
fn mappedKib() !usize {
    var buffer: [128]u8 = undefined;
    const statm = @import("../src/sysfs.zig").readText(&buffer, "/proc/self", "statm") orelse return error.NoProc;
    var words = std.mem.tokenizeScalar(u8, statm, ' ');
    return try std.fmt.parseInt(usize, words.next().?, 10) * 4;
}
