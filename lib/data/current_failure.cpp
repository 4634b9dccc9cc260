// SPDX-License-Identifier: Apache-2.0
#include "data/current_failure.h"

#include "util/text.h"

#include <new>
#include <stdexcept>

namespace mdist {
namespace {

/// Returns what `make` makes. If memory runs out meanwhile, it returns OUT_OF_MEMORY, whose text is short enough to
/// need no memory.
template <class Make>
Failure or_out_of_memory(const Make &make) noexcept {
    try {
        return make();
    } catch (...) {
        return Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory");
    }
}

} // namespace

Failure current_failure() noexcept {
    return or_out_of_memory([] {
        try {
            throw;
        } catch (const Failure &failure) {
            return Failure(failure);
        } catch (const std::bad_alloc &) {
            throw;
        } catch (const std::length_error &) { // a container was asked for more than memory can hold
            throw;
        } catch (const std::exception &exception) {
            return Failure(MDIST_ERR_INTERNAL, text("unexpected exception in a dataset: ", exception.what()));
        }
    });
}

Failure thread_ended() noexcept {
    return or_out_of_memory([] {
        return Failure(MDIST_ERR_CALLBACK,
                       "the thread ended while it was making an element (pthread_exit or cancellation)")
            .reason("thread_ended");
    });
}

} // namespace mdist
