// SPDX-License-Identifier: Apache-2.0
// Replay: runs fuzz targets without a fuzzing compiler. It runs the files of a corpus, then mutations of them that a
// seed determines.
//
//   replay TARGET CORPUS MUTATIONS [SEED [FIRST]]   runs MUTATIONS mutations of the files in CORPUS, from number FIRST
//   replay TARGET CORPUS --dump SEED NUMBER         writes one mutation to stdout, to inspect it or keep it
//
// The default of SEED is MDIST_TEST_SEED, or 1. A crash prints the seed and number of its input. The run fails if an input
// takes kMost times as much of the processor as a fixed piece of work. The slowest known input needs far less.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../support/random.h"
#include "target.h"

namespace {

mdist::test::FuzzTarget *target = nullptr;

// The slowest known input is a compressed one. It takes about three times as long as the fixed piece of work, and 20 times
// as long with sanitizers, which do not slow that down.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMost = 1600;
#else
constexpr double kMost = 80;
#endif
constexpr std::size_t kMostBytes = 70'000; // slightly more than the largest input that any target accepts

// Printed by the crash handler.
char current_input[256] = "none";

using Random = std::mt19937_64;

std::size_t below(Random &random, std::size_t end) {
    return end == 0 ? 0 : random() % end;
}

std::vector<std::string> read_corpus(const char *folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end()); // the order in a folder depends on the file system
    std::vector<std::string> corpus;
    for (const auto &path : paths) {
        std::ifstream file(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return corpus;
}

void flip_byte(std::string &input, Random &random) {
    if (!input.empty()) input[below(random, input.size())] ^= static_cast<char>(1u << below(random, 8));
}

void insert_token(std::string &input, Random &random) {
    static constexpr std::string_view kTokens[] = {"[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   ":",
                                                   ": ",
                                                   ",",
                                                   "\n",
                                                   "\n  ",
                                                   "- ",
                                                   "? ",
                                                   "#",
                                                   "'",
                                                   "\"",
                                                   "&a",
                                                   "*a",
                                                   "!t",
                                                   "|\n",
                                                   ">\n",
                                                   "---\n",
                                                   "...\n",
                                                   "%TAG ",
                                                   "\t",
                                                   "\r\n",
                                                   "\xef\xbb\xbf",
                                                   "\\u0000",
                                                   "\\x",
                                                   "~",
                                                   "*",
                                                   "cpu*4",
                                                   "a:1",
                                                   "infinite",
                                                   "0",
                                                   "99999999999999999999",
                                                   "-1",
                                                   "\xff",
                                                   "\xc2",
                                                   "devices",
                                                   "cluster",
                                                   "."};
    std::string_view token = kTokens[below(random, std::size(kTokens))];
    // Rarely inserts a token very often, to find work that grows faster than its input.
    std::size_t times = below(random, 64) == 0 ? 1 + below(random, kMostBytes / token.size()) : 1;
    std::string run;
    for (std::size_t i = 0; i < times; ++i) run += token;
    input.insert(below(random, input.size() + 1), run);
}

void erase_range(std::string &input, Random &random) {
    std::size_t from = below(random, input.size());
    input.erase(from, 1 + below(random, 16));
}

void repeat_range(std::string &input, Random &random) {
    std::size_t from = below(random, input.size());
    std::string range = input.substr(from, 1 + below(random, 64));
    input.insert(below(random, input.size() + 1), range);
}

std::string mutated(const std::vector<std::string> &corpus, std::uint64_t seed, std::uint64_t number) {
    Random random(seed * 0x9e3779b97f4a7c15u + number);
    std::string input = corpus[below(random, corpus.size())];
    for (std::size_t edits = 1 + below(random, 8); edits > 0; --edits) switch (below(random, 6)) {
            case 0:
                flip_byte(input, random);
                break;
            case 1:
                erase_range(input, random);
                break;
            case 2:
                repeat_range(input, random);
                break;
            case 3: {
                const std::string &other = corpus[below(random, corpus.size())];
                input = input.substr(0, below(random, input.size())) + other.substr(below(random, other.size()));
                break;
            }
            default:
                insert_token(input, random);
                break;
        }
    input.resize(std::min(input.size(), kMostBytes));
    return input;
}

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The processor time of a fixed piece of work: a chain of numbers, which touches no memory. It tells how fast this
/// machine is.
double yardstick() {
    const double start = processor_seconds();
    std::uint64_t number = 1;
    for (int i = 0; i < 20'000'000; ++i) number = number * 6364136223846793005u + 1442695040888963407u;
    const volatile std::uint64_t end = number; // or else the loop could go
    (void)end;
    return processor_seconds() - start;
}

/// Slowest input so far, in seconds.
double slowest = 0;

bool run(const std::string &input) {
    // A copy of the exact size lets AddressSanitizer detect a read past the end.
    std::vector<std::uint8_t> bytes(input.begin(), input.end());
    double start = processor_seconds();
    target(bytes.data(), bytes.size());
    double seconds = processor_seconds() - start;
    slowest = std::max(slowest, seconds);
    if (seconds < 0.1) return true;
    const double times = seconds / yardstick(); // measured now, as busy as the machine is
    if (times > kMost) std::fprintf(stderr, "replay: %.1f s, %.0f yardsticks, for %s\n", seconds, times, current_input);
    return times <= kMost;
}

void tell_input(int number) {
    std::string_view head = "replay: crashed at ";
    ssize_t ignored = write(STDERR_FILENO, head.data(), head.size());
    ignored += write(STDERR_FILENO, current_input, std::char_traits<char>::length(current_input));
    ignored += write(STDERR_FILENO, "\n", 1);
    signal(number, SIG_DFL);
    raise(ignored >= 0 ? number : SIGABRT);
}

int run_all(const std::vector<std::string> &corpus, std::uint64_t mutations, std::uint64_t seed, std::uint64_t first) {
    // A test that hangs gets SIGTERM.
    for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM}) signal(number, tell_input);
    bool fine = true;
    for (std::size_t i = 0; i < corpus.size(); ++i) {
        std::snprintf(current_input, sizeof current_input, "file %zu of the corpus, in the order of names\n", i);
        fine = run(corpus[i]) && fine;
    }
    for (std::uint64_t i = first; i < first + mutations; ++i) {
        std::snprintf(current_input, sizeof current_input, "seed %llu, mutation %llu",
                      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(i));
        fine = run(mutated(corpus, seed, i)) && fine;
    }
    std::printf("%zu files, %llu mutations from seed %llu, slowest %.1f ms\n", corpus.size(),
                static_cast<unsigned long long>(mutations), static_cast<unsigned long long>(seed), slowest * 1e3);
    return fine ? 0 : 1;
}

} // namespace

int mdist::test::replay(FuzzTarget *its_target, int argc, char **argv) {
    target = its_target;
    if (argc < 3) return std::fprintf(stderr, "usage: replay %s CORPUS MUTATIONS [SEED [FIRST]]\n", argv[0]), 2;
    std::vector<std::string> corpus = read_corpus(argv[1]);
    if (corpus.empty()) return std::fprintf(stderr, "%s: no files in %s\n", argv[0], argv[1]), 2;
    auto number = [&](int i) -> std::uint64_t { return i < argc ? std::strtoull(argv[i], nullptr, 10) : 0; };
    const std::uint64_t seed = argc > 3 ? number(3) : test_seed(1);
    if (std::string_view(argv[2]) != "--dump") return run_all(corpus, number(2), seed, number(4));
    std::string input = mutated(corpus, seed, number(4));
    return std::fwrite(input.data(), 1, input.size(), stdout) == input.size() ? 0 : 1;
}
