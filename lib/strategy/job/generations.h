// SPDX-License-Identifier: Apache-2.0
// Generations: which generation an elastic job is in. In a job of fixed size, on() is false, and there is only one,
// number 0. Job::enter_generation() enters the next (elastic_job.cpp).
#pragma once

#include "cluster/elastic_settings.h"
#include "membership/elastic_membership.h"
#include "strategy/job/elastic_devices.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

class Config;
class Replicas;

/// What has memory for each local replica, which must fit the worker's span in the next generation.
class OfSpan {
  public:
    /// Called between two generations. Throws OUT_OF_MEMORY.
    virtual void span_changed() = 0;

  protected:
    ~OfSpan() = default;
};

class Generations {
  public:
    explicit Generations(const Config &config) : settings(elastic_settings(config)) {}

    /// What the keys elastic.* say.
    const ElasticSettings settings;
    bool on() const { return settings.on(); }
    /// The number of the job's generation, from 1; 0 in a job of fixed size.
    uint32_t generation() const { return generation_; }
    /// Whether this worker is a newcomer that has not entered a generation yet.
    bool joining() const { return joining_; }
    /// nullptr in a job of fixed size.
    ElasticMembership *membership() const { return membership_.get(); }

    /// Has it called with each generation, for as long as it lives. Any thread.
    void add(const std::shared_ptr<OfSpan> &object);
    /// Throws FAILED_PRECONDITION (`old_generation`) unless the job is at `generation`. `what`: "the group".
    void require_generation(uint32_t generation, const char *what) const {
        if (generation != generation_) throw of_old(what, generation);
    }

  private:
    friend class Job;
    Failure of_old(const char *what, uint32_t generation) const;

    std::unique_ptr<ElasticDevices> devices_; // nullptr in a job of fixed size
    std::unique_ptr<ElasticMembership> membership_;
    uint32_t generation_ = 0;
    bool joining_ = false;
    std::mutex mutex_; // guards of_span_
    std::vector<std::weak_ptr<OfSpan>> of_span_;
};

/// Whether the failure is that other workers were lost, or that they have ended the collectives. It may not come again.
bool lost_workers(const Failure &failure);

/// A regroup that failed has given the worker these replicas, but `what` has not followed: "variable \"x\"".
Failure of_failed_regroup(const std::string &what, const Replicas &replicas);

} // namespace mdist
