// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/links.h"

#include "comm/links/routed.h"
#include "comm/links/shm.h"
#include "comm/links/tcp.h"
#include "comm/shm/arena.h"
#include "membership/membership.h"
#include "membership/worker/data_sockets.h"
#include "util/text.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace mdist {
namespace {

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

/// How long a wait for other hosts stays awake at most: about the cost of the wake that it may save. Whether it does,
/// it learns from how that went before, since the kernel's network, or other workers, may need the core.
constexpr uint64_t kAwakeNs = 50'000;

/// The data connections of one link. `ranks`: the parties' ranks in the job.
class LinkSockets final : public SocketSource {
  public:
    LinkSockets(Membership &membership, uint32_t link, std::vector<uint32_t> ranks)
        : membership_(membership), link_(link), ranks_(std::move(ranks)) {}
    ~LinkSockets() override { membership_.end_link(link_); }
    void when_news(std::function<void()> call) override { membership_.when_connected(link_, std::move(call)); }
    void ask(uint32_t peer) override { membership_.ask_for_socket(link_, ranks_[peer]); }
    int take(uint32_t peer) override { return membership_.take_socket(link_, ranks_[peer]); }

  private:
    static_assert(kNotYet == DataSockets::kNotYet && kGone == DataSockets::kGone);
    Membership &membership_;
    const uint32_t link_;
    const std::vector<uint32_t> ranks_;
};

/// The links of one worker to the others, while they are made.
class Links {
  public:
    Links(Membership &membership, const LinkSettings &settings, uint32_t threads, const Spans &spans,
          const std::vector<uint32_t> *ranks)
        : membership_(membership),
          is_job_(ranks == nullptr),
          settings_(settings),
          spans_(spans),
          ranks_(ranks != nullptr ? *ranks : all_ranks(membership)),
          self_(static_cast<uint32_t>(std::find(ranks_.begin(), ranks_.end(), membership.rank()) - ranks_.begin())),
          threads_(threads),
          routes_(ranks_.size()) {}

    WorkerLinks make() {
        const bool shares = settings_.implementation != "tcp";
        for (uint32_t &number : numbers_) number = membership_.number_link();
        if (self_ == ranks_.size()) {
            for (int i = 0; shares && i < 2; ++i) exchange(""); // as the others do in share_memory()
            return {};
        }
        if (shares) share_memory();
        connect();
        std::unique_ptr<Link> mail = is_job_ ? make_mail_link() : nullptr;
        std::string chosen;
        for (const auto &[way, workers] : ways_)
            chosen += text(chosen.empty() ? "" : "; ", way.first, " with ", workers_text(workers), way.second);
        return {make_routed_link(std::move(links_), std::move(routes_), kAwakeNs),
                std::move(shared_),
                per_host_,
                std::move(memory_),
                settings_.call_timeout_ns,
                std::move(chosen),
                std::move(mail)};
    }

  private:
    /// What links are for. Also the rings of shared memory (ShmLayout::kChannels).
    enum : uint32_t { kCollectives, kMessages };

    static std::vector<uint32_t> all_ranks(const Membership &membership) {
        std::vector<uint32_t> ranks(membership.size());
        std::iota(ranks.begin(), ranks.end(), 0);
        return ranks;
    }

    /// Links to the workers of this host.
    void share_memory() {
        ShmSizes sizes = ShmSizes::for_workers(count());
        if (!lends_memory()) sizes.arena_bytes = 0;
        auto mates =
            std::make_shared<ShmMates>(self_, count(), sizes, threads_, is_job_ ? std::vector<uint32_t>() : ranks_);
        const std::vector<std::string> opened = exchange(mates->open(exchange(mates->offer())));
        mates->settle(opened);
        per_host_ = mates->per_host();
        mates_ = mates;
        std::vector<uint32_t> shared;
        for (uint32_t worker = 0; worker < count(); ++worker)
            if (worker != self_ && mates->shares(worker)) shared.push_back(worker);
        if (shared.empty()) return;
        bell_ = std::make_shared<ShmBell>(mates);
        links_.push_back(make_shm_link(mates, bell_, kCollectives));
        for (const uint32_t worker : shared) {
            routes_[worker] = links_.back().get();
            ways_[{"shared memory", " (one host)"}].push_back(ranks_[worker]);
        }
        if (!mates->all_share()) return;
        shared_ = std::make_unique<ShmGroup>(mates, bell_, spans_);
        if (lends_memory()) memory_ = ShmArena::of(*mates);
    }

    /// Links to all workers without a link.
    void connect() {
        std::vector<uint32_t> others;
        for (uint32_t worker = 0; worker < count(); ++worker)
            if (worker != self_ && routes_[worker] == nullptr) others.push_back(worker);
        if (others.empty()) return;
        const auto lacking = std::find_if(others.begin(), others.end(),
                                          [&](uint32_t worker) { return !mates_ || !mates_->is_beyond(worker); });
        if (settings_.implementation == "shm" && lacking != others.end())
            throw Failure(
                MDIST_ERR_UNSUPPORTED,
                text("communication.implementation is shm, but this worker shares no memory with ",
                     membership_.name(ranks_[*lacking]), mates_ ? ": " : "", mates_ ? mates_->reason(*lacking) : ""))
                .reason("no_shared_memory")
                .worker(ranks_[*lacking]);
        links_.push_back(make_tcp_link(self_, count(), sockets(kCollectives), kAwakeNs, settings_.checksums,
                                       is_job_ ? std::vector<uint32_t>() : ranks_));
        for (const uint32_t worker : others) {
            routes_[worker] = links_.back().get();
            const std::string why = mates_ ? text(" (", mates_->reason(worker), ')')
                                           : text(" (communication.implementation: ", settings_.implementation, ')');
            ways_[{"tcp", why}].push_back(ranks_[worker]);
        }
    }

    /// The same links again, for messages: they come at any time, and must not mix with collectives.
    std::unique_ptr<Link> make_mail_link() {
        std::vector<std::unique_ptr<Link>> links;
        std::vector<Link *> routes(count());
        const auto add = [&](std::unique_ptr<Link> link, const std::vector<uint32_t> &workers) {
            links.push_back(std::move(link));
            for (const uint32_t worker : workers) routes[worker] = links.back().get();
        };
        std::vector<uint32_t> sharing, others;
        for (uint32_t worker = 0; worker < count(); ++worker)
            if (worker != self_) (bell_ && mates_->shares(worker) ? sharing : others).push_back(worker);
        if (!sharing.empty()) add(make_shm_link(mates_, bell_, kMessages), sharing);
        if (!others.empty()) {
            // A worker may leave when it has sent its last message. That it is not told of a receiver's step is no
            // loss.
            constexpr bool kDrops = true;
            add(make_tcp_link(self_, count(), sockets(kMessages), kAwakeNs, settings_.checksums,
                              std::vector<uint32_t>(), kDrops),
                others);
        }
        return make_routed_link(std::move(links), std::move(routes), kAwakeNs);
    }

    std::unique_ptr<SocketSource> sockets(uint32_t channel) {
        return std::make_unique<LinkSockets>(membership_, numbers_[channel], ranks_);
    }

    /// Returns the blobs of these workers. All workers of the job take part.
    std::vector<std::string> exchange(const std::string &blob) {
        const std::vector<std::string> all = membership_.exchange(blob, settings_.timeout_ns);
        std::vector<std::string> theirs;
        for (const uint32_t rank : ranks_) theirs.push_back(all[rank]);
        return theirs;
    }

    uint32_t count() const { return static_cast<uint32_t>(ranks_.size()); }
    bool lends_memory() const { return settings_.lends_memory && is_job_; } // memory is given out by the job

    Membership &membership_;
    const bool is_job_;
    const LinkSettings &settings_;
    const Spans &spans_;
    const std::vector<uint32_t> ranks_;
    const uint32_t self_;      // index in ranks_; their number if this worker is not among them
    const uint32_t threads_;   // of this worker, that wait
    uint32_t numbers_[2] = {}; // of the links, by what they are for
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<Link *> routes_;
    std::map<std::pair<std::string, std::string>, std::vector<uint64_t>> ways_; // method and reason -> ranks
    std::shared_ptr<ShmMates> mates_;                                           // set if shared memory was tried
    std::shared_ptr<ShmBell> bell_;                                             // set if some worker shares memory
    std::unique_ptr<ShmGroup> shared_;
    uint32_t per_host_ = 1;
    std::shared_ptr<MemorySource> memory_;
};

} // namespace

WorkerLinks make_links(Membership &membership, const LinkSettings &settings, uint32_t threads, const Spans &spans,
                       const std::vector<uint32_t> *ranks) {
    return Links(membership, settings, threads, spans, ranks).make();
}

} // namespace mdist
