// SPDX-License-Identifier: Apache-2.0
// Check: one claim, and the code that proves it. Prints "ok - claim", or "not ok - claim" with the reason.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include <mdist/mdist.hpp>

inline int checks_failed = 0;

// Throws unless `holds`. Call it on any thread whose exceptions are rethrown, such as in a step.
inline void require(bool holds, const std::string &reason) {
    if (!holds) throw std::logic_error(reason);
}

template <typename Proof>
void check(const std::string &claim, Proof proof) {
    try {
        proof();
        std::printf("ok - %s\n", claim.c_str());
    } catch (const std::exception &error) {
        std::printf("not ok - %s: %s\n", claim.c_str(), error.what());
        ++checks_failed;
    }
    std::fflush(stdout);
}

// Calls a function, and returns the exception of this type that it throws. No exception is a failure. Other exceptions
// pass through.
template <typename Exception, typename Function>
Exception thrown_by(Function function) {
    try {
        function();
    } catch (const Exception &exception) {
        return exception;
    }
    throw std::logic_error("nothing was thrown");
}

inline mdist::Strategy strategy_of(uint32_t replicas, const std::string &executor = "threads") {
    return mdist::Strategy(mdist::Config().set("devices", "cpu*" + std::to_string(replicas)).set("executor", executor));
}

// Fails unless the strategy still works.
inline void require_usable(mdist::Strategy &strategy) {
    strategy.run([](mdist::Replica &replica) {
        int64_t sum = 1;
        replica.all_reduce(MDIST_SUM, sum);
        require(sum == replica.count(), "a sum afterwards is wrong");
    });
}

void check_types();
void check_failures();
void check_replicas();
void check_threads();
void check_input();
void check_lifetimes();
void check_structures();
void check_checkpoints();
void check_gradients();
void check_datasets();
void check_groups_and_calls();
void check_names_and_loops();
void check_workers();
void check_in_graph();
void check_elastic_mistakes();
void check_failing_blob();
void elastic_training();
