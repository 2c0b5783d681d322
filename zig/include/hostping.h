/* Generated from zig/src/abi.zig by `zig build header`; do not edit. */
#ifndef HOSTPING_H
#define HOSTPING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a type or a function below changes; the caller refuses a library with another number. */
#define HP_ABI_VERSION 2u

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

/* What the library was built as; compared with the caller's own view when the program starts. */
typedef struct hp_description {
	uint32_t struct_size;
	uint32_t abi_version;
	uint32_t failure_size;
	uint32_t loopback_config_size;
	uint32_t loopback_result_size;
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

#ifdef __cplusplus
}
#endif

#endif
