// SPDX-License-Identifier: Apache-2.0
// Payload: converts numbers and texts to bytes, and back. Little-endian. A reader never reads past the end and never
// trusts a length. A value that does not fit makes the reader bad() for good: from then on all values are zero or
// empty. No state beyond the object.
//
// A struct that travels says once what its bytes are, for both directions. Either side is called with its fields:
//
//     template <class Self, class Payload>
//     static void fields(Self &self, Payload &payload) { payload(self.rank, self.name); }
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mdist {

/// A list as one of the fields: its length in 4 bytes, then each. A longer one than `most` makes a reader bad.
template <class List>
struct Limited {
    List &all;
    uint32_t most;
};
template <class List>
Limited<List> limited(List &all, uint32_t most) {
    return {all, most};
}

class PayloadWriter {
  public:
    /// Writes fields as their types say: numbers, enumerations, texts, arrays of bytes, limited() lists, structs.
    template <class... Fields>
    PayloadWriter &operator()(const Fields &...fields) {
        (write(fields), ...);
        return *this;
    }
    template <std::unsigned_integral Number>
    PayloadWriter &number(Number value) {
        for (std::size_t i = 0; i < sizeof value; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xff);
        return *this;
    }
    template <std::size_t N>
    PayloadWriter &bytes(const std::array<unsigned char, N> &value) {
        out_.append(reinterpret_cast<const char *>(value.data()), N);
        return *this;
    }
    PayloadWriter &text(std::string_view value) {
        number(static_cast<uint32_t>(value.size()));
        out_ += value;
        return *this;
    }
    /// Like text(), with an 8-byte length.
    PayloadWriter &blob(std::string_view value) {
        number(static_cast<uint64_t>(value.size()));
        out_ += value;
        return *this;
    }
    std::string take() { return std::move(out_); }

  private:
    template <class Field>
    void write(const Field &field) {
        if constexpr (std::unsigned_integral<Field>)
            number(field);
        else if constexpr (std::is_integral_v<Field> || std::is_enum_v<Field>)
            number(static_cast<std::make_unsigned_t<Field>>(field));
        else if constexpr (std::is_convertible_v<Field, std::string_view>)
            text(field);
        else if constexpr (std::is_same_v<Field, std::array<unsigned char, sizeof(Field)>>)
            bytes(field);
        else
            Field::fields(field, *this);
    }
    template <class List>
    void write(const Limited<List> &list) {
        number(static_cast<uint32_t>(list.all.size()));
        for (const auto &each : list.all) write(each);
    }

    std::string out_;
};

class PayloadReader {
  public:
    explicit PayloadReader(std::string_view bytes) : rest_(bytes) {}

    /// Reads what the writer's has written.
    template <class... Fields>
    PayloadReader &operator()(Fields &&...fields) {
        (read(fields), ...);
        return *this;
    }
    template <std::unsigned_integral Number>
    Number number() {
        const std::string_view raw = take(sizeof(Number));
        Number value = 0;
        for (std::size_t i = 0; i < raw.size(); ++i)
            value = static_cast<Number>(value | static_cast<Number>(static_cast<unsigned char>(raw[i])) << (8 * i));
        return value;
    }
    template <std::size_t N>
    std::array<unsigned char, N> bytes() {
        std::array<unsigned char, N> value = {};
        const std::string_view raw = take(N);
        std::memcpy(value.data(), raw.data(), raw.size());
        return value;
    }
    std::string text() { return std::string(take(number<uint32_t>())); }

    /// Returns a view into the bytes that are read.
    std::string_view blob() { return take(number<uint64_t>()); }

    bool bad() const { return bad_; }
    /// How many bytes are left to read.
    std::size_t left() const { return rest_.size(); }
    /// Whether every value was there and nothing is left.
    bool complete() const { return !bad_ && rest_.empty(); }

  private:
    template <class Field>
    void read(Field &field) {
        if constexpr (std::unsigned_integral<Field>)
            field = number<Field>();
        else if constexpr (std::is_integral_v<Field> || std::is_enum_v<Field>)
            field = static_cast<Field>(number<std::make_unsigned_t<Field>>());
        else if constexpr (std::is_same_v<Field, std::string>)
            field = text();
        else if constexpr (std::is_same_v<Field, std::array<unsigned char, sizeof(Field)>>)
            field = bytes<sizeof(Field)>();
        else
            Field::fields(field, *this);
    }
    template <class List>
    void read(Limited<List> &list) {
        auto count = number<uint32_t>();
        bad_ = bad_ || count > list.most;
        for (; count > 0 && !bad_; --count) read(list.all.emplace_back());
    }
    std::string_view take(uint64_t count) {
        if (bad_ || count > rest_.size()) {
            bad_ = true;
            return std::string_view("", 0);
        }
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    std::string_view rest_;
    bool bad_ = false;
};

} // namespace mdist
