/* SPDX-License-Identifier: Apache-2.0 */
/* A user's program that finds the installed library through pkg-config only. Also compiled as C++. */
#include <mdist/mdist.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    mdist_config_t *config = NULL;
    mdist_error_t *error = NULL;
    char text[16] = "";
    int32_t failed;
    if (mdist_version() != MDIST_VERSION) return 1;
    if (mdist_config_create(&config, &error) != MDIST_OK) return 2;
    if (mdist_config_set(config, "devices", "cpu:0,cpu:1", &error) != MDIST_OK) return 3;
    if (mdist_config_get(config, "devices", text, sizeof text, NULL, &error) != MDIST_OK) return 4;
    if (strcmp(text, "cpu:0,cpu:1") != 0) return 5;
    failed = mdist_config_set(config, "no.such.key", "1", &error);
    if (failed != MDIST_ERR_CONFIG || mdist_error_status(error) != MDIST_ERR_CONFIG) return 6;
    printf("%s\n", mdist_error_message(error));
    mdist_error_free(error);
    mdist_config_destroy(config);
    return 0;
}
