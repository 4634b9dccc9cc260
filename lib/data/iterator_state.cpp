// SPDX-License-Identifier: Apache-2.0
#include "data/iterator_state.h"

#include "util/crc32c.h"
#include "util/failure.h"
#include "util/json.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {
namespace {

constexpr const char *kFormatKey = "mdist.iterator";
constexpr const char *kFormat = "1";
/// The most bytes of the text, and of the description in it. Each shuffle adds an order of twenty digits at most.
constexpr std::size_t kMostStateBytes = 1 << 20, kMostDescription = 1000;

Failure corrupt(const std::string &what) {
    return Failure(MDIST_ERR_DATA_LOSS, text("the text is not a valid iterator state: ", what)).reason("corrupt");
}

/// Returns the text without its checksum. The checksum covers this.
std::string body_of(const IteratorState &state) {
    return text("{", json_of(kFormatKey), ":", json_of(kFormat), ",\"dataset\":", json_of(state.dataset),
                ",\"layout\":", json_of(state.layout), ",\"taken\":", state.taken,
                ",\"orders\":", json_of(state.orders));
}

uint32_t checksum_of(const IteratorState &state) {
    const std::string body = body_of(state);
    return crc32c(body.data(), body.size());
}

Json parsed(std::string_view given) {
    if (given.size() > kMostStateBytes)
        throw corrupt(text("it has ", given.size(), " bytes; at most ", kMostStateBytes, " are allowed"));
    try {
        return parse_json(given, 2);
    } catch (const JsonFault &fault) {
        throw corrupt(fault.what());
    }
}

const Json &member(const Json &root, const char *key, Json::Kind kind) {
    const Json *const found = root.find(key, kind);
    if (found == nullptr) throw corrupt(text("it has no \"", key, "\", or one of another type"));
    return *found;
}

} // namespace

std::string short_description(const std::string &description) {
    if (description.size() <= kMostDescription) return description;
    return text(description.substr(0, kMostDescription), " ... (", description.size(), ", ",
                crc32c(description.data(), description.size()), ")");
}

std::string encode_iterator_state(const IteratorState &state) {
    return text(body_of(state), ",\"crc32c\":", checksum_of(state), "}");
}

IteratorState parse_iterator_state(std::string_view given) {
    const Json root = parsed(given);
    if (!root.is(Json::Kind::kObject)) throw corrupt(text("it is ", root.shown(), "; it must be an object"));
    const std::string &format = member(root, kFormatKey, Json::Kind::kText).text;
    if (format != kFormat)
        throw corrupt(text("it is of format ", in_quotes(format), "; this library knows \"", kFormat, "\""));
    IteratorState state;
    state.dataset = member(root, "dataset", Json::Kind::kText).text;
    state.layout = member(root, "layout", Json::Kind::kText).text;
    state.taken = member(root, "taken", Json::Kind::kNumber).number;
    state.orders = member(root, "orders", Json::Kind::kNumbers).numbers;
    if (member(root, "crc32c", Json::Kind::kNumber).number != checksum_of(state))
        throw corrupt("its checksum is wrong: it has been changed");
    return state;
}

} // namespace mdist
