// SPDX-License-Identifier: Apache-2.0
#include "strategy/input/distribute.h"

#include "comm/workers.h"
#include "data/distribute/deal.h"
#include "data/distribute/placed.h"
#include "data/transforms.h"
#include "strategy/context.h"
#include "strategy/input/element_agreement.h"
#include "strategy/input/on_all_workers.h"
#include "strategy/together.h"
#include "util/dtype.h"
#include "util/saturate.h"
#include "util/text.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace mdist {
namespace {

/// What elements look like, but for their lengths: those may differ.
std::string components_text(const Dataset &dataset) {
    std::string out = text("components ", dataset.component_count(), '\n');
    for (std::size_t i = 0; i < dataset.component_count(); ++i) {
        const Spec &spec = dataset.spec()[i];
        out += text("component ", i, " \"", dataset.paths()[i], "\" ", dtype_name(spec.dtype), " of rank ",
                    spec.shape.rank, '\n');
    }
    return out;
}

Contribution brought(Strategy &strategy, CallKind kind, FunctionRef<Contribution(const Span &)> bring) {
    const Span span = strategy.span();
    if (span.workers == 1) return bring(span);
    require_input_place(strategy, kind);
    Contribution mine;
    Call call;
    call.kind = kind;
    const std::vector<std::string> all = on_all_workers(strategy, call, [&] {
        mine = bring(span);
        return mine.alike + components_text(*mine.parts.at(0));
    });
    require_same_texts(*strategy.other_workers(), all, "all workers distribute alike");
    return mine;
}

/// Each replica's, -1 for none; empty if elements stay on the host.
std::vector<int32_t> gpus_of(const Strategy &strategy, const Contribution &mine, const Span &span) {
    std::vector<int32_t> gpus;
    for (uint32_t replica = 0; mine.on_devices && replica < span.replicas; ++replica) {
        const Place place = strategy.place(replica).place();
        gpus.push_back(place.on_host() ? -1 : place.index);
    }
    const bool any = std::ranges::any_of(gpus, [](int32_t gpu) { return gpu >= 0; });
    return any ? gpus : std::vector<int32_t>();
}

/// Those of the replicas whose turns come in a part: the first, and every `stride`-th from there on.
std::vector<int32_t> every(const std::vector<int32_t> &gpus, std::size_t first, std::size_t stride) {
    std::vector<int32_t> some;
    for (std::size_t i = first; i < gpus.size(); i += stride) some.push_back(gpus[i]);
    return some;
}

/// Made ready, and dealt out once to see whether that can be: whatever is wrong on one worker has to come out before
/// all have agreed.
Contribution checked(const Strategy &strategy, Contribution mine, const Span &span) {
    const std::vector<int32_t> gpus = gpus_of(strategy, mine, span);
    const std::size_t parts = mine.parts.size();
    for (std::size_t i = 0; i < parts; ++i) {
        auto &part = mine.parts[i];
        if (!gpus.empty()) part = make_placed(part, every(gpus, i, parts));
        if (mine.ahead != 0) part = make_prefetch(part, saturated_product(mine.ahead, span.replicas / parts));
    }
    make_dealt(mine.parts, Deal{.replicas = span.replicas});
    return mine;
}

} // namespace

std::shared_ptr<Dataset> distribute(const std::shared_ptr<Strategy> &strategy, CallKind kind,
                                    FunctionRef<Contribution(const Span &)> bring) {
    require_cross_replica(*strategy, call_name(kind), "distribute before mdist_run, and pass elements as arguments");
    Contribution mine =
        brought(*strategy, kind, [&](const Span &span) { return checked(*strategy, bring(span), span); });
    const Span span = strategy->span();
    Deal deal;
    deal.replicas = span.replicas;
    deal.partial = !mine.whole_steps;
    deal.gpus = gpus_of(*strategy, mine, span);
    deal.text = std::move(mine.text);
    deal.source = std::move(mine.source);
    deal.place = std::move(mine.place);
    if (span.workers != 1 && !mine.common_knowledge)
        deal.agreement = [strategy, number = strategy->next_input(),
                          iterators = std::make_shared<std::atomic<uint64_t>>(0)] {
            return std::make_shared<ElementAgreement>(strategy, number, (*iterators)++);
        };
    return make_dealt(std::move(mine.parts), std::move(deal));
}

} // namespace mdist
