// SPDX-License-Identifier: Apache-2.0
#include "strategy/input/element_agreement.h"

#include "strategy/input/on_all_workers.h"
#include "util/text.h"

#include <cstring>
#include <functional>
#include <string>
#include <utility>

namespace mdist {

void ElementAgreement::require_place() {
    require_input_place(*strategy_, CallKind::kNextElement);
}

StepRows ElementAgreement::agree(FunctionRef<StepRows()> take) {
    // Short, as it travels in a header: "0.1, element 5" is of iterator 1 of distributed dataset 0.
    const std::string subject = text(dataset_, '.', iterator_, ", element ", element_++);
    Call call;
    call.kind = CallKind::kNextElement;
    call.subject = std::hash<std::string>()(subject);
    call.subject_text = subject.c_str();
    const std::vector<std::string> told = on_all_workers(*strategy_, call, [&] {
        const StepRows mine = take();
        return std::string(reinterpret_cast<const char *>(mine.data()), mine.size() * sizeof mine[0]);
    });
    const std::size_t bytes = strategy_->local_replica_count() * sizeof(uint64_t);
    StepRows all(strategy_->replica_count());
    for (std::size_t worker = 0; worker < told.size(); ++worker) {
        if (told[worker].size() != bytes)
            throw Failure(MDIST_ERR_INTERNAL, text("worker ", worker, " told ", told[worker].size(),
                                                   " bytes of its replicas' rows, and ", bytes, " were due"));
        std::memcpy(&all[worker * strategy_->local_replica_count()], told[worker].data(), bytes);
    }
    return all;
}

} // namespace mdist
