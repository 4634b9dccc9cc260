// SPDX-License-Identifier: Apache-2.0
#include "nccl_work.h"

#include "memory.h"
#include "options.h"
#include "streams.h"

#include "reduce/float_environment.h"
#include "reduce/reduce.h"
#include "util/dtype.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace fake_gpu {
namespace {

/// Waits for a condition. Returns false if the communicator is aborted first.
template <typename Condition>
bool await(const NcclSide &side, const Condition &condition) {
    for (int turn = 0; !condition(); ++turn) {
        if (side.aborted.load() || device_error(side.device) != 0) return false;
        if (turn < 100) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(turn < 1000 ? 20 : 200));
        }
    }
    return !side.aborted.load();
}

template <typename Condition>
bool all_slots(const NcclSide &side, const Condition &condition) {
    return std::all_of(side.shared.slots, side.shared.slots + side.ranks, condition);
}

/// Runs one phase: posts `bytes` for all ranks, and calls `take` while the others' posts stay unchanged.
template <typename Take>
Outcome phase(NcclSide &side, const CallHeader &call, const char *given, std::size_t bytes, const Take &take) {
    const uint64_t number = ++side.phase;
    Slot &own = side.shared.slots[side.rank];
    if (!await(side, [&] { return all_slots(side, [&](const Slot &slot) { return slot.taken >= number - 1; }); }))
        return Outcome::kAborted;
    own.call = call;
    if (given != nullptr) std::memcpy(own.data, given, bytes);
    own.posted = number;
    if (!await(side, [&] { return all_slots(side, [&](const Slot &slot) { return slot.posted >= number; }); }))
        return Outcome::kAborted;
    if (!all_slots(side, [&](const Slot &slot) { return slot.call == call; })) return Outcome::kMismatch;
    take();
    own.taken = number;
    return Outcome::kDone;
}

/// Adds the slots one after another, and rounds each time. The chunk decides which rank is first. So the order differs
/// from the library's.
void reduce_slots(const NcclSide &side, const CallHeader &call, uint64_t first, uint64_t elements, char *to) {
    const mdist::reduce::FloatEnvironment environment;
    const mdist::reduce::Operation operation = {call.dtype, static_cast<mdist::reduce::Op>(call.op), 1};
    const auto ranks = static_cast<uint64_t>(side.ranks);
    const auto slot = [&](uint64_t i) { return side.shared.slots[(first + i) % ranks].data; };
    void *const destination = to;
    std::memmove(to, slot(0), elements * mdist::dtype_size(call.dtype));
    for (uint64_t i = 1; i < ranks; ++i) {
        const void *const sources[] = {to, slot(i)};
        mdist::reduce::reduce(operation, sources, 2, &destination, 1, elements);
    }
}

/// A collective on resolved addresses. `parts`: how many ranges of `elements` it handles, one after another.
class Run {
  public:
    Run(NcclSide &side, const CallHeader &call, const char *from, char *to)
        : side_(side), call_(call), from_(from), to_(to), size_(mdist::dtype_size(call.dtype)) {}

    Outcome all() {
        const auto parts = call_.what == Collective::kReduceScatter ? static_cast<uint64_t>(side_.ranks) : 1;
        for (uint64_t part = 0; part < parts; ++part)
            if (const Outcome outcome = one_part(part); outcome != Outcome::kDone) return outcome;
        return Outcome::kDone;
    }

  private:
    Outcome one_part(uint64_t part) {
        const uint64_t most = kSlotBytes / size_;
        uint64_t begin = 0;
        do {
            const uint64_t elements = std::min(most, call_.elements - begin);
            const char *given = gives() ? from_ + (part * call_.elements + begin) * size_ : nullptr;
            const Outcome outcome = phase(side_, call_, elements == 0 ? nullptr : given, elements * size_,
                                          [&] { take(part, begin, elements); });
            if (outcome != Outcome::kDone) return outcome;
            begin += elements;
        } while (begin < call_.elements);
        return Outcome::kDone;
    }

    bool is_root() const { return call_.root == side_.rank; }
    bool gives() const { return call_.what != Collective::kBroadcast || is_root(); }

    void take(uint64_t part, uint64_t begin, uint64_t elements) {
        if (elements == 0) return;
        char *to = to_ + begin * size_;
        const std::size_t bytes = elements * size_;
        switch (call_.what) {
            case Collective::kBroadcast:
                std::memcpy(to, side_.shared.slots[call_.root].data, bytes);
                return;
            case Collective::kAllGather:
                for (int32_t r = 0; r < side_.ranks; ++r)
                    std::memcpy(to + static_cast<uint64_t>(r) * call_.elements * size_, side_.shared.slots[r].data,
                                bytes);
                return;
            case Collective::kReduce:
                if (is_root()) reduce_slots(side_, call_, begin / (kSlotBytes / size_), elements, to);
                return;
            case Collective::kReduceScatter:
                if (part == static_cast<uint64_t>(side_.rank)) reduce_slots(side_, call_, part, elements, to);
                return;
            default:
                reduce_slots(side_, call_, begin / (kSlotBytes / size_), elements, to);
        }
    }

    NcclSide &side_;
    const CallHeader call_;
    const char *const from_;
    char *const to_;
    const std::size_t size_;
};

Outcome do_collective(NcclSide &side, const NcclCall &call) {
    const CallHeader &header = call.header;
    const std::size_t bytes = header.elements * mdist::dtype_size(header.dtype);
    const auto ranks = static_cast<std::size_t>(side.ranks);
    const bool rooted = header.what == Collective::kReduce || header.what == Collective::kBroadcast;
    const bool is_root = !rooted || header.root == side.rank;
    const bool reads = is_root || header.what == Collective::kReduce;
    const bool writes = is_root || header.what == Collective::kBroadcast;
    const char *from = nullptr;
    char *to = nullptr;
    if (bytes != 0 && reads) {
        from = for_kernel(side.device, call.from, header.what == Collective::kReduceScatter ? ranks * bytes : bytes);
        if (from == nullptr) return Outcome::kIllegalAddress;
    }
    if (bytes != 0 && writes) {
        to = for_kernel(side.device, call.to, header.what == Collective::kAllGather ? ranks * bytes : bytes);
        if (to == nullptr) return Outcome::kIllegalAddress;
    }
    return Run(side, header, from, to).all();
}

/// A message in progress, chunk by chunk. An empty message is one empty chunk.
struct Message {
    const NcclCall &call;
    char *data;
    std::size_t bytes;
    std::size_t moved = 0;
    bool done = false;

    bool sends() const { return call.header.what == Collective::kSend; }
};

/// Moves a chunk if there is room for it or one has come. Returns false if a message of another kind has come.
bool move_on(const NcclSide &side, Message &message) {
    const int32_t peer = message.call.header.root;
    Mailbox &box = message.sends() ? side.shared.mail[side.rank][peer] : side.shared.mail[peer][side.rank];
    const std::size_t chunk = std::min(kMailBytes, message.bytes - message.moved);
    CallHeader about = message.call.header;
    about.what = Collective::kSend;
    about.root = 0;
    if (message.sends()) {
        if (box.sent != box.received) return true;
        box.call = about;
        if (chunk != 0) std::memcpy(box.data, message.data + message.moved, chunk);
        ++box.sent;
    } else {
        if (box.sent == box.received) return true;
        if (!(box.call == about)) return false;
        if (chunk != 0) std::memcpy(message.data + message.moved, box.data, chunk);
        ++box.received;
    }
    message.moved += chunk;
    message.done = message.moved == message.bytes;
    return true;
}

Outcome do_messages(const NcclSide &side, std::vector<Message> &messages) {
    bool mismatch = false;
    const auto all_done = [&] {
        bool done = true;
        uint64_t busy[2] = {0, 0}; // bits of peers whose mailbox still holds an earlier message
        for (Message &message : messages) {
            const uint64_t peer = uint64_t{1} << message.call.header.root;
            uint64_t &earlier = busy[message.sends() ? 1 : 0];
            if (!message.done && (earlier & peer) == 0 && !move_on(side, message)) return mismatch = true;
            if (message.done) continue;
            earlier |= peer;
            done = false;
        }
        return done;
    };
    if (!await(side, all_done)) return Outcome::kAborted;
    return mismatch ? Outcome::kMismatch : Outcome::kDone;
}

bool is_message(const NcclCall &call) {
    return call.header.what == Collective::kSend || call.header.what == Collective::kReceive;
}

} // namespace

Outcome do_calls(NcclSide &side, const std::vector<NcclCall> &calls) {
    std::vector<Message> messages;
    for (const NcclCall &call : calls) {
        if (is_message(call)) {
            const std::size_t bytes = call.header.elements * mdist::dtype_size(call.header.dtype);
            const void *data = call.header.what == Collective::kSend ? call.from : call.to;
            char *resolved = bytes == 0 ? nullptr : for_kernel(side.device, data, bytes);
            if (bytes != 0 && resolved == nullptr) return Outcome::kIllegalAddress;
            messages.push_back({call, resolved, bytes});
        } else if (const Outcome outcome = do_collective(side, call); outcome != Outcome::kDone) {
            return outcome;
        }
    }
    return do_messages(side, messages);
}

Outcome do_calls_alone(NcclSide &side, const std::vector<NcclCall> &calls) {
    static std::atomic<bool> busy[64]; // by device
    if (!options().nccl_alone) return do_calls(side, calls);
    std::atomic<bool> &here = busy[side.device % 64];
    bool entered = false;
    Outcome outcome = Outcome::kAborted;
    if (await(side, [&] { return entered = !here.exchange(true); })) outcome = do_calls(side, calls);
    if (entered) here = false;
    return outcome;
}

} // namespace fake_gpu
