// SPDX-License-Identifier: Apache-2.0
// Variable: state with one copy per replica. Steps compute directly on their copy, whose memory moves only with
// Elastic::regroup.
#pragma once

#include <string>
#include <utility>

#include <mdist/strategy.hpp>

namespace mdist {

namespace detail {

// An update of a variable's copies, or of no variable (non-slot). What it returns are its results.

template <typename Update>
struct UpdateCall {
    Update &update;
    Thrown thrown;

    static int32_t on_copy(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                           size_t argument_count, mdist_value_t **results, size_t, void *user_data) {
        UpdateCall &self = *static_cast<UpdateCall *>(user_data);
        const ConstTensors tensors(arguments, argument_count);
        return take(self, results, [&] { return self.update(local_replica, Tensor(*copy), tensors); });
    }
    static int32_t on_device(uint32_t local_replica, const mdist_tensor_t *, const mdist_tensor_t *arguments,
                             size_t argument_count, mdist_value_t **results, size_t, void *user_data) {
        UpdateCall &self = *static_cast<UpdateCall *>(user_data);
        const ConstTensors tensors(arguments, argument_count);
        return take(self, results, [&] { return self.update(local_replica, tensors); });
    }

  private:
    template <typename Function>
    static int32_t take(UpdateCall &self, mdist_value_t **results, Function function) {
        return self.thrown.guard(
            [&] { for_each_result(function, [&](size_t index, Value value) { results[index] = value.release(); }); });
    }
};

} // namespace detail

class Variable : public Handle<mdist_variable_t, mdist_variable_destroy> {
  public:
    using Handle::Handle;
    Variable(Strategy &strategy, const std::string &name, ConstTensor initial,
             mdist_aggregation_t aggregation = MDIST_AGGREGATION_NONE,
             mdist_synchronization_t synchronization = MDIST_SYNC_AUTO, const Variable *colocate_with = nullptr)
        : Handle(create(strategy, name, initial,
                        {sizeof(mdist_variable_options_t), synchronization, aggregation, 0,
                         colocate_with != nullptr ? colocate_with->get() : nullptr})) {}

    // Finds the variable that a tensor's memory belongs to. Returns a new handle of it, and the local replica whose
    // copy it is.
    static std::pair<Variable, uint32_t> of(const Strategy &strategy, ConstTensor tensor) {
        mdist_variable_t *out = nullptr;
        uint32_t local_replica = 0;
        detail::call(mdist_variable_at_address, strategy.get(), tensor.data, &out, &local_replica);
        return {Variable(out), local_replica};
    }

    // Finds a variable by its name, whoever made it; also in a step.
    static Variable find(const Strategy &strategy, const std::string &name) {
        mdist_variable_t *out = nullptr;
        detail::call(mdist_variable_named, strategy.get(), name.c_str(), &out);
        return Variable(out);
    }

    const char *name() const noexcept { return mdist_variable_name(get()); }

    // The copy of a local replica, borrowed from the variable.
    Tensor tensor(uint32_t local_replica) const {
        mdist_tensor_t out;
        detail::call(mdist_variable_tensor, get(), local_replica, &out);
        return Tensor(out);
    }
    Tensor tensor(const Replica &replica) const { return tensor(replica.local_index()); }

    // Assigns in a step. The variable's aggregation reduces what the replicas write, and every copy gets the result.
    void assign(Replica &replica, mdist_assign_t assign, ConstTensor tensor, CallOptions options = {}) {
        detail::call(mdist_replica_assign, replica.get(), get(), assign, &tensor, options.get());
    }

    // Assigns rows in a step. Row i of `values` goes into row indices[i]; the variable's aggregation combines all
    // replicas.
    void assign_sparse(Replica &replica, mdist_assign_t assign, ConstTensor indices, ConstTensor values,
                       CallOptions options = {}) {
        detail::call(mdist_replica_assign_sparse, replica.get(), get(), assign, &indices, &values, options.get());
    }

    // Assigns outside of steps.
    void assign(mdist_assign_t assign, const Value &value) {
        detail::call(mdist_variable_assign, get(), assign, value.get());
    }
    Value read(CallOptions options = {}) {
        mdist_value_t *out = nullptr;
        detail::call(mdist_variable_read, get(), &out, options.get());
        return Value(out);
    }

    // Calls update(local_replica, Tensor copy, ConstTensors arguments) for each local copy, one after another. Returns
    // its results as Strategy::run does. A result is anything that a Value can be made of, or a tuple of such.
    template <typename Update>
    auto update(Update &&update, const Values &arguments = {}) {
        using Returned = std::invoke_result_t<Update &, uint32_t, Tensor, ConstTensors>;
        using UpdateCall = detail::UpdateCall<std::remove_reference_t<Update>>;
        std::array<mdist_value_t *, detail::result_count<Returned>> handles{};
        UpdateCall call{update, {}};
        const detail::RunIo io(detail::handles(arguments), handles.data(), handles.size());
        call.thrown.call(mdist_update, get(), UpdateCall::on_copy, &call, io.get());
        return detail::make_results<Returned, Value>(handles);
    }

  private:
    static mdist_variable_t *create(Strategy &strategy, const std::string &name, const ConstTensor &initial,
                                    const mdist_variable_options_t &options) {
        mdist_variable_t *out = nullptr;
        detail::call(mdist_variable_create, strategy.get(), name.c_str(), &initial, &out, &options);
        return out;
    }
};

// The same as Variable::update for state that belongs to no variable, such as an optimizer's step counter. Calls
// update(local_replica, ConstTensors arguments) for each local device.
template <typename Update>
auto update_devices(Strategy &strategy, Update &&update, const Values &arguments = {}) {
    using Returned = std::invoke_result_t<Update &, uint32_t, ConstTensors>;
    using UpdateCall = detail::UpdateCall<std::remove_reference_t<Update>>;
    std::array<mdist_value_t *, detail::result_count<Returned>> handles{};
    UpdateCall call{update, {}};
    const detail::RunIo io(detail::handles(arguments), handles.data(), handles.size());
    call.thrown.call(mdist_update_devices, strategy.get(), UpdateCall::on_device, &call, io.get());
    return detail::make_results<Returned, Value>(handles);
}

} // namespace mdist
