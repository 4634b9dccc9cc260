// SPDX-License-Identifier: Apache-2.0
// Writes a new file through a buffer.
#include "data/files/sink.h"
#include "util/failure.h"
#include "util/files.h"
#include "util/text.h"
#include "util/utf8.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

struct SplitPath {
    std::string folder, name;
};

SplitPath split(const std::string &path) {
    const std::size_t slash = path.find_last_of('/');
    std::string name = slash == path.npos ? path : path.substr(slash + 1);
    if (name.empty() || name == "." || name == "..")
        throw invalid(text(in_quotes(path), " does not name a file to write; pass a folder and a file name"));
    return {slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash), std::move(name)};
}

class FileSink final : public Sink {
  public:
    explicit FileSink(SplitPath path)
        : folder_(std::move(path.folder)), file_(folder_, std::move(path.name)), buffer_(new char[kBuffer]) {}

    void write(const char *from, std::size_t bytes) override {
        while (bytes != 0) {
            if (filled_ == kBuffer) flush();
            const std::size_t part = std::min(bytes, kBuffer - filled_);
            std::memcpy(buffer_.get() + filled_, from, part);
            filled_ += part;
            from += part;
            bytes -= part;
        }
    }
    void finish() override {
        flush();
        file_.commit();
    }

  private:
    static constexpr std::size_t kBuffer = 256 << 10;

    void flush() {
        file_.write_at(offset_, buffer_.get(), filled_);
        offset_ += std::exchange(filled_, 0);
    }

    Folder folder_;
    NewFile file_;
    std::unique_ptr<char[]> buffer_;
    std::size_t filled_ = 0;
    uint64_t offset_ = 0; // of the buffer's first byte
};

} // namespace

std::unique_ptr<Sink> create_file(const std::string &path) {
    return std::make_unique<FileSink>(split(path));
}

} // namespace mdist
