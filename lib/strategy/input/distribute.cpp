// SPDX-License-Identifier: Apache-2.0
#include "strategy/input/distribute.h"

#include "cluster/config.h"
#include "comm/workers/workers.h"
#include "data/distribute/placed.h"
#include "data/transforms.h"
#include "strategy/input/agreement.h"
#include "strategy/job/consensus.h"
#include "strategy/job/context.h"
#include "util/dtype.h"
#include "util/sizes.h"
#include "util/text.h"

#include <mdist/input.h>

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

int32_t policy_of(const Config &config) {
    const std::string_view policy = config.text("data.auto_shard_policy");
    if (policy == "file") return MDIST_SHARD_FILE;
    if (policy == "data") return MDIST_SHARD_DATA;
    if (policy == "marked") return MDIST_SHARD_MARKED;
    return policy == "off" ? MDIST_SHARD_OFF : MDIST_SHARD_AUTO;
}

/// Describes the components of elements without their lengths, which may differ.
std::string components_text(const Dataset &dataset) {
    std::string out = text("components ", dataset.component_count(), '\n');
    for (std::size_t i = 0; i < dataset.component_count(); ++i) {
        const Spec &spec = dataset.spec()[i];
        out += text("component ", i, " \"", dataset.paths()[i], "\" ", dtype_name(spec.dtype), " of rank ",
                    spec.shape.rank, '\n');
    }
    return out;
}

/// The replicas that this thread's values belong to.
InputLayout layout_of(const Job &job) {
    const View view = job.reach.view();
    if (view.workers == 1) return {Spans::even(1, view.replicas), 0};
    return {job.replicas.spans(), view.worker};
}

Contribution brought(Job &job, CallKind kind, FunctionRef<Contribution(const InputLayout &)> bring) {
    const InputLayout layout = layout_of(job);
    if (layout.workers() == 1) return bring(layout);
    require_input_place(job, kind);
    Contribution mine;
    Call call;
    call.kind = kind;
    alike_on_all_workers(job, call, [&] {
        mine = bring(layout);
        return mine.alike + components_text(*mine.parts.at(0));
    });
    return mine;
}

/// The GPU of each replica, -1 for none; empty if elements stay on the host.
std::vector<int32_t> gpus_of(const Job &job, const Contribution &mine, uint32_t replicas) {
    std::vector<int32_t> gpus;
    for (uint32_t replica = 0; mine.on_devices && replica < replicas; ++replica) {
        const Place place = job.reach.place(replica).place();
        gpus.push_back(place.on_host() ? -1 : place.index);
    }
    const bool any = std::any_of(gpus.begin(), gpus.end(), [](int32_t gpu) { return gpu >= 0; });
    return any ? gpus : std::vector<int32_t>();
}

/// The GPUs of the replicas that take turns in a part: the first, and every `stride`-th from there on.
std::vector<int32_t> every(const std::vector<int32_t> &gpus, std::size_t first, std::size_t stride) {
    std::vector<int32_t> some;
    for (std::size_t i = first; i < gpus.size(); i += stride) some.push_back(gpus[i]);
    return some;
}

/// Prepares the contribution, and distributes it once as a trial. Every error on one worker must show before all
/// workers have agreed.
Contribution checked(const Job &job, Contribution mine, uint32_t replicas) {
    place_and_prefetch(job, mine, replicas);
    make_dealt(mine.parts, Deal{.replicas = replicas});
    return mine;
}

} // namespace

Inputs::Inputs(const Config &config)
    : by_replica(config.text("data.order") == "replica"),
      on_devices(config.text("data.prefetch_on_device") == "true"),
      policy(policy_of(config)) {}

std::vector<int32_t> place_and_prefetch(const Job &job, Contribution &mine, uint32_t replicas) {
    std::vector<int32_t> gpus = gpus_of(job, mine, replicas);
    const std::size_t parts = mine.parts.size();
    for (std::size_t i = 0; i < parts; ++i) {
        auto &part = mine.parts[i];
        if (!gpus.empty()) part = make_placed(part, every(gpus, i, parts));
        if (mine.ahead != 0) part = make_prefetch(part, saturated_product(mine.ahead, replicas / parts));
    }
    return gpus;
}

std::shared_ptr<Dataset> dealt(Contribution mine, Deal deal) {
    deal.partial = !mine.whole_steps;
    deal.text = std::move(mine.text);
    deal.source = std::move(mine.source);
    deal.place = std::move(mine.place);
    return make_dealt(std::move(mine.parts), std::move(deal));
}

std::shared_ptr<Dataset> distribute(const std::shared_ptr<Job> &job, Inputs &inputs, CallKind kind,
                                    FunctionRef<Contribution(const InputLayout &)> bring) {
    require_cross_replica(*job, kind->name(), "Distribute before mdist_run, and pass elements as arguments");
    Contribution mine = job->comm.with_memory(kind->name(), [&] {
        return brought(*job, kind,
                       [&](const InputLayout &layout) { return checked(*job, bring(layout), layout.own().count()); });
    });
    const View view = job->reach.view();
    Deal deal;
    deal.replicas = view.replicas;
    deal.gpus = gpus_of(*job, mine, view.replicas);
    if (view.workers != 1 && !mine.common_knowledge)
        deal.agreement = [job, number = inputs.count++, iterators = std::make_shared<std::atomic<uint64_t>>(0)] {
            return std::make_shared<ElementAgreement>(job, number, (*iterators)++);
        };
    return dealt(std::move(mine), std::move(deal));
}

} // namespace mdist
