// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/loop.h"

#include "api/replica_guard.h"
#include "api/values.h"
#include "data/iterator.h"
#include "util/callback.h"
#include "util/forced_unwind.h"

#include <mdist/loop.h>

using namespace mdist;

namespace {

/// A loop's handle while it runs. Gives up the handle unless the loop ends without a failure.
class RunningLoop {
  public:
    explicit RunningLoop(std::shared_ptr<Loop> loop) : handle_(publish<mdist_loop_t>(std::move(loop))) {}
    ~RunningLoop() {
        if (handle_ != nullptr) retire(handle_);
    }
    RunningLoop(const RunningLoop &) = delete;
    RunningLoop &operator=(const RunningLoop &) = delete;
    mdist_loop_t *get() const { return handle_; }
    mdist_loop_t *release() { return std::exchange(handle_, nullptr); }

  private:
    mdist_loop_t *handle_;
};

/// Runs `body()`. If it fails, tells the other workers, which loop together with this one.
template <class Body>
mdist_status_t told_to_workers(Strategy &strategy, const Body &body) {
    try {
        return body();
    } catch (const std::exception &caught) {
        tell_workers(strategy, "mdist_run_steps", as_failure(caught));
        throw;
    } catch (...) { // the thread ends
        tell_workers(strategy, "mdist_run_steps",
                     Failure(MDIST_ERR_CALLBACK, "the thread that ran the loop has ended"));
        rethrow();
    }
}

/// Calls the caller's function with a handle for the element, which is given up after the call.
void call_loop(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_loop_fn function, void *user_data,
               const ValuePointer &element) {
    const ValueHandles handle(publish_values({element}));
    call_back_or_fail([] { return "the loop's function"; },
                      [&] { return function(strategy, loop, handle.get()[0], user_data); });
}

} // namespace

mdist_status_t mdist_run_steps(mdist_strategy_t *strategy, mdist_iterator_t *iterator, uint64_t iterations,
                               mdist_loop_fn function, void *user_data, const mdist_value_t *initial,
                               mdist_loop_t **out, const mdist_call_options_t *options, mdist_error_t **error) {
    return guard("mdist_run_steps", error, [&] {
        const auto self = pin(strategy);
        std::shared_ptr<Loop> loop;
        std::shared_ptr<Iterator> elements;
        {
            const Turn turn = Loop::place(*self);
            share_call(*self, "mdist_run_steps", [&](Strategy &) {
                elements = pin(iterator).shared();
                if (function == nullptr) throw invalid("function is NULL");
                need(out, "out");
                const auto first = initial == nullptr ? nullptr : pin(initial).shared();
                check_number(iterations, "iterations");
                loop = std::make_shared<Loop>(self.shared(), iterations, first, timeout_of(options));
            });
        }
        return told_to_workers(*self, [&] {
            RunningLoop running(loop);
            const bool all = loop->run(*elements, [&](const ValuePointer &element) {
                call_loop(strategy, running.get(), function, user_data, element);
            });
            *out = running.release();
            return all ? MDIST_OK : MDIST_END;
        });
    });
}

mdist_status_t mdist_loop_set_output(mdist_loop_t *loop, const char *path, const mdist_value_t *value,
                                     mdist_aggregation_t aggregation, mdist_error_t **error) {
    return guard("mdist_loop_set_output", error, [&] {
        const auto pinned = pin(loop);
        need_text(path, "path");
        pinned->set(path, pin(value).shared(), aggregation);
    });
}

mdist_status_t mdist_replica_set_output(mdist_replica_t *replica, mdist_loop_t *loop, const char *path,
                                        const mdist_tensor_t *tensor, mdist_aggregation_t aggregation,
                                        mdist_error_t **error) {
    return replica_guard("mdist_replica_set_output", replica, Others::kAway, error, [&](Replica &self) {
        const auto pinned = pin(loop);
        need_text(path, "path");
        pinned->set_part(self, path, copy_for(self, tensor), aggregation);
    });
}

mdist_status_t mdist_loop_outputs(const mdist_loop_t *loop, mdist_value_t **out, mdist_error_t **error) {
    return guard("mdist_loop_outputs", error, [&] {
        const auto pinned = pin(loop);
        need(out, "out");
        *out = publish<mdist_value_t>(pinned->outputs());
    });
}

mdist_status_t mdist_loop_set_object(mdist_loop_t *loop, const char *name, uint32_t local_replica, void *object,
                                     mdist_error_t **error) {
    return guard("mdist_loop_set_object", error, [&] {
        const auto pinned = pin(loop);
        need_text(name, "name");
        pinned->set_object(name, local_replica, object);
    });
}

mdist_status_t mdist_loop_object(const mdist_loop_t *loop, const char *name, uint32_t local_replica, void **out,
                                 mdist_error_t **error) {
    return guard("mdist_loop_object", error, [&] {
        const auto pinned = pin(loop);
        need_text(name, "name");
        need(out, "out");
        *out = pinned->object(name, local_replica);
    });
}

uint64_t mdist_loop_iterations(const mdist_loop_t *loop) {
    const auto pinned = try_pin(loop);
    return pinned ? pinned->iterations_done() : 0;
}

void mdist_loop_destroy(mdist_loop_t *loop) {
    give_up(loop);
}
