// SPDX-License-Identifier: Apache-2.0
// Strategies on GPUs, and memory of their replicas, through the public API only. Errors are thrown with their message.
#pragma once

#include <mdist/mdist.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "checks.h"

namespace mdist::gpu_test {

/// Throws the error's message, and frees the error.
void well(mdist_status_t status, mdist_error_t *error);

/// Memory on a replica's device.
class Array {
  public:
    Array(mdist_strategy_t *strategy, uint32_t replica, std::size_t bytes);
    ~Array() { mdist_free(data_); }
    Array(Array &&other) noexcept : data_(other.data_) { other.data_ = nullptr; }
    Array &operator=(Array &&other) = delete;

    void *data() const { return data_; }
    void upload(const std::vector<unsigned char> &bytes) const;
    std::vector<unsigned char> download(std::size_t bytes) const;

  private:
    void *data_ = nullptr;
};

class Strategy {
  public:
    /// `implementation`: the value of communication.implementation.
    Strategy(const std::string &devices, const std::string &implementation);
    ~Strategy() { mdist_strategy_destroy(strategy_); }
    Strategy(const Strategy &) = delete;
    Strategy &operator=(const Strategy &) = delete;

    mdist_strategy_t *get() const { return strategy_; }
    uint32_t replicas() const { return mdist_strategy_local_replica_count(strategy_); }
    Array allocate(uint32_t replica, std::size_t bytes) const { return {strategy_, replica, bytes}; }
    /// Runs one step: body(replica, its number) on each replica.
    using Body = std::function<void(mdist_replica_t *, uint32_t)>;
    void run(const Body &body) const;

  private:
    mdist_strategy_t *strategy_ = nullptr;
};

/// Describes memory as a tensor of one dimension, wherever the memory lies.
mdist_tensor_t tensor_of(void *data, mdist_dtype_t dtype, std::size_t elements);
void all_reduce(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t &in, const mdist_buffer_t &out);

/// Makes a check for each type: all operations with exact results, on all replicas. Then a check of the collectives
/// that only exchange data.
void check_types(Checks &checks, const Strategy &strategy, const std::string &name);
void check_exchanges(Checks &checks, const Strategy &strategy, const std::string &name);

/// Returns the bytes per second of an all-reduce (the bytes of one replica), the best of several steps.
double all_reduce_rate(const Strategy &strategy, mdist_dtype_t dtype, std::size_t bytes);

} // namespace mdist::gpu_test
