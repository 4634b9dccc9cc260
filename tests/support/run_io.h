// SPDX-License-Identifier: Apache-2.0
// What goes into a run and comes out of it, for tests in C++: mdist_run(strategy, step, data, io_of(...).get(),
// &error).
#pragma once

#include <mdist/strategy.h>

class RunIoOf {
  public:
    explicit RunIoOf(const mdist_run_io_t &io) : io_(io) {}
    const mdist_run_io_t *get() const { return &io_; }

  private:
    mdist_run_io_t io_;
};

inline RunIoOf io_of(mdist_value_t *const *arguments, size_t argument_count, mdist_value_t **results = nullptr,
                     size_t result_count = 0, uint64_t timeout_ns = 0) {
    return RunIoOf({sizeof(mdist_run_io_t), 0, arguments, argument_count, results, result_count, timeout_ns});
}
