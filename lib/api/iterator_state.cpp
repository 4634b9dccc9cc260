// SPDX-License-Identifier: Apache-2.0
#include "data/iterator_state.h"

#include <mdist/dataset.h>

#include "api/check.h"
#include "api/guard.h"
#include "data/iterator.h"

using namespace mdist;

mdist_status_t mdist_iterator_save(mdist_iterator_t *iterator, char *text, size_t capacity, size_t *needed,
                                   mdist_error_t **error) {
    return guard("mdist_iterator_save", error,
                 [&] { copy_text(encode_iterator_state(pin(iterator)->state()), text, capacity, needed); });
}

mdist_status_t mdist_iterator_restore(mdist_iterator_t *iterator, const char *text, mdist_error_t **error) {
    return guard("mdist_iterator_restore", error, [&] {
        need(text, "text");
        const auto pinned = pin(iterator);
        Restoring(pinned.shared(), parse_iterator_state(text)).commit();
    });
}
