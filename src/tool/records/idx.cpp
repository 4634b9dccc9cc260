// SPDX-License-Identifier: Apache-2.0
// The layout of an IDX file: 0, 0, type (8: unsigned bytes), rank; each dimension as 32 big-endian bits; the bytes.
#include "records/idx.h"

#include <stdexcept>

namespace mdist {
namespace {

constexpr uint64_t kMostItemBytes = uint64_t{1} << 30; // the longest record that readers accept by default

std::runtime_error wrong(const std::string &path, const std::string &what) {
    return std::runtime_error(path + ": " + what);
}

unsigned byte(FileRecords &bytes, const std::string &path) {
    std::string_view one;
    if (!bytes.next(one)) throw wrong(path, "too short for an IDX file");
    return static_cast<unsigned char>(one[0]);
}

} // namespace

IdxFile::IdxFile(const std::string &path) : path_(path) {
    const mdist_compression_t compression = compression_of(path);
    FileRecords header(path, compression, 0, 1);
    const bool zeros = byte(header, path) == 0 && byte(header, path) == 0;
    const bool bytes = zeros && byte(header, path) == 8;
    const unsigned rank = bytes ? byte(header, path) : 0;
    if (rank == 0) throw wrong(path, "not an IDX file of unsigned bytes (0, 0, 8, and the number of dimensions)");
    for (unsigned i = 0; i < rank; ++i) {
        uint64_t length = 0;
        for (int k = 0; k < 4; ++k) length = length << 8 | byte(header, path);
        if (i == 0)
            count_ = length;
        else if (length == 0 || (item_bytes_ *= length) > kMostItemBytes)
            throw wrong(path, "its items have 0 bytes, or more than " + std::to_string(kMostItemBytes));
    }
    items_.emplace(path, compression, 4 + 4 * uint64_t{rank}, item_bytes_);
}

std::string_view IdxFile::next() {
    std::string_view item;
    if (!items_->next(item))
        throw wrong(path_, "ends before its last item; its header gives " + std::to_string(count_));
    return item;
}

void IdxFile::end() {
    std::string_view item;
    if (items_->next(item))
        throw wrong(path_, "continues after its last item; its header gives " + std::to_string(count_));
}

} // namespace mdist
