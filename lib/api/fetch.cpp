// SPDX-License-Identifier: Apache-2.0
#include "api/replica_guard.h"
#include "api/values.h"
#include "device/transfer/transfer.h"
#include "util/callback.h"
#include "util/text.h"

#include <mdist/collective.h>

using namespace mdist;

namespace {

constexpr uint32_t kHost = UINT32_MAX; // instead of a local replica

uint32_t place_of(const Strategy &strategy, const char *destination) {
    const bool host = destination == nullptr || *destination == '\0';
    return host ? kHost : strategy.reach.device_index(destination);
}

/// The copy at the destination if there is one, else the first copy.
const Tensor &source_of(const Value &value, uint32_t place, uint32_t local_replicas) {
    value.check_count(local_replicas);
    value.check_no_rows();
    if (value.kind() == MDIST_VALUE_PER_REPLICA)
        throw invalid(
            "the value is per-replica, but mdist_strategy_fetch needs a value with one tensor for all replicas. Reduce "
            "it "
            "(mdist_strategy_reduce), gather it (mdist_strategy_gather), or fetch one replica's tensor "
            "(mdist_value_tensor)");
    return value.tensor_for(place == kHost ? 0 : place);
}

/// Calls the fetch function, and returns what it made of `source`.
Tensor made_of(Strategy &strategy, const Tensor &source, mdist_fetch_fn fetch, void *user_data) {
    const mdist_tensor_t tensor = source.describe();
    ValueHandles made(std::vector<mdist_value_t *>(1, nullptr));
    const Context context(strategy, Context::Kind::kFetch); // cross-replica functions are allowed inside
    call_back_or_fail([] { return "the fetch function"; }, [&] { return fetch(&tensor, made.get(), user_data); });
    const ValuePointer result = values_or_none(made.get(), 1, "result")[0];
    if (!result || result->kind() != MDIST_VALUE_PLAIN)
        throw Failure(MDIST_ERR_CALLBACK,
                      text("the fetch function made ", result ? "a value of several tensors" : "no value",
                           "; it must make a plain value"));
    return result->tensors()[0];
}

} // namespace

mdist_status_t mdist_strategy_fetch(mdist_strategy_t *strategy, const mdist_value_t *value, const char *destination,
                                    mdist_fetch_fn fetch, void *user_data, mdist_value_t **out, mdist_error_t **error) {
    return strategy_guard("mdist_strategy_fetch", strategy, "mdist_merge_call first, and fetch inside the merge", error,
                          [&](Strategy &self) {
                              const auto pinned = pin(value);
                              need(out, "out");
                              const uint32_t place = place_of(self, destination);
                              Tensor fetched = source_of(*pinned, place, self.reach.view().replicas);
                              if (fetch != nullptr) fetched = made_of(self, fetched, fetch, user_data);
                              Device &device = place == kHost ? *host() : self.reach.place(place);
                              *out = publish<mdist_value_t>(Value::plain(copied_to(device, fetched)));
                          });
}
