// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/create_variable.h"

#include "comm/local/finish.h"
#include "strategy/job/call_functions.h"

#include <new>
#include <utility>

namespace mdist {

std::shared_ptr<Variable> create_in_step(Replica &replica, const std::shared_ptr<VariableStore> &store,
                                         VariableSpec spec, const Tensor &initial, uint64_t timeout_ns) {
    spec.check();
    replica.await_turn("mdist_replica_variable_create");
    const std::string summary = spec.text();
    const Call call = call_about(&calls::kCreateVariable, summary, spec.hash());
    Common &common = replica.common();
    Group &group = replica.job().comm.group();
    replica.finish_device(); // all devices read `initial`
    group.meet(replica.local_index(), call, timeout_ns);
    if (replica.local_index() == 0) {
        const Finish finish(group);
        common.create_failure = nullptr;
        common.create_out_of_memory = true; // unless creation succeeds or fails for another reason
        try {
            common.created = Variable::create(replica.job().shared_from_this(), store, std::move(spec), initial,
                                              &calls::kCreateVariable, timeout_ns);
            common.create_out_of_memory = false;
        } catch (const Failure &failure) {
            common.create_failure = std::make_shared<Failure>(failure);
            throw;
        }
    } else {
        group.finish();
    }
    if (common.create_failure) throw Failure(*common.create_failure);
    if (common.create_out_of_memory) throw std::bad_alloc();
    std::shared_ptr<Variable> created = common.created;
    group.finish(); // all have it: the last handle to go frees the variable
    if (replica.local_index() == 0) common.created.reset();
    return created;
}

} // namespace mdist
