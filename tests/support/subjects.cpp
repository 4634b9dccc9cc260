// SPDX-License-Identifier: Apache-2.0
#include "subject.h"

#include <cstdio>
#include <string_view>

int main(int argc, char **argv) {
    using mdist::test::Subject;
    for (const Subject *subject = Subject::first; argc > 1 && subject != nullptr; subject = subject->next)
        if (std::string_view(argv[1]) == subject->name) return subject->run(argc - 1, argv + 1);
    std::fprintf(stderr, "usage: %s SUBJECT [ARGUMENT...]; its subjects are:\n", argv[0]);
    for (const Subject *subject = Subject::first; subject != nullptr; subject = subject->next)
        std::fprintf(stderr, "  %s\n", subject->name);
    return 2;
}
