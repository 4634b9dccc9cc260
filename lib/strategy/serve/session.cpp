// SPDX-License-Identifier: Apache-2.0
#include "strategy/serve/session.h"

#include "comm/workers/workers.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/context.h"
#include "strategy/job/lines.h"
#include "strategy/values/structure.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

/// Messages between workers, in the order of a session. 0 is taken by the device names, which come before it (Job).
enum class Talk : uint8_t { kRegistrations = 1, kCommand, kResults };

Call call_of(Talk talk) {
    static constexpr const char *kWords[] = {"registrations", "next command", "results"};
    Call call;
    call.kind = &calls::kServe;
    call.subject = static_cast<uint64_t>(talk);
    call.subject_text = kWords[call.subject - 1];
    call.endless = talk != Talk::kResults; // a server waits for the client, whatever that does meanwhile
    return call;
}

} // namespace

// --- the client's commands

void Session::run(const std::string &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
                  uint64_t timeout_ns) {
    registry_.step(step);
    check_arguments(arguments, job_.replicas.count());
    Command command;
    command.kind = Command::Kind::kRun;
    command.name = step;
    command.values = std::move(arguments);
    command.result_count = results.size();
    command.timeout_ns = timeout_ns;
    results = perform(std::move(command));
}

void Session::update(const std::string &update, const Variable *variable, std::vector<ValuePointer> arguments,
                     std::vector<ValuePointer> &results) {
    registry_.update(update);
    check_arguments(arguments, job_.replicas.count());
    Command command;
    command.kind = Command::Kind::kUpdate;
    command.name = update;
    if (variable != nullptr) command.variable = variable->spec().name;
    command.values = std::move(arguments);
    command.result_count = results.size();
    results = perform(std::move(command));
}

std::shared_ptr<Variable> Session::create(VariableSpec spec, const Tensor &initial) {
    variables_->require_free(spec.name);
    Command command;
    command.kind = Command::Kind::kCreate;
    command.spec = std::move(spec);
    try {
        perform(command, initial);
    } catch (...) {
        created_.clear();
        throw;
    }
    std::shared_ptr<Variable> created = std::move(created_.at(command.spec.name));
    created_.clear();
    created->tell_when_gone();
    return created;
}

void Session::assign(Variable &variable, int32_t assign, const ValuePointer &value) {
    variable.check_assignment(assign, *value, job_.replicas.count());
    Command command;
    command.kind = Command::Kind::kAssign;
    command.variable = variable.spec().name;
    command.assign = assign;
    command.values = {value};
    perform(std::move(command));
}

Tensor Session::read(const Variable &variable, uint64_t timeout_ns) {
    variable.require_readable();
    const Context part(job_, Context::Kind::kPart);
    if (!variable.reduced_when_read()) return variable.first_copy(); // the client has replica 0
    Command command;
    command.kind = Command::Kind::kRead;
    command.variable = variable.spec().name;
    command.timeout_ns = timeout_ns;
    command.result_count = 1;
    return perform(std::move(command))[0]->tensors()[0];
}

void Session::spread(const Variable &variable, uint64_t timeout_ns) {
    Command command;
    command.kind = Command::Kind::kSpread;
    command.variable = variable.spec().name;
    command.timeout_ns = timeout_ns;
    perform(std::move(command));
}

void Session::drop(const std::string &name) noexcept {
    try {
        const std::lock_guard lock(dropped_mutex_);
        dropped_.push_back(name);
    } catch (const std::bad_alloc &) {
        // The other workers keep theirs until the session ends.
    }
}

// --- how a command is carried out

std::vector<ValuePointer> Session::perform(Command command, const Tensor &initial) {
    job_.use.require_open();
    job_.require_sound();
    Workers *const others = job_.other_workers();
    if (others == nullptr) return attempt([&] { return carry_out(command, initial); });
    agree(*others, job_.comm.timeout_or_own(command.timeout_ns));
    const Command part = command.for_replicas(job_.replicas.span_of(0));
    send(*others, command);
    std::vector<ValuePointer> own = attempt([&] { return carry_out(part, initial); });
    return collect(*others, std::move(own), command);
}

/// Compares registrations, once, before the first command.
void Session::agree(Workers &others, uint64_t timeout_ns) {
    if (agreed_) return;
    const auto all = gather_lines(others, call_of(Talk::kRegistrations), registry_.close(), timeout_ns);
    try {
        require_same_lines(all);
    } catch (const Failure &failure) {
        job_.comm.fail_workers("mdist_serve", failure);
        throw;
    }
    agreed_ = true;
}

void Session::send(Workers &others, Command &command) {
    std::vector<std::string> parts(others.count());
    {
        const std::lock_guard lock(dropped_mutex_);
        command.dropped = dropped_;
        for (uint32_t worker = 1; worker < others.count(); ++worker)
            parts[worker] = command.for_replicas(job_.replicas.span_of(worker)).encoded();
        dropped_.clear(); // the command has them now
    }
    others.exchange(call_of(Talk::kCommand), parts, job_.comm.timeout_or_own(command.timeout_ns));
}

/// Joins the results of all workers.
std::vector<ValuePointer> Session::collect(Workers &others, std::vector<ValuePointer> own, const Command &command) {
    const std::vector<std::string> nothing(others.count());
    const Blobs blobs = others.exchange(call_of(Talk::kResults), nothing, job_.comm.timeout_or_own(command.timeout_ns));
    if (command.kind == Command::Kind::kRead) return own; // the same on all workers
    std::vector<std::vector<ValuePointer>> by_worker = {std::move(own)};
    for (uint32_t worker = 1; worker < others.count(); ++worker) {
        by_worker.push_back(decode_values(blobs[worker], job_.replicas, worker));
        by_worker.back().resize(by_worker[0].size());
    }
    std::vector<ValuePointer> joined;
    for (std::size_t i = 0; i < by_worker[0].size(); ++i) {
        std::vector<ValuePointer> result;
        for (const auto &values : by_worker) result.push_back(values[i]);
        joined.push_back(join_results(i, result, job_.replicas));
    }
    return joined;
}

void Session::serve(uint64_t timeout_ns) {
    // Variables keep their strategy alive, and with it this session. They must not outlive the session.
    const struct Ending {
        std::map<std::string, std::shared_ptr<Variable>> &created;
        ~Ending() { created.clear(); }
    } ending{created_};
    Workers &others = *job_.other_workers();
    for (;;) {
        std::string bytes;
        try {
            agree(others, timeout_ns);
            const std::vector<std::string> nothing(others.count());
            bytes = std::move(others.exchange(call_of(Talk::kCommand), nothing, timeout_ns)[0]);
        } catch (const Failure &failure) {
            if (client_has_left(failure)) return;
            throw;
        }
        std::vector<std::string> results(others.count());
        uint64_t limit = 0;
        results[0] = encode_values(attempt([&] {
            const Command part = Command::decoded(bytes, job_.replicas);
            limit = part.timeout_ns;
            return carry_out(part, Tensor());
        }));
        others.exchange(call_of(Talk::kResults), results, job_.comm.timeout_or_own(limit));
    }
}

// --- one worker's part

/// Runs a part of a command. A failure in it ends the job.
std::vector<ValuePointer> Session::attempt(FunctionRef<std::vector<ValuePointer>()> part) {
    const Context context(job_, Context::Kind::kPart);
    try {
        return part();
    } catch (const std::exception &caught) {
        job_.comm.fail_workers("mdist_serve", as_failure(caught));
        throw;
    } catch (...) { // the thread ends
        job_.comm.fail_workers("mdist_serve",
                               Failure(MDIST_ERR_CALLBACK, "the thread that served the client has ended"));
        rethrow();
    }
}

std::vector<ValuePointer> Session::carry_out(const Command &part, const Tensor &initial) {
    for (const std::string &name : part.dropped) created_.erase(name);
    switch (part.kind) {
        case Command::Kind::kRun: {
            const NamedStep step = registry_.step(part.name);
            std::vector<ValuePointer> results(part.result_count);
            runs_.run_with_turn(step, part.values, results, part.timeout_ns);
            return results;
        }
        case Command::Kind::kUpdate: {
            const std::shared_ptr<Variable> variable = part.variable.empty() ? nullptr : variable_of(part);
            return registry_.update(part.name)(job_, variable.get(), part.values, part.result_count);
        }
        case Command::Kind::kCreate:
            created_[part.spec.name] = Variable::create(job_.shared_from_this(), variables_, part.spec, initial,
                                                        &calls::kCreateVariableOutside, part.timeout_ns);
            return {};
        case Command::Kind::kAssign:
            variable_of(part)->assign(part.assign, part.values[0]);
            return {};
        case Command::Kind::kRead:
            return {Value::plain(variable_of(part)->read(part.timeout_ns))};
        case Command::Kind::kSpread:
            variable_of(part)->take_copy_of_chief(&calls::kRestoreCheckpoint, part.timeout_ns);
            return {};
    }
    throw Failure(MDIST_ERR_DATA_LOSS,
                  text("the client sent command ", static_cast<int>(part.kind), ", which is not a valid command"));
}

std::shared_ptr<Variable> Session::variable_of(const Command &command) const {
    if (std::shared_ptr<Variable> variable = variables_->find(command.variable)) return variable;
    throw Failure(MDIST_ERR_NOT_FOUND,
                  text("worker ", job_.replicas.worker(), " has no variable \"", command.variable,
                       "\"; a variable that a step creates lives only while a handle to it is kept"));
}

} // namespace mdist
