// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checksum.h"
#include "checkpoint/folder.h"
#include "checkpoint/json.h"
#include "checkpoint/safetensors.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr const char *kFormat = "mdist checkpoints 1";

std::string crc_of(const Json &numbers) {
    const std::string text = numbers.dump();
    return crc_text(crc32_of(text.data(), text.size()));
}

} // namespace

std::string encode_manifest(const std::vector<uint64_t> &numbers) {
    const Json list = numbers;
    return Json{{"format", kFormat}, {"numbers", list}, {"crc32", crc_of(list)}}.dump() + "\n";
}

std::vector<uint64_t> parse_manifest(std::string_view text) {
    const Json root = parse_json(text);
    if (!root.is_object() || root.value("format", Json()) != kFormat)
        throw bad_data(mdist::text("it has no \"format\": \"", kFormat, "\""));
    const Json numbers = root.value("numbers", Json());
    const bool fine = numbers.is_array() && root.value("crc32", Json()) == crc_of(numbers);
    if (!fine) throw bad_data("its checksum is wrong");
    std::vector<uint64_t> out;
    for (const Json &number : numbers) {
        if (!number.is_number_unsigned()) throw bad_data(mdist::text("it lists ", shown(number), " as a number"));
        out.push_back(number.get<uint64_t>());
    }
    return out;
}

} // namespace mdist
