// SPDX-License-Identifier: Apache-2.0
// Two replicas have one measurement each. Both copies of the estimate converge to the mean of the two.
#include <array>
#include <iostream>

#include <mdist/mdist.hpp>

int main() try {
    mdist::Strategy strategy(mdist::Config().set("devices", "cpu*2"));
    mdist::Variable estimate(strategy, "estimate", 0.0f, MDIST_AGGREGATION_MEAN);
    const std::array<float, 2> measured{2, 4};

    // Runs on both replicas at the same time. Both copies change by the mean of the values that they assign.
    const auto step = [&](mdist::Replica &replica) {
        const float now = estimate.tensor(replica).item<float>();
        const float wrong = now - measured[static_cast<size_t>(replica.id() % 2)];
        estimate.assign(replica, MDIST_ASSIGN_SUB, wrong / 2);
        return wrong * wrong;
    };
    for (int i = 0; i < 20; ++i) {
        const mdist::Value errors = strategy.run(step); // one per replica
        const float mean = strategy.reduce(MDIST_MEAN, errors).tensor().item<float>();
        if (i % 5 == 0) std::cout << "mean squared error " << mean << '\n';
    }
    std::cout << "estimate " << estimate.read().tensor().item<float>() << '\n';
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
