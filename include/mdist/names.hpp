// SPDX-License-Identifier: Apache-2.0
// Names: steps and updates that run by name. With `strategy: in_graph`, worker 0 runs them for the replicas of all
// workers, and the others serve.
//
//     mdist::Names names(strategy);
//     names.step("train", [](mdist::Replica &replica) { ... });            // on every worker, the same names
//     if (strategy.rank() != 0) names.serve();                           // until the client is done
//     else names.run("train");
#pragma once

#include <functional>
#include <list>
#include <string>

#include <mdist/variable.hpp>

namespace mdist {

// Owns the functions. It must not move, and outlives all runs by its names. What a function throws on this worker comes
// out of run(), update() or serve() unchanged; what one throws on another worker is an mdist::Error with its words.
class Names {
  public:
    explicit Names(Strategy &strategy) noexcept : strategy_(strategy.get()) {}
    Names(const Names &) = delete;
    Names &operator=(const Names &) = delete;

    // step(Replica &). Its return values are the results, as for Strategy::run.
    template <typename Step>
    void step(const std::string &name, Step step) {
        Function &kept = functions_.emplace_back(thrown_);
        kept.step = [step = std::move(step)](Replica &replica) mutable { detail::take_step(step, replica); };
        detail::call(mdist_step_register, strategy_, name.c_str(), &Function::on_replica, static_cast<void *>(&kept));
    }

    // update(local_replica, Tensor copy, ConstTensors arguments), which returns results as that of Variable::update.
    // Without a variable, `copy` has no data.
    template <typename Update>
    void update(const std::string &name, Update update) {
        Function &kept = functions_.emplace_back(thrown_);
        kept.update = [update = std::move(update)](uint32_t local, Tensor copy, ConstTensors arguments,
                                                   mdist_value_t **results, size_t result_count) mutable {
            detail::for_each_result([&] { return update(local, copy, arguments); },
                                    [&](size_t index, Value value) {
                                        if (index < result_count) results[index] = value.release();
                                    });
        };
        detail::call(mdist_update_register, strategy_, name.c_str(), &Function::on_copy, static_cast<void *>(&kept));
    }

    // Runs a step; on a client, on the replicas of all workers.
    Values run(const std::string &name, const Values &arguments = {}, size_t result_count = 0,
               std::chrono::nanoseconds timeout = {}) {
        return results(result_count, [&](mdist_value_t **out) {
            const detail::RunIo io(detail::handles(arguments), out, result_count, timeout);
            thrown_.call(mdist_run_named, strategy_, name.c_str(), io.get());
        });
    }

    // Updates the copies of a variable, or with nullptr state that belongs to none; on a client, on all workers.
    Values update(Variable *variable, const std::string &name, const Values &arguments = {}, size_t result_count = 0) {
        return results(result_count, [&](mdist_value_t **out) {
            const detail::RunIo io(detail::handles(arguments), out, result_count);
            thrown_.call(mdist_update_named, strategy_, variable != nullptr ? variable->get() : nullptr, name.c_str(),
                         io.get());
        });
    }

    // Does what the client asks, until the client destroys its strategy. The timeout is for each wait for a command.
    void serve(CallOptions options = {}) { thrown_.call(mdist_serve, strategy_, options.get()); }

  private:
    struct Function {
        explicit Function(detail::Thrown &all) noexcept : thrown(all) {}

        static int32_t on_replica(mdist_replica_t *handle, void *user_data) {
            Function &self = *static_cast<Function *>(user_data);
            Replica replica(handle, self.thrown);
            return self.thrown.guard([&] { self.step(replica); });
        }
        static int32_t on_copy(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                               size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
            Function &self = *static_cast<Function *>(user_data);
            return self.thrown.guard([&] {
                self.update(local_replica, Tensor(copy != nullptr ? *copy : mdist_tensor_t{}),
                            ConstTensors(arguments, argument_count), results, result_count);
            });
        }

        detail::Thrown &thrown;
        std::function<void(Replica &)> step;
        std::function<void(uint32_t, Tensor, ConstTensors, mdist_value_t **, size_t)> update;
    };

    template <typename Call>
    static Values results(size_t count, Call call) {
        std::vector<mdist_value_t *> handles(count);
        Values values;
        values.reserve(count);
        call(handles.data());
        for (mdist_value_t *handle : handles) values.emplace_back(handle);
        return values;
    }

    mdist_strategy_t *strategy_;
    detail::Thrown thrown_;
    std::list<Function> functions_; // never move
};

} // namespace mdist
