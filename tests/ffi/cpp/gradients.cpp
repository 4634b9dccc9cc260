// SPDX-License-Identifier: Apache-2.0
// Gradients. The training is that of tests/ffi/gradients.c, and ends in the same bits.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "check.hpp"

namespace {

constexpr uint32_t kReplicas = 2;
constexpr int kPoints = 4, kRounds = 2, kSteps = 25, kWeights = 5;

double input(uint32_t id, int round, int point, int weight) {
    const auto number =
        static_cast<double>((id * kRounds + static_cast<uint32_t>(round)) * kPoints + static_cast<uint32_t>(point));
    return (number - 11.5) / 8.0 + static_cast<double>((weight * 7 + point * 3) % 5) * 0.25;
}

std::string bits(const char *name, double number) {
    unsigned long long all = 0;
    static_assert(sizeof all == sizeof number);
    std::memcpy(&all, &number, sizeof all);
    char text[64];
    std::snprintf(text, sizeof text, "%s %016llx\n", name, all);
    return text;
}

void compute(mdist::Replica &replica, mdist::Gradients &gradients, const double *parameters, int round) {
    const auto a = gradients.tensor(replica, 0).as<double>();
    double &b = gradients.tensor(replica, 1).as<double>()[0];
    double error[kPoints];
    for (int i = 0; i < kPoints; ++i) {
        double found = parameters[kWeights], wanted = 3.0;
        for (int j = 0; j < kWeights; ++j) {
            found += parameters[j] * input(replica.id(), round, i, j);
            wanted += (0.5 - 0.125 * j) * input(replica.id(), round, i, j);
        }
        error[i] = found - wanted;
    }
    b = 0;
    for (const double one : error) b += one / kPoints;
    gradients.ready(replica, 1);
    for (int j = 0; j < kWeights; ++j) {
        double &sum = a[static_cast<size_t>(j)];
        sum = 0;
        for (int i = 0; i < kPoints; ++i) sum += error[i] * input(replica.id(), round, i, j) / kPoints;
    }
    gradients.ready(replica, 0);
}

std::string trained() {
    auto strategy = strategy_of(kReplicas);
    mdist::GradientsOptions options;
    options.op = MDIST_MEAN;
    options.bucket_bytes = 8;
    options.clip_norm = 1;
    mdist::Gradients gradients(
        strategy, {mdist::ConstTensor::of<double>({kWeights}), mdist::ConstTensor::of<double>({})}, options);
    double parameters[kReplicas][kWeights + 1] = {};
    std::string output;
    for (int step = 0; step < kSteps; ++step) {
        double norms[kReplicas];
        strategy.run([&](mdist::Replica &replica) {
            double *own = parameters[replica.id()];
            mdist::Reduced reduced{};
            for (int round = 0; round < kRounds; ++round) {
                if (round + 1 < kRounds) gradients.accumulate(replica);
                compute(replica, gradients, own, round);
                reduced = gradients.wait(replica);
                require(reduced.finite, "not finite");
            }
            norms[replica.id()] = reduced.norm;
            const auto a = gradients.tensor(replica, 0).as<double>();
            for (int j = 0; j < kWeights; ++j) own[j] -= 0.25 * a[static_cast<size_t>(j)];
            own[kWeights] -= 0.25 * gradients.tensor(replica, 1).item<double>();
        });
        output += bits("norm", norms[0]);
        require(std::memcmp(&norms[0], &norms[1], sizeof norms[0]) == 0, "norms differ between replicas");
    }
    for (const double one : parameters[0]) output += bits("parameter", one);
    require(std::memcmp(parameters[0], parameters[1], sizeof parameters[0]) == 0, "replicas differ");
    return output;
}

std::string output_of(const char *program) {
    std::string output;
    FILE *pipe = popen(program, "r");
    require(pipe != nullptr, std::string("cannot run ") + program);
    for (int c = 0; (c = fgetc(pipe)) != EOF;) output += static_cast<char>(c);
    require(pclose(pipe) == 0, std::string(program) + " failed");
    return output;
}

} // namespace

void check_gradients() {
    check("training with gradients ends in the bits of the C program", [] {
        const char *program = std::getenv("FFI_GRADIENTS");
        require(program != nullptr, "FFI_GRADIENTS must name the program of tests/ffi/gradients.c");
        const std::string expected = output_of(program), found = trained();
        require(expected == found, "C:\n" + expected + "here:\n" + found);
    });
    check("gradients are named after variables, and a missing one is an error unless it counts as zeros", [] {
        auto strategy = strategy_of(2);
        const mdist::Variable weights(strategy, "weights", std::vector<float>{1, 2, 3});
        const mdist::Variable bias(strategy, "bias", 0.0f);
        mdist::Gradients gradients(strategy, {weights.tensor(0), bias.tensor(0)});
        const auto half = [&](mdist::Replica &replica) {
            gradients.tensor(replica, 0).as<float>()[0] = 1;
            gradients.ready(replica, 0);
            gradients.wait(replica);
        };
        const auto missing = thrown_by<mdist::Error>([&] { strategy.run(half); });
        require(missing.reason() == "gradients_missing", missing.what());
        require(std::string(missing.what()).find("bias") != std::string::npos, missing.what());
        mdist::GradientsOptions options;
        options.flags = MDIST_GRADIENTS_ZERO_MISSING;
        gradients = mdist::Gradients(strategy, {weights.tensor(0), bias.tensor(0)}, options);
        gradients.tensor(1, 1).as<float>()[0] = 5;
        strategy.run(half);
        require(gradients.tensor(0, 0).as<float>()[0] == 2, "not summed");
        require(gradients.tensor(0, 1).item<float>() == 0, "not zeros");
        const auto twice = thrown_by<mdist::Error>([&] {
            strategy.run([&](mdist::Replica &replica) {
                gradients.ready(replica, 1);
                gradients.ready(replica, 1);
            });
        });
        require(twice.reason() == "ready_twice", twice.what());
        require_usable(strategy);
    });
    check("a round ends by asking in a loop, and a step may wait for another round", [] {
        auto strategy = strategy_of(2);
        mdist::Gradients gradients(strategy, {mdist::ConstTensor::of<float>({3})});
        strategy.run([&](mdist::Replica &replica) {
            for (const bool asks : {true, false}) {
                for (float &one : gradients.tensor(replica, 0).as<float>()) one = 1;
                gradients.ready(replica, 0);
                auto reduced = asks ? gradients.test(replica) : gradients.wait(replica);
                while (!reduced) reduced = gradients.test(replica);
                require(reduced->finite && reduced->norm == std::sqrt(12.0), "another norm");
                require(gradients.tensor(replica, 0).as<float>()[2] == 2, "not summed");
            }
        });
    });
    check("what is not finite is told on every replica, and may become zeros", [] {
        auto strategy = strategy_of(2);
        mdist::GradientsOptions options;
        options.flags = MDIST_GRADIENTS_ZERO_NONFINITE;
        mdist::Gradients gradients(strategy, {mdist::ConstTensor::of<float>({2})}, options);
        strategy.run([&](mdist::Replica &replica) {
            gradients.tensor(replica, 0).as<float>()[0] =
                replica.id() == 0 ? std::numeric_limits<float>::infinity() : 1.0f;
            gradients.ready(replica, 0);
            const auto reduced = gradients.wait(replica);
            require(!reduced.finite && !std::isfinite(reduced.norm), "not told");
            require(gradients.tensor(replica, 0).as<float>()[0] == 0, "not zeros");
        });
    });
}
