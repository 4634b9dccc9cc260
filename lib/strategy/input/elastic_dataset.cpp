// SPDX-License-Identifier: Apache-2.0
#include "strategy/input/elastic_dataset.h"

#include "comm/workers/workers.h"
#include "data/distribute/deal.h"
#include "data/keep.h"
#include "strategy/input/agreement.h"
#include "strategy/job/consensus.h"
#include "strategy/job/context.h"
#include "util/saturate.h"

#include <utility>

namespace mdist {
namespace {

std::shared_ptr<const Dataset> dealt_now(const Job &job, const ElasticContribution &make) {
    const InputLayout layout{job.spans(), job.worker()};
    const uint64_t replicas = layout.own().count();
    Contribution mine = make(layout);
    if (mine.ahead != 0) mine.parts[0] = make_prefetch(mine.parts[0], saturated_product(mine.ahead, replicas));
    Deal deal;
    deal.replicas = replicas;
    deal.partial = !mine.whole_steps;
    deal.text = std::move(mine.text);
    deal.source = std::move(mine.source);
    deal.place = std::move(mine.place);
    return make_dealt(std::move(mine.parts), std::move(deal));
}

class ElasticDataset final : public Dataset {
  public:
    ElasticDataset(std::shared_ptr<const Job> job, ElasticContribution make, NoteIterator note,
                   std::shared_ptr<const Dataset> first)
        : Dataset(first->spec()),
          job_(std::move(job)),
          make_(std::move(make)),
          note_(std::move(note)),
          current_(std::move(first)),
          generation_(job_->generation()) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override { return current()->open(iteration); }
    std::string layout(uint64_t taken) const override { return current()->layout(taken); }
    std::optional<uint64_t> size() const override { return current()->size(); }
    std::size_t replica_count() const override { return current()->replica_count(); }
    Traits traits() const override { return current()->traits(); }
    std::string description() const override { return current()->description(); }
    bool endless() const override { return current()->endless(); }
    bool borrows() const override { return current()->borrows(); }
    bool callers_thread_only() const override { return current()->callers_thread_only(); }
    std::shared_ptr<KeptInput> new_kept() const override {
        const uint64_t most = job_->elastic().rewind_bytes;
        return most != 0 ? std::make_shared<KeptInput>(most) : nullptr;
    }
    void note_iterator(const std::shared_ptr<Iterator> &iterator) const override { note_(iterator); }
    std::string deal_text() const override { return current()->deal_text(); }

  private:
    std::shared_ptr<const Dataset> current() const {
        const std::lock_guard lock(mutex_);
        if (generation_ != job_->generation()) {
            current_ = dealt_now(*job_, make_);
            generation_ = job_->generation();
        }
        return current_;
    }

    const std::shared_ptr<const Job> job_;
    const ElasticContribution make_;
    const NoteIterator note_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const Dataset> current_;
    mutable uint32_t generation_; // that current_ is for
};

} // namespace

std::shared_ptr<Dataset> distribute_elastic(const std::shared_ptr<Job> &job, CallKind kind, ElasticContribution make,
                                            NoteIterator note) {
    require_cross_replica(*job, kind->name(), "Distribute before mdist_run, and pass elements as arguments");
    std::shared_ptr<const Dataset> first;
    std::string alike;
    const auto bring = [&] {
        first = dealt_now(*job, make);
        return make({job->spans(), job->worker()}).alike + first->description();
    };
    if (job->worker_count() == 1) { // also a newcomer, which is compared when it enters
        bring();
    } else {
        require_input_place(*job, kind);
        Call call;
        call.kind = kind;
        const std::vector<std::string> all = on_all_workers(*job, call, bring);
        require_same_texts(*job->other_workers(), all, "all workers must distribute in the same way");
    }
    return std::make_shared<ElasticDataset>(job, std::move(make), std::move(note), std::move(first));
}

} // namespace mdist
