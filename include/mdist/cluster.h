/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Cluster: which tasks a job has, where they are, and which of them this process is.
 *
 * mdist_cluster_from_config() finds it as a strategy would: in the config, in TF_CONFIG, or in the variables of
 * torchrun, Kubeflow, Horovod, Hydra, Open MPI or Slurm (docs/configuration.md says how). One can also be put together,
 * asked, and put into a config with mdist_config_set_cluster(). A strategy needs none of this.
 *
 * Chief and workers train together, numbered from 0, the chief first; an evaluator works alone beside them; parameter
 * servers take no part. Without any tasks, the process is on its own: chief, and worker 0 of 1.
 * (TensorFlow: tf.distribute.cluster_resolver, tf.train.ClusterSpec, multi_worker_util; their rules hold.)
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
 * A cluster without tasks. (TensorFlow: SimpleClusterResolver, with the next two.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_create(mdist_cluster_t **out, mdist_error_t **error);

/**
 * Adds a task at @p address ("host:port"; an IPv6 host in brackets), or at one nobody knows ("").
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_add_task(mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                                const char *address, mdist_error_t **error);

/**
 * Says which task this process is. MDIST_ERR_CONFIG if the cluster cannot have it, so add tasks first; an evaluator
 * need not be in it.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_set_task(mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                                mdist_error_t **error);

/**
 * The cluster that a strategy created from @p config would be in, or from the environment if it is NULL. Without one, a
 * cluster without tasks. Fails as mdist_strategy_create would: where sources contradict each other, or cannot be used.
 * @thread any   @blocks on the config file if NULL   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_from_config(const mdist_config_t *config, mdist_cluster_t **out,
                                                   mdist_error_t **error);

/**
 * Reads a text like that of the variable TF_CONFIG, of at most 1 MiB. (TensorFlow: TFConfigClusterResolver.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_from_tf_config(const char *json, size_t length, mdist_cluster_t **out,
                                                      mdist_error_t **error);

/**
 * From the variables of a Slurm step: @p counts tasks of each of @p types, dealt out in the order of the types' names
 * (chief, evaluator, ps, worker) over the step's tasks; with @p job_count 0 all are workers. The k-th task on a host,
 * from 0, gets port @p port_base + k; a base of 0 is 8888. (TensorFlow: SlurmClusterResolver, but host names keep their
 * leading zeros, and CUDA_VISIBLE_DEVICES is left alone.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_from_slurm(const mdist_task_type_t *types, const uint32_t *counts,
                                                  size_t job_count, uint32_t port_base, mdist_cluster_t **out,
                                                  mdist_error_t **error);

/**
 * Puts clusters together: lists of the same type one after another; where a list has gaps, its indices stay, and two
 * that meet are MDIST_ERR_CONFIG. Own task and master are the first's. (TensorFlow: UnionResolver.)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_union(const mdist_cluster_t *const *clusters, size_t count,
                                             mdist_cluster_t **out, mdist_error_t **error);

/**
 * How many tasks of @p type there are; of all types with MDIST_TASK_NONE.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_task_count(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t *out,
                                                  mdist_error_t **error);

/**
 * Reads the address of a task into @p text of @p capacity bytes, NUL included, cut off where it does not fit; @p needed
 * (may be NULL) receives the full size, NUL included. "" where the launcher gives no addresses. MDIST_ERR_NOT_FOUND if
 * there is no such task.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_address(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                               char *text, size_t capacity, size_t *needed, mdist_error_t **error);

/**
 * Which task this process is: MDIST_TASK_NONE and 0 where nobody said so.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_task(const mdist_cluster_t *cluster, mdist_task_type_t *type, uint32_t *index,
                                            mdist_error_t **error);

/**
 * Whether a task is the chief: a chief, an evaluator, or worker 0 of a cluster without chief. For MDIST_TASK_NONE, here
 * and below, this process's own, and @p index is not looked at. (TensorFlow: multi_worker_util.is_chief)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_is_chief(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                                int32_t *out, mdist_error_t **error);

/**
 * How many train together with a task of this type. MDIST_ERR_CONFIG for a parameter server, which does not train.
 * (TensorFlow: multi_worker_util.worker_count)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_worker_count(const mdist_cluster_t *cluster, mdist_task_type_t type,
                                                    uint32_t *out, mdist_error_t **error);

/**
 * The rank of a task among those. (TensorFlow: multi_worker_util.id_in_cluster)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_worker_id(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                                 uint32_t *out, mdist_error_t **error);

/**
 * The task that has rank 0 where this process trains: the chief, or else worker 0. MDIST_TASK_NONE and 0 for an
 * evaluator, and without tasks. (TensorFlow: multi_worker_util.collective_leader)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_leader(const mdist_cluster_t *cluster, mdist_task_type_t *type, uint32_t *index,
                                              mdist_error_t **error);

/**
 * Reads, as mdist_cluster_address does, what TensorFlow calls the master of a task: `session_master` of TF_CONFIG; ""
 * in a cluster of one task; else the task's address, behind "`rpc_layer`://" where TF_CONFIG has one.
 * (TensorFlow: ClusterResolver.master)
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_master(const mdist_cluster_t *cluster, mdist_task_type_t type, uint32_t index,
                                              char *text, size_t capacity, size_t *needed, mdist_error_t **error);

/**
 * Reads, as mdist_cluster_address does, lines for people: what was found, from where, and what was passed over and why.
 * @thread one at a time per cluster   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_explain(const mdist_cluster_t *cluster, char *text, size_t capacity,
                                               size_t *needed, mdist_error_t **error);

/**
 * Replaces the keys cluster.* and task.* of a config. MDIST_ERR_CONFIG where keys cannot say it: lists with gaps or
 * without addresses.
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
