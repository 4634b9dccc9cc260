// SPDX-License-Identifier: Apache-2.0
// Replaces MDIST_ONE_PER_WORKER shards. The program put them where it wants them, but could not number them.
#include "data/distribute/at_least.h"
#include "data/distribute/auto_shard.h"
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <map>

namespace mdist {
namespace {

class PlaceholderReplacing {
  public:
    explicit PlaceholderReplacing(const InputLayout &layout) : layout_(layout) {}

    /// A dataset that is used twice stays one.
    Source replaced(const Source &at) {
        const auto known = replaced_.find(at.get());
        if (known != replaced_.end()) return known->second;
        Source made = over_others(at, [this](const Source &source) { return replaced(source); });
        if (at->traits().role == Traits::Role::kShardPlaceholder) made = shard(made->sources()[0]);
        return replaced_[at.get()] = made;
    }

  private:
    /// With too few elements, some workers would get one and others none. Then all workers fail, here.
    Source shard(const Source &source) const {
        const auto too_few = [what = source->traits().text, workers = layout_.workers()](uint64_t elements) {
            return Failure(
                       MDIST_ERR_FAILED_PRECONDITION,
                       text("policy MARKED shards ", what, ", which has ", elements,
                            elements == 1 ? " element" : " elements", ", over ", workers,
                            " workers. Give the dataset at least one element per worker, or use policy DATA or OFF"))
                .reason("too_few_elements");
        };
        return shard_of(with_enough(source, least_to_shard(layout_), too_few), layout_);
    }

    const InputLayout layout_;
    std::map<const Dataset *, Source> replaced_;
};

} // namespace

std::shared_ptr<const Dataset> replace_placeholders(const std::shared_ptr<const Dataset> &source,
                                                    const InputLayout &layout) {
    return PlaceholderReplacing(layout).replaced(source);
}

} // namespace mdist
