// SPDX-License-Identifier: Apache-2.0
// Checkpoint: saves variables and iterators under names, and texts, of a strategy to files, and restores them.
//
// Files hold the values that mdist_variable_read returns, so they do not depend on replicas and workers. Only the chief
// writes and reads them. The other workers take part, because reading a variable may reduce, and because restored
// values go to all. A file is checked completely before the first variable changes. Variables are left partly restored
// only if the file cannot be read again after that.
// One thread at a time: callers hold the strategy's turn.
#pragma once

#include "data/iterator.h"
#include "strategy/variables/variable.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace mdist {

class Checkpoint {
  public:
    using Variables = std::map<std::string, std::shared_ptr<Variable>>; // by name in the file
    using Iterators = std::map<std::string, std::shared_ptr<Iterator>>; // by name in the file
    using Texts = std::map<std::string, std::string>;

    /// `keep`: how many of the latest checkpoints stay; 0: all.
    Checkpoint(std::shared_ptr<Job> job, std::string folder, uint32_t keep);

    Job &job() const { return *job_; }

    /// Adds a variable. Throws INVALID_ARGUMENT for a name that is taken or cannot be stored.
    void add(const std::string &name, std::shared_ptr<Variable> variable);
    void add_iterator(const std::string &name, std::shared_ptr<Iterator> iterator);
    void set_text(const std::string &key, std::string text);
    /// Throws NOT_FOUND.
    const std::string &text_of(const std::string &key) const;
    std::size_t text_count() const { return texts_.size(); }
    /// Keys are in their order. Throws INVALID_ARGUMENT beyond the last.
    const std::string &text_key(std::size_t index) const;

    void save(uint64_t number, uint64_t timeout_ns);
    /// Restores checkpoint `number`, or the latest if there is no number. Returns its number. With `partial`, variables
    /// and iterators that the file lacks stay as they are, and those that only the file has are ignored.
    uint64_t restore(std::optional<uint64_t> number, bool partial, uint64_t timeout_ns);
    /// Removes all checkpoints from the folder.
    void clear(uint64_t timeout_ns);

  private:
    std::string subject(const std::string &first_line) const;

    std::shared_ptr<Job> job_;
    std::string folder_;
    uint32_t keep_;
    Variables variables_;
    Iterators iterators_;
    Texts texts_;
};

/// How many bytes are read, written or sent at a time.
constexpr std::size_t kPieceBytes = 4 << 20;

} // namespace mdist
