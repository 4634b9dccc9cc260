// SPDX-License-Identifier: Apache-2.0
// Gradients: reduced in buckets while the step still computes; clipped, checked and accumulated.
//
//     mdist::Gradients gradients(strategy, {weights.tensor(0), bias.tensor(0)}, {.clip_norm = 1}); // C++20's spelling
//     strategy.run([&](mdist::Replica &replica) {
//         for (size_t layer = 2; layer-- > 0;) { // as the backward pass completes them
//             compute(layer, gradients.tensor(replica, layer));
//             gradients.ready(replica, layer);
//         }
//         const auto [norm, finite] = gradients.wait(replica); // now they are reduced, the same on every replica
//     });
#pragma once

#include <optional>
#include <vector>

#include <mdist/strategy.hpp>

namespace mdist {

// The same on all workers.
struct GradientsOptions {
    mdist_reduce_op_t op = MDIST_SUM; // over replicas and rounds: MDIST_SUM (with average_loss) or MDIST_MEAN
    uint64_t bucket_bytes = 0;        // a bucket takes gradients until it has this many bytes; 0: 4 MiB
    double clip_norm = 0;             // clips by global norm; 0 disables clipping
    uint32_t flags = 0;               // of mdist_gradients_flags_t, such as MDIST_GRADIENTS_ZERO_MISSING
};

// What a round came to. The same on all replicas.
struct Reduced {
    double norm; // before clipping; 0 with MDIST_GRADIENTS_NO_NORM
    bool finite; // if not, skip this step's update
};

class Gradients : public Handle<mdist_gradients_t, mdist_gradients_destroy> {
  public:
    // Allocates memory for gradients of these types and shapes on each local replica. The data of `like` is not read;
    // if it is a variable's memory, messages name the gradient after the variable. Number the gradients in the order of
    // the forward pass.
    Gradients(Strategy &strategy, const std::vector<ConstTensor> &like, const GradientsOptions &options = {})
        : Handle(create(strategy, like, options)) {}

    // Gradients in the program's own memory, which must outlive them or the next lend(): gradient g of local replica r
    // is tensors[r * count + g]. A tensor without memory (Tensor::of) is lent later. They are reduced where they lie.
    static Gradients lent(Strategy &strategy, const std::vector<Tensor> &tensors, size_t count,
                          const GradientsOptions &options = {}) {
        if (tensors.size() != count * strategy.local_replica_count())
            throw std::invalid_argument("there must be a tensor for each gradient and local replica");
        const mdist_gradients_options_t given = options_of(options);
        mdist_gradients_t *out = nullptr;
        detail::call(mdist_gradients_create_lent, strategy.get(), tensors.data(), count, &out, &given);
        return Gradients(out);
    }
    // Says where all gradients of a local replica lie from its next round on.
    void lend(uint32_t local_replica, const std::vector<Tensor> &tensors) {
        detail::call(mdist_gradients_lend, get(), local_replica, tensors.data(), tensors.size());
    }

    // A gradient of a local replica. Its address changes only with Elastic::regroup. Write it until it is ready, and
    // again after the end of the round.
    Tensor tensor(uint32_t local_replica, size_t index) const {
        mdist_tensor_t out;
        detail::call(mdist_gradients_tensor, get(), local_replica, index, &out);
        return Tensor(out);
    }
    Tensor tensor(const Replica &replica, size_t index) const { return tensor(replica.local_index(), index); }

    // Marks the round that begins now: it is added to the next round instead of being reduced. Call it before the first
    // gradient of the round is ready.
    void accumulate(Replica &replica) { detail::call(mdist_gradients_accumulate, replica.get(), get()); }

    // Says that a gradient of this replica is complete. From now until the end of the round it belongs to the library.
    void ready(Replica &replica, size_t index) { detail::call(mdist_gradients_ready, replica.get(), get(), index); }

    // The same for a lent gradient, which lies at `data` in this round.
    void ready(Replica &replica, size_t index, void *data) {
        detail::call(mdist_gradients_ready_at, replica.get(), get(), index, data);
    }

    // Ends the round: on return all gradients are reduced and clipped.
    Reduced wait(Replica &replica) {
        Reduced result{};
        int32_t finite = 0;
        detail::call(mdist_gradients_wait, replica.get(), get(), &result.norm, &finite);
        result.finite = finite != 0;
        return result;
    }

    // The same without waiting for other replicas: gives nothing while the round has not ended. Call it until it has, and
    // meanwhile nothing else that communicates.
    std::optional<Reduced> test(Replica &replica) {
        Reduced result{};
        int32_t done = 0, finite = 0;
        detail::call(mdist_gradients_test, replica.get(), get(), &done, &result.norm, &finite);
        if (done == 0) return std::nullopt;
        result.finite = finite != 0;
        return result;
    }

  private:
    using Handle::Handle;

    static mdist_gradients_options_t options_of(const GradientsOptions &options) {
        return {
            sizeof(mdist_gradients_options_t), options.flags, options.op, 0, options.bucket_bytes, options.clip_norm};
    }
    static mdist_gradients_t *create(Strategy &strategy, const std::vector<ConstTensor> &like,
                                     const GradientsOptions &options) {
        const mdist_gradients_options_t given = options_of(options);
        mdist_gradients_t *out = nullptr;
        detail::call(mdist_gradients_create, strategy.get(), like.data(), like.size(), &out, &given);
        return out;
    }
};

} // namespace mdist
