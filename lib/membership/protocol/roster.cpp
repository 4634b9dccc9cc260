// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/roster.h"

#include <mutex>
#include <utility>

namespace mdist {

Roster::Roster(const std::vector<Endpoint> &by_rank) : size_(static_cast<uint32_t>(by_rank.size())) {
    PayloadWriter bytes;
    for (const Endpoint &listens : by_rank) bytes(listens);
    learn(bytes.take());
}

std::optional<Endpoint> Roster::find(uint32_t rank) const {
    if (rank >= size_) return std::nullopt;
    if (table_) {
        Endpoint listens;
        PayloadReader(std::string_view(table_->bytes).substr(table_->begins[rank]))(listens);
        return listens;
    }
    const auto found = some_.find(rank);
    return found == some_.end() ? std::nullopt : std::optional(found->second);
}

bool Roster::learn(std::string bytes) {
    auto table = read(std::move(bytes), size_);
    if (!table) return false;
    table_ = std::move(table);
    some_.clear();
    return true;
}

std::shared_ptr<const Roster::Table> Roster::read(std::string bytes, uint32_t size) {
    static std::mutex mutex;
    static std::weak_ptr<const Table> last;
    const std::lock_guard<std::mutex> hold(mutex);
    if (auto known = last.lock(); known && known->begins.size() == size && known->bytes == bytes) return known;
    auto table = std::make_shared<Table>();
    PayloadReader in(bytes);
    for (uint32_t rank = 0; rank < size && !in.bad(); ++rank) {
        table->begins.push_back(static_cast<uint32_t>(bytes.size() - in.left()));
        in(Endpoint());
    }
    if (!in.complete()) return nullptr;
    table->bytes = std::move(bytes);
    last = table;
    return table;
}

} // namespace mdist
