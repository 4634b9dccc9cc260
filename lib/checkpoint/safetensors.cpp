// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include "checkpoint/checksum.h"
#include "checkpoint/json.h"
#include "util/dtype.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace mdist {
namespace {

constexpr const char *kHeaderCrcKey = "mdist.crc32";
constexpr const char *kFormatKey = "mdist.format";
constexpr const char *kFormat = "1";
constexpr const char *kTensorCrcKey = "mdist.crc32/"; // and the tensor's name
constexpr std::string_view kHeaderCrc = "\"mdist.crc32\":\"";
constexpr std::string_view kNoCrc = "00000000";
constexpr std::size_t kDataAlignment = 64;

struct TypeName {
    std::string_view text;
    int32_t dtype; // 0: not ours
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
    {"BOOL", 0, 1},
    {"I16", 0, 2},
    {"U16", 0, 2},
    {"F8_E4M3", 0, 1},
    {"F8_E5M2", 0, 1},
};

const TypeName *type_of(std::string_view text) {
    const auto *const found =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto &t) { return t.text == text; });
    return found == std::end(kTypes) ? nullptr : found;
}

/// The position of the header's own checksum in its text; npos: there is none. Inside of a string the quotes would be
/// escaped, so it is nothing else.
std::size_t find_header_crc(std::string_view json) {
    const std::size_t key = json.find(kHeaderCrc);
    return key == json.npos || json.size() < key + kHeaderCrc.size() + kNoCrc.size() ? json.npos
                                                                                     : key + kHeaderCrc.size();
}

Json json_of(const StoredTensor &tensor) {
    return {{"dtype", tensor.dtype_text}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}};
}

uint64_t number_in(const Json &value, const std::string &place) {
    if (!value.is_number_unsigned()) throw bad_data(text(place, " is ", shown(value), "; it is a whole number from 0"));
    return value.get<uint64_t>();
}

const Json &list_in(const Json &tensor, const char *key, const std::string &place) {
    const auto found = tensor.find(key);
    if (found == tensor.end() || !found->is_array()) throw bad_data(text(place, " has no list \"", key, "\""));
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
    const std::string place = text("tensor ", mdist::quoted(name));
    if (!value.is_object()) throw bad_data(text(place, " is ", shown(value), "; it is an object"));
    StoredTensor tensor;
    tensor.name = name;
    const auto dtype = value.find("dtype");
    if (dtype == value.end() || !dtype->is_string()) throw bad_data(text(place, " has no text \"dtype\""));
    tensor.dtype_text = dtype->get<std::string>();
    if (const TypeName *type = type_of(tensor.dtype_text)) tensor.dtype = type->dtype;
    for (const Json &dimension : list_in(value, "shape", place)) tensor.shape.push_back(number_in(dimension, place));
    const Json &offsets = list_in(value, "data_offsets", place);
    if (offsets.size() != 2) throw bad_data(text(place, " has ", offsets.size(), " data_offsets; there are two"));
    tensor.begin = number_in(offsets[0], place);
    tensor.end = number_in(offsets[1], place);
    check_extent(tensor, place);
    return tensor;
}

void check_places(const std::vector<StoredTensor> &tensors, uint64_t data_bytes) {
    uint64_t end = 0;
    for (const StoredTensor &tensor : tensors) {
        if (tensor.begin != end)
            throw bad_data(text("tensor ", mdist::quoted(tensor.name), " begins at ", tensor.begin,
                                " and the one before it ends at ", end));
        end = tensor.end;
    }
    if (end != data_bytes)
        throw bad_data(text("the tensors have ", end, " bytes and the file has ", data_bytes, " for them",
                            end > data_bytes ? ": its end is missing" : ""));
}

uint32_t checked_crc(const std::string &key, const std::string &digits) {
    const std::optional<uint32_t> crc = crc_from(digits);
    if (!crc) throw bad_data(text("the checksum ", mdist::quoted(key), " is ", mdist::quoted(digits)));
    return *crc;
}

/// The program's texts, and the tensors' checksums.
void take_metadata(const Json &metadata, SafetensorsHeader &header) {
    if (!metadata.is_object()) throw bad_data(text(kMetadataName, " is ", shown(metadata), "; it is an object"));
    bool ours = false;
    for (const auto &[key, value] : metadata.items()) {
        if (!value.is_string()) throw bad_data(text("the text of ", mdist::quoted(key), " is ", shown(value)));
        if (key.starts_with(kOwnKeys))
            ours = true;
        else
            header.texts[key] = value.get<std::string>();
    }
    if (!ours) return;
    if (metadata.value(kFormatKey, Json()) != kFormat || !metadata.contains(kHeaderCrcKey))
        throw bad_data(text("it has no \"", kFormatKey, "\": \"", kFormat, "\" or no \"", kHeaderCrcKey, "\""));
    for (StoredTensor &tensor : header.tensors)
        if (const auto crc = metadata.find(kTensorCrcKey + tensor.name); crc != metadata.end())
            tensor.crc = checked_crc(crc.key(), crc->get_ref<const std::string &>());
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
    std::string out = dtype == 0 ? mdist::quoted(dtype_text) : dtype_name(dtype);
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
    Json root = Json::object();
    Json &metadata = root[std::string(kMetadataName)] = header.texts;
    metadata[kFormatKey] = kFormat;
    metadata[kHeaderCrcKey] = kNoCrc;
    for (const StoredTensor &tensor : header.tensors) {
        root[tensor.name] = json_of(tensor);
        metadata[kTensorCrcKey + tensor.name] = crc_text(tensor.crc.value_or(0));
    }
    std::string out(sizeof(uint64_t), '\0');
    out += root.dump();
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
    const Json root = parse_json(json);
    if (!root.is_object()) throw bad_data(text("the header is ", shown(root), "; it is an object"));
    SafetensorsHeader header;
    for (const auto &[name, value] : root.items())
        if (name != kMetadataName) header.tensors.push_back(tensor_in(name, value));
    std::sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor &a, const StoredTensor &b) {
        return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    check_places(header.tensors, data_bytes);
    if (const auto metadata = root.find(kMetadataName); metadata != root.end()) take_metadata(*metadata, header);
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
