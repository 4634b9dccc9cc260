// SPDX-License-Identifier: Apache-2.0
// Deals files out to workers: TensorFlow's auto-sharding by file.
#include "data/distribute/at_least.h"
#include "data/distribute/auto_shard.h"
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

class FileSharding {
  public:
    explicit FileSharding(const InputLayout &layout) : layout_(layout) {}

    Sharing result(const Source &source) {
        Sharing sharing;
        sharing.policy = MDIST_SHARD_FILE;
        sharing.dataset = sharded(source);
        sharing.why = sharing.dataset != nullptr ? "records are read from files" : why_not_;
        sharing.lists = std::move(lists_);
        return sharing;
    }

  private:
    /// Returns null and sets why_not_ if a branch of `at` reads no files. A dataset that is used twice stays one.
    Source sharded(const Source &at) {
        const auto known = sharded_.find(at.get());
        if (known != sharded_.end()) return known->second;
        const Source made = made_of(at);
        if (made != nullptr) sharded_[at.get()] = made;
        return made;
    }

    Source made_of(const Source &at) {
        const Traits traits = at->traits();
        if (traits.role == Traits::Role::kReader) return read_by(at, traits.text);
        if (at->sources().empty()) {
            why_not_ = text(traits.text, " reads no files");
            return nullptr;
        }
        return over_others(at, [this](const Source &source) { return sharded(source); });
    }

    Source read_by(const Source &reader, const std::string &called) {
        const Source names = reader->sources()[0];
        lists_.push_back({called, names->size()});
        if (layout_.workers() == 1) return reader->with_sources({enough(names, called)});
        Sources shuffles;
        in_order_.clear(); // each reader gets all shuffles of its names behind the shard, even those that others share
        Source mine = shard_of(enough(in_order(names, shuffles), called), layout_);
        for (const Source &shuffle : shuffles) mine = shuffle->with_sources({mine});
        return reader->with_sources({mine});
    }

    /// Names that cannot be counted now are counted when they are read.
    Source enough(const Source &names, const std::string &called) const {
        if (names->size() || names->endless()) return names;
        return make_at_least(names, least_to_shard(layout_), false, [called, layout = layout_](uint64_t there) {
            return too_few_files(called, there, layout);
        });
    }

    /// Returns the names without their shuffles. Appends the shuffles to `shuffles`, the one nearest the source first.
    Source in_order(const Source &at, Sources &shuffles) {
        return rewritten(at, in_order_, [&](const Source &made) {
            if (made->traits().role != Traits::Role::kShuffle) return made;
            shuffles.push_back(made);
            return made->sources()[0];
        });
    }

    const InputLayout layout_;
    std::string why_not_;
    std::vector<FileList> lists_;
    Rewritten sharded_;
    Rewritten in_order_;
};

} // namespace

Sharing shard_files(const std::shared_ptr<const Dataset> &source, const InputLayout &layout) {
    return FileSharding(layout).result(source);
}

} // namespace mdist
