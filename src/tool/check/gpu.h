// SPDX-License-Identifier: Apache-2.0
// `mdist check --gpu`: makes the checks that need a GPU, and prints a report that fits into an issue. The checks are
// programs of their own, which come with the wheel mdist-cuda. Main thread.
#pragma once

namespace mdist {

/// Takes five minutes at most, and replaces this process. Throws std::runtime_error if the checks are not installed.
[[noreturn]] void check_gpu();

} // namespace mdist
