// SPDX-License-Identifier: Apache-2.0
// Sets up how a job communicates: chooses how collectives move memory, and starts to watch the other workers.
#include "strategy/job/form.h"

#include "cluster/config.h"
#include "cluster/elastic_settings.h"
#include "comm/device/gpu_group.h"
#include "comm/device/nccl_start.h"
#include "comm/mail/mail.h"
#include "comm/workers/workers.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/communication.h"
#include "strategy/job/replicas.h"
#include "util/log.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

Packing packing_of(const Config &config) {
    const Packing packing = {config.bytes("communication.bytes_per_pack"),
                             static_cast<uint32_t>(config.count("communication.num_packs"))};
    if (packing.bytes != 0 && packing.count != 1)
        throw Failure(MDIST_ERR_CONFIG,
                      text("communication.bytes_per_pack is ", packing.bytes, " (",
                           config.origin("communication.bytes_per_pack"), ") and communication.num_packs ",
                           packing.count, " (", config.origin("communication.num_packs"), "); set only one of the two"))
            .reason("contradiction");
    return packing;
}

/// Says on worker 0 where each worker is.
void log_workers(const Workers *workers) {
    constexpr uint32_t kMostNamed = 64;
    if (workers == nullptr || workers->self() != 0) return;
    std::string names;
    for (uint32_t worker = 0; worker < std::min(workers->count(), kMostNamed); ++worker)
        names += text(worker == 0 ? "" : ", ", workers->name(worker));
    log_info("the workers of the job: ", names, workers->count() > kMostNamed ? " ..." : "");
}

} // namespace

void log_job(const Replicas &replicas, const Workers *workers) {
    if (!log::enabled(MDIST_LOG_INFO)) return;
    const uint32_t locals = replicas.local_count(), first = replicas.first_id();
    const std::string devices = list_of(replicas.devices(), [](const auto &device) { return device->name(); });
    const std::string ids = locals == 1 ? text("replica ", first) : text("replicas ", first, "-", first + locals - 1);
    const std::string who =
        workers == nullptr ? "one worker" : text(workers->name(workers->self()), " of ", workers->count(), " workers");
    log_workers(workers);
    log_info("job: ", who, "; ", ids, " of ", replicas.count(), " on ", devices,
             "; links: ", workers == nullptr ? "none, as there are no other workers" : workers->links());
}

Communication::Communication(const Config &config, const Replicas &replicas)
    : packing(packing_of(config)),
      link_settings{
          std::string(config.text("communication.implementation")), config.text("communication.checksum") != "none",
          config.duration_ns("communication.join_timeout"),
          config.is_set("communication.call_timeout") ? config.duration_ns("communication.call_timeout") : kNoDeadline,
          !elastic_settings(config).on()},
      replicas_(replicas),
      in_graph_(config.text("strategy") == "in_graph"),
      meeting_(std::make_shared<MeetingPlace>(std::max(replicas.local_count(), 1u),
                                              config.duration_ns("communication.timeout"),
                                              link_settings.call_timeout_ns)) {}

/// Tells the local replicas when the job has failed.
void Communication::join(std::unique_ptr<Workers> workers) {
    {
        const std::lock_guard lock(mutex_); // abort() may come meanwhile
        workers_ = std::move(workers);
        memory_ = workers_->memory();
        meeting_->executors.set_workers(*workers_, replicas_.first_id());
        meeting_->mail->set_workers(*workers_);
        if (const std::optional<Failure> cause = meeting_->group.cause(); cause && meeting_->group.failed())
            workers_->fail(*cause);
    }
    workers_->when_failed([this](const Failure &cause) {
        meeting_->group.fail(as_told(cause));
        changes_.advance();
    });
}

/// Chooses by `cross_device_ops`.
void Communication::choose_reducer(const Config &config, uint32_t workers) {
    const bool one_device = config.text("cross_device_ops") == "one_device";
    if (!one_device && config.is_set("reduce_to_device"))
        throw Failure(MDIST_ERR_CONFIG,
                      text("reduce_to_device is set (", config.origin("reduce_to_device"), ") and cross_device_ops is ",
                           config.text("cross_device_ops"), " (", config.origin("cross_device_ops"),
                           "); reduce_to_device works only with one_device"))
            .reason("contradiction");
    if (!one_device) return;
    if (workers > 1)
        throw Failure(MDIST_ERR_UNSUPPORTED, text("cross_device_ops is one_device (", config.origin("cross_device_ops"),
                                                  "), which works only within one process, but this job has ", workers,
                                                  " workers; leave it at auto"))
            .reason("not_built");
    uint32_t reducer = 0;
    if (config.is_set("reduce_to_device")) {
        const std::vector<DeviceName> named = parse_devices(config.text("reduce_to_device"));
        while (reducer < replicas_.local_count() && replicas_.device(reducer).name() != device_text(named[0]))
            ++reducer;
        if (named.size() != 1 || reducer == replicas_.local_count())
            throw Failure(MDIST_ERR_CONFIG,
                          text("reduce_to_device is ", config.text("reduce_to_device"), " (",
                               config.origin("reduce_to_device"), "), which is not one of this strategy's devices"))
                .reason("bad_value");
    }
    group().set_reducer(reducer);
    if (gpus_) gpus_->lanes().set_reducer(reducer);
}

/// Chooses by `communication.implementation` and `cross_device_ops`.
void Communication::choose_nccl(const Config &config) {
    if (!gpus_) return;
    const std::string_view implementation = config.text("communication.implementation");
    const std::string_view ops = config.text("cross_device_ops");
    const bool asked = implementation == "nccl" || ops == "nccl";
    const bool open = implementation == "auto" && ops == "auto" && replicas_.count() > 1;
    if (!asked && !open) return;
    std::string obstacle;
    gpus_->set_nccl(start_nccl(&calls::kCreateStrategy, group(), workers_.get(), gpus_->lanes(),
                               config.duration_ns("communication.join_timeout"), obstacle));
    if (gpus_->uses_nccl()) return log_info("collectives on GPU memory use NCCL");
    if (asked)
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      text(implementation == "nccl" ? "communication.implementation" : "cross_device_ops",
                           " is nccl, but NCCL cannot be used: ", obstacle))
            .reason("no_nccl");
    if (workers_)
        log_warn("collectives on GPU memory copy through the host, which is slow: ", obstacle);
    else
        log_info("collectives on GPU memory do not use NCCL: ", obstacle);
}

/// Forms the group of GPUs, if the devices are GPUs. Either all devices are GPUs or none is.
void Communication::gather_gpus() {
    std::vector<Gpu *> gpus;
    for (const auto &device : replicas_.devices())
        if (Gpu *const gpu = device->gpu()) gpus.push_back(gpu);
    if (gpus.size() != replicas_.devices().size()) return;
    gpus_ = std::make_unique<GpuGroup>(std::move(gpus));
    executors().set_gpus(*gpus_);
}

} // namespace mdist
