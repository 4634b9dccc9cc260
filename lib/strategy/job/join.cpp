// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/form.h"

#include "cluster/config.h"
#include "cluster/secret_file.h"
#include "cluster/settle_store.h"
#include "comm/call/bad_message.h"
#include "comm/links/gloo.h"
#include "comm/links/routed.h"
#include "comm/links/shm.h"
#include "comm/links/tcp.h"
#include "comm/shm/arena.h"
#include "comm/workers/workers.h"
#include "membership/secret.h"
#include "util/cpus.h"
#include "util/event_count.h"
#include "util/log.h"
#include "util/text.h"

#include <mdist/base.h>

#include <atomic>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

namespace mdist {
namespace {

/// Whether workers may have different numbers of replicas. The layers below support it; for now only tests ask for it.
bool may_be_uneven() {
    return process_environment().get("MDIST_UNEVEN_REPLICAS").has_value();
}

/// What must be the same on all workers, line by line. Workers that differ here would compute different results or wait
/// forever.
std::string agreement_of(const Config &config, uint32_t local_replicas, mdist_device_kind_t kind) {
    const std::string replicas = may_be_uneven() ? "any" : text(local_replicas);
    std::string lines =
        text("libmdist = ", MDIST_VERSION, "\nreplicas on each worker = ", replicas,
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
    if (options.secret.empty()) options.secret = resolved.secret;
    options.agreement = agreement_of(config, local_replicas, kind);
    options.names = resolved.names;
    options.join_timeout_ns = config.duration_ns("communication.join_timeout");
    options.heartbeat_timeout_ns = config.duration_ns("communication.heartbeat_timeout");
    return options;
}

/// Exchanges replica counts between workers if they may differ.
Spans spans_of(Membership &membership, uint32_t local_replicas, uint64_t timeout_ns) {
    if (!may_be_uneven()) return Spans::even(membership.size(), local_replicas);
    std::vector<uint32_t> counts;
    for (const std::string &told : membership.exchange(text(local_replicas), timeout_ns)) {
        uint32_t count = 0;
        const char *const end = told.data() + told.size();
        if (std::from_chars(told.data(), end, count).ptr != end || count == 0)
            throw bad_message(static_cast<uint32_t>(counts.size()), "bytes that are not a valid number of replicas");
        counts.push_back(count);
    }
    return Spans(counts);
}

/// "workers 1-3 and 5"
std::string workers_text(const std::vector<uint64_t> &ranks) {
    std::string all;
    for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
        while (++end < ranks.size() && ranks[end] == ranks[end - 1] + 1) continue;
        all += text(begin == 0 ? "" : ", ", ranks[begin]);
        if (end - begin > 1) all += text(end - begin > 2 ? "-" : ", ", ranks[end - 1]);
    }
    return text(ranks.size() == 1 ? "worker " : "workers ", all);
}

/// Makes the job's secret on worker 0 if PMI can pass it to the others. Returns "" if no secret is wanted or possible.
std::string new_secret(const Config &config) {
    if (!secrets_are_built() || !config.text("secret_file").empty()) return "";
    Digest random;
    system_random(random.data(), random.size());
    std::string secret;
    for (const unsigned char byte : random) {
        secret += "0123456789abcdef"[byte >> 4];
        secret += "0123456789abcdef"[byte & 15];
    }
    return secret;
}

/// Warns once per process. It warns for a loopback address, too, since other users of this host can connect to it.
void warn_without_secret(const MembershipOptions &options) {
    static std::atomic<bool> warned{false};
    if (!options.secret.empty() || options.size == 1 || warned.exchange(true)) return;
    log_warn("this job has no secret. Until it has formed, anyone who can connect to ", options.store,
             " can join it, including other users of this host. ",
             secrets_are_built() ? "Write a secret with `mdist secret FILE`, and name that file on every worker "
                                   "(key secret_file, or MDIST_SECRET_FILE)"
                                 : "This build of libmdist cannot use one: build it with libsodium");
}

/// The links of one worker to the others, while they are made.
class Links {
  public:
    Links(Membership &membership, const Config &config, const Spans &spans)
        : membership_(membership),
          wanted_(config.text("communication.implementation")),
          checksums_(config.text("communication.checksum") != "none"),
          timeout_ns_(config.duration_ns("communication.join_timeout")),
          spans_(spans),
          threads_(spans[membership.rank()].count()),
          routes_(membership.size()) {}

    WorkerLinks make() {
        if (wanted_ != "tcp" && wanted_ != "gloo") share_memory();
        connect();
        std::string chosen;
        for (const auto &[way, workers] : ways_)
            chosen += text(chosen.empty() ? "" : "; ", way.first, " with ", workers_text(workers), way.second);
        return {make_routed_link(std::move(links_), std::move(routes_), spin_ns()), std::move(shared_), per_host_,
                std::move(memory_), std::move(chosen)};
    }

  private:
    /// Links to the workers of this host.
    void share_memory() {
        auto mates =
            std::make_shared<ShmMates>(membership_.rank(), ShmSizes::for_workers(membership_.size()), threads_);
        const std::vector<std::string> opened =
            membership_.exchange(mates->open(exchange(mates->offer())), timeout_ns_);
        mates->settle(opened);
        per_host_ = mates->per_host();
        mates_ = mates;
        std::vector<uint32_t> shared;
        for (uint32_t worker = 0; worker < membership_.size(); ++worker)
            if (worker != membership_.rank() && mates->shares(worker)) shared.push_back(worker);
        if (shared.empty()) return;
        threads_ *= 1 + static_cast<uint32_t>(shared.size());
        const auto bell = std::make_shared<ShmBell>(mates);
        links_.push_back(make_shm_link(mates, bell));
        for (const uint32_t worker : shared) {
            routes_[worker] = {links_.back().get(), links_.back().get(), 0};
            ways_[{"shared memory", " (one host)"}].push_back(worker);
        }
        if (!mates->all_share()) return;
        shared_ = std::make_unique<ShmGroup>(mates, bell, spans_);
        memory_ = ShmArena::of(*mates);
    }

    /// Links to all workers without a link.
    void connect() {
        std::vector<uint32_t> others;
        for (uint32_t worker = 0; worker < membership_.size(); ++worker)
            if (worker != membership_.rank() && routes_[worker].small == nullptr) others.push_back(worker);
        if (others.empty()) return;
        if (wanted_ == "shm")
            throw Failure(MDIST_ERR_UNSUPPORTED,
                          text("communication.implementation is shm, but this worker shares no memory with ",
                               membership_.name(others[0])))
                .reason("no_shared_memory")
                .worker(others[0]);
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
        constexpr std::size_t kLarge = 65536; // bytes; below, handing over to an engine's thread does not pay
        for (const uint32_t worker : others) {
            routes_[worker] = {small, large, kLarge};
            const std::string why = mates_ ? text(" (", mates_->reason(worker), ')')
                                           : text(" (communication.implementation: ", wanted_, ')');
            ways_[{large == small ? "tcp" : "tcp, and gloo for large messages,", why}].push_back(worker);
        }
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

    /// How long a wait for other hosts spins: not at all if cores are scarce. Whatever the worker waits for then needs
    /// the core itself: mates, the kernel's network, or a worker in another container that is unknown here. A thread
    /// that yields instead of sleeping is not woken by an arrival, and can lose a whole time slice.
    uint64_t spin_ns() const {
        const uint32_t cpus = usable_cpus();
        return cpus > 2 * threads_ ? Patience::for_threads(2 * threads_, cpus).spin_ns : 0;
    }

    std::vector<std::string> exchange(const std::string &blob) { return membership_.exchange(blob, timeout_ns_); }

    Membership &membership_;
    const std::string_view wanted_;
    const bool checksums_;
    const uint64_t timeout_ns_;
    const Spans &spans_;
    uint32_t threads_; // that wait on this host
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<Route> routes_;
    std::map<std::pair<std::string, std::string>, std::vector<uint64_t>> ways_; // method and reason -> ranks
    std::shared_ptr<const ShmMates> mates_;                                     // set if shared memory was tried
    std::unique_ptr<ShmGroup> shared_;
    uint32_t per_host_ = 1;
    std::shared_ptr<MemorySource> memory_;
};

} // namespace

std::unique_ptr<Workers> join_workers(const Config &config, Resolved resolved, uint32_t local_replicas,
                                      mdist_device_kind_t kind) {
    settle_store(resolved, process_environment(), config.duration_ns("communication.join_timeout"), new_secret(config));
    MembershipOptions options = options_of(config, resolved, local_replicas, kind);
    warn_without_secret(options);
    auto membership = std::make_unique<Membership>(std::move(options));
    try {
        const Spans spans = spans_of(*membership, local_replicas, config.duration_ns("communication.join_timeout"));
        WorkerLinks links = Links(*membership, config, spans).make();
        return std::make_unique<Workers>(std::move(membership), std::move(links), spans);
    } catch (const Failure &failure) {
        if (membership) membership->fail(failure); // the others wait for this worker's links
        throw;
    } catch (const std::exception &) {
        if (membership) membership->fail(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
        throw;
    }
}

} // namespace mdist
