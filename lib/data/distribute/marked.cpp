// SPDX-License-Identifier: Apache-2.0
// Replaces MDIST_ONE_PER_WORKER shards. The program put them where it wants them, but could not number them.
#include "data/distribute/at_least.h"
#include "data/distribute/auto_shard.h"
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

/// With too few elements, some workers would get one and others none. Then all workers fail, here.
Source shard(const Source &source, const InputLayout &layout) {
    const auto too_few = [what = source->traits().text, workers = layout.workers()](uint64_t elements) {
        return Failure(MDIST_ERR_FAILED_PRECONDITION,
                       text("policy MARKED shards ", what, ", which has ", elements,
                            elements == 1 ? " element" : " elements", ", over ", workers,
                            " workers. Give the dataset at least one element per worker, or use policy DATA or OFF"))
            .reason("too_few_elements");
    };
    return shard_of(with_enough(source, least_to_shard(layout), too_few), layout);
}

} // namespace

std::shared_ptr<const Dataset> replace_placeholders(const std::shared_ptr<const Dataset> &source,
                                                    const InputLayout &layout) {
    Rewritten replaced;
    return rewritten(source, replaced, [&](const Source &made) {
        return made->traits().role == Traits::Role::kShardPlaceholder ? shard(made->sources()[0], layout) : made;
    });
}

} // namespace mdist
