// SPDX-License-Identifier: Apache-2.0
// Payload: converts numbers and texts to bytes, and back. Little-endian. A reader never reads past the end and never
// trusts a length. A value that does not fit makes the reader bad() for good: from then on all values are zero or
// empty. No state beyond the object.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace mdist {

class PayloadWriter {
  public:
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
    std::string out_;
};

class PayloadReader {
  public:
    explicit PayloadReader(std::string_view bytes) : rest_(bytes) {}

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
