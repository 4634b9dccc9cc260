// SPDX-License-Identifier: Apache-2.0
#include "comm/device/nccl_start.h"

#include "comm/local/group.h"
#include "comm/workers/workers.h"
#include "util/host.h"
#include "util/text.h"

#include <algorithm>
#include <cstdlib>

namespace mdist {
namespace {

/// What one worker tells the others, in lines: its obstacle, then each of its GPUs.
std::string offer_of(const Lanes &lanes, const std::string &obstacle) {
    std::string lines = obstacle + "\n";
    for (uint32_t party = 0; party < lanes.parties(); ++party)
        lines += text(host_identity(), " ", lanes.gpu(party).physical().info().bus_id, "\n");
    return lines;
}

std::string own_obstacle() {
    std::string reason;
    if (nccl_api(reason) == nullptr) return reason;
    // With it, the communicators would be open to anybody who knows that address.
    if (std::getenv("NCCL_COMM_ID") != nullptr) return "NCCL_COMM_ID is set, but the job makes its own id; unset it";
    return "";
}

class NcclStart {
  public:
    NcclStart(CallKind kind, Group &group, Workers *workers, Lanes &lanes, uint64_t timeout_ns)
        : kind_(kind), group_(group), lanes_(lanes), workers_(workers), timeout_ns_(timeout_ns) {}

    std::unique_ptr<Nccl> run(std::string &obstacle) {
        auto use = std::make_unique<NcclUse>(lanes_, workers_ != nullptr);
        obstacle = common_obstacle(*use);
        if (!obstacle.empty()) return nullptr;
        const NcclComms::Id id = common_id(obstacle);
        if (!obstacle.empty()) return nullptr;
        std::unique_ptr<NcclComms> comms;
        std::string failure;
        try {
            Group &group = group_;
            comms = std::make_unique<NcclComms>(
                *nccl_api(failure), lanes_, replicas(), first_replica(), id,
                [&group](const Failure &cause) { group.fail(cause); }, [&group] { return group.failed(); });
            comms->ready(timeout_ns_);
        } catch (const Failure &cause) {
            failure = cause.message();
        }
        for (const std::string &told : from_all(failure))
            if (!told.empty() && obstacle.empty()) obstacle = told;
        if (!obstacle.empty()) return nullptr;
        return std::make_unique<Nccl>(lanes_, std::move(use), std::move(comms), first_replica(), replicas());
    }

  private:
    uint32_t replicas() const { return workers_ != nullptr ? workers_->replica_count() : lanes_.parties(); }
    uint32_t first_replica() const { return workers_ != nullptr ? workers_->spans()[workers_->self()].first : 0; }

    Call call() const {
        Call call;
        call.kind = kind_;
        return call;
    }

    std::vector<std::string> from_all(const std::string &own) {
        return workers_ == nullptr ? std::vector{own} : workers_->gather(call(), own, timeout_ns_);
    }

    std::string common_obstacle(const NcclUse &use) {
        std::vector<std::string> seen;
        const std::string own = own_obstacle();
        const std::vector<std::string> offers = from_all(offer_of(lanes_, own.empty() ? use.obstacle() : own));
        for (std::size_t worker = 0; worker < offers.size(); ++worker) {
            std::string_view rest = offers[worker];
            const auto line = [&rest] {
                const std::string_view first = rest.substr(0, rest.find('\n'));
                rest.remove_prefix(std::min(rest.size(), first.size() + 1));
                return std::string(first);
            };
            const std::string obstacle = line();
            if (!obstacle.empty())
                return workers_ != nullptr ? text(workers_->name(static_cast<uint32_t>(worker)), ": ", obstacle)
                                           : obstacle;
            while (!rest.empty()) seen.push_back(line());
        }
        std::sort(seen.begin(), seen.end());
        const auto twice = std::adjacent_find(seen.begin(), seen.end());
        return twice == seen.end() ? "" : "several replicas share one GPU, which NCCL does not allow";
    }

    /// Gets the id that worker 0 has made.
    NcclComms::Id common_id(std::string &obstacle) {
        NcclComms::Id blob(1 + MDIST_GPU_ID_BYTES); // whether there is an id, and the id
        if (first_replica() == 0) {
            std::string reason;
            blob[0] = nccl_api(reason)->unique_id(blob.data() + 1) == 0 ? 1 : 0;
        }
        if (workers_ != nullptr) workers_->broadcast(call(), blob.data(), blob.size(), timeout_ns_);
        if (blob[0] == 0) obstacle = "NCCL made no id by which its ranks can meet (NCCL_DEBUG=WARN says why)";
        blob.erase(blob.begin());
        return blob;
    }

    const CallKind kind_;
    Group &group_;
    Lanes &lanes_;
    Workers *const workers_;
    const uint64_t timeout_ns_;
};

} // namespace

std::unique_ptr<Nccl> start_nccl(CallKind kind, Group &group, Workers *workers, Lanes &lanes, uint64_t timeout_ns,
                                 std::string &obstacle) {
    return NcclStart(kind, group, workers, lanes, timeout_ns).run(obstacle);
}

} // namespace mdist
