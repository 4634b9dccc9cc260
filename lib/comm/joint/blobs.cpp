// SPDX-License-Identifier: Apache-2.0
#include "comm/joint/blobs.h"

#include "comm/joint/collectives.h"
#include "comm/schedules/broadcast.h"
#include "comm/schedules/transfer.h"
#include "util/text.h"

#include <cstring>
#include <utility>

namespace mdist::joint {
namespace {

constexpr std::size_t kMostInline = SmallExchange::kPayloadLimit - sizeof(uint64_t);

/// The length, and the bytes themselves if they fit.
std::vector<char> payload_of(const void *data, uint64_t bytes) {
    std::vector<char> payload(sizeof bytes + (bytes <= kMostInline ? bytes : 0));
    std::memcpy(payload.data(), &bytes, sizeof bytes);
    if (payload.size() > sizeof bytes) std::memcpy(payload.data() + sizeof bytes, data, bytes);
    return payload;
}

/// Of another worker: this one's own payload is gone.
uint64_t length_in(const JointOperation &operation, uint32_t worker) {
    uint64_t bytes = 0;
    if (operation.payload_bytes(worker) >= sizeof bytes) std::memcpy(&bytes, operation.payload(worker), sizeof bytes);
    return bytes;
}

JointOperation begin(Workers &workers, const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns) {
    const std::vector<char> payload = payload_of(data, bytes);
    return JointOperation(workers, call, payload.data(), payload.size(), timeout_ns);
}

} // namespace

BlobOperation::BlobOperation(Workers &workers, const Call &call, const void *data, std::size_t bytes,
                             uint64_t timeout_ns)
    : operation_(begin(workers, call, data, bytes, timeout_ns)), blobs_(workers.count()) {
    std::vector<Transfer::Outgoing> sends;
    std::vector<Transfer::Incoming> receives;
    for (uint32_t worker = 0; worker < workers.count(); ++worker) {
        const uint64_t length = worker == workers.self() ? bytes : length_in(operation_, worker);
        blobs_[worker].resize(length);
        const bool large = length > kMostInline;
        if (worker == workers.self()) {
            if (bytes != 0) std::memcpy(blobs_[worker].data(), data, bytes);
            for (uint32_t peer = 0; large && peer < workers.count(); ++peer)
                if (peer != worker) sends.push_back({peer, blobs_[worker].data(), length});
        } else if (large) {
            receives.push_back({worker, blobs_[worker].data(), length});
        } else if (length != 0) {
            std::memcpy(blobs_[worker].data(), operation_.payload(worker) + sizeof length, length);
        }
    }
    operation_.run<Transfer>(operation_.tag(), sends, receives);
}

Workers::Blobs gather_blobs(Workers &workers, const Call &call, const void *data, std::size_t bytes,
                            uint64_t timeout_ns) {
    return std::move(BlobOperation(workers, call, data, bytes, timeout_ns).blobs());
}

void broadcast_blob(Workers &workers, const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns) {
    const bool small = bytes <= SmallExchange::kPayloadLimit;
    const bool here = workers.self() == 0;
    JointOperation operation(workers, call, data, here && small ? bytes : 0, timeout_ns);
    if (!small) {
        operation.run<Broadcast>(operation.tag(), 0, std::vector<Broadcast::Range>{{data, bytes}});
    } else if (operation.payload_bytes(0) != bytes) {
        operation.fail(Failure(MDIST_ERR_INTERNAL, text(workers.name(0), " sent ", operation.payload_bytes(0),
                                                        " bytes, and ", bytes, " were due")));
    } else if (!here && bytes != 0) {
        std::memcpy(data, operation.payload(0), bytes);
    }
}

} // namespace mdist::joint
