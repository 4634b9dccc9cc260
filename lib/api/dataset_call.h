// SPDX-License-Identifier: Apache-2.0
// Shared by all functions that make a dataset.
#pragma once

#include <mdist/dataset.h>

#include "api/check.h"
#include "api/guard.h"
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {

/// The flag that a function knows.
struct DatasetFlag {
    uint32_t value = 0;
    const char *name = "";
};

/// What a caller chose. Refuses all flags but `known`, and parallel calls unless the function makes some.
inline mdist_dataset_options_t read_dataset_options(const mdist_dataset_options_t *given, DatasetFlag known = {},
                                                    bool makes_calls = false) {
    const mdist_dataset_options_t options = read_options(given, "mdist_dataset_options_t");
    if ((options.flags & ~known.value) != 0)
        throw invalid(text("options.flags is ", options.flags, "; for this function it must be 0",
                           known.value == 0 ? "" : " or ", known.name));
    if (!makes_calls) need_zero(options.parallel_calls, "options.parallel_calls of this function");
    need_zero(options.reserved, "options.reserved");
    return options;
}

/// Runs the whole of a function that makes a dataset from another one. `make` does its specific part, given the pinned
/// source; it reads the options if it has any.
template <class Make>
mdist_status_t make_dataset(const char *operation, const mdist_dataset_t *source, mdist_dataset_t **out,
                            mdist_error_t **error, const Make &make) {
    return guard(operation, error, [&] {
        const auto pinned = pin(source);
        need(out, "out");
        *out = publish<mdist_dataset_t>(make(pinned.shared()));
    });
}

} // namespace mdist
