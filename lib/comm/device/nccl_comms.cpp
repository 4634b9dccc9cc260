// SPDX-License-Identifier: Apache-2.0
#include "comm/device/nccl_comms.h"

#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"
#include "util/thread.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <sched.h>

namespace mdist {
namespace {

constexpr uint64_t kClose_ns = 10'000'000'000;
constexpr uint64_t kAwake_ns = 100'000;
constexpr auto kLook = std::chrono::microseconds(200);

Failure failure_of(const mdist_nccl_api &api, int error, mdist_gpu_comm *comm, const std::string &what) {
    const std::string more = api.last_error(comm);
    return Failure(MDIST_ERR_DEVICE, text("NCCL: ", what, " failed: ", api.text(error), more.empty() ? "" : " (", more,
                                          more.empty() ? "" : ")"))
        .reason("nccl_failed")
        .native(error);
}

} // namespace

struct NcclComms::State {
    struct Watched {
        Marks marks;
        const char *name;
        uint64_t begin_ns;
        uint64_t timeout_ns;
    };

    explicit State(const mdist_nccl_api &table) : api(table) {}

    bool in_progress(int error) const { return error != 0 && api.kind(error) == MDIST_GPU_NOT_READY; }
    /// NCCL's state of all communicators: 0, the error of one, or in progress. Call with nccl_mutex held.
    int ask(mdist_gpu_comm *&whose);
    bool over(const Watched &each) const;
    std::optional<Failure> look();
    void abort() noexcept;
    void finalize() noexcept;
    bool well_with_job(const std::optional<Failure> &wrong) noexcept;
    void work() noexcept;
    static void *main(void *self);

    const mdist_nccl_api &api;
    std::vector<mdist_gpu_comm *> comms;
    std::mutex job_mutex; // held while calling the functions below; ends with the job
    bool left_behind = false;
    std::function<void(const Failure &)> fail;
    std::function<bool()> failed;

    std::mutex nccl_mutex; // around calls of NCCL: one thread at a time
    bool aborted = false;  // guarded by it

    std::mutex mutex; // guards what follows
    std::condition_variable changed;
    std::deque<Watched> watched;
    bool ending = false;
    bool abandoned = false; // a failure that the destructor or an issuing thread knows of
    bool ended = false;
    pthread_t thread = {};
};

int NcclComms::State::ask(mdist_gpu_comm *&whose) {
    int progress = 0;
    for (mdist_gpu_comm *comm : comms) {
        int error = 0;
        const int own = api.async_error(comm, &error);
        if (own != 0) error = own;
        whose = comm;
        if (error != 0 && !in_progress(error)) return error;
        if (error != 0) progress = error;
    }
    return progress;
}

bool NcclComms::State::over(const Watched &each) const {
    for (const Event &mark : each.marks->events)
        if (!mark.happened()) return false;
    return true;
}

/// Returns what went wrong, if anything has. Forgets work that is over.
std::optional<Failure> NcclComms::State::look() {
    {
        const std::lock_guard lock(nccl_mutex);
        mdist_gpu_comm *whose = nullptr;
        const int error = ask(whose);
        if (error != 0 && !in_progress(error)) return failure_of(api, error, whose, "a collective");
    }
    const std::lock_guard lock(mutex);
    try {
        while (!watched.empty() && over(watched.front())) watched.pop_front();
    } catch (const Failure &failure) {
        return failure;
    }
    const uint64_t now = monotonic_clock().now_ns();
    const auto late = std::find_if(watched.begin(), watched.end(), [now](const Watched &each) {
        return now - each.begin_ns >= each.timeout_ns; // each has a deadline of its own
    });
    if (late == watched.end()) return {};
    return Failure(MDIST_ERR_TIMEOUT,
                   text(late->name, ": NCCL did not finish within ", late->timeout_ns / 1'000'000, " ms"))
        .operation(late->name)
        .reason("nccl_timeout");
}

/// Aborts the communicators. An issuing thread sees that, and does not wait for NCCL, which lets go only when all
/// graphs that use it are gone.
void NcclComms::State::abort() noexcept {
    std::vector<mdist_gpu_comm *> left;
    {
        const std::lock_guard lock(nccl_mutex);
        aborted = true;
        left.swap(comms);
    }
    for (mdist_gpu_comm *comm : left) api.abort(comm);
}

/// Ends communicators that have nothing under way. Tells all of them before waiting for one, which may need the others.
void NcclComms::State::finalize() noexcept {
    const std::lock_guard lock(nccl_mutex);
    const uint64_t begin = monotonic_clock().now_ns();
    std::erase_if(comms, [this](mdist_gpu_comm *comm) {
        const int error = api.finalize(comm);
        const bool refused = error != 0 && !in_progress(error);
        if (refused) api.abort(comm);
        return refused;
    });
    for (mdist_gpu_comm *comm : comms) {
        int error = 0;
        while (api.async_error(comm, &error) == 0 && in_progress(error) &&
               monotonic_clock().now_ns() - begin < kClose_ns)
            sched_yield();
        error == 0 ? api.destroy(comm) : api.abort(comm);
    }
    comms.clear();
}

/// Tells the job what is wrong, if something is. Returns whether both the communicators and the job are well.
bool NcclComms::State::well_with_job(const std::optional<Failure> &wrong) noexcept {
    const std::lock_guard lock(job_mutex);
    if (left_behind) return false;
    if (wrong) fail(*wrong);
    return !wrong && !failed();
}

void NcclComms::State::work() noexcept {
    std::unique_lock lock(mutex);
    bool well = true;
    while (well && !abandoned && !(ending && watched.empty())) {
        if (watched.empty()) {
            changed.wait(lock);
            continue;
        }
        changed.wait_for(lock, kLook);
        lock.unlock();
        well = well_with_job(look());
        lock.lock();
    }
    well = well && !abandoned;
    watched.clear();
    lock.unlock();
    well ? finalize() : abort();
    lock.lock();
    changed.wait(lock, [this] { return ending; });
    ended = true;
    changed.notify_all();
}

void *NcclComms::State::main(void *self) {
    const std::unique_ptr<std::shared_ptr<State>> state(static_cast<std::shared_ptr<State> *>(self));
    (*state)->work();
    return nullptr;
}

NcclComms::NcclComms(const mdist_nccl_api &api, const Lanes &lanes, uint32_t ranks, uint32_t first_rank, const Id &id,
                     std::function<void(const Failure &)> fail, std::function<bool()> failed)
    : state_(std::make_shared<State>(api)) {
    state_->fail = std::move(fail);
    state_->failed = std::move(failed);
    state_->comms.resize(lanes.parties());
    int error = api.group_start();
    const bool grouped = error == 0;
    for (uint32_t party = 0; party < lanes.parties() && error == 0; ++party) {
        error = api.init(&state_->comms[party], lanes.gpu(party).index(), static_cast<int32_t>(ranks),
                         static_cast<int32_t>(first_rank + party), id.data());
        if (state_->in_progress(error)) error = 0;
    }
    const int last = grouped ? api.group_end() : 0;
    if (error == 0 && last != 0 && !state_->in_progress(last)) error = last;
    std::erase(state_->comms, nullptr);
    auto handed = std::make_unique<std::shared_ptr<State>>(state_);
    const int refused = error != 0 ? 0 : start_thread(&state_->thread, State::main, handed.get(), "mdist-nccl");
    if (error == 0 && refused == 0) {
        handed.release();
        return;
    }
    state_->abort();
    if (error != 0) throw failure_of(api, error, nullptr, "making communicators");
    throw Failure(MDIST_ERR_RESOURCE, "the system refused a thread for NCCL").native(refused);
}

NcclComms::~NcclComms() {
    bool ended = false;
    {
        std::unique_lock lock(state_->mutex);
        state_->ending = true;
        state_->changed.notify_all();
        ended =
            state_->changed.wait_for(lock, std::chrono::nanoseconds(2 * kClose_ns), [this] { return state_->ended; });
    }
    if (ended) {
        pthread_join(state_->thread, nullptr);
        return;
    }
    log_error(
        "NCCL did not release its communicators within 20 s; the library stopped waiting, so their memory stays "
        "allocated");
    const std::lock_guard lock(state_->job_mutex);
    state_->left_behind = true;
    pthread_detach(state_->thread);
}

const mdist_nccl_api &NcclComms::api() const {
    return state_->api;
}

mdist_gpu_comm *NcclComms::comm(uint32_t party) const {
    return state_->comms[party];
}

void NcclComms::check(int error, const char *what) const {
    if (error != 0 && !state_->in_progress(error)) throw failure_of(state_->api, error, nullptr, what);
}

/// Waits until no communicator is in progress.
void NcclComms::poll(const char *what, uint64_t timeout_ns) {
    const uint64_t begin = monotonic_clock().now_ns();
    for (;;) {
        {
            const std::lock_guard lock(state_->nccl_mutex);
            if (state_->aborted) break;
            mdist_gpu_comm *whose = nullptr;
            const int error = state_->ask(whose);
            if (error == 0) return;
            if (!state_->in_progress(error)) throw failure_of(state_->api, error, whose, what);
        }
        if (state_->failed()) break;
        const uint64_t waited = monotonic_clock().now_ns() - begin;
        if (waited >= timeout_ns)
            throw Failure(MDIST_ERR_TIMEOUT,
                          text("NCCL: ", what, " did not begin within ", timeout_ns / 1'000'000, " ms"))
                .reason("nccl_timeout");
        if (waited < kAwake_ns) { // as long as NCCL usually takes
            sched_yield();
            continue;
        }
        std::unique_lock lock(state_->mutex);
        state_->changed.wait_for(lock, kLook);
    }
    throw Failure(MDIST_ERR_ABORTED, text("NCCL: ", what, " was aborted because the job has failed"));
}

void NcclComms::abandon() noexcept {
    const std::lock_guard lock(state_->mutex);
    state_->abandoned = true;
    state_->changed.notify_all();
}

/// Runs `body`. If it throws, ends the communicators.
template <class Body>
void NcclComms::or_abandon(Body body) {
    try {
        body();
    } catch (...) {
        abandon();
        throw;
    }
}

void NcclComms::ready(uint64_t timeout_ns) {
    or_abandon([&] { poll("meeting all ranks", timeout_ns); });
}

void NcclComms::issue(FunctionRef<void()> calls, const char *name, uint64_t timeout_ns) {
    or_abandon([&] {
        {
            const std::lock_guard lock(state_->nccl_mutex);
            if (state_->aborted) throw Failure(MDIST_ERR_ABORTED, "NCCL has failed before");
            check(state_->api.group_start(), name);
            struct End {
                const mdist_nccl_api &api;
                int error = 0;
                bool done = false;
                ~End() {
                    if (!done) api.group_end();
                }
            } end{state_->api};
            calls();
            end.done = true;
            check(state_->api.group_end(), name);
        }
        poll(name, timeout_ns);
    });
}

void NcclComms::watch(Marks marks, const char *name, uint64_t timeout_ns) {
    if (!marks) return;
    const std::lock_guard lock(state_->mutex);
    state_->watched.push_back({std::move(marks), name, monotonic_clock().now_ns(), timeout_ns});
    state_->changed.notify_all();
}

} // namespace mdist
