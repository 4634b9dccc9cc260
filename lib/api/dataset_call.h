// SPDX-License-Identifier: Apache-2.0
// Shared by all functions that make a dataset from another one.
#pragma once

#include <utility>

#include <mdist/dataset.h>

#include "api/check.h"
#include "api/guard.h"
#include "data/transforms.h"

namespace mdist {

/// Runs the whole of such a function. `make` does its specific part, given the pinned source.
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
