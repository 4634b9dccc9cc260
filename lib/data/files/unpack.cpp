// SPDX-License-Identifier: Apache-2.0
// Decompresses GZIP and ZLIB, with zlib.
#include "data/files/bytes.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/utf8.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <new>
#include <string_view>
#include <utility>

#include <mdist/dataset_sources.h>

namespace mdist {
namespace {

class UnpackedBytes final : public Bytes {
  public:
    UnpackedBytes(std::unique_ptr<Bytes> packed, bool gzip, const std::string &path)
        : packed_(std::move(packed)), gzip_(gzip), path_(path), buffer_(new char[kBuffer]) {
        constexpr int kGzipAlone = 16;
        if (inflateInit2(&stream_, gzip ? MAX_WBITS + kGzipAlone : MAX_WBITS) != Z_OK) throw std::bad_alloc();
    }
    ~UnpackedBytes() override { inflateEnd(&stream_); }
    UnpackedBytes(const UnpackedBytes &) = delete;
    UnpackedBytes &operator=(const UnpackedBytes &) = delete;

    std::size_t read(char *to, std::size_t most) override {
        const auto wanted = static_cast<uInt>(std::min<std::size_t>(most, UINT_MAX));
        stream_.next_out = reinterpret_cast<Bytef *>(to);
        stream_.avail_out = wanted;
        while (stream_.avail_out == wanted && more()) step();
        return wanted - stream_.avail_out;
    }

  private:
    static constexpr std::size_t kBuffer = 64 << 10;

    /// Tells whether something is left to unpack. Throws if the file ends in the middle of a member.
    bool more() {
        if (stream_.avail_in == 0) {
            const std::size_t got = packed_->read(buffer_.get(), kBuffer);
            fetched_ += got;
            stream_.next_in = reinterpret_cast<Bytef *>(buffer_.get());
            stream_.avail_in = static_cast<uInt>(got);
            if (got == 0 && between_) return false;
            if (got == 0) throw corrupt("ends in the middle of compressed data");
        }
        if (!between_) return true;
        if (begun_ && !gzip_) throw corrupt("has more bytes after the end of the compressed data");
        if (begun_) inflateReset(&stream_);
        begun_ = true;
        between_ = false;
        return true;
    }

    void step() {
        const int result = inflate(&stream_, Z_NO_FLUSH);
        if (result == Z_MEM_ERROR) throw std::bad_alloc();
        if (result == Z_STREAM_END)
            between_ = true;
        else if (result != Z_OK && result != Z_BUF_ERROR)
            throw corrupt(text("is not compressed as ", gzip_ ? "GZIP" : "ZLIB", ", or is damaged (",
                               stream_.msg == nullptr ? "a dictionary is missing" : stream_.msg, ")"));
    }

    Failure corrupt(std::string_view what) const {
        return Failure(MDIST_ERR_DATA_LOSS,
                       text(in_quotes(path_), " at byte ", fetched_ - stream_.avail_in, " of the file: ", what))
            .reason("corrupt");
    }

    std::unique_ptr<Bytes> packed_;
    bool gzip_;
    std::string path_;
    std::unique_ptr<char[]> buffer_;
    z_stream stream_ = {};
    uint64_t fetched_ = 0; // bytes read from packed_
    bool between_ = true;  // outside of any member
    bool begun_ = false;   // some member has begun
};

} // namespace

std::unique_ptr<Bytes> unpack(std::unique_ptr<Bytes> packed, int32_t compression, const std::string &path) {
    return std::make_unique<UnpackedBytes>(std::move(packed), compression == MDIST_COMPRESSION_GZIP, path);
}

} // namespace mdist
