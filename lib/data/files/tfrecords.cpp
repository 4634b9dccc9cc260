// SPDX-License-Identifier: Apache-2.0
// Reads TFRecord files.
#include "data/files/records.h"
#include "data/files/tfrecord.h"
#include "util/sizes.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

using namespace tfrecord;

bool agrees(const void *data, std::size_t bytes, const char *sum) {
    return checksum(data, bytes) == read_number(sum, kChecksum);
}

class TFRecords final : public Records {
  public:
    TFRecords(Input input, uint64_t max_record_bytes) : input_(std::move(input)), most_(max_record_bytes) {}

    bool next(Tensor &record, Room *room) override {
        input_.skip(std::exchange(refused_, 0));
        const uint64_t offset = input_.offset();
        uint64_t length = 0;
        if (!read_length(offset, length)) return false;
        Input::Record read = input_.record(length, room);
        const std::string_view sum = read.data != nullptr ? input_.peek(kChecksum) : std::string_view();
        if (sum.size() < kChecksum) {
            input_.abandon();
            throw input_.corrupt(offset, text("the file ends in the middle of a record of ", length, " bytes"));
        }
        const bool good = agrees(read.data, length, sum.data());
        input_.skip(kChecksum);
        if (!good) throw input_.corrupt(offset, text("the checksum of a record of ", length, " bytes is wrong"));
        record = std::move(read.tensor);
        return true;
    }

  private:
    /// Reads the length of the next record. Returns false at the end of the file.
    bool read_length(uint64_t offset, uint64_t &length) {
        const std::string_view header = input_.peek(kHeader);
        if (header.empty()) return false;
        if (header.size() < kHeader) {
            const std::size_t bytes = header.size();
            input_.abandon();
            throw input_.corrupt(offset, text("the file ends after ", bytes, " bytes of a record's length"));
        }
        if (!agrees(header.data(), kLength, header.data() + kLength)) {
            const bool gzip = offset == 0 && header.starts_with("\x1f\x8b\x08");
            input_.abandon(); // it is not known where the next record begins
            throw input_.corrupt(offset, gzip ? "this is no TFRecord file, but begins as gzip files do; for "
                                                "those set options.compression to MDIST_COMPRESSION_GZIP (1)"
                                              : "the checksum of a record's length is wrong, or this is not a "
                                                "TFRecord file");
        }
        length = read_number(header.data(), kLength);
        input_.skip(kHeader);
        if (length <= most_) return true;
        refused_ = saturated_sum(length, kChecksum);
        throw input_.corrupt(offset, text("a record has ", length, " bytes; at most ", most_, " are allowed"));
    }

    Input input_;
    uint64_t most_;
    uint64_t refused_ = 0; // bytes left of a record that is too long; they are skipped only by the next call
};

} // namespace

std::unique_ptr<Records> make_tfrecords(Input input, uint64_t max_record_bytes) {
    return std::make_unique<TFRecords>(std::move(input), max_record_bytes);
}

} // namespace mdist
