// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {

void check_component_count(std::size_t count, const char *what) {
    constexpr std::size_t kMost = 1024;
    if (count == 0 || count > kMost)
        throw invalid(text("a dataset of ", count, " ", what, "; 1 to ", kMost, " are possible"));
}

Transform::Transform(std::shared_ptr<const Dataset> source, std::vector<Spec> spec)
    : Dataset(std::move(spec)), source_(std::move(source)) {
    if (source_->replica_count() != 0)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "a distributed dataset cannot be transformed further; shuffle, batch and the like come before "
                      "mdist_distribute_dataset");
}

} // namespace mdist
