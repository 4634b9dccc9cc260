// SPDX-License-Identifier: Apache-2.0
#include "comm/operation_queue.h"

#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {

OperationQueue::OperationQueue(Executors &executors)
    : executors_(executors), group_(executors.group()), lines_(new Line[group_.parties()]) {}

std::shared_ptr<Operation> OperationQueue::start(uint32_t party, const Call &call, uint64_t timeout_ns) {
    auto operation = std::make_shared<Operation>(executors_, party, call, timeout_ns, [this] { hand_on(); });
    Line &line = lines_[party];
    {
        const std::lock_guard lock(line.mutex);
        append(line, operation);
        hand_on(line);
    }
    hand_on();
    return operation;
}

void OperationQueue::append(Line &line, std::shared_ptr<Operation> operation) {
    if (line.operations.size() >= kMost)
        throw Failure(MDIST_ERR_RESOURCE,
                      text("this replica has ", kMost, " started operations under way; wait for some of them first"))
            .reason("too_many_works");
    const bool first = line.operations.empty();
    if (!first) group_.require_ready();
    line.operations.push_back(std::move(operation));
    if (first) {
        try {
            line.operations.front()->post();
        } catch (...) {
            line.operations.pop_front();
            throw;
        }
    } else {
        waiting_.fetch_add(1, std::memory_order_seq_cst); // count it before looking whether its turn has come
    }
    line.length.store(line.operations.size(), std::memory_order_release);
}

/// Removes the first operation, which is over, and posts the next.
void OperationQueue::drop_first(Line &line) noexcept {
    if (line.operations.front()->has_listeners()) listening_.fetch_sub(1, std::memory_order_seq_cst);
    line.operations.pop_front();
    line.length.store(line.operations.size(), std::memory_order_release);
    if (line.operations.empty()) return;
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
    Operation &next = *line.operations.front();
    try {
        next.post();
    } catch (const std::exception &caught) {
        next.end(as_failure(caught));
    }
}

/// Removes an operation that is over, if it is still in the line.
void OperationQueue::drop(Line &line, const Operation &operation) noexcept {
    const auto found = std::find_if(line.operations.begin(), line.operations.end(),
                                    [&](const auto &each) { return each.get() == &operation; });
    if (found == line.operations.end()) return;
    if (found == line.operations.begin()) return drop_first(line);
    if (operation.has_listeners()) listening_.fetch_sub(1, std::memory_order_seq_cst);
    line.operations.erase(found);
    line.length.store(line.operations.size(), std::memory_order_release);
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
}

/// Returns true if some operation's turn came.
bool OperationQueue::hand_on(Line &line) noexcept {
    bool came = false;
    const auto moved_on = [&] {
        return line.operations.size() > 1 || (line.operations.size() == 1 && line.operations.front()->has_listeners());
    };
    for (; moved_on() && line.operations.front()->notice(); came = true) drop_first(line);
    // Other workers and GPUs can begin now; they need not wait until somebody asks about the operation.
    if (line.operations.size() != 1) return came;
    if (executors_.workers() != nullptr || line.operations.front()->on_gpus()) line.operations.front()->begin();
    return came;
}

bool OperationQueue::hand_on_lines() noexcept {
    bool came = false;
    bool again;
    do {
        again = false;
        for (uint32_t party = 0; party < group_.parties(); ++party) {
            const std::lock_guard lock(lines_[party].mutex);
            again = hand_on(lines_[party]) || again;
        }
        came = came || again;
    } while (again && waiting_.load(std::memory_order_seq_cst) != 0);
    return came;
}

/// Moves the line on until the operation is over, or this party can do no more.
void OperationQueue::move_on(Line &line, const Operation &operation) noexcept {
    while (!line.operations.empty() && !operation.over() && line.operations.front()->move_on()) drop_first(line);
    hand_on(line);
}

/// The same for an operation with an alarm. The alarm is off until there is news again, or a party is late.
void OperationQueue::move_on_quietly(Line &line, Operation &operation) noexcept {
    const auto deadline = [&] { return line.operations.empty() ? kNoDeadline : line.operations.front()->deadline(); };
    uint64_t set;
    do {
        set = deadline();
        operation.set_alarm(set); // set it before looking for news
        move_on(line, operation);
    } while (!operation.over() && deadline() < set);
}

OperationQueue::Pause OperationQueue::advance(Operation &operation) noexcept {
    Line &line = line_of(operation);
    Pause pause = {};
    do {
        const std::lock_guard lock(line.mutex);
        operation.has_alarm() ? move_on_quietly(line, operation) : move_on(line, operation);
        if (!operation.over()) pause = {line.operations.front()->working(), line.operations.front()->deadline()};
    } while (hand_on() && !operation.over());
    return pause;
}

bool OperationQueue::test(Operation &operation) {
    if (!operation.over()) advance(operation);
    done_.make();
    return operation.take_result();
}

bool OperationQueue::wait(Operation &operation, uint64_t timeout_ns) {
    if (operation.over()) return operation.take_result();
    const uint64_t begin = monotonic_clock().now_ns();
    for (;;) {
        const uint32_t round = group_.round();
        const uint32_t finishes = group_.finishes();
        const Pause pause = advance(operation);
        done_.make();
        if (operation.over()) return operation.take_result();
        const uint64_t now = monotonic_clock().now_ns();
        if (now - begin >= timeout_ns) return false;
        const uint64_t left = timeout_ns - (now - begin);
        if (pause.working)
            group_.wait_finish(finishes, left);
        else
            group_.wait_round(round, std::min(left, pause.deadline - std::min(now, pause.deadline)));
    }
}

void OperationQueue::drain(uint32_t party) {
    std::shared_ptr<Operation> last;
    {
        const std::lock_guard lock(lines_[party].mutex);
        if (lines_[party].operations.empty()) return;
        last = lines_[party].operations.back();
    }
    try {
        wait(*last, kNoDeadline);
    } catch (const Failure &) {
        // The operation reports this to its own callers, and the group's state keeps the party from going on.
    }
}

void OperationQueue::settle(Operation &operation, const Failure &cause) noexcept {
    end(operation, cause);
    done_.make();
    operation.leave_result();
}

void OperationQueue::end(Operation &operation, const Failure &cause) noexcept {
    Line &line = line_of(operation);
    for (;;) {
        const uint32_t finishes = group_.finishes();
        advance(operation);
        {
            const std::lock_guard lock(line.mutex);
            if (operation.over()) return drop(line, operation);
            Operation &first = *line.operations.front();
            const bool is_first = &first == &operation;
            const bool given_up = is_first ? first.withdraw() : !first.met() || executors_.workers() != nullptr;
            if (given_up) {
                operation.end(cause);
                return drop(line, operation);
            }
            if (!first.working()) continue; // its parties have met since this thread looked
            // Nobody knows when the other workers would come. If the group has ended, they may first hear of it here.
            if (executors_.workers() != nullptr) executors_.workers()->fail(group_.cause().value_or(cause));
        }
        // The others do their part inside library calls, which wait only for other workers.
        group_.wait_finish(finishes, kNoDeadline);
    }
}

void OperationQueue::when_over(Operation &operation, std::function<void(mdist_status_t)> function) {
    DoneCalls::List functions;
    functions.push_back({std::move(function), MDIST_OK});
    {
        Line &line = line_of(operation);
        const std::lock_guard lock(line.mutex);
        if (operation.over()) {
            done_.add(functions, operation.status());
        } else {
            if (!operation.has_listeners()) listening_.fetch_add(1, std::memory_order_seq_cst);
            operation.listen(functions, done_);
        }
    }
    hand_on(); // it may have ended without anybody noticing
}

int OperationQueue::descriptor(Operation &operation) {
    Line &line = line_of(operation);
    const std::lock_guard lock(line.mutex);
    if (!operation.has_alarm()) {
        operation.make_alarm();
        if (!operation.over()) {
            const Operation &first = *line.operations.front();
            operation.set_alarm(first.deadline());
            if (first.news()) operation.ring_alarm();
        }
    }
    return operation.duplicate_alarm();
}

bool OperationQueue::end(uint32_t party, FunctionRef<Failure(const Operation &)> cause) noexcept {
    Line &line = lines_[party];
    const auto first = [&]() -> std::shared_ptr<Operation> {
        const std::lock_guard lock(line.mutex);
        while (!line.operations.empty() && line.operations.front()->over()) drop_first(line); // failed
        return line.operations.empty() ? nullptr : line.operations.front();
    };
    std::shared_ptr<Operation> operation = first();
    if (!operation) {
        done_.finish();
        return false;
    }
    const Failure why = failure_or(out_of_memory(), [&] { return cause(*operation); });
    for (; operation; operation = first()) settle(*operation, why);
    group_.release(why);
    done_.finish();
    return true;
}

} // namespace mdist
