// SPDX-License-Identifier: Apache-2.0
// One collective of a job in memory: what each replica passes to it, and what must come out by the definition of the
// collective, whoever carries it out.
#pragma once

#include "comm/call/buffers.h"
#include "reduce/float_environment.h"
#include "reduce/spans.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "job_support.h"

namespace mdist {

constexpr const CallFunction *kCollectives[] = {
    &calls::kAllReduce,    &calls::kBroadcast,    &calls::kAllGather, &calls::kReduceScatter,
    &calls::kReduceToRoot, &calls::kGatherToRoot, &calls::kScatter,   &calls::kAllToAll,
    &calls::kAllToAllParts};

class CollectiveJob {
  public:
    /// Pieces of up to `longest` elements, some of none; in some jobs most of them are short.
    CollectiveJob(Random &random, const CallFunction &function, uint32_t replicas, uint64_t longest)
        : function_(function),
          replicas_(replicas),
          root_(static_cast<uint32_t>(random() % replicas)),
          most_are_short_(random() % 3 == 0) {
        op_ = random() % 2 != 0 ? MDIST_SUM : MDIST_MAX;
        for (std::size_t b = 0; b < 1 + random() % 3; ++b) add_buffer(random, longest);
        calls_.resize(replicas);
        for (uint32_t replica = 0; replica < replicas; ++replica) {
            Call &call = calls_[replica];
            call.kind = &function;
            call.op = reduces() ? op_ : 0;
            call.root = function.traits().has_root ? root_ : 0;
            call.inputs = inputs_[replica].data();
            call.outputs = outputs_[replica].data();
            call.buffer_count = dtypes_.size();
            if (!has_matrix()) continue;
            call.part_count = replicas;
            call.input_parts = given_[replica].data();
            call.output_parts = taken_[replica].data();
        }
        for (const Call &call : calls_) pointers_.push_back(&call);
    }

    uint32_t replicas() const { return replicas_; }
    const Call &call(uint32_t replica) const { return calls_[replica]; }
    const Call *const *calls() const { return pointers_.data(); }

    /// Puts 0xcd into all outputs.
    void forget() {
        for (auto &memory : memory_)
            if (memory.is_output) std::fill(memory.bytes.begin(), memory.bytes.end(), 0xcd);
    }
    /// Whether a replica's outputs are right.
    bool right(uint32_t replica) const {
        for (std::size_t b = 0; b < dtypes_.size(); ++b) {
            const mdist_buffer_t &output = outputs_[replica][b];
            const std::vector<unsigned char> expected = expectation(replica, b);
            if (expected.size() != bytes_of(output)) return false;
            if (!expected.empty() && std::memcmp(output.data, expected.data(), expected.size()) != 0) return false;
        }
        return true;
    }

  private:
    struct Memory {
        std::vector<unsigned char> bytes;
        bool is_output;
    };
    using Buffers = std::vector<mdist_buffer_t>;

    bool reduces() const {
        const Pattern pattern = function_.pattern();
        return pattern == Pattern::kReduce || pattern == Pattern::kReduceScatter || pattern == Pattern::kReduceToRoot;
    }

    bool has_matrix() const { return function_.pattern() == Pattern::kTransposeParts; }

    /// Draws what each replica gives to each. Returns what this replica gives, or takes, in all.
    void add_matrix(Random &random, uint64_t longest) {
        given_.resize(replicas_);
        taken_.resize(replicas_);
        for (uint32_t from = 0; from < replicas_; ++from)
            for (uint32_t to = 0; to < replicas_; ++to) {
                const uint64_t part = random() % 3 == 0 ? 0 : random() % (longest + 1);
                given_[from].push_back(part);
                taken_[to].push_back(part);
            }
    }
    uint64_t part(uint32_t from, uint32_t to, std::size_t b) const { return given_[from][b * replicas_ + to]; }
    static uint64_t last(const std::vector<uint64_t> &parts, uint32_t count) {
        return std::accumulate(parts.end() - count, parts.end(), uint64_t{0});
    }

    uint64_t most(Random &random, uint64_t longest) const {
        return most_are_short_ && random() % 4 != 0 ? std::min<uint64_t>(longest, 5) : longest;
    }

    void add_buffer(Random &random, uint64_t longest) {
        int32_t dtype = 0;
        do dtype = kAllDtypes[random() % std::size(kAllDtypes)];
        while (reduces() && !takes(op_, dtype));
        const uint64_t common = random() % (longest + 1);
        uint64_t sum = 0;
        std::vector<uint64_t> pieces(replicas_, common);
        if (has_matrix()) add_matrix(random, longest);
        if (function_.traits().tells_lengths)
            for (uint64_t &piece : pieces)
                sum += piece = random() % 4 == 0 ? 0 : random() % (most(random, longest) + 1);
        inputs_.resize(replicas_);
        outputs_.resize(replicas_);
        for (uint32_t replica = 0; replica < replicas_; ++replica) {
            const auto [in, out] = lengths(replica, pieces[replica], sum);
            inputs_[replica].push_back(buffer(random, dtype, in, false));
            outputs_[replica].push_back(buffer(random, dtype, out, true));
        }
        dtypes_.push_back(dtype);
        pieces_.push_back(std::move(pieces));
    }

    std::pair<uint64_t, uint64_t> lengths(uint32_t replica, uint64_t piece, uint64_t sum) const {
        const bool is_root = replica == root_;
        switch (function_.pattern()) {
            case Pattern::kGather:
                return {piece, sum};
            case Pattern::kReduceScatter:
                return {sum, piece};
            case Pattern::kReduceToRoot:
                return {piece, is_root ? piece : 0};
            case Pattern::kToRoot:
                return {piece, is_root ? sum : 0};
            case Pattern::kFromRoot:
                return {is_root ? sum : 0, piece};
            case Pattern::kTranspose:
                return {piece * replicas_, piece * replicas_};
            case Pattern::kTransposeParts:
                return {last(given_[replica], replicas_), last(taken_[replica], replicas_)};
            default:
                return {piece, piece};
        }
    }

    mdist_buffer_t buffer(Random &random, int32_t dtype, uint64_t elements, bool is_output) {
        memory_.push_back({std::vector<unsigned char>(elements * dtype_size(dtype)), is_output});
        void *const data = elements == 0 ? nullptr : memory_.back().bytes.data();
        if (!is_output) fill_elements(random, dtype, data, elements);
        return {data, elements, dtype, 0};
    }

    /// Elements begin to begin + count - 1 of a replica's input.
    std::vector<unsigned char> input(uint32_t replica, std::size_t b, uint64_t begin, uint64_t count) const {
        const char *const from = at(inputs_[replica][b], begin);
        return {from, from + count * dtype_size(dtypes_[b])};
    }

    std::vector<unsigned char> sum(std::size_t b, uint64_t begin, uint64_t count) const {
        const reduce::FloatEnvironment environment;
        std::vector<unsigned char> result(count * dtype_size(dtypes_[b]));
        std::vector<const void *> sources;
        for (uint32_t replica = 0; replica < replicas_; ++replica) sources.push_back(at(inputs_[replica][b], begin));
        void *to = result.data();
        if (count != 0)
            reduce::reduce_reference({dtypes_[b], static_cast<reduce::Op>(op_), replicas_}, sources.data(),
                                     sources.size(), &to, 1, count);
        return result;
    }

    std::vector<unsigned char> expectation(uint32_t replica, std::size_t b) const {
        const std::vector<uint64_t> &pieces = pieces_[b];
        const auto before = [&](uint32_t r) { return std::accumulate(pieces.begin(), pieces.begin() + r, uint64_t{0}); };
        const bool is_root = replica == root_;
        std::vector<unsigned char> joined;
        const auto join = [&](const std::vector<unsigned char> &bytes) {
            joined.insert(joined.end(), bytes.begin(), bytes.end());
        };
        switch (function_.pattern()) {
            case Pattern::kReduce:
                return sum(b, 0, pieces[0]);
            case Pattern::kReduceToRoot:
                return is_root ? sum(b, 0, pieces[0]) : joined;
            case Pattern::kReduceScatter:
                return sum(b, before(replica), pieces[replica]);
            case Pattern::kBroadcast:
                return input(root_, b, 0, pieces[0]);
            case Pattern::kFromRoot:
                return input(root_, b, before(replica), pieces[replica]);
            case Pattern::kToRoot:
                if (!is_root) return joined;
                [[fallthrough]];
            case Pattern::kGather:
                for (uint32_t other = 0; other < replicas_; ++other) join(input(other, b, 0, pieces[other]));
                return joined;
            case Pattern::kTransposeParts:
                for (uint32_t other = 0; other < replicas_; ++other) {
                    uint64_t begin = 0;
                    for (uint32_t to = 0; to < replica; ++to) begin += part(other, to, b);
                    join(input(other, b, begin, part(other, replica, b)));
                }
                return joined;
            default: // all-to-all
                for (uint32_t other = 0; other < replicas_; ++other)
                    join(input(other, b, replica * pieces[0], pieces[0]));
                return joined;
        }
    }

    const CallFunction &function_;
    const uint32_t replicas_;
    const uint32_t root_;
    const bool most_are_short_;
    int32_t op_ = 0;
    std::vector<int32_t> dtypes_;
    std::vector<std::vector<uint64_t>> pieces_; // by buffer, then by replica
    std::vector<Buffers> inputs_, outputs_;     // by replica
    std::vector<std::vector<uint64_t>> given_, taken_; // by replica: of all-to-all with parts
    std::deque<Memory> memory_;
    std::vector<Call> calls_;
    std::vector<const Call *> pointers_;
};

} // namespace mdist
