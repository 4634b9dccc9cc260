// SPDX-License-Identifier: Apache-2.0
// Checkpoint: what of a strategy goes into files and comes back: variables and iterators by names, and texts.
//
// Files hold what mdist_variable_read gives, so they know nothing of replicas and workers. The chief writes and reads
// them; the others take part, since reading may reduce and the values that come back are for all. What can be wrong
// with a file is known before the first variable changes.
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
    using Variables = std::map<std::string, std::shared_ptr<Variable>>; // by their names in files
    using Iterators = std::map<std::string, std::shared_ptr<Iterator>>; // likewise
    using Texts = std::map<std::string, std::string>;

    /// `keep`: that many of the latest checkpoints stay, 0: all.
    Checkpoint(std::shared_ptr<Strategy> strategy, std::string folder, uint32_t keep);

    const std::shared_ptr<Strategy> &strategy() const { return strategy_; }

    /// Throws INVALID_ARGUMENT for a name that is taken or cannot be stored.
    void add(const std::string &name, std::shared_ptr<Variable> variable);
    void add_iterator(const std::string &name, std::shared_ptr<Iterator> iterator);
    void set_text(const std::string &key, std::string text);
    /// Throws NOT_FOUND.
    const std::string &text_of(const std::string &key) const;

    void save(uint64_t number, uint64_t timeout_ns);
    /// `number` nothing: the latest. `partial`: variables and iterators that the file lacks stay as they are, and what
    /// is in the file alone is passed over. Returns the number.
    uint64_t restore(std::optional<uint64_t> number, bool partial, uint64_t timeout_ns);
    /// Removes all checkpoints from the folder.
    void clear(uint64_t timeout_ns);

  private:
    std::string subject(const std::string &first_line) const;

    std::shared_ptr<Strategy> strategy_;
    std::string folder_;
    uint32_t keep_;
    Variables variables_;
    Iterators iterators_;
    Texts texts_;
};

/// Bytes that are read, written or sent at a time.
constexpr std::size_t kPieceBytes = 4 << 20;

} // namespace mdist
