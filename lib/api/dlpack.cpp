// SPDX-License-Identifier: Apache-2.0
#include "api/guard.h"

#include <mdist/dlpack.h>

#include "util/failure.h"

using namespace mdist;

mdist_status_t mdist_value_from_dlpack(struct DLManagedTensor *, mdist_value_t **, mdist_error_t **error) {
    return guard("mdist_value_from_dlpack", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_value_from_dlpack_versioned(struct DLManagedTensorVersioned *, mdist_value_t **,
                                                 mdist_error_t **error) {
    return guard("mdist_value_from_dlpack_versioned", error,
                 [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_value_to_dlpack(const mdist_value_t *, size_t, struct DLManagedTensor **, mdist_error_t **error) {
    return guard("mdist_value_to_dlpack", error, [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
mdist_status_t mdist_value_to_dlpack_versioned(const mdist_value_t *, size_t, struct DLManagedTensorVersioned **,
                                               mdist_error_t **error) {
    return guard("mdist_value_to_dlpack_versioned", error,
                 [] { throw Failure(MDIST_ERR_UNSUPPORTED, "not built yet"); });
}
