//! Test-only shared library for LD_PRELOAD: stands in front of the real libibverbs.so.1, makes named devices sick, and counts
//! the objects of all of them.
//!
//! (VERBS_FAULT would be the environment's form of hostpingctl --fault.)
//! VERBS_FAULT="rxe1:bandwidth_gbps=0.05,latency_us=200;*:node=0,factor=2" (devices separated by `;`, `*` is every device):
//!   bandwidth_gbps=X  completions come as if the device moved X Gb/s
//!   latency_us=X      and X µs later than that
//!   factor=X          and not before X times the time that they really took
//!   node=N            only writes whose source lies on NUMA node N
//!   lose_after=N      completions after the first N never come
//!   fail_after=N      completions after the first N carry fail_status (12)
//! VERBS_FAULT_CENSUS=FILE holds, at any time, one line with the objects that exist: "contexts 0 domains 0 regions 0 …".
//! (A file, since a Go program ends without running a library's destructors.)

const std = @import("std");
const clock = @import("../src/clock.zig");
const verbs = @import("../src/verbs.zig");
const c = std.c;
const linux = std.os.linux;

const gpa = std.heap.c_allocator;

const Fault = struct {
    bandwidth_gbps: f64 = 0,
    latency_us: f64 = 0,
    factor: f64 = 0,
    node: i32 = -1,
    lose_after: u64 = std.math.maxInt(u64),
    fail_after: u64 = std.math.maxInt(u64),
    fail_status: c_int = @intFromEnum(verbs.CompletionStatus.retry_exc_err),

    /// The fault of the first matching device in `text`, or null.
    fn find(text: []const u8, device: []const u8) error{BadFault}!?Fault {
        var entries = std.mem.tokenizeScalar(u8, text, ';');
        while (entries.next()) |entry| {
            const colon = std.mem.indexOfScalar(u8, entry, ':') orelse return error.BadFault;
            const fault = try parse(entry[colon + 1 ..]);
            if (std.mem.eql(u8, entry[0..colon], "*") or std.mem.eql(u8, entry[0..colon], device)) return fault;
        }
        return null;
    }

    fn parse(text: []const u8) error{BadFault}!Fault {
        var fault: Fault = .{};
        var items = std.mem.tokenizeScalar(u8, text, ',');
        next: while (items.next()) |item| {
            const equals = std.mem.indexOfScalar(u8, item, '=') orelse return error.BadFault;
            inline for (@typeInfo(Fault).@"struct".fields) |field| {
                if (std.mem.eql(u8, item[0..equals], field.name)) {
                    const value = item[equals + 1 ..];
                    @field(fault, field.name) = switch (@typeInfo(field.type)) {
                        .float => std.fmt.parseFloat(field.type, value) catch return error.BadFault,
                        else => std.fmt.parseInt(field.type, value, 10) catch return error.BadFault,
                    };
                    continue :next;
                }
            }
            return error.BadFault;
        }
        return fault;
    }
};

/// When a signalled write may be seen to complete.
const Due = struct { posted_ns: u64, due_ns: u64 };

fn Fifo(comptime T: type) type {
    return struct {
        items: [capacity]T = undefined,
        head: usize = 0,
        len: usize = 0,

        const capacity = 4096;

        fn push(self: *@This(), item: T) void {
            if (self.len == capacity) @panic("fault_verbs: too many writes in flight");
            self.items[(self.head + self.len) % capacity] = item;
            self.len += 1;
        }

        fn front(self: *@This()) ?*T {
            return if (self.len == 0) null else &self.items[self.head];
        }

        fn pop(self: *@This()) ?T {
            const item = (self.front() orelse return null).*;
            self.head = (self.head + 1) % capacity;
            self.len -= 1;
            return item;
        }
    };
}

const Held = struct { completion: verbs.Completion, due_ns: u64 };

/// A sick device, opened once. A device's probe is one thread; the lock is for those that are not.
const Patient = struct {
    context: *verbs.Context,
    fault: Fault,
    poll_cq: *const verbs.PollCq,
    post_send: *const verbs.PostSend,
    lock: Lock = .{},
    busy_until_ns: u64 = 0,
    completions: u64 = 0,
    queue_pairs: [queue_pairs_max]?*Line = @splat(null),
    held: Fifo(Held) = .{},

    const queue_pairs_max = 256;
    const Line = struct { number: u32, dues: Fifo(Due) = .{} };

    fn lineOf(self: *Patient, number: u32) *Line {
        for (&self.queue_pairs) |*slot| {
            if (slot.*) |line| {
                if (line.number == number) return line;
            } else {
                const line = gpa.create(Line) catch @panic("fault_verbs: no memory");
                line.* = .{ .number = number };
                slot.* = line;
                return line;
            }
        }
        @panic("fault_verbs: too many queue pairs");
    }

    fn forget(self: *Patient, number: u32) void {
        for (&self.queue_pairs, 0..) |*slot, i| {
            const line = slot.* orelse return;
            if (line.number != number) continue;
            gpa.destroy(line);
            // Slots are filled from the front: the last one moves up.
            var last = i;
            while (last + 1 < queue_pairs_max and self.queue_pairs[last + 1] != null) last += 1;
            slot.* = self.queue_pairs[last];
            self.queue_pairs[last] = null;
            return;
        }
    }

    fn applies(self: *const Patient, request: *const verbs.SendRequest) bool {
        if (self.fault.node < 0) return true;
        const page = std.mem.alignBackward(usize, request.sg_list[0].addr, std.heap.page_size_min);
        var node: c_int = -1;
        const rc = linux.syscall6(.move_pages, 0, 1, @intFromPtr(&page), 0, @intFromPtr(&node), 0);
        return linux.errno(rc) == .SUCCESS and node == self.fault.node;
    }
};

const Lock = struct {
    taken: std.atomic.Value(bool) = .init(false),

    fn acquire(self: *Lock) void {
        while (self.taken.swap(true, .acquire)) std.atomic.spinLoopHint();
    }

    fn release(self: *Lock) void {
        self.taken.store(false, .release);
    }
};

const patients_max = 16;
var patients: [patients_max]?*Patient = @splat(null);
var patients_lock: Lock = .{};

fn patientOf(context: *verbs.Context) ?*Patient {
    patients_lock.acquire();
    defer patients_lock.release();
    for (patients) |slot| if (slot) |patient| if (patient.context == context) return patient;
    return null;
}

fn postSend(qp: *verbs.QueuePair, first: *verbs.SendRequest, refused: *?*verbs.SendRequest) callconv(.c) c_int {
    const patient = patientOf(qp.context).?;
    patient.lock.acquire();
    defer patient.lock.release();
    const fault = &patient.fault;
    const now_ns = clock.now_ns();
    var next: ?*verbs.SendRequest = first;
    while (next) |request| : (next = request.next) {
        var due_ns = now_ns;
        if (patient.applies(request)) {
            if (fault.bandwidth_gbps > 0) {
                const wire_ns: u64 = @intFromFloat(@as(f64, @floatFromInt(request.sg_list[0].length)) * 8 / fault.bandwidth_gbps);
                patient.busy_until_ns = @max(patient.busy_until_ns, now_ns) + wire_ns;
                due_ns = patient.busy_until_ns;
            }
            due_ns += @intFromFloat(fault.latency_us * std.time.ns_per_us);
        }
        if (request.send_flags & verbs.send_signaled != 0) patient.lineOf(qp.qp_num).dues.push(.{ .posted_ns = now_ns, .due_ns = due_ns });
    }
    return patient.post_send(qp, first, refused);
}

fn pollCq(cq: *verbs.CompletionQueue, completions_max: c_int, completions: [*]verbs.Completion) callconv(.c) c_int {
    const patient = patientOf(cq.context).?;
    patient.lock.acquire();
    defer patient.lock.release();
    const fault = &patient.fault;
    var fresh: [16]verbs.Completion = undefined;
    const polled = patient.poll_cq(cq, fresh.len, &fresh);
    if (polled < 0) return polled;
    const now_ns = clock.now_ns();
    for (fresh[0..@intCast(polled)]) |*completion| {
        patient.completions += 1;
        // A failed write may complete without having been signalled.
        const due = patient.lineOf(completion.qp_num).dues.pop() orelse Due{ .posted_ns = now_ns, .due_ns = now_ns };
        if (patient.completions > fault.lose_after) continue;
        if (patient.completions > fault.fail_after) completion.status = @enumFromInt(fault.fail_status);
        const stretched: u64 = @intFromFloat(@as(f64, @floatFromInt(now_ns - due.posted_ns)) * fault.factor);
        patient.held.push(.{ .completion = completion.*, .due_ns = @max(due.due_ns, due.posted_ns + stretched) });
    }
    var filled: usize = 0;
    while (filled < completions_max) : (filled += 1) {
        const front = patient.held.front() orelse break;
        if (front.due_ns > now_ns) break;
        completions[filled] = patient.held.pop().?.completion;
    }
    return @intCast(filled);
}

// The verbs that make and destroy, counted.

const Kind = enum { contexts, domains, regions, completion_queues, queue_pairs };
var census: std.EnumArray(Kind, std.atomic.Value(i64)) = .initFill(.init(0));
var made: std.atomic.Value(u64) = .init(0);

fn counted(kind: Kind, delta: i64) void {
    _ = census.getPtr(kind).fetchAdd(delta, .monotonic);
    if (delta > 0) _ = made.fetchAdd(1, .monotonic);
    const path = c.getenv("VERBS_FAULT_CENSUS") orelse return;
    const fd = c.open(path, .{ .ACCMODE = .WRONLY, .CREAT = true, .CLOEXEC = true }, @as(c.mode_t, 0o600));
    if (fd < 0) return;
    defer _ = c.close(fd);
    // Fixed widths: a line overwrites the one before it whole.
    var buffer: [256]u8 = undefined;
    var line: std.Io.Writer = .fixed(&buffer);
    for (std.enums.values(Kind)) |each| line.print("{s} {d:<8} ", .{ @tagName(each), existing(each) }) catch unreachable;
    line.print("made {d:<12}\n", .{made.load(.monotonic)}) catch unreachable;
    _ = c.pwrite(fd, &buffer, line.end, 0);
}

fn existing(kind: Kind) u64 {
    return @intCast(census.get(kind).load(.monotonic));
}

fn real(comptime T: type, name: [:0]const u8, version: [:0]const u8) T {
    const next: *anyopaque = @ptrFromInt(std.math.maxInt(usize)); // RTLD_NEXT
    const symbol = dlvsym(next, name, version) orelse @panic("fault_verbs: no libibverbs.so.1 behind this library");
    return @ptrCast(@alignCast(symbol));
}

extern fn dlvsym(handle: *anyopaque, name: [*:0]const u8, version: [*:0]const u8) ?*anyopaque;

fn RealOf(comptime field: []const u8) type {
    return @FieldType(verbs.Table, field);
}

export fn ibv_open_device(device: *verbs.Device) ?*verbs.Context {
    const context = real(RealOf("open_device"), "ibv_open_device", "IBVERBS_1.1")(device) orelse return null;
    counted(.contexts, 1);
    const text = std.mem.span(c.getenv("VERBS_FAULT") orelse return context);
    const fault = (Fault.find(text, std.mem.sliceTo(&device.name, 0)) catch
        @panic("fault_verbs: VERBS_FAULT is not DEVICE:key=value,… as fault_verbs.zig names them")) orelse return context;
    const patient = gpa.create(Patient) catch @panic("fault_verbs: no memory");
    patient.* = .{ .context = context, .fault = fault, .poll_cq = context.ops.poll_cq.?, .post_send = context.ops.post_send.? };
    {
        patients_lock.acquire();
        defer patients_lock.release();
        const slot = for (&patients) |*slot| {
            if (slot.* == null) break slot;
        } else @panic("fault_verbs: too many open devices");
        slot.* = patient;
    }
    context.ops.poll_cq = pollCq;
    context.ops.post_send = postSend;
    return context;
}

export fn ibv_close_device(context: *verbs.Context) c_int {
    if (patientOf(context)) |patient| {
        patients_lock.acquire();
        defer patients_lock.release();
        for (&patients) |*slot| if (slot.* == patient) {
            slot.* = null;
        };
        for (patient.queue_pairs) |slot| if (slot) |line| gpa.destroy(line);
        gpa.destroy(patient);
    }
    counted(.contexts, -1);
    return real(RealOf("close_device"), "ibv_close_device", "IBVERBS_1.1")(context);
}

export fn ibv_alloc_pd(context: *verbs.Context) ?*verbs.ProtectionDomain {
    const pd = real(RealOf("alloc_pd"), "ibv_alloc_pd", "IBVERBS_1.1")(context) orelse return null;
    counted(.domains, 1);
    return pd;
}

export fn ibv_dealloc_pd(pd: *verbs.ProtectionDomain) c_int {
    counted(.domains, -1);
    return real(RealOf("dealloc_pd"), "ibv_dealloc_pd", "IBVERBS_1.1")(pd);
}

export fn ibv_reg_mr_iova2(pd: *verbs.ProtectionDomain, address: *anyopaque, length: usize, iova: u64, access: c_uint) ?*verbs.MemoryRegion {
    const mr = real(RealOf("reg_mr"), "ibv_reg_mr_iova2", "IBVERBS_1.8")(pd, address, length, iova, access) orelse return null;
    counted(.regions, 1);
    return mr;
}

export fn ibv_dereg_mr(mr: *verbs.MemoryRegion) c_int {
    counted(.regions, -1);
    return real(RealOf("dereg_mr"), "ibv_dereg_mr", "IBVERBS_1.1")(mr);
}

export fn ibv_create_cq(context: *verbs.Context, entries: c_int, cq_context: ?*anyopaque, channel: ?*anyopaque, vector: c_int) ?*verbs.CompletionQueue {
    const cq = real(RealOf("create_cq"), "ibv_create_cq", "IBVERBS_1.1")(context, entries, cq_context, channel, vector) orelse return null;
    counted(.completion_queues, 1);
    return cq;
}

export fn ibv_destroy_cq(cq: *verbs.CompletionQueue) c_int {
    counted(.completion_queues, -1);
    return real(RealOf("destroy_cq"), "ibv_destroy_cq", "IBVERBS_1.1")(cq);
}

export fn ibv_create_qp(pd: *verbs.ProtectionDomain, init: *verbs.QueuePairInit) ?*verbs.QueuePair {
    const qp = real(RealOf("create_qp"), "ibv_create_qp", "IBVERBS_1.1")(pd, init) orelse return null;
    counted(.queue_pairs, 1);
    return qp;
}

export fn ibv_destroy_qp(qp: *verbs.QueuePair) c_int {
    if (patientOf(qp.context)) |patient| {
        patient.lock.acquire();
        defer patient.lock.release();
        patient.forget(qp.qp_num);
    }
    counted(.queue_pairs, -1);
    return real(RealOf("destroy_qp"), "ibv_destroy_qp", "IBVERBS_1.1")(qp);
}

test "faults as text" {
    const text = "rxe1:bandwidth_gbps=0.05,latency_us=200;*:node=0,factor=2";
    const slow = (try Fault.find(text, "rxe1")).?;
    try std.testing.expectEqual(0.05, slow.bandwidth_gbps);
    try std.testing.expectEqual(200, slow.latency_us);
    try std.testing.expectEqual(-1, slow.node);
    const other = (try Fault.find(text, "rxe0")).?;
    try std.testing.expectEqual(2, other.factor);
    try std.testing.expectEqual(0, other.node);
    try std.testing.expectEqual(null, try Fault.find("rxe1:factor=2", "rxe0"));
    for ([_][]const u8{ "rxe1", "rxe1:speed=1", "rxe1:factor", "rxe1:factor=fast", "rxe1:node=1.5" }) |bad|
        try std.testing.expectError(error.BadFault, Fault.find(bad, "rxe1"));
}

test "lines of queue pairs come and go" {
    var patient: Patient = .{ .context = undefined, .fault = .{}, .poll_cq = undefined, .post_send = undefined };
    for ([_]u32{ 5, 6, 7 }) |number| patient.lineOf(number).dues.push(.{ .posted_ns = number, .due_ns = 0 });
    patient.forget(5);
    patient.forget(9);
    try std.testing.expectEqual(null, patient.queue_pairs[2]);
    for ([_]u32{ 6, 7 }) |number| {
        try std.testing.expectEqual(number, patient.lineOf(number).dues.pop().?.posted_ns);
        patient.forget(number);
    }
    try std.testing.expectEqual(null, patient.queue_pairs[0]);
}
