/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Config: which kind of strategy to make, on which devices and with which limits, as dotted string keys.
 *
 * Example:
 *
 *     mdist_config_t *config = NULL;
 *     mdist_config_create(&config, &error);
 *     mdist_config_set(config, "devices", "cpu*2", &error);
 *     mdist_config_set(config, "communication.timeout", "30s", &error);
 *     mdist_config_load_environment(config, &error); // MDIST_DEVICES=cpu*4 would set another number
 *     mdist_strategy_create(config, &strategy, &error);
 *
 * The same keys can be set in three ways. A later one overrides an earlier one, key by key:
 * - C: `mdist_config_set(config, "communication.timeout", "30s", NULL)`
 * - YAML, where nesting stands for dots
 * - The environment: `MDIST_COMMUNICATION_TIMEOUT=30s`; commas separate the items of a list
 *
 * mdist_config_key_describe, `mdist keys` and docs/reference/configuration.md list all keys.
 *
 * A config is plain data. It is read when a strategy is created, and may be changed or destroyed afterwards.
 */
#ifndef MDIST_CONFIG_H
#define MDIST_CONFIG_H

#include <mdist/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_config mdist_config_t;

/** Describes a key and the values that it takes. No text is NULL; all texts are constants of the library. */
typedef struct mdist_config_key {
    uint32_t struct_size;     /* sizeof(mdist_config_key_t) as you were compiled */
    uint32_t reserved;        /* 0 */
    const char *name;         /* such as "communication.timeout" */
    const char *environment;  /* its environment variable, such as "MDIST_COMMUNICATION_TIMEOUT" */
    const char *kind;         /* what it takes: "choice", "duration", "size", "count", "text", "devices", "ports",
                                 "endpoint", "address" or "addresses" */
    const char *choices;      /* the words of a choice, such as "threads, caller"; "" for other kinds */
    const char *default_text; /* what mdist_config_get reads if the key is not set; "": it has no default */
    const char *help;         /* what the key is for, in one sentence of at most 80 characters */
} mdist_config_key_t;

/**
 * Returns the number of keys.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API size_t mdist_config_key_count(void);

/**
 * Fills @p out with key @p index, in the order of docs/reference/configuration.md.
 *
 * The caller sets struct_size, and sets all other fields to 0. If the caller is newer than the library, fields that the
 * library lacks stay 0.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_config_key_describe(size_t index, mdist_config_key_t *out, mdist_error_t **error);

/**
 * Makes an empty config. Every key has its default, and the environment is not read.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_create(mdist_config_t **out, mdist_error_t **error);

/**
 * Sets one key, and checks the value at once.
 *
 * An unknown key and a bad value are MDIST_ERR_CONFIG and leave the config as it was. The message for an unknown key
 * names the most similar key. The message for a bad value says what the key takes.
 * @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_set(mdist_config_t *config, const char *key, const char *value,
                                          mdist_error_t **error);

/**
 * Reads the value of a key as text. If the key is not set, it reads the default.
 * @param text    receives at most @p capacity bytes, NUL included; a longer text is cut off
 * @param needed  receives the full size in bytes, NUL included; may be NULL
 * @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_get(const mdist_config_t *config, const char *key, char *text, size_t capacity,
                                          size_t *needed, mdist_error_t **error);

/**
 * Loads a YAML file, a regular file of at most 64 KiB.
 *
 * It loads all of the file or, on an error, nothing. The message of an error has line and column.
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
 * Loads settings from the environment: first the file that MDIST_CONFIG names, then every `MDIST_*` key over it.
 *
 * An unknown `MDIST_*` variable is a warning in the log and not an error, because it may belong to another program.
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
