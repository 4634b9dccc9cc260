// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/blobs.h"

#include "comm/call/bad_message.h"
#include "comm/schedules/broadcast.h"
#include "comm/schedules/transfer.h"
#include "util/text.h"

#include <cstring>
#include <utility>

#include <unistd.h>

namespace mdist::workers {
namespace {

constexpr std::size_t kMostInline = SmallExchange::kPayloadLimit - sizeof(uint64_t);

/// The length, and also the blob if it fits beside it.
std::vector<char> payload_of(const void *data, uint64_t bytes) {
    std::vector<char> payload(sizeof bytes + (bytes <= kMostInline ? bytes : 0));
    std::memcpy(payload.data(), &bytes, sizeof bytes);
    if (payload.size() > sizeof bytes) std::memcpy(payload.data() + sizeof bytes, data, bytes);
    return payload;
}

/// The memory of this host. A larger length is refused, before the kernel takes that memory from another process.
uint64_t memory_bytes() {
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

BlobOperation::BlobOperation(WorkerGroup &workers, const Call &call, const void *data, std::size_t bytes,
                             uint64_t timeout_ns)
    : payload_(payload_of(data, bytes)),
      operation_(workers, call, payload_.data(), payload_.size(), timeout_ns),
      blobs_(workers.count()) {
    const std::vector<uint64_t> lengths = checked_lengths();
    std::vector<Transfer::Outgoing> sends;
    std::vector<Transfer::Incoming> receives;
    for (uint32_t worker = 0; worker < workers.count(); ++worker) {
        const uint64_t length = lengths[worker];
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

/// A worker's length as it says; UINT64_MAX if its payload does not fit that length.
uint64_t BlobOperation::length_of(uint32_t worker) const {
    uint64_t length = UINT64_MAX;
    const std::size_t sent = operation_.payload_bytes(worker);
    if (sent < sizeof length) return UINT64_MAX;
    std::memcpy(&length, operation_.payload(worker), sizeof length);
    return sent == sizeof length + (length <= kMostInline ? length : 0) ? length : UINT64_MAX;
}

std::vector<uint64_t> BlobOperation::checked_lengths() {
    std::vector<uint64_t> lengths;
    uint64_t left = memory_bytes();
    for (uint32_t worker = 0; worker < blobs_.size(); ++worker) {
        const uint64_t length = length_of(worker);
        if (length == UINT64_MAX)
            operation_.fail(bad_message(operation_.link().rank(worker),
                                        text(operation_.payload_bytes(worker),
                                             " bytes that are not a length followed by data of that length")));
        if (length > left)
            operation_.fail(
                Failure(MDIST_ERR_OUT_OF_MEMORY, text("worker ", operation_.link().rank(worker), " has ", length,
                                                      " bytes for every worker; together with the other workers' bytes "
                                                      "that is more than this host's memory"))
                    .worker(operation_.link().rank(worker)));
        left -= length;
        lengths.push_back(length);
    }
    return lengths;
}

Blobs gather_blobs(WorkerGroup &workers, const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns) {
    return std::move(BlobOperation(workers, call, data, bytes, timeout_ns).blobs());
}

Blobs exchange_blobs(WorkerGroup &workers, const Call &call, const std::vector<std::string> &blobs,
                     uint64_t timeout_ns) {
    std::vector<uint64_t> lengths; // sent to all: small, and it takes one trip
    for (const std::string &blob : blobs) lengths.push_back(blob.size());
    BlobOperation tables(workers, call, lengths.data(), lengths.size() * sizeof(uint64_t), timeout_ns);
    Blobs received(workers.count());
    uint64_t left = memory_bytes();
    for (uint32_t worker = 0; worker < workers.count(); ++worker) {
        const std::vector<char> &table = tables.blobs()[worker];
        uint64_t length = 0;
        if (table.size() != workers.count() * sizeof length)
            tables.operation().fail(bad_message(
                worker, text("a table of ", table.size(), " bytes instead of ", workers.count() * sizeof length)));
        std::memcpy(&length, table.data() + workers.self() * sizeof length, sizeof length);
        if (length > left)
            tables.operation().fail(Failure(MDIST_ERR_OUT_OF_MEMORY,
                                            text("worker ", worker, " has ", length, " bytes for ",
                                                 workers.name(workers.self()), ", which does not have memory for them"))
                                        .worker(worker));
        left -= length;
        received[worker].resize(length);
    }
    std::vector<Transfer::Outgoing> sends;
    std::vector<Transfer::Incoming> receives;
    for (uint32_t worker = 0; worker < workers.count(); ++worker) {
        if (!blobs[worker].empty()) sends.push_back({worker, blobs[worker].data(), blobs[worker].size()});
        if (!received[worker].empty()) receives.push_back({worker, received[worker].data(), received[worker].size()});
    }
    tables.operation().run<Transfer>(tables.operation().tag(), sends, receives);
    return received;
}

void broadcast_blob(WorkerGroup &workers, const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns) {
    const bool small = bytes <= SmallExchange::kPayloadLimit;
    const bool here = workers.self() == 0;
    WorkerOperation operation(workers, call, data, here && small ? bytes : 0, timeout_ns);
    if (!small) {
        operation.run<Broadcast>(operation.tag(), 0, std::vector<Broadcast::Range>{{data, bytes}});
    } else if (operation.payload_bytes(0) != bytes) {
        operation.fail(bad_message(0, text(operation.payload_bytes(0), " bytes to all workers instead of ", bytes)));
    } else if (!here && bytes != 0) {
        std::memcpy(data, operation.payload(0), bytes);
    }
}

} // namespace mdist::workers
