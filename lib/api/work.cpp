// SPDX-License-Identifier: Apache-2.0
#include "api/guard.h"

#include <mdist/work.h>

#include "util/failure.h"

using namespace mdist;

mdist_status_t mdist_all_reduce_start(mdist_replica_t *, mdist_reduce_op_t, const mdist_buffer_t *,
                                      const mdist_buffer_t *, size_t, mdist_work_t **, const mdist_call_options_t *,
                                      mdist_error_t **error) {
    return guard("mdist_all_reduce_start", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_broadcast_start(mdist_replica_t *, uint32_t, const mdist_buffer_t *, size_t, mdist_work_t **,
                                     const mdist_call_options_t *, mdist_error_t **error) {
    return guard("mdist_broadcast_start", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_all_gather_start(mdist_replica_t *, const mdist_buffer_t *, const mdist_buffer_t *, size_t,
                                      mdist_work_t **, const mdist_call_options_t *, mdist_error_t **error) {
    return guard("mdist_all_gather_start", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_reduce_scatter_start(mdist_replica_t *, mdist_reduce_op_t, const mdist_buffer_t *,
                                          const mdist_buffer_t *, size_t, mdist_work_t **, const mdist_call_options_t *,
                                          mdist_error_t **error) {
    return guard("mdist_reduce_scatter_start", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_all_to_all_start(mdist_replica_t *, const mdist_buffer_t *, const mdist_buffer_t *, size_t,
                                      mdist_work_t **, const mdist_call_options_t *, mdist_error_t **error) {
    return guard("mdist_all_to_all_start", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_barrier_start(mdist_replica_t *, mdist_work_t **, const mdist_call_options_t *,
                                   mdist_error_t **error) {
    return guard("mdist_barrier_start", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_work_test(mdist_work_t *, int32_t *, mdist_error_t **error) {
    return guard("mdist_work_test", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_work_wait(mdist_work_t *, uint64_t, int32_t *, mdist_error_t **error) {
    return guard("mdist_work_wait", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
void mdist_work_destroy(mdist_work_t *) {}
