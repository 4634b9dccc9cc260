// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/frame.h"

#include "comm/mail/mail.h"
#include "strategy/job/context.h"
#include "strategy/job/release.h"
#include "util/callback.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {

Frame::Frame(Job &job) : job_(job) {
    for (uint32_t local = 0; local < job.replicas.local_count(); ++local)
        replicas_.push_back(std::make_unique<Replica>(job, local, common));
}

void Frame::begin(std::vector<ValuePointer> arguments, std::size_t result_count, uint64_t timeout_ns) {
    for (const auto &replica : replicas_) replica->results.resize(result_count);
    common.arguments = std::move(arguments);
    result_count_ = result_count;
    timeout_before_ = job_.comm.group().timeout();
    run_ = &job_.comm.mail().begin_run();
    for (const auto &replica : replicas_) replica->run = run_;
    if (timeout_ns != 0) job_.comm.group().set_timeout(timeout_ns);
}

void Frame::end() noexcept {
    job_.comm.mail().end_run(*run_);
    common.clear();
    for (const auto &replica : replicas_) replica->clear();
    job_.comm.group().set_timeout(timeout_before_);
}

Failure Frame::explained(const Failure &cause) const {
    if (cause.reason() != "step_returned") return cause;
    for (const auto &replica : replicas_) {
        const std::string sentence = replica->last_failure.sentence();
        if (sentence.empty() || cause.replica() != replica->id()) continue;
        return Failure(cause.status(),
                       text(cause.message(), ". A call of replica ", replica->id(), " had failed before: ", sentence))
            .operation(cause.operation())
            .replica(cause.replica())
            .worker(cause.worker())
            .reason(cause.reason());
    }
    return cause;
}

void Frame::execute(uint32_t local, const Step &step) {
    Replica &replica = *replicas_[local];
    Group &group = job_.comm.group();
    struct Departure {
        Group &group;
        Replica &replica;
        ~Departure() {
            replica.end_work();
            if (replica.attachment) replica.attachment->step_over();
            replica.end_device();
            group.depart(replica.local_index());
        }
    };
    replica.begin_device();
    const Departure departure{group, replica};
    const Context context(job_, Context::Kind::kReplica, local, &replica);
    const uint32_t id = replica.id();
    try {
        const int32_t code = step(replica);
        if (code == 0) return;
        if (const auto lost = replica.lost_device()) return release_failure(group, "mdist_run", id, *lost);
        release_callback(group, "mdist_run", id, code, [&] {
            return callback_returned(text("the step of replica ", id), code, replica.why()).message();
        });
    } catch (const Failure &failure) {
        release_failure(group, "mdist_run", id, failure);
    } catch (const std::exception &) { // the library's own failure, before the step began
        group.release(out_of_memory().replica(id));
    } catch (...) {
        release_ended(group, id);
        rethrow();
    }
}

std::vector<ValuePointer> Frame::take_results() {
    std::vector<ValuePointer> values(result_count_);
    const bool structured = std::any_of(replicas_.begin(), replicas_.end(),
                                        [](const auto &replica) { return !replica->structured_results.empty(); });
    try {
        for (std::size_t index = 0; index < result_count_; ++index)
            values[index] = structured ? take_parts(index) : take_tensors(index);
    } catch (const Failure &failure) {
        // The run has failed. Other workers must hear of it as of any other failure.
        release_failure(job_.comm.group(), "mdist_run", replicas_[0]->id(), failure);
        throw;
    }
    return values;
}

/// A result that no replica set at a path.
ValuePointer Frame::take_tensors(std::size_t index) {
    std::vector<Tensor> tensors;
    uint32_t missing = 0;
    uint32_t without = 0;
    for (uint32_t local = 0; local < replicas_.size(); ++local) {
        Tensor &tensor = replicas_[local]->results[index];
        if (!tensor.defined()) {
            ++missing;
            without = local;
        }
        tensors.push_back(std::move(tensor));
    }
    if (missing == replicas_.size()) return nullptr;
    if (missing != 0)
        throw Failure(MDIST_ERR_MISMATCH, text("result ", index, " was set by some replicas, but not by replica ",
                                               replicas_[without]->id()))
            .replica(replicas_[without]->id())
            .reason("missing_result");
    return Value::per_replica(std::move(tensors), text("result ", index).c_str());
}

ValuePointer Frame::take_parts(std::size_t index) {
    std::vector<Part> parts;
    for (const auto &replica : replicas_) parts.push_back(replica->take_result(index));
    return regroup(text("result ", index), std::move(parts), job_.replicas.first_id());
}

} // namespace mdist
