/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Checkpoint: variables and positions of iterators in files, and back.
 *
 * A checkpoint object says what is saved: variables by their names, positions of iterators, and texts, such as how far
 * the training is. Each save makes one file, `checkpoint-NUMBER.safetensors`, in its folder; `checkpoints.json` there
 * lists them. The files are safetensors, which libraries for Python, Rust and others read, with the texts as metadata.
 *
 * A file holds each variable once, as mdist_variable_read gives it, so any number of workers and replicas may restore
 * what any other number saved (iterators: as mdist_iterator_save says). Rank 0 writes and reads; the others need not
 * see the folder. A file is written under another name, flushed to the disk and then renamed, and the list comes last:
 * whatever happens while saving, the checkpoints before it are still there. Every tensor has a checksum, which
 * restoring verifies.
 *
 *     mdist_checkpoint_create(strategy, "checkpoints", 3, &checkpoint, &error);
 *     mdist_checkpoint_add(checkpoint, NULL, weights, &error);
 *     status = mdist_checkpoint_restore(checkpoint, MDIST_LATEST, &epoch, NULL, &error);
 *     if (status == MDIST_ERR_NOT_FOUND) epoch = 0;
 *     while (++epoch <= epochs) { ...; mdist_checkpoint_save(checkpoint, epoch, NULL, &error); }
 *
 * (TensorFlow: tf.train.Checkpoint, CheckpointManager, BackupAndRestore.)
 */
#ifndef MDIST_CHECKPOINT_H
#define MDIST_CHECKPOINT_H

#include <mdist/dataset.h>
#include <mdist/strategy.h>
#include <mdist/variable.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As a number: the checkpoint that was saved last. */
#define MDIST_LATEST 0x7fffffffffffffff

/** A flag of mdist_restore_options_t: file and variables need not have the same names. */
#define MDIST_RESTORE_PARTIAL 1

typedef struct mdist_checkpoint mdist_checkpoint_t;

/** Options of mdist_checkpoint_restore. NULL, or all zero but struct_size: everything is restored. */
typedef struct mdist_restore_options {
    uint32_t struct_size; /* sizeof(mdist_restore_options_t) as you were compiled */
    uint32_t flags;       /* MDIST_RESTORE_PARTIAL, or 0 */
    uint64_t timeout_ns;  /* as in mdist_call_options_t */
} mdist_restore_options_t;

/**
 * A checkpoint object that holds nothing yet. Does not look at the folder.
 * @param folder  of rank 0; made by the first save. For one job at a time
 * @param keep    how many checkpoints stay there: a save removes those saved before the last @p keep. 0: all stay
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_create(mdist_strategy_t *strategy, const char *folder, uint32_t keep,
                                                 mdist_checkpoint_t **out, mdist_error_t **error);

/**
 * Adds a variable (kept) of the same strategy. All workers add the same, in any order.
 * @param name  in files, UTF-8; NULL: the variable's own. Two variables may not share it
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_add(mdist_checkpoint_t *checkpoint, const char *name,
                                              mdist_variable_t *variable, mdist_error_t **error);

/**
 * Adds an iterator (kept), whose position is saved along and restored with the variables, as mdist_iterator_save and
 * mdist_iterator_restore do it: all of them or none. All workers add the same, in any order, each its own iterator, and
 * have taken equally many elements when they save (MDIST_ERR_MISMATCH). No other call may use it meanwhile. A
 * file without it, or with others, is MDIST_ERR_MISMATCH, reason `different_variables`, when restoring; with
 * MDIST_RESTORE_PARTIAL the first stay where they are, and the second are passed over.
 * @param name  in files, UTF-8, not empty; two iterators may not share it
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_add_iterator(mdist_checkpoint_t *checkpoint, const char *name,
                                                       mdist_iterator_t *iterator, mdist_error_t **error);

/**
 * Sets a text that is saved along, over the one that @p key has. The chief's are saved; restoring gives them to all.
 * @param key  UTF-8, not empty, not beginning with "mdist."
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_set_text(mdist_checkpoint_t *checkpoint, const char *key, const char *text,
                                                   mdist_error_t **error);

/**
 * Reads a text, set or restored; text, capacity and needed as in mdist_config_get. MDIST_ERR_NOT_FOUND if @p key has
 * none.
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_text(const mdist_checkpoint_t *checkpoint, const char *key, char *text,
                                               size_t capacity, size_t *needed, mdist_error_t **error);

/**
 * Saves checkpoint @p number, which then is the latest; one that has that number already is replaced. Mirrored
 * variables are saved as the chief's copy 0, sync-on-read ones as reduced over all replicas; those with aggregation
 * NONE are MDIST_ERR_FAILED_PRECONDITION.
 * A failure is the same on all workers, and the strategy goes on working: MDIST_ERR_IO with errno as mdist_error_native
 * where the disk is full or refuses; MDIST_ERR_FAILED_PRECONDITION, reason `busy`, while another process saves there;
 * MDIST_ERR_MISMATCH where workers have other numbers, variables or iterators, or
 * these elsewhere; MDIST_ERR_FAILED_PRECONDITION, reasons `unordered` and `closed`, of an iterator. The checkpoints
 * that were there still are.
 * @param number   less than MDIST_LATEST; of a step or epoch, say
 * @param options  timeout_ns must be enough for the chief to write: the others wait for it
 * @thread one at a time per strategy   @blocks until it is on the disk   @collective all workers   @calls-back never
 * @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_save(mdist_checkpoint_t *checkpoint, uint64_t number,
                                               const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Gives variables, iterators and texts what checkpoint @p number has, on all workers. Mirrored variables, and
 * sync-on-read ones but with aggregation SUM: the value goes to every copy; SUM: each of N copies receives 1/N of it
 * (integers: cut off towards zero). Texts that the file lacks are gone. A failure is the same on all workers, and comes
 * before anything has changed: MDIST_ERR_NOT_FOUND, reason `no_checkpoint`; MDIST_ERR_DATA_LOSS for a damaged file,
 * saying what is wrong; MDIST_ERR_MISMATCH, reason `different_variables`, naming variables that are not in the file,
 * tensors that are no variables, and those of another dtype or shape. With MDIST_RESTORE_PARTIAL the first stay as they
 * are, and the second are passed over. (If the file can be read once and not again, or workers are lost meanwhile, some
 * variables may have changed.)
 * @param number    MDIST_LATEST: what the list says; else it need not be on the list: any safetensors file of that name
 * @param restored  may be NULL; receives the number
 * @thread one at a time per strategy   @blocks on the file, and until iterators have gone through their elements
 * @collective all workers   @calls-back functions of iterators' datasets, as mdist_iterator_restore   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_restore(mdist_checkpoint_t *checkpoint, uint64_t number, uint64_t *restored,
                                                  const mdist_restore_options_t *options, mdist_error_t **error);

/**
 * Removes all checkpoints from the folder: the training they were for is done, and the next one shall begin anew. None
 * and no folder are fine. MDIST_ERR_IO where some cannot be removed, MDIST_ERR_FAILED_PRECONDITION, reason `busy`,
 * while another process saves there. The variables stay as they are.
 * @thread one at a time per strategy   @blocks on the folder   @collective all workers   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_clear(mdist_checkpoint_t *checkpoint, const mdist_call_options_t *options,
                                                mdist_error_t **error);

/**
 * The number of the checkpoint in @p folder that was saved last, for programs that only watch. MDIST_ERR_NOT_FOUND,
 * reason `no_checkpoint`, if there is none.
 * @thread any   @blocks on the folder   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_latest(const char *folder, uint64_t *number, mdist_error_t **error);

/**
 * Frees a checkpoint object and lets go of its variables and iterators; files stay. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_checkpoint_destroy(mdist_checkpoint_t *checkpoint);

#ifdef __cplusplus
}
#endif

#endif
