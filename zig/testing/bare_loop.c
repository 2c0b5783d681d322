/* The plainest loop that verbs allow, the yardstick for the probe's own: RDMA WRITEs from one queue pair to another on the
   same port, one at a time (median of post to completion) or with a window in flight (sustained rate).
   Written against infiniband/verbs.h alone, so that it shares no code and no layout with the probe. Test-only. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 1, WARMUP = 100, WAIT_SECONDS = 60 };

static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_mr *source_mr, *target_mr;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	if (!list)
		die("ibv_get_device_list");
	for (struct ibv_device **device = list; *device; device++) {
		if (strcmp((*device)->name, name) == 0)
			return ibv_open_device(*device);
	}
	return NULL;
}

static struct ibv_mr *pinned(struct ibv_pd *pd, size_t bytes, int access)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	/* What the ibv_reg_mr macro calls for an optional flag. */
	struct ibv_mr *mr = ibv_reg_mr_iova2(pd, memory, bytes, (uintptr_t)memory, (unsigned int)access | IBV_ACCESS_RELAXED_ORDERING);
	if (!mr)
		die("ibv_reg_mr");
	return mr;
}

static struct ibv_qp *new_qp(struct ibv_pd *pd, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = depth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	if (!qp)
		die("ibv_create_qp");
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("ibv_modify_qp(INIT)");
	return qp;
}

static union ibv_gid gid_at(int index)
{
	struct ibv_gid_entry entries[256];
	ssize_t count = ibv_query_gid_table(context, entries, 256, 0);
	for (ssize_t i = 0; i < count; i++) {
		if (entries[i].port_num == PORT && entries[i].gid_index == (uint32_t)index)
			return entries[i].gid;
	}
	fprintf(stderr, "bare_loop: GID index %d is empty\n", index);
	exit(1);
}

static void connect_qp(struct ibv_qp *qp, uint32_t peer, int gid_index)
{
	struct ibv_port_attr port;
	if (ibv_query_port(context, PORT, &port))
		die("ibv_query_port");
	union ibv_gid gid = gid_at(gid_index);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port.active_mtu,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = PORT, .dlid = port.lid,
			     .grh = { .dgid = gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 64 } },
	};
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("ibv_modify_qp(RTR)");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1 };
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					     IBV_QP_MAX_QP_RD_ATOMIC))
		die("ibv_modify_qp(RTS)");
}

static void post_write(struct ibv_qp *qp, uint32_t bytes)
{
	struct ibv_sge sge = { .addr = (uintptr_t)source_mr->addr, .length = bytes, .lkey = source_mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)target_mr->addr, .rkey = target_mr->rkey },
	};
	struct ibv_send_wr *bad;
	if (ibv_post_send(qp, &wr, &bad))
		die("ibv_post_send");
}

static void wait_one(void)
{
	struct ibv_wc wc;
	int polled;
	while ((polled = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	if (polled < 0 || wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "bare_loop: ibv_poll_cq gave %d, status %d\n", polled, polled < 0 ? 0 : (int)wc.status);
		exit(1);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void measure_latency(struct ibv_qp *qp, uint32_t bytes, uint32_t iterations)
{
	uint64_t *samples = calloc(iterations, sizeof(*samples));
	if (!samples)
		die("calloc");
	for (uint32_t i = 0; i < WARMUP + iterations; i++) {
		uint64_t begin = now_ns();
		post_write(qp, bytes);
		wait_one();
		uint64_t end = now_ns();
		if (i >= WARMUP)
			samples[i - WARMUP] = end - begin;
	}
	qsort(samples, iterations, sizeof(*samples), by_value);
	printf("latency_ns_p50 %llu\n", (unsigned long long)samples[(iterations + 1) / 2 - 1]);
	free(samples);
}

static void measure_rate(struct ibv_qp *qp, uint32_t bytes, uint32_t iterations, uint32_t depth)
{
	uint32_t posted = 0, completed = 0;
	uint64_t begin = now_ns();
	while (completed < iterations) {
		while (posted < iterations && posted - completed < depth) {
			post_write(qp, bytes);
			posted++;
		}
		wait_one();
		completed++;
	}
	uint64_t duration = now_ns() - begin;
	printf("bytes_per_second %.0f\n", (double)bytes * iterations * 1e9 / (double)duration);
}

int main(int argc, char **argv)
{
	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: bare_loop DEVICE GID_INDEX BYTES ITERATIONS [DEPTH]\n");
		return 2;
	}
	int gid_index = atoi(argv[2]);
	uint32_t bytes = (uint32_t)atol(argv[3]), iterations = (uint32_t)atol(argv[4]);
	uint32_t depth = argc == 6 ? (uint32_t)atol(argv[5]) : 1;
	if (bytes == 0 || iterations == 0 || depth == 0) {
		fprintf(stderr, "bare_loop: BYTES, ITERATIONS and DEPTH must be at least 1\n");
		return 2;
	}
	alarm(WAIT_SECONDS);

	context = open_named(argv[1]);
	if (!context)
		die(argv[1]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	if (!pd)
		die("ibv_alloc_pd");
	source_mr = pinned(pd, bytes, IBV_ACCESS_LOCAL_WRITE);
	target_mr = pinned(pd, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	cq = ibv_create_cq(context, (int)depth, NULL, NULL, 0);
	if (!cq)
		die("ibv_create_cq");
	struct ibv_qp *source = new_qp(pd, depth), *target = new_qp(pd, 1);
	connect_qp(source, target->qp_num, gid_index);
	connect_qp(target, source->qp_num, gid_index);

	if (argc == 6)
		measure_rate(source, bytes, iterations, depth);
	else
		measure_latency(source, bytes, iterations);
	return 0;
}
