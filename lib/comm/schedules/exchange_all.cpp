// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/exchange_all.h"

#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "util/dtype.h"

namespace mdist {

ExchangeAll::ExchangeAll(Link &link, uint64_t tag, int32_t dtype, int32_t op, const void *input, void *output,
                         uint64_t elements)
    : link_(link),
      dtype_(dtype),
      op_(op),
      input_(input),
      output_(output),
      elements_(elements),
      received_(elements * dtype_size(dtype) * link.parties()) {
    const std::size_t bytes = elements * dtype_size(dtype);
    for (uint32_t peer = 0; peer < link.parties(); ++peer) {
        if (peer == link.self()) continue;
        link.send(peer, tag, input, bytes, pending_);
        link.receive(peer, tag, received_.data() + peer * bytes, bytes, pending_);
    }
}

bool ExchangeAll::advance() {
    if (done_) return true;
    // The input is read by peers until they have it, so an output in place must wait for all of them.
    link_.progress();
    if (!pending_.done()) return false;
    const uint32_t parties = link_.parties();
    const std::size_t bytes = elements_ * dtype_size(dtype_);
    std::vector<const void *> sources(parties);
    for (uint32_t peer = 0; peer < parties; ++peer)
        sources[peer] = peer == link_.self() ? input_ : received_.data() + peer * bytes;
    const reduce::FloatEnvironment environment;
    reduce::reduce({dtype_, static_cast<reduce::Op>(op_), parties}, sources.data(), parties, &output_, 1, elements_);
    return done_ = true;
}

} // namespace mdist
