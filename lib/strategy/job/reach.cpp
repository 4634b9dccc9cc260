// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/reach.h"

#include "cluster/config.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/context.h"
#include "strategy/job/lines.h"
#include "strategy/job/replicas.h"
#include "util/text.h"

namespace mdist {

Reach::Reach(const Job &job, const Replicas &replicas, const Config &config)
    : job_(job), replicas_(replicas), in_graph_(config.text("strategy") == "in_graph") {}

bool Reach::commands() const {
    return in_graph_ && !Context::in_part_of(job_);
}

Failure Reach::not_the_client(const char *function) const {
    return Failure(MDIST_ERR_WRONG_CONTEXT,
                   text(function, " may be called only by the client, worker 0 (strategy: in_graph); worker ",
                        replicas_.worker(), " must call mdist_serve, which runs the client's commands"))
        .reason("in_graph");
}

void Reach::require_no_commands(const char *function, const char *instead) const {
    if (!commands()) return;
    if (replicas_.worker() != 0) throw not_the_client(function);
    throw Failure(MDIST_ERR_UNSUPPORTED,
                  text(function, " cannot run on other workers' replicas (strategy: in_graph): ", instead))
        .reason("in_graph");
}

View Reach::view() const {
    if (replicas_.worker() == 0 && commands()) return {0, replicas_.count(), 1, 0};
    return {replicas_.first_id(), replicas_.local_count(), replicas_.worker_count(), replicas_.worker()};
}

Device &Reach::place(uint32_t replica) const {
    return replica < replicas_.local_count() ? replicas_.device(replica) : *host();
}

std::string Reach::place_name(uint32_t replica) const {
    if (replica < replicas_.local_count()) return replicas_.device(replica).name();
    return text("worker:", replicas_.spans().worker_of(replica), "/", names_[replica]);
}

uint32_t Reach::device_index(const std::string &name) const {
    std::string known;
    for (uint32_t replica = 0; replica < view().replicas; ++replica) {
        if (place_name(replica) == name) return replica;
        known += text(replica == 0 ? "" : ", ", place_name(replica));
    }
    throw invalid(text("destination is \"", name, "\"; the devices of this strategy are ", known));
}

void Reach::learn_names(Workers *others, uint64_t timeout_ns) {
    if (others == nullptr) return;
    std::vector<std::string> own;
    for (const auto &device : replicas_.devices()) own.push_back(device->name());
    Call call;
    call.kind = &calls::kServe;
    call.subject_text = "devices";
    for (const auto &lines : gather_lines(*others, call, own, timeout_ns))
        names_.insert(names_.end(), lines.begin(), lines.end());
    names_.resize(replicas_.count());
}

} // namespace mdist
