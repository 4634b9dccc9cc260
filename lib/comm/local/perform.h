// SPDX-License-Identifier: Apache-2.0
// perform(): runs a collective in one blocking call. A Part is what one party does in it:
//
//   Part(group, party, call)   runs before the meeting; may throw
//   run()                      runs after it: does the pieces of work that nobody has done yet, and returns how many;
//                              may throw only if total() is 0; otherwise see Group::do_work()
//   total()                    number of pieces in all; 0: parties need not wait for each other's work
#pragma once

#include "comm/local/group.h"

namespace mdist {

template <class Part>
void perform(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns, Part &part) {
    const uint32_t before = group.finishes();
    group.meet(party, call, timeout_ns);
    const uint64_t done = part.run();
    if (part.total() == 0) return;
    group.finish_work(before, done, part.total());
    group.check_work();
}

} // namespace mdist
