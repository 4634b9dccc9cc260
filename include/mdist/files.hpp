// SPDX-License-Identifier: Apache-2.0
// Files: how they are read into datasets, and TFRecord files that are being written.
//
//     mdist::RecordWriter writer("part-0.tfrecord");
//     writer.write(bytes);
//     writer.close();
#pragma once

#include <string>
#include <vector>

#include <mdist/error.hpp>
#include <mdist/handle.hpp>
#include <mdist/tensor.hpp>

namespace mdist {

// How files are read. The default: one after the other, uncompressed.
struct ReadOptions {
    mdist_compression_t compression = MDIST_COMPRESSION_NONE;
    mdist_on_corrupt_t on_corrupt = MDIST_ON_CORRUPT_FAIL;
    uint64_t cycle_length = 0;     // how many files are open at a time and take turns; 0: 1
    uint64_t block_length = 0;     // how many records a file gives in its turn; 0: 1
    uint64_t max_record_bytes = 0; // a longer record or line is corrupt; 0: 1 GiB
    uint64_t parallel_files = 0;   // how many of the open files are read ahead at a time, on threads of the iterator
};

namespace detail {

inline mdist_read_options_t raw(const ReadOptions &options) noexcept {
    return {sizeof(mdist_read_options_t), 0,
            options.compression,          options.on_corrupt,
            options.cycle_length,         options.block_length,
            options.max_record_bytes,     options.parallel_files};
}

inline std::vector<const char *> texts(const std::vector<std::string> &strings) {
    std::vector<const char *> pointers;
    for (const std::string &string : strings) pointers.push_back(string.c_str());
    return pointers;
}

} // namespace detail

// A TFRecord file that is being written. It has another name in its folder until close(). Without that, the destructor
// removes it.
class RecordWriter : public Handle<mdist_record_writer_t, mdist_record_writer_destroy> {
  public:
    explicit RecordWriter(const std::string &path, mdist_compression_t compression = MDIST_COMPRESSION_NONE)
        : Handle(create(path, compression)) {}

    void write(Span<const uint8_t> record) { write(record.data(), record.size()); }
    void write(const std::string &record) { write(record.data(), record.size()); }

    // Ends the file, flushes it to the disk and gives it its name. Closing again does nothing.
    void close() { detail::call(mdist_record_writer_close, get()); }

  private:
    static mdist_record_writer_t *create(const std::string &path, mdist_compression_t compression) {
        mdist_record_writer_t *out = nullptr;
        const mdist_record_writer_options_t options = {sizeof options, int32_t{compression}};
        detail::call(mdist_record_writer_create, path.c_str(), &out, &options);
        return out;
    }
    void write(const void *data, size_t bytes) { detail::call(mdist_record_writer_write, get(), data, bytes); }
};

} // namespace mdist
