// SPDX-License-Identifier: Apache-2.0
// The settings in $MDIST_FAKE_GPU; README.md lists them. They are read once, at first use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fake_gpu {

struct Options {
    int32_t devices = 2;
    bool guarded = true;     // false: open memory
    uint64_t seed = 1;       // of the delays
    uint64_t delay_us = 0;   // the longest delay before each job of a stream
    int32_t island = 64;     // GPUs i and j can access each other's memory if i / island == j / island
    int no_device = 0;       // the error of device_count
    int32_t nccl = 22809;    // its version; 0: none
    uint64_t nccl_polls = 2; // how often NCCL is in progress before something begins
    bool nccl_alone = false; // whether a GPU runs NCCL's kernels of one communicator at a time
    bool launch_waits = false; // whether a graph's launch returns only when the stream has done it
    uint64_t memory_mb = 1024;
    std::vector<std::string> faults; // from "fail=" and "hang=": "NAME@N", with ":hang" for the latter
    std::string problem;             // what could not be read; "" if everything could
};

const Options &options();

} // namespace fake_gpu
