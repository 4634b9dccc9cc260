// SPDX-License-Identifier: Apache-2.0
#include "bench/world.h"

#include "bench/barrier.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace mdist {
namespace {

/// One call of measure().
class Measurement {
  public:
    Measurement(World &world, const std::vector<Side> &sides, unsigned rounds)
        : world_(world),
          sides_(sides),
          rounds_(rounds),
          gate_(world.replicas()),
          times_(world.replicas()),
          samples_(sides.size(), std::vector<double>(rounds)) {
        for (const Side &side : sides) starts_.push_back(std::make_unique<Barrier>(parties(side), world.cpus()));
    }

    static int32_t step(mdist_replica_t *replica, void *user_data) {
        static_cast<Measurement *>(user_data)->run(replica);
        return 0;
    }

    Samples take_samples() { return std::move(samples_); }

  private:
    struct alignas(64) Times {
        double start = 0;
        double end = 0;
    };

    uint32_t parties(const Side &side) const { return side.parties == 0 ? world_.replicas() : side.parties; }

    void run(mdist_replica_t *replica) {
        const Seat seat{world_, mdist_replica_local_index(replica), replica};
        for (unsigned round = 0; round < rounds_; ++round)
            for (std::size_t side = 0; side < sides_.size(); ++side) sample(seat, side, round);
    }

    void sample(const Seat &seat, std::size_t index, unsigned round) {
        const Side &side = sides_[index];
        gate_.wait();
        if (seat.index < parties(side)) {
            starts_[index]->wait();
            if (side.batch > 1) {
                // For short operations, keep waking up and cold caches out of the measured time.
                side.run(seat, side.batch / 4 + 1);
                starts_[index]->wait();
            }
            times_[seat.index].start = now_ns();
            side.run(seat, side.batch);
            times_[seat.index].end = now_ns();
        }
        gate_.wait();
        if (seat.index != 0) return;
        Times all = times_[0];
        for (uint32_t i = 1; i < parties(side); ++i) {
            all.start = std::min(all.start, times_[i].start); // the first to leave the barrier, once the last has come
            all.end = std::max(all.end, times_[i].end);
        }
        samples_[index][round] = (all.end - all.start) / side.batch;
    }

    World &world_;
    const std::vector<Side> &sides_;
    const unsigned rounds_;
    Gate gate_;
    std::vector<std::unique_ptr<Barrier>> starts_;
    std::vector<Times> times_;
    Samples samples_;
};

} // namespace

void Seat::note(mdist_status_t status, mdist_error_t *const &error) const {
    if (status < 0) world.note(sentence_of(status, error));
}

namespace {

StrategyHandle mirrored_strategy(uint32_t replicas) {
    const ConfigHandle config = make_config();
    mdist_error_t *error = nullptr;
    const std::string devices = "cpu*" + std::to_string(replicas);
    require_ok(mdist_config_set(config.get(), "devices", devices.c_str(), &error), error);
    require_ok(mdist_config_set(config.get(), "strategy", "mirrored", &error), error);
    return make_strategy(config.get());
}

} // namespace

World::World(uint32_t replicas, uint32_t cpus) : World(mirrored_strategy(replicas), cpus) {}

World::World(StrategyHandle strategy, uint32_t cpus)
    : replicas_(mdist_strategy_local_replica_count(strategy.get())), cpus_(cpus), strategy_(std::move(strategy)) {}

Samples World::measure(const std::vector<Side> &sides, unsigned rounds) {
    Measurement measurement(*this, sides, rounds);
    mdist_error_t *error = nullptr;
    require_ok(mdist_run(strategy(), Measurement::step, &measurement, NULL, &error), error);
    if (!failure_.empty()) throw std::runtime_error(failure_);
    return measurement.take_samples();
}

void World::note(const std::string &failure) {
    const std::lock_guard hold(lock_);
    if (failure_.empty()) failure_ = failure;
}

} // namespace mdist
