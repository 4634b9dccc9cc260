// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include "checkpoint/checksum.h"
#include "util/dtype.h"
#include "util/text.h"
#include "util/utf8.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace mdist {
namespace {

constexpr const char *kHeaderCrcKey = "mdist.crc32";
constexpr const char *kFormatKey = "mdist.format";
constexpr const char *kFileFormat = "1";
constexpr const char *kTensorCrcKey = "mdist.crc32/";        // followed by the tensor's name
constexpr std::string_view kIteratorKey = "mdist.iterator/"; // followed by the iterator's name
constexpr std::string_view kHeaderCrc = "\"mdist.crc32\":\"";
constexpr std::string_view kNoCrc = "00000000";
constexpr std::size_t kDataAlignment = 64;
constexpr std::size_t kDeepest = 3; // nesting: header, tensor, list

struct TypeName {
    std::string_view text;
    int32_t dtype; // 0: this library does not have it
    std::size_t bytes;
};
constexpr TypeName kTypes[] = {
    {"F32", MDIST_FLOAT32, 4},
    {"F64", MDIST_FLOAT64, 8},
    {"F16", MDIST_FLOAT16, 2},
    {"BF16", MDIST_BFLOAT16, 2},
    {"I8", MDIST_INT8, 1},
    {"U8", MDIST_UINT8, 1},
    {"I32", MDIST_INT32, 4},
    {"U32", MDIST_UINT32, 4},
    {"I64", MDIST_INT64, 8},
    {"U64", MDIST_UINT64, 8},
    {"BOOL", MDIST_BOOL, 1},
    {"I16", MDIST_INT16, 2},
    {"U16", MDIST_UINT16, 2},
    {"F8_E4M3", 0, 1},
    {"F8_E5M2", 0, 1},
};

const TypeName *type_of(std::string_view text) {
    const auto *const found =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto &t) { return t.text == text; });
    return found == std::end(kTypes) ? nullptr : found;
}

/// Finds the header's own checksum in its text; npos: there is none. Inside a string the quotes would be escaped, so a
/// match cannot be anything else.
std::size_t find_header_crc(std::string_view json) {
    const std::size_t key = json.find(kHeaderCrc);
    return key == json.npos || json.size() < key + kHeaderCrc.size() + kNoCrc.size() ? json.npos
                                                                                     : key + kHeaderCrc.size();
}

std::string json_of_tensor(const StoredTensor &tensor) {
    return text("{\"dtype\":", json_of(tensor.dtype_text), ",\"shape\":", json_of(tensor.shape),
                ",\"data_offsets\":", json_of({tensor.begin, tensor.end}), "}");
}

const Json &member(const Json &tensor, const char *key, Json::Kind kind, const std::string &place) {
    const Json *const found = tensor.find(key, kind);
    if (found == nullptr)
        throw bad_data(text(place, " has no ", kind == Json::Kind::kText ? "text" : "list of whole numbers from 0",
                            " \"", key, "\""));
    return *found;
}

/// Throws unless the bytes are as many as the shape says.
void check_extent(const StoredTensor &tensor, const std::string &place) {
    if (tensor.end < tensor.begin)
        throw bad_data(text(place, " ends at ", tensor.end, ", before it begins at ", tensor.begin));
    const TypeName *const type = type_of(tensor.dtype_text);
    if (type == nullptr) return;
    const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
    uint64_t bytes = empty ? 0 : type->bytes;
    bool overflows = false;
    for (const uint64_t dimension : tensor.shape)
        overflows = __builtin_mul_overflow(bytes, dimension, &bytes) || overflows;
    if (overflows || bytes != tensor.end - tensor.begin)
        throw bad_data(text(place, " is ", tensor.text(), " and has ", tensor.end - tensor.begin, " bytes"));
}

StoredTensor tensor_in(const std::string &name, const Json &value) {
    const std::string place = text("tensor ", mdist::in_quotes(name));
    if (!value.is(Json::Kind::kObject)) throw bad_data(text(place, " is ", value.shown(), "; it must be an object"));
    StoredTensor tensor;
    tensor.name = name;
    tensor.dtype_text = member(value, "dtype", Json::Kind::kText, place).text;
    if (const TypeName *type = type_of(tensor.dtype_text)) tensor.dtype = type->dtype;
    tensor.shape = member(value, "shape", Json::Kind::kNumbers, place).numbers;
    const std::vector<uint64_t> &offsets = member(value, "data_offsets", Json::Kind::kNumbers, place).numbers;
    if (offsets.size() != 2) throw bad_data(text(place, " has ", offsets.size(), " data_offsets; it must have two"));
    tensor.begin = offsets[0];
    tensor.end = offsets[1];
    check_extent(tensor, place);
    return tensor;
}

void check_places(const std::vector<StoredTensor> &tensors, uint64_t data_bytes) {
    uint64_t end = 0;
    for (const StoredTensor &tensor : tensors) {
        if (tensor.begin != end)
            throw bad_data(text("tensor ", mdist::in_quotes(tensor.name), " begins at ", tensor.begin,
                                ", but the one before it ends at ", end));
        end = tensor.end;
    }
    if (end != data_bytes)
        throw bad_data(text("the tensors have ", end, " bytes, but the file has ", data_bytes, " for them",
                            end > data_bytes ? ": its end is missing" : ""));
}

uint32_t checked_crc(const std::string &key, const std::string &digits) {
    const std::optional<uint32_t> crc = crc_from(digits);
    if (!crc) throw bad_data(text("the checksum ", mdist::in_quotes(key), " is ", mdist::in_quotes(digits)));
    return *crc;
}

/// Takes the program's texts and the tensors' checksums from the metadata.
void take_metadata(const Json &metadata, SafetensorsHeader &header) {
    if (!metadata.is(Json::Kind::kObject))
        throw bad_data(text(kMetadataName, " is ", metadata.shown(), "; it must be an object"));
    bool ours = false;
    for (const auto &[key, index] : metadata.keys) {
        const Json &value = metadata.members[index];
        if (!value.is(Json::Kind::kText))
            throw bad_data(text("the text of ", mdist::in_quotes(key), " is ", value.shown()));
        if (key.starts_with(kIteratorKey)) header.iterators[key.substr(kIteratorKey.size())] = value.text;
        if (key.starts_with(kOwnKeys))
            ours = true;
        else
            header.texts[key] = value.text;
    }
    if (!ours) return;
    const Json *const format = metadata.find(kFormatKey, Json::Kind::kText);
    if (format == nullptr || format->text != kFileFormat || metadata.keys.count(kHeaderCrcKey) == 0)
        throw bad_data(text("it has no \"", kFormatKey, "\": \"", kFileFormat, "\" or no \"", kHeaderCrcKey, "\""));
    for (StoredTensor &tensor : header.tensors)
        if (const Json *crc = metadata.find(kTensorCrcKey + tensor.name, Json::Kind::kText))
            tensor.crc = checked_crc(kTensorCrcKey + tensor.name, crc->text);
}

void check_header_crc(std::string_view json) {
    const std::size_t at = find_header_crc(json);
    if (at == json.npos) return;
    const uint32_t wanted = checked_crc(kHeaderCrcKey, std::string(json.substr(at, kNoCrc.size())));
    uint32_t crc = crc32_of(json.data(), at);
    crc = crc32_of(kNoCrc.data(), kNoCrc.size(), crc);
    crc = crc32_of(json.data() + at + kNoCrc.size(), json.size() - at - kNoCrc.size(), crc);
    if (crc != wanted) throw bad_data("the header's checksum is wrong");
}

} // namespace

Failure bad_data(std::string message) {
    return {MDIST_ERR_DATA_LOSS, std::move(message)};
}

Json parse_file_json(std::string_view json) {
    try {
        return parse_json(json, kDeepest);
    } catch (const JsonFault &fault) {
        throw bad_data(fault.what());
    }
}

StoredTensor StoredTensor::of(std::string name, int32_t dtype, const Shape &shape) {
    StoredTensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = dtype;
    for (const TypeName &type : kTypes)
        if (type.dtype == dtype) tensor.dtype_text = type.text;
    tensor.shape.assign(shape.dims, shape.dims + shape.rank);
    tensor.end = shape.elements() * dtype_size(dtype);
    return tensor;
}

std::string StoredTensor::text() const {
    std::string out = dtype == 0 ? mdist::in_quotes(dtype_text) : dtype_name(dtype);
    for (std::size_t i = 0; i < shape.size() && i <= MDIST_MAX_RANK; ++i)
        out += i == MDIST_MAX_RANK ? ", ..." : mdist::text(i == 0 ? " [" : ", ", shape[i]);
    return out + (shape.empty() ? " []" : "]");
}

bool StoredTensor::is(int32_t other_dtype, const Shape &other) const {
    return dtype == other_dtype && shape.size() == static_cast<std::size_t>(other.rank) &&
           std::equal(shape.begin(), shape.end(), other.dims);
}

void place_tensors(std::vector<StoredTensor> &tensors) {
    std::sort(tensors.begin(), tensors.end(), [](const StoredTensor &a, const StoredTensor &b) {
        const std::size_t size_a = dtype_size(a.dtype), size_b = dtype_size(b.dtype);
        return size_a != size_b ? size_a > size_b : a.name < b.name;
    });
    uint64_t end = 0;
    for (StoredTensor &tensor : tensors) {
        const uint64_t bytes = tensor.end - tensor.begin;
        tensor.begin = end;
        tensor.end = end += bytes;
    }
}

std::string encode_header(const SafetensorsHeader &header) {
    std::string metadata = text(json_of(kFormatKey), ":", json_of(kFileFormat), ",", kHeaderCrc, kNoCrc, "\"");
    std::string tensors;
    for (const auto &[key, value] : header.texts) metadata += text(",", json_of(key), ":", json_of(value));
    for (const auto &[name, state] : header.iterators)
        metadata += text(",", json_of(text(kIteratorKey, name)), ":", json_of(state));
    for (const StoredTensor &tensor : header.tensors) {
        metadata += text(",", json_of(kTensorCrcKey + tensor.name), ":\"", crc_text(tensor.crc.value_or(0)), "\"");
        tensors += text(",", json_of(tensor.name), ":", json_of_tensor(tensor));
    }
    std::string out(sizeof(uint64_t), '\0');
    out += text("{", json_of(kMetadataName), ":{", metadata, "}", tensors, "}");
    out.append((kDataAlignment - out.size() % kDataAlignment) % kDataAlignment, ' ');
    const uint64_t length = out.size() - sizeof length;
    if (length > kMostHeaderBytes)
        throw invalid(
            text("names and texts take a header of ", length, " bytes; at most ", kMostHeaderBytes, " are allowed"));
    std::memcpy(out.data(), &length, sizeof length);
    const std::string_view json = std::string_view(out).substr(sizeof length);
    const std::string crc = crc_text(crc32_of(json.data(), json.size()));
    return out.replace(sizeof length + find_header_crc(json), crc.size(), crc);
}

SafetensorsHeader parse_header(std::string_view json, uint64_t data_bytes) {
    check_header_crc(json);
    const Json root = parse_file_json(json);
    if (!root.is(Json::Kind::kObject)) throw bad_data(text("the header is ", root.shown(), "; it must be an object"));
    SafetensorsHeader header;
    for (const auto &[name, index] : root.keys)
        if (name != kMetadataName) header.tensors.push_back(tensor_in(name, root.members[index]));
    std::sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor &a, const StoredTensor &b) {
        return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    check_places(header.tensors, data_bytes);
    if (const auto metadata = root.keys.find(std::string(kMetadataName)); metadata != root.keys.end())
        take_metadata(root.members[metadata->second], header);
    return header;
}

std::string crc_text(uint32_t crc) {
    constexpr char kHex[] = "0123456789abcdef";
    std::string out;
    for (int shift = 28; shift >= 0; shift -= 4) out += kHex[crc >> shift & 15];
    return out;
}

std::optional<uint32_t> crc_from(std::string_view digits) {
    if (digits.size() != 8) return std::nullopt;
    uint32_t crc = 0;
    for (const char digit : digits) {
        const bool number = digit >= '0' && digit <= '9';
        if (!number && (digit < 'a' || digit > 'f')) return std::nullopt;
        crc = crc << 4 | static_cast<uint32_t>(number ? digit - '0' : digit - 'a' + 10);
    }
    return crc;
}

} // namespace mdist
