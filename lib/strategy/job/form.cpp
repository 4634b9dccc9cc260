// SPDX-License-Identifier: Apache-2.0
// Forms a job: opens devices, then joins the other workers, then chooses how collectives move GPU memory.
#include "strategy/job/form.h"

#include "cluster/config.h"
#include "comm/device/nccl_start.h"
#include "comm/mail/mail.h"
#include "comm/workers/workers.h"
#include "device/gpu/gpu.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/devices.h"
#include "strategy/job/elastic_devices.h"
#include "strategy/job/job.h"
#include "strategy/job/lines.h"
#include "util/cpus.h"
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

/// Logs who takes part, on which devices, and how workers communicate.
void log_job(const Job &job, const Workers *workers) {
    if (!log::enabled(MDIST_LOG_INFO)) return;
    const uint32_t locals = job.local_replica_count(), first = job.first_replica_id();
    std::string devices;
    for (uint32_t local = 0; local < locals; ++local) devices += text(local == 0 ? "" : ", ", job.device(local).name());
    const std::string replicas =
        locals == 1 ? text("replica ", first) : text("replicas ", first, "-", first + locals - 1);
    const std::string who =
        workers == nullptr ? "one worker" : text(workers->name(workers->self()), " of ", workers->count(), " workers");
    log_workers(workers);
    log_info("job: ", who, "; ", replicas, " of ", job.replica_count(), " on ", devices,
             "; links: ", workers == nullptr ? "none, as there are no other workers" : workers->links());
}

Job::MeetingPlace::MeetingPlace(uint32_t parties, uint64_t timeout_ns, uint64_t call_timeout_ns)
    : group(parties, Patience::for_threads(parties, usable_cpus()), timeout_ns),
      mail(std::make_unique<Mail>(group, Patience::for_threads(parties, usable_cpus()))) {
    group.set_call_timeout(call_timeout_ns);
}

Job::Job(const Config &config)
    : elastic_(elastic_settings(config)),
      devices_(elastic_.on() ? std::vector<std::shared_ptr<Device>>() : open_devices(config)),
      concurrent_(config.text("executor") == "threads"),
      in_graph_(config.text("strategy") == "in_graph"),
      packing_(packing_of(config)),
      link_settings_{std::string(config.text("communication.implementation")),
                     config.text("communication.checksum") != "none", config.duration_ns("communication.join_timeout"),
                     config.is_set("communication.call_timeout") ? config.duration_ns("communication.call_timeout")
                                                                 : kNoDeadline,
                     !elastic_.on()},
      spans_(Spans::even(1, local_replica_count())) {
    meeting_ = std::make_shared<MeetingPlace>(std::max(local_replica_count(), 1u),
                                              config.duration_ns("communication.timeout"),
                                              link_settings_.call_timeout_ns);
    try {
        if (elastic_.on()) {
            join_elastic(config);
        } else {
            make_team();
            join(config);
        }
    } catch (...) {
        meeting_->mail->leave(); // as in the destructor, which does not run
        throw;
    }
}

void Job::make_team() {
    const uint32_t threads = concurrent_ ? local_replica_count() : 1;
    team_ = std::make_unique<Team>(threads, Patience::for_threads(threads, usable_cpus()));
}

/// Tells the local replicas when the job has failed.
void Job::watch_workers() {
    meeting_->executors.set_workers(*workers_, first_replica_id());
    meeting_->mail->set_workers(*workers_);
    workers_->when_failed([this](const Failure &cause) {
        meeting_->group.fail(as_told(cause));
        changes_.advance();
    });
}

/// Joins the other workers, if there are any.
void Job::join(const Config &config) {
    const Resolved resolved = resolve(config, process_environment());
    gather_gpus();
    choose_reducer(config, resolved.size);
    for (uint32_t local = 0; in_graph_ && local < local_replica_count(); ++local)
        device_names_.push_back(devices_[local]->name());
    if (resolved.size == 1) {
        choose_nccl(config);
        return log_job(*this, nullptr);
    }
    workers_ = join_workers(config, resolved, local_replica_count(), devices_[0]->kind(), link_settings_);
    worker_ = workers_->self();
    spans_ = workers_->spans();
    memory_ = workers_->memory();
    watch_workers();
    choose_nccl(config);
    if (in_graph_) learn_device_names();
    log_job(*this, workers_.get());
}

/// Learns the device names of all replicas, from all workers.
void Job::learn_device_names() {
    Call call;
    call.kind = &calls::kServe;
    call.subject_text = "devices";
    const std::vector<std::string> own = std::exchange(device_names_, {});
    for (const auto &lines : gather_lines(*other_workers(), call, own, timeout_or_own(0)))
        device_names_.insert(device_names_.end(), lines.begin(), lines.end());
    device_names_.resize(replica_count());
}

/// Chooses by `cross_device_ops`.
void Job::choose_reducer(const Config &config, uint32_t workers) {
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
    group().set_reducer(0);
    if (gpus_) gpus_->lanes().set_reducer(0);
    if (!config.is_set("reduce_to_device")) return;
    const std::vector<DeviceName> named = parse_devices(config.text("reduce_to_device"));
    uint32_t reducer = 0;
    while (reducer < devices_.size() && devices_[reducer]->name() != device_text(named[0])) ++reducer;
    if (named.size() != 1 || reducer == devices_.size())
        throw Failure(MDIST_ERR_CONFIG,
                      text("reduce_to_device is ", config.text("reduce_to_device"), " (",
                           config.origin("reduce_to_device"), "), which is not one of this strategy's devices"))
            .reason("bad_value");
    group().set_reducer(reducer);
    if (gpus_) gpus_->lanes().set_reducer(reducer);
}

/// Chooses by `communication.implementation` and `cross_device_ops`.
void Job::choose_nccl(const Config &config) {
    if (!gpus_) return;
    const std::string_view implementation = config.text("communication.implementation");
    const std::string_view ops = config.text("cross_device_ops");
    const bool asked = implementation == "nccl" || ops == "nccl";
    const bool open = implementation == "auto" && ops == "auto" && replica_count() > 1;
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
void Job::gather_gpus() {
    std::vector<Gpu *> gpus;
    for (const auto &device : devices_)
        if (Gpu *const gpu = device->gpu()) gpus.push_back(gpu);
    if (gpus.size() != devices_.size()) return;
    gpus_ = std::make_unique<GpuGroup>(std::move(gpus));
    executors().set_gpus(*gpus_);
}

} // namespace mdist
