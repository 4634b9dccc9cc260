// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter: every worker receives the partials of its own replicas' parts from all others, and combines them.
#include "comm/flat.h"
#include "comm/joint/collectives.h"
#include "comm/joint/whole.h"
#include "comm/schedules/transfer.h"
#include "reduce/float_environment.h"
#include "util/dtype.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace mdist::joint {
namespace {

/// One buffer of the call, by itself.
class Buffer {
  public:
    Buffer(Workers &workers, const Call *const *calls, std::size_t b, const Parts &parts)
        : workers_(workers), parts_(parts), b_(b) {
        for (uint32_t local = 0; local < workers.replicas_per_worker(); ++local) {
            Call call = *calls[local];
            call.inputs += b;
            call.outputs += b;
            call.buffer_count = 1;
            calls_.push_back(call);
        }
        for (const Call &call : calls_) pointers_.push_back(&call);
        row_ = std::make_unique<Flat>(pointers_.data(), workers.replicas_per_worker(), calls_[0].inputs[0].dtype,
                                      workers.cut(), workers.self());
    }

    /// Where a worker's parts begin, and how many elements they are.
    uint64_t begin(uint32_t worker) const { return parts_.offset(worker * workers_.replicas_per_worker(), b_); }
    uint64_t length(uint32_t worker) const { return begin(worker + 1) - begin(worker); }

    /// Memory for this worker's partials of another's parts, and for another's partials of its own.
    std::size_t bytes_for(uint32_t worker) const {
        return row_->partial_count() * length(worker) * row_->partial_size();
    }
    std::size_t bytes_from(uint32_t worker) const {
        return workers_.cut().count(worker) * length(workers_.self()) * row_->partial_size();
    }

    void write(uint32_t worker, char *to) const {
        for (uint32_t i = 0; i < row_->partial_count(); ++i) {
            row_->partial(i, begin(worker), length(worker), to);
            to += length(worker) * row_->partial_size();
        }
    }

    /// `from`: every worker's partials of this worker's parts.
    void combine(const std::vector<std::vector<char>> &from) const {
        const uint64_t elements = length(workers_.self());
        std::vector<const void *> partials;
        for (uint32_t worker = 0; worker < workers_.count(); ++worker)
            for (uint32_t i = 0; i < workers_.cut().count(worker); ++i)
                partials.push_back(from[worker].data() + i * elements * row_->partial_size());
        const std::size_t size = dtype_size(row_->dtype());
        std::vector<char> results(elements * size);
        void *destination = results.data();
        reduce::combine_partials(row_->operation(), workers_.cut(), partials.data(), &destination, 1, elements);
        const char *at = results.data();
        for (const Call &call : calls_) {
            const std::size_t bytes = call.outputs[0].elements * size;
            if (bytes != 0) std::memcpy(call.outputs[0].data, at, bytes);
            at += bytes;
        }
    }

  private:
    Workers &workers_;
    const Parts &parts_;
    const std::size_t b_;
    std::vector<Call> calls_;
    std::vector<const Call *> pointers_;
    std::unique_ptr<Flat> row_;
};

} // namespace

void reduce_scatter(Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    const reduce::FloatEnvironment environment;
    Whole whole(workers, calls, timeout_ns);
    for (std::size_t b = 0; b < calls[0]->buffer_count; ++b) {
        const Buffer buffer(workers, calls, b, whole.parts());
        std::vector<std::vector<char>> outgoing(workers.count());
        std::vector<std::vector<char>> incoming(workers.count());
        std::vector<Transfer::Outgoing> sends;
        std::vector<Transfer::Incoming> receives;
        for (uint32_t worker = 0; worker < workers.count(); ++worker) {
            const bool own = worker == workers.self();
            outgoing[worker].resize(buffer.bytes_for(worker));
            buffer.write(worker, outgoing[worker].data());
            if (own) {
                incoming[worker].swap(outgoing[worker]);
                continue;
            }
            incoming[worker].resize(buffer.bytes_from(worker));
            sends.push_back({worker, outgoing[worker].data(), outgoing[worker].size()});
            receives.push_back({worker, incoming[worker].data(), incoming[worker].size()});
        }
        Transfer schedule(whole.operation().link(), whole.operation().tag(), sends, receives);
        whole.operation().drive(schedule);
        buffer.combine(incoming);
    }
}

} // namespace mdist::joint
