//! The C ABI: every type that crosses between Go and Zig, and nothing else.
//! zig/include/hostping.h is generated from this file, comments included (`zig build header`).
//! No struct holds a pointer: buffers and tokens are arguments of the functions, so that a caller may keep the structs anywhere.

/// Raised whenever a type or a function below changes; the caller refuses a library with another number.
pub const abi_version: u32 = 2;
/// Bytes of a device, object or operation name, terminating zero included.
pub const name_bytes = 64;
/// Bytes of an error text, terminating zero included.
pub const text_bytes = 256;
/// Bytes of a path in sysfs, terminating zero included.
pub const path_bytes = 256;
/// Hops whose PCIe link one probe can watch.
pub const hops_max = 16;
/// Connections (pairs of queue pairs) that one probe may ask for.
pub const connections_max = 32;
/// Writes in flight that one connection may ask for.
pub const window_max = 1024;
/// Bytes of one message.
pub const message_bytes_max = 16 << 20;
/// Bytes of one region; a probe pins two of them.
pub const region_bytes_max = 64 << 20;
/// Latency samples that one probe may ask for.
pub const latency_samples_max = 1 << 20;

/// The outcome of a call. Everything but `ok` comes with a filled `hp_failure`.
pub const Status = enum(u32) {
    /// Measured; the figures of the result are valid.
    ok = 0,
    /// A value of the configuration is out of its range.
    invalid_argument = 1,
    /// A struct has another size than the library's: caller and library are of different builds.
    struct_size_mismatch = 2,
    /// The cancel token was triggered.
    cancelled = 3,
    /// The deadline of the call passed.
    deadline_exceeded = 4,
    /// No RDMA device has that name.
    device_not_found = 5,
    /// The device exists, but not its file in /dev/infiniband (or the ib_uverbs module).
    uverbs_missing = 6,
    /// The operating system refused access to the device's file.
    permission_denied = 7,
    /// The device could not be opened or queried for another reason.
    device_unusable = 8,
    /// The device went away: fatal event, ENODEV or EIO.
    device_removed = 9,
    /// The device has no reliable connections (EFA, iWARP).
    device_unsupported = 10,
    /// The port was not ACTIVE when the probe began.
    port_not_active = 11,
    /// The port left ACTIVE while the probe ran: the figures would prove nothing.
    port_changed = 12,
    /// No GID of the port can carry RoCE v2 (switchdev mode, or no IP address).
    no_usable_gid = 13,
    /// ENOMEM under a RLIMIT_MEMLOCK that is too low; the text prints the limit in force.
    memlock_limit = 14,
    /// The operating system gave no memory.
    memory_refused = 15,
    /// The memory could not be placed on, or was not found on, the node asked for.
    placement_failed = 16,
    /// A protection domain or memory region was refused.
    registration_refused = 17,
    /// A completion queue was refused.
    completion_queue_refused = 18,
    /// A queue pair was refused; the operation names the step.
    queue_pair_refused = 19,
    /// A write could not be posted.
    post_refused = 20,
    /// A posted write never completed.
    completion_lost = 21,
    /// A write completed with an error; `completion_status` and the text name it.
    completion_failed = 22,
    /// The target does not hold the bytes that were written.
    wrong_data = 23,
    /// Never returned by the library: the caller's word for a call that outlived its deadline and was left behind.
    abandoned = 24,
    /// A library that is loaded at run time is not installed.
    library_missing = 25,
    /// That library lacks a symbol; the text names it.
    library_incomplete = 26,
    /// A call of that library failed; `library_code` is its own code.
    library_refused = 27,
    /// The driver or kernel does not offer what was asked for.
    unsupported = 28,
    /// The kernel shows no PMU of that kind.
    pmu_missing = 29,
    /// Neither the kernel nor the library's table knows how the PMU's events are coded.
    pmu_unknown = 30,
    /// The kernel refused an event.
    pmu_refused = 31,
};

/// What failed, on what, and why.
pub const Failure = extern struct {
    /// The verb, system call or file, with the step where there are several: `ibv_modify_qp(RTR)`.
    operation: [name_bytes]u8,
    /// The device, port, node or path concerned.
    object: [name_bytes]u8,
    /// The errno of the operation, 0 when it has none.
    errno_value: i32,
    /// The work completion status as verbs counts it (12: transport retry exceeded), 0 when no completion failed.
    completion_status: u32,
    /// The code that a library loaded at run time returned, 0 when none did.
    library_code: i32,
    /// One line for people.
    text: [text_bytes]u8,
};

/// A number that may be unknown.
pub const OptionalU64 = extern struct {
    /// Meaningless while `present` is 0.
    value: u64,
    /// 1 when the value was read.
    present: u32,
    reserved: u32,

    pub const absent: OptionalU64 = .{ .value = 0, .present = 0, .reserved = 0 };

    pub fn of(value: ?u64) OptionalU64 {
        return if (value) |v| .{ .value = v, .present = 1, .reserved = 0 } else absent;
    }

    pub fn get(self: OptionalU64) ?u64 {
        return if (self.present != 0) self.value else null;
    }
};

/// A PCIe link as `current_link_speed` and `current_link_width` show it.
pub const LinkReading = extern struct {
    /// Million transfers per second and lane (16000: PCIe 4.0).
    speed_mts: OptionalU64,
    /// Lanes.
    width_lanes: OptionalU64,
};

/// One hop's link, before the probe (idle links downshift, so this alone is no evidence) and with traffic in flight.
pub const HopReading = extern struct {
    before: LinkReading,
    during: LinkReading,
};

/// Nanoseconds; percentiles are nearest-rank over every sample.
pub const LatencySummary = extern struct {
    /// Samples taken, warm-up not counted; the other fields are meaningless when it is 0.
    count: u64,
    min_ns: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
};

/// Sustained throughput between two completions with the window full in between.
pub const Throughput = extern struct {
    /// Payload bytes completed in `duration_ns`.
    bytes: u64,
    /// 0: not measured.
    duration_ns: u64,
    /// Connections used, and writes in flight on each, after clipping to the device's limits.
    connections: u32,
    window: u32,
};

/// Use base pages even when huge pages are free.
pub const flag_base_pages: u32 = 1 << 0;

/// Where the pages of a region come from.
pub const PageKind = enum(u32) {
    /// Pages of the system's base size.
    base = 0,
    /// 2 MiB pages of the node's pool.
    huge_2mib = 1,
};

/// What the tool check found.
pub const ToolCheck = enum(u32) {
    /// The figure was not below `tool_check_below_bytes_per_second`: nothing to check.
    not_needed = 0,
    /// Twice the connections did not scale: the path is the limit.
    path_limited = 1,
    /// Twice the connections carried at least a tenth more: the tool was the limit, and `repeat` is the better figure.
    tool_limited = 2,
    /// The device has no room for more connections.
    not_possible = 3,
};

/// One loopback probe of one (RNIC port, memory node). The struct must be zeroed first; zero is refused where a range begins at 1.
pub const LoopbackConfig = extern struct {
    /// sizeof this struct.
    struct_size: u32,
    /// Physical port, from 1.
    port: u32,
    /// RDMA device name, as in /sys/class/infiniband.
    device: [name_bytes]u8,
    /// NUMA node of the memory under test, -1 to leave the choice to the kernel.
    memory_node: i32,
    /// NUMA node of the RNIC, for the measuring thread and the queue pairs' rings; -1 when unknown: neither is moved.
    rnic_node: i32,
    /// GID index to use, -1 to choose (InfiniBand ports need none).
    gid_index: i32,
    /// `HP_FLAG_…`.
    flags: u32,
    /// Connections, 1 to `HP_CONNECTIONS_MAX`; clipped to the device's limits.
    connections: u32,
    /// Writes in flight per connection, 1 to `HP_WINDOW_MAX`; clipped to the device's limits.
    window: u32,
    /// Payload of one large write, 2 to `HP_MESSAGE_BYTES_MAX`. The paper: 128 KiB at 200 Gb/s, scaled with the line rate.
    message_bytes: u32,
    /// 1-byte writes to measure, 1 to `HP_LATENCY_SAMPLES_MAX`.
    small_samples: u32,
    /// Large writes to measure one at a time, for the paper's figure; 1 to `HP_LATENCY_SAMPLES_MAX`.
    large_samples: u32,
    /// Writes that precede each measurement and are discarded.
    warmup_writes: u32,
    /// Bytes of the read region and of the write region, each `message_bytes` to `HP_REGION_BYTES_MAX`; large writes walk through them.
    region_bytes: u64,
    /// Time after which a latency measurement ends early, with the samples it has (at least one).
    latency_budget_ns: u64,
    /// Time after which the sustained measurement ends, once two full windows have completed: a slow device shows no figure in less.
    bandwidth_budget_ns: u64,
    /// Bytes after which the sustained measurement ends in any case.
    bandwidth_bytes_max: u64,
    /// Below this figure the sustained measurement is repeated with twice the connections; 0: never.
    tool_check_below_bytes_per_second: u64,
    /// A posted write that has not completed after this time is lost. The transport itself gives up after about 2 s.
    completion_timeout_ns: u64,
    /// After a failed write: time for the port or the device to say that it was them, which they do a little later; 0: none.
    settle_ns: u64,
    /// The whole call ends after this time.
    deadline_ns: u64,
    /// Entries used of `hops`.
    hop_count: u32,
    reserved: u32,
    /// PCI device directories in sysfs whose link is read before and during the probe.
    hops: [hops_max][path_bytes]u8,
};

/// What one loopback probe measured. On a failure the fields that were reached before it are filled; figures only count with `ok`.
pub const LoopbackResult = extern struct {
    /// sizeof this struct, set by the caller.
    struct_size: u32,
    /// The same as the call's return value.
    status: Status,
    failure: Failure,
    /// 1-byte writes, one at a time, signalled, not inline: post to completion.
    small: LatencySummary,
    /// Large writes, the same way.
    large: LatencySummary,
    /// The paper's figure: message size over the difference of the two medians. Absent when the difference is not positive.
    paper_bytes_per_second: OptionalU64,
    /// The figure that verdicts use.
    sustained: Throughput,
    /// The tool check's repetition.
    repeat: Throughput,
    tool_check: ToolCheck,
    /// GIDs tried; more than 1 means that the first choice did not connect or did not carry.
    gid_attempts: u32,
    /// GID index used; absent when LIDs were.
    gid_index: OptionalU64,
    /// Median and 99th percentile of an empty measurement: two readings of the clock with nothing between them.
    self_noise_p50_ns: u64,
    self_noise_p99_ns: u64,
    /// Path MTU in bytes: the port's active one.
    mtu_bytes: u32,
    page_kind: PageKind,
    /// 1 when every page was found on `memory_node`; 0 when no node was asked for, or the kernel cannot tell (no NUMA).
    placement_verified: u32,
    /// 1 when the measuring thread stayed on the CPUs of `rnic_node`.
    thread_on_rnic_node: u32,
    /// Port state as verbs counts it (4: ACTIVE).
    port_state_before: OptionalU64,
    port_state_after: OptionalU64,
    /// `port_xmit_data` and `port_rcv_data` in bytes; evidence only, some firmware does not count loopback.
    port_sent_bytes_before: OptionalU64,
    port_sent_bytes_after: OptionalU64,
    port_received_bytes_before: OptionalU64,
    port_received_bytes_after: OptionalU64,
    /// Time of the whole call.
    duration_ns: u64,
    /// Latency samples that fit the caller's buffer.
    samples_stored: u64,
    hops: [hops_max]HopReading,
};

/// What the library was built as; compared with the caller's own view when the program starts.
pub const Description = extern struct {
    struct_size: u32,
    abi_version: u32,
    failure_size: u32,
    loopback_config_size: u32,
    loopback_result_size: u32,
    status_count: u32,
    /// Version of the Zig compiler.
    zig_version: [name_bytes]u8,
    /// Zig's optimisation mode.
    optimize_mode: [name_bytes]u8,
};

/// A flag in memory of its own that ends running calls. Safe to trigger from any thread, any number of times.
pub const Cancel = opaque {};

pub const Function = struct {
    name: [:0]const u8,
    doc: []const u8,
    parameters: []const [:0]const u8,
    Type: type,
};

/// The only exported functions.
pub const functions = [_]Function{
    .{
        .name = "hp_abi_version",
        .doc = "HP_ABI_VERSION of the library. Never changes its own shape.",
        .parameters = &.{},
        .Type = fn () callconv(.c) u32,
    },
    .{
        .name = "hp_abi_describe",
        .doc = "Fills `description`, whose `struct_size` the caller has set.",
        .parameters = &.{"description"},
        .Type = fn (*Description) callconv(.c) Status,
    },
    .{
        .name = "hp_cancel_create",
        .doc = "A new cancel token, NULL without memory. The caller destroys it, after every call that uses it has returned.",
        .parameters = &.{},
        .Type = fn () callconv(.c) ?*Cancel,
    },
    .{
        .name = "hp_cancel_trigger",
        .doc = "Ends the calls that use the token, now and later.",
        .parameters = &.{"cancel"},
        .Type = fn (*Cancel) callconv(.c) void,
    },
    .{
        .name = "hp_cancel_destroy",
        .doc = "NULL is allowed.",
        .parameters = &.{"cancel"},
        .Type = fn (?*Cancel) callconv(.c) void,
    },
    .{
        .name = "hp_loopback_run",
        .doc = "Runs one loopback probe on the calling thread. `cancel` may be NULL; `small_ns` (may be NULL) receives up to " ++
            "`small_ns_capacity` samples of the 1-byte writes, in the order taken.",
        .parameters = &.{ "config", "cancel", "small_ns", "small_ns_capacity", "result" },
        .Type = fn (*const LoopbackConfig, ?*Cancel, ?[*]u64, u64, *LoopbackResult) callconv(.c) Status,
    },
};
