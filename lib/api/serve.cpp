// SPDX-License-Identifier: Apache-2.0
#include "api/run_io.h"
#include "api/step_call.h"
#include "api/update.h"
#include "strategy/serve/session.h"
#include "strategy/variables/variable.h"

#include <mdist/serve.h>

using namespace mdist;

mdist_status_t mdist_step_register(mdist_strategy_t *strategy, const char *name, mdist_step_fn step, void *user_data,
                                   mdist_error_t **error) {
    return guard("mdist_step_register", error, [&] {
        const auto pinned = pin(strategy);
        need_text(name, "name");
        if (step == nullptr) throw invalid("step is NULL");
        pinned->registry().add(name, NamedStep([strategy = pinned.get(), step, user_data](Replica &replica) {
                                   return call_step(*strategy, replica, step, user_data);
                               }));
    });
}

mdist_status_t mdist_update_register(mdist_strategy_t *strategy, const char *name, mdist_update_fn update,
                                     void *user_data, mdist_error_t **error) {
    return guard("mdist_update_register", error, [&] {
        const auto pinned = pin(strategy);
        need_text(name, "name");
        if (update == nullptr) throw invalid("update is NULL");
        pinned->registry().add(
            name, NamedUpdate([update, user_data](Job &self, const Variable *variable,
                                                  const std::vector<ValuePointer> &arguments, size_t result_count) {
                return update_copies(self, variable, update, user_data, arguments, result_count);
            }));
    });
}

mdist_status_t mdist_run_named(mdist_strategy_t *strategy, const char *name, const mdist_run_io_t *io,
                               mdist_error_t **error) {
    return strategy_guard("mdist_run_named", strategy, "mdist_merge_call first, and run inside the merge", error,
                          [&](Strategy &self) {
                              need_text(name, "name");
                              RunIo run = read_io(io);
                              if (Session *const session = self.commanding())
                                  session->run(name, std::move(run.arguments), run.results, run.timeout_ns);
                              else
                                  self.runs().run_with_turn(self.registry().step(name), std::move(run.arguments),
                                                            run.results, run.timeout_ns);
                              run.finish();
                          });
}

mdist_status_t mdist_update_named(mdist_strategy_t *strategy, mdist_variable_t *variable, const char *name,
                                  const mdist_run_io_t *io, mdist_error_t **error) {
    return strategy_guard(
        "mdist_update_named", strategy, "mdist_merge_call first, and update inside the merge", error,
        [&](Strategy &self) {
            need_text(name, "name");
            const auto pinned = variable == nullptr ? Pinned<Variable>() : pin(variable);
            if (pinned && &pinned->job() != &self)
                throw invalid(text("variable \"", pinned->spec().name, "\" belongs to another strategy"));
            const Variable *const of = pinned ? pinned.get() : nullptr;
            RunIo run = read_io(io, IoUse::kNoTimeout);
            if (Session *const session = self.commanding())
                session->update(name, of, std::move(run.arguments), run.results);
            else
                run.results = self.registry().update(name)(self, of, run.arguments, run.results.size());
            run.finish();
        });
}

mdist_status_t mdist_serve(mdist_strategy_t *strategy, const mdist_call_options_t *options, mdist_error_t **error) {
    return guard("mdist_serve", error, [&] {
        const auto pinned = pin(strategy);
        const uint64_t timeout_ns = timeout_of(options);
        const Turn turn = Turn::of_server(*pinned, "mdist_serve", "it once, outside of steps");
        if (pinned->session() == nullptr)
            throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                          "mdist_serve works only with strategy: in_graph. With other strategies, every worker calls "
                          "mdist_run itself");
        if (pinned->replicas.worker() == 0)
            throw Failure(
                MDIST_ERR_WRONG_CONTEXT,
                "mdist_serve must not be called on worker 0. Worker 0 is the client: call mdist_run_named there")
                .reason("in_graph");
        pinned->session()->serve(pinned->comm.timeout_or_own(timeout_ns));
    });
}
