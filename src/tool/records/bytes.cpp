// SPDX-License-Identifier: Apache-2.0
#include "records/bytes.h"

namespace mdist {
namespace {

IteratorHandle iterate(const std::string &path, mdist_compression_t compression, uint64_t header_bytes,
                       uint64_t record_bytes) {
    mdist_read_options_t options = {};
    options.struct_size = sizeof options;
    options.compression = compression;
    mdist_dataset_t *out = nullptr;
    mdist_iterator_t *iterator = nullptr;
    mdist_error_t *error = nullptr;
    const char *name = path.c_str();
    require_ok(mdist_dataset_files(&name, 1, &out, nullptr, &error), error);
    const DatasetHandle files(out);
    if (record_bytes == 0)
        require_ok(mdist_dataset_tfrecords(files.get(), &out, &options, &error), error);
    else
        require_ok(mdist_dataset_fixed_records(files.get(), record_bytes, header_bytes, 0, &out, &options, &error),
                   error);
    const DatasetHandle records(out);
    require_ok(mdist_iterator_create(records.get(), &iterator, &error), error);
    return IteratorHandle(iterator);
}

} // namespace

FileRecords::FileRecords(const std::string &path, mdist_compression_t compression, uint64_t header_bytes,
                         uint64_t record_bytes)
    : iterator_(iterate(path, compression, header_bytes, record_bytes)) {}

bool FileRecords::next(std::string_view &record) {
    mdist_value_t *value = nullptr;
    mdist_error_t *error = nullptr;
    const mdist_status_t status = mdist_iterator_next(iterator_.get(), &value, 1, &error);
    require_ok(status, error);
    if (status == MDIST_END) return false;
    record_.reset(value);
    mdist_tensor_t tensor;
    require_ok(mdist_value_tensor(value, 0, &tensor, &error), error);
    record = {static_cast<const char *>(tensor.data), static_cast<std::size_t>(tensor.shape[0])};
    return true;
}

mdist_compression_t compression_of(const std::string &path) {
    FileRecords bytes(path, MDIST_COMPRESSION_NONE, 0, 1);
    // The first bytes of GZIP; the third one is the method. No length of a record begins like this.
    for (const std::string_view wanted : {"\x1f", "\x8b", "\x08"}) {
        std::string_view byte;
        if (!bytes.next(byte) || byte != wanted) return MDIST_COMPRESSION_NONE;
    }
    return MDIST_COMPRESSION_GZIP;
}

} // namespace mdist
