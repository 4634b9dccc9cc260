// SPDX-License-Identifier: Apache-2.0
#include "membership/net/descriptor_limit.h"

#include "util/failure.h"
#include "util/log.h"
#include "util/text.h"

#include <sys/resource.h>

namespace mdist {
namespace {

constexpr rlim_t kOtherDescriptors = 16; // that the library and an ordinary program use besides

rlim_t most_descriptors() {
    rlimit limit = {};
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

} // namespace

void check_descriptors(uint32_t workers, std::size_t connections) {
    const rlim_t needed = connections + kOtherDescriptors, most = most_descriptors();
    if (most >= needed) return;
    throw Failure(MDIST_ERR_RESOURCE, text("a job of ", workers, " workers needs at least ", needed,
                                           " file descriptors in each process, but this process may open only ", most,
                                           "; raise the limit, as with `ulimit -n ", 2 * needed, '`'));
}

void warn_of_few_descriptors(uint32_t workers, std::size_t connections) {
    const rlim_t needed = connections + 2 * (rlim_t{workers} - 1) + kOtherDescriptors, most = most_descriptors();
    if (most < needed)
        log_warn("a job of ", workers, " workers may need ", needed,
                 " file descriptors in each process, but this process may open only ", most,
                 "; if something cannot be opened, raise the limit, as with `ulimit -n ", 2 * needed, '`');
}

} // namespace mdist
