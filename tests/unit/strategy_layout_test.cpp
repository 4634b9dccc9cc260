// SPDX-License-Identifier: Apache-2.0
// Compares the layout of an arena with the plainest model: an array of units, each free or in use.
#include "mdist_test.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "strategy/values/layout.h"
#include "subject.h"

namespace {

using mdist::Layout;

struct Piece {
    std::size_t offset;
    std::size_t bytes;
};

constexpr std::size_t kUnit = Layout::kAlignment;

std::size_t units(std::size_t bytes) {
    return bytes == 0 ? 1 : (bytes + kUnit - 1) / kUnit;
}

/// First place in the model with `count` free units in a row.
std::size_t first_fit(const std::vector<bool> &taken, std::size_t count) {
    std::size_t run = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) {
        run = taken[i] ? 0 : run + 1;
        if (run == count) return i + 1 - count;
    }
    return taken.size() - run; // at the end, after the free units there
}

void a_layout_does_as_an_array_of_units(void **) {
    for (const uint32_t seed : seeds(10, 200, 1)) {
        print_message("# seed %u\n", seed);
        std::mt19937_64 random(seed);
        Layout layout;
        std::vector<bool> taken;
        std::vector<Piece> pieces;
        for (int turn = 0; turn < 1000; ++turn) {
            if (pieces.empty() || random() % 100 < (turn < 600 ? 60u : 35u)) {
                const std::size_t bytes = random() % 4 == 0 ? random() % 3000 : random() % 200;
                const std::size_t count = units(bytes);
                const std::size_t wanted = first_fit(taken, count);
                const std::size_t offset = layout.allocate(bytes);
                assert_int_equal(offset, wanted * kUnit);
                assert_int_equal(Layout::extent(bytes), count * kUnit);
                taken.resize(std::max(taken.size(), wanted + count));
                std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(wanted), count, true);
                pieces.push_back({offset, bytes});
            } else {
                const std::size_t which = random() % pieces.size();
                const Piece piece = pieces[which];
                pieces[which] = pieces.back();
                pieces.pop_back();
                layout.release(piece.offset, piece.bytes);
                std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(piece.offset / kUnit), units(piece.bytes),
                            false);
                while (!taken.empty() && !taken.back()) taken.pop_back();
            }
            assert_int_equal(layout.used(), taken.size() * kUnit);
        }
        for (const Piece &piece : pieces) layout.release(piece.offset, piece.bytes);
        assert_int_equal(layout.used(), 0);
    }
}

} // namespace

SUBJECT(strategy_layout) {
    const CMUnitTest tests[] = {cmocka_unit_test(a_layout_does_as_an_array_of_units)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
