// SPDX-License-Identifier: Apache-2.0
#include "nccl_comm.h"

#include "errors.h"
#include "faults.h"
#include "options.h"
#include "streams.h"

#include <chrono>
#include <thread>

namespace fake_gpu {

Communicator::Communicator(int32_t device, int32_t ranks, int32_t rank, std::unique_ptr<Membership> membership)
    : membership_(std::move(membership)),
      side_{membership_->shared(), device, ranks, rank, aborted_},
      polls_(options().nccl_polls) {}

int Communicator::state() {
    const std::lock_guard guard(lock_);
    if (error_ == kNcclOk && device_error(side_.device) != 0) error_ = kNcclUnhandledCuda;
    if (error_ != kNcclOk) return error_;
    if (polls_ > 0) return --polls_, kNcclInProgress;
    return look();
}

/// Returns the state, after enough polls. Call it with the lock held.
int Communicator::look() {
    if (!joined_) {
        if (!membership_->complete()) return kNcclInProgress;
        joined_ = true;
        if (membership_->has_duplicates()) {
            note_problem("a GPU was given to two ranks of a communicator");
            return error_ = kNcclInvalidUsage;
        }
    }
    std::vector<Waiting> ready;
    ready.swap(waiting_);
    for (Waiting &waiting : ready) put_on_stream(std::move(waiting));
    if (finalizing_ && done_ != given_) return kNcclInProgress;
    return error_;
}

int Communicator::ready_for_call() {
    const std::lock_guard guard(lock_);
    if (error_ != kNcclOk) return error_;
    if (joined_ && !finalizing_ && waiting_.empty()) return kNcclOk;
    note_problem("NCCL was called before its last call was over");
    return kNcclInvalidArgument;
}

int Communicator::begin(mdist_gpu_stream *stream, std::vector<NcclCall> calls, bool hang) {
    const std::lock_guard guard(lock_);
    waiting_.push_back({stream, std::move(calls), hang});
    polls_ = options().nccl_polls;
    return polls_ > 0 ? kNcclInProgress : look();
}

int Communicator::finalize() {
    const std::lock_guard guard(lock_);
    if (error_ != kNcclOk) return error_;
    finalizing_ = true;
    polls_ = options().nccl_polls;
    return polls_ > 0 ? kNcclInProgress : look();
}

bool Communicator::finalized() {
    const std::lock_guard guard(lock_);
    return finalizing_ && polls_ == 0 && done_ == given_;
}

void Communicator::fail(int error) {
    const std::lock_guard guard(lock_);
    if (error_ == kNcclOk) error_ = error;
}

void Communicator::abort() {
    aborted_ = true;
}

void Communicator::put_on_stream(Waiting waiting) {
    mdist_gpu_stream *stream = waiting.stream;
    const auto make = [self = shared_from_this(), waiting = std::move(waiting)] {
        return [self, waiting, number = self->given_++] { return self->run(waiting, number); };
    };
    if (push_made(side_.device, stream, make) != kOk) error_ = kNcclUnhandledCuda;
}

/// Runs an operation on its stream. Operations on several streams run one after another, in the order of the calls.
int Communicator::run(const Waiting &waiting, uint64_t number) {
    while (done_ != number && !aborted_) std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (waiting.hang) hang(begin_hang(), [this] { return aborted_ || device_error(side_.device) != 0; });
    const Outcome outcome = aborted_ ? Outcome::kAborted : do_calls_alone(side_, waiting.calls);
    done_ = number + 1;
    if (outcome == Outcome::kIllegalAddress) return kIllegalAddress;
    if (outcome == Outcome::kMismatch) {
        note_problem("ranks called NCCL for different things");
        fail(kNcclInternal);
    }
    return kOk;
}

} // namespace fake_gpu
