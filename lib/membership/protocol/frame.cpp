// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/frame.h"

#include <algorithm>

#include "util/payload.h"

namespace mdist {
namespace {

constexpr std::string_view kFrameMagic = "mDst";
constexpr std::size_t kKindAt = 5, kSessionAt = 16;
constexpr std::size_t kKeptBytes = 1024; // of memory for the next frame

} // namespace

Digest Seal::tag(std::string_view frame) {
    std::string message = PayloadWriter().number(count_++).take();
    message += frame;
    return keyed_digest(view_of(*key_), message);
}

std::string encode(const ControlFrame &frame, Seal &seal) {
    std::string bytes(kFrameMagic);
    const auto length = static_cast<uint32_t>(frame.payload.size());
    bytes += PayloadWriter()(kProtocolVersion, frame.kind, uint16_t{0}, length, uint32_t{0}, frame.session).take();
    bytes += frame.payload;
    if (seal.tag_bytes() != 0) bytes += view_of(seal.tag(bytes));
    return bytes;
}

std::size_t FrameReader::wanted() const {
    if (fault_ != Fault::kNone) return 0;
    return bytes_.size() < kFrameHeaderBytes ? kFrameHeaderBytes - bytes_.size() : frame_bytes() - bytes_.size();
}

void FrameReader::feed(std::string_view bytes) {
    if (fault_ != Fault::kNone) return;
    const bool had_header = bytes_.size() >= kFrameHeaderBytes;
    bytes_ += bytes;
    // A wrong first byte is enough to know garbage, so there is no need to wait for a header.
    const std::size_t begun = std::min(bytes_.size(), kFrameMagic.size());
    if (std::string_view(bytes_).substr(0, begun) != kFrameMagic.substr(0, begun))
        fault_ = Fault::kForeign;
    else if (!had_header && bytes_.size() >= kFrameHeaderBytes)
        check_header();
}

void FrameReader::check_header() {
    PayloadReader header(std::string_view(bytes_).substr(kFrameMagic.size(), kFrameHeaderBytes - kFrameMagic.size()));
    version_ = header.number<uint8_t>();
    const auto kind = header.number<uint8_t>();
    const auto reserved = header.number<uint16_t>();
    payload_ = header.number<uint32_t>();
    const auto reserved_too = header.number<uint32_t>();
    if (version_ != kProtocolVersion)
        fault_ = Fault::kVersion;
    else if (kind == 0 || kind > static_cast<uint8_t>(kLastFrameKind) || reserved != 0 || reserved_too != 0)
        fault_ = Fault::kForeign;
    else if (payload_ > most_)
        fault_ = Fault::kLength;
}

std::optional<ControlFrame> FrameReader::next() {
    if (fault_ != Fault::kNone || bytes_.size() < kFrameHeaderBytes || bytes_.size() < frame_bytes())
        return std::nullopt;
    const std::string_view frame = std::string_view(bytes_).substr(0, kFrameHeaderBytes + payload_);
    if (seal_.tag_bytes() != 0) {
        Digest tag;
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(frame.size()), tag.size(), tag.begin());
        if (!same_digest(tag, seal_.tag(frame))) {
            fault_ = Fault::kForged;
            return std::nullopt;
        }
    }
    ControlFrame result;
    result.kind = static_cast<FrameKind>(frame[kKindAt]);
    result.session = PayloadReader(frame.substr(kSessionAt)).bytes<16>();
    result.payload = frame.substr(kFrameHeaderBytes);
    bytes_.clear();
    if (bytes_.capacity() > kKeptBytes) bytes_.shrink_to_fit(); // a long frame is rare
    return result;
}

} // namespace mdist
