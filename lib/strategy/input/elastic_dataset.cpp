// SPDX-License-Identifier: Apache-2.0
#include "strategy/input/elastic_dataset.h"

#include "comm/workers/workers.h"
#include "data/distribute/deal.h"
#include "data/keep.h"
#include "strategy/input/agreement.h"
#include "strategy/job/consensus.h"
#include "strategy/job/context.h"

#include <utility>

namespace mdist {
namespace {

/// What does not depend on this worker's span.
struct ElasticBasis {
    std::shared_ptr<Job> job;
    ElasticContribution make;
    NoteIterator note;
    std::function<std::shared_ptr<Agreement>()> agreement;
    std::vector<Spec> spec;
    bool by_replica = false; // a dataset for each replica

    std::shared_ptr<const Dataset> dealt(const InputLayout &layout) const {
        Contribution mine = make(layout);
        Deal deal;
        deal.gpus = place_and_prefetch(*job, mine, layout.own().count());
        deal.replicas = layout.own().count();
        if (by_replica) deal.agreement = agreement;
        return mdist::dealt(std::move(mine), std::move(deal));
    }
    std::shared_ptr<const Dataset> dealt_now() const { return dealt({job->replicas.spans(), job->replicas.worker()}); }
};

class ElasticDataset final : public Dataset {
  public:
    explicit ElasticDataset(ElasticBasis common)
        : Dataset(common.spec), common_(std::move(common)), current_(common_.dealt_now()), generation_(generation()) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override {
        if (!common_.by_replica || iteration.series == nullptr) return current()->open(iteration);
        Iteration each = iteration; // the datasets of all replicas count as one shuffle
        each.series = Series::same(iteration.series->next(iterations_), iteration.series);
        return current()->open(each);
    }
    std::string layout(uint64_t taken) const override { return current()->layout(taken); }
    std::optional<uint64_t> size() const override { return current()->size(); }
    std::size_t replica_count() const override { return current()->replica_count(); }
    std::shared_ptr<Agreement> agreement() const override { return current()->agreement(); }
    Traits traits() const override { return current()->traits(); }
    std::string description() const override { return current()->description(); }
    bool endless() const override { return current()->endless(); }
    bool borrows() const override { return current()->borrows(); }
    bool callers_thread_only() const override { return current()->callers_thread_only(); }
    std::shared_ptr<KeptInput> new_kept() const override {
        const uint64_t most = common_.by_replica ? 0 : common_.job->elastic.settings.rewind_bytes;
        return most != 0 ? std::make_shared<KeptInput>(most) : nullptr;
    }
    void note_iterator(const std::shared_ptr<Iterator> &iterator) const override { common_.note(iterator); }
    std::string deal_text() const override { return current()->deal_text(); }

  private:
    uint32_t generation() const { return common_.job->elastic.generation(); }
    std::shared_ptr<const Dataset> current() const {
        const std::lock_guard lock(mutex_);
        if (generation_ != generation()) {
            current_ = common_.dealt_now();
            generation_ = generation();
        }
        return current_;
    }

    const ElasticBasis common_;
    const std::shared_ptr<Counter> iterations_ = std::make_shared<Counter>(0);
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const Dataset> current_;
    mutable uint32_t generation_; // that current_ is for
};

} // namespace

std::shared_ptr<Dataset> distribute_elastic(const std::shared_ptr<Job> &job, CallKind kind, uint64_t number,
                                            FunctionRef<ElasticContribution()> prepare, NoteIterator note) {
    require_cross_replica(*job, kind->name(), "Distribute before mdist_run, and pass elements as arguments");
    ElasticBasis common;
    common.job = job;
    common.note = std::move(note);
    common.agreement = [job, number, iterators = std::make_shared<std::atomic<uint64_t>>(0)] {
        return std::make_shared<ElementAgreement>(job, number, (*iterators)++);
    };
    const auto bring = [&] {
        common.make = prepare();
        const Contribution mine = common.make({job->replicas.spans(), job->replicas.worker()});
        common.by_replica = !mine.common_knowledge;
        // What is known of elements in advance must not depend on the span: what a worker with all replicas knows.
        common.spec = common.dealt({Spans::even(1, job->replicas.count()), 0})->spec();
        return mine.alike + common.dealt_now()->description();
    };
    if (job->replicas.worker_count() == 1) { // also a newcomer, which is compared when it enters
        bring();
    } else {
        require_input_place(*job, kind);
        Call call;
        call.kind = kind;
        alike_on_all_workers(*job, call, bring);
    }
    return std::make_shared<ElasticDataset>(std::move(common));
}

} // namespace mdist
