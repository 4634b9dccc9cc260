// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/blobs.h"

#include "comm/call/bad_message.h"
#include "comm/schedules/broadcast.h"
#include "comm/schedules/transfer.h"
#include "comm/workers/sizes.h"
#include "util/text.h"

#include <cstring>

#include <unistd.h>

namespace mdist::workers {
namespace {

using Length = uint64_t;

/// The length, and also the blob if it fits beside it.
std::string payload_of(std::string_view blob, std::size_t most) {
    const Length length = blob.size();
    std::string payload(reinterpret_cast<const char *>(&length), sizeof length);
    return length <= most ? payload.append(blob) : payload;
}

/// A worker's length as it says. Throws DATA_LOSS if its payload does not fit that length.
Length length_of(const Link::Message &payload, uint32_t rank, std::size_t most) {
    Length length = 0;
    if (payload.bytes >= sizeof length) std::memcpy(&length, payload.data, sizeof length);
    if (payload.bytes < sizeof length || payload.bytes != sizeof length + (length <= most ? length : 0))
        throw bad_message(rank, text(payload.bytes, " bytes that are not a length followed by data of that length"));
    return length;
}

/// The memory of this host. A larger length is refused, before the kernel takes that memory from another process.
uint64_t memory_bytes() {
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

std::size_t most_inline(const Workers &workers, bool directly) {
    return WorkerOperation::most_payload(workers, directly) - sizeof(Length);
}

Blobs agree_with_blobs(WorkerOperation &operation, Workers &workers, std::string_view own, uint64_t longest,
                       const FunctionRef<void()> *send) {
    const std::size_t most = most_inline(workers, send != nullptr || workers.meets_directly());
    const std::string payload = payload_of(own, most);
    if (send != nullptr)
        operation.agree_before(*send, {payload.data(), payload.size()});
    else
        operation.agree({payload.data(), payload.size()});
    return operation.checked([&] {
        Blobs blobs(workers.count());
        std::vector<Transfer::Outgoing> sends;
        std::vector<Transfer::Incoming> receives;
        uint64_t left = memory_bytes();
        for (uint32_t worker = 0; worker < workers.count(); ++worker) {
            const Link::Message come = operation.payload(worker);
            const uint32_t rank = workers.rank(worker);
            const Length length = length_of(come, rank, most);
            if (length > longest)
                throw bad_message(rank, text("lengths in ", length, " bytes; the most are ", longest));
            if (length > left)
                throw Failure(MDIST_ERR_OUT_OF_MEMORY, text("worker ", rank, " has ", length,
                                                            " bytes for every worker; together with the other workers' "
                                                            "bytes that is more than this host's memory"))
                    .worker(rank);
            left -= length;
            blobs[worker].resize(length);
            if (worker == workers.self()) {
                blobs[worker] = own;
                for (uint32_t peer = 0; length > most && peer < workers.count(); ++peer)
                    if (peer != worker) sends.push_back({peer, own.data(), length});
            } else if (length > most) {
                receives.push_back({worker, blobs[worker].data(), length});
            } else if (length != 0) {
                std::memcpy(blobs[worker].data(), static_cast<const char *>(come.data) + sizeof length, length);
            }
        }
        if (!sends.empty() || !receives.empty()) operation.run<Transfer>(operation.tag(), sends, receives);
        return blobs;
    });
}

} // namespace mdist::workers

namespace mdist {

void Workers::meet(const Call &call, uint64_t timeout_ns) {
    guarded([&] { WorkerOperation(*this, call, timeout_ns).agree(); });
}

Blobs Workers::gather(const Call &call, std::string_view own, uint64_t timeout_ns) {
    return guarded([&] {
        WorkerOperation operation(*this, call, timeout_ns);
        return workers::agree_with_blobs(operation, *this, own);
    });
}

Blobs Workers::exchange(const Call &call, const Blobs &blobs, uint64_t timeout_ns) {
    return guarded([&] {
        std::string lengths; // sent to all: small, and it takes one trip
        for (const std::string &blob : blobs) {
            const uint64_t length = blob.size();
            lengths.append(reinterpret_cast<const char *>(&length), sizeof length);
        }
        WorkerOperation operation(*this, call, timeout_ns);
        const Blobs tables = workers::agree_with_blobs(operation, *this, lengths);
        Blobs received(count());
        operation.checked([&] {
            uint64_t left = workers::memory_bytes();
            for (uint32_t worker = 0; worker < count(); ++worker) {
                const std::string &table = tables[worker];
                uint64_t length = 0;
                if (table.size() != count() * sizeof length)
                    throw bad_message(worker,
                                      text("a table of ", table.size(), " bytes instead of ", count() * sizeof length));
                std::memcpy(&length, table.data() + self() * sizeof length, sizeof length);
                if (length > left)
                    throw Failure(MDIST_ERR_OUT_OF_MEMORY, text("worker ", worker, " has ", length, " bytes for ",
                                                                name(self()), ", which does not have memory for them"))
                        .worker(worker);
                left -= length;
                received[worker].resize(length);
            }
        });
        std::vector<Transfer::Outgoing> sends;
        std::vector<Transfer::Incoming> receives;
        for (uint32_t worker = 0; worker < count(); ++worker) {
            if (!blobs[worker].empty()) sends.push_back({worker, blobs[worker].data(), blobs[worker].size()});
            if (!received[worker].empty())
                receives.push_back({worker, received[worker].data(), received[worker].size()});
        }
        operation.run<Transfer>(operation.tag(), sends, receives);
        return received;
    });
}

void Workers::broadcast(const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns) {
    guarded([&] {
        const bool along = bytes <= sizes::broadcast_along(count(), per_host(), meets_directly());
        const bool here = self() == 0;
        WorkerOperation operation(*this, call, timeout_ns);
        along ? operation.agree({data, here ? bytes : 0}, 0) : operation.agree();
        if (!along)
            return operation.run<Broadcast>(operation.tag(), 0, per_host(),
                                            std::vector<Broadcast::Range>{{data, bytes}});
        const Link::Message come = operation.payload(0);
        operation.checked([&] {
            if (come.bytes != bytes) throw bad_message(0, text(come.bytes, " bytes to all workers instead of ", bytes));
        });
        if (!here && bytes != 0) std::memcpy(data, come.data, bytes);
    });
}

} // namespace mdist
