// SPDX-License-Identifier: Apache-2.0
#include "api/guard.h"

#include <mdist/step.h>

#include "util/failure.h"

using namespace mdist;

mdist_status_t mdist_run_begin(mdist_strategy_t *, mdist_value_t *const *, size_t, size_t, const mdist_call_options_t *,
                               mdist_error_t **error) {
    return guard("mdist_run_begin", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_run_end(mdist_strategy_t *, mdist_value_t **, size_t, mdist_error_t **error) {
    return guard("mdist_run_end", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_replica_enter(mdist_strategy_t *, uint32_t, mdist_replica_t **, mdist_error_t **error) {
    return guard("mdist_replica_enter", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_replica_exit(mdist_replica_t *, int32_t, mdist_error_t **error) {
    return guard("mdist_replica_exit", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_merge_begin(mdist_replica_t *, const mdist_tensor_t *, size_t, mdist_value_t **,
                                 const mdist_call_options_t *, mdist_error_t **error) {
    return guard("mdist_merge_begin", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_merge_end(mdist_replica_t *, int32_t, mdist_value_t *const *, mdist_tensor_t *, size_t,
                               mdist_error_t **error) {
    return guard("mdist_merge_end", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
