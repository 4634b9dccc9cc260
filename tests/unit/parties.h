// SPDX-License-Identifier: Apache-2.0
// Parties of a test that talk over a link: as processes or as threads, which meet in shared memory. What goes wrong in
// one of them is an exception there and a note for the test, which asserts when all have ended.
#pragma once

#include "util/clock.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// This header of 1.1.5 does not say for itself that it is C.
extern "C" {
#include <cmocka.h>
}

struct Party {
    uint32_t self;
    uint32_t parties;
    /// All parties call it; gives every party's blob.
    std::function<std::vector<std::string>(const std::string &blob)> exchange;
    /// Returns when `count` parties are here, or all.
    std::function<void(uint32_t count)> meet_some;
    void meet() const { meet_some(parties); }
    void meet(uint32_t count) const { meet_some(count); }
};

inline void expect(bool good, const char *claim) {
    if (!good) throw std::runtime_error(std::string("not so: ") + claim);
}

/// In memory that processes share.
class MeetingPlace {
  public:
    static constexpr uint32_t kParties = 8;
    static constexpr std::size_t kBlobBytes = 64 << 10;

    static MeetingPlace &make() {
        void *memory = mmap(nullptr, sizeof(MeetingPlace), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        return *new (memory) MeetingPlace();
    }
    static void unmake(MeetingPlace &place) { munmap(&place, sizeof place); }

    Party party(uint32_t self, uint32_t parties) {
        return {self, parties, [=, this](const std::string &blob) { return exchange(self, parties, blob); },
                [this](uint32_t count) { meet(count); }};
    }

    /// Runs a party; false if it failed.
    bool run(const std::function<void(const Party &)> &body, const Party &party) noexcept {
        try {
            body(party);
            return true;
        } catch (const std::exception &failure) {
            snprintf(notes_[party.self], sizeof notes_[0], "%s", failure.what());
            pthread_mutex_lock(&mutex_);
            failed_ = true;
            pthread_cond_broadcast(&condition_);
            pthread_mutex_unlock(&mutex_);
            return false;
        }
    }
    void print(uint32_t party) const { print_error("party %u: %s\n", party, notes_[party]); }

  private:
    MeetingPlace() {
        pthread_mutexattr_t mutex_attributes;
        pthread_mutexattr_init(&mutex_attributes);
        pthread_mutexattr_setpshared(&mutex_attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&mutex_, &mutex_attributes);
        pthread_condattr_t condition_attributes;
        pthread_condattr_init(&condition_attributes);
        pthread_condattr_setpshared(&condition_attributes, PTHREAD_PROCESS_SHARED);
        pthread_condattr_setclock(&condition_attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&condition_, &condition_attributes);
    }

    std::vector<std::string> exchange(uint32_t self, uint32_t parties, const std::string &blob) {
        expect(blob.size() <= kBlobBytes, "a blob is small enough");
        std::memcpy(blobs_[self], blob.data(), blob.size());
        bytes_[self] = blob.size();
        meet(parties);
        std::vector<std::string> all;
        for (uint32_t party = 0; party < parties; ++party) all.emplace_back(blobs_[party], bytes_[party]);
        meet(parties); // nobody writes a second blob before all have read the first
        return all;
    }

    void meet(uint32_t count) {
        constexpr time_t kPatience = 100; // seconds
        timespec deadline;
        clock_gettime(CLOCK_MONOTONIC, &deadline);
        deadline.tv_sec += kPatience;
        pthread_mutex_lock(&mutex_);
        int status = 0;
        if (++present_ == count) {
            present_ = 0;
            ++meeting_;
            pthread_cond_broadcast(&condition_);
        } else {
            const uint32_t meeting = meeting_;
            while (meeting == meeting_ && status == 0 && !failed_)
                status = pthread_cond_timedwait(&condition_, &mutex_, &deadline);
        }
        const bool met = status == 0 && !failed_;
        pthread_mutex_unlock(&mutex_);
        expect(met, "the others come to the meeting");
    }

    pthread_mutex_t mutex_;
    pthread_cond_t condition_;
    uint32_t present_ = 0;
    uint32_t meeting_ = 0;
    bool failed_ = false; // somebody will not come any more
    char blobs_[kParties][kBlobBytes];
    std::size_t bytes_[kParties];
    char notes_[kParties][256];
};

inline void run_threads(uint32_t parties, const std::function<void(const Party &)> &body) {
    MeetingPlace &place = MeetingPlace::make();
    std::vector<char> good(parties);
    std::vector<std::thread> threads;
    for (uint32_t self = 0; self < parties; ++self)
        threads.emplace_back([&, self] { good[self] = place.run(body, place.party(self, parties)); });
    for (std::thread &thread : threads) thread.join();
    bool all_good = true;
    for (uint32_t self = 0; self < parties; ++self)
        if (!good[self]) all_good = false, place.print(self);
    MeetingPlace::unmake(place);
    assert_true(all_good);
}

/// `killed`: the party that must end by SIGKILL.
inline void run_processes(uint32_t parties, const std::function<void(const Party &)> &body, int32_t killed = -1) {
    MeetingPlace &place = MeetingPlace::make();
    std::vector<pid_t> processes;
    fflush(nullptr);
    for (uint32_t self = 0; self < parties; ++self) {
        const pid_t process = fork();
        if (process == 0) _exit(place.run(body, place.party(self, parties)) ? 0 : 1);
        processes.push_back(process);
    }
    bool all_good = true;
    for (uint32_t self = 0; self < parties; ++self) {
        int status = 0;
        while (waitpid(processes[self], &status, 0) == -1 && errno == EINTR) continue;
        const bool good = static_cast<int32_t>(self) == killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                                               : WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (good) continue;
        all_good = false;
        print_error("party %u: wait status %#x\n", self, static_cast<unsigned>(status));
        place.print(self);
    }
    MeetingPlace::unmake(place);
    assert_true(all_good);
}
