// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy.h"

#include "cluster/config.h"
#include "cluster/resolve.h"
#include "comm/device/nccl_start.h"
#include "comm/workers.h"
#include "device/gpu/gpu.h"
#include "strategy/context.h"
#include "strategy/devices.h"
#include "strategy/job.h"
#include "strategy/serve/session.h"
#include "util/cpus.h"
#include "util/log.h"
#include "util/text.h"

#include <mdist/input.h>

namespace mdist {
namespace {

int32_t policy_of(const Config &config) {
    const std::string_view policy = config.text("data.auto_shard_policy");
    if (policy == "file") return MDIST_SHARD_FILE;
    if (policy == "data") return MDIST_SHARD_DATA;
    if (policy == "hint") return MDIST_SHARD_BY_HINT;
    return policy == "off" ? MDIST_SHARD_OFF : MDIST_SHARD_AUTO;
}

Packing packing_of(const Config &config) {
    const Packing packing = {config.bytes("communication.bytes_per_pack"),
                             static_cast<uint32_t>(config.count("communication.num_packs"))};
    if (packing.bytes != 0 && packing.count != 1)
        throw Failure(
            MDIST_ERR_CONFIG,
            text("communication.bytes_per_pack is ", packing.bytes, " (", config.origin("communication.bytes_per_pack"),
                 ") and communication.num_packs ", packing.count, " (", config.origin("communication.num_packs"),
                 "); packs are cut by one of the two"))
            .reason("contradiction");
    return packing;
}

} // namespace

Strategy::Strategy(const Config &config)
    : devices_(open_devices(config)),
      concurrent_(config.text("executor") == "threads"),
      deals_by_replica_(config.text("data.order") == "replica"),
      prefetches_on_device_(config.text("data.prefetch_on_device") == "true"),
      shard_policy_(policy_of(config)),
      packing_(packing_of(config)),
      group_(local_replica_count(), Patience::for_threads(local_replica_count(), usable_cpus()),
             config.duration_ns("communication.timeout")),
      variables_(std::make_shared<VariableStore>(devices_)) {
    const uint32_t threads = concurrent_ ? local_replica_count() : 1;
    team_ = std::make_unique<Team>(threads, Patience::for_threads(threads, usable_cpus()));
    frame_at(0);
    join(config);
}

/// Takes this worker's place in its job, if it has one.
void Strategy::join(const Config &config) {
    const Resolved resolved = resolve(config, process_environment());
    gather_gpus();
    choose_reducer(config, resolved.size);
    if (config.text("strategy") == "in_graph") session_ = std::make_unique<Session>(*this);
    for (uint32_t local = 0; session_ && local < local_replica_count(); ++local)
        device_names_.push_back(devices_[local]->name());
    if (resolved.size == 1) return choose_nccl(config);
    workers_ = join_job(config, resolved, local_replica_count(), devices_[0]->kind());
    worker_ = workers_->self();
    worker_count_ = workers_->count();
    group_.set_workers(workers_.get(), first_replica_id());
    memory_ = workers_->memory();
    variables_->set_source(memory_);
    workers_->when_failed([this](const Failure &cause) {
        const bool well = session_ && client_has_left(cause);
        group_.fail(well ? Failure(MDIST_ERR_ABORTED, "the client has left").reason("left").worker(0) : cause);
        open_runs_.wake();
    });
    choose_nccl(config);
    if (session_) device_names_ = session_->everybodys(device_names_);
}

/// By `cross_device_ops`.
void Strategy::choose_reducer(const Config &config, uint32_t workers) {
    const bool one_device = config.text("cross_device_ops") == "one_device";
    if (!one_device && config.is_set("reduce_to_device"))
        throw Failure(MDIST_ERR_CONFIG, text("reduce_to_device is set (", config.origin("reduce_to_device"),
                                             ") and cross_device_ops is ", config.text("cross_device_ops"), " (",
                                             config.origin("cross_device_ops"), "); it is for one_device"))
            .reason("contradiction");
    if (!one_device) return;
    if (workers > 1)
        throw Failure(MDIST_ERR_UNSUPPORTED, text("cross_device_ops is one_device (", config.origin("cross_device_ops"),
                                                  "), which is for the devices of one process, and this job has ",
                                                  workers, " workers; leave it at auto"))
            .reason("not_built");
    group_.set_reducer(0);
    if (gpus_) gpus_->set_reducer(0);
    if (!config.is_set("reduce_to_device")) return;
    const std::vector<DeviceName> named = parse_devices(config.text("reduce_to_device"));
    uint32_t reducer = 0;
    while (reducer < devices_.size() && devices_[reducer]->name() != device_text(named[0])) ++reducer;
    if (named.size() != 1 || reducer == devices_.size())
        throw Failure(MDIST_ERR_CONFIG,
                      text("reduce_to_device is ", config.text("reduce_to_device"), " (",
                           config.origin("reduce_to_device"), "), which is not one of this strategy's devices"))
            .reason("bad_value");
    group_.set_reducer(reducer);
    if (gpus_) gpus_->set_reducer(reducer);
}

/// By `communication.implementation` and `cross_device_ops`.
void Strategy::choose_nccl(const Config &config) {
    if (!gpus_) return;
    const std::string_view implementation = config.text("communication.implementation");
    const std::string_view ops = config.text("cross_device_ops");
    const bool asked = implementation == "nccl" || ops == "nccl";
    const bool open = implementation == "auto" && ops == "auto" && replica_count() > 1;
    if (!asked && !open) return;
    std::string obstacle;
    gpus_->set_nccl(start_nccl(group_, *gpus_, config.duration_ns("communication.join_timeout"), obstacle));
    if (gpus_->uses_nccl()) return log_info("collectives of GPU memory go by NCCL");
    if (asked)
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      text(implementation == "nccl" ? "communication.implementation" : "cross_device_ops",
                           " is nccl, and NCCL cannot be used: ", obstacle))
            .reason("no_nccl");
    if (workers_)
        log_warn("collectives of GPU memory go by way of the host, which is slow: ", obstacle);
    else
        log_info("collectives of GPU memory go without NCCL: ", obstacle);
}

/// All devices are GPUs, or none is.
void Strategy::gather_gpus() {
    std::vector<Gpu *> gpus;
    for (const auto &device : devices_)
        if (Gpu *const gpu = device->gpu()) gpus.push_back(gpu);
    if (gpus.size() != devices_.size()) return;
    gpus_ = std::make_unique<GpuGroup>(std::move(gpus));
    group_.set_gpus(gpus_.get());
}

Strategy::~Strategy() = default;

Session *Strategy::commanding() const {
    return session_ && !Context::in_part_of(*this) ? session_.get() : nullptr;
}

Failure Strategy::not_the_client(const char *function) const {
    return Failure(MDIST_ERR_WRONG_CONTEXT, text(function, " is for the client, worker 0 (strategy: in_graph); worker ",
                                                 worker_, " calls mdist_serve, and does what the client asks"))
        .reason("in_graph");
}

void Strategy::require_no_commands(const char *function, const char *instead) const {
    if (commanding() == nullptr) return;
    if (worker_ != 0) throw not_the_client(function);
    throw Failure(MDIST_ERR_UNSUPPORTED,
                  text(function, " is not done on other workers' replicas (strategy: in_graph): ", instead))
        .reason("in_graph");
}

Span Strategy::span() const {
    if (worker_ == 0 && commanding() != nullptr) return {0, replica_count(), 1, 0};
    return {first_replica_id(), local_replica_count(), worker_count_, worker_};
}

Device &Strategy::place(uint32_t replica) const {
    return replica < devices_.size() ? *devices_[replica] : *host();
}

std::string Strategy::place_name(uint32_t replica) const {
    if (replica < devices_.size()) return devices_[replica]->name();
    return text("worker:", replica / local_replica_count(), "/", device_names_[replica]);
}

uint32_t Strategy::device_index(const std::string &name) const {
    std::string known;
    for (uint32_t replica = 0; replica < span().replicas; ++replica) {
        if (place_name(replica) == name) return replica;
        known += text(replica == 0 ? "" : ", ", place_name(replica));
    }
    throw invalid(text("destination is \"", name, "\"; the devices of this strategy are ", known));
}

void Strategy::require_concurrent(const char *function) const {
    if (concurrent_ || local_replica_count() == 1) return;
    throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                  text(function,
                       " in a step needs executor: threads; with executor: caller the replicas run one after "
                       "another, so reduce between runs (mdist_strategy_all_reduce, mdist_reduce)"))
        .reason("executor_caller");
}

void Strategy::require_sound() {
    if (!group_.failed()) return;
    const Failure first = group_.cause().value_or(Failure(MDIST_ERR_ABORTED, "aborted"));
    throw Failure(MDIST_ERR_ABORTED,
                  text("an earlier failure ended all collectives of this strategy: ", first.message()))
        .replica(first.replica())
        .worker(first.worker())
        .reason("strategy_failed");
}

void Strategy::check_health() {
    if (group_.failed()) throw group_.cause().value_or(Failure(MDIST_ERR_ABORTED, "aborted"));
}

void Strategy::require_open() {
    if (closed_) throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the strategy was destroyed").reason("destroyed");
}

void Strategy::finish_devices() const {
    finish_all(devices_);
}

Memory Strategy::allocate_shared(uint32_t local, std::size_t bytes) {
    Device &own = device(local);
    if (own.gpu() != nullptr) return own.gpu()->allocate_zeros(bytes);
    if (memory_) {
        try {
            return memory_->allocate(bytes);
        } catch (const Failure &failure) {
            if (failure.status() != MDIST_ERR_OUT_OF_MEMORY) throw;
        }
    }
    Memory memory = own.allocate(bytes);
    own.zero(memory.get(), bytes);
    return memory;
}

Workers *Strategy::workers() {
    Workers *const others = other_workers();
    return span().workers == 1 ? nullptr : others;
}

Workers *Strategy::other_workers() {
    if (worker_count_ == 1) return nullptr;
    require_open();
    require_sound();
    return workers_.get();
}

void Strategy::fail_workers(const char *function, const Failure &failure) noexcept {
    if (worker_count_ == 1 || group_.failed()) return;
    try {
        Failure told = Failure(failure).about(function);
        if (told.operation().empty()) std::move(told).operation(function);
        group_.fail(told);
    } catch (const std::exception &) {
        group_.fail(failure);
    }
}

void Strategy::abort() noexcept {
    fail("mdist_strategy_abort was called", "aborted");
}

void Strategy::fail(const char *sentence, const char *reason) noexcept {
    try {
        group_.fail(Failure(MDIST_ERR_ABORTED, sentence).reason(reason));
    } catch (const std::bad_alloc &) {
        group_.fail(Failure(MDIST_ERR_ABORTED, "aborted"));
    }
    open_runs_.wake();
}

void Strategy::close() noexcept {
    // Each side writes its own flag before it reads the other's, so that at least one of them sees both.
    closed_ = true;
    // The thread that has the turn stops the team when it is done.
    if (busy_ || open_runs_.any()) fail("the strategy was destroyed", "destroyed");
    open_runs_.close();
    stop_if_closed();
}

void Strategy::stop_if_closed() noexcept {
    std::unique_ptr<Team> team;
    {
        const std::lock_guard lock(stop_mutex_);
        if (busy_ || open_runs_.any() || !team_) return;
        team = std::move(team_);
    }
    if (workers_) workers_->leave();
    // The replicas' handles keep the strategy alive.
    for (const auto &frame : frames_)
        for (uint32_t local = 0; local < local_replica_count(); ++local) frame->replica(local).attachment.reset();
}

void Strategy::release_turn() noexcept {
    busy_ = false;
    if (closed_) stop_if_closed();
}

Turn::Turn(Strategy &strategy, const char *function, const char *instead, bool serves)
    : strategy_(strategy), taken_(false) {
    if (const Context *context = Context::of(strategy)) {
        if (context->kind() != Context::Kind::kReplica) return; // a merge or update has the turn of its run
        throw Failure(MDIST_ERR_WRONG_CONTEXT,
                      text(function, " belongs in cross-replica context, and this is a step: call ", instead));
    }
    if (!serves && strategy.session() != nullptr && strategy.worker() != 0) throw strategy.not_the_client(function);
    if (strategy.busy_.exchange(true))
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      strategy.open_runs_.any()
                          ? text(function, ": a run of this strategy is open (mdist_run_begin): in its steps call ",
                                 instead, "; outside of them end it first")
                          : text(function, ": another thread is working with this strategy; one at a time"))
            .reason("busy");
    taken_ = true;
}

Turn::~Turn() {
    if (taken_) strategy_.release_turn();
}

} // namespace mdist
