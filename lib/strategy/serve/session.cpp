// SPDX-License-Identifier: Apache-2.0
#include "strategy/serve/session.h"

#include "comm/membership/payload.h"
#include "comm/workers.h"
#include "strategy/context.h"
#include "strategy/values/structure.h"
#include "util/text.h"

#include <functional>
#include <utility>

namespace mdist {
namespace {

/// What workers tell each other, in the order of a session.
enum class Talk : uint8_t { kDevices, kRegistrations, kCommand, kResults };

Call call_of(Talk talk) {
    static constexpr const char *kWords[] = {"devices", "registrations", "next command", "results"};
    Call call;
    call.kind = CallKind::kServe;
    call.subject = static_cast<uint64_t>(talk);
    call.subject_text = kWords[call.subject];
    return call;
}

std::string encode_lines(const std::vector<std::string> &lines) {
    PayloadWriter out;
    out.number(static_cast<uint32_t>(lines.size()));
    for (const std::string &line : lines) out.text(line);
    return out.take();
}

/// By worker.
std::vector<std::vector<std::string>> gather_lines(Workers &workers, Talk talk, const std::vector<std::string> &own,
                                                   uint64_t timeout_ns) {
    const std::string mine = encode_lines(own);
    std::vector<std::vector<std::string>> all;
    for (const std::vector<char> &blob : workers.gather(call_of(talk), mine.data(), mine.size(), timeout_ns)) {
        PayloadReader in({blob.data(), blob.size()});
        std::vector<std::string> &lines = all.emplace_back();
        for (auto count = in.number<uint32_t>(); count > 0 && !in.bad(); --count) lines.push_back(in.text());
    }
    return all;
}

/// Of the whole job's replicas, before anybody else hears of the values.
void check_arguments(const std::vector<ValuePointer> &arguments, uint32_t replicas) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
        visit_leaves(*arguments[i], [&](const Value &leaf, std::size_t) {
            leaf.check_count(replicas, static_cast<std::ptrdiff_t>(i));
            leaf.check_whole(static_cast<std::ptrdiff_t>(i));
        });
}

} // namespace

bool client_has_left(const Failure &failure) {
    return failure.status() == MDIST_ERR_PEER_LOST && failure.reason() == "left" && failure.worker() == 0;
}

std::vector<std::string> Session::everybodys(const std::vector<std::string> &own) {
    std::vector<std::string> joined;
    for (const auto &lines : gather_lines(*strategy_.other_workers(), Talk::kDevices, own, strategy_.timeout_or_own(0)))
        joined.insert(joined.end(), lines.begin(), lines.end());
    joined.resize(strategy_.replica_count());
    return joined;
}

// --- the client's commands

void Session::run(const std::string &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
                  uint64_t timeout_ns) {
    strategy_.registry().step(step);
    check_arguments(arguments, strategy_.replica_count());
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
    strategy_.registry().update(update);
    check_arguments(arguments, strategy_.replica_count());
    Command command;
    command.kind = Command::Kind::kUpdate;
    command.name = update;
    if (variable != nullptr) command.variable = variable->spec().name;
    command.values = std::move(arguments);
    command.result_count = results.size();
    results = perform(std::move(command));
}

std::shared_ptr<Variable> Session::create(VariableSpec spec, const Tensor &initial) {
    strategy_.variables()->require_free(spec.name);
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
    variable.check_assignment(assign, *value, strategy_.replica_count());
    Command command;
    command.kind = Command::Kind::kAssign;
    command.variable = variable.spec().name;
    command.assign = assign;
    command.values = {value};
    perform(std::move(command));
}

Tensor Session::read(const Variable &variable, uint64_t timeout_ns) {
    variable.require_readable();
    const Context part(strategy_, Context::Kind::kPart);
    if (!variable.reduced_when_read()) return variable.read(timeout_ns);
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
        // The others keep theirs until the session ends.
    }
}

// --- how a command goes

std::vector<ValuePointer> Session::perform(Command command, const Tensor &initial) {
    strategy_.require_open();
    strategy_.require_sound();
    Workers *const others = strategy_.other_workers();
    if (others == nullptr) return attempt([&] { return carry_out(command, initial); });
    agree(*others, strategy_.timeout_or_own(command.timeout_ns));
    const Command part = command.for_worker(0, strategy_.local_replica_count());
    send(*others, command);
    std::vector<ValuePointer> own = attempt([&] { return carry_out(part, initial); });
    return collect(*others, std::move(own), command);
}

/// Once, before the first command.
void Session::agree(Workers &others, uint64_t timeout_ns) {
    if (agreed_) return;
    const auto all = gather_lines(others, Talk::kRegistrations, strategy_.registry().close(), timeout_ns);
    try {
        require_same_lines(all);
    } catch (const Failure &failure) {
        strategy_.fail_workers("mdist_serve", failure);
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
            parts[worker] = command.for_worker(worker, strategy_.local_replica_count()).encoded();
        dropped_.clear(); // they are in words that are there now
    }
    others.exchange(call_of(Talk::kCommand), parts, strategy_.timeout_or_own(command.timeout_ns));
}

/// The results of all workers, joined.
std::vector<ValuePointer> Session::collect(Workers &others, std::vector<ValuePointer> own, const Command &command) {
    const std::vector<std::string> nothing(others.count());
    const Workers::Blobs blobs =
        others.exchange(call_of(Talk::kResults), nothing, strategy_.timeout_or_own(command.timeout_ns));
    if (command.kind == Command::Kind::kRead) return own; // which is the same on all
    std::vector<std::vector<ValuePointer>> by_worker = {std::move(own)};
    for (uint32_t worker = 1; worker < others.count(); ++worker) {
        by_worker.push_back(decode_values({blobs[worker].data(), blobs[worker].size()}, strategy_));
        by_worker.back().resize(by_worker[0].size());
    }
    std::vector<ValuePointer> joined;
    for (std::size_t i = 0; i < by_worker[0].size(); ++i) {
        std::vector<ValuePointer> result;
        for (const auto &values : by_worker) result.push_back(values[i]);
        joined.push_back(join_results(i, result, strategy_.local_replica_count()));
    }
    return joined;
}

void Session::serve(uint64_t timeout_ns) {
    // Variables keep their strategy, and so this: they must not outlive the session.
    const struct Ending {
        std::map<std::string, std::shared_ptr<Variable>> &created;
        ~Ending() { created.clear(); }
    } ending{created_};
    Workers &others = *strategy_.other_workers();
    for (;;) {
        std::string bytes;
        try {
            agree(others, timeout_ns);
            const std::vector<std::string> nothing(others.count());
            const Workers::Blobs blobs = others.exchange(call_of(Talk::kCommand), nothing, timeout_ns);
            bytes.assign(blobs[0].begin(), blobs[0].end());
        } catch (const Failure &failure) {
            if (client_has_left(failure)) return;
            throw;
        }
        std::vector<std::string> results(others.count());
        uint64_t limit = 0;
        results[0] = encode_values(attempt([&] {
            const Command part = Command::decoded(bytes, strategy_);
            limit = part.timeout_ns;
            return carry_out(part, Tensor());
        }));
        others.exchange(call_of(Talk::kResults), results, strategy_.timeout_or_own(limit));
    }
}

// --- one worker's part

/// What goes wrong in it ends the job.
std::vector<ValuePointer> Session::attempt(FunctionRef<std::vector<ValuePointer>()> part) {
    const Context context(strategy_, Context::Kind::kPart);
    try {
        return part();
    } catch (const Failure &failure) {
        strategy_.fail_workers("mdist_serve", failure);
        throw;
    } catch (const std::exception &) {
        strategy_.fail_workers("mdist_serve", Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
        throw;
    } catch (...) { // the thread ends
        strategy_.fail_workers("mdist_serve", Failure(MDIST_ERR_CALLBACK, "its thread has ended"));
        throw;
    }
}

std::vector<ValuePointer> Session::carry_out(const Command &part, const Tensor &initial) {
    for (const std::string &name : part.dropped) created_.erase(name);
    switch (part.kind) {
        case Command::Kind::kRun: {
            const NamedStep step = strategy_.registry().step(part.name);
            std::vector<ValuePointer> results(part.result_count);
            strategy_.run_with_turn(step, part.values, results, part.timeout_ns);
            return results;
        }
        case Command::Kind::kUpdate: {
            const std::shared_ptr<Variable> variable = part.variable.empty() ? nullptr : variable_of(part);
            return strategy_.registry().update(part.name)(strategy_, variable.get(), part.values, part.result_count);
        }
        case Command::Kind::kCreate:
            created_[part.spec.name] = Variable::create(strategy_.shared_from_this(), part.spec, initial,
                                                        CallKind::kCreateVariableOutside, part.timeout_ns);
            return {};
        case Command::Kind::kAssign:
            variable_of(part)->assign(part.assign, *part.values.at(0));
            return {};
        case Command::Kind::kRead:
            return {Value::plain(variable_of(part)->read(part.timeout_ns))};
        case Command::Kind::kSpread:
            variable_of(part)->take_copy_of_chief(CallKind::kRestoreCheckpoint, part.timeout_ns);
            return {};
    }
    throw Failure(MDIST_ERR_DATA_LOSS,
                  text("the client sent command ", static_cast<int>(part.kind), ", which is none"));
}

std::shared_ptr<Variable> Session::variable_of(const Command &command) const {
    if (std::shared_ptr<Variable> variable = strategy_.variables()->find(command.variable)) return variable;
    throw Failure(MDIST_ERR_NOT_FOUND, text("worker ", strategy_.worker(), " has no variable \"", command.variable,
                                            "\"; one that steps create lives as long as they keep a handle to it"));
}

} // namespace mdist
