// SPDX-License-Identifier: Apache-2.0
// Lines of text. A line ends with a line feed or with the file; a carriage return before that line feed is no part of
// it.
#include "data/files/records.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

class Lines final : public Records {
  public:
    Lines(Input input, uint64_t max_record_bytes) : input_(std::move(input)), most_(max_record_bytes) {}

    bool next(Tensor &record) override {
        const uint64_t offset = input_.offset();
        if (line_.capacity() > Input::kBuffer) line_ = std::string(); // that long a line is rare
        line_.clear();
        bool ended = false, too_long = false;
        while (!ended) {
            const std::string_view part = input_.some();
            if (part.empty()) break;
            const std::size_t length = std::min(part.find('\n'), part.size());
            ended = length < part.size();
            too_long |= line_.size() + length > most_ + 1; // with a carriage return
            if (!too_long) line_ += part.substr(0, length);
            input_.skip(length + (ended ? 1 : 0));
        }
        if (input_.offset() == offset) return false;
        if (ended && line_.ends_with('\r')) line_.pop_back();
        if (too_long || line_.size() > most_)
            throw input_.corrupt(offset, text("a line of more than ", most_, " bytes"));
        record = copied();
        return true;
    }

  private:
    Tensor copied() const {
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
};

} // namespace

std::unique_ptr<Records> make_lines(Input input, uint64_t max_record_bytes) {
    return std::make_unique<Lines>(std::move(input), max_record_bytes);
}

} // namespace mdist
