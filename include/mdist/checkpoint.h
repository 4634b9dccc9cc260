/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Checkpoint: saves variables, positions of iterators and texts to files, and restores them.
 *
 * A checkpoint object says what is saved: variables and iterators by name, and texts, such as how far the training is.
 * Each save makes one file, `checkpoint-NUMBER.safetensors`, in the checkpoint's folder. `checkpoints.json` in the same
 * folder lists these files. The files are safetensors, which libraries for Python, Rust and others read. The texts are
 * their metadata.
 *
 * A file holds each variable once, as mdist_variable_read gives it. So any number of workers and replicas may restore
 * what any other number saved. For iterators, mdist_iterator_save says who may restore what.
 *
 * - Rank 0 writes and reads. The other workers need not see the folder.
 * - A file is written under another name, flushed to the disk and then renamed. The list is updated last. Whatever
 *   happens during a save, the earlier checkpoints are still there.
 * - Every tensor has a checksum, which restoring verifies.
 * - If the list is missing, or names no file that is there, the checkpoint with the highest number is the latest, and
 *   the log warns of it. So files that were copied without their list are not taken for an empty folder. If that one is
 *   damaged, restoring fails; it never takes an older one by itself. A save removes no file that the list does not
 *   name.
 *
 * Example, with a variable `weights`:
 *
 *     mdist_checkpoint_t *checkpoint = NULL;
 *     uint64_t epoch = 0;
 *     mdist_checkpoint_create(strategy, "checkpoints", 3, &checkpoint, &error);
 *     mdist_checkpoint_add(checkpoint, NULL, weights, &error);
 *     if (mdist_checkpoint_restore(checkpoint, MDIST_LATEST, &epoch, NULL, &error) == MDIST_ERR_NOT_FOUND) epoch = 0;
 *     while (++epoch <= 10) {
 *         mdist_checkpoint_save(checkpoint, epoch, NULL, &error); // after training an epoch
 *     }
 *
 * A program that begins again shuffles as at its start, unless the place of its iterator is saved, too
 * (mdist_checkpoint_add_iterator). Then it gets the batches that come next.
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

/** As the number of a checkpoint: the one that was saved last. */
#define MDIST_LATEST 0x7fffffffffffff03

/** A flag of mdist_restore_options_t: the file and the checkpoint object need not hold the same names. */
#define MDIST_RESTORE_PARTIAL 1

typedef struct mdist_checkpoint mdist_checkpoint_t;

/** Options of mdist_checkpoint_restore. NULL, or all zero except struct_size: restores everything. */
typedef struct mdist_restore_options {
    uint32_t struct_size; /* sizeof(mdist_restore_options_t) as you were compiled */
    uint32_t flags;       /* MDIST_RESTORE_PARTIAL, or 0 */
    uint64_t timeout_ns;  /* as in mdist_call_options_t */
} mdist_restore_options_t;

/**
 * Makes a checkpoint object that holds nothing yet. The call does not look at the folder.
 * @param folder  a folder on the host of rank 0; the first save makes it. Only one job at a time may use it
 * @param keep    how many checkpoints of the list stay in the folder: a save removes those saved before the last
 *                @p keep. 0: all stay
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_create(mdist_strategy_t *strategy, const char *folder, uint32_t keep,
                                                 mdist_checkpoint_t **out, mdist_error_t **error);

/**
 * Adds a variable (kept) of the same strategy to what is saved.
 *
 * All workers must add the same variables, in any order.
 * @param name  the name in files, UTF-8; NULL: the variable's own name. Two variables may not share it
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_add(mdist_checkpoint_t *checkpoint, const char *name,
                                              mdist_variable_t *variable, mdist_error_t **error);

/**
 * Adds an iterator (kept), whose position is saved and restored together with the variables.
 *
 * - Saving and restoring work as in mdist_iterator_save and mdist_iterator_restore. Either all iterators are restored,
 *   or none.
 * - All workers must add the same names, in any order, each with its own iterator.
 * - When they save, all workers must have taken the same number of elements; otherwise saving fails with
 *   MDIST_ERR_MISMATCH.
 * - No other call may use the iterator during a save or restore.
 *
 * If a file lacks this iterator, or holds others, restoring fails with MDIST_ERR_MISMATCH, reason
 * `different_variables`. With MDIST_RESTORE_PARTIAL, iterators that the file lacks stay where they are, and others in
 * the file are ignored.
 * @param name  the name in files, UTF-8, not empty; two iterators may not share it
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_add_iterator(mdist_checkpoint_t *checkpoint, const char *name,
                                                       mdist_iterator_t *iterator, mdist_error_t **error);

/**
 * Sets a text that is saved too. It replaces the text that @p key had.
 *
 * The texts of the chief are saved. Restoring gives them to all workers.
 * @param key  UTF-8, not empty, not beginning with "mdist."
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_set_text(mdist_checkpoint_t *checkpoint, const char *key, const char *text,
                                                   mdist_error_t **error);

/**
 * Reads a text that was set or restored. @p text, @p capacity and @p needed work as in mdist_config_get.
 *
 * It fails with MDIST_ERR_NOT_FOUND if @p key has no text.
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_text(const mdist_checkpoint_t *checkpoint, const char *key, char *text,
                                               size_t capacity, size_t *needed, mdist_error_t **error);

/**
 * Returns the number of texts that were set or restored; 0 for a bad handle.
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.3
 */
MDIST_API size_t mdist_checkpoint_text_count(const mdist_checkpoint_t *checkpoint);

/**
 * Gives the key of text @p index, from 0, in the order of the keys' bytes.
 *
 * @p text, @p capacity and @p needed work as in mdist_config_get.
 * @thread one at a time per strategy   @blocks no   @collective no   @calls-back never   @since 0.3
 */
MDIST_API mdist_status_t mdist_checkpoint_text_key(const mdist_checkpoint_t *checkpoint, size_t index, char *text,
                                                   size_t capacity, size_t *needed, mdist_error_t **error);

/**
 * Saves checkpoint @p number, which is the latest from then on. It replaces a checkpoint that has the same number.
 *
 * Mirrored variables are saved as the chief's copy 0. Sync-on-read variables are saved as reduced over all replicas.
 *
 * A failure is the same on all workers, and earlier checkpoints are still there. The strategy stays usable:
 * - MDIST_ERR_IO: the disk is full or refuses. mdist_error_native gives errno.
 * - MDIST_ERR_FAILED_PRECONDITION: a sync-on-read variable has aggregation NONE.
 * - MDIST_ERR_FAILED_PRECONDITION, reason `busy`: another process is saving in the folder.
 * - MDIST_ERR_FAILED_PRECONDITION, reasons `unordered` and `closed`: an iterator cannot be saved.
 * - MDIST_ERR_MISMATCH: workers have different numbers, variables or iterators, or iterators at different positions.
 *
 * @param number   at most 2^63 - 257; for example the number of the step or epoch
 * @param options  timeout_ns must be long enough for the chief to write: the others wait for it
 * @thread one at a time per strategy   @blocks until it is on the disk   @collective all workers   @calls-back never
 * @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_save(mdist_checkpoint_t *checkpoint, uint64_t number,
                                               const mdist_call_options_t *options, mdist_error_t **error);

/**
 * Restores variables, iterators and texts from checkpoint @p number, on all workers.
 *
 * - Mirrored variables: every copy gets the value.
 * - Sync-on-read variables: every copy gets the value. With aggregation SUM, each of N copies gets 1/N of it instead;
 *   integers are truncated towards zero.
 * - Texts: those that the file lacks are removed.
 *
 * A failure is the same on all workers, and nothing has changed then:
 * - MDIST_ERR_NOT_FOUND, reason `no_checkpoint`: there is no such checkpoint.
 * - MDIST_ERR_DATA_LOSS: the file is damaged; the message says what is wrong.
 * - MDIST_ERR_MISMATCH, reason `different_variables`: the file and the checkpoint object do not fit. The message names
 *   variables that are not in the file, tensors of the file that belong to no variable, and those of another dtype or
 *   shape. With MDIST_RESTORE_PARTIAL, variables that are not in the file stay as they are, and tensors that belong to
 *   no variable are ignored. Another dtype or shape still fails.
 *
 * Exception: some variables may have changed if the file can be read once but not again, or if workers are lost
 * meanwhile.
 * @param number    MDIST_LATEST takes the latest; the top of this header says which. Any other number need not be on
 *                  the list: any safetensors file of that name will do
 * @param restored  may be NULL; receives the number
 * @thread one at a time per strategy   @blocks on the file, and until iterators have gone through their elements
 * @collective all workers   @calls-back functions of iterators' datasets, as mdist_iterator_restore   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_restore(mdist_checkpoint_t *checkpoint, uint64_t number, uint64_t *restored,
                                                  const mdist_restore_options_t *options, mdist_error_t **error);

/**
 * Removes all checkpoints from the folder, also those that the list does not name. Call it when the training is done
 * and the next one is to begin anew.
 *
 * It does nothing if there are no checkpoints or no folder. The variables stay as they are. Errors:
 * - MDIST_ERR_IO: some checkpoints cannot be removed.
 * - MDIST_ERR_FAILED_PRECONDITION, reason `busy`: another process is saving in the folder.
 * @thread one at a time per strategy   @blocks on the folder   @collective all workers   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_clear(mdist_checkpoint_t *checkpoint, const mdist_call_options_t *options,
                                                mdist_error_t **error);

/**
 * Finds the number of the checkpoint in @p folder that was saved last. It is for programs that only watch the folder.
 *
 * It fails with MDIST_ERR_NOT_FOUND, reason `no_checkpoint`, if there is none.
 * @thread any   @blocks on the folder   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_checkpoint_latest(const char *folder, uint64_t *number, mdist_error_t **error);

/**
 * Frees a checkpoint object and releases its variables and iterators. The files stay. NULL is fine.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_checkpoint_destroy(mdist_checkpoint_t *checkpoint);

#ifdef __cplusplus
}
#endif

#endif
