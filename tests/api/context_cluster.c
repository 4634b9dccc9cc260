// SPDX-License-Identifier: Apache-2.0
// Calls of the functions of config.h, cluster.h and store.h. context.h explains the table.
#include "context.h"

CALL(config_create) {
    (void)w;
    mdist_config_t *out = NULL;
    const mdist_status_t status = mdist_config_create(&out, error);
    mdist_config_destroy(out);
    return status;
}
CALL(config_key_describe) {
    (void)w;
    mdist_config_key_t key = {.struct_size = sizeof key};
    return mdist_config_key_describe(0, &key, error);
}
CALL(config_set) {
    return mdist_config_set(w->config, "devices", "cpu*2", error);
}
CALL(config_get) {
    char text[64];
    return mdist_config_get(w->config, "devices", text, sizeof text, NULL, error);
}
CALL(config_load_text) {
    return mdist_config_load_text(w->config, "executor: caller\n", 17, error);
}
CALL(config_load_environment) {
    return mdist_config_load_environment(w->config, error);
}
CALL(config_set_cluster) {
    return mdist_config_set_cluster(w->config, w->cluster, error);
}
static mdist_status_t drop_cluster(mdist_status_t status, mdist_cluster_t *cluster) {
    mdist_cluster_destroy(cluster);
    return status;
}
CALL(cluster_create) {
    (void)w;
    mdist_cluster_t *out = NULL;
    const mdist_status_t status = mdist_cluster_create(NULL, 0, MDIST_TASK_NONE, 0, &out, error);
    return drop_cluster(status, out);
}
CALL(cluster_from_config) {
    mdist_cluster_t *out = NULL;
    const mdist_status_t status = mdist_cluster_from_config(w->config, &out, error);
    return drop_cluster(status, out);
}
CALL(cluster_from_tf_config) {
    (void)w;
    mdist_cluster_t *out = NULL;
    const mdist_status_t status = mdist_cluster_from_tf_config("{}", 2, &out, error);
    return drop_cluster(status, out);
}
CALL(cluster_union) {
    mdist_cluster_t *out = NULL;
    const mdist_cluster_t *const one[] = {w->cluster};
    const mdist_status_t status = mdist_cluster_union(one, 1, &out, error);
    return drop_cluster(status, out);
}
CALL(cluster_describe) {
    mdist_cluster_info_t info = {.struct_size = sizeof info};
    return mdist_cluster_describe(w->cluster, &info, error);
}
CALL(cluster_describe_task) {
    mdist_task_info_t info = {.struct_size = sizeof info};
    return mdist_cluster_describe_task(w->cluster, MDIST_TASK_WORKER, 0, &info, error);
}
CALL(cluster_explain) {
    char text[32];
    return mdist_cluster_explain(w->cluster, text, sizeof text, NULL, error);
}

CALL(store_create) {
    (void)w;
    mdist_store_t *out = NULL;
    const mdist_store_options_t options = {.struct_size = sizeof options, .worker_count = 2};
    const mdist_status_t status = mdist_store_create("127.0.0.1:0", &out, &options, error);
    mdist_store_destroy(out);
    return status;
}
CALL(store_describe) {
    mdist_store_info_t info = {.struct_size = sizeof info};
    const mdist_status_t status = mdist_store_describe(w->store, &info, error);
    const int as_made = info.joined == 0 && info.first_gone == MDIST_NONE && info.ended == 0;
    return status == MDIST_OK && !as_made ? MDIST_ERR_INTERNAL : status;
}
CALL(store_restart) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // both replicas call this, and `restart` must increase
    static uint32_t restart = 0;
    pthread_mutex_lock(&lock);
    const mdist_status_t status = mdist_store_restart(w->store, 2, ++restart, error);
    pthread_mutex_unlock(&lock);
    return status;
}
static mdist_status_t create_elastic(mdist_store_t **out, mdist_error_t **error) {
    mdist_config_t *config = NULL;
    mdist_status_t status = mdist_config_create(&config, error);
    if (status == MDIST_OK) status = mdist_config_set(config, "elastic.replicas", "2", error);
    const mdist_store_options_t options = {.struct_size = sizeof options, .config = config};
    if (status == MDIST_OK) status = mdist_store_create("127.0.0.1:0", out, &options, error);
    mdist_config_destroy(config);
    return status;
}
CALL(store_worker_ended) {
    (void)w;
    mdist_store_t *store = NULL;
    mdist_status_t status = create_elastic(&store, error);
    if (status == MDIST_OK) status = mdist_store_worker_ended(store, 1, error);
    mdist_store_destroy(store);
    return status;
}

CALL(store_left_behind) {
    (void)w;
    mdist_store_t *store = NULL;
    uint64_t id = 7;
    int32_t departure = 7;
    mdist_status_t status = create_elastic(&store, error);
    if (status == MDIST_OK) status = mdist_store_left_behind(store, &id, &departure, error);
    if (status == MDIST_OK && (id != 0 || departure != MDIST_DEPARTURE_JOB_FAILED)) status = MDIST_ERR_INTERNAL;
    mdist_store_destroy(store);
    return status;
}

CALL(store_dismiss) {
    (void)w;
    mdist_store_t *store = NULL;
    mdist_status_t status = create_elastic(&store, error);
    if (status == MDIST_OK) status = mdist_store_dismiss(store, 1, error);
    mdist_store_destroy(store);
    return status;
}
CALL(gpu_count) {
    (void)w;
    uint32_t count = 7;
    size_t needed = 0;
    return mdist_gpu_count(&count, NULL, 0, &needed, error);
}

static const Entry entries[] = {
    ENTRY(config_create, ANYWHERE),
    ENTRY(config_key_describe, ANYWHERE),
    ENTRY(config_set, ANYWHERE),
    ENTRY(config_get, ANYWHERE),
    ENTRY(config_load_text, ANYWHERE),
    ENTRY(config_load_environment, ANYWHERE),
    ENTRY(config_set_cluster, ANYWHERE),
    ENTRY(cluster_create, ANYWHERE),
    ENTRY(cluster_from_config, ANYWHERE),
    ENTRY(cluster_from_tf_config, ANYWHERE),
    ENTRY(cluster_union, ANYWHERE),
    ENTRY(cluster_describe, ANYWHERE),
    ENTRY(cluster_describe_task, ANYWHERE),
    ENTRY(cluster_explain, ANYWHERE),
    ENTRY(store_create, ANYWHERE),
    ENTRY(store_describe, ANYWHERE),
    ENTRY(store_restart, ANYWHERE),
    ENTRY(gpu_count, ANYWHERE),
    ENTRY(store_worker_ended, ANYWHERE),
    ENTRY(store_dismiss, ANYWHERE),
    ENTRY(store_left_behind, ANYWHERE),
};
const Table cluster_table = {entries, sizeof entries / sizeof *entries};
