// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <span>
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

std::string Spec::lengths() const {
    return list_of(std::span(shape.dims, static_cast<std::size_t>(shape.rank)),
                   [](uint64_t length) { return length == kUnknown ? "?" : std::to_string(length); });
}

std::string text_of(const std::vector<Spec> &spec) {
    return list_of(
        spec, [](const Spec &component) { return text(dtype_name(component.dtype), " [", component.lengths(), "]"); });
}

void check_component_count(std::size_t count, const char *what) {
    constexpr std::size_t kMost = 1024;
    if (count == 0 || count > kMost)
        throw invalid(text("the dataset has ", count, " ", what, "; 1 to ", kMost, " are allowed"));
}

void check_any_thread(const Dataset &source, const char *operation) {
    if (!source.callers_thread_only()) return;
    throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                  text(operation,
                       " would call a generator that it reads from on a thread of the library. If the generator allows "
                       "that, make it with MDIST_DATASET_ANY_THREAD"))
        .reason("callers_thread");
}

std::string Dataset::description() const {
    const Traits own = traits();
    const std::string &identity = own.identity ? *own.identity : own.text;
    std::string below;
    const Sources all = sources();
    for (const auto &source : all) below += mdist::text(below.empty() ? "" : "; ", source->description());
    if (all.size() > 1) return mdist::text(identity, '(', below, ')');
    if (below.empty() || identity.empty()) return below + identity;
    return mdist::text(below, " | ", identity);
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
    return std::any_of(sources_.begin(), sources_.end(), [](const auto &source) { return source->borrows(); });
}

bool Combination::callers_thread_only() const {
    return std::any_of(sources_.begin(), sources_.end(),
                       [](const auto &source) { return source->callers_thread_only(); });
}

std::vector<std::unique_ptr<Stream>> Combination::open_all(const Iteration &iteration) const {
    std::vector<std::unique_ptr<Stream>> streams;
    for (const auto &source : sources_) streams.push_back(source->open(iteration));
    return streams;
}

} // namespace mdist
