// SPDX-License-Identifier: Apache-2.0
#include "strategy/elastic/elastic.h"

#include "data/iterator_state.h"
#include "strategy/variables/variable.h"
#include "util/payload.h"
#include "util/sizes.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

/// The living ones, in order. Forgets the others.
template <class Object>
std::vector<std::shared_ptr<Object>> living(const std::vector<std::weak_ptr<Object>> &all) {
    std::vector<std::shared_ptr<Object>> out;
    for (const auto &each : all)
        if (auto object = each.lock()) out.push_back(std::move(object));
    return out;
}

/// Nothing for an iterator that was closed. `begins`: its first position, wherever it is now.
std::optional<IteratorState> position_of(Iterator &iterator, bool begins) {
    try {
        IteratorState state = iterator.state();
        if (begins) {
            state.taken = 0;
            state.layout = iterator.dataset().layout(0);
        }
        return state;
    } catch (const Failure &failure) {
        if (failure.reason() == "closed") return std::nullopt;
        throw;
    }
}

} // namespace

Elastic::Elastic(Job &job, VariableStore &variables, Runs &runs, Graphs &graphs)
    : job_(job), variables_(variables), runs_(runs), graphs_(graphs), newcomer_(job.elastic.joining()) {
    if (!newcomer_) begin_with_first_run();
}

void Elastic::add(const std::shared_ptr<Blob> &blob) {
    std::vector<std::shared_ptr<Blob>> all; // whoever drops the last reference calls a function of the program
    const std::lock_guard lock(mutex_);
    all = living(blobs_);
    uint64_t bytes = blob->bytes; // of one replica
    for (const auto &known : all) {
        if (known->name == blob->name)
            throw invalid(text("a blob named \"", blob->name, "\" exists already; names are unique within a strategy"));
        bytes = saturated_sum(bytes, known->bytes);
    }
    if (bytes > PTRDIFF_MAX)
        throw invalid(text("bytes is ", blob->bytes,
                           "; with the blobs that exist already, a replica would have more "
                           "than memory can hold"));
    std::erase_if(blobs_, [](const auto &each) { return each.expired(); });
    blobs_.push_back(blob);
}

void Elastic::add(const std::shared_ptr<Iterator> &iterator) {
    const std::lock_guard lock(mutex_);
    std::erase_if(iterators_, [](const auto &each) { return each.expired(); });
    iterators_.push_back(iterator);
}

// ---- The state, to memory and back

Elastic::State Elastic::state() const {
    State state;
    for (auto &variable : variables_.all()) {
        const bool own = variable->spec().synchronization == MDIST_SYNC_ON_READ;
        (own ? state.own : state.mirrored).push_back(std::move(variable));
    }
    const std::lock_guard lock(mutex_);
    state.iterators = living(iterators_);
    state.blobs = living(blobs_);
    std::sort(state.blobs.begin(), state.blobs.end(), [](const auto &a, const auto &b) { return a->name < b->name; });
    return state;
}

std::string Elastic::State::text() const {
    std::string lines;
    for (const Variables *some : {&mirrored, &own})
        for (const auto &variable : *some) lines += mdist::text("variable ", variable->spec().text(), "\n");
    for (const auto &iterator : iterators)
        lines += mdist::text("iterator over ", short_description(iterator->dataset().description()), "\n");
    for (const auto &blob : blobs) lines += mdist::text("blob \"", blob->name, "\" of ", blob->bytes, " bytes\n");
    return lines;
}

std::string Elastic::part_of(const State &state, uint32_t local) const {
    std::size_t bytes = 0;
    for (const auto &variable : state.own) bytes += variable->copy(local).bytes();
    for (const auto &blob : state.blobs) bytes += blob->bytes;
    std::string part(bytes, '\0');
    char *at = part.data();
    for (const auto &variable : state.own) {
        const Tensor &copy = variable->copy(local);
        job_.replicas.device(local).copy_out(at, copy.data(), copy.bytes());
        at += copy.bytes();
    }
    for (const auto &blob : state.blobs) {
        blob->save(job_.replicas.first_id() + local, at);
        at += blob->bytes;
    }
    return part;
}

void Elastic::copy(const State &state, bool begins, KeptCommit &into) const {
    std::string positions;
    into.taken.clear();
    for (const auto &iterator : state.iterators) {
        const std::optional<IteratorState> position = position_of(*iterator, begins);
        positions += PayloadWriter().text(position ? encode_iterator_state(*position) : "").take();
        into.taken.push_back(position ? position->taken : 0);
    }
    std::size_t bytes = positions.size();
    for (const auto &variable : state.mirrored) bytes += variable->copy(0).bytes();
    into.shared.resize(bytes); // the same size as before, as a rule, so that nothing but the copy takes time
    char *at = into.shared.data();
    for (const auto &variable : state.mirrored) {
        const Tensor &copy = variable->copy(0);
        job_.replicas.device(0).copy_out(at, copy.data(), copy.bytes());
        at += copy.bytes();
    }
    if (!positions.empty()) std::memcpy(at, positions.data(), positions.size());
    into.has_parts = state.has_parts();
    into.parts.clear();
    for (uint32_t local = 0; into.has_parts && local < job_.replicas.local_count(); ++local)
        into.parts[job_.replicas.first_id() + local] = part_of(state, local);
}

void Elastic::write_part_back(const State &state, uint32_t local, const std::string &part) const {
    std::size_t bytes = 0;
    for (const auto &variable : state.own) bytes += variable->copy(local).bytes();
    for (const auto &blob : state.blobs) bytes += blob->bytes;
    if (bytes != part.size())
        throw Failure(MDIST_ERR_INTERNAL, text("a part of a commit has ", part.size(), " bytes instead of ", bytes));
    const char *at = part.data();
    for (const auto &variable : state.own) {
        const Tensor &copy = variable->copy(local);
        job_.replicas.device(local).copy_in(copy.data(), at, copy.bytes());
        at += copy.bytes();
    }
    for (const auto &blob : state.blobs) {
        blob->restore(job_.replicas.first_id() + local, at);
        at += blob->bytes;
    }
}

void Elastic::write_back(const State &state, const KeptCommit &from) const {
    std::size_t at = 0;
    for (const auto &variable : state.mirrored) {
        const std::size_t bytes = variable->copy(0).bytes();
        if (from.shared.size() - at < bytes)
            throw Failure(MDIST_ERR_INTERNAL, text("a commit of ", from.shared.size(), " bytes is too short"));
        variable->write(0, from.shared.data() + at, bytes);
        at += bytes;
    }
    for (uint32_t local = 0; from.has_parts && local < job_.replicas.local_count(); ++local)
        write_part_back(state, local, from.parts.at(job_.replicas.first_id() + local));
    job_.replicas.finish_devices();
    PayloadReader positions(std::string_view(from.shared).substr(at));
    for (const auto &iterator : state.iterators) {
        const std::string position = positions.text();
        if (position.empty()) continue;
        const IteratorState where = parse_iterator_state(position);
        if (!iterator->rewind(where)) Restoring(iterator, where).commit();
    }
    if (!positions.complete())
        throw Failure(MDIST_ERR_INTERNAL, "the positions of a commit are not as long as they say");
}

} // namespace mdist
