// SPDX-License-Identifier: Apache-2.0
// What $MDIST_FAKE_GPU says; README.md lists it. Read once, when it is first asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fake_gpu {

struct Options {
    int32_t devices = 2;
    bool guarded = true;     // else open
    uint64_t seed = 1;       // of delays
    uint64_t delay_us = 0;   // at most, before each job of a stream
    bool reach = true;       // whether GPUs reach each other's memory
    int no_device = 0;       // what device_count gives
    int32_t nccl = 22809;    // its version; 0: none
    uint64_t nccl_polls = 2; // how often NCCL is in progress before something begins
    uint64_t memory_mb = 1024;
    std::vector<std::string> faults; // "fail=" and "hang=", without that word and with it for hang
    std::string problem;             // what could not be read
};

const Options &options();

} // namespace fake_gpu
