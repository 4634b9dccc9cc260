// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"
#include "checkpoint/checksum.h"
#include "checkpoint/folder.h"
#include "checkpoint/safetensors.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/consensus.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace mdist {
namespace {

/// The file that the chief is writing.
class Writing {
  public:
    Writing(const std::string &folder, uint64_t number, SafetensorsHeader header)
        : folder_(CheckpointFolder::open_to_save(folder)),
          file_(folder_.folder(), CheckpointFolder::name_of(number)),
          header_(std::move(header)),
          header_bytes_(encode_header(header_).size()) {}

    /// Writes tensor `index` of the header.
    void write(std::size_t index, const Device &device, const Tensor &from) {
        StoredTensor &tensor = header_.tensors[index];
        const auto *const begin = static_cast<const char *>(from.data());
        std::vector<char> piece(std::min(kPieceBytes, from.bytes()));
        uint32_t crc = 0;
        for (std::size_t done = 0; done < from.bytes();) {
            const std::size_t bytes = std::min(piece.size(), from.bytes() - done);
            device.copy_out(piece.data(), begin + done, bytes);
            crc = crc32_of(piece.data(), bytes, crc);
            file_.write_at(header_bytes_ + tensor.begin + done, piece.data(), bytes);
            done += bytes;
        }
        tensor.crc = crc;
    }

    void finish(uint64_t number, uint32_t keep) {
        const std::string header = encode_header(header_);
        file_.write_at(0, header.data(), header.size());
        folder_.add(number, file_, keep);
    }

  private:
    CheckpointFolder folder_;
    NewFile file_;
    SafetensorsHeader header_;
    uint64_t header_bytes_;
};

SafetensorsHeader header_of(const Checkpoint::Variables &variables, const Checkpoint::Texts &texts) {
    SafetensorsHeader header;
    for (const auto &[name, variable] : variables)
        header.tensors.push_back(StoredTensor::of(name, variable->spec().dtype, variable->spec().shape));
    place_tensors(header.tensors);
    header.texts = texts;
    return header;
}

/// Describes the positions of this worker's iterators. They must be the same on all workers.
std::string positions_of(const std::map<std::string, IteratorState> &states) {
    std::string lines;
    for (const auto &[name, state] : states)
        lines += text("iterator ", mdist::in_quotes(name), " behind element ", state.taken, ", ",
                      encode_iterator_state(state), "\n");
    return lines;
}

} // namespace

void Checkpoint::save(uint64_t number, uint64_t timeout_ns) {
    Consensus workers(*job_, &calls::kSaveCheckpoint, timeout_ns);
    SafetensorsHeader header = header_of(variables_, texts_);
    std::map<std::string, IteratorState> states; // this worker's
    std::unique_ptr<Writing> writing;            // the chief's
    workers.agree(subject(text("checkpoint ", number)), [&] {
        for (const auto &[name, variable] : variables_) variable->require_readable();
        for (const auto &[name, iterator] : iterators_) {
            states[name] = iterator->state();
            header.iterators[name] = encode_iterator_state(states[name]);
        }
        if (workers.is_chief()) writing = std::make_unique<Writing>(folder_, number, header);
        return std::string();
    });

    if (!iterators_.empty()) workers.agree(positions_of(states), [] { return std::string(); });

    std::optional<Failure> trouble; // thrown only when all variables are read: until then the others need the chief
    for (std::size_t i = 0; i < header.tensors.size(); ++i) {
        const Variable &variable = *variables_.at(header.tensors[i].name);
        const bool reduced = variable.reduced_when_read();
        const Tensor value = reduced ? variable.read(timeout_ns) : variable.copy(0);
        if (!writing || trouble) continue;
        try {
            writing->write(i, reduced ? *host() : job_->replicas.device(0), value);
        } catch (const std::exception &caught) {
            trouble = as_failure(caught);
        }
    }
    workers.agree("", [&] {
        if (trouble) throw *trouble;
        if (writing) writing->finish(number, keep_);
        return std::string();
    });
}

void Checkpoint::clear(uint64_t timeout_ns) {
    Consensus workers(*job_, &calls::kClearCheckpoints, timeout_ns);
    workers.agree("", [&] {
        if (workers.is_chief()) CheckpointFolder::clear(folder_);
        return std::string();
    });
}

} // namespace mdist
