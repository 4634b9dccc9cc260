// SPDX-License-Identifier: Apache-2.0
#include "data/current_failure.h"

#include "util/text.h"

#include <new>
#include <stdexcept>

namespace mdist {

Failure current_failure() noexcept {
    try {
        throw;
    } catch (const Failure &failure) {
        return failure;
    } catch (const std::bad_alloc &) {
        return out_of_memory();
    } catch (const std::length_error &) { // a container was asked for more than memory can hold
        return out_of_memory();
    } catch (const std::exception &exception) {
        return failure_or(out_of_memory(), [&] {
            return Failure(MDIST_ERR_INTERNAL, text("unexpected exception in a dataset: ", exception.what()));
        });
    }
}

Failure thread_ended() noexcept {
    return Failure(MDIST_ERR_CALLBACK, "the thread ended while it was making an element (pthread_exit or cancellation)")
        .reason("thread_ended");
}

} // namespace mdist
