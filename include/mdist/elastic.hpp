// SPDX-License-Identifier: Apache-2.0
// Elastic: a job that goes on when it loses or gains workers, with the same results. docs/how-to/elastic.md has the
// rules.
//
//     mdist::Elastic elastic(strategy);
//     elastic.blob("random", generators);              // state of the program: an element for each replica id
//     for (bool regroup = elastic.is_joining(); regroup || at < steps;) {
//         if (regroup) at = elastic.regroup().step;    // may be the last one: then no step is left
//         try {
//             if (at < steps) {
//                 strategy.run(step);
//                 if (++at % 10 == 0) elastic.commit(at);
//             }
//             // Whether somebody comes or goes. After the last step, all meet here.
//             regroup = (at % 10 == 0 || at == steps) && strategy.check_membership() == MDIST_VERDICT_REGROUP;
//         } catch (const mdist::Error &) {
//             regroup = true;                          // a worker was lost; if not, regroup() throws
//         }
//     }
#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <mdist/strategy.hpp>

namespace mdist {

// Owns the blobs, which all workers make alike. What a blob's function throws comes out of commit() or regroup()
// unchanged. Like the strategy, it does one thing at a time.
class Elastic {
  public:
    explicit Elastic(Strategy &strategy) noexcept : strategy_(strategy.get()) {}
    Elastic(const Elastic &) = delete;
    Elastic &operator=(const Elastic &) = delete;

    // Keeps a copy of the state in memory: of all variables, positions of iterators over distributed datasets, and
    // blobs. All workers call it together. `step` tells where to go on.
    void commit(uint64_t step, CallOptions options = {}) {
        thrown_->call(mdist_commit, strategy_, step, options.get());
    }

    // Forms the next generation of the job, of the workers that are left and those that have come, and restores the
    // newest commit of which all is left. Afterwards groups, calls, works and loops have ended, and tensors of
    // variables and gradients must be taken anew. If it throws, this worker is out of the job, except with status
    // MDIST_ERR_FAILED_PRECONDITION.
    mdist_change_t regroup(CallOptions options = {}) {
        mdist_change_t change{};
        change.struct_size = sizeof change;
        thrown_->call(mdist_regroup, strategy_, &change, options.get());
        return change;
    }

    // Whether this worker is a newcomer to a job that is at work. It creates what the others have created, and then
    // calls regroup() before its first step.
    bool is_joining() const noexcept { return mdist_strategy_is_joining(strategy_) != 0; }

    // State that the program has for each replica, such as a random generator, by replica id. Commits keep it. The
    // vector must outlive this object.
    template <typename T>
    void blob(const std::string &name, std::vector<T> &by_replica_id) {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>, "blobs travel as bytes");
        if (by_replica_id.size() < mdist_strategy_replica_count(strategy_))
            throw std::invalid_argument("blob " + name + ": there must be an element for each replica of the job");
        blob(
            name, sizeof(T), [&](uint32_t id, void *to) { std::memcpy(to, &by_replica_id.at(id), sizeof(T)); },
            [&](uint32_t id, const void *from) { std::memcpy(&by_replica_id.at(id), from, sizeof(T)); });
    }

    // The same by functions: save(replica_id, void *to) and restore(replica_id, const void *from) copy `bytes` bytes.
    template <typename Save, typename Restore>
    void blob(const std::string &name, size_t bytes, Save save, Restore restore) {
        using Kept = Functions<Save, Restore>;
        mdist_blob_t *out = nullptr;
        detail::call(mdist_blob_create, strategy_, name.c_str(), bytes, &Kept::on_save, &Kept::on_restore,
                     static_cast<void *>(new Kept{std::move(save), std::move(restore), thrown_}), &detail::drop<Kept>,
                     &out);
        blobs_.emplace_back(out);
    }

  private:
    template <typename Save, typename Restore>
    struct Functions {
        Save save;
        Restore restore;
        std::shared_ptr<detail::Thrown> thrown;

        static int32_t on_save(uint32_t replica_id, void *to, size_t, void *user_data) {
            Functions &self = *static_cast<Functions *>(user_data);
            return self.thrown->guard([&] { self.save(replica_id, to); });
        }
        static int32_t on_restore(uint32_t replica_id, const void *from, size_t, void *user_data) {
            Functions &self = *static_cast<Functions *>(user_data);
            return self.thrown->guard([&] { self.restore(replica_id, from); });
        }
    };

    mdist_strategy_t *strategy_;
    std::shared_ptr<detail::Thrown> thrown_ = std::make_shared<detail::Thrown>();
    std::vector<Handle<mdist_blob_t, mdist_blob_destroy>> blobs_;
};

} // namespace mdist
