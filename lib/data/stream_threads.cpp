// SPDX-License-Identifier: Apache-2.0
#include "data/stream_threads.h"

#include "util/clock.h"
#include "util/event_count.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/thread.h"
#include "util/utf8.h"

#include <mutex>
#include <system_error>
#include <utility>

namespace mdist {
namespace {

// The iteration that this thread works for. If such a thread destroys a stream of its own iteration, it does not wait
// for the stream's threads: it may be one of them, or one of them may wait for it. (A map function that destroys its
// own iterator does this, though it must not.)
thread_local const void *serving = nullptr;

/// Counts the threads that nobody joins and that may still use the caller's functions.
constinit std::atomic<uint32_t> stragglers{0};
constinit EventCount stragglers_gone;

} // namespace

/// Tracks a thread from its start to its last use of anything. The thread and its StreamThreads share it.
class StreamThreads::Straggler {
  public:
    void leave_behind() {
        const std::lock_guard lock(mutex_);
        if (!over_) ++stragglers;
        left_behind_ = true;
    }
    void end() {
        const std::lock_guard lock(mutex_);
        over_ = true;
        if (!left_behind_) return;
        --stragglers;
        stragglers_gone.advance();
    }

  private:
    std::mutex mutex_;
    bool over_ = false;
    bool left_behind_ = false;
};

/// What a thread holds. The destructor releases it in this order, however the thread ends.
struct StreamThreads::Job {
    std::shared_ptr<Straggler> straggler;
    std::shared_ptr<StreamWork> work;
    const void *iteration;
    ~Job() {
        work.reset();
        straggler->end();
    }
};

void *StreamThreads::run_member(void *argument) {
    const std::unique_ptr<Job> job(static_cast<Job *>(argument));
    serving = job->iteration;
    job->work->run();
    return nullptr;
}

int StreamThreads::start_member() {
    auto straggler = std::make_shared<Straggler>();
    auto argument = std::unique_ptr<Job>(new Job{straggler, work_, iteration()});
    Member &member = members_.emplace_back(Member{{}, std::move(straggler)});
    const int error = start_thread(&member.thread, run_member, argument.get(), name_);
    if (error == 0)
        argument.release();
    else
        members_.pop_back();
    return error;
}

void StreamThreads::start(const std::shared_ptr<StreamWork> &work, std::size_t count) {
    members_.reserve(count);
    work_ = work;
    int error = 0;
    while (error == 0 && members_.size() < count) error = start_member();
    if (!members_.empty()) return; // fewer threads than asked for can do the work, too
    work_.reset();
    throw Failure(MDIST_ERR_RESOURCE,
                  text("cannot start thread ", in_quotes(name_), ": ", std::generic_category().message(error)))
        .native(error);
}

void StreamThreads::join() {
    if (!running()) return;
    work_->stop();
    for (const Member &member : members_) pthread_join(member.thread, nullptr);
    members_.clear();
    work_.reset();
}

StreamThreads::~StreamThreads() {
    const bool awaited = awaits_ || (awaited_ != nullptr && *awaited_);
    if (serving != iteration() && awaited)
        join();
    else
        leave_behind();
}

void StreamThreads::leave_behind() {
    if (!running()) return;
    work_->stop();
    for (const Member &member : members_) {
        member.straggler->leave_behind();
        pthread_detach(member.thread);
    }
}

bool wait_for_stragglers(uint64_t timeout_ns) {
    const uint64_t start = monotonic_clock().now_ns();
    for (;;) {
        const uint32_t seen = stragglers_gone.now();
        if (stragglers == 0) return true;
        const uint64_t waited = monotonic_clock().now_ns() - start;
        if (waited >= timeout_ns) return false;
        stragglers_gone.wait(seen, Patience(), timeout_ns - waited);
    }
}

} // namespace mdist
