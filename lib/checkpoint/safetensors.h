// SPDX-License-Identifier: Apache-2.0
// Safetensors: reads and writes the header of a file of tensors. Libraries for Python, Rust and others use the format,
// too.
//
//   8 bytes   length of the header, little-endian
//   header    JSON: {"__metadata__": {key: text},
//                    name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//   data      the tensors, one behind the other without gaps, little-endian
//
// This library orders tensors by descending size of their elements and pads the header with spaces, so that every
// tensor is aligned. Metadata keys that begin with "mdist." belong to the library:
//
//   mdist.format           "1"
//   mdist.crc32/NAME       the checksum of a tensor's bytes
//   mdist.iterator/NAME    the position of an iterator (data/iterator_state.h)
//   mdist.crc32            the checksum of the header, computed with its own eight digits as zeros
//
// Files without any of these are read unchecked.
// Pure functions, any thread.
#pragma once

#include "util/failure.h"
#include "util/json.h"
#include "util/shape.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

struct StoredTensor {
    std::string name;
    int32_t dtype = 0; // 0: a type that this library does not have
    std::string dtype_text;
    std::vector<uint64_t> shape;
    uint64_t begin = 0, end = 0; // offsets in the data
    std::optional<uint32_t> crc;

    /// Makes a tensor to be saved. place_tensors() gives it its place in the data.
    static StoredTensor of(std::string name, int32_t dtype, const Shape &shape);
    /// "float32 [2, 3]"
    std::string text() const;
    bool is(int32_t other_dtype, const Shape &other_shape) const;
};

struct SafetensorsHeader {
    std::vector<StoredTensor> tensors;            // in the order of the data
    std::map<std::string, std::string> texts;     // metadata of the program
    std::map<std::string, std::string> iterators; // positions, by the iterators' names

    uint64_t data_bytes() const { return tensors.empty() ? 0 : tensors.back().end; }
};

/// The longest header that is read or written. A tensor takes about 120 bytes plus twice its name. Reading a header
/// takes up to fifty times its size in memory.
constexpr uint64_t kMostHeaderBytes = 16 << 20;
/// A name that no tensor may have, and the prefix of metadata keys that belong to the library.
constexpr std::string_view kMetadataName = "__metadata__";
constexpr std::string_view kOwnKeys = "mdist.";

/// Sorts tensors into their order in the file and gives them their places.
void place_tensors(std::vector<StoredTensor> &tensors);

/// Returns the file up to its data, including the length. Its size does not depend on the checksums, so it can be
/// written again once they are known. Names and texts must be UTF-8. Throws INVALID_ARGUMENT if it is too long.
std::string encode_header(const SafetensorsHeader &header);

/// Parses `json`, the header without its length, of a file with `data_bytes` of data. All tensors of the result lie
/// within the data. Throws DATA_LOSS with what is wrong.
SafetensorsHeader parse_header(std::string_view json, uint64_t data_bytes);

Failure bad_data(std::string message);
/// Parses JSON in the library's own files. Throws DATA_LOSS with what is wrong.
Json parse_file_json(std::string_view json);

/// Converts a checksum to text, "0badf00d", and back. crc_from() returns nothing for any other text.
std::string crc_text(uint32_t crc);
std::optional<uint32_t> crc_from(std::string_view text);

} // namespace mdist
