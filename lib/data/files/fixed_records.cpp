// SPDX-License-Identifier: Apache-2.0
// Reads records of one size, between a header and a footer.
#include "data/files/records.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

class FixedRecords final : public Records {
  public:
    FixedRecords(Input input, const RecordFormat &format) : input_(std::move(input)), format_(format) {}

    bool next(Tensor &record, Room *room) override {
        if (ended_ || input_.abandoned()) return false;
        if (!begun_) begin();
        // Nothing marks a footer, except that the file ends behind it.
        const uint64_t offset = input_.offset();
        Input::Record read = input_.record(format_.record_bytes, room);
        if (read.data == nullptr) input_.skip(format_.record_bytes);
        const uint64_t got = input_.offset() - offset;
        const std::size_t behind = input_.peek(static_cast<std::size_t>(format_.footer_bytes)).size();
        if (read.data != nullptr && behind == format_.footer_bytes) {
            record = std::move(read.tensor);
            return true;
        }
        ended_ = true;
        if (got + behind == format_.footer_bytes || told_) return false;
        throw input_.corrupt(
            offset, text("the file ends ", got + behind, " bytes after the start of this record; a record needs ",
                         format_.record_bytes, " bytes and the footer ", format_.footer_bytes));
    }

  private:
    /// Skips the header. If the size of the file is known in advance, checks that it fits.
    void begin() {
        begun_ = true;
        const std::optional<uint64_t> size = input_.left();
        const uint64_t around = format_.header_bytes + format_.footer_bytes;
        told_ = size && (*size < around || (*size - around) % format_.record_bytes != 0);
        input_.skip(format_.header_bytes);
        if (told_)
            throw input_.corrupt(0, text("the file has ", *size, " bytes, which are not a header of ",
                                         format_.header_bytes, " bytes, a whole number of records of ",
                                         format_.record_bytes, " and a footer of ", format_.footer_bytes));
        if (input_.offset() < format_.header_bytes) {
            told_ = true;
            throw input_.corrupt(
                0, text("the file has ", input_.offset(), " bytes, but its header must have ", format_.header_bytes));
        }
    }

    Input input_;
    RecordFormat format_;
    bool begun_ = false, ended_ = false;
    bool told_ = false; // a wrong size of the file was already reported
};

} // namespace

std::unique_ptr<Records> make_fixed_records(Input input, const RecordFormat &format) {
    return std::make_unique<FixedRecords>(std::move(input), format);
}

} // namespace mdist
