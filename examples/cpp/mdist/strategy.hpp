// SPDX-License-Identifier: Apache-2.0
// Strategy: this process's replicas, the step that runs on each of them, and what is done with their values outside.
#pragma once

#include <string>
#include <vector>

#include "replica.hpp"
#include "results.hpp"
#include "value.hpp"

namespace mdist {

class Strategy : public Handle<mdist_strategy_t, mdist_strategy_destroy> {
  public:
    using Handle::Handle;
    Strategy() : Handle(create(nullptr)) {} // as the environment says
    explicit Strategy(const Config &config) : Handle(create(config.get())) {}

    uint32_t replica_count() const noexcept { return mdist_strategy_replica_count(get()); }
    uint32_t local_replica_count() const noexcept { return mdist_strategy_local_replica_count(get()); }
    uint32_t worker_count() const noexcept { return mdist_strategy_worker_count(get()); }
    int32_t worker() const noexcept { return mdist_strategy_worker(get()); } // this one's rank, from 0
    // Whether it is this worker that does what is done once for all: writes checkpoints, prints.
    bool is_chief() const noexcept { return mdist_strategy_is_chief(get()) != 0; }
    void abort() noexcept { mdist_strategy_abort(get()); }

    // Name of the device under a local replica.
    std::string device(uint32_t local_replica) const {
        char text[64];
        detail::call(mdist_strategy_device, get(), local_replica, text, sizeof text, nullptr);
        return text;
    }

    // Calls step(Replica &) once per local replica, all at the same time. What it returns (a number, a container, a
    // ConstTensor) is the replica's part of the Value that this returns; of a std::array of N with a tuple of N.
    template <typename Step>
    auto run(Step &&step, const Values &arguments = {}, Timeout timeout = {});

    // ---- With the replicas' values.

    // To a plain value. With axes, replicas may differ in length along them, and MEAN counts the true number of rows.
    Value reduce(mdist_reduce_op_t op, const Value &value, std::initializer_list<int32_t> axes = {},
                 Timeout timeout = {}) {
        return make([&](mdist_value_t **out) {
            detail::call(mdist_reduce, get(), op, value.get(), axes.begin(), axes.size(), out, timeout.options());
        });
    }
    // To the devices it came from, or to the one that is named.
    Value reduce_to(mdist_reduce_op_t op, const Value &value, const std::string &destination = "",
                    Timeout timeout = {}) {
        return make([&](mdist_value_t **out) {
            detail::call(mdist_reduce_to, get(), op, value.get(), destination.c_str(), out, timeout.options());
        });
    }
    Value gather(const Value &value, int32_t axis, Timeout timeout = {}) {
        return make(
            [&](mdist_value_t **out) { detail::call(mdist_gather, get(), value.get(), axis, out, timeout.options()); });
    }
    Value broadcast_to(ConstTensor tensor) {
        return make([&](mdist_value_t **out) { detail::call(mdist_broadcast_to, get(), &tensor, out); });
    }
    // Copies of tensors, one per local replica.
    Value per_replica(const std::vector<ConstTensor> &tensors) {
        return make([&](mdist_value_t **out) {
            detail::call(mdist_value_per_replica, get(), tensors.data(), tensors.size(), out);
        });
    }

  private:
    static mdist_strategy_t *create(const mdist_config_t *config) {
        mdist_strategy_t *out = nullptr;
        detail::call(mdist_strategy_create, config, &out);
        return out;
    }

    template <typename Function>
    static Value make(Function function) {
        mdist_value_t *out = nullptr;
        function(&out);
        return Value(out);
    }
};

namespace detail {

template <typename Step>
void take_step(Step &step, Replica &replica) {
    for_each_result([&] { return step(replica); },
                    [&](size_t index, const auto &result) { replica.set_result(index, result); });
}

template <typename Step>
struct StepCall {
    Step &step;
    Thrown thrown;

    static int32_t on_replica(mdist_replica_t *handle, void *user_data) {
        StepCall &self = *static_cast<StepCall *>(user_data);
        Replica replica(handle, self.thrown);
        return self.thrown.guard([&] { take_step(self.step, replica); });
    }
};

template <typename Merge>
struct MergeCall {
    Merge &merge;
    Thrown &thrown;

    static int32_t once(mdist_strategy_t *handle, mdist_value_t *const *arguments, size_t argument_count,
                        mdist_value_t **results, size_t, void *user_data) {
        MergeCall &self = *static_cast<MergeCall *>(user_data);
        return self.thrown.guard([&] {
            Borrowed<Strategy> strategy(handle);
            const BorrowedValues values(arguments, argument_count);
            for_each_result([&] { return self.merge(*strategy, *values); },
                            [&](size_t index, Value value) { results[index] = value.release(); });
        });
    }
};

} // namespace detail

template <typename Step>
auto Strategy::run(Step &&step, const Values &arguments, Timeout timeout) {
    using Returned = std::invoke_result_t<Step &, Replica &>;
    using StepCall = detail::StepCall<std::remove_reference_t<Step>>;
    std::array<mdist_value_t *, detail::result_count<Returned>> handles{};
    StepCall call{step, {}};
    call.thrown.call(mdist_run, get(), StepCall::on_replica, &call, detail::handles(arguments).data(), arguments.size(),
                     handles.data(), handles.size(), timeout.options());
    return detail::make_results<Returned, Value>(handles);
}

template <typename Merge>
auto Replica::merge(Merge &&merge, std::initializer_list<ConstTensor> arguments, Timeout timeout) {
    using Returned = std::invoke_result_t<Merge &, Strategy &, const Values &>;
    using MergeCall = detail::MergeCall<std::remove_reference_t<Merge>>;
    std::array<mdist_tensor_t, detail::result_count<Returned>> tensors;
    MergeCall call{merge, thrown_};
    thrown_.call(mdist_merge_call, handle_, MergeCall::once, &call, arguments.begin(), arguments.size(), tensors.data(),
                 tensors.size(), timeout.options());
    return detail::make_results<Returned, ConstTensor>(tensors);
}

} // namespace mdist
