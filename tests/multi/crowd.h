// SPDX-License-Identifier: Apache-2.0
// Crowd: the workers of a job, or those of a group of its replicas, on threads of this process. They join once, for
// many collectives.
#pragma once

#include "inproc.h"
#include "comm/workers/collective.h"
#include "reduce/float_environment.h"
#include "workers.h"

#include <mutex>
#include <thread>

#include "../unit/collective_job.h"
#include "../unit/schedule_support.h"

namespace mdist::test {

class Crowd {
  public:
    Crowd(const Spans &spans, uint32_t per_host) : spans_(spans), groups_(spans.workers()) {
        static uint16_t port = 4400;
        const std::string store = text(own_host(), ':', port++);
        make_links();
        each([&](uint32_t worker) {
            MembershipOptions options = options_for(worker, spans_.workers(), store);
            options.serves_store = worker == 0;
            groups_[worker] = std::make_unique<Workers>(std::make_unique<Membership>(options),
                                                            links_of(worker, per_host), spans_);
            groups_[worker]->when_failed([this, worker](const Failure &) { wake(worker); });
        });
    }
    /// The workers of a group of the job's replicas, `ids`. The job must outlive it.
    Crowd(Crowd &job, const std::vector<uint32_t> &ids, uint32_t per_host)
        : job_(&job), layout_(GroupLayout::of(ids, job.spans_)), spans_(layout_->spans), groups_(spans_.workers()) {
        make_links();
        for (uint32_t worker = 0; worker < spans_.workers(); ++worker)
            groups_[worker] =
                std::make_unique<Workers>(job.group(layout_->ranks[worker]), links_of(worker, per_host), *layout_);
        job.watch(this);
    }
    ~Crowd() {
        if (job_ != nullptr) job_->watch(nullptr);
        each([&](uint32_t worker) { groups_[worker]->leave(); });
    }

    /// Runs `body` on all workers at once. An exception ends the program.
    void each(const std::function<void(uint32_t worker)> &body) {
        std::vector<std::thread> threads;
        for (uint32_t worker = 0; worker < spans_.workers(); ++worker)
            threads.emplace_back([&, worker] { body(worker); });
        for (std::thread &thread : threads) thread.join();
    }

    uint32_t workers() const { return spans_.workers(); }
    uint32_t replicas() const { return spans_.replicas(); }
    const Spans &spans() const { return spans_; }
    Workers &group(uint32_t worker) { return *groups_[worker]; }

    /// What a worker is asked. `calls` are by position in the group, or by replica id.
    class Asked {
      public:
        Asked(Crowd &crowd, uint32_t worker, const Call *const *calls) : group_(crowd.group(worker)) {
            for (uint32_t slot = crowd.spans_[worker].first; slot < crowd.spans_[worker].last; ++slot)
                own_.push_back(calls[group_.position_of(slot)]);
        }
        operator workers::Collective() const { return {group_, own_.data(), kLongEnough}; }

      private:
        Workers &group_;
        std::vector<const Call *> own_;
    };
    /// Calls way(collective) on every worker.
    template <class Way>
    void perform(const Call *const *calls, Way way) {
        each([&](uint32_t worker) {
            const reduce::FloatEnvironment environment;
            const Asked asked(*this, worker, calls);
            way(asked);
        });
    }
    /// How many messages of schedules all workers have sent, beside those of agreements.
    uint64_t sent_behind() const {
        uint64_t all = 0;
        for (const CountingLink *link : counts_) all += link->sends_behind();
        return all;
    }

  private:
    /// The job has failed: wakes who waits in the group.
    void wake(uint32_t worker) {
        const std::lock_guard lock(mutex_);
        if (watcher_ == nullptr) return;
        const uint32_t here = watcher_->layout_->worker_of_rank(worker);
        if (here < watcher_->workers()) watcher_->group(here).wake();
    }
    void watch(Crowd *group) {
        const std::lock_guard lock(mutex_);
        watcher_ = group;
    }
    void make_links() {
        for (auto &link : make_inproc_links(spans_.workers())) {
            auto counting = std::make_unique<CountingLink>(std::move(link));
            counts_.push_back(counting.get());
            links_.push_back(std::move(counting));
        }
    }
    WorkerLinks links_of(uint32_t worker, uint32_t per_host) {
        WorkerLinks links;
        links.link = std::move(links_[worker]);
        links.per_host = per_host;
        return links;
    }

    Crowd *const job_ = nullptr; // of a group
    std::mutex mutex_;
    Crowd *watcher_ = nullptr; // the group, one at a time
    const std::optional<GroupLayout> layout_;
    const Spans spans_;
    Links links_;
    std::vector<const CountingLink *> counts_; // by worker
    std::vector<std::unique_ptr<Workers>> groups_;
};

} // namespace mdist::test
