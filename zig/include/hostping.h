/* Generated from zig/src/abi.zig by `zig build header`; do not edit. */
#ifndef HOSTPING_H
#define HOSTPING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a type or a function below changes; the caller refuses a library with another number. */
#define HP_ABI_VERSION 3u

/* Bytes of a device, object or operation name, terminating zero included. */
#define HP_NAME_BYTES 64u

/* Bytes of an error text, terminating zero included. */
#define HP_TEXT_BYTES 256u

/* Bytes of a path in sysfs, terminating zero included. */
#define HP_PATH_BYTES 256u

/* Hops whose PCIe link one probe can watch. */
#define HP_HOPS_MAX 16u

/* Connections (pairs of queue pairs) that one probe may ask for. */
#define HP_CONNECTIONS_MAX 32u

/* Writes in flight that one connection may ask for. */
#define HP_WINDOW_MAX 1024u

/* Bytes of one message. */
#define HP_MESSAGE_BYTES_MAX 16777216u

/* Bytes of one region; a probe pins two of them. */
#define HP_REGION_BYTES_MAX 67108864u

/* Latency samples that one probe may ask for. */
#define HP_LATENCY_SAMPLES_MAX 1048576u

/* Files that one set of counters may hold open. */
#define HP_COUNTER_FILES_MAX 4096u

/* Bytes kept of a counter file that holds no number, terminating zero included. */
#define HP_COUNTER_TEXT_BYTES 48u

/* Statistics that a netdev may have: some NICs have fifty for each of their queues. */
#define HP_STATISTICS_MAX 65536u

/* Bytes of a statistic's name, terminating zero included where it has one (ETH_GSTRING_LEN). */
#define HP_STATISTIC_NAME_BYTES 32u

/* Events that one set of uncore PMUs may count. */
#define HP_UNCORE_COUNTERS_MAX 1024u

/* Sockets that one set of uncore PMUs may cover. */
#define HP_SOCKETS_MAX 64u

/* The outcome of a call. Everything but `ok` comes with a filled `hp_failure`. */
typedef uint32_t hp_status;
enum {
	/* Measured; the figures of the result are valid. */
	HP_STATUS_OK = 0,
	/* A value of the configuration is out of its range. */
	HP_STATUS_INVALID_ARGUMENT = 1,
	/* A struct has another size than the library's: caller and library are of different builds. */
	HP_STATUS_STRUCT_SIZE_MISMATCH = 2,
	/* The cancel token was triggered. */
	HP_STATUS_CANCELLED = 3,
	/* The deadline of the call passed. */
	HP_STATUS_DEADLINE_EXCEEDED = 4,
	/* No RDMA device has that name. */
	HP_STATUS_DEVICE_NOT_FOUND = 5,
	/* The device exists, but not its file in /dev/infiniband (or the ib_uverbs module). */
	HP_STATUS_UVERBS_MISSING = 6,
	/* The operating system refused access to the device's file. */
	HP_STATUS_PERMISSION_DENIED = 7,
	/* The device could not be opened or queried for another reason. */
	HP_STATUS_DEVICE_UNUSABLE = 8,
	/* The device went away: fatal event, ENODEV or EIO. */
	HP_STATUS_DEVICE_REMOVED = 9,
	/* The device has no reliable connections (EFA, iWARP). */
	HP_STATUS_DEVICE_UNSUPPORTED = 10,
	/* The port was not ACTIVE when the probe began. */
	HP_STATUS_PORT_NOT_ACTIVE = 11,
	/* The port left ACTIVE while the probe ran: the figures would prove nothing. */
	HP_STATUS_PORT_CHANGED = 12,
	/* No GID of the port can carry RoCE v2 (switchdev mode, or no IP address). */
	HP_STATUS_NO_USABLE_GID = 13,
	/* ENOMEM under a RLIMIT_MEMLOCK that is too low; the text prints the limit in force. */
	HP_STATUS_MEMLOCK_LIMIT = 14,
	/* The operating system gave no memory. */
	HP_STATUS_MEMORY_REFUSED = 15,
	/* The memory could not be placed on, or was not found on, the node asked for. */
	HP_STATUS_PLACEMENT_FAILED = 16,
	/* A protection domain or memory region was refused. */
	HP_STATUS_REGISTRATION_REFUSED = 17,
	/* A completion queue was refused. */
	HP_STATUS_COMPLETION_QUEUE_REFUSED = 18,
	/* A queue pair was refused; the operation names the step. */
	HP_STATUS_QUEUE_PAIR_REFUSED = 19,
	/* A write could not be posted. */
	HP_STATUS_POST_REFUSED = 20,
	/* A posted write never completed. */
	HP_STATUS_COMPLETION_LOST = 21,
	/* A write completed with an error; `completion_status` and the text name it. */
	HP_STATUS_COMPLETION_FAILED = 22,
	/* The target does not hold the bytes that were written. */
	HP_STATUS_WRONG_DATA = 23,
	/* Never returned by the library: the caller's word for a call that outlived its deadline and was left behind. */
	HP_STATUS_ABANDONED = 24,
	/* A library that is loaded at run time is not installed. */
	HP_STATUS_LIBRARY_MISSING = 25,
	/* That library lacks a symbol; the text names it. */
	HP_STATUS_LIBRARY_INCOMPLETE = 26,
	/* A call of that library failed; `library_code` is its own code. */
	HP_STATUS_LIBRARY_REFUSED = 27,
	/* The driver or kernel does not offer what was asked for. */
	HP_STATUS_UNSUPPORTED = 28,
	/* The kernel shows no PMU of that kind. */
	HP_STATUS_PMU_MISSING = 29,
	/* Neither the kernel nor the library's table knows how the PMU's events are coded. */
	HP_STATUS_PMU_UNKNOWN = 30,
	/* The kernel refused an event. */
	HP_STATUS_PMU_REFUSED = 31,
};

/* What failed, on what, and why. */
typedef struct hp_failure {
	/* The verb, system call or file, with the step where there are several: `ibv_modify_qp(RTR)`. */
	char operation[64];
	/* The device, port, node or path concerned. */
	char object[64];
	/* The errno of the operation, 0 when it has none. */
	int32_t errno_value;
	/* The work completion status as verbs counts it (12: transport retry exceeded), 0 when no completion failed. */
	uint32_t completion_status;
	/* The code that a library loaded at run time returned, 0 when none did. */
	int32_t library_code;
	/* One line for people. */
	char text[256];
} hp_failure;

/* A number that may be unknown. */
typedef struct hp_optional_u64 {
	/* Meaningless while `present` is 0. */
	uint64_t value;
	/* 1 when the value was read. */
	uint32_t present;
	uint32_t reserved;
} hp_optional_u64;

/* A PCIe link as `current_link_speed` and `current_link_width` show it. */
typedef struct hp_link_reading {
	/* Million transfers per second and lane (16000: PCIe 4.0). */
	hp_optional_u64 speed_mts;
	/* Lanes. */
	hp_optional_u64 width_lanes;
} hp_link_reading;

/* One hop's link, before the probe (idle links downshift, so this alone is no evidence) and with traffic in flight. */
typedef struct hp_hop_reading {
	hp_link_reading before;
	hp_link_reading during;
} hp_hop_reading;

/* Nanoseconds; percentiles are nearest-rank over every sample. */
typedef struct hp_latency_summary {
	/* Samples taken, warm-up not counted; the other fields are meaningless when it is 0. */
	uint64_t count;
	uint64_t min_ns;
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
} hp_latency_summary;

/* Sustained throughput between two completions with the window full in between. */
typedef struct hp_throughput {
	/* Payload bytes completed in `duration_ns`. */
	uint64_t bytes;
	/* 0: not measured. */
	uint64_t duration_ns;
	/* Connections used, and writes in flight on each, after clipping to the device's limits. */
	uint32_t connections;
	uint32_t window;
} hp_throughput;

/* Use base pages even when huge pages are free. */
#define HP_FLAG_BASE_PAGES 1u

/* Where the pages of a region come from. */
typedef uint32_t hp_page_kind;
enum {
	/* Pages of the system's base size. */
	HP_PAGE_KIND_BASE = 0,
	/* 2 MiB pages of the node's pool. */
	HP_PAGE_KIND_HUGE_2MIB = 1,
};

/* What the tool check found. */
typedef uint32_t hp_tool_check;
enum {
	/* The figure was not below `tool_check_below_bytes_per_second`: nothing to check. */
	HP_TOOL_CHECK_NOT_NEEDED = 0,
	/* Twice the connections did not scale: the path is the limit. */
	HP_TOOL_CHECK_PATH_LIMITED = 1,
	/* Twice the connections carried at least a tenth more: the tool was the limit, and `repeat` is the better figure. */
	HP_TOOL_CHECK_TOOL_LIMITED = 2,
	/* The device has no room for more connections. */
	HP_TOOL_CHECK_NOT_POSSIBLE = 3,
};

/* One loopback probe of one (RNIC port, memory node). The struct must be zeroed first; zero is refused where a range begins at 1. */
typedef struct hp_loopback_config {
	/* sizeof this struct. */
	uint32_t struct_size;
	/* Physical port, from 1. */
	uint32_t port;
	/* RDMA device name, as in /sys/class/infiniband. */
	char device[64];
	/* NUMA node of the memory under test, -1 to leave the choice to the kernel. */
	int32_t memory_node;
	/* NUMA node of the RNIC, for the measuring thread and the queue pairs' rings; -1 when unknown: neither is moved. */
	int32_t rnic_node;
	/* GID index to use, -1 to choose (InfiniBand ports need none). */
	int32_t gid_index;
	/* `HP_FLAG_…`. */
	uint32_t flags;
	/* Connections, 1 to `HP_CONNECTIONS_MAX`; clipped to the device's limits. */
	uint32_t connections;
	/* Writes in flight per connection, 1 to `HP_WINDOW_MAX`; clipped to the device's limits. */
	uint32_t window;
	/* Payload of one large write, 2 to `HP_MESSAGE_BYTES_MAX`. The paper: 128 KiB at 200 Gb/s, scaled with the line rate. */
	uint32_t message_bytes;
	/* 1-byte writes to measure, 1 to `HP_LATENCY_SAMPLES_MAX`. */
	uint32_t small_samples;
	/* Large writes to measure one at a time, for the paper's figure; 1 to `HP_LATENCY_SAMPLES_MAX`. */
	uint32_t large_samples;
	/* Writes that precede each measurement and are discarded. */
	uint32_t warmup_writes;
	/* Bytes of the read region and of the write region, each `message_bytes` to `HP_REGION_BYTES_MAX`; large writes walk through them. */
	uint64_t region_bytes;
	/* Time after which a latency measurement ends early, with the samples it has (at least one). */
	uint64_t latency_budget_ns;
	/* Time after which the sustained measurement ends, once two full windows have completed: a slow device shows no figure in less. */
	uint64_t bandwidth_budget_ns;
	/* Bytes after which the sustained measurement ends in any case. */
	uint64_t bandwidth_bytes_max;
	/* Below this figure the sustained measurement is repeated with twice the connections; 0: never. */
	uint64_t tool_check_below_bytes_per_second;
	/* A posted write that has not completed after this time is lost. The transport itself gives up after about 2 s. */
	uint64_t completion_timeout_ns;
	/* After a failed write: time for the port or the device to say that it was them, which they do a little later; 0: none. */
	uint64_t settle_ns;
	/* The whole call ends after this time. */
	uint64_t deadline_ns;
	/* Entries used of `hops`. */
	uint32_t hop_count;
	uint32_t reserved;
	/* PCI device directories in sysfs whose link is read before and during the probe. */
	char hops[16][256];
} hp_loopback_config;

/* What one loopback probe measured. On a failure the fields that were reached before it are filled; figures only count with `ok`. */
typedef struct hp_loopback_result {
	/* sizeof this struct, set by the caller. */
	uint32_t struct_size;
	/* The same as the call's return value. */
	hp_status status;
	hp_failure failure;
	/* 1-byte writes, one at a time, signalled, not inline: post to completion. */
	hp_latency_summary small;
	/* Large writes, the same way. */
	hp_latency_summary large;
	/* The paper's figure: message size over the difference of the two medians. Absent when the difference is not positive. */
	hp_optional_u64 paper_bytes_per_second;
	/* The figure that verdicts use. */
	hp_throughput sustained;
	/* The tool check's repetition. */
	hp_throughput repeat;
	hp_tool_check tool_check;
	/* GIDs tried; more than 1 means that the first choice did not connect or did not carry. */
	uint32_t gid_attempts;
	/* GID index used; absent when LIDs were. */
	hp_optional_u64 gid_index;
	/* Median and 99th percentile of an empty measurement: two readings of the clock with nothing between them. */
	uint64_t self_noise_p50_ns;
	uint64_t self_noise_p99_ns;
	/* Path MTU in bytes: the port's active one. */
	uint32_t mtu_bytes;
	hp_page_kind page_kind;
	/* 1 when every page was found on `memory_node`; 0 when no node was asked for, or the kernel cannot tell (no NUMA). */
	uint32_t placement_verified;
	/* 1 when the measuring thread stayed on the CPUs of `rnic_node`. */
	uint32_t thread_on_rnic_node;
	/* Port state as verbs counts it (4: ACTIVE). */
	hp_optional_u64 port_state_before;
	hp_optional_u64 port_state_after;
	/* `port_xmit_data` and `port_rcv_data` in bytes; evidence only, some firmware does not count loopback. */
	hp_optional_u64 port_sent_bytes_before;
	hp_optional_u64 port_sent_bytes_after;
	hp_optional_u64 port_received_bytes_before;
	hp_optional_u64 port_received_bytes_after;
	/* Time of the whole call. */
	uint64_t duration_ns;
	/* Latency samples that fit the caller's buffer. */
	uint64_t samples_stored;
	hp_hop_reading hops[16];
} hp_loopback_result;

/* The outcome of a call that returns nothing else. */
typedef struct hp_outcome {
	/* sizeof this struct, set by the caller. */
	uint32_t struct_size;
	/* The same as the call's return value. */
	hp_status status;
	hp_failure failure;
} hp_outcome;

/* What a counter's file had to say. */
typedef uint32_t hp_counter_state;
enum {
	/* It could not be read; `errno_value` says why. */
	HP_COUNTER_STATE_ABSENT = 0,
	/* One unsigned decimal number, in `value`. */
	HP_COUNTER_STATE_NUMBER = 1,
	/* Something else ("N/A (no PMA)", "4: ACTIVE"), whose beginning is in `text`. */
	HP_COUNTER_STATE_TEXT = 2,
};

/* One reading of one counter file. */
typedef struct hp_counter_value {
	/* Meaningless unless `state` is `number`. */
	uint64_t value;
	hp_counter_state state;
	/* 0 unless `state` is `absent`. */
	int32_t errno_value;
	/* Without surrounding blanks; empty unless `state` is `text`. */
	char text[48];
} hp_counter_value;

/* Files that are kept open and read together. */
typedef struct hp_counters hp_counters;

/* One reading of a netdev's statistics; the values and names themselves are lent by `hp_ethtool_values` and `hp_ethtool_names`. */
typedef struct hp_ethtool_reading {
	/* sizeof this struct, set by the caller. */
	uint32_t struct_size;
	/* The same as the call's return value. */
	hp_status status;
	hp_failure failure;
	/* Name of the kernel driver. */
	char driver[64];
	/* Statistics read. */
	uint64_t count;
	/* Rises from 1 whenever the names were read anew: values of two generations must not be compared. */
	uint64_t generation;
} hp_ethtool_reading;

/* One netdev whose statistics are read. */
typedef struct hp_ethtool hp_ethtool;

/* One figure of NVML. */
typedef struct hp_nvml_value {
	/* Meaningless unless `code` is 0. */
	uint64_t value;
	/* nvmlReturn_t of the call that should have given it; 13 (FUNCTION_NOT_FOUND) when this library does not have that call. */
	int32_t code;
	uint32_t reserved;
} hp_nvml_value;

/* One reading of one GPU. */
typedef struct hp_nvml_reading {
	/* sizeof this struct, set by the caller. */
	uint32_t struct_size;
	/* The same as the call's return value: `ok` when the library knows the device, whatever its figures. */
	hp_status status;
	hp_failure failure;
	/* Share of the last sample period in which a kernel ran. */
	hp_nvml_value utilization_percent;
	/* As the GPU sees it, over 20 ms, for which the call waits. */
	hp_nvml_value pcie_sent_bytes_per_second;
	hp_nvml_value pcie_received_bytes_per_second;
	/* Processes with a context. */
	hp_nvml_value compute_processes;
	hp_nvml_value graphics_processes;
	/* nvmlComputeMode_t: 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process. */
	hp_nvml_value compute_mode;
	/* 1 when the device is divided. */
	hp_nvml_value mig_mode;
} hp_nvml_reading;

/* NVIDIA's management library, loaded. */
typedef struct hp_nvml hp_nvml;

/* What a group of uncore PMUs counts. */
typedef uint32_t hp_uncore_kind;
enum {
	/* What a socket's memory channels read and write (uncore_imc*). */
	HP_UNCORE_KIND_MEMORY = 0,
	/* What a socket sends to the others (uncore_upi*, uncore_qpi*). */
	HP_UNCORE_KIND_INTER_SOCKET = 1,
};

/* Where to look for uncore PMUs. The struct must be zeroed first. */
typedef struct hp_uncore_config {
	/* sizeof this struct. */
	uint32_t struct_size;
	hp_uncore_kind kind;
	/* As CPUID counts them; both 0: those of the CPU that runs this. */
	uint32_t cpu_family;
	uint32_t cpu_model;
	/* "/sys", or another tree of its shape. */
	char sysfs_root[256];
} hp_uncore_config;

/* Which way the bytes of an event go. */
typedef uint32_t hp_uncore_direction;
enum {
	HP_UNCORE_DIRECTION_READ = 0,
	HP_UNCORE_DIRECTION_WRITTEN = 1,
	HP_UNCORE_DIRECTION_SENT = 2,
};

/* One event on one PMU and CPU. */
typedef struct hp_uncore_counter {
	char pmu[64];
	char event[64];
	/* Where the encoding comes from. */
	char source[256];
	hp_uncore_direction direction;
	/* The CPU of the PMU's cpumask that counts, and its socket (physical package). */
	uint32_t cpu;
	uint32_t socket;
	/* What perf_event_open gets. */
	uint32_t pmu_type;
	uint64_t config;
	uint64_t config1;
	uint64_t config2;
	/* Count times numerator over denominator is bytes. */
	uint64_t bytes_numerator;
	uint64_t bytes_denominator;
} hp_uncore_counter;

/* Bytes of one socket since its PMUs were opened. What another user's events kept from counting since the last reading is absent. */
typedef struct hp_uncore_socket {
	uint32_t socket;
	uint32_t reserved;
	hp_optional_u64 read_bytes;
	hp_optional_u64 written_bytes;
	hp_optional_u64 sent_bytes;
} hp_uncore_socket;

/* A group of uncore PMUs. */
typedef struct hp_uncore hp_uncore;

/* What the library was built as; compared with the caller's own view when the program starts. */
typedef struct hp_description {
	uint32_t struct_size;
	uint32_t abi_version;
	uint32_t failure_size;
	uint32_t loopback_config_size;
	uint32_t loopback_result_size;
	uint32_t counter_value_size;
	uint32_t ethtool_reading_size;
	uint32_t nvml_reading_size;
	uint32_t uncore_config_size;
	uint32_t uncore_counter_size;
	uint32_t uncore_socket_size;
	uint32_t status_count;
	/* Version of the Zig compiler. */
	char zig_version[64];
	/* Zig's optimisation mode. */
	char optimize_mode[64];
} hp_description;

/* A flag in memory of its own that ends running calls. Safe to trigger from any thread, any number of times. */
typedef struct hp_cancel hp_cancel;

/* HP_ABI_VERSION of the library. Never changes its own shape. */
uint32_t hp_abi_version(void);

/* Fills `description`, whose `struct_size` the caller has set. */
hp_status hp_abi_describe(hp_description *description);

/* A new cancel token, NULL without memory. The caller destroys it, after every call that uses it has returned. */
hp_cancel *hp_cancel_create(void);

/* Ends the calls that use the token, now and later. */
void hp_cancel_trigger(hp_cancel *cancel);

/* NULL is allowed. */
void hp_cancel_destroy(hp_cancel *cancel);

/* Runs one loopback probe on the calling thread. `cancel` may be NULL; `small_ns` (may be NULL) receives up to `small_ns_capacity` samples of the 1-byte writes, in the order taken. */
hp_status hp_loopback_run(const hp_loopback_config *config, hp_cancel *cancel, uint64_t *small_ns, uint64_t small_ns_capacity, hp_loopback_result *result);

/* A set of `count` (1 to HP_COUNTER_FILES_MAX) files, whose terminated paths follow each other in `paths`; NULL without memory. They are opened by the first reading. */
hp_counters *hp_counters_create(const char *paths, uint64_t paths_bytes, uint64_t count);

/* Reads every file once, into as many `values` as there are files. A stale file (its device went, or came back) is opened anew. */
void hp_counters_read(hp_counters *counters, hp_counter_value *values);

/* NULL is allowed. */
void hp_counters_destroy(hp_counters *counters);

/* A reader of the netdev `name` (terminated, at most 15 bytes) of the calling thread's network namespace; NULL without memory. The first reading looks for it. */
hp_ethtool *hp_ethtool_create(const char *name);

/* Reads all statistics. A netdev that is not there is HP_STATUS_DEVICE_NOT_FOUND until it is. */
hp_status hp_ethtool_read(hp_ethtool *ethtool, hp_ethtool_reading *reading);

/* The values of the last reading, valid until the next. */
const uint64_t *hp_ethtool_values(const hp_ethtool *ethtool);

/* Their names, HP_STATISTIC_NAME_BYTES each, valid until the next reading. */
const char *hp_ethtool_names(const hp_ethtool *ethtool);

/* NULL is allowed. */
void hp_ethtool_destroy(hp_ethtool *ethtool);

/* Loads and initialises NVML; `library` is a name for the dynamic loader. NULL with the reason in `outcome`. */
hp_nvml *hp_nvml_open(const char *library, hp_outcome *outcome);

/* The calls that this library does not have, separated by spaces. */
const char *hp_nvml_missing(const hp_nvml *nvml);

/* Reads the GPU at the PCI address `pci`. May run on several threads at once. */
hp_status hp_nvml_read(const hp_nvml *nvml, const char *pci, hp_nvml_reading *reading);

/* Shuts the library down and initialises it again. No reading may be running. */
hp_status hp_nvml_reinit(hp_nvml *nvml, hp_outcome *outcome);

/* Shuts the library down and unloads it. No reading may be running. NULL is allowed. */
void hp_nvml_close(hp_nvml *nvml);

/* Finds the PMUs of a kind and the codes of their events, by reading files alone. NULL with the reason in `outcome`. */
hp_uncore *hp_uncore_discover(const hp_uncore_config *config, hp_outcome *outcome);

/* Copies up to `capacity` of the events found, and returns how many there are. */
uint64_t hp_uncore_counters(const hp_uncore *uncore, hp_uncore_counter *counters, uint64_t capacity);

/* Opens all events found; they count from then on. On failure none is open. */
hp_status hp_uncore_open(hp_uncore *uncore, hp_outcome *outcome);

/* Reads every event once, into up to `capacity` sockets, ascending; returns how many sockets there are. */
uint64_t hp_uncore_read(hp_uncore *uncore, hp_uncore_socket *sockets, uint64_t capacity);

/* NULL is allowed. */
void hp_uncore_close(hp_uncore *uncore);

#ifdef __cplusplus
}
#endif

#endif
