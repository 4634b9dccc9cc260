// SPDX-License-Identifier: Apache-2.0
// Compresses as GZIP or ZLIB, with zlib.
#include "data/files/sink.h"

#define ZLIB_CONST // makes next_in a pointer to const
#include <zlib.h>

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include <mdist/dataset_sources.h>

namespace mdist {
namespace {

class PackingSink final : public Sink {
  public:
    PackingSink(std::unique_ptr<Sink> packed, bool gzip) : packed_(std::move(packed)), buffer_(new char[kBuffer]) {
        constexpr int kGzip = 16, kMemory = 8; // zlib's own default
        if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip ? MAX_WBITS + kGzip : MAX_WBITS, kMemory,
                         Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
    }
    ~PackingSink() override { deflateEnd(&stream_); }
    PackingSink(const PackingSink &) = delete;
    PackingSink &operator=(const PackingSink &) = delete;

    void write(const char *from, std::size_t bytes) override {
        while (bytes != 0) {
            const auto part = static_cast<uInt>(std::min<std::size_t>(bytes, UINT_MAX));
            stream_.next_in = reinterpret_cast<const Bytef *>(from);
            stream_.avail_in = part;
            while (stream_.avail_in != 0) step(Z_NO_FLUSH);
            from += part;
            bytes -= part;
        }
    }
    void finish() override {
        while (step(Z_FINISH) != Z_STREAM_END) continue;
        packed_->finish();
    }

  private:
    static constexpr std::size_t kBuffer = 64 << 10;

    int step(int flush) {
        stream_.next_out = reinterpret_cast<Bytef *>(buffer_.get());
        stream_.avail_out = kBuffer;
        const int result = deflate(&stream_, flush);
        packed_->write(buffer_.get(), kBuffer - stream_.avail_out);
        return result;
    }

    std::unique_ptr<Sink> packed_;
    std::unique_ptr<char[]> buffer_;
    z_stream stream_ = {};
};

} // namespace

std::unique_ptr<Sink> pack(std::unique_ptr<Sink> packed, int32_t compression) {
    return std::make_unique<PackingSink>(std::move(packed), compression == MDIST_COMPRESSION_GZIP);
}

} // namespace mdist
