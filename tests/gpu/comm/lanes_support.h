// SPDX-License-Identifier: Apache-2.0
// Parties on GPUs beside parties on the CPU. Each is a thread. Both make the same calls with the same elements.
#pragma once

#include "comm/collectives.h"
#include "comm/device/gpu_group.h"
#include "comm/operation_queue.h"
#include "util/dtype.h"

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

constexpr uint64_t kTimeout_ns = 60'000'000'000;

/// The error that each party got; "" if there was none.
using Told = std::vector<std::string>;

/// Runs body(party) on a thread for each party.
template <class Body>
Told on_all(uint32_t parties, Body body) {
    Told told(parties);
    std::vector<std::thread> threads;
    for (uint32_t party = 0; party < parties; ++party)
        threads.emplace_back([&, party] {
            try {
                body(party);
            } catch (const std::exception &failure) {
                told[party] = failure.what();
            }
        });
    for (std::thread &thread : threads) thread.join();
    return told;
}

/// Distributes parties over `physical` GPUs: party i is on gpu:(i mod physical).
struct GpuParties {
    GpuParties(uint32_t parties, uint32_t physical)
        : gpus(make(parties, physical)), lanes(pointers(gpus)), group(parties, mdist::Patience{}, kTimeout_ns) {
        executors.set_gpus(lanes);
    }

    static std::vector<std::unique_ptr<mdist::Gpu>> make(uint32_t parties, uint32_t physical) {
        std::vector<std::unique_ptr<mdist::Gpu>> made;
        for (uint32_t party = 0; party < parties; ++party)
            made.push_back(std::make_unique<mdist::Gpu>(static_cast<int32_t>(party % physical),
                                                        static_cast<int32_t>(party / physical)));
        return made;
    }
    static std::vector<mdist::Gpu *> pointers(const std::vector<std::unique_ptr<mdist::Gpu>> &gpus) {
        std::vector<mdist::Gpu *> all;
        for (const auto &gpu : gpus) all.push_back(gpu.get());
        return all;
    }

    std::vector<std::unique_ptr<mdist::Gpu>> gpus;
    mdist::GpuGroup lanes;
    mdist::Group group;
    mdist::Executors executors{group};
};

/// One buffer of one replica: its elements on the host, and their place on a GPU.
struct Twin {
    std::vector<char> host;
    mdist::Memory device; // begins with a gap, so that some addresses are odd
    std::size_t gap = 0;

    char *on_gpu() const { return static_cast<char *>(device.get()) + gap; }
    void allocate(mdist::Gpu &gpu, std::size_t bytes, std::size_t behind) {
        host.resize(bytes);
        gap = behind;
        device = gpu.allocate(bytes + gap + 1);
    }
    void to_gpu(mdist::Gpu &gpu) const { gpu.copy_in(on_gpu(), host.data(), host.size()); }
    std::vector<char> from_gpu(const mdist::Gpu &gpu) const {
        std::vector<char> read(host.size());
        gpu.copy_out(read.data(), on_gpu(), read.size());
        return read;
    }
};
