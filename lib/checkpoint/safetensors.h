// SPDX-License-Identifier: Apache-2.0
// Safetensors: the header of a file of tensors, as libraries for Python, Rust and others read and write it, too.
//
//   8 bytes   length of the header, little-endian
//   header    JSON: {"__metadata__": {key: text}, name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
//   ...} data      the tensors, one behind the other without gaps, little-endian
//
// Ours lie by descending size of their elements, and the header is filled up with spaces, so that every tensor is
// aligned. Metadata beginning with "mdist." are ours: "mdist.format" is "1", "mdist.crc32/NAME" the checksum of a
// tensor's bytes, "mdist.iterator/NAME" where an iterator stood (data/iterator_state.h), "mdist.crc32" the checksum of
// the header, with its own eight digits taken as zeros. Files without any of them are read unchecked.
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
    int32_t dtype = 0; // 0: a type that this library lacks
    std::string dtype_text;
    std::vector<uint64_t> shape;
    uint64_t begin = 0, end = 0; // in the data
    std::optional<uint32_t> crc;

    /// A tensor of ours, whose place in the data place_tensors() gives.
    static StoredTensor of(std::string name, int32_t dtype, const Shape &shape);
    /// "float32 [2, 3]"
    std::string text() const;
    bool is(int32_t other_dtype, const Shape &other_shape) const;
};

struct SafetensorsHeader {
    std::vector<StoredTensor> tensors;            // as they lie in the data
    std::map<std::string, std::string> texts;     // metadata of the program
    std::map<std::string, std::string> iterators; // by name

    uint64_t data_bytes() const { return tensors.empty() ? 0 : tensors.back().end; }
};

/// The longest header that is read or written; a tensor takes about 120 bytes and twice its name. While it is read, it
/// takes up to fifty times as much memory.
constexpr uint64_t kMostHeaderBytes = 16 << 20;
/// The tensor that a file cannot have, and the beginning of texts' keys that are not the program's.
constexpr std::string_view kMetadataName = "__metadata__";
constexpr std::string_view kOwnKeys = "mdist.";

/// Puts tensors into their order and gives them their places.
void place_tensors(std::vector<StoredTensor> &tensors);

/// The file up to its data, length included. As long whatever the checksums are, so that it can be written again when
/// they are known. Names and texts are UTF-8. Throws INVALID_ARGUMENT if it is too long.
std::string encode_header(const SafetensorsHeader &header);

/// Reads `json`, the header without its length, of a file with `data_bytes` behind it. Whatever comes out fits that
/// data. Throws DATA_LOSS with what is wrong.
SafetensorsHeader parse_header(std::string_view json, uint64_t data_bytes);

Failure bad_data(std::string message);
/// JSON in files of ours. Throws DATA_LOSS with what is wrong.
Json parse_file_json(std::string_view json);

/// "0badf00d", and back; nothing for what is none.
std::string crc_text(uint32_t crc);
std::optional<uint32_t> crc_from(std::string_view text);

} // namespace mdist
