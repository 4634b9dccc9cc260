// SPDX-License-Identifier: Apache-2.0
#include "util/json.h"

#include "util/text.h"
#include "util/utf8.h"

#include <nlohmann/json.hpp>

namespace mdist {
namespace {

/// Builds a value from the parser's events. Its functions return whether the parser goes on.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit Builder(std::size_t deepest) : deepest_(deepest) {}
    Json take() { return std::move(root_); }

    bool null() override { return word("null"); }
    bool boolean(bool value) override { return word(value ? "true" : "false"); }
    bool number_integer(number_integer_t value) override { return word(text(value)); }
    bool number_float(number_float_t, const string_t &digits) override {
        constexpr std::size_t kLongest = 80; // enough, as such a number is only shown
        return word(digits.size() <= kLongest ? digits : digits.substr(0, kLongest) + "...");
    }
    bool binary(binary_t &) override { return word("bytes"); }
    bool number_unsigned(number_unsigned_t value) override {
        if (!open_.empty() && open_.back()->is(Json::Kind::kNumbers))
            open_.back()->numbers.push_back(value);
        else
            add(Json::Kind::kNumber).number = value;
        return true;
    }
    bool string(string_t &value) override {
        add(Json::Kind::kText).text = std::move(value);
        return true;
    }
    bool start_object(std::size_t) override { return begin(Json::Kind::kObject); }
    bool end_object() override { return end(); }
    bool start_array(std::size_t) override { return begin(Json::Kind::kNumbers); } // until it gets another value
    bool end_array() override { return end(); }
    bool key(string_t &name) override {
        Json &object = *open_.back();
        if (!object.keys.emplace(name, object.members.size()).second)
            throw JsonFault(text("the key ", mdist::in_quotes(name), " is given twice"));
        return true;
    }
    bool parse_error(std::size_t position, const std::string &, const nlohmann::detail::exception &why) override {
        if (dynamic_cast<const nlohmann::detail::out_of_range *>(&why) != nullptr)
            throw JsonFault("holds a number that is too large");
        throw JsonFault(text("not valid JSON at byte ", position));
    }

  private:
    Json &add(Json::Kind kind) {
        if (!open_.empty() && open_.back()->is(Json::Kind::kNumbers)) make_list(*open_.back());
        Json &json = open_.empty() ? root_ : open_.back()->members.emplace_back();
        json.kind = kind;
        return json;
    }
    /// Turns a list of numbers into a list that can hold any values.
    static void make_list(Json &numbers) {
        numbers.kind = Json::Kind::kList;
        for (const uint64_t number : std::exchange(numbers.numbers, {})) {
            Json &json = numbers.members.emplace_back();
            json.kind = Json::Kind::kNumber;
            json.number = number;
        }
    }
    bool word(std::string shown) {
        add(Json::Kind::kWord).text = std::move(shown);
        return true;
    }
    bool begin(Json::Kind kind) {
        if (open_.size() == deepest_) throw JsonFault(text("nested deeper than ", deepest_));
        open_.push_back(&add(kind)); // the pointer stays valid while it is open, since only the innermost one grows
        return true;
    }
    bool end() {
        open_.pop_back();
        return true;
    }

    const std::size_t deepest_;
    Json root_;
    std::vector<Json *> open_;
};

} // namespace

const Json *Json::find(const std::string &key) const {
    const auto found = keys.find(key);
    return found == keys.end() ? nullptr : &members[found->second];
}

const Json *Json::find(const std::string &key, Kind wanted) const {
    const Json *const found = find(key);
    return found != nullptr && found->is(wanted) ? found : nullptr;
}

std::string Json::shown() const {
    switch (kind) {
        case Kind::kWord:
            return text;
        case Kind::kText:
            return mdist::in_quotes(text);
        case Kind::kNumber:
            return std::to_string(number);
        case Kind::kNumbers:
        case Kind::kList:
            return "a list";
        case Kind::kObject:
            return "an object";
    }
    return "?";
}

Json parse_json(std::string_view text, std::size_t deepest) {
    Builder builder(deepest);
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    return builder.take();
}

std::string json_of(std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte < 0x20) {
            out += "\\u00";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
            continue;
        }
        if (character == '"' || character == '\\') out += '\\';
        out += character;
    }
    return out += '"';
}

std::string json_of(const std::vector<uint64_t> &numbers) {
    std::string out = "[";
    for (std::size_t i = 0; i < numbers.size(); ++i) out += text(i == 0 ? "" : ",", numbers[i]);
    return out += ']';
}

} // namespace mdist
