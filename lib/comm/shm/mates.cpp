// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/mates.h"

#include "util/failure.h"
#include "util/host.h"
#include "util/text.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <unistd.h>

namespace mdist {
namespace {

constexpr uint64_t kLeastArena = uint64_t{64} << 20;

/// The host in an offer. It stands behind the segment's part, on a line of its own, since a host identity contains
/// blanks.
std::string host_of(const std::string &offer) {
    const std::size_t end = offer.find('\n');
    return end == std::string::npos ? "" : offer.substr(end + 1);
}

bool same_format(const ShmSizes &a, const ShmSizes &b) {
    return a.workers == b.workers && a.ring_bytes == b.ring_bytes && a.small_bytes == b.small_bytes &&
           a.stage_bytes == b.stage_bytes;
}

} // namespace

ShmSizes ShmSizes::for_workers(uint32_t workers) {
    constexpr uint64_t kMebi = uint64_t{1} << 20;
    const auto pages = static_cast<uint64_t>(std::max(1L, sysconf(_SC_PHYS_PAGES)));
    const uint64_t memory = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    ShmSizes sizes;
    workers = std::min(workers, ShmBlocks::kMostMates);
    sizes.workers = workers;
    sizes.ring_bytes = std::clamp(std::bit_floor(16 * kMebi / workers), kMebi / 16, kMebi / 4);
    sizes.small_bytes = std::clamp(std::bit_floor(kMebi / 2 / workers), kMebi / 64, kMebi / 4);
    sizes.stage_bytes = kMebi;
    // Each worker maps every worker's arena, and a process has 128 TiB of address space at most.
    sizes.arena_bytes = std::min(16 * memory, 64 * kMebi * kMebi / workers) / kMebi * kMebi;
    return sizes;
}

ShmMates::ShmMates(uint32_t rank, uint32_t workers, const ShmSizes &sizes, uint32_t threads,
                   std::vector<uint32_t> job_ranks)
    : rank_(rank), job_ranks_(std::move(job_ranks)), mates_(workers) {
    try {
        doorbell_.emplace();
        make_own(sizes);
    } catch (const Failure &failure) {
        own_reason_ = failure.message();
        for (Mate &mate : mates_) mate.reason = own_reason_;
        return;
    }
    ShmControl &control = own();
    control.rank = rank;
    control.sizes = layout_->sizes();
    control.threads = threads;
    control.usable_cpus = usable_cpus();
    control.doorbell = doorbell_->number();
    if (sched_getaffinity(0, sizeof control.affinity, &control.affinity) != 0) CPU_ZERO(&control.affinity);
}

void ShmMates::make_own(ShmSizes sizes) {
    for (;; sizes.arena_bytes /= 2) {
        if (sizes.arena_bytes < kLeastArena && sizes.arena_bytes != 0) sizes.arena_bytes = 0;
        layout_.emplace(sizes);
        try {
            auto segment = std::make_shared<OwnSegment>(layout_->total());
            // Back what mates look at before the owner has written it. Rings and stages are backed when they are first
            // used.
            segment->require(0, layout_->rings(), "the workers of this host");
            segment->require(layout_->slot(0), layout_->partials(0) - layout_->slot(0), "small collectives");
            own_ = std::move(segment);
            return;
        } catch (const Failure &) {
            if (sizes.arena_bytes == 0) throw;
        }
    }
}

std::string ShmMates::offer() const {
    return text(own_ ? own_->offer() : own_reason_, '\n', own_ ? host_identity() : "");
}

std::string ShmMates::open(const std::vector<std::string> &offers) {
    std::vector<std::string> hosts;
    for (const std::string &each : offers) hosts.push_back(host_of(each));
    blocks_.emplace(hosts);
    for (uint32_t rank = 0; rank < workers() && own_; ++rank) {
        if (blocks_->together(rank, rank_)) continue;
        Mate &mate = mates_[rank];
        mate.is_beyond = hosts[rank] == hosts[rank_] && !hosts[rank].empty();
        mate.reason = mate.is_beyond ? text("it is not among the ", blocks_->members(rank_).size(),
                                            " workers of this host that share memory with this one")
                      : hosts[rank].empty() || hosts[rank_].empty() ? "its host is not known"
                                                                    : "it runs on another host";
    }
    std::string opened;
    for (const uint32_t rank : blocks_->members(rank_)) {
        try {
            if (rank != rank_ && own_) open(rank, offers[rank]);
        } catch (const Failure &failure) {
            mates_[rank].reason = failure.message();
        }
        opened += shares(rank) || rank == rank_ ? '1' : '0';
    }
    return opened;
}

void ShmMates::open(uint32_t rank, const std::string &offer) {
    auto segment = std::make_unique<MateSegment>(offer);
    const ShmControl &control = *reinterpret_cast<const ShmControl *>(segment->data());
    if (segment->bytes() < layout_->arena() || control.rank != rank || !same_format(control.sizes, layout_->sizes()))
        throw invalid("its shared memory has a different layout");
    mates_[rank].doorbell = std::make_unique<MateDoorbell>(*segment, control.doorbell);
    mates_[rank].segment = std::move(segment);
}

void ShmMates::settle(const std::vector<std::string> &opened) {
    // Decide by what all workers have told each other, so that all come to the same result.
    per_host_ = blocks_->length_of_rows(opened);
    for (const uint32_t rank : blocks_->members(rank_)) {
        if (!shares(rank) || blocks_->share(opened, rank_, rank)) continue;
        mates_[rank].segment.reset();
        mates_[rank].doorbell.reset();
        mates_[rank].reason = "it cannot open the shared memory of this worker";
    }
}

std::optional<uint64_t> ShmMates::arena_offset(const void *data, std::size_t bytes) const {
    const auto address = reinterpret_cast<uintptr_t>(data);
    const auto begin = reinterpret_cast<uintptr_t>(own(layout_->arena()));
    const std::size_t arena = layout_->sizes().arena_bytes;
    if (address < begin || address - begin > arena || bytes > arena - (address - begin)) return std::nullopt;
    return layout_->arena() + (address - begin);
}

const char *ShmMates::arena_address(uint32_t rank, uint64_t offset, std::size_t bytes) const {
    const std::size_t end = rank == rank_ ? own_->bytes() : this->bytes(rank);
    if (offset < layout_->arena() || offset > end || bytes > end - offset) return nullptr;
    return rank == rank_ ? own(offset) : of(rank, offset);
}

/// Workers bound to different CPUs have all of these CPUs together, whatever each of them sees of the host.
cpu_set_t ShmMates::cpus() const {
    cpu_set_t cpus = own().affinity;
    for (uint32_t rank = 0; rank < workers(); ++rank)
        if (shares(rank)) CPU_OR(&cpus, &cpus, &of(rank).affinity);
    return cpus;
}

Patience ShmMates::patience() const {
    const cpu_set_t cpus = this->cpus();
    uint64_t threads = own().threads;
    uint64_t quota =
        own().usable_cpus < static_cast<uint64_t>(CPU_COUNT(&own().affinity)) ? own().usable_cpus : UINT32_MAX;
    for (uint32_t rank = 0; rank < workers(); ++rank) {
        if (!shares(rank)) continue;
        const ShmControl &mate = of(rank);
        threads += mate.threads;
        if (mate.usable_cpus < static_cast<uint64_t>(CPU_COUNT(&mate.affinity)))
            quota = std::min(quota, mate.usable_cpus);
    }
    const uint64_t together = std::min<uint64_t>(static_cast<uint64_t>(CPU_COUNT(&cpus)), quota);
    return Patience::for_threads(static_cast<uint32_t>(threads),
                                 static_cast<uint32_t>(std::max<uint64_t>(together, 1)));
}

} // namespace mdist
