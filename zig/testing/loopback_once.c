/* One call of hp_loopback_run from C, its figures on standard output: what bare_loop and ib_write_bw are compared with.
   It also proves that the generated header is C. Test-only. */
#include "hostping.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hp_loopback_config config;
static hp_loopback_result result;

int main(int argc, char **argv)
{
	if (argc != 7) {
		fprintf(stderr, "usage: loopback_once DEVICE MEMORY_NODE RNIC_NODE BYTES WINDOW CONNECTIONS (node -1: any)\n");
		return 2;
	}
	config.struct_size = sizeof(config);
	config.port = 1;
	snprintf(config.device, sizeof(config.device), "%s", argv[1]);
	config.memory_node = atoi(argv[2]);
	config.rnic_node = atoi(argv[3]);
	config.gid_index = -1;
	config.message_bytes = (uint32_t)atol(argv[4]);
	config.region_bytes = config.message_bytes;
	config.window = (uint32_t)atol(argv[5]);
	config.connections = (uint32_t)atol(argv[6]);
	config.small_samples = 10000;
	config.large_samples = 200;
	config.warmup_writes = 100;
	config.latency_budget_ns = 1000000000u;
	config.bandwidth_budget_ns = 1000000000u;
	config.bandwidth_bytes_max = 1ull << 40;
	config.completion_timeout_ns = 4000000000u;
	config.settle_ns = 100000000u;
	config.deadline_ns = 20000000000u;
	result.struct_size = sizeof(result);

	hp_status status = hp_loopback_run(&config, NULL, NULL, 0, &result);
	if (status != HP_STATUS_OK) {
		fprintf(stderr, "status %u: %s\n", status, result.failure.text);
		return 1;
	}
	printf("latency_ns_p50 %llu\n", (unsigned long long)result.small.p50_ns);
	printf("latency_ns_p99 %llu\n", (unsigned long long)result.small.p99_ns);
	printf("bytes_per_second %.0f\n", (double)result.sustained.bytes * 1e9 / (double)result.sustained.duration_ns);
	if (result.paper_bytes_per_second.present)
		printf("paper_bytes_per_second %llu\n", (unsigned long long)result.paper_bytes_per_second.value);
	printf("self_noise_ns_p50 %llu\n", (unsigned long long)result.self_noise_p50_ns);
	printf("page_kind %u\n", result.page_kind);
	printf("placement_verified %u\n", result.placement_verified);
	printf("thread_on_rnic_node %u\n", result.thread_on_rnic_node);
	return 0;
}
