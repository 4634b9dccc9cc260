/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Cluster: which tasks a job has, where they are, and which of them this process is.
 *
 * Example:
 *
 *     const mdist_task_t tasks[] = {{MDIST_TASK_WORKER, 0, "alpha:7000"}, {MDIST_TASK_WORKER, 1, "beta:7000"}};
 *     mdist_cluster_t *cluster = NULL;
 *     mdist_cluster_create(tasks, 2, MDIST_TASK_WORKER, 1, &cluster, &error); // this process is on host beta
 *     mdist_config_set_cluster(config, cluster, &error);                      // for mdist_strategy_create
 *
 * mdist_cluster_from_config() finds the cluster as a strategy would: in the config, in TF_CONFIG, or in the variables
 * of torchrun, Kubeflow, Horovod, Hydra, Open MPI or Slurm. docs/reference/clusters.md says how. A program can also
 * build a cluster itself, ask it questions, and put it into a config with mdist_config_set_cluster(). A strategy needs
 * none of this. A cluster never changes.
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

/** A task for mdist_cluster_create. */
typedef struct mdist_task {
    int32_t task_type;   /* an mdist_task_type_t */
    uint32_t task_index;
    const char *address; /* "host:port", with an IPv6 host in brackets, or "" if it is not known */
} mdist_task_t;

/** What mdist_cluster_describe tells of a cluster. */
typedef struct mdist_cluster_info {
    uint32_t struct_size;    /* sizeof(mdist_cluster_info_t) as you were compiled */
    uint32_t task_counts[5]; /* tasks of each mdist_task_type_t; [MDIST_TASK_NONE] counts all */
    int32_t task_type;       /* an mdist_task_type_t: this process's own task; MDIST_TASK_NONE if it is not known */
    uint32_t task_index;     /* its index, or 0 */
    int32_t leader_type;     /* an mdist_task_type_t; MDIST_TASK_NONE for an evaluator, and if no task trains */
    uint32_t leader_index;   /* its index, or 0 */
} mdist_cluster_info_t;

/** What mdist_cluster_describe_task tells of a task. No text is NULL. */
typedef struct mdist_task_info {
    uint32_t struct_size;  /* sizeof(mdist_task_info_t) as you were compiled */
    int32_t is_chief;      /* 1: the chief, an evaluator, or the first worker of a cluster without a chief; else 0 */
    uint32_t rank;         /* among the tasks that train together; MDIST_NONE: a parameter server */
    uint32_t worker_count; /* how many train together with it, itself included; 0: a parameter server */
    const char *address;   /* "" if the launcher gives none, or the task is not in the cluster */
    const char *master;    /* `session_master` of TF_CONFIG; else "" in a cluster of one task; else the address, with
                              "`rpc_layer`://" in front if TF_CONFIG has one */
} mdist_task_info_t;

/**
 * Makes a cluster of @p count tasks, which may be 0. (TensorFlow: SimpleClusterResolver.)
 *
 * It fails with MDIST_ERR_CONFIG if a task is there twice, an address is malformed, or the cluster cannot have the own
 * task. An evaluator need not be in the cluster.
 * @param own_type   which task this process is; MDIST_TASK_NONE: it is not known
 * @param own_index  its index; 0 with MDIST_TASK_NONE
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_create(const mdist_task_t *tasks, size_t count, mdist_task_type_t own_type,
                                              uint32_t own_index, mdist_cluster_t **out, mdist_error_t **error);

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
 * Counts the tasks of a cluster, and tells which of them this process and the leader are.
 *
 * - The leader has rank 0 where this process trains: the chief, or else the first worker. (TensorFlow:
 *   multi_worker_util.collective_leader)
 * - It fails with MDIST_ERR_CONFIG if the cluster has two chiefs or two evaluators.
 * - The caller sets struct_size, and sets all other fields to 0.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_cluster_describe(const mdist_cluster_t *cluster, mdist_cluster_info_t *out,
                                                mdist_error_t **error);

/**
 * Describes one task. MDIST_TASK_NONE means the own task of this process; @p index is then ignored.
 *
 * - It fails with MDIST_ERR_CONFIG if the cluster has no such task. An evaluator need not be in the cluster.
 * - It fails with MDIST_ERR_CONFIG, reason `no_task`, if the own task is asked about and is not known.
 * - The caller sets struct_size, and sets all other fields to 0.
 * - The texts of @p out live until the cluster is destroyed.
 *
 * (TensorFlow: multi_worker_util.is_chief, worker_count, id_in_cluster; ClusterResolver.master)
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.2
 */
MDIST_API mdist_status_t mdist_cluster_describe_task(const mdist_cluster_t *cluster, mdist_task_type_t type,
                                                     uint32_t index, mdist_task_info_t *out, mdist_error_t **error);

/**
 * Describes, in lines for people, what was found and from where, and what was ignored and why.
 * @param text    receives at most @p capacity bytes, NUL included; a longer text is cut off
 * @param needed  receives the full size in bytes, NUL included; may be NULL
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_cluster_explain(const mdist_cluster_t *cluster, char *text, size_t capacity,
                                               size_t *needed, mdist_error_t **error);

/**
 * Replaces the keys cluster.* and task.* of a config with those of @p cluster.
 *
 * It fails with MDIST_ERR_CONFIG if keys cannot express the cluster: lists with gaps or without addresses.
 * @thread one at a time per config   @blocks no   @collective no   @calls-back never   @since 0.1
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
