// SPDX-License-Identifier: Apache-2.0
#include "api/guard.h"

#include <mdist/memory.h>

#include "util/failure.h"

using namespace mdist;

mdist_status_t mdist_alloc(mdist_strategy_t *, uint32_t, size_t, void **, mdist_error_t **error) {
    return guard("mdist_alloc", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
void mdist_free(void *) {}
