/* Stands in for libibverbs.so.1 when programs are linked; never shipped, never loaded. */
#define STUB(name) \
	void name(void) \
	{ \
	}

STUB(ibv_ack_async_event)
STUB(ibv_alloc_pd)
STUB(ibv_close_device)
STUB(ibv_create_cq)
STUB(ibv_create_qp)
STUB(ibv_dealloc_pd)
STUB(ibv_dereg_mr)
STUB(ibv_destroy_cq)
STUB(ibv_destroy_qp)
STUB(ibv_free_device_list)
STUB(ibv_get_async_event)
STUB(ibv_get_device_list)
STUB(ibv_modify_qp)
STUB(ibv_open_device)
STUB(ibv_query_device)
STUB(ibv_query_port)
STUB(ibv_reg_mr_iova2)
STUB(_ibv_query_gid_table)
