// SPDX-License-Identifier: Apache-2.0
// A program of many subjects. Each is a source of its own, and the program's first argument names the one to run, so
// that each still has a process to itself. One program is linked again after a change of the library, in place of as
// many as there are subjects.
#pragma once

namespace mdist::test {

/// Adds itself to the program's list of subjects before main() (in subjects.cpp) begins.
struct Subject {
    const char *name;
    int (*run)(int argc, char **argv);
    const Subject *next;

    Subject(const char *its_name, int (*its_run)(int argc, char **argv)) : name(its_name), run(its_run), next(first) {
        first = this;
    }
    static inline const Subject *first = nullptr;
};

} // namespace mdist::test

/// SUBJECT(yaml) { return cmocka_run_group_tests(...); } stands where a program of one subject has main(). `argv`
/// begins with the subject's name; its arguments follow.
#define SUBJECT(name)                                                        \
    static int run_##name(int argc, char **argv);                            \
    static const mdist::test::Subject subject_of_##name(#name, &run_##name); \
    static int run_##name([[maybe_unused]] int argc, [[maybe_unused]] char **argv)
