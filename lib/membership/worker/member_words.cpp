// SPDX-License-Identifier: Apache-2.0
// What a member says about whom it waits for.
#include "membership/worker/member.h"
#include "util/text.h"

namespace mdist {

std::string Member::name_of(uint32_t rank) const {
    return worker_name(options_, mesh_ ? mesh_->roster() : Roster(), rank);
}

std::string Member::name() const {
    return is_elastic() ? "this worker" : worker_name(options_, {}, options_.rank);
}

std::string Member::store_name() const {
    return text("the store at ", options_.store, store_is_near_ ? " (an address of this host only)" : "");
}

std::string Member::missing_names() const {
    std::string names;
    for (const uint32_t rank : missing_)
        if (rank < options_.names.size()) names += text(names.empty() ? "" : ", ", options_.names[rank]);
    return names;
}

std::string Member::awaited() const {
    const std::string &why = store_.problem();
    if (mesh_) {
        const auto rank = mesh_->unconnected();
        if (!rank) return "other workers, which are being connected with each other";
        return text(name_of(*rank), ", with which there is no connection yet, though it has reached the store: ",
                    mesh_->obstacle(*rank));
    }
    if (is_elastic() && online())
        return "the store, until each worker of the last generation has asked for the next, or is lost";
    if (progress_.empty())
        return text(store_name(), ", which has not answered", why.empty() ? "" : ": ", why, options_.size_advice);
    const std::string names = missing_names();
    return text(names.empty() ? "the others" : names, "; ", progress_, options_.size_advice);
}

Failure Member::too_late() const {
    if (!is_elastic()) return job_not_formed();
    const std::string limit = seconds_text(ask_.limit_ns);
    const bool hears = online() && world_.now_ns() - heard_store_ns_ < options_.heartbeat_timeout_ns;
    if (!hears)
        return Failure(MDIST_ERR_ABORTED,
                       text(store_name(), " could not be reached ", heard_store_ns_ == 0 ? "within " : "again within ",
                            limit, ", so this worker cannot know whether the job goes on without it",
                            store_.problem().empty() ? "" : ": ", store_.problem()))
            .reason("no_store");
    const bool stuck = mesh_ && mesh_->unconnected();
    return Failure(MDIST_ERR_TIMEOUT, text("no next generation within ", limit, "; still waiting for ", awaited(),
                                           stuck ? firewall_advice(options_.listen_at) : ""));
}

Failure Member::job_not_formed() const {
    const std::string limit = seconds_text(options_.join_timeout_ns);
    if (mesh_) {
        if (const auto rank = mesh_->unconnected())
            return Failure(MDIST_ERR_TIMEOUT,
                           text("all workers have reached the store, but there is no connection with ", name_of(*rank),
                                " after ", limit, ": ", mesh_->obstacle(*rank), firewall_advice(options_.listen_at)))
                .worker(*rank);
        return Failure(MDIST_ERR_TIMEOUT, text("other workers could not be connected with each other within ", limit));
    }
    if (progress_.empty()) {
        const std::string &why = store_.problem();
        return Failure(MDIST_ERR_TIMEOUT,
                       text(store_name(), options_.serves_store ? ", which this worker serves," : "",
                            reached_store_ ? " did not let this worker join" : " could not be reached",
                            missed_.empty() ? " within " : " again within ", limit,
                            why.empty() ? "; no answer yet" : "; ", why, missed_, options_.size_advice));
    }
    const std::string names = missing_names();
    const Failure failure(MDIST_ERR_TIMEOUT,
                          text("not all workers joined within ", limit, ": ", progress_,
                               names.empty() ? "" : "; still waiting for: ", names, missed_, options_.size_advice));
    return missing_.empty() ? failure : Failure(failure).worker(missing_.front());
}

} // namespace mdist
