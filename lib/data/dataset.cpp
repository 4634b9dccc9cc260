// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {

namespace {

void check_not_distributed(const Dataset &source) {
    if (source.replica_count() != 0)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "a distributed dataset cannot be transformed further; shuffle, batch and the like come before "
                      "mdist_distribute_dataset");
}

} // namespace

void check_component_count(std::size_t count, const char *what) {
    constexpr std::size_t kMost = 1024;
    if (count == 0 || count > kMost)
        throw invalid(text("a dataset of ", count, " ", what, "; 1 to ", kMost, " are possible"));
}

void check_any_thread(const Dataset &source, const char *operation) {
    if (!source.callers_thread_only()) return;
    throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                  text(operation,
                       " would call a generator below it on a thread of the library; if that may be, make it "
                       "with MDIST_GENERATOR_ANY_THREAD"))
        .reason("callers_thread");
}

std::shared_ptr<const Dataset> Dataset::with_sources(const Sources &sources) const {
    if (!sources.empty()) throw Failure(MDIST_ERR_INTERNAL, text(traits().text, " cannot be made from other sources"));
    return shared_from_this();
}

Transform::Transform(std::shared_ptr<const Dataset> source, std::vector<Spec> spec)
    : Dataset(std::move(spec)), source_(std::move(source)) {
    check_not_distributed(*source_);
}

Combination::Combination(Sources sources, std::vector<Spec> spec)
    : Dataset(std::move(spec)), sources_(std::move(sources)) {
    for (const auto &source : sources_) check_not_distributed(*source);
}

bool Combination::borrows() const {
    return std::ranges::any_of(sources_, [](const auto &source) { return source->borrows(); });
}

bool Combination::callers_thread_only() const {
    return std::ranges::any_of(sources_, [](const auto &source) { return source->callers_thread_only(); });
}

std::vector<std::unique_ptr<Stream>> Combination::open_all(const Iteration &iteration) const {
    std::vector<std::unique_ptr<Stream>> streams;
    for (const auto &source : sources_) streams.push_back(source->open(iteration));
    return streams;
}

} // namespace mdist
