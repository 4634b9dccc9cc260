// SPDX-License-Identifier: Apache-2.0
// Fuzz target: Slurm's lists of hosts and of counts. Whatever the bytes, either the list gives plain host names, at
// most 65536, or a Failure has a reason.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cluster/nodelist.h"
#include "target.h"
#include "util/failure.h"

using namespace mdist;

namespace {

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "nodelist_fuzz: broken promise: %s\n", what);
    std::abort();
}

template <typename Expand>
void try_to(Expand expand) {
    try {
        expand();
    } catch (const Failure &failure) {
        require(failure.status() == MDIST_ERR_CONFIG, "the status is MDIST_ERR_CONFIG");
        require(failure.reason() == "bad_nodelist", "the reason is bad_nodelist");
        require(failure.message().size() < 2000, "the sentence is short");
    }
}

} // namespace

FUZZ_TARGET(nodelist) {
    const std::string_view list(reinterpret_cast<const char *>(data), size);
    try_to([&] {
        const auto hosts = expand_nodelist(list);
        require(!hosts.empty() && hosts.size() <= kMostHosts, "there are 1 to 65536 hosts");
        std::string joined;
        for (const std::string &host : hosts) {
            require(!host.empty() && host.find_first_of("[], \n") == host.npos, "a host is a plain name");
            joined += host + ',';
        }
        require(expand_nodelist(joined) == hosts, "what is written out stays as it is");
    });
    try_to([&] { require(!expand_counts(list).empty(), "there is a count"); });
    return 0;
}
