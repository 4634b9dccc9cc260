// SPDX-License-Identifier: Apache-2.0
#include <mdist/status.h>

const char *mdist_status_name(mdist_status_t status) {
#define NAME(constant) \
    case constant:     \
        return #constant
    switch (static_cast<int>(status)) {
        NAME(MDIST_OK);
        NAME(MDIST_END);
        NAME(MDIST_ERR_INVALID_ARGUMENT);
        NAME(MDIST_ERR_BAD_HANDLE);
        NAME(MDIST_ERR_WRONG_CONTEXT);
        NAME(MDIST_ERR_FAILED_PRECONDITION);
        NAME(MDIST_ERR_CONFIG);
        NAME(MDIST_ERR_NOT_FOUND);
        NAME(MDIST_ERR_UNSUPPORTED);
        NAME(MDIST_ERR_OUT_OF_MEMORY);
        NAME(MDIST_ERR_RESOURCE);
        NAME(MDIST_ERR_IO);
        NAME(MDIST_ERR_DATA_LOSS);
        NAME(MDIST_ERR_MISMATCH);
        NAME(MDIST_ERR_TIMEOUT);
        NAME(MDIST_ERR_PEER_LOST);
        NAME(MDIST_ERR_ABORTED);
        NAME(MDIST_ERR_UNAUTHENTICATED);
        NAME(MDIST_ERR_CALLBACK);
        NAME(MDIST_ERR_DEVICE);
        NAME(MDIST_ERR_INTERNAL);
        default:
            return "MDIST_ERR_?";
    }
#undef NAME
}
