// SPDX-License-Identifier: Apache-2.0
#include "api/run_io.h"

#include "util/failure.h"

namespace mdist {

RunIo read_io(const mdist_run_io_t *io, IoUse use) {
    if (io == nullptr) return {};
    const mdist_run_io_t known = read_options(io, "io");
    need_zero(known.flags, "io.flags");
    if (use == IoUse::kNoTimeout) need_zero(known.timeout_ns, "io.timeout_ns, of an update,");
    if (use != IoUse::kLater)
        need_array(known.results, known.result_count, "io.results");
    else if (known.results != nullptr)
        throw invalid("io.results is set, but mdist_run_end gives the results; set it to NULL");
    return {values_of(known.arguments, known.argument_count, "io.arguments"),
            std::vector<ValuePointer>(known.result_count), known.results, known.timeout_ns};
}

} // namespace mdist
