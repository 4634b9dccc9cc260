// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"
#include "checkpoint/checksum.h"
#include "checkpoint/folder.h"
#include "checkpoint/safetensors.h"
#include "strategy/serve/session.h"
#include "strategy/together.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

namespace mdist {
namespace {

Failure of_file(const std::string &path, const Failure &failure) {
    return {failure.status(), text(mdist::quoted(path), ": ", failure.message())};
}

/// The chief's file: its header, and its data behind it.
class Reading {
  public:
    Reading(const std::string &folder, std::optional<uint64_t> number)
        : found_(CheckpointFolder::open(folder).find(number)) {
        uint64_t length = 0;
        const OldFile &file = found_.second;
        file.read_at(0, &length, sizeof length);
        const uint64_t most = std::min(kMostHeaderBytes, file.bytes() - sizeof length);
        if (length > most)
            throw Failure(MDIST_ERR_DATA_LOSS, text(mdist::quoted(file.path()), ": the header is to have ", length,
                                                    " bytes; at most ", most, " are there or allowed"));
        json_.resize(length);
        file.read_at(sizeof length, json_.data(), length);
        data_begin_ = sizeof length + length;
    }

    uint64_t number() const { return found_.first; }
    const std::string &path() const { return found_.second.path(); }
    const std::string &json() const { return json_; }
    uint64_t data_bytes() const { return found_.second.bytes() - data_begin_; }

    void read_at(uint64_t offset, void *data, std::size_t bytes) const {
        found_.second.read_at(data_begin_ + offset, data, bytes);
    }

    void check(const StoredTensor &tensor) const {
        if (!tensor.crc) return;
        std::vector<char> piece(std::min<uint64_t>(kPieceBytes, tensor.end - tensor.begin));
        uint32_t crc = 0;
        for (uint64_t at = tensor.begin; at < tensor.end;) {
            const std::size_t bytes = std::min<uint64_t>(piece.size(), tensor.end - at);
            read_at(at, piece.data(), bytes);
            crc = crc32_of(piece.data(), bytes, crc);
            at += bytes;
        }
        if (crc != *tensor.crc)
            throw Failure(MDIST_ERR_DATA_LOSS, text(mdist::quoted(path()), ": the checksum of tensor ",
                                                    mdist::quoted(tensor.name), " is wrong"));
    }

  private:
    std::pair<uint64_t, OldFile> found_;
    std::string json_;
    uint64_t data_begin_ = 0;
};

/// What the chief tells of its file: enough for all to come to the same plan.
struct Found {
    uint64_t number = 0;
    uint64_t data_bytes = 0;
    std::string path, json;

    std::string encoded() const {
        const uint64_t numbers[] = {number, data_bytes, path.size()};
        return std::string(reinterpret_cast<const char *>(numbers), sizeof numbers) + path + json;
    }
    static Found decoded(const std::string &from) {
        Found found;
        uint64_t numbers[3];
        std::memcpy(numbers, from.data(), sizeof numbers);
        found.number = numbers[0];
        found.data_bytes = numbers[1];
        found.path = from.substr(sizeof numbers, numbers[2]);
        found.json = from.substr(sizeof numbers + numbers[2]);
        return found;
    }
};

/// A list in a sentence, cut off where it gets long.
class Names {
  public:
    void add(const std::string &name) {
        constexpr std::size_t kShown = 8;
        if (++count_ <= kShown) text_ += text(count_ == 1 ? "" : ", ", name);
    }
    /// "3 missing in the file: a, b, c"
    std::string sentence(const char *what) const {
        return count_ == 0 ? "" : text("; ", count_, " ", what, ": ", text_, count_ > 8 ? ", ..." : "");
    }
    bool empty() const { return count_ == 0; }

  private:
    std::size_t count_ = 0;
    std::string text_;
};

/// A variable, and where its value lies in the data.
struct Target {
    Variable *variable;
    StoredTensor tensor;
};

/// Names that are on one side alone.
void compare_iterators(const SafetensorsHeader &header, const Checkpoint::Iterators &iterators, Names &missing,
                       Names &extra) {
    for (const auto &[name, iterator] : iterators)
        if (header.iterators.count(name) == 0) missing.add(text("iterator ", mdist::quoted(name)));
    for (const auto &[name, state] : header.iterators)
        if (iterators.count(name) == 0) extra.add(text("iterator ", mdist::quoted(name)));
}

/// In the order of the data. Throws MISMATCH, naming all that does not fit.
std::vector<Target> targets_of(const SafetensorsHeader &header, const Checkpoint::Variables &variables,
                               const Checkpoint::Iterators &iterators, bool partial, const std::string &path) {
    std::vector<Target> targets;
    Names different, missing, extra;
    std::size_t found = 0;
    for (const StoredTensor &tensor : header.tensors) {
        const auto wanted = variables.find(tensor.name);
        if (wanted == variables.end()) {
            extra.add(mdist::quoted(tensor.name));
            continue;
        }
        ++found;
        const VariableSpec &spec = wanted->second->spec();
        if (!tensor.is(spec.dtype, spec.shape))
            different.add(text(mdist::quoted(tensor.name), ", a variable ", dtype_name(spec.dtype), " ",
                               spec.shape.text(), " and a tensor ", tensor.text()));
        targets.push_back({wanted->second.get(), tensor});
    }
    if (found < variables.size()) {
        std::map<std::string, const StoredTensor *> stored;
        for (const StoredTensor &tensor : header.tensors) stored[tensor.name] = &tensor;
        for (const auto &[name, variable] : variables)
            if (stored.count(name) == 0) missing.add(mdist::quoted(name));
    }
    compare_iterators(header, iterators, missing, extra);
    if (different.empty() && (partial || (missing.empty() && extra.empty()))) return targets;
    std::string sentence =
        text("what is to be restored is not what is in ", mdist::quoted(path), different.sentence("of another kind"));
    if (!partial) sentence += missing.sentence("missing in the file") + extra.sentence("in the file alone");
    throw Failure(MDIST_ERR_MISMATCH, std::move(sentence)).reason("different_variables");
}

/// Iterators about to be where the file says.
std::vector<std::unique_ptr<Restoring>> restorings_of(const std::map<std::string, std::string> &states,
                                                      const Checkpoint::Iterators &iterators) {
    std::vector<std::unique_ptr<Restoring>> restorings;
    for (const auto &[name, iterator] : iterators) {
        const auto state = states.find(name);
        if (state == states.end()) continue;
        try {
            restorings.push_back(std::make_unique<Restoring>(iterator, parse_iterator_state(state->second)));
        } catch (const Failure &failure) {
            throw Failure(failure).about(text("iterator ", mdist::quoted(name)));
        }
    }
    return restorings;
}

/// A piece of a variable's value on its way, with a mark in front whether it could be read.
class Piece {
  public:
    /// As large as the largest piece of these.
    explicit Piece(const std::vector<Target> &targets) {
        uint64_t largest = 0;
        for (const Target &target : targets) largest = std::max(largest, target.tensor.end - target.tensor.begin);
        bytes_.resize(kMark + std::min<uint64_t>(kPieceBytes, largest));
    }
    char *data() { return bytes_.data() + kMark; }
    void set_failed(bool failed) { bytes_[0] = failed ? 1 : 0; }
    bool failed() const { return bytes_[0] != 0; }
    void send(Together &together, std::size_t bytes) { together.broadcast(bytes_.data(), kMark + bytes); }

  private:
    static constexpr std::size_t kMark = 64; // keeps the data aligned
    std::vector<char> bytes_;
};

/// The chief's values to all copies of all workers. What went wrong with the chief's reading ends it everywhere.
std::optional<Failure> pass_on(Together &together, const Reading *reading, const std::vector<Target> &targets,
                               Piece &piece) {
    std::optional<Failure> trouble;
    for (const Target &target : targets) {
        const uint64_t whole = target.tensor.end - target.tensor.begin;
        for (uint64_t done = 0; done < whole;) {
            const std::size_t bytes = std::min<uint64_t>(kPieceBytes, whole - done);
            try {
                if (reading != nullptr) reading->read_at(target.tensor.begin + done, piece.data(), bytes);
            } catch (const Failure &failure) {
                trouble = Failure(failure.status(), text(failure.message(),
                                                         "; it was whole a moment ago, and some "
                                                         "variables have been restored"))
                              .native(failure.native());
            }
            piece.set_failed(trouble.has_value());
            piece.send(together, bytes);
            if (piece.failed()) return trouble;
            target.variable->write(done, piece.data(), bytes);
            done += bytes;
        }
        target.variable->finish_writing();
    }
    return std::nullopt;
}

} // namespace

uint64_t Checkpoint::restore(std::optional<uint64_t> number, bool partial, uint64_t timeout_ns) {
    Together together(*strategy_, CallKind::kRestoreCheckpoint, timeout_ns);
    const auto plan = [&](const Found &found) {
        try {
            SafetensorsHeader header = parse_header(found.json, found.data_bytes);
            return std::pair(targets_of(header, variables_, iterators_, partial, found.path), std::move(header));
        } catch (const Failure &failure) {
            if (failure.status() != MDIST_ERR_DATA_LOSS) throw;
            throw of_file(found.path, failure);
        }
    };
    std::unique_ptr<Reading> reading; // the chief's
    const std::string first_line =
        text(number ? text("checkpoint ", *number) : "the latest checkpoint", partial ? ", partially" : "");
    const Found found = Found::decoded(together.agree(subject(first_line), [&] {
        if (!together.is_chief()) return std::string();
        reading = std::make_unique<Reading>(folder_, number);
        const Found mine{reading->number(), reading->data_bytes(), reading->path(), reading->json()};
        for (const Target &target : plan(mine).first) reading->check(target.tensor);
        return mine.encoded();
    }));
    std::vector<Target> targets;
    std::optional<Piece> piece;
    SafetensorsHeader header;
    std::vector<std::unique_ptr<Restoring>> restorings; // nobody else uses these iterators meanwhile
    together.agree("", [&] {
        std::tie(targets, header) = plan(found);
        restorings = restorings_of(header.iterators, iterators_);
        piece.emplace(targets);
        return std::string();
    });
    const std::optional<Failure> trouble = pass_on(together, reading.get(), targets, *piece);
    if (Session *const session = strategy_->commanding())
        for (const Target &target : targets) session->spread(*target.variable, timeout_ns);
    together.agree("", [&] {
        if (trouble) throw *trouble;
        return std::string();
    });
    for (const auto &restoring : restorings) restoring->commit();
    texts_ = std::move(header.texts);
    return found.number;
}

} // namespace mdist
