// SPDX-License-Identifier: Apache-2.0
// Support for the tests of configuration: failures as values, so that cmocka's longjmp never meets an exception.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

// This header of 1.1.5 does not say for itself that it is C.
extern "C" {
#include <cmocka.h>
}

#include <cstdlib>
#include <string>
#include <vector>

#include "util/failure.h"

/// Status, reason, native code and sentence of what `function` threw; status MDIST_OK where it did not.
struct Outcome {
    mdist_status_t status = MDIST_OK;
    std::string reason;
    int64_t native = 0;
    std::string message;

    bool says(const std::string &words) const { return message.find(words) != std::string::npos; }
    bool begins(const std::string &words) const { return message.starts_with(words); }
};

template <typename Function>
Outcome outcome_of(Function function) {
    try {
        function();
    } catch (const mdist::Failure &failure) {
        return {failure.status(), failure.reason(), failure.native(), failure.message()};
    }
    return {};
}

inline void assert_text(std::string_view got, std::string_view expected) {
    assert_string_equal(std::string(got).c_str(), std::string(expected).c_str());
}

/// Prints the sentence when it is not the expected one.
inline void assert_says(const Outcome &outcome, const std::string &words) {
    if (!outcome.says(words))
        print_error("expected to read: %s\nbut read: %s\n", words.c_str(), outcome.message.c_str());
    assert_true(outcome.says(words));
}

inline void assert_begins(const Outcome &outcome, const std::string &words) {
    if (!outcome.begins(words))
        print_error("expected at first: %s\nbut read: %s\n", words.c_str(), outcome.message.c_str());
    assert_true(outcome.begins(words));
}

/// Takes every MDIST_* variable and TF_CONFIG out of the test's own environment.
inline void clear_environment() {
    std::vector<std::string> names{"TF_CONFIG"};
    for (char **entry = environ; *entry != nullptr; ++entry) {
        std::string line = *entry;
        if (line.starts_with("MDIST_")) names.push_back(line.substr(0, line.find('=')));
    }
    for (const std::string &name : names) unsetenv(name.c_str());
}
