// SPDX-License-Identifier: Apache-2.0
// Strategy: this process's replicas, the step that runs on each of them, and functions for their values outside of
// steps.
#pragma once

#include <string>
#include <vector>

#include <mdist/config.hpp>
#include <mdist/replica.hpp>
#include <mdist/results.hpp>
#include <mdist/value.hpp>

namespace mdist {

class Strategy : public Handle<mdist_strategy_t, mdist_strategy_destroy> {
  public:
    using Handle::Handle;
    Strategy() : Handle(create(nullptr)) {} // from the environment
    explicit Strategy(const Config &config) : Handle(create(config.get())) {}

    uint32_t replica_count() const noexcept { return mdist_strategy_replica_count(get()); }
    uint32_t local_replica_count() const noexcept { return mdist_strategy_local_replica_count(get()); }
    uint32_t worker_count() const noexcept { return mdist_strategy_worker_count(get()); }
    uint32_t rank() const noexcept { return mdist_strategy_rank(get()); } // this worker's rank, from 0
    uint32_t first_replica_id() const noexcept { return mdist_strategy_first_replica_id(get()); } // of this worker
    // Whether this worker does the work needed only once: writes checkpoints, prints.
    bool is_chief() const noexcept { return mdist_strategy_is_chief(get()) != 0; }
    void abort() noexcept { mdist_strategy_abort(get()); }
    // Throws the failure that ended all collectives, such as a lost worker. Waits for no other worker.
    void check_health() const { detail::call(mdist_strategy_check_health, get()); }

    // This worker must leave. grace: from now to the end of the machine; none: end at once. Safe in a signal handler.
    void leave(std::chrono::nanoseconds grace = {}) noexcept {
        mdist_membership_leave(get(), grace.count() < 0 ? 0 : static_cast<uint64_t>(grace.count()));
    }
    // What all workers, which all ask, do next: the same on all. If `rank` is not NULL, stores that of the worker that
    // has said that it leaves, or MDIST_NONE.
    mdist_verdict_t check_membership(uint32_t *rank = nullptr, CallOptions options = {}) {
        int32_t verdict = MDIST_VERDICT_GO_ON;
        detail::call(mdist_membership_check, get(), &verdict, rank, options.get());
        return static_cast<mdist_verdict_t>(verdict);
    }

    // Name of the device of a local replica.
    std::string device(uint32_t local_replica) const {
        char text[64];
        detail::call(mdist_strategy_device, get(), local_replica, text, sizeof text, nullptr);
        return text;
    }

    // Calls step(Replica &) once per local replica, all at the same time. What the step returns (a number, a container,
    // a ConstTensor) is the replica's part of the returned Value. If the step returns a tuple of N, this returns a
    // std::array of N.
    template <typename Step>
    auto run(Step &&step, const Values &arguments = {}, std::chrono::nanoseconds timeout = {});

    // Calls function(Replica &, uint64_t element) for elements 0 to count - 1. Each element runs on one replica; all
    // replicas of the job work at the same time. Results are stacked, with a row for each element of a replica.
    template <typename Function>
    auto map(uint64_t count, Function &&function, const Values &arguments = {}, std::chrono::nanoseconds timeout = {});

    // Reduces the buffers of all local replicas in one call, in place: all buffers of a replica, then those of the
    // next.
    void all_reduce(mdist_reduce_op_t op, Buffers buffers, CallOptions options = {}) {
        if (buffers.size() % local_replica_count() != 0)
            throw std::invalid_argument("there must be as many buffers of each local replica");
        detail::call(mdist_strategy_all_reduce, get(), op, buffers.data(), buffers.data(),
                     buffers.size() / local_replica_count(), options.get());
    }

    // ---- Functions for the replicas' values.

    // Reduces to a plain value. With axes, replicas may differ in length along them, and MEAN divides by the true
    // number of rows.
    Value reduce(mdist_reduce_op_t op, const Value &value, std::initializer_list<int32_t> axes = {},
                 CallOptions options = {}) {
        return make([&](mdist_value_t **out) {
            detail::call(mdist_strategy_reduce_axes, get(), op, value.get(), axes.begin(), axes.size(), out,
                         options.get());
        });
    }
    // Reduces to the devices that the value came from, or to the named one.
    Value reduce_to(mdist_reduce_op_t op, const Value &value, const std::string &destination = "",
                    CallOptions options = {}) {
        return make([&](mdist_value_t **out) {
            mdist_value_t *const handle = value.get();
            const char *const name = destination.c_str();
            detail::call(mdist_strategy_reduce_to, get(), op, &handle, &name, 1, out, options.get());
        });
    }
    // Does many reduce_to in one operation. Without destinations, all go to the devices that they came from.
    Values batch_reduce_to(mdist_reduce_op_t op, const Values &values,
                           const std::vector<std::string> &destinations = {}, CallOptions options = {}) {
        if (!destinations.empty() && destinations.size() != values.size())
            throw std::invalid_argument("there must be as many destinations as values, or none");
        std::vector<const char *> names;
        for (const std::string &destination : destinations) names.push_back(destination.c_str());
        std::vector<mdist_value_t *> reduced(values.size());
        Values result;
        result.reserve(values.size());
        detail::call(mdist_strategy_reduce_to, get(), op, detail::handles(values).data(),
                     names.empty() ? nullptr : names.data(), values.size(), reduced.data(), options.get());
        for (mdist_value_t *value : reduced) result.emplace_back(value);
        return result;
    }
    Value gather(const Value &value, int32_t axis, CallOptions options = {}) {
        return make([&](mdist_value_t **out) {
            detail::call(mdist_strategy_gather, get(), value.get(), axis, out, options.get());
        });
    }
    Value broadcast_to(ConstTensor tensor) {
        return make([&](mdist_value_t **out) { detail::call(mdist_strategy_broadcast, get(), &tensor, out); });
    }
    // Copies tensors, one per local replica.
    Value per_replica(const std::vector<ConstTensor> &tensors) {
        return make([&](mdist_value_t **out) {
            detail::call(mdist_value_per_replica, get(), tensors.data(), tensors.size(), out);
        });
    }
    // Makes a value of what function(replica_id, replica_count) returns for each local replica: a Value, or anything
    // that a Value can be made of.
    template <typename Function>
    Value values_from_function(Function &&function);
    // Copies the content of a plain or mirrored value to host memory, or to the named device.
    Value fetch(const Value &value, const std::string &destination = "") {
        return make([&](mdist_value_t **out) {
            detail::call(mdist_strategy_fetch, get(), value.get(), destination.c_str(), nullptr, nullptr, out);
        });
    }
    // The same for the result of function(ConstTensor), which is called with the tensor where it lies.
    template <typename Function>
    Value fetch(const Value &value, const std::string &destination, Function &&function);

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

inline Group::Group(Strategy &strategy, const std::vector<uint32_t> &replicas) {
    mdist_group_t *out = nullptr;
    detail::call(mdist_group_create, strategy.get(), replicas.data(), replicas.size(), &out);
    *static_cast<Handle *>(this) = Handle(out);
}

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

template <typename Function>
struct ElementCall {
    Function &function;
    Thrown thrown;

    static int32_t on_element(mdist_replica_t *handle, uint64_t element, void *user_data) {
        ElementCall &self = *static_cast<ElementCall *>(user_data);
        Replica replica(handle, self.thrown);
        const auto step = [&](Replica &own) { return self.function(own, element); };
        return self.thrown.guard([&] { take_step(step, replica); });
    }
};

// A function that makes one value.
template <typename Function>
struct ValueCall {
    Function &function;
    Thrown thrown;

    static int32_t on_replica(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data) {
        ValueCall &self = *static_cast<ValueCall *>(user_data);
        return self.thrown.guard([&] { *out = Value(self.function(replica_id, replica_count)).release(); });
    }
    static int32_t on_source(const mdist_tensor_t *source, mdist_value_t **out, void *user_data) {
        ValueCall &self = *static_cast<ValueCall *>(user_data);
        return self.thrown.guard([&] { *out = Value(self.function(ConstTensor(*source))).release(); });
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
auto Strategy::run(Step &&step, const Values &arguments, std::chrono::nanoseconds timeout) {
    using Returned = std::invoke_result_t<Step &, Replica &>;
    using StepCall = detail::StepCall<std::remove_reference_t<Step>>;
    std::array<mdist_value_t *, detail::result_count<Returned>> handles{};
    StepCall call{step, {}};
    const detail::RunIo io(detail::handles(arguments), handles.data(), handles.size(), timeout);
    call.thrown.call(mdist_run, get(), StepCall::on_replica, &call, io.get());
    return detail::make_results<Returned, Value>(handles);
}

template <typename Function>
auto Strategy::map(uint64_t count, Function &&function, const Values &arguments, std::chrono::nanoseconds timeout) {
    using Returned = std::invoke_result_t<Function &, Replica &, uint64_t>;
    using ElementCall = detail::ElementCall<std::remove_reference_t<Function>>;
    std::array<mdist_value_t *, detail::result_count<Returned>> handles{};
    ElementCall call{function, {}};
    const detail::RunIo io(detail::handles(arguments), handles.data(), handles.size(), timeout);
    call.thrown.call(mdist_map, get(), count, ElementCall::on_element, &call, io.get());
    return detail::make_results<Returned, Value>(handles);
}

template <typename Function>
Value Strategy::values_from_function(Function &&function) {
    using ValueCall = detail::ValueCall<std::remove_reference_t<Function>>;
    ValueCall call{function, {}};
    return make([&](mdist_value_t **out) {
        call.thrown.call(mdist_values_from_function, get(), ValueCall::on_replica, &call, out);
    });
}

template <typename Function>
Value Strategy::fetch(const Value &value, const std::string &destination, Function &&function) {
    using ValueCall = detail::ValueCall<std::remove_reference_t<Function>>;
    ValueCall call{function, {}};
    return make([&](mdist_value_t **out) {
        call.thrown.call(mdist_strategy_fetch, get(), value.get(), destination.c_str(), ValueCall::on_source, &call,
                         out);
    });
}

template <typename Merge>
auto Replica::merge(Merge &&merge, std::initializer_list<ConstTensor> arguments, CallOptions options) {
    using Returned = std::invoke_result_t<Merge &, Strategy &, const Values &>;
    using MergeCall = detail::MergeCall<std::remove_reference_t<Merge>>;
    std::array<mdist_tensor_t, detail::result_count<Returned>> tensors;
    MergeCall call{merge, thrown_};
    thrown_.call(mdist_merge_call, handle_, MergeCall::once, &call, arguments.begin(), arguments.size(), tensors.data(),
                 tensors.size(), options.get());
    return detail::make_results<Returned, ConstTensor>(tensors);
}

} // namespace mdist
