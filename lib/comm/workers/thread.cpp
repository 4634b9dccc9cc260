// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/thread.h"

#include "util/failure.h"
#include "util/thread.h"

#include <utility>

namespace mdist {

WorkerThread::WorkerThread() {
    if (const int refused = start_thread(&thread_, main, this, "mdist-work"); refused != 0)
        throw Failure(MDIST_ERR_RESOURCE, "the system refused a thread for started operations").native(refused);
}

WorkerThread::~WorkerThread() {
    give([this] { ended_ = true; });
    pthread_join(thread_, nullptr);
}

void WorkerThread::give(std::function<void()> job) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !job_; });
    job_ = std::move(job);
    changed_.notify_all();
}

void *WorkerThread::main(void *self) {
    prefer_short_turns();
    static_cast<WorkerThread *>(self)->work();
    return nullptr;
}

void WorkerThread::work() {
    while (!ended_) {
        std::function<void()> job;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return static_cast<bool>(job_); });
            job = std::exchange(job_, nullptr);
            changed_.notify_all();
        }
        job();
    }
}

} // namespace mdist
