// SPDX-License-Identifier: Apache-2.0
// Owners of the C API's handles, and exceptions for its failures: what a C++ program needs around libmdist. Any thread,
// like the handles themselves.
#pragma once

#include <mdist/mdist.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace mdist {

struct Destroy {
    void operator()(mdist_config_t *config) const { mdist_config_destroy(config); }
    void operator()(mdist_cluster_t *cluster) const { mdist_cluster_destroy(cluster); }
    void operator()(mdist_strategy_t *strategy) const { mdist_strategy_destroy(strategy); }
    void operator()(mdist_dataset_t *dataset) const { mdist_dataset_destroy(dataset); }
    void operator()(mdist_iterator_t *iterator) const { mdist_iterator_destroy(iterator); }
    void operator()(mdist_value_t *value) const { mdist_value_destroy(value); }
    void operator()(mdist_record_writer_t *writer) const { mdist_record_writer_destroy(writer); }
};
using ConfigHandle = std::unique_ptr<mdist_config_t, Destroy>;
using ClusterHandle = std::unique_ptr<mdist_cluster_t, Destroy>;
using StrategyHandle = std::unique_ptr<mdist_strategy_t, Destroy>;
using DatasetHandle = std::unique_ptr<mdist_dataset_t, Destroy>;
using IteratorHandle = std::unique_ptr<mdist_iterator_t, Destroy>;
using ValueHandle = std::unique_ptr<mdist_value_t, Destroy>;
using RecordWriterHandle = std::unique_ptr<mdist_record_writer_t, Destroy>;

/// Returns the message of a failed call, and frees the error.
inline std::string sentence_of(mdist_status_t status, mdist_error_t *error) {
    std::string sentence = mdist_error_message(error);
    if (sentence.empty()) sentence = mdist_status_name(status);
    mdist_error_free(error);
    return sentence;
}

/// If the call failed, frees the error and throws std::runtime_error with its message. `error` is a reference because
/// the call that sets it is often the argument before it.
inline void require_ok(mdist_status_t status, mdist_error_t *const &error) {
    if (status < 0) throw std::runtime_error(sentence_of(status, error));
}

inline ConfigHandle make_config() {
    mdist_config_t *config = nullptr;
    mdist_error_t *error = nullptr;
    require_ok(mdist_config_create(&config, &error), error);
    return ConfigHandle(config);
}

/// NULL: the configuration comes from the environment.
inline StrategyHandle make_strategy(const mdist_config_t *config) {
    mdist_strategy_t *strategy = nullptr;
    mdist_error_t *error = nullptr;
    require_ok(mdist_strategy_create(config, &strategy, &error), error);
    return StrategyHandle(strategy);
}

} // namespace mdist
