// SPDX-License-Identifier: Apache-2.0
// An elastic job in the simulation: a store, workers with a small training, and faults. Checks after each event what
// must always hold, and at the end that everyone has settled.
#pragma once

#include "regroup_program.h"
#include "simulation.h"

#include "membership/store/elastic_store.h"
#include "membership/worker/member.h"
#include "util/text.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mdist::test {

inline constexpr uint64_t kSecond = 1000 * kMillisecond;
inline constexpr uint64_t kJoin = 20 * kSecond;
inline constexpr uint64_t kSilence = 2 * kSecond;

enum class Fault {
    kKill,
    kPowerOff,
    kStop,
    kCut,
    kCutFromStore,
    kReset,
    kStoreStop,
    kStoreKill,
    kStoreRestart, // it is killed, and comes back
    kFullDisk,     // the store cannot keep its state
    kNoStore,
    kDismiss,
    kSlow, // its program makes no call for a while, but its library lives
    kHang, // the same for ever
};
inline constexpr uint64_t kFaults = 14;
inline constexpr uint32_t kLeaves = 1u << 31; // beside the number of newcomers: somebody is to leave

struct FaultPlan {
    Fault fault = Fault::kKill;
    std::optional<uint64_t> at_event; // else at the time
    uint64_t at_ns = 0;
};

struct RegroupPlan {
    uint32_t workers = 3;
    uint32_t max_workers = 3;
    uint32_t min_workers = 1;
    uint32_t replicas = 3;
    uint32_t copies = 1;
    uint64_t steps = 12;
    uint64_t commit_every = 3;
    bool secret = false;
    bool reaps = false;    // a launcher tells the store of killed workers, and kills those that the job goes on without
    bool replaces = false; // a killed or dropped worker is replaced by a new one
    std::vector<FaultPlan> faults;
    std::vector<uint64_t> joins; // when newcomers start
    bool must_finish = false;    // all that no fault has hit must finish
};

struct RegroupJob;

/// A worker's program.
struct RegroupWorker {
    enum class Phase { kRestore, kParts, kBarrier, kStep, kBye };

    RegroupJob &job;
    WorkerId id;
    Process &process;
    std::unique_ptr<Member> member = nullptr;
    uint32_t generation = 0; // that it works in
    Phase phase = Phase::kParts;
    bool waiting = false; // in an exchange
    bool resting = false; // between two exchanges, or before it asks
    bool asks_soon = false;
    uint64_t exchange = 0;
    uint64_t late_ns = 0;
    Training training = {};
    std::vector<Commit> commits = {}; // at most two, older first
    bool spare = false;               // the older one goes when the next operation of all has succeeded
    bool wants_regroup = false;       // all have decided to let newcomers in
    uint32_t done_in_old = 0;         // operations finished after its generation had been replaced
    bool hit = false;                 // by a fault
    bool slow = false;                // its program makes no call
    bool hangs = false;               // and never will
    bool leaves = false;              // it would leave the job
    bool finished = false;            // it has the result
    bool left = false;                // and all know that all have it
    std::optional<Failure> failure = {};

    void start();
    void look();
    void ask();
    void enter();
    void begin();
    std::string blob() const;
    void complete(const std::vector<std::string> &blobs);
    void restore(const std::vector<std::string> &blobs);
    void keep_parts(const std::vector<std::string> &blobs);
    void finish();
    void mark(const std::vector<std::string> &blobs);
    bool holds_for(uint32_t rank) const;
    void rest(uint64_t most);
    bool settled() const { return !process.alive() || process.stopped() || failure || left || hangs; }
};

struct RegroupJob {
    RegroupJob(uint64_t seed, const RegroupPlan &plan, bool trace);
    /// Runs until everyone has settled, or something is broken.
    void run();
    void blame(const std::string &what) {
        if (broken.empty()) broken = what;
    }

    Simulation simulation;
    RegroupPlan plan;
    uint64_t result; // of the undisturbed training
    Process *store_process = nullptr;
    std::unique_ptr<ElasticStore> store;
    std::string kept; // the state of the store
    bool disk_is_full = false;
    std::vector<std::unique_ptr<RegroupWorker>> workers;
    std::map<uint32_t, std::string> generations; // as their members have seen them
    uint32_t last_written = 0;
    Generation last;         // the one before the newest, once that is written
    bool has_commit = false; // all workers of some generation had marked one
    uint64_t last_fault_ns = 0;
    uint64_t steps_run = 0; // events
    bool saw_data_loss = false;
    std::string broken; // the first thing that was wrong

    RegroupWorker &add_worker();
    void apply(const FaultPlan &fault);
    void start_store(Process &process);
    void restart_store(uint64_t after);
    void cut(bool from_store);
    void cut_all_from_store();
    void check_written();
    void check_data_loss();
    void check_end();
    void replace(RegroupWorker &lost);
    void kill(RegroupWorker &victim);
    void kill_left_behind();
};

} // namespace mdist::test
