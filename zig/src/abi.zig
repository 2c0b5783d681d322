//! The C ABI: every type that crosses between Go and Zig, and nothing else.
//! zig/include/hostping.h is generated from this file, comments included (`zig build header`).
//! No struct holds a pointer: buffers and tokens are arguments of the functions, so that a caller may keep the structs anywhere.

/// Raised whenever a type or a function below changes; the caller refuses a library with another number.
pub const abi_version: u32 = 3;
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
/// Files that one set of counters may hold open.
pub const counter_files_max = 4096;
/// Bytes kept of a counter file that holds no number, terminating zero included.
pub const counter_text_bytes = 48;
/// Statistics that a netdev may have: some NICs have fifty for each of their queues.
pub const statistics_max = 1 << 16;
/// Bytes of a statistic's name, terminating zero included where it has one (ETH_GSTRING_LEN).
pub const statistic_name_bytes = 32;
/// Events that one set of uncore PMUs may count.
pub const uncore_counters_max = 1024;
/// Sockets that one set of uncore PMUs may cover.
pub const sockets_max = 64;

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

/// The outcome of a call that returns nothing else.
pub const Outcome = extern struct {
    /// sizeof this struct, set by the caller.
    struct_size: u32,
    /// The same as the call's return value.
    status: Status,
    failure: Failure,
};

/// What a counter's file had to say.
pub const CounterState = enum(u32) {
    /// It could not be read; `errno_value` says why.
    absent = 0,
    /// One unsigned decimal number, in `value`.
    number = 1,
    /// Something else ("N/A (no PMA)", "4: ACTIVE"), whose beginning is in `text`.
    text = 2,
};

/// One reading of one counter file.
pub const CounterValue = extern struct {
    /// Meaningless unless `state` is `number`.
    value: u64,
    state: CounterState,
    /// 0 unless `state` is `absent`.
    errno_value: i32,
    /// Without surrounding blanks; empty unless `state` is `text`.
    text: [counter_text_bytes]u8,
};

/// Files that are kept open and read together.
pub const Counters = opaque {};

/// One reading of a netdev's statistics; the values and names themselves are lent by `hp_ethtool_values` and `hp_ethtool_names`.
pub const EthtoolReading = extern struct {
    /// sizeof this struct, set by the caller.
    struct_size: u32,
    /// The same as the call's return value.
    status: Status,
    failure: Failure,
    /// Name of the kernel driver.
    driver: [name_bytes]u8,
    /// Statistics read.
    count: u64,
    /// Rises from 1 whenever the names were read anew: values of two generations must not be compared.
    generation: u64,
};

/// One netdev whose statistics are read.
pub const Ethtool = opaque {};

/// One figure of NVML.
pub const NvmlValue = extern struct {
    /// Meaningless unless `code` is 0.
    value: u64,
    /// nvmlReturn_t of the call that should have given it; 13 (FUNCTION_NOT_FOUND) when this library does not have that call.
    code: i32,
    reserved: u32,
};

/// One reading of one GPU.
pub const NvmlReading = extern struct {
    /// sizeof this struct, set by the caller.
    struct_size: u32,
    /// The same as the call's return value: `ok` when the library knows the device, whatever its figures.
    status: Status,
    failure: Failure,
    /// Share of the last sample period in which a kernel ran.
    utilization_percent: NvmlValue,
    /// As the GPU sees it, over 20 ms, for which the call waits.
    pcie_sent_bytes_per_second: NvmlValue,
    pcie_received_bytes_per_second: NvmlValue,
    /// Processes with a context.
    compute_processes: NvmlValue,
    graphics_processes: NvmlValue,
    /// nvmlComputeMode_t: 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process.
    compute_mode: NvmlValue,
    /// 1 when the device is divided.
    mig_mode: NvmlValue,
};

/// NVIDIA's management library, loaded.
pub const Nvml = opaque {};

/// What a group of uncore PMUs counts.
pub const UncoreKind = enum(u32) {
    /// What a socket's memory channels read and write (uncore_imc*).
    memory = 0,
    /// What a socket sends to the others (uncore_upi*, uncore_qpi*).
    inter_socket = 1,
};

/// Where to look for uncore PMUs. The struct must be zeroed first.
pub const UncoreConfig = extern struct {
    /// sizeof this struct.
    struct_size: u32,
    kind: UncoreKind,
    /// As CPUID counts them; both 0: those of the CPU that runs this.
    cpu_family: u32,
    cpu_model: u32,
    /// "/sys", or another tree of its shape.
    sysfs_root: [path_bytes]u8,
};

/// Which way the bytes of an event go.
pub const UncoreDirection = enum(u32) {
    read = 0,
    written = 1,
    sent = 2,
};

/// One event on one PMU and CPU.
pub const UncoreCounter = extern struct {
    pmu: [name_bytes]u8,
    event: [name_bytes]u8,
    /// Where the encoding comes from.
    source: [text_bytes]u8,
    direction: UncoreDirection,
    /// The CPU of the PMU's cpumask that counts, and its socket (physical package).
    cpu: u32,
    socket: u32,
    /// What perf_event_open gets.
    pmu_type: u32,
    config: u64,
    config1: u64,
    config2: u64,
    /// Count times numerator over denominator is bytes.
    bytes_numerator: u64,
    bytes_denominator: u64,
};

/// Bytes of one socket since its PMUs were opened. What another user's events kept from counting since the last reading is absent.
pub const UncoreSocket = extern struct {
    socket: u32,
    reserved: u32,
    read_bytes: OptionalU64,
    written_bytes: OptionalU64,
    sent_bytes: OptionalU64,
};

/// A group of uncore PMUs.
pub const Uncore = opaque {};

/// What the library was built as; compared with the caller's own view when the program starts.
pub const Description = extern struct {
    struct_size: u32,
    abi_version: u32,
    failure_size: u32,
    loopback_config_size: u32,
    loopback_result_size: u32,
    counter_value_size: u32,
    ethtool_reading_size: u32,
    nvml_reading_size: u32,
    uncore_config_size: u32,
    uncore_counter_size: u32,
    uncore_socket_size: u32,
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
    .{
        .name = "hp_counters_create",
        .doc = "A set of `count` (1 to HP_COUNTER_FILES_MAX) files, whose terminated paths follow each other in `paths`; NULL without " ++
            "memory. They are opened by the first reading.",
        .parameters = &.{ "paths", "paths_bytes", "count" },
        .Type = fn ([*]const u8, u64, u64) callconv(.c) ?*Counters,
    },
    .{
        .name = "hp_counters_read",
        .doc = "Reads every file once, into as many `values` as there are files. A stale file (its device went, or came back) is opened anew.",
        .parameters = &.{ "counters", "values" },
        .Type = fn (*Counters, [*]CounterValue) callconv(.c) void,
    },
    .{
        .name = "hp_counters_destroy",
        .doc = "NULL is allowed.",
        .parameters = &.{"counters"},
        .Type = fn (?*Counters) callconv(.c) void,
    },
    .{
        .name = "hp_ethtool_create",
        .doc = "A reader of the netdev `name` (terminated, at most 15 bytes) of the calling thread's network namespace; NULL without " ++
            "memory. The first reading looks for it.",
        .parameters = &.{"name"},
        .Type = fn ([*:0]const u8) callconv(.c) ?*Ethtool,
    },
    .{
        .name = "hp_ethtool_read",
        .doc = "Reads all statistics. A netdev that is not there is HP_STATUS_DEVICE_NOT_FOUND until it is.",
        .parameters = &.{ "ethtool", "reading" },
        .Type = fn (*Ethtool, *EthtoolReading) callconv(.c) Status,
    },
    .{
        .name = "hp_ethtool_values",
        .doc = "The values of the last reading, valid until the next.",
        .parameters = &.{"ethtool"},
        .Type = fn (*const Ethtool) callconv(.c) [*]const u64,
    },
    .{
        .name = "hp_ethtool_names",
        .doc = "Their names, HP_STATISTIC_NAME_BYTES each, valid until the next reading.",
        .parameters = &.{"ethtool"},
        .Type = fn (*const Ethtool) callconv(.c) [*]const u8,
    },
    .{
        .name = "hp_ethtool_destroy",
        .doc = "NULL is allowed.",
        .parameters = &.{"ethtool"},
        .Type = fn (?*Ethtool) callconv(.c) void,
    },
    .{
        .name = "hp_nvml_open",
        .doc = "Loads and initialises NVML; `library` is a name for the dynamic loader. NULL with the reason in `outcome`.",
        .parameters = &.{ "library", "outcome" },
        .Type = fn ([*:0]const u8, *Outcome) callconv(.c) ?*Nvml,
    },
    .{
        .name = "hp_nvml_missing",
        .doc = "The calls that this library does not have, separated by spaces.",
        .parameters = &.{"nvml"},
        .Type = fn (*const Nvml) callconv(.c) [*:0]const u8,
    },
    .{
        .name = "hp_nvml_read",
        .doc = "Reads the GPU at the PCI address `pci`. May run on several threads at once.",
        .parameters = &.{ "nvml", "pci", "reading" },
        .Type = fn (*const Nvml, [*:0]const u8, *NvmlReading) callconv(.c) Status,
    },
    .{
        .name = "hp_nvml_reinit",
        .doc = "Shuts the library down and initialises it again. No reading may be running.",
        .parameters = &.{ "nvml", "outcome" },
        .Type = fn (*Nvml, *Outcome) callconv(.c) Status,
    },
    .{
        .name = "hp_nvml_close",
        .doc = "Shuts the library down and unloads it. No reading may be running. NULL is allowed.",
        .parameters = &.{"nvml"},
        .Type = fn (?*Nvml) callconv(.c) void,
    },
    .{
        .name = "hp_uncore_discover",
        .doc = "Finds the PMUs of a kind and the codes of their events, by reading files alone. NULL with the reason in `outcome`.",
        .parameters = &.{ "config", "outcome" },
        .Type = fn (*const UncoreConfig, *Outcome) callconv(.c) ?*Uncore,
    },
    .{
        .name = "hp_uncore_counters",
        .doc = "Copies up to `capacity` of the events found, and returns how many there are.",
        .parameters = &.{ "uncore", "counters", "capacity" },
        .Type = fn (*const Uncore, ?[*]UncoreCounter, u64) callconv(.c) u64,
    },
    .{
        .name = "hp_uncore_open",
        .doc = "Opens all events found; they count from then on. On failure none is open.",
        .parameters = &.{ "uncore", "outcome" },
        .Type = fn (*Uncore, *Outcome) callconv(.c) Status,
    },
    .{
        .name = "hp_uncore_read",
        .doc = "Reads every event once, into up to `capacity` sockets, ascending; returns how many sockets there are.",
        .parameters = &.{ "uncore", "sockets", "capacity" },
        .Type = fn (*Uncore, ?[*]UncoreSocket, u64) callconv(.c) u64,
    },
    .{
        .name = "hp_uncore_close",
        .doc = "NULL is allowed.",
        .parameters = &.{"uncore"},
        .Type = fn (?*Uncore) callconv(.c) void,
    },
};
