// SPDX-License-Identifier: Apache-2.0
// Gloo's own all-reduces. The ranks (PEER_RANK of PEER_SIZE) meet in the folder PEER_STORE, and connect at
// PEER_ADDRESS.
#include "loop.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

namespace {

using Options = gloo::AllreduceOptions;

/// State that is kept between calls: an algorithm object of Gloo's old interface, or options of the new one.
struct State {
    std::shared_ptr<gloo::rendezvous::Context> context;
    std::string algorithm;
    std::unique_ptr<gloo::Algorithm> older;
    std::unique_ptr<Options> newer;
};

void prepare(void *opaque, float *input, float *output, size_t elements) {
    State &state = *static_cast<State *>(opaque);
    const std::vector<float *> buffers = {output};
    const int count = static_cast<int>(elements);
    state.older.reset();
    if (state.algorithm == "halving_doubling") {
        state.older = std::make_unique<gloo::AllreduceHalvingDoubling<float>>(state.context, buffers, count);
    } else if (state.algorithm == "ring_chunked") {
        state.older = std::make_unique<gloo::AllreduceRingChunked<float>>(state.context, buffers, count);
    } else {
        state.newer = std::make_unique<Options>(state.context);
        state.newer->setAlgorithm(state.algorithm == "bcube" ? Options::Algorithm::BCUBE : Options::Algorithm::RING);
        if (input != output) state.newer->setInput(input, elements);
        state.newer->setOutput(output, elements);
        state.newer->setReduceFunction(
            static_cast<void (*)(void *, const void *, const void *, size_t)>(&gloo::sum<float>));
    }
}

void all_reduce(void *opaque, float *, float *, size_t) {
    State &state = *static_cast<State *>(opaque);
    if (state.older) {
        state.older->run();
    } else {
        gloo::allreduce(*state.newer);
    }
}

double largest(void *opaque, double value) {
    Options options(static_cast<State *>(opaque)->context);
    options.setOutput(&value, 1);
    options.setReduceFunction(static_cast<void (*)(void *, const void *, const void *, size_t)>(&gloo::max<double>));
    gloo::allreduce(options);
    return value;
}

std::string environment(const char *name) {
    const char *value = std::getenv(name);
    if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set");
    return value;
}

int run(const options_t &options) {
    const int rank = std::stoi(environment("PEER_RANK"));
    const int size = std::stoi(environment("PEER_SIZE"));
    gloo::rendezvous::FileStore store(environment("PEER_STORE"));
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(environment("PEER_ADDRESS").c_str()));
    State state;
    state.algorithm = options.algorithm;
    state.context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    state.context->connectFullMesh(store, device);
    contestant_t contestant = {};
    contestant.state = &state;
    contestant.rank = rank;
    contestant.size = size;
    contestant.allocate = allocate_ordinary;
    contestant.prepare = prepare;
    contestant.all_reduce = all_reduce;
    contestant.largest = largest;
    return run_loop(&contestant, &options);
}

} // namespace

int main(int argc, char **argv) {
    options_t options;
    if (const int status = read_options(argc, argv, &options); status != 0) return status;
    try {
        return run(options);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "gloo: %s\n", failure.what());
        return 1;
    }
}
