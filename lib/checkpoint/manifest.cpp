// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checksum.h"
#include "checkpoint/folder.h"
#include "checkpoint/safetensors.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr std::string_view kManifestFormat = "mdist checkpoints 1";

std::string crc_of(const std::string &numbers) {
    return crc_text(crc32_of(numbers.data(), numbers.size()));
}

} // namespace

std::string encode_manifest(const std::vector<uint64_t> &numbers) {
    const std::string list = json_of(numbers);
    return text("{\"format\":", json_of(kManifestFormat), ",\"numbers\":", list, ",\"crc32\":\"", crc_of(list),
                "\"}\n");
}

std::vector<uint64_t> parse_manifest(std::string_view json) {
    const Json root = parse_file_json(json);
    const Json *const format = root.find("format", Json::Kind::kText);
    if (format == nullptr || format->text != kManifestFormat)
        throw bad_data(text("it has no \"format\": ", json_of(kManifestFormat)));
    const Json *const numbers = root.find("numbers", Json::Kind::kNumbers);
    const Json *const crc = root.find("crc32", Json::Kind::kText);
    if (numbers == nullptr || crc == nullptr || crc->text != crc_of(json_of(numbers->numbers)))
        throw bad_data("the checksum of its numbers is wrong");
    return numbers->numbers;
}

} // namespace mdist
