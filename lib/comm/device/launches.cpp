// SPDX-License-Identifier: Apache-2.0
#include "comm/device/launches.h"

#include "util/clock.h"
#include "util/text.h"
#include "util/thread.h"

#include <chrono>
#include <exception>
#include <utility>

namespace mdist {
namespace {

constexpr auto kLookAround = std::chrono::milliseconds(20); // how often to look whether the job has failed

} // namespace

Launches::~Launches() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        given_.notify_all();
    }
    for (const auto &worker : workers_) pthread_join(worker->thread, nullptr);
}

void *Launches::main(void *worker) {
    auto *const self = static_cast<Worker *>(worker);
    self->all->work(*self);
    return nullptr;
}

void Launches::work(Worker &worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
        given_.wait(lock, [&] { return worker.lane != nullptr || ending_; });
        if (worker.lane == nullptr) return;
        lock.unlock();
        std::optional<Failure> wrong;
        try {
            worker.lane->launch();
        } catch (const std::exception &caught) {
            wrong = as_failure(caught);
        }
        lock.lock();
        worker.lane = nullptr;
        if (wrong && !wrong_) wrong_ = std::move(wrong);
        if (--left_ == 0) done_.notify_all();
    }
}

void Launches::add_worker() {
    auto worker = std::make_unique<Worker>();
    worker->all = this;
    workers_.reserve(workers_.size() + 1);
    if (const int refused = start_thread(&worker->thread, main, worker.get(), "mdist-launch"))
        throw Failure(MDIST_ERR_RESOURCE, "the system refused a thread for the launch of a graph").native(refused);
    workers_.push_back(std::move(worker));
}

void Launches::run(const std::vector<std::unique_ptr<Lane>> &lanes, uint64_t timeout_ns, FunctionRef<bool()> failed,
                   FunctionRef<void()> give_up) {
    while (workers_.size() < lanes.size()) add_worker();
    const uint64_t begin = monotonic_clock().now_ns();
    bool given_up = false;
    std::optional<Failure> first;
    std::unique_lock lock(mutex_);
    wrong_.reset();
    left_ = lanes.size();
    for (std::size_t i = 0; i < lanes.size(); ++i) workers_[i]->lane = lanes[i].get();
    given_.notify_all();
    while (!done_.wait_for(lock, kLookAround, [this] { return left_ == 0; })) {
        if (given_up) continue;
        // A lane that has failed leaves the others' kernels without one to meet.
        first = wrong_;
        if (!first && monotonic_clock().now_ns() - begin >= timeout_ns)
            first = failure_or({MDIST_ERR_TIMEOUT, ""}, [&] {
                return Failure(MDIST_ERR_TIMEOUT, text("CUDA did not launch a graph with NCCL's kernels within ",
                                                       timeout_ns / 1'000'000, " ms"))
                    .reason("nccl_timeout");
            });
        if (!first && failed())
            first = Failure(MDIST_ERR_ABORTED, "the launch of a graph was aborted because the job has failed");
        if (!first) continue;
        given_up = true; // launches that fail from here on do so because of it
        lock.unlock();
        give_up();
        lock.lock();
    }
    if (!first) first = wrong_;
    if (first) throw Failure(*first);
}

} // namespace mdist
