// SPDX-License-Identifier: Apache-2.0
// Exchanges of all workers, by way of worker 0.
#include "membership/worker/peers.h"

#include <utility>

#include "membership/protocol/neighbors.h"
#include "util/payload.h"

namespace mdist {

/// A blob on its way to worker 0. A worker can be ahead of this one by one exchange: for the next it needs all blobs.
void Peers::heard_blob(uint32_t from, const std::string &bytes) {
    PayloadReader payload(bytes);
    const auto rank = payload.number<uint32_t>();
    const auto number = payload.number<uint64_t>();
    std::string blob = payload.text();
    const uint32_t self = options_.rank, size = options_.size;
    const bool comes_here = rank < size && parent_of(0, from, size) == self && hears_through(0, from, rank, size);
    const bool in_time = (number == last_exchange_ && under_way_) || number == last_exchange_ + 1;
    if (!payload.complete() || from == 0 || !comes_here || !in_time) return broke_protocol(from);
    if (!gathered_[number].try_emplace(rank, self == 0 ? std::move(blob) : std::string()).second)
        return broke_protocol(from); // it sends each blob once
    self == 0 ? complete(number) : send(parent_of(0, self, size), FrameKind::kExchange, bytes);
}

/// At worker 0: sends the table, if all blobs are there.
void Peers::complete(uint64_t number) {
    auto &gathered = gathered_.at(number);
    if (gathered.size() != options_.size) return;
    PayloadWriter table;
    table.number(number);
    for (const auto &[rank, blob] : gathered) table.text(blob);
    send_to(children_of(0, 0, options_.size), FrameKind::kTable, table.take());
    std::vector<std::string> &blobs = tables_[number];
    for (auto &[rank, blob] : gathered) blobs.push_back(std::move(blob));
    gathered_.erase(number);
    under_way_ = false;
}

void Peers::heard_table(uint32_t from, const std::string &bytes) {
    PayloadReader payload(bytes);
    const auto number = payload.number<uint64_t>();
    const uint32_t self = options_.rank, size = options_.size;
    if (self == 0 || from != parent_of(0, self, size)) return broke_protocol(from);
    if (payload.complete() && number > chief_began_ && number - last_exchange_ <= 1) {
        chief_began_ = number;
        return send_to(children_of(0, self, size), FrameKind::kTable, bytes);
    }
    if (number != last_exchange_ || !under_way_) return broke_protocol(from);
    std::vector<std::string> blobs;
    for (uint32_t rank = 0; rank < size && !payload.bad(); ++rank) blobs.push_back(payload.text());
    if (!payload.complete()) return broke_protocol(from);
    send_to(children_of(0, self, size), FrameKind::kTable, bytes);
    tables_[number] = std::move(blobs);
    gathered_.erase(number);
    under_way_ = false;
}

uint64_t Peers::begin_exchange(const std::string &blob) {
    const uint64_t number = ++last_exchange_;
    const uint32_t self = options_.rank;
    under_way_ = true;
    gathered_[number].emplace(self, self == 0 ? blob : std::string());
    if (self == 0) {
        send_to(children_of(0, 0, options_.size), FrameKind::kTable, PayloadWriter().number(number).take());
        complete(number);
    } else {
        send(parent_of(0, self, options_.size), FrameKind::kExchange,
             PayloadWriter().number(self).number(number).text(blob).take());
    }
    missed(entered_.load());
    return number;
}

std::vector<std::string> Peers::take_exchange(uint64_t number) {
    std::vector<std::string> blobs = std::move(tables_.at(number));
    tables_.erase(number);
    return blobs;
}

uint32_t Peers::awaited(uint64_t number) const {
    const auto &gathered = gathered_.at(number);
    for (uint32_t rank = 0; rank < options_.size; ++rank)
        if (gathered.count(rank) == 0 && hears_through(0, options_.rank, rank, options_.size)) return rank;
    return 0;
}

} // namespace mdist
