// SPDX-License-Identifier: Apache-2.0
#include "strategy/gradients/gradients.h"

#include "api/replica_guard.h"
#include "strategy/variables/variable.h"
#include "util/dtype.h"
#include "util/text.h"

#include <mdist/gradients.h>

#include <cmath>

using namespace mdist;

namespace {

constexpr uint32_t kFlags = MDIST_GRADIENTS_ZERO_MISSING | MDIST_GRADIENTS_ZERO_NONFINITE | MDIST_GRADIENTS_NO_NORM;
constexpr std::size_t kBucketBytes = 4 << 20;

GradientOptions options_of(const mdist_gradients_options_t *options) {
    const mdist_gradients_options_t known = read_options(options, "options");
    need_zero(static_cast<uint32_t>(known.reserved), "options.reserved");
    need_zero(known.flags & ~kFlags, "options.flags without those of mdist_gradients_flags_t");
    if (known.op != 0 && known.op != MDIST_SUM && known.op != MDIST_MEAN)
        throw invalid(text("options.op is ", known.op, "; use MDIST_SUM (1), MDIST_MEAN (2) or 0"));
    if (!std::isfinite(known.clip_norm) || known.clip_norm < 0)
        throw invalid(
            text("options.clip_norm is ", known.clip_norm, "; it must be a positive number, or 0 to disable clipping"));
    if ((known.flags & MDIST_GRADIENTS_NO_NORM) != 0 &&
        (known.clip_norm != 0 || (known.flags & MDIST_GRADIENTS_ZERO_NONFINITE) != 0))
        throw invalid(
            "options.flags has MDIST_GRADIENTS_NO_NORM, but clip_norm and MDIST_GRADIENTS_ZERO_NONFINITE "
            "need the norm");
    GradientOptions out;
    out.bucket_bytes = known.bucket_bytes == 0 ? kBucketBytes : known.bucket_bytes;
    out.op = known.op == 0 ? MDIST_SUM : known.op;
    out.clip_norm = known.clip_norm;
    out.zero_missing = (known.flags & MDIST_GRADIENTS_ZERO_MISSING) != 0;
    out.zero_nonfinite = (known.flags & MDIST_GRADIENTS_ZERO_NONFINITE) != 0;
    out.norm = (known.flags & MDIST_GRADIENTS_NO_NORM) == 0;
    return out;
}

GradientSpec spec_of(const VariableStore &variables, const mdist_tensor_t &like, size_t index) {
    const std::string what = text("like[", index, "]");
    GradientSpec spec;
    spec.shape = checked_shape(like, what.c_str());
    spec.dtype = like.dtype;
    if (dtype_is_integer(like.dtype))
        throw invalid(text(what, " is ", dtype_name(like.dtype), "; gradients have floating-point types"));
    uint32_t local = 0;
    if (const auto variable = like.data == nullptr ? nullptr : variables.find(like.data, local))
        spec.name = variable->spec().name;
    return spec;
}

} // namespace

mdist_status_t mdist_gradients_create(mdist_strategy_t *strategy, const mdist_tensor_t *like, size_t count,
                                      mdist_gradients_t **out, const mdist_gradients_options_t *options,
                                      mdist_error_t **error) {
    return guard("mdist_gradients_create", error, [&] {
        const auto pinned = pin(strategy);
        need(like, "like");
        need(out, "out");
        if (count == 0) throw invalid("count is 0; a model has at least one gradient");
        const GradientOptions known = options_of(options);
        std::vector<GradientSpec> specs;
        for (size_t i = 0; i < count; ++i) specs.push_back(spec_of(*pinned->variables(), like[i], i));
        *out = publish<mdist_gradients_t>(std::make_shared<Gradients>(pinned.shared(), std::move(specs), known));
    });
}

mdist_status_t mdist_gradients_tensor(const mdist_gradients_t *gradients, uint32_t local_replica, size_t index,
                                      mdist_tensor_t *out, mdist_error_t **error) {
    return guard("mdist_gradients_tensor", error, [&] {
        const auto self = pin(gradients);
        need(out, "out");
        const uint32_t replicas = self->job().local_replica_count();
        if (local_replica >= replicas)
            throw invalid(text("local_replica is ", local_replica, "; this strategy has ", replicas));
        self->check_index(index);
        *out = self->tensor(local_replica, index).describe();
    });
}

mdist_status_t mdist_gradients_accumulate(mdist_replica_t *replica, mdist_gradients_t *gradients,
                                          mdist_error_t **error) {
    return replica_guard("mdist_gradients_accumulate", replica, true, error, [&](Replica &self) {
        const auto pinned = pin(gradients);
        self.require_concurrent("mdist_gradients_accumulate");
        pinned->accumulate(self);
    });
}

mdist_status_t mdist_gradients_ready(mdist_replica_t *replica, mdist_gradients_t *gradients, size_t index,
                                     mdist_error_t **error) {
    return replica_guard("mdist_gradients_ready", replica, true, error, [&](Replica &self) {
        const auto pinned = pin(gradients);
        self.require_concurrent("mdist_gradients_ready");
        pinned->ready(self, index);
    });
}

mdist_status_t mdist_gradients_wait(mdist_replica_t *replica, mdist_gradients_t *gradients, double *norm,
                                    int32_t *finite, mdist_error_t **error) {
    return replica_guard("mdist_gradients_wait", replica, true, error, [&](Replica &self) {
        const auto pinned = pin(gradients);
        self.require_concurrent("mdist_gradients_wait");
        const Gradients::Outcome outcome = pinned->wait(self);
        if (norm != nullptr) *norm = outcome.norm;
        if (finite != nullptr) *finite = outcome.finite ? 1 : 0;
    });
}

void mdist_gradients_destroy(mdist_gradients_t *gradients) {
    give_up(gradients);
}
