// SPDX-License-Identifier: Apache-2.0
// DistributedDataParallel for the C++ frontend of PyTorch (libtorch): trains one module on all replicas of a strategy.
//
//     mdist::DistributedDataParallel<Net> model(strategy, [] { return Net(); });
//     strategy.run([&](mdist::Replica &replica) {
//         auto local = model.on(replica); // first thing in a step; the module of this replica is *local
//         torch::optim::SGD optimizer(local->parameters(), 0.1);
//         for (auto &batch : batches_of(replica.id())) {
//             optimizer.zero_grad();
//             loss(local->forward(batch.data), batch.target).backward(); // ends when gradients are the means of all
//             optimizer.step();
//         }
//         if (replica.id() == 0) torch::save(*local, "model.pt");
//     });
//
// - Gradients are reduced where libtorch has them, in buckets, while the backward pass computes. Each backward pass
// says
//   anew where they lie, so zero_grad may free them.
// - Sums follow the library's fixed order. So weights have the same bits on 2 replicas in one process as in 2
//   processes, if the module computes the same in each: at::set_num_threads(1), and no random numbers from libtorch's
//   one generator.
// - A failure on any replica throws mdist::Error on all others, also out of backward().
//
// This header is not part of mdist.hpp, since it needs libtorch. Module is a module holder (TORCH_MODULE).
#pragma once

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/torch.h>

#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <mdist/gradients.hpp>
#include <mdist/replica.hpp>
#include <mdist/strategy.hpp>

namespace mdist {

struct DistributedOptions {
    mdist_reduce_op_t op = MDIST_MEAN;   // over replicas: MDIST_MEAN or MDIST_SUM
    uint64_t bucket_bytes = 0;           // a bucket takes gradients until it has this many bytes; 0: 4 MiB
    double clip_norm = 0;                // clips by global norm; 0 disables clipping
    bool norm = false;                   // computes the norm also without clipping
    bool find_unused_parameters = false; // parameters without a gradient count as zeros; else they are an error
    bool broadcast_buffers = true;       // Local::broadcast_buffers copies those of replica 0 (running means ...)
};

namespace detail {

inline mdist_dtype_t torch_dtype(const at::Tensor &tensor, const std::string &name) {
    switch (tensor.scalar_type()) {
        case at::kFloat:
            return MDIST_FLOAT32;
        case at::kDouble:
            return MDIST_FLOAT64;
        case at::kHalf:
            return MDIST_FLOAT16;
        case at::kBFloat16:
            return MDIST_BFLOAT16;
        case at::kLong:
            return MDIST_INT64;
        case at::kInt:
            return MDIST_INT32;
        case at::kByte:
            return MDIST_UINT8;
        case at::kBool:
            return MDIST_BOOL;
        default:
            throw std::invalid_argument(name + " has elements of a type that cannot be copied between replicas: " +
                                        c10::toString(tensor.scalar_type()));
    }
}

// A buffer over a tensor's memory. The tensor must fill it without gaps.
inline mdist_buffer_t torch_buffer(const at::Tensor &tensor, const std::string &name) {
    if (!tensor.device().is_cpu()) throw std::invalid_argument(name + " is not on the CPU");
    if (!tensor.is_non_overlapping_and_dense())
        throw std::invalid_argument(name + " has gaps between its elements; make it contiguous()");
    return {tensor.data_ptr(), static_cast<uint64_t>(tensor.numel()), torch_dtype(tensor, name), 0};
}

// The trained parameters of one replica's module, and the hooks that report their gradients.
class TorchReducer : public std::enable_shared_from_this<TorchReducer> {
  public:
    TorchReducer(const std::shared_ptr<::torch::nn::Module> &module, const DistributedOptions &options)
        : options_(options) {
        for (const auto &item : module->named_parameters())
            if (item.value().requires_grad()) add(item.key(), item.value());
        for (const auto &item : module->named_parameters()) all_.push_back({item.key(), item.value()});
        for (const auto &item : module->named_buffers()) buffers_.push_back({item.key(), item.value()});
        if (parameters_.empty()) throw std::invalid_argument("the module has no parameter that requires a gradient");
    }

    // Shapes and types, without addresses.
    std::vector<mdist_tensor_t> describe() const {
        std::vector<mdist_tensor_t> tensors;
        for (const auto &[name, parameter] : parameters_) {
            mdist_tensor_t tensor{};
            tensor.dtype = torch_dtype(parameter, name);
            if (!parameter.is_floating_point()) throw std::invalid_argument(name + " is trained, but not a float");
            if (parameter.dim() > MDIST_MAX_RANK) throw std::invalid_argument(name + " has too many dimensions");
            tensor.rank = static_cast<uint32_t>(parameter.dim());
            for (int64_t i = 0; i < parameter.dim(); ++i) tensor.shape[i] = static_cast<uint64_t>(parameter.size(i));
            tensors.push_back(tensor);
        }
        return tensors;
    }

    // Begins to report to these gradients; once.
    void hook(mdist_gradients_t *gradients) {
        gradients_ = gradients;
        for (size_t index = 0; index < parameters_.size(); ++index) {
            accumulators_.push_back(::torch::autograd::impl::grad_accumulator(parameters_[index].second));
            const std::weak_ptr<TorchReducer> own = weak_from_this();
            accumulators_.back()->add_post_hook(std::make_unique<::torch::autograd::utils::LambdaPostHook>(
                [own, index](const Variables &outputs, const Variables &) {
                    if (const auto self = own.lock()) self->complete(index);
                    return outputs;
                }));
        }
    }

    void enter(mdist_replica_t *replica) {
        replica_ = replica;
        std::fill(ready_.begin(), ready_.end(), false); // a step that failed may have left some
        begun_ = false;
        if (!copied_) copy_from_first(all_);
        if (!copied_) copy_from_first(buffers_);
        copied_ = true;
    }

    void broadcast_buffers() {
        if (options_.broadcast_buffers) copy_from_first(buffers_);
    }

    bool synchronizes = true;
    Reduced reduced{0, true};

  private:
    using Variables = std::vector<::torch::autograd::Variable>;
    using Named = std::vector<std::pair<std::string, at::Tensor>>;
    using Accumulator = decltype(::torch::autograd::impl::grad_accumulator(std::declval<const at::Tensor &>()));

    void add(const std::string &name, const at::Tensor &parameter) {
        torch_buffer(parameter, name); // refuses what cannot be reduced
        parameters_.push_back({name, parameter});
        ready_.push_back(false);
    }

    void copy_from_first(const Named &tensors) {
        std::vector<mdist_buffer_t> buffers;
        for (const auto &[name, tensor] : tensors) buffers.push_back(torch_buffer(tensor, name));
        if (!buffers.empty())
            call(mdist_broadcast, replica_, uint32_t{0}, buffers.data(), buffers.size(),
                 static_cast<const mdist_call_options_t *>(nullptr));
    }

    // Gradient `index` is complete. On the thread that runs the backward pass.
    void complete(size_t index) {
        if (!synchronizes) return;
        if (!begun_) {
            begun_ = true;
            const auto self = shared_from_this();
            ::torch::autograd::Engine::get_default_engine().queue_callback([self] { self->finish(); });
        }
        pass_on(index);
    }

    void pass_on(size_t index) {
        const auto &[name, parameter] = parameters_[index];
        at::Tensor gradient = parameter.grad();
        if (gradient.layout() != at::kStrided)
            throw std::invalid_argument("the gradient of " + name + " is sparse; make the layer with sparse(false)");
        if (gradient.strides() != parameter.strides()) { // replicas must have one order of elements
            gradient = at::empty_like(parameter).copy_(gradient);
            parameter.mutable_grad() = gradient;
        }
        call(mdist_gradients_ready_at, replica_, gradients_, index, gradient.data_ptr());
        ready_[index] = true;
    }

    // The backward pass is over.
    void finish() {
        std::vector<size_t> missing, without;
        for (size_t i = 0; i < ready_.size(); ++i)
            if (!ready_[i]) missing.push_back(i);
        if (!missing.empty() && !options_.find_unused_parameters)
            throw std::logic_error("the backward pass gave no gradient to " + std::to_string(missing.size()) +
                                   " parameters, the first of which is " + parameters_[missing[0]].first +
                                   ". Set find_unused_parameters if that is intended");
        std::vector<uint8_t> used(ready_.begin(), ready_.end());
        for (const size_t i : missing) {
            at::Tensor parameter = parameters_[i].second;
            if (!parameter.grad().defined()) {
                without.push_back(i);
                parameter.mutable_grad() = at::zeros_like(parameter);
            }
            pass_on(i);
        }
        int32_t finite = 0;
        call(mdist_gradients_wait, replica_, gradients_, &reduced.norm, &finite);
        reduced.finite = finite != 0;
        std::fill(ready_.begin(), ready_.end(), false);
        begun_ = false;
        if (options_.find_unused_parameters) forget_unused(used, without);
    }

    // Optimizers skip a parameter without a gradient. One that no replica used must stay so.
    void forget_unused(std::vector<uint8_t> &used, const std::vector<size_t> &without) {
        const mdist_buffer_t buffer{used.data(), used.size(), MDIST_UINT8, 0};
        call(mdist_all_reduce, replica_, MDIST_MAX, &buffer, &buffer, size_t{1},
             static_cast<const mdist_call_options_t *>(nullptr));
        for (const size_t i : without)
            if (!used[i]) at::Tensor(parameters_[i].second).mutable_grad() = at::Tensor();
    }

    const DistributedOptions options_;
    Named parameters_, all_, buffers_;       // trained; all parameters; buffers
    std::vector<Accumulator> accumulators_;  // keeps the hooks
    std::vector<bool> ready_;                // in this backward pass
    mdist_gradients_t *gradients_ = nullptr; // of the model
    mdist_replica_t *replica_ = nullptr;     // of this step
    bool begun_ = false, copied_ = false;
};

} // namespace detail

template <typename Module>
class DistributedDataParallel {
  public:
    // Makes a module for each local replica. All workers make equal modules. Their weights become those of replica 0 in
    // the first step.
    DistributedDataParallel(Strategy &strategy, const std::function<Module()> &make,
                            const DistributedOptions &options = {}) {
        std::vector<mdist_tensor_t> described;
        for (uint32_t i = 0; i < strategy.local_replica_count(); ++i) {
            modules_.push_back(make());
            reducers_.push_back(std::make_shared<detail::TorchReducer>(modules_.back().ptr(), options));
            const auto own = reducers_.back()->describe();
            described.insert(described.end(), own.begin(), own.end());
        }
        const bool needs_norm = options.norm || options.clip_norm > 0;
        const mdist_gradients_options_t given{
            sizeof given,         needs_norm ? 0u : static_cast<uint32_t>(MDIST_GRADIENTS_NO_NORM),
            options.op,           0,
            options.bucket_bytes, options.clip_norm};
        mdist_gradients_t *out = nullptr;
        detail::call(mdist_gradients_create_lent, strategy.get(), described.data(), described.size() / modules_.size(),
                     &out, &given);
        gradients_ = Handle<mdist_gradients_t, mdist_gradients_destroy>(out);
        for (const auto &reducer : reducers_) reducer->hook(out);
    }

    // A replica's module in this step. Behaves like a pointer to the module holder.
    class Local {
      public:
        Module &operator*() const noexcept { return module_; }
        Module &operator->() const noexcept { return module_; } // a holder has an operator-> of its own

        // Backward passes from now on only accumulate in grad(). The next one after synchronize(true) reduces the sums.
        void synchronize(bool on) const { reducer_.synchronizes = on; }

        // Copies the buffers of replica 0 to all others. All replicas call it, between backward passes.
        void broadcast_buffers() const { reducer_.broadcast_buffers(); }

        // Of the last backward pass: the norm before clipping (0 if no norm is computed), and whether all is finite.
        Reduced reduced() const { return reducer_.reduced; }

      private:
        friend class DistributedDataParallel;
        Local(Module &module, detail::TorchReducer &reducer) : module_(module), reducer_(reducer) {}
        Module &module_;
        detail::TorchReducer &reducer_;
    };

    // Call it first in each step. In the first step it copies the weights of replica 0, so all replicas call it.
    Local on(Replica &replica) {
        const uint32_t place = replica.local_index();
        reducers_.at(place)->enter(replica.get());
        return Local(modules_.at(place), *reducers_[place]);
    }

    // The module of a local replica, between steps.
    Module &module(uint32_t local_replica = 0) { return modules_.at(local_replica); }

  private:
    std::vector<Module> modules_; // by local replica
    std::vector<std::shared_ptr<detail::TorchReducer>> reducers_;
    Handle<mdist_gradients_t, mdist_gradients_destroy> gradients_;
};

} // namespace mdist
