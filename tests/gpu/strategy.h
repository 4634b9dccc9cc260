// SPDX-License-Identifier: Apache-2.0
// Strategies on GPUs, and memory of their replicas, by the public API alone. What goes wrong is thrown, in words.
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

/// Throws what the error says, and frees it.
void well(mdist_status_t status, mdist_error_t *error);

/// Memory on the device of a replica.
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
    /// `implementation`: of communication, or "auto".
    Strategy(const std::string &devices, const std::string &implementation);
    ~Strategy() { mdist_strategy_destroy(strategy_); }
    Strategy(const Strategy &) = delete;
    Strategy &operator=(const Strategy &) = delete;

    mdist_strategy_t *get() const { return strategy_; }
    uint32_t replicas() const { return mdist_strategy_local_replica_count(strategy_); }
    Array allocate(uint32_t replica, std::size_t bytes) const { return {strategy_, replica, bytes}; }
    /// One step, body(replica, its number) on each.
    using Body = std::function<void(mdist_replica_t *, uint32_t)>;
    void run(const Body &body) const;

  private:
    mdist_strategy_t *strategy_ = nullptr;
};

/// One-dimensional, wherever the memory is.
mdist_tensor_t tensor_of(void *data, mdist_dtype_t dtype, std::size_t elements);
void all_reduce(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t &in, const mdist_buffer_t &out);

/// A check for each type: every operation that has exact results, on all replicas, against what they must be. Then one
/// of the exchanges.
void check_types(Checks &checks, const Strategy &strategy, const std::string &name);
void check_exchanges(Checks &checks, const Strategy &strategy, const std::string &name);

/// Bytes of one all-reduce of all replicas per second, counted once, the best of some steps of many.
double all_reduce_rate(const Strategy &strategy, mdist_dtype_t dtype, std::size_t bytes);

} // namespace mdist::gpu_test
