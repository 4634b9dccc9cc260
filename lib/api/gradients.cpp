// SPDX-License-Identifier: Apache-2.0
#include "strategy/gradients/gradients.h"

#include "api/replica_guard.h"
#include "strategy/variables/variable.h"
#include "util/dtype.h"
#include "util/text.h"

#include <mdist/gradients.h>

#include <algorithm>
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

GradientSpec spec_of(const VariableStore &variables, const mdist_tensor_t &like, size_t index, const char *array) {
    const std::string what = text(array, "[", index, "]");
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

/// Returns whether the round has ended.
bool end_round(Gradients &gradients, Replica &replica, double *norm, int32_t *finite, Gradients::Over over) {
    Gradients::Outcome outcome;
    if (!gradients.end(replica, outcome, over)) return false;
    if (norm != nullptr) *norm = outcome.norm;
    if (finite != nullptr) *finite = outcome.finite ? 1 : 0;
    return true;
}

void need_replica(const Gradients &gradients, uint32_t local) {
    const uint32_t replicas = gradients.job().replicas.local_count();
    if (local >= replicas) throw invalid(text("local_replica is ", local, "; this strategy has ", replicas));
    if (gradients.share_count() != replicas) throw of_failed_regroup("gradients", gradients.job().replicas);
}

/// "tensors[3]", the gradient 1 of local replica 1 if there are 2 gradients
std::string lent_name(size_t at) {
    return text("tensors[", at, "]");
}

/// Refuses arrays that share memory: their sums would be added up twice, or torn.
void check_apart(const Gradients &gradients, const mdist_tensor_t *tensors, size_t count) {
    std::vector<size_t> order;
    const auto begin = [&](size_t i) { return reinterpret_cast<uintptr_t>(tensors[i].data); };
    const auto bytes = [&](size_t i) { return gradients.plan().bytes_of(i % gradients.plan().count()); };
    for (size_t i = 0; i < count; ++i)
        if (tensors[i].data != nullptr && bytes(i) != 0) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return begin(a) < begin(b); });
    for (size_t i = 1; i < order.size(); ++i)
        if (begin(order[i - 1]) + bytes(order[i - 1]) > begin(order[i]))
            throw invalid(text(lent_name(order[i - 1]), " and ", lent_name(order[i]),
                               " overlap in memory; each gradient of each replica needs memory of its own"));
}

/// Checks the tensors that a local replica lends. The first is `tensors[first]` of the caller's.
void check_lent(const Gradients &gradients, uint32_t local, const mdist_tensor_t *tensors, size_t first) {
    for (size_t g = 0; g < gradients.plan().count(); ++g) {
        const std::string what = lent_name(first + g);
        const Shape shape = checked_shape(tensors[g], what.c_str());
        const GradientSpec &spec = gradients.plan().spec(g);
        if (tensors[g].dtype != spec.dtype || !(shape == spec.shape))
            throw invalid(text(what, " is ", dtype_name(tensors[g].dtype), " ", shape.text(), ", but ",
                               gradients.plan().text(g), " must have the same type and shape on all replicas"));
        gradients.check_place(local, g, tensors[g].data);
    }
}

void lend(Gradients &gradients, uint32_t local, const mdist_tensor_t *tensors) {
    std::vector<void *> addresses;
    for (size_t g = 0; g < gradients.plan().count(); ++g) addresses.push_back(tensors[g].data);
    gradients.lend(local, addresses);
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
        for (size_t i = 0; i < count; ++i) specs.push_back(spec_of(*pinned->variables(), like[i], i, "like"));
        const auto made = std::make_shared<Gradients>(pinned.shared(), std::move(specs), known);
        pinned->elastic.add(std::shared_ptr<OfSpan>(made));
        *out = publish<mdist_gradients_t>(made);
    });
}

mdist_status_t mdist_gradients_create_lent(mdist_strategy_t *strategy, const mdist_tensor_t *tensors, size_t count,
                                           mdist_gradients_t **out, const mdist_gradients_options_t *options,
                                           mdist_error_t **error) {
    return guard("mdist_gradients_create_lent", error, [&] {
        const auto pinned = pin(strategy);
        need(tensors, "tensors");
        need(out, "out");
        if (count == 0) throw invalid("count is 0; a model has at least one gradient");
        GradientOptions known = options_of(options);
        known.lent = true;
        std::vector<GradientSpec> specs;
        for (size_t g = 0; g < count; ++g) specs.push_back(spec_of(*pinned->variables(), tensors[g], g, "tensors"));
        const auto made = std::make_shared<Gradients>(pinned.shared(), std::move(specs), known);
        const uint32_t replicas = made->job().replicas.local_count();
        for (uint32_t local = 0; local < replicas; ++local)
            check_lent(*made, local, tensors + local * count, local * count);
        check_apart(*made, tensors, replicas * count);
        for (uint32_t local = 0; local < replicas; ++local) lend(*made, local, tensors + local * count);
        pinned->elastic.add(std::shared_ptr<OfSpan>(made));
        *out = publish<mdist_gradients_t>(made);
    });
}

mdist_status_t mdist_gradients_lend(mdist_gradients_t *gradients, uint32_t local_replica, const mdist_tensor_t *tensors,
                                    size_t count, mdist_error_t **error) {
    return guard("mdist_gradients_lend", error, [&] {
        const auto self = pin(gradients);
        need(tensors, "tensors");
        need_replica(*self, local_replica);
        if (!self->plan().options().lent)
            throw invalid(
                "these gradients have memory of the library; mdist_gradients_create_lent makes gradients "
                "that lie in the program's memory");
        if (count != self->plan().count())
            throw invalid(text("count is ", count, "; there are ", self->plan().count(), " gradients"));
        check_lent(*self, local_replica, tensors, 0);
        check_apart(*self, tensors, count);
        lend(*self, local_replica, tensors);
    });
}

mdist_status_t mdist_gradients_tensor(const mdist_gradients_t *gradients, uint32_t local_replica, size_t index,
                                      mdist_tensor_t *out, mdist_error_t **error) {
    return guard("mdist_gradients_tensor", error, [&] {
        const auto self = pin(gradients);
        need(out, "out");
        need_replica(*self, local_replica);
        self->check_index(index);
        *out = self->tensor(local_replica, index).describe();
    });
}

mdist_status_t mdist_gradients_accumulate(mdist_replica_t *replica, mdist_gradients_t *gradients,
                                          mdist_error_t **error) {
    return replica_guard("mdist_gradients_accumulate", replica, Others::kWait, error, [&](Replica &self) {
        const auto pinned = pin(gradients);
        self.require_concurrent("mdist_gradients_accumulate", pinned.get());
        pinned->accumulate(self);
    });
}

mdist_status_t mdist_gradients_ready(mdist_replica_t *replica, mdist_gradients_t *gradients, size_t index,
                                     mdist_error_t **error) {
    return replica_guard("mdist_gradients_ready", replica, Others::kWait, error, [&](Replica &self) {
        const auto pinned = pin(gradients);
        self.require_concurrent("mdist_gradients_ready", pinned.get());
        pinned->ready(self, index);
    });
}

mdist_status_t mdist_gradients_ready_at(mdist_replica_t *replica, mdist_gradients_t *gradients, size_t index,
                                        void *data, mdist_error_t **error) {
    return replica_guard("mdist_gradients_ready_at", replica, Others::kWait, error, [&](Replica &self) {
        const auto pinned = pin(gradients);
        self.require_concurrent("mdist_gradients_ready_at", pinned.get());
        pinned->ready_at(self, index, data);
    });
}

mdist_status_t mdist_gradients_wait(mdist_replica_t *replica, mdist_gradients_t *gradients, double *norm,
                                    int32_t *finite, mdist_error_t **error) {
    return replica_guard("mdist_gradients_wait", replica, Others::kWait, error, [&](Replica &self) {
        const auto pinned = pin(gradients);
        self.require_concurrent("mdist_gradients_wait", pinned.get());
        end_round(*pinned, self, norm, finite, [&](Operation &operation) {
            self.job().comm.operations().wait(operation, kNoDeadline);
            return true;
        });
    });
}

mdist_status_t mdist_gradients_test(mdist_replica_t *replica, mdist_gradients_t *gradients, int32_t *done, double *norm,
                                    int32_t *finite, mdist_error_t **error) {
    return replica_guard("mdist_gradients_test", replica, Others::kWait, error, [&](Replica &self) {
        const auto pinned = pin(gradients);
        self.require_concurrent("mdist_gradients_test", pinned.get());
        need(done, "done");
        const bool ended = end_round(*pinned, self, norm, finite, [&](Operation &operation) {
            return self.job().comm.operations().test(operation);
        });
        *done = ended ? 1 : 0;
    });
}

void mdist_gradients_destroy(mdist_gradients_t *gradients) {
    give_up(gradients);
}
