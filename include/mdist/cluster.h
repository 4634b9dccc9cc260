/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Cluster: which tasks a job has, where they are, and which of them this process is.
 *
 * Example:
 *
 *     mdist_cluster_t *cluster = NULL;
 *     mdist_cluster_create(&cluster, &error);
 *     mdist_cluster_add_task(cluster, MDIST_TASK_WORKER, 0, "alpha:7000", &error);
 *     mdist_cluster_add_task(cluster, MDIST_TASK_WORKER, 1, "beta:7000", &error);
 *     mdist_cluster_set_task(cluster, MDIST_TASK_WORKER, 1, &error); // this process is on host beta
 *     mdist_config_set_cluster(config, cluster, &error);             // for mdist_strategy_create
 *
 * mdist_cluster_from_config() finds the cluster as a strategy would: in the config, in TF_CONFIG, or in the variables
 * of torchrun, Kubeflow, Horovod, Hydra, Open MPI or Slurm. docs/configuration.md says how. A program can also build a
 * cluster itself, ask it questions, and put it into a config with mdist_config_set_cluster(). A strategy needs none of
 * this.
 *
 * - The chief and the workers train together. They are numbered from 0, the chief first.
 * - An evaluator works alone beside them.
 * - Parameter servers take no part.
 * - If there are no tasks, the process is alone: it is the chief, and worker 0 of 1.
 *
 * (TensorFlow: tf.distribute.cluster_resolver, tf.train.ClusterSpec, multi_worker_util; their rules apply.)
 */
#ifndef MDIST_CLUSTER_H
#define MDIST_CLUSTER_H

#include <mdist/config.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mdist_cluster mdist_cluster_t;

typedef enum mdist_task_type {
    MDIST_TASK_NONE      = 0, /* as an argument: this process's own task */
    MDIST_TASK_CHIEF     = 1,
    MDIST_TASK_WORKER    = 2,
    MDIST_TASK_EVALUATOR = 3,
    MDIST_TASK_PS        = 4,

    MDIST_TASK_TYPE_PIN_INT32 = -0x7fffffff - 1
} mdist_task_type_t;

/**
 * Makes a cluster without tasks. (TensorFlow: SimpleClusterResolver, together with the next two functions.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_create(mdist_cluster_t **out, mdist_error_t **error);

/**
 * Adds a task at @p address: "host:port", with an IPv6 host in brackets, or "" if the address is not known.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_add_task(mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                                const char *address, mdist_error_t **error);

/**
 * Sets which task this process is.
 *
 * It fails with MDIST_ERR_CONFIG if the cluster cannot have this task, so add tasks first. An evaluator need not be in
 * the cluster.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_set_task(mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                                mdist_error_t **error);

/**
 * Finds the cluster that a strategy created from @p config would be in. NULL reads the environment instead.
 *
 * If there is no cluster, it gives a cluster without tasks. It fails as mdist_strategy_create would, if sources
 * contradict each other or cannot be used.
 * @thread any   @blocks on the config file if NULL   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_from_config(const mdist_config_t *config, mdist_cluster_t **out,
                                                   mdist_error_t **error);

/**
 * Makes a cluster from a text like that of the variable TF_CONFIG, of at most 1 MiB. (TensorFlow:
 * TFConfigClusterResolver.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_from_tf_config(const char *json, size_t length, mdist_cluster_t **out,
                                                      mdist_error_t **error);

/**
 * Makes a cluster from the environment variables of a Slurm step.
 *
 * - There are @p counts tasks of each of @p types. They are assigned to the tasks of the step in the order of the
 *   types' names (chief, evaluator, ps, worker).
 * - If @p job_count is 0, all tasks of the step are workers.
 * - The k-th task on a host, from 0, gets port @p port_base + k. A base of 0 means 8888.
 *
 * (TensorFlow: SlurmClusterResolver, except that host names keep their leading zeros, and CUDA_VISIBLE_DEVICES is left
 * alone.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_from_slurm(const mdist_task_type_t *types, const uint32_t *counts,
                                                  size_t job_count, uint32_t port_base, mdist_cluster_t **out,
                                                  mdist_error_t **error);

/**
 * Joins several clusters into one.
 *
 * Lists of the same type are put one after another. If a list has gaps, indices of that type stay as they are, and the
 * same index twice is MDIST_ERR_CONFIG. The own task and the master are those of the first cluster. (TensorFlow:
 * UnionResolver.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_union(const mdist_cluster_t *const *clusters, size_t count,
                                             mdist_cluster_t **out, mdist_error_t **error);

/**
 * Counts the tasks of @p type. MDIST_TASK_NONE counts the tasks of all types.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_task_count(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t *out,
                                                  mdist_error_t **error);

/**
 * Reads the address of a task. The address is "" if the launcher gives none.
 *
 * It fails with MDIST_ERR_NOT_FOUND if there is no such task.
 * @param text    receives at most @p capacity bytes, NUL included; a longer text is cut off
 * @param needed  receives the full size in bytes, NUL included; may be NULL
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_address(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                               char *text, size_t capacity, size_t *needed, mdist_error_t **error);

/**
 * Tells which task this process is. It gives MDIST_TASK_NONE and 0 if that was not set.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_task(const mdist_cluster_t *cluster, mdist_task_type_t *type, uint32_t *index,
                                            mdist_error_t **error);

/**
 * Tells whether a task is the chief.
 *
 * A chief and an evaluator are. Without a chief, the first worker is. Here and in the functions below, MDIST_TASK_NONE
 * means the own task of this process, and @p index is ignored. (TensorFlow: multi_worker_util.is_chief)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_is_chief(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                                int32_t *out, mdist_error_t **error);

/**
 * Counts the tasks that train together with a task of this type.
 *
 * It fails with MDIST_ERR_CONFIG for a parameter server, which does not train. (TensorFlow:
 * multi_worker_util.worker_count)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_worker_count(const mdist_cluster_t *cluster, mdist_task_type_t type,
                                                    uint32_t *out, mdist_error_t **error);

/**
 * Gives the rank of a task among those that train together, in the order of indices. (TensorFlow:
 * multi_worker_util.id_in_cluster)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_cluster_worker(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                              uint32_t *out, mdist_error_t **error);

/**
 * Finds the task that has rank 0 where this process trains: the chief, or else the first worker.
 *
 * It gives MDIST_TASK_NONE and 0 for an evaluator, and if there are no tasks. (TensorFlow:
 * multi_worker_util.collective_leader)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_leader(const mdist_cluster_t *cluster, mdist_task_type_t *type, uint32_t *index,
                                              mdist_error_t **error);

/**
 * Reads what TensorFlow calls the master of a task. @p text, @p capacity and @p needed work as in
 * mdist_cluster_address.
 *
 * The master is the first of these that applies:
 * - `session_master` of TF_CONFIG
 * - "" in a cluster of one task
 * - the address of the task, with "`rpc_layer`://" in front if TF_CONFIG has one
 *
 * (TensorFlow: ClusterResolver.master)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_master(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                              char *text, size_t capacity, size_t *needed, mdist_error_t **error);

/**
 * Describes, in lines for people, what was found and from where, and what was ignored and why. @p text, @p capacity and
 * @p needed work as in mdist_cluster_address.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_explain(const mdist_cluster_t *cluster, char *text, size_t capacity,
                                               size_t *needed, mdist_error_t **error);

/**
 * Replaces the keys cluster.* and task.* of a config with those of @p cluster.
 *
 * It fails with MDIST_ERR_CONFIG if keys cannot express the cluster: lists with gaps or without addresses.
 * @thread one at a time per config and per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_config_set_cluster(mdist_config_t *config, const mdist_cluster_t *cluster,
                                                  mdist_error_t **error);

/**
 * Frees a cluster. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_cluster_destroy(mdist_cluster_t *cluster);

#ifdef __cplusplus
}
#endif

#endif
