// SPDX-License-Identifier: Apache-2.0
// Microseconds of an all-reduce among processes of this host through shared memory, by size, for ordinary memory and
// for memory from the arena:
//     shm_bench [processes [small_bytes [stage_bytes [largest]]]]
// Each figure is the median of some rounds, then the least, as rank 0 sees it. float32, SUM, out of place.
#include "comm/shm/arena.h"
#include "comm/shm/group.h"
#include "strategy/job/call_functions.h"
#include "util/clock.h"
#include "util/failure.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace mdist;

constexpr uint32_t kMost = 16;

/// Stands in for the store.
struct Board {
    std::atomic<uint32_t> arrived[3];
    char texts[3][kMost][512];

    std::vector<std::string> exchange(uint32_t workers, uint32_t rank, uint32_t round, const std::string &blob) {
        std::snprintf(texts[round][rank], sizeof texts[round][rank], "%s", blob.c_str());
        arrived[round].fetch_add(1);
        while (arrived[round].load() < workers) sched_yield();
        std::vector<std::string> all;
        for (uint32_t other = 0; other < workers; ++other) all.push_back(texts[round][other]);
        return all;
    }
};

struct Figure {
    double median;
    double least;
};

class Worker {
  public:
    Worker(Board &board, uint32_t rank, const ShmSizes &sizes)
        : mates_(std::make_shared<ShmMates>(rank, board.workers(), sizes, 1)) {
        const auto workers = static_cast<uint32_t>(sizes.workers);
        const auto offers = board.exchange(workers, rank, 0, mates_->offer());
        mates_->settle(board.exchange(workers, rank, 1, mates_->open(offers)));
        if (!mates_->all_share()) throw Failure(MDIST_ERR_UNSUPPORTED, mates_->reason(rank == 0));
        group_ =
            std::make_unique<ShmGroup>(mates_, std::make_shared<ShmBell>(mates_), Spans::even(mates_->workers(), 1));
        arena_ = ShmArena::of(*mates_);
    }

    Figure measure(std::size_t bytes, bool direct) {
        const Memory in = direct ? arena_->allocate(bytes) : host()->allocate(bytes);
        const Memory out = direct ? arena_->allocate(bytes) : host()->allocate(bytes);
        std::fill_n(static_cast<float *>(in.get()), bytes / 4, 1.0F);
        std::memset(out.get(), 0, bytes);
        const mdist_buffer_t input = {in.get(), bytes / 4, MDIST_FLOAT32, 0};
        const mdist_buffer_t output = {out.get(), bytes / 4, MDIST_FLOAT32, 0};
        Call call;
        call.kind = &calls::kAllReduce;
        call.op = MDIST_SUM;
        call.inputs = &input;
        call.outputs = &output;
        call.buffer_count = 1;
        const uint32_t count = static_cast<uint32_t>(std::clamp<std::size_t>(4'000'000 / (bytes + 1000), 2, 2000));
        std::vector<double> rounds;
        run(call, count);
        for (uint32_t round = 0; round < (bytes > 4 << 20 ? 15 : 60); ++round) rounds.push_back(run(call, count));
        std::sort(rounds.begin(), rounds.end());
        return {rounds[rounds.size() / 2], rounds[0]};
    }

  private:
    double run(const Call &call, uint32_t count) {
        const auto keep_going = [] {};
        OperationHeader header = OperationHeader::of(call, ++sequence_, 0);
        const Call *calls = &call;
        group_->all_reduce(header, &calls, keep_going); // all begin together
        const uint64_t start = monotonic_clock().now_ns();
        for (uint32_t i = 0; i < count; ++i) {
            header.sequence = ++sequence_;
            group_->all_reduce(header, &calls, keep_going);
        }
        return static_cast<double>(monotonic_clock().now_ns() - start) / 1e3 / count;
    }

    std::shared_ptr<ShmMates> mates_;
    std::unique_ptr<ShmGroup> group_;
    std::shared_ptr<ShmArena> arena_;
    uint64_t sequence_ = 0;
};

/// Binds processes to CPUs in turn, so that the scheduler does not decide what is measured.
void bind(uint32_t rank) {
    cpu_set_t all;
    cpu_set_t one;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    auto left = static_cast<int>(rank) % CPU_COUNT(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &all) || left-- != 0) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

void work(Board &board, uint32_t rank, const ShmSizes &sizes, std::size_t largest) {
    Worker worker(board, rank, sizes);
    if (rank == 0) std::printf("%12s %22s %22s\n", "bytes", "ordinary memory, us", "arena, us");
    for (std::size_t bytes = 4; bytes <= largest; bytes *= bytes < 1024 ? 16 : 4) {
        const Figure ordinary = worker.measure(bytes, false);
        const Figure arena = worker.measure(bytes, true);
        if (rank == 0)
            std::printf("%12zu %11.2f %10.2f %11.2f %10.2f\n", bytes, ordinary.median, ordinary.least, arena.median,
                        arena.least);
        std::fflush(stdout);
    }
}

} // namespace

int main(int argc, char **argv) {
    const auto argument = [&](int i, uint64_t otherwise) {
        return argc > i ? static_cast<uint64_t>(std::strtoull(argv[i], nullptr, 0)) : otherwise;
    };
    ShmSizes sizes = ShmSizes::for_workers(static_cast<uint32_t>(argument(1, 2)));
    sizes.small_bytes = argument(2, sizes.small_bytes);
    sizes.stage_bytes = argument(3, sizes.stage_bytes);
    if (sizes.workers < 1 || sizes.workers > kMost) return 2;
    void *map = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Board &board = *new (map) Board();
    for (uint32_t rank = 0; rank < sizes.workers; ++rank) {
        if (fork() != 0) continue;
        bind(rank);
        try {
            work(board, rank, sizes, argument(4, 64 << 20));
        } catch (const Failure &failure) {
            std::fprintf(stderr, "worker %u: %s\n", rank, failure.what());
        }
        std::fflush(stdout);
        _exit(0);
    }
    while (wait(nullptr) > 0) {
    }
    return 0;
}
