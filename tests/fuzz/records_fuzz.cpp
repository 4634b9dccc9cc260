// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the readers of files. The first byte chooses the format and the second the compression. The rest is the
// file, which is read in pieces. Whatever the bytes:
// - each call gives a record within the size limit, or a Failure that says where;
// - the file ends after a bounded number of calls;
// - the reader uses no more memory than the file can fill.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "data/files/records.h"
#include "target.h"
#include "util/failure.h"

using namespace mdist;

namespace {

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "records_fuzz: broken promise: %s\n", what);
    std::abort();
}

class Pieces final : public Bytes {
  public:
    Pieces(std::string_view bytes, std::size_t piece, bool size_is_known)
        : bytes_(bytes), piece_(piece), known_(size_is_known) {}

    std::size_t read(char *to, std::size_t most) override {
        const std::size_t count = std::min({most, piece_, bytes_.size()});
        std::memcpy(to, bytes_.data(), count);
        bytes_.remove_prefix(count);
        return count;
    }
    std::optional<uint64_t> left() const override { return known_ ? std::optional(bytes_.size()) : std::nullopt; }

  private:
    std::string_view bytes_;
    std::size_t piece_;
    bool known_;
};

RecordFormat chosen(std::uint8_t how, std::uint8_t packed) {
    RecordFormat format{static_cast<RecordFormat::Kind>(how % 3)};
    format.record_bytes = 1 + how / 3 % 5;
    format.header_bytes = how / 15 % 3;
    format.footer_bytes = how / 45 % 4;
    format.max_record_bytes = packed % 2 == 0 ? 1 << 30 : 100;
    format.compression = packed / 2 % 3;
    return format;
}

void check_failure(const Failure &failure) {
    require(failure.status() == MDIST_ERR_DATA_LOSS && failure.reason() == "corrupt", "the status is DATA_LOSS");
    require(failure.message().find("\"file\" at byte ") == 0, "it says where");
    require(failure.message().size() < 500, "there is a short sentence");
}

/// Offers memory for the first record that it is asked for, and for every other one after that.
class Offers final : public Room {
  public:
    char *of(uint64_t bytes) override {
        bytes_ = bytes;
        if (++asked_ % 2 == 0) return nullptr;
        memory_.assign(bytes, '\0');
        return memory_.empty() ? &empty_ : memory_.data();
    }
    uint64_t bytes() const { return bytes_; }

  private:
    std::vector<char> memory_;
    char empty_ = 0;
    uint64_t bytes_ = 0;
    unsigned asked_ = 0;
};

/// Reads to the end. Every record and every failure uses up at least one byte of the unpacked file.
void read_all(Records &records, const RecordFormat &format, std::size_t most_bytes) {
    std::size_t calls = 0;
    for (bool more = true; more;) {
        require(++calls <= most_bytes + 3, "it comes to an end");
        try {
            Tensor record;
            Offers offers;
            more = records.next(record, calls % 2 == 0 ? nullptr : &offers);
            if (!more) continue;
            require(record.defined() || calls % 2 != 0, "a record is in the room only if there is one");
            if (!record.defined()) {
                require(offers.bytes() <= std::min<uint64_t>(format.max_record_bytes, most_bytes), "it is not too long");
                continue;
            }
            require(record.dtype() == MDIST_UINT8 && record.shape().rank == 1, "a record is a uint8 array");
            require(record.bytes() <= std::min<uint64_t>(format.max_record_bytes, most_bytes), "it is not too long");
        } catch (const Failure &failure) {
            check_failure(failure);
        }
    }
    Tensor record;
    require(!records.next(record, nullptr), "the end is the end");
}

} // namespace

FUZZ_TARGET(records) {
    if (size < 2 || size > 1 << 16) return 0;
    const RecordFormat format = chosen(data[0], data[1]);
    const bool packed = format.compression != MDIST_COMPRESSION_NONE;
    if (packed && size > 4096) return 0; // it may unpack to a thousand times its size, read byte by byte
    const std::string_view file(reinterpret_cast<const char *>(data) + 2, size - 2);
    constexpr std::size_t kMostUnpacked = 1100; // the largest ratio of DEFLATE
    const std::size_t most = file.size() * (packed ? kMostUnpacked : 1);
    const std::size_t piece = data[1] / 6 % 2 == 0 ? SIZE_MAX : 1 + data[1] / 12;
    const bool known = data[1] / 128 == 0;
    const auto records = make_file_records(format, std::make_unique<Pieces>(file, piece, known), "file");
    read_all(*records, format, most);
    return 0;
}
