// SPDX-License-Identifier: Apache-2.0
#include <mdist/gpu.h>

#include "api/check.h"
#include "api/guard.h"
#include "device/gpu/description.h"
#include "device/gpu/loader.h"

using namespace mdist;

mdist_status_t mdist_gpu_count(uint32_t *count, char *text, size_t capacity, size_t *needed, mdist_error_t **error) {
    return guard("mdist_gpu_count", error, [&] {
        need(count, "count");
        const auto gpus = static_cast<uint32_t>(gpu_support().count);
        if (text != nullptr || needed != nullptr) copy_text(describe_gpus(), text, capacity, needed);
        *count = gpus;
    });
}
