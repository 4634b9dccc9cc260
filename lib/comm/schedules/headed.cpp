// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/headed.h"

namespace mdist {
namespace {

constexpr uint64_t kHeaderTag = 1;
constexpr uint64_t kPayloadTag = 2;

} // namespace

void send_headed(Link &link, uint32_t worker, const OperationHeader &header, const void *payload, Pending &pending) {
    link.send(worker, kHeaderTag, &header, sizeof header, pending);
    if (header.payload_bytes != 0) link.send(worker, kPayloadTag, payload, header.payload_bytes, pending);
}

void HeadedArrival::begin(Link &link, uint32_t worker) {
    worker_ = worker;
    link_ = &link;
    link.receive(worker, kHeaderTag, &header_, sizeof header_, header_here_);
}

bool HeadedArrival::take_payload(Link &link, void *to, Pending &pending) {
    taken_ = true;
    if (header_.payload_bytes == 0) return false;
    link.receive(worker_, kPayloadTag, to, header_.payload_bytes, pending);
    return true;
}

} // namespace mdist
