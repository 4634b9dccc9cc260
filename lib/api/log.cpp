// SPDX-License-Identifier: Apache-2.0
#include <mdist/log.h>

#include "api/guard.h"
#include "util/log.h"

mdist_status_t mdist_log_set_sink(mdist_log_fn sink, void *user_data, mdist_free_fn free_user_data,
                                  mdist_error_t **error) {
    mdist::Kept kept(user_data, free_user_data);
    return mdist::guard("mdist_log_set_sink", error, [&] {
        kept.release(); // set_sink frees it, even on failure
        mdist::log::set_sink(sink, user_data, free_user_data);
    });
}

mdist_status_t mdist_log_set_level(mdist_log_level_t level, mdist_error_t **error) {
    return mdist::guard("mdist_log_set_level", error, [&] { mdist::log::set_level(level); });
}
