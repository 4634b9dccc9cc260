/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Config: what kind of strategy, on which devices, with which limits, as dotted string keys.
 *
 * The same keys come from C (`mdist_config_set(config, "communication.timeout", "30s", NULL)`), from YAML (nesting
 * stands for dots) and from the environment (`MDIST_COMMUNICATION_TIMEOUT=30s`; lists by comma). A later source
 * overrides an earlier one, key by key. docs/configuration.md lists the keys.
 *
 * A config is plain data: it is read when a strategy is created, and may be changed or destroyed afterwards.
 */
#ifndef MDIST_CONFIG_H
#define MDIST_CONFIG_H

#include <mdist/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_config mdist_config_t;

/**
 * An empty config: every key at its default, the environment not looked at.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_create(mdist_config_t **out, mdist_error_t **error);

/**
 * Sets one key. The value is checked at once: an unknown key names its nearest neighbour, a bad value says what the key
 * takes; both are MDIST_ERR_CONFIG and leave the config as it was.
 * @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_set(mdist_config_t *config, const char *key, const char *value,
                                          mdist_error_t **error);

/**
 * Reads the text of a key (its default where nobody set it) into @p text of @p capacity bytes, NUL included, cut off
 * where it does not fit; @p needed (may be NULL) receives the full size, NUL included.
 * @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_get(const mdist_config_t *config, const char *key, char *text, size_t capacity,
                                          size_t *needed, mdist_error_t **error);

/**
 * Loads a YAML file: all of it or, on an error (with line and column), nothing. A regular file of at most 64 KiB.
 * @thread one at a time per config   @blocks on the file   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_load(mdist_config_t *config, const char *yaml_path, mdist_error_t **error);

/**
 * Loads YAML from memory, as mdist_config_load does from a file.
 * @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_load_text(mdist_config_t *config, const char *yaml, size_t length,
                                                mdist_error_t **error);

/**
 * Loads what the environment says: the file named by MDIST_CONFIG first, then every `MDIST_*` key over it. An unknown
 * `MDIST_*` variable is a warning in the log, not an error, since others may own it.
 * @thread one at a time per config   @blocks on the file   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_load_environment(mdist_config_t *config, mdist_error_t **error);

/**
 * Frees a config. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_config_destroy(mdist_config_t *config);

#ifdef __cplusplus
}
#endif

#endif
