// SPDX-License-Identifier: Apache-2.0
#include "strategy/job.h"

#include "cluster/config.h"
#include "cluster/secret_file.h"
#include "cluster/settle_store.h"
#include "comm/links/gloo.h"
#include "comm/links/routed.h"
#include "comm/links/shm.h"
#include "comm/links/tcp.h"
#include "comm/shm/arena.h"
#include "comm/workers.h"
#include "util/cpus.h"
#include "util/event_count.h"
#include "util/text.h"

#include <mdist/base.h>

#include <utility>

namespace mdist {
namespace {

/// What all workers must have the same, line by line: a job whose workers differ here would compute something else on
/// each, or wait for ever.
std::string agreement_of(const Config &config, uint32_t local_replicas, mdist_device_kind_t kind) {
    std::string lines =
        text("libmdist = ", MDIST_VERSION, "\nreplicas on each worker = ", local_replicas,
             "\ndevices = ", kind == MDIST_DEVICE_GPU ? "gpu" : "cpu",
             "\nstrategy = ", config.text("strategy") == "in_graph" ? "in_graph" : "multi_worker", "\n");
    for (const char *key :
         {"communication.implementation", "cross_device_ops", "communication.checksum", "communication.bytes_per_pack",
          "communication.num_packs", "data.auto_shard_policy", "data.order"})
        lines += text(key, " = ", config.text(key), "\n");
    return lines;
}

MembershipOptions options_of(const Config &config, const Resolved &resolved, uint32_t local_replicas,
                             mdist_device_kind_t kind) {
    MembershipOptions options;
    options.rank = resolved.rank;
    options.size = resolved.size;
    options.store = resolved.store;
    options.serves_store = resolved.serves_store;
    options.job = resolved.job;
    options.restart = resolved.restart;
    options.secret = read_secret(config);
    options.agreement = agreement_of(config, local_replicas, kind);
    options.names = resolved.names;
    options.join_timeout_ns = config.duration_ns("communication.join_timeout");
    options.heartbeat_timeout_ns = config.duration_ns("communication.heartbeat_timeout");
    return options;
}

/// The links of one worker, being made.
class Links {
  public:
    Links(Membership &membership, const Config &config, uint32_t local_replicas)
        : membership_(membership),
          wanted_(config.text("communication.implementation")),
          checksums_(config.text("communication.checksum") != "none"),
          timeout_ns_(config.duration_ns("communication.join_timeout")),
          local_replicas_(local_replicas),
          threads_(local_replicas),
          routes_(membership.size()) {}

    WorkerLinks make() {
        if (wanted_ != "tcp" && wanted_ != "gloo") share_memory();
        connect();
        return {make_routed_link(std::move(links_), std::move(routes_), spin_ns()), std::move(shared_), per_host_,
                std::move(memory_)};
    }

  private:
    /// With the workers of this host.
    void share_memory() {
        auto mates =
            std::make_shared<ShmMates>(membership_.rank(), ShmSizes::for_workers(membership_.size()), local_replicas_);
        const std::vector<std::string> opened =
            membership_.exchange(mates->open(exchange(mates->offer())), timeout_ns_);
        mates->settle(opened);
        per_host_ = mates->per_host();
        std::vector<uint32_t> shared;
        for (uint32_t worker = 0; worker < membership_.size(); ++worker)
            if (worker != membership_.rank() && mates->shares(worker)) shared.push_back(worker);
        if (shared.empty()) return;
        threads_ *= 1 + static_cast<uint32_t>(shared.size());
        const auto bell = std::make_shared<ShmBell>(mates);
        links_.push_back(make_shm_link(mates, bell));
        for (const uint32_t worker : shared) routes_[worker] = {links_.back().get(), links_.back().get(), 0};
        if (!mates->all_share()) return;
        shared_ = std::make_unique<ShmGroup>(mates, bell, local_replicas_);
        memory_ = ShmArena::of(*mates);
    }

    /// With all that have no link yet.
    void connect() {
        std::vector<uint32_t> others;
        for (uint32_t worker = 0; worker < membership_.size(); ++worker)
            if (worker != membership_.rank() && routes_[worker].small == nullptr) others.push_back(worker);
        if (others.empty()) return;
        if (wanted_ == "shm")
            throw Failure(MDIST_ERR_UNSUPPORTED, text("communication.implementation = shm, and this worker shares no "
                                                      "memory with ",
                                                      membership_.name(others[0])))
                .reason("no_shared_memory")
                .worker(static_cast<int32_t>(others[0]));
        const std::vector<int> connected = membership_.connect(others, timeout_ns_);
        std::vector<int> sockets(membership_.size(), -1);
        for (std::size_t i = 0; i < others.size(); ++i) sockets[others[i]] = connected[i];
        links_.push_back(make_tcp_link(membership_.rank(), sockets, spin_ns(), checksums_));
        Link *const small = links_.back().get();
        Link *large = small;
        if (wanted_ == "gloo") {
            links_.push_back(make_gloo_link(gloo_options(others)));
            large = links_.back().get();
        }
        constexpr std::size_t kLarge = 65536; // below, handing over to an engine's thread costs more than it saves
        for (const uint32_t worker : others) routes_[worker] = {small, large, kLarge};
    }

    GlooOptions gloo_options(const std::vector<uint32_t> &peers) {
        GlooOptions options;
        options.self = membership_.rank();
        options.parties = membership_.size();
        options.address = membership_.host(membership_.rank());
        options.peers = peers;
        options.exchange = [this](const std::string &blob) { return exchange(blob); };
        options.timeout_ns = timeout_ns_;
        return options;
    }

    /// How long a wait for other hosts stays awake: not at all where cores are scarce. What comes then needs the core
    /// itself, be it mates, the kernel's network, or another container's worker that nobody here knows of; and whoever
    /// yields instead of sleeping is not woken by what comes, but loses up to a time slice.
    uint64_t spin_ns() const {
        const uint32_t cpus = usable_cpus();
        return cpus > 2 * threads_ ? Patience::for_threads(2 * threads_, cpus).spin_ns : 0;
    }

    std::vector<std::string> exchange(const std::string &blob) { return membership_.exchange(blob, timeout_ns_); }

    Membership &membership_;
    const std::string_view wanted_;
    const bool checksums_;
    const uint64_t timeout_ns_;
    const uint32_t local_replicas_;
    uint32_t threads_; // that wait on this host
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<Route> routes_;
    std::unique_ptr<ShmGroup> shared_;
    uint32_t per_host_ = 1;
    std::shared_ptr<MemorySource> memory_;
};

} // namespace

std::unique_ptr<Workers> join_job(const Config &config, Resolved resolved, uint32_t local_replicas,
                                  mdist_device_kind_t kind) {
    settle_store(resolved, process_environment(), config.duration_ns("communication.join_timeout"));
    auto membership = std::make_unique<Membership>(options_of(config, resolved, local_replicas, kind));
    try {
        WorkerLinks links = Links(*membership, config, local_replicas).make();
        return std::make_unique<Workers>(std::move(membership), std::move(links), local_replicas);
    } catch (const Failure &failure) {
        if (membership) membership->fail(failure); // the others wait for this worker's links
        throw;
    } catch (const std::exception &) {
        if (membership) membership->fail(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
        throw;
    }
}

} // namespace mdist
