// SPDX-License-Identifier: Apache-2.0
// CallAgreement: the first schedule of every operation. All workers tell each other, by operation headers, what they
// call. It is done when every worker is known to call the same. A small payload of each worker may travel along.
//
//   DirectAgreement    each tells each: one trip of n - 1 messages. More may follow right behind the headers.
//   RelayedAgreement   blocks of workers join two by two: log2(n) trips of one message
//   TreeSum            the same, with partials of a sum instead of payloads
#pragma once

#include "comm/call/operation_header.h"
#include "comm/links/link.h"
#include "comm/schedules/schedule.h"

#include <cstddef>
#include <cstdint>

namespace mdist {

class CallAgreement : public Schedule {
  public:
    /// The largest payload of a worker in a message of its own. No peer can make this worker allocate more.
    static constexpr std::size_t kPayloadLimit = 65536;

    /// What a worker calls, as far as this worker has heard, and it itself; nullptr if it has not heard.
    virtual const OperationHeader *header_of(uint32_t worker) const = 0;
    bool has_come(uint32_t worker) const { return header_of(worker) != nullptr; }
    /// Whether every worker tells this one itself. If not, this one hears of some only through others.
    virtual bool hears_all() const = 0;
    /// A worker's payload, when done; for this worker, the one that it gave. Empty if there are none.
    virtual Link::Message payload(uint32_t /*worker*/) const { return {}; }
};

} // namespace mdist
