// SPDX-License-Identifier: Apache-2.0
// Frames and handshakes: what one side says the other hears, and nothing else.
#include "membership_support.h"
#include "subject.h"

namespace {

using namespace mdist;
using namespace mdist::test;

SessionId session_of(unsigned char first) {
    SessionId session = {};
    session[0] = first;
    return session;
}

Digest key_of(unsigned char first) {
    Digest key = {};
    key[0] = first;
    return key;
}

void a_frame_comes_back_from_any_pieces(void **) {
    Seal none;
    std::string bytes;
    for (std::size_t size : {0, 1, 31, 1000})
        bytes += encode(ControlFrame{FrameKind::kExchange, session_of(9), std::string(size, 'x')}, none);
    for (std::size_t most = 1; most < 70; ++most) {
        FrameReader reader(1000);
        std::vector<ControlFrame> frames;
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t count = std::min({most, reader.wanted(), bytes.size() - at});
            reader.feed(std::string_view(bytes).substr(at, count));
            at += count;
            while (auto frame = reader.next()) frames.push_back(*frame);
        }
        assert_int_equal(frames.size(), 4);
        assert_int_equal(frames[3].payload.size(), 1000);
        assert_true(frames[2].session == session_of(9));
        assert_int_equal(frames[1].kind, FrameKind::kExchange);
    }
}

FrameReader::Fault fault_of(const std::string &bytes, std::size_t *taken) {
    FrameReader reader(100);
    std::vector<ControlFrame> frames;
    *taken = feed_all(reader, bytes, &frames);
    assert_true(frames.empty());
    return reader.fault();
}

void what_is_no_frame_is_known_at_once(void **) {
    Seal none;
    const std::string good = encode(ControlFrame{FrameKind::kHello, {}, std::string(101, 'x')}, none);
    std::size_t taken = 0;
    assert_int_equal(fault_of(good, &taken), FrameReader::Fault::kLength);
    assert_int_equal(taken, kFrameHeaderBytes); // nothing of what it claimed was waited for
    std::string version = good;
    version[kVersionAt] = static_cast<char>(kProtocolVersion + 1);
    assert_int_equal(fault_of(version, &taken), FrameReader::Fault::kVersion);
    for (const std::size_t place : {0, 1, 2, 3, 5, 6, 7, 12, 15}) {
        std::string wrong = good;
        wrong[place] = 'Z';
        assert_int_equal(fault_of(wrong, &taken), FrameReader::Fault::kForeign);
    }
    FrameReader reader(100);
    reader.feed("G"); // of GET
    assert_int_equal(reader.fault(), FrameReader::Fault::kForeign);
    assert_int_equal(reader.wanted(), 0);
}

void a_sealed_frame_cannot_be_changed_left_out_or_repeated(void **) {
    if (!secrets_are_built()) skip();
    Seal out(key_of(1));
    const std::string first = encode(ControlFrame{FrameKind::kHeartbeat, session_of(1), "12345678"}, out);
    const std::string second = encode(ControlFrame{FrameKind::kHeartbeat, session_of(1), "abcdefgh"}, out);
    const auto frames_in = [](const std::string &bytes, const Digest &key) {
        FrameReader reader(100);
        reader.set_seal(Seal(key));
        std::vector<ControlFrame> frames;
        feed_all(reader, bytes, &frames);
        return frames.size();
    };
    assert_int_equal(frames_in(first + second, key_of(1)), 2);
    assert_int_equal(frames_in(first + second, key_of(2)), 0);
    assert_int_equal(frames_in(first + first, key_of(1)), 1);
    assert_int_equal(frames_in(second, key_of(1)), 0);
    for (std::size_t bit = 0; bit < first.size() * 8; ++bit) {
        std::string changed = first;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        assert_int_equal(frames_in(changed, key_of(1)), 0);
    }
}

/// A handshake of two keys, with one bit of a proof turned if asked for. What comes of it: "ok", "caller refuses",
/// "called refuses".
std::string shake(const std::string &caller_key, const std::string &called_key, int turned_bit = -1,
                  int turned_answer_bit = -1) {
    Hello hello;
    hello.rank = 3;
    hello.job = "j";
    Channel near(4096), far(4096);
    Caller caller(hello, session_of(5), caller_key);
    Called called(called_key);
    std::vector<ControlFrame> frames;
    feed_all(far.reader, caller.hello(near), &frames);
    const auto challenge = called.challenge(far, frames.at(0), session_of(5), key_of(77));
    assert_true(challenge.has_value());
    assert_int_equal(called.hello().rank, 3);
    frames.clear();
    feed_all(near.reader, *challenge, &frames);
    std::string proof;
    try {
        proof = caller.answer(near, frames.at(0), "body", "it");
    } catch (const Failure &failure) {
        assert_int_equal(failure.status(), MDIST_ERR_UNAUTHENTICATED);
        return "caller refuses";
    }
    if (turned_bit >= 0) proof[kFrameHeaderBytes] = static_cast<char>(proof[kFrameHeaderBytes] ^ (1 << turned_bit));
    frames.clear();
    feed_all(far.reader, proof, &frames);
    const auto proven = called.prove(far, frames.at(0));
    if (!proven) return "called refuses";
    assert_string_equal(proven->body.c_str(), "body");
    frames.clear();
    std::string answer = proven->answer;
    if (turned_answer_bit >= 0)
        answer[kFrameHeaderBytes] = static_cast<char>(answer[kFrameHeaderBytes] ^ (1 << turned_answer_bit));
    feed_all(near.reader, answer, &frames);
    try {
        caller.check(near, frames.at(0), "it");
    } catch (const Failure &failure) {
        assert_int_equal(failure.status(), MDIST_ERR_UNAUTHENTICATED);
        return "caller refuses";
    }
    frames.clear();
    feed_all(near.reader, far.pack(FrameKind::kWelcome, session_of(5), "w"), &frames);
    feed_all(far.reader, near.pack(FrameKind::kHeartbeat, session_of(5), "h"), &frames);
    return frames.size() == 2 ? "ok" : "no frames after it";
}

void a_handshake_holds_between_equal_keys_only(void **) {
    assert_string_equal(shake("", "").c_str(), "ok");
    if (!secrets_are_built()) skip();
    assert_string_equal(shake("a", "a").c_str(), "ok");
    assert_string_equal(shake("a", "b").c_str(), "called refuses");
    assert_string_equal(shake("", "b").c_str(), "caller refuses");
    assert_string_equal(shake("a", "").c_str(), "caller refuses");
    for (int bit = 0; bit < 8; ++bit) {
        assert_string_equal(shake("a", "a", bit).c_str(), "called refuses");
        assert_string_equal(shake("a", "a", -1, bit).c_str(), "caller refuses");
    }
}

void a_failure_comes_back_as_it_was(void **) {
    const Failure failure =
        Failure(MDIST_ERR_MISMATCH, "both sides").reason("word").operation("op").worker(3).replica(7).native(-5);
    const auto back = decode_failure(encode(failure));
    assert_true(back.has_value());
    assert_int_equal(back->status(), MDIST_ERR_MISMATCH);
    assert_string_equal(back->message().c_str(), "both sides");
    assert_string_equal(back->reason().c_str(), "word");
    assert_string_equal(back->operation().c_str(), "op");
    assert_int_equal(back->worker(), 3);
    assert_int_equal(back->replica(), 7);
    assert_int_equal(back->native(), -5);
    const std::string bytes = encode(failure);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        assert_false(decode_failure(bytes.substr(0, size)).has_value());
    assert_false(decode_failure(bytes + "x").has_value());
}

} // namespace

SUBJECT(membership_frame) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_comes_back_from_any_pieces),
        cmocka_unit_test(what_is_no_frame_is_known_at_once),
        cmocka_unit_test(a_sealed_frame_cannot_be_changed_left_out_or_repeated),
        cmocka_unit_test(a_handshake_holds_between_equal_keys_only),
        cmocka_unit_test(a_failure_comes_back_as_it_was),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
