// SPDX-License-Identifier: Apache-2.0
#include "strategy/elastic/kept_commit.h"

#include "util/crc32c.h"
#include "util/failure.h"
#include "util/payload.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

constexpr uint32_t kShared = UINT32_MAX; // in the place of a replica id

void append(std::string &bytes, uint32_t replica, const std::string &content) {
    const std::string head = PayloadWriter().number(replica).number(static_cast<uint64_t>(content.size())).take();
    bytes.reserve(bytes.size() + head.size() + content.size() + sizeof(uint32_t));
    bytes += head;
    bytes += content;
}

} // namespace

HeldCommit KeptCommit::held(uint32_t replicas) const {
    HeldCommit held{id, marked, {}};
    if (!has_parts) {
        held.whole.push_back({0, replicas});
        return held;
    }
    for (const auto &[replica, part] : parts) {
        if (!held.whole.empty() && held.whole.back().last == replica)
            ++held.whole.back().last;
        else
            held.whole.push_back({replica, replica + 1});
    }
    return held;
}

void Shipment::add_shared(const std::string &shared) {
    append(bytes_, kShared, shared);
}

void Shipment::add(uint32_t replica, const std::string &part) {
    append(bytes_, replica, part);
}

std::string Shipment::take() {
    if (!bytes_.empty()) bytes_ += PayloadWriter().number(crc32c(bytes_.data(), bytes_.size())).take();
    return std::move(bytes_);
}

void Shipment::unpack(std::string_view bytes, uint32_t from, KeptCommit &into) {
    if (bytes.empty()) return;
    const std::size_t body = bytes.size() - std::min(bytes.size(), sizeof(uint32_t));
    bool sound = PayloadReader(bytes.substr(body)).number<uint32_t>() == crc32c(bytes.data(), body);
    PayloadReader reader(bytes.substr(0, body));
    while (sound && !reader.complete() && !reader.bad()) {
        const auto replica = reader.number<uint32_t>();
        const std::string_view content = reader.blob();
        if (reader.bad()) break;
        if (replica == kShared)
            into.shared = content;
        else
            into.parts[replica] = content;
    }
    if (sound && !reader.bad()) return;
    throw Failure(MDIST_ERR_DATA_LOSS,
                  text("what worker ", from, " sent for a commit has arrived with a wrong checksum or length"))
        .reason("corrupt")
        .worker(from);
}

} // namespace mdist
