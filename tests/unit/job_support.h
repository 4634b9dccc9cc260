// SPDX-License-Identifier: Apache-2.0
// A job of several workers in memory: what each replica would pass to one collective, and what must come out.
#pragma once

#include "comm/call/call.h"
#include "random.h"
#include "reduce/float_environment.h"
#include "reduce/partials.h"
#include "reduce_reference.h"
#include "spans_support.h"
#include "strategy/job/call_functions.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Its header does not say so itself; and it defines fail(), which standard headers must not see.
extern "C" {
#include <cmocka.h>
}

namespace mdist {

struct BufferShape {
    int32_t dtype;
    uint64_t elements;
};

/// An all-reduce of a job's replicas with random inputs.
class ReduceJob {
  public:
    ReduceJob(Random &random, const Spans &spans, reduce::Op op, std::vector<BufferShape> shapes, bool in_place)
        : shapes_(std::move(shapes)), cut_(spans) {
        replicas_.resize(spans.replicas());
        for (Replica &replica : replicas_) fill(random, replica, op, in_place);
        expected_ = expectation(op);
        for (Replica &replica : replicas_) calls_.push_back(&replica.call);
    }

    const reduce::Cut &cut() const { return cut_; }
    const Spans &spans() const { return cut_.spans(); }
    const Call *const *calls(uint32_t worker) const { return calls_.data() + spans()[worker].first; }
    const Call &call(uint32_t replica) const { return *calls_[replica]; }
    const std::vector<unsigned char> &expected(std::size_t buffer) const { return expected_[buffer]; }

    /// Whether one worker's replicas have the right results, all of them.
    bool right(uint32_t worker) const {
        for (uint32_t i = 0; i < spans()[worker].count(); ++i)
            for (std::size_t b = 0; b < shapes_.size(); ++b) {
                const mdist_buffer_t &output = calls(worker)[i]->outputs[b];
                if (output.elements != 0 && std::memcmp(output.data, expected_[b].data(), expected_[b].size()) != 0)
                    return false;
            }
        return true;
    }

  private:
    struct Replica {
        std::vector<std::vector<unsigned char>> inputs, outputs;
        std::vector<mdist_buffer_t> input_buffers, output_buffers;
        Call call;
    };

    void fill(Random &random, Replica &replica, reduce::Op op, bool in_place) {
        for (const BufferShape &shape : shapes_) {
            const std::size_t bytes = shape.elements * dtype_size(shape.dtype);
            replica.inputs.emplace_back(bytes);
            replica.outputs.emplace_back(in_place ? 0 : bytes);
            fill_elements(random, shape.dtype, replica.inputs.back().data(), shape.elements);
            void *in = replica.inputs.back().data();
            void *out = in_place ? in : replica.outputs.back().data();
            replica.input_buffers.push_back({in, shape.elements, shape.dtype, 0});
            replica.output_buffers.push_back({out, shape.elements, shape.dtype, 0});
        }
        replica.call.kind = &calls::kAllReduce;
        replica.call.op = static_cast<int32_t>(op);
        replica.call.inputs = replica.input_buffers.data();
        replica.call.outputs = replica.output_buffers.data();
        replica.call.buffer_count = shapes_.size();
    }

    std::vector<std::vector<unsigned char>> expectation(reduce::Op op) const {
        const reduce::FloatEnvironment environment;
        std::vector<std::vector<unsigned char>> expected;
        for (std::size_t b = 0; b < shapes_.size(); ++b) {
            expected.emplace_back(shapes_[b].elements * dtype_size(shapes_[b].dtype));
            std::vector<const void *> sources;
            for (const Replica &replica : replicas_) sources.push_back(replica.inputs[b].data());
            void *to = expected.back().data();
            reduce::reduce_reference({shapes_[b].dtype, op, replicas_.size()}, sources.data(), sources.size(), &to, 1,
                                     shapes_[b].elements);
        }
        return expected;
    }

    std::vector<BufferShape> shapes_;
    reduce::Cut cut_;
    std::vector<Replica> replicas_;
    std::vector<const Call *> calls_;
    std::vector<std::vector<unsigned char>> expected_;
};

constexpr int32_t kAllDtypes[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16, MDIST_INT8,
                                  MDIST_UINT8,   MDIST_INT32,   MDIST_UINT32,  MDIST_INT64,    MDIST_UINT64,
                               MDIST_INT16,   MDIST_UINT16,  MDIST_BOOL};

/// Up to 5 buffers of any types, some empty, of `total` elements or so together. Only types that have the operation.
inline std::vector<BufferShape> random_shapes(Random &random, reduce::Op op, uint64_t total) {
    std::vector<BufferShape> shapes(1 + random() % 5);
    const bool one_dtype = random() % 2 == 0;
    for (BufferShape &shape : shapes) {
        do shape.dtype = kAllDtypes[random() % std::size(kAllDtypes)];
        while (!takes(op, shape.dtype));
        if (one_dtype) shape.dtype = shapes[0].dtype;
        shape.elements = random() % 4 == 0 ? 0 : random() % (2 * total / shapes.size() + 2);
    }
    return shapes;
}

inline reduce::Op random_op(Random &random) {
    return static_cast<reduce::Op>(1 + random() % 8);
}

} // namespace mdist
