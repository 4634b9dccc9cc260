// SPDX-License-Identifier: Apache-2.0
#include "data/files/records.h"

#include <algorithm>
#include <utility>

namespace mdist {

std::unique_ptr<Records> make_file_records(const RecordFormat &format, std::unique_ptr<Bytes> bytes,
                                           const std::string &path) {
    const bool packed = format.compression != MDIST_COMPRESSION_NONE;
    if (packed) bytes = unpack(std::move(bytes), format.compression, path);
    Input input(std::move(bytes), path, packed, std::max<std::size_t>(2 * format.footer_bytes, Input::kBuffer));
    switch (format.kind) {
        case RecordFormat::Kind::kLines:
            return make_lines(std::move(input), format.max_record_bytes);
        case RecordFormat::Kind::kFixed:
            return make_fixed_records(std::move(input), format);
        case RecordFormat::Kind::kTFRecord:
            break;
    }
    return make_tfrecords(std::move(input), format.max_record_bytes);
}

} // namespace mdist
