// SPDX-License-Identifier: Apache-2.0
// Reads lines of text. A line ends with a line feed or with the file. A carriage return before that line feed is not
// part of the line.
#include "data/files/records.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

class LineRecords final : public Records {
  public:
    LineRecords(Input input, uint64_t max_record_bytes) : input_(std::move(input)), most_(max_record_bytes) {}

    bool next(Tensor &record, Room *room) override {
        if (std::exchange(refused_, false)) pass_line();
        const uint64_t offset = input_.offset();
        if (line_.capacity() > Input::kBuffer) line_ = std::string(); // a line this long is rare: free its memory
        line_.clear();
        bool ended = false;
        while (!ended) {
            const std::string_view part = input_.some();
            if (part.empty()) break;
            const std::size_t length = std::min(part.find('\n'), part.size());
            ended = length < part.size();
            if (line_.size() + length > most_ + 1) { // + 1 for a carriage return
                refused_ = true;
                throw too_long(offset);
            }
            line_ += part.substr(0, length);
            input_.skip(length + (ended ? 1 : 0));
        }
        if (input_.offset() == offset) return false;
        if (ended && line_.ends_with('\r')) line_.pop_back();
        if (line_.size() > most_) throw too_long(offset);
        record = copied(room);
        return true;
    }

  private:
    Failure too_long(uint64_t offset) const {
        return input_.corrupt(offset, text("a line has more than ", most_, " bytes"));
    }

    /// Skips to the line after this one, or to the end.
    void pass_line() {
        for (std::string_view part = input_.some(); !part.empty(); part = input_.some()) {
            const std::size_t length = part.find('\n');
            if (length != std::string_view::npos) return input_.skip(length + 1);
            input_.skip(part.size());
        }
    }

    Tensor copied(Room *room) const {
        if (char *const to = room == nullptr ? nullptr : room->of(line_.size()); to != nullptr) {
            std::memcpy(to, line_.data(), line_.size());
            return {};
        }
        Shape shape;
        shape.rank = 1;
        shape.dims[0] = line_.size();
        Tensor tensor = Tensor::allocate(*host(), MDIST_UINT8, shape);
        std::memcpy(tensor.data(), line_.data(), line_.size());
        return tensor;
    }

    Input input_;
    uint64_t most_;
    std::string line_;
    bool refused_ = false; // inside a line that is too long; the rest of it is skipped only by the next call
};

} // namespace

std::unique_ptr<Records> make_lines(Input input, uint64_t max_record_bytes) {
    return std::make_unique<LineRecords>(std::move(input), max_record_bytes);
}

} // namespace mdist
