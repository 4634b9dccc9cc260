// SPDX-License-Identifier: Apache-2.0
// Variable: state with one copy per replica. Steps compute straight on their copy, whose memory never moves.
#pragma once

#include <string>

#include "strategy.hpp"

namespace mdist {

namespace detail {

template <typename Update>
struct UpdateCall {
    Update &update;
    Thrown thrown;

    static int32_t on_copy(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                           size_t argument_count, mdist_value_t **, size_t, void *user_data) {
        UpdateCall &self = *static_cast<UpdateCall *>(user_data);
        return self.thrown.guard(
            [&] { self.update(local_replica, Tensor(*copy), ConstTensors(arguments, argument_count)); });
    }
};

} // namespace detail

class Variable : public Handle<mdist_variable_t, mdist_variable_destroy> {
  public:
    using Handle::Handle;
    Variable(Strategy &strategy, const std::string &name, ConstTensor initial,
             mdist_aggregation_t aggregation = MDIST_AGGREGATION_NONE,
             mdist_synchronization_t synchronization = MDIST_SYNC_AUTO)
        : Handle(create(strategy, name, initial, aggregation, synchronization)) {}

    const char *name() const noexcept { return mdist_variable_name(get()); }

    // The copy of a local replica, borrowed from the variable.
    Tensor tensor(uint32_t local_replica) const {
        mdist_tensor_t out;
        detail::call(mdist_variable_tensor, get(), local_replica, &out);
        return Tensor(out);
    }
    Tensor tensor(const Replica &replica) const { return tensor(replica.local_index()); }

    // In a step: what the replicas write is reduced by the variable's aggregation, and applied to every copy.
    void assign(Replica &replica, mdist_assign_t assign, ConstTensor tensor, Timeout timeout = {}) {
        detail::call(mdist_replica_assign, replica.get(), get(), assign, &tensor, timeout.options());
    }

    // Outside of steps.
    void assign(mdist_assign_t assign, const Value &value) {
        detail::call(mdist_variable_assign, get(), assign, value.get());
    }
    Value read(Timeout timeout = {}) {
        mdist_value_t *out = nullptr;
        detail::call(mdist_variable_read, get(), &out, timeout.options());
        return Value(out);
    }

    // Calls update(local_replica, Tensor copy, ConstTensors arguments) for each local copy, one after another.
    template <typename Update>
    void update(Update &&update, const Values &arguments = {}) {
        using UpdateCall = detail::UpdateCall<std::remove_reference_t<Update>>;
        UpdateCall call{update, {}};
        call.thrown.call(mdist_update, get(), UpdateCall::on_copy, &call, detail::handles(arguments).data(),
                         arguments.size(), nullptr, 0);
    }

  private:
    static mdist_variable_t *create(Strategy &strategy, const std::string &name, const ConstTensor &initial,
                                    mdist_aggregation_t aggregation, mdist_synchronization_t synchronization) {
        const mdist_variable_options_t options{sizeof options, synchronization, aggregation, 0, nullptr};
        mdist_variable_t *out = nullptr;
        detail::call(mdist_variable_create, strategy.get(), name.c_str(), &initial, &out, &options);
        return out;
    }
};

} // namespace mdist
