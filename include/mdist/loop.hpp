// SPDX-License-Identifier: Apache-2.0
// Loop: a function for each element of an iterator, and the outputs of that function and of its steps.
//
//     const auto loop = mdist::run_steps(strategy, iterator, 100, [&](mdist::Loop &running, const mdist::Value
//     &element) {
//         strategy.run([&](mdist::Replica &replica) {
//             running.set_output(replica, "loss", loss(replica.argument(0)), MDIST_AGGREGATION_MEAN);
//         }, {element});
//     });
//     loop.outputs().at("loss")                    // the mean over all replicas, of the last element
#pragma once

#include <string>

#include <mdist/dataset.hpp>
#include <mdist/strategy.hpp>

namespace mdist {

class Loop : public Handle<mdist_loop_t, mdist_loop_destroy> {
  public:
    using Handle::Handle;

    // Sets an output outside of steps. The last one that is set at a path counts.
    void set_output(const std::string &path, const Value &value,
                    mdist_aggregation_t aggregation = MDIST_AGGREGATION_NONE) {
        detail::call(mdist_loop_set_output, get(), path.c_str(), value.get(), aggregation);
    }
    // Sets a replica's part of an output, in its step. The tensor is copied.
    void set_output(Replica &replica, const std::string &path, ConstTensor tensor, mdist_aggregation_t aggregation) {
        detail::call(mdist_replica_set_output, replica.get(), get(), path.c_str(), &tensor, aggregation);
    }
    // The outputs, as a structure, when the loop is over.
    Value outputs() const {
        mdist_value_t *out = nullptr;
        detail::call(mdist_loop_outputs, get(), &out);
        return Value(out);
    }

    // A pointer of yours under a name, for each local replica.
    void set_object(const std::string &name, uint32_t local_replica, void *object) {
        detail::call(mdist_loop_set_object, get(), name.c_str(), local_replica, object);
    }
    void *object(const std::string &name, uint32_t local_replica) const {
        void *out = nullptr;
        detail::call(mdist_loop_object, get(), name.c_str(), local_replica, &out);
        return out;
    }

    // How many elements are done.
    uint64_t iterations() const noexcept { return mdist_loop_iterations(get()); }
};

namespace detail {

template <typename Function>
struct LoopCall {
    Function &function;
    Thrown thrown;

    static int32_t on_element(mdist_strategy_t *, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
        LoopCall &self = *static_cast<LoopCall *>(user_data);
        return self.thrown.guard([&] {
            Borrowed<Loop> running(loop);
            Borrowed<Value> value(element);
            self.function(*running, *value);
        });
    }
};

} // namespace detail

// Calls function(Loop &, Value &element) for the next elements, at most so many (MDIST_FOREVER: all). All workers do so
// together. `initial`: nullptr, or a structure of the outputs before any was set.
template <typename Function>
Loop run_steps(Strategy &strategy, Iterator &iterator, uint64_t iterations, Function &&function,
               const Value *initial = nullptr, CallOptions options = {}) {
    using LoopCall = detail::LoopCall<std::remove_reference_t<Function>>;
    LoopCall call{function, {}};
    call.thrown.look_in(iterator.thrown()); // for what its maps throw
    mdist_loop_t *out = nullptr;
    call.thrown.call(mdist_run_steps, strategy.get(), iterator.get(), iterations, LoopCall::on_element, &call,
                     static_cast<const mdist_value_t *>(initial != nullptr ? initial->get() : nullptr), &out,
                     options.get());
    return Loop(out);
}

} // namespace mdist
