// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the bytes that a peer sends between workers. The first byte chooses the input:
// - raw bytes for a FrameReader;
// - frames that are encoded, sealed or not, and then damaged in one bit;
// - two operation headers, and an encoded failure.
// Whatever the bytes, the reader returns only what was sent. A seal detects every damage. A failure has a status that a
// peer may send.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "comm/call/operation_header.h"
#include "membership/protocol/frame.h"
#include "membership/protocol/handshake.h"
#include "target.h"
#include "util/failure.h"

using namespace mdist;

namespace {

constexpr std::size_t kMostPayload = 1024;

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "frames_fuzz: broken promise: %s\n", what);
    std::abort();
}

/// Reads frames as the reactor does: it never passes more bytes than the reader wants.
std::vector<ControlFrame> read(FrameReader &reader, std::string_view bytes) {
    std::vector<ControlFrame> frames;
    while (!bytes.empty() && reader.fault() == FrameReader::Fault::kNone) {
        const std::size_t wanted = reader.wanted();
        require(wanted > 0, "a reader without a fault wants something");
        require(wanted <= kFrameHeaderBytes + kMostPayload + sizeof(Digest), "and never more than a frame");
        const std::string_view piece = bytes.substr(0, wanted);
        bytes.remove_prefix(piece.size());
        reader.feed(piece);
        while (auto frame = reader.next()) {
            require(frame->payload.size() <= kMostPayload, "a payload is no longer than allowed");
            frames.push_back(std::move(*frame));
        }
    }
    return frames;
}

/// Reads raw bytes. Version 1 in the corpus stands for the current version.
void read_raw(std::string bytes) {
    for (std::size_t at = 0; (at = bytes.find("mDst\1", at)) != bytes.npos; ++at)
        bytes[at + 4] = static_cast<char>(kProtocolVersion);
    FrameReader reader(kMostPayload);
    for (const ControlFrame &frame : read(reader, bytes)) {
        require(frame.kind >= FrameKind::kHello && frame.kind <= kLastFrameKind, "a frame is of a known kind");
        Seal open;
        FrameReader again(kMostPayload);
        const std::vector<ControlFrame> same = read(again, encode(frame, open));
        require(same.size() == 1 && same[0].payload == frame.payload && same[0].kind == frame.kind &&
                    same[0].session == frame.session,
                "a frame that is encoded again is the same");
    }
}

/// Reads frames of {kind, length, payload}. Byte 0 says whether they are sealed. Bytes 1 and 2 say which bit is
/// flipped.
void read_damaged(std::string_view input) {
    if (input.size() < 3) return;
    const auto byte = [&input](std::size_t i) { return static_cast<unsigned char>(input[i]); };
    const bool sealed = byte(0) % 2 == 0 && secrets_are_built();
    const std::size_t place = byte(1) * std::size_t{256} + byte(2);
    Seal out = sealed ? Seal(Digest{7}) : Seal();
    std::string bytes;
    std::vector<ControlFrame> sent;
    std::vector<std::size_t> ends;
    for (std::size_t at = 3; at + 2 <= input.size() && sent.size() < 16;) {
        const std::size_t length = std::min<std::size_t>(byte(at + 1), input.size() - at - 2);
        const auto kind = static_cast<FrameKind>(1 + byte(at) % static_cast<unsigned>(kLastFrameKind));
        sent.push_back({kind, {}, std::string(input.substr(at + 2, length))});
        bytes += encode(sent.back(), out);
        ends.push_back(bytes.size());
        at += 2 + length;
    }
    const bool damaged = place / 8 < bytes.size();
    if (damaged) bytes[place / 8] ^= static_cast<char>(1u << place % 8);
    FrameReader reader(kMostPayload);
    reader.set_seal(sealed ? Seal(Digest{7}) : Seal());
    const std::vector<ControlFrame> got = read(reader, bytes);
    std::size_t whole = 0;
    while (whole < ends.size() && (!damaged || ends[whole] <= place / 8)) ++whole;
    require(got.size() >= whole, "what comes before the damage is read");
    for (std::size_t i = 0; i < whole; ++i) require(got[i].payload == sent[i].payload, "and is what was sent");
    if (sealed) require(got.size() == whole, "a seal lets nothing through from the damage on");
}

/// Replaces small numbers by the hashes of functions. A fuzzer would not find the hashes, so the corpus has numbers.
void name_function(OperationHeader &header) {
    static const CallFunction functions[] = {{"reduce", Pattern::kReduce},
                                             {"broadcast", Pattern::kBroadcast},
                                             {"gather", Pattern::kGather},
                                             {"meet", Pattern::kMeet}};
    if (header.function < std::size(functions)) header.function = functions[header.function].hash();
}

void read_headers(std::string_view bytes) {
    OperationHeader mine, theirs;
    std::memcpy(&mine, bytes.data(), std::min(bytes.size(), sizeof mine));
    bytes.remove_prefix(std::min(bytes.size(), sizeof mine));
    std::memcpy(&theirs, bytes.data(), std::min(bytes.size(), sizeof theirs));
    bytes.remove_prefix(std::min(bytes.size(), sizeof theirs));
    name_function(mine);
    name_function(theirs);
    require(mine.text().size() < 500, "a header is a short sentence");
    check_same(mine, 0, mine, 1);
    try {
        check_same(mine, 0, theirs, 1);
    } catch (const Failure &failure) {
        const bool told = failure.status() == MDIST_ERR_MISMATCH || failure.status() == MDIST_ERR_DATA_LOSS;
        require(told && failure.worker() == 1, "the status is MDIST_ERR_MISMATCH or MDIST_ERR_DATA_LOSS, of worker 1");
        require(failure.message().size() < 2000, "the sentence is short");
    }
    if (const auto failure = decode_failure(bytes)) {
        require(failure->status() < 0 && failure->status() >= MDIST_ERR_INTERNAL, "the status is one of the list");
        require(encode(*failure) == bytes, "a failure that is encoded again is the same");
    }
}

} // namespace

FUZZ_TARGET(frames) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char *>(data) + 1, size - 1);
    switch (data[0] % 3) {
        case 0:
            read_raw(std::string(rest));
            break;
        case 1:
            read_damaged(rest);
            break;
        default:
            read_headers(rest);
    }
    return 0;
}
