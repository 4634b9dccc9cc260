// SPDX-License-Identifier: Apache-2.0
// What an elastic store keeps, so that it can come back.
#include "membership/store/elastic_store.h"

#include <algorithm>

#include "util/log.h"
#include "util/payload.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {
namespace {

void write_ids(PayloadWriter &out, const std::set<WorkerId> &ids) {
    out.number(static_cast<uint32_t>(ids.size()));
    for (const WorkerId id : ids) out.number(id);
}

std::set<WorkerId> read_ids(PayloadReader &in) {
    std::set<WorkerId> ids;
    for (auto count = in.number<uint32_t>(); count > 0 && !in.bad(); --count) ids.insert(in.number<uint64_t>());
    return ids;
}

std::string described(const std::string &job, uint32_t replicas) {
    return text("the job ", in_quotes(job), " with ", replicas, replicas == 1 ? " replica" : " replicas");
}

} // namespace

/// Returns whether it is kept.
bool ElasticStore::keep(const Generation &generation) {
    if (!options_.keep || failure_) return true; // a job that is over has no state
    PayloadWriter state;
    state.text(options_.job).number(options_.replicas).text(encode(generation));
    state.number(static_cast<uint8_t>(has_commit_));
    for (const std::set<WorkerId> *ids : {&ended_, &dropped_, &leaving_, &willing_}) write_ids(state, *ids);
    try {
        options_.keep(state.take());
        complaint_.clear();
        unkept_ = false;
        return true;
    } catch (const Failure &failure) {
        if (complaint_ != failure.message())
            log_warn("the store: its state could not be kept, so no generation begins until it can: ",
                     failure.message());
        complaint_ = failure.message();
        unkept_ = true;
        return false;
    }
}

/// The job is over.
void ElasticStore::forget() {
    try {
        if (options_.keep) options_.keep({});
    } catch (const Failure &failure) {
        log_warn("the store: its state could not be removed: ", failure.message());
    }
}

void ElasticStore::come_back() {
    PayloadReader kept(options_.kept);
    const std::string job = kept.text();
    const auto replicas = kept.number<uint32_t>();
    auto generation = decode_generation(kept.text());
    has_commit_ = kept.number<uint8_t>() != 0;
    for (std::set<WorkerId> *ids : {&ended_, &dropped_, &leaving_, &willing_}) *ids = read_ids(kept);
    if (!kept.complete() || !generation)
        throw Failure(MDIST_ERR_DATA_LOSS, "the state of the store that came before cannot be read");
    if (job != options_.job || replicas != options_.replicas)
        throw Failure(MDIST_ERR_CONFIG, text("the state is that of ", described(job, replicas),
                                             ", but this store serves ", described(options_.job, options_.replicas),
                                             ". Give each job a folder of its own, or remove the state of a job that "
                                             "is over"))
            .reason("different_job");
    generation_ = std::move(*generation);
    set_members();
    if (generation_.number == 0) return;
    state_ = State::kReady;
    awaits_return_ns_ = world_.now_ns();
    for (const WorkerId id : members_) heard_ns_[id] = world_.now_ns();
    log_info("the store: has come back, in generation ", generation_.number, " with ", members_.size(), " workers");
}

/// Whether the members had their time to come back, and none of them did.
bool ElasticStore::is_forsaken() const {
    const uint64_t patience_ns = options_.heartbeat_timeout_ns + std::min(options_.wait_ns, UINT64_MAX / 2);
    return awaits_return_ns_ && world_.now_ns() - *awaits_return_ns_ >= patience_ns;
}

} // namespace mdist
