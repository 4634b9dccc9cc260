// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"
#include "checkpoint/checksum.h"
#include "checkpoint/folder.h"
#include "checkpoint/safetensors.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/consensus.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

namespace mdist {
namespace {

Failure of_file(const std::string &path, const Failure &failure) {
    return {failure.status(), text(mdist::in_quotes(path), ": ", failure.message())};
}

/// The file that the chief is reading: its header, and the data behind it.
class FolderReading {
  public:
    FolderReading(const std::string &folder, std::optional<uint64_t> number)
        : found_(CheckpointFolder::open(folder).find(number)) {
        uint64_t length = 0;
        const OldFile &file = found_.second;
        file.read_at(0, &length, sizeof length);
        const uint64_t most = std::min(kMostHeaderBytes, file.bytes() - sizeof length);
        if (length > most)
            throw Failure(MDIST_ERR_DATA_LOSS, text(mdist::in_quotes(file.path()), ": the header claims to have ",
                                                    length, " bytes, but the file or the format allows only ", most));
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
            throw Failure(MDIST_ERR_DATA_LOSS, text(mdist::in_quotes(path()), ": the checksum of tensor ",
                                                    mdist::in_quotes(tensor.name), " is wrong"));
    }

  private:
    std::pair<uint64_t, OldFile> found_;
    std::string json_;
    uint64_t data_begin_ = 0;
};

/// What the chief tells the others about its file: enough for all workers to make the same plan.
struct ChiefFile {
    uint64_t number = 0;
    uint64_t data_bytes = 0;
    std::string path, json;

    std::string encoded() const {
        const uint64_t numbers[] = {number, data_bytes, path.size()};
        return std::string(reinterpret_cast<const char *>(numbers), sizeof numbers) + path + json;
    }
    static ChiefFile decoded(const std::string &from) {
        ChiefFile found;
        uint64_t numbers[3];
        std::memcpy(numbers, from.data(), sizeof numbers);
        found.number = numbers[0];
        found.data_bytes = numbers[1];
        found.path = from.substr(sizeof numbers, numbers[2]);
        found.json = from.substr(sizeof numbers + numbers[2]);
        return found;
    }
};

/// A list of names in a sentence. A long list is cut off.
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

/// A variable, and the place of its value in the data.
struct RestoreTarget {
    Variable *variable;
    StoredTensor tensor;
};

/// Finds the iterators that only the checkpoint object has (missing), and those that only the file has (extra).
void compare_iterators(const SafetensorsHeader &header, const Checkpoint::Iterators &iterators, Names &missing,
                       Names &extra) {
    for (const auto &[name, iterator] : iterators)
        if (header.iterators.count(name) == 0) missing.add(text("iterator ", mdist::in_quotes(name)));
    for (const auto &[name, state] : header.iterators)
        if (iterators.count(name) == 0) extra.add(text("iterator ", mdist::in_quotes(name)));
}

/// Returns the variables to restore, in the order of the data. Throws MISMATCH that names everything that does not fit.
std::vector<RestoreTarget> targets_of(const SafetensorsHeader &header, const Checkpoint::Variables &variables,
                                      const Checkpoint::Iterators &iterators, bool partial, const std::string &path) {
    std::vector<RestoreTarget> targets;
    Names different, missing, extra;
    std::size_t found = 0;
    for (const StoredTensor &tensor : header.tensors) {
        const auto wanted = variables.find(tensor.name);
        if (wanted == variables.end()) {
            extra.add(mdist::in_quotes(tensor.name));
            continue;
        }
        ++found;
        const VariableSpec &spec = wanted->second->spec();
        if (!tensor.is(spec.dtype, spec.shape))
            different.add(text(mdist::in_quotes(tensor.name), ", a variable ", dtype_name(spec.dtype), " ",
                               spec.shape.text(), " and a tensor ", tensor.text()));
        targets.push_back({wanted->second.get(), tensor});
    }
    if (found < variables.size()) {
        std::map<std::string, const StoredTensor *> stored;
        for (const StoredTensor &tensor : header.tensors) stored[tensor.name] = &tensor;
        for (const auto &[name, variable] : variables)
            if (stored.count(name) == 0) missing.add(mdist::in_quotes(name));
    }
    compare_iterators(header, iterators, missing, extra);
    if (different.empty() && (partial || (missing.empty() && extra.empty()))) return targets;
    std::string sentence = text("the variables and iterators to restore differ from those in ", mdist::in_quotes(path),
                                different.sentence("with another type or shape"));
    if (!partial) sentence += missing.sentence("missing in the file") + extra.sentence("only in the file");
    throw Failure(MDIST_ERR_MISMATCH, std::move(sentence)).reason("different_variables");
}

/// Prepares to move the iterators to the positions in the file.
std::vector<std::unique_ptr<Restoring>> restorings_of(const std::map<std::string, std::string> &states,
                                                      const Checkpoint::Iterators &iterators) {
    std::vector<std::unique_ptr<Restoring>> restorings;
    for (const auto &[name, iterator] : iterators) {
        const auto state = states.find(name);
        if (state == states.end()) continue;
        try {
            restorings.push_back(std::make_unique<Restoring>(iterator, parse_iterator_state(state->second)));
        } catch (const Failure &failure) {
            throw Failure(failure).about(text("iterator ", mdist::in_quotes(name)));
        }
    }
    return restorings;
}

/// A piece of a variable's value, to be sent. A mark in front tells whether the chief could read it.
class PassedPiece {
  public:
    /// Makes room for the largest piece of `targets`.
    explicit PassedPiece(const std::vector<RestoreTarget> &targets) {
        uint64_t largest = 0;
        for (const RestoreTarget &target : targets)
            largest = std::max(largest, target.tensor.end - target.tensor.begin);
        bytes_.resize(kMark + std::min<uint64_t>(kPieceBytes, largest));
    }
    char *data() { return bytes_.data() + kMark; }
    void set_failed(bool failed) { bytes_[0] = failed ? 1 : 0; }
    bool failed() const { return bytes_[0] != 0; }
    void send(Consensus &workers, std::size_t bytes) { workers.broadcast(bytes_.data(), kMark + bytes); }

  private:
    static constexpr std::size_t kMark = 64; // keeps the data aligned
    std::vector<char> bytes_;
};

/// Sends the chief's values to all copies on all workers. If the chief fails to read, all workers stop. Returns that
/// failure on the chief.
std::optional<Failure> pass_on(Consensus &workers, const FolderReading *reading,
                               const std::vector<RestoreTarget> &targets, PassedPiece &piece) {
    std::optional<Failure> trouble;
    for (const RestoreTarget &target : targets) {
        const uint64_t whole = target.tensor.end - target.tensor.begin;
        for (uint64_t done = 0; done < whole;) {
            const std::size_t bytes = std::min<uint64_t>(kPieceBytes, whole - done);
            try {
                if (reading != nullptr) reading->read_at(target.tensor.begin + done, piece.data(), bytes);
            } catch (const Failure &failure) {
                trouble =
                    Failure(failure.status(), text(failure.message(),
                                                   ". The file was intact when it was checked. Some variables already "
                                                   "hold restored values; restore again before you continue"))
                        .native(failure.native());
            }
            piece.set_failed(trouble.has_value());
            piece.send(workers, bytes);
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
    Consensus workers(*job_, &calls::kRestoreCheckpoint, timeout_ns);
    const auto plan = [&](const ChiefFile &found) {
        try {
            SafetensorsHeader header = parse_header(found.json, found.data_bytes);
            return std::pair(targets_of(header, variables_, iterators_, partial, found.path), std::move(header));
        } catch (const Failure &failure) {
            if (failure.status() != MDIST_ERR_DATA_LOSS) throw;
            throw of_file(found.path, failure);
        }
    };
    std::unique_ptr<FolderReading> reading; // the chief's
    const std::string first_line =
        text(number ? text("checkpoint ", *number) : "the latest checkpoint", partial ? ", partially" : "");
    const ChiefFile found = ChiefFile::decoded(workers.agree(subject(first_line), [&] {
        if (!workers.is_chief()) return std::string();
        reading = std::make_unique<FolderReading>(folder_, number);
        const ChiefFile mine{reading->number(), reading->data_bytes(), reading->path(), reading->json()};
        for (const RestoreTarget &target : plan(mine).first) reading->check(target.tensor);
        return mine.encoded();
    }));
    std::vector<RestoreTarget> targets;
    std::optional<PassedPiece> piece;
    SafetensorsHeader header;
    std::vector<std::unique_ptr<Restoring>> restorings; // while they live, nobody else uses these iterators
    workers.agree("", [&] {
        std::tie(targets, header) = plan(found);
        restorings = restorings_of(header.iterators, iterators_);
        piece.emplace(targets);
        return std::string();
    });
    const std::optional<Failure> trouble = pass_on(workers, reading.get(), targets, *piece);
    for (const RestoreTarget &target : targets) target.variable->spread(timeout_ns);
    workers.agree("", [&] {
        if (trouble) throw *trouble;
        return std::string();
    });
    for (const auto &restoring : restorings) restoring->commit();
    texts_ = std::move(header.texts);
    return found.number;
}

} // namespace mdist
