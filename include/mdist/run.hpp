// SPDX-License-Identifier: Apache-2.0
// Run: a run on your own threads.
//
//     mdist::Run run(strategy);
//     // on each of as many threads as there are local replicas:
//     run.enter(index, [&](mdist::Replica &replica) { ... });
//     // when all are back:
//     run.end();
//
// The strategy is busy until the run has ended. With `executor: caller` the library has no replica threads at all.
#pragma once

#include <mdist/strategy.hpp>

namespace mdist {

class Run {
  public:
    // result_count: how many results the steps set.
    explicit Run(Strategy &strategy, const Values &arguments = {}, size_t result_count = 0,
                 std::chrono::nanoseconds timeout = {})
        : strategy_(strategy.get()), results_(result_count) {
        detail::call(mdist_run_begin, strategy_,
                     detail::RunIo(detail::handles(arguments), nullptr, result_count, timeout).get());
        open_ = true;
    }
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;

    // Closes a run that was not ended. Every replica must have left.
    ~Run() {
        if (open_ && mdist_run_end(strategy_, results_.data(), results_.size(), nullptr) == MDIST_OK)
            for (mdist_value_t *result : results_) mdist_value_destroy(result);
    }

    // Runs the step of a local replica on this thread. Exceptions from the step come out of end(), so threads need not
    // catch them. This function itself throws only if the replica cannot be entered.
    template <typename Step>
    void enter(uint32_t local_replica, Step &&step) {
        mdist_replica_t *handle = nullptr;
        detail::call(mdist_replica_enter, strategy_, local_replica, &handle);
        Replica replica(handle, thrown_);
        const int32_t code = thrown_.guard([&] { detail::take_step(step, replica); });
        mdist_replica_exit(handle, code, nullptr); // a failure here fails the run, too
    }

    // Closes the run after every replica has left. Throws the first cause if the run failed, else returns the results.
    Values end() {
        Values values;
        values.reserve(results_.size());
        open_ = false;
        thrown_.call(mdist_run_end, strategy_, results_.data(), results_.size());
        for (mdist_value_t *result : results_) values.emplace_back(result);
        return values;
    }

  private:
    mdist_strategy_t *strategy_;
    std::vector<mdist_value_t *> results_;
    detail::Thrown thrown_;
    bool open_ = false;
};

} // namespace mdist
