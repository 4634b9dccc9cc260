// SPDX-License-Identifier: Apache-2.0
// Owns a dataset's handle. Calls that fail throw exceptions.
#pragma once

#include <mdist/mdist.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace golden {

/// A call that failed: its status and reason.
class Failed : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class Call>
void ok(Call call) {
    mdist_error_t *error = nullptr;
    const mdist_status_t status = call(&error);
    if (status == MDIST_OK) return;
    const std::string reason = mdist_error_reason(error);
    mdist_error_free(error);
    throw Failed(mdist_status_name(status) + (reason.empty() ? "" : " " + reason));
}

/// A dataset that one transform passes on to the next.
class Dataset {
  public:
    Dataset() = default;
    template <class Make>
    explicit Dataset(Make make) {
        ok([&](mdist_error_t **error) { return make(&handle_, error); });
    }
    Dataset(Dataset &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Dataset &operator=(Dataset &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Dataset() { mdist_dataset_destroy(handle_); }
    mdist_dataset_t *get() const { return handle_; }
    mdist_dataset_t *release() { return std::exchange(handle_, nullptr); }

  private:
    mdist_dataset_t *handle_ = nullptr;
};

} // namespace golden
