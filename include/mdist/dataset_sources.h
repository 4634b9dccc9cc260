/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sources of datasets: numbers, your own function, and files. (Arrays in memory are in dataset.h.)
 *
 * Example:
 *
 *     const char *pattern = "part-?.txt";
 *     mdist_dataset_t *files = NULL, *lines = NULL;
 *     mdist_iterator_t *iterator = NULL;
 *     mdist_value_t *line = NULL;
 *     mdist_dataset_match_files(&pattern, 1, &files, NULL, &error); // part-0.txt, part-1.txt ...
 *     mdist_dataset_text_lines(files, &lines, NULL, &error);
 *     mdist_iterator_create(lines, &iterator, &error);
 *     mdist_iterator_next(iterator, &line, 1, &error);              // the first line of part-0.txt
 *
 * Reading files takes two datasets:
 * - A dataset of file names, from mdist_dataset_files or mdist_dataset_match_files, says which files to read. It can be
 *   sharded, shuffled and repeated like any other. Each name is an element, without a NUL.
 * - A dataset of records reads these files: mdist_dataset_text_lines, mdist_dataset_fixed_records or
 *   mdist_dataset_tfrecords. Each record is an element.
 *
 * Names and records are elements of one component: a uint8 tensor [length]. Parse records with mdist_dataset_map.
 * (TensorFlow: TextLineDataset, FixedLengthRecordDataset, TFRecordDataset, Dataset.range, from_generator, list_files,
 * interleave.)
 *
 * Files are opened when an iteration reaches them. Only regular files are read, up to the size they had when they were
 * opened. Errors name the file and the offset:
 * - NOT_FOUND: there is no such file.
 * - IO, with reason `permission` if access is denied.
 * - INVALID_ARGUMENT: it is no regular file.
 * - RESOURCE: there are no file descriptors left.
 * - DATA_LOSS, reason `corrupt`: the file is cut off, shrank, fails its checksum, or has a record that is too long.
 *   mdist_read_options_t sets that limit.
 */
#ifndef MDIST_DATASET_SOURCES_H
#define MDIST_DATASET_SOURCES_H

#include <mdist/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a dataset of int64 scalars: @p start, @p start + @p step ... up to @p stop, which is not included.
 *
 * A negative step counts down.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_range(int64_t start, int64_t stop, int64_t step, mdist_dataset_t **out,
                                             const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Makes element @p index of an iteration. It writes to @p outputs, whose memory is allocated already, with undefined
 * content.
 *
 * Returns MDIST_OK, or MDIST_END if there is no such element. Any other number ends the iteration with
 * MDIST_ERR_CALLBACK, and mdist_error_native gives that number.
 *
 * @p state is yours. It is NULL for index 0, which begins an iteration or an epoch of mdist_dataset_repeat. It keeps
 * what you store there for the calls that follow. Each iterator makes one call at a time. The function must not call
 * the iterator that it serves.
 */
typedef int32_t (*mdist_generate_fn)(uint64_t index, const mdist_tensor_t *outputs, size_t output_count, void **state,
                                     void *user_data);

/**
 * Makes a dataset of elements that a function makes, one after the other.
 *
 * The function runs on the thread that calls mdist_iterator_next. Anything that would run it on another thread fails
 * with MDIST_ERR_FAILED_PRECONDITION, reason `callers_thread`: mdist_dataset_prefetch, mdist_dataset_map with
 * `parallel_calls`, and fetch_to_device of input.h. MDIST_DATASET_ANY_THREAD allows it.
 * @param outputs     dtype and shape of each component; data is not read
 * @param user_data   kept, together with the functions, until the dataset, those made from it and their iterators are
 *                    gone
 * @param free_state  receives a @p state that is not NULL when its iteration or epoch is over; may be NULL
 * @thread any   @blocks no   @collective no
 * @calls-back never in this call: generate later, as said, free_state and free_user_data, on any thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_from_generator(mdist_generate_fn generate, void *user_data,
                                                      mdist_free_fn free_user_data, mdist_free_fn free_state,
                                                      const mdist_tensor_t *outputs, size_t output_count,
                                                      mdist_dataset_t **out, const mdist_dataset_options_t *options,
                                                      mdist_error_t **error);

/**
 * Makes a dataset of the file names @p paths, in this order. It does not check whether the files exist: reading them
 * does.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_files(const char *const *paths, size_t count, mdist_dataset_t **out,
                                             const mdist_dataset_options_t *options, mdist_error_t **error);

/**
 * Makes a dataset of the names of all files that match one of @p patterns (`*`, `?` and `[a-z]`, as in a shell).
 *
 * The names are looked up now and sorted by their bytes. A name that matches two patterns comes twice. To shuffle the
 * names, use mdist_dataset_shuffle with a buffer of MDIST_FOREVER. If nothing matches, it fails with
 * MDIST_ERR_NOT_FOUND.
 * @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_match_files(const char *const *patterns, size_t count, mdist_dataset_t **out,
                                                   const mdist_dataset_options_t *options, mdist_error_t **error);

/** How the bytes of a file are compressed. */
typedef enum mdist_compression {
    MDIST_COMPRESSION_NONE      = 0,
    MDIST_COMPRESSION_GZIP      = 1, /* may consist of several members in a row */
    MDIST_COMPRESSION_ZLIB      = 2,
    MDIST_COMPRESSION_PIN_INT32 = -0x7fffffff - 1
} mdist_compression_t;

/** What happens to a corrupt record. */
typedef enum mdist_on_corrupt {
    MDIST_ON_CORRUPT_FAIL      = 0, /* MDIST_ERR_DATA_LOSS */
    MDIST_ON_CORRUPT_SKIP      = 1, /* left out, and counted by mdist_iterator_skipped. If it is not known where the
                                       next record begins, the rest of the file is left out too. */
    MDIST_ON_CORRUPT_PIN_INT32 = -0x7fffffff - 1
} mdist_on_corrupt_t;

/** Options for reading files. NULL, or all zero except struct_size: one file after the other, uncompressed. */
typedef struct mdist_read_options {
    uint32_t struct_size;      /* sizeof(mdist_read_options_t) as you were compiled */
    uint32_t flags;            /* must be 0 */
    int32_t  compression;      /* mdist_compression_t */
    int32_t  on_corrupt;       /* mdist_on_corrupt_t */
    uint64_t cycle_length;     /* how many files are open at a time and take turns, up to 1024; 0: 1 */
    uint64_t block_length;     /* how many records a file gives in its turn; 0: 1 */
    uint64_t max_record_bytes; /* a longer record or line is corrupt; 0: 1 GiB */
    uint64_t parallel_files;   /* how many of the open files are read ahead at a time, on threads of each iterator; up
                                  to 1024. Records, errors and counts stay the same, in the same order. 0: none; files
                                  are read on the thread that asks for the element. (TensorFlow: num_parallel_calls,
                                  num_parallel_reads) */
} mdist_read_options_t;

/**
 * Makes a dataset of the lines of text files.
 *
 * A line does not include its line feed, nor a carriage return before it. The last line needs no line feed.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_text_lines(const mdist_dataset_t *files, mdist_dataset_t **out,
                                                  const mdist_read_options_t *options, mdist_error_t **error);

/**
 * Makes a dataset of records of @p record_bytes each. They lie between a header and a footer of each file.
 *
 * If the bytes between header and footer are not a whole number of records, the file is corrupt.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_fixed_records(const mdist_dataset_t *files, uint64_t record_bytes,
                                                     uint64_t header_bytes, uint64_t footer_bytes,
                                                     mdist_dataset_t **out, const mdist_read_options_t *options,
                                                     mdist_error_t **error);

/**
 * Makes a dataset of the records of TFRecord files.
 *
 * The checksums of length and data are verified. If records differ in length, use mdist_dataset_map before
 * mdist_dataset_batch, or use mdist_dataset_padded_batch.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_tfrecords(const mdist_dataset_t *files, mdist_dataset_t **out,
                                                 const mdist_read_options_t *options, mdist_error_t **error);

/**
 * Tells how many corrupt records the sources of this iterator have left out so far.
 *
 * This includes records left out while elements were made ahead, as under mdist_dataset_prefetch. A file whose rest
 * could not be read counts as one.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_skipped(const mdist_iterator_t *iterator, uint64_t *out, mdist_error_t **error);

/** A TFRecord file that is being written. */
typedef struct mdist_record_writer mdist_record_writer_t;

/** Options of a writer. NULL, or all zero except struct_size: no compression. */
typedef struct mdist_record_writer_options {
    uint32_t struct_size; /* sizeof(mdist_record_writer_options_t) as you were compiled */
    int32_t compression;  /* mdist_compression_t; readers need the same value in mdist_read_options_t */
} mdist_record_writer_options_t;

/**
 * Begins a TFRecord file.
 *
 * The file has another name in the same folder until mdist_record_writer_close. So @p path always holds either what was
 * there before or the whole new file, even after a crash. (TensorFlow: TFRecordWriter.)
 * @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_record_writer_create(const char *path, mdist_record_writer_t **out,
                                                    const mdist_record_writer_options_t *options,
                                                    mdist_error_t **error);

/**
 * Adds a record to the file.
 *
 * A writer that fails returns the same error from then on. For example, a full disk is MDIST_ERR_IO, and
 * mdist_error_native gives errno.
 * @param data  may be NULL if @p bytes is 0: a record may be empty
 * @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_record_writer_write(mdist_record_writer_t *writer, const void *data, size_t bytes,
                                                   mdist_error_t **error);

/**
 * Ends the file, flushes it to the disk and gives it its name.
 *
 * Writing afterwards fails with MDIST_ERR_FAILED_PRECONDITION, reason `closed`. Closing again does nothing.
 * @thread any   @blocks until the disk has it   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_record_writer_close(mdist_record_writer_t *writer, mdist_error_t **error);

/**
 * Frees a writer. Removes the file if it was not closed. NULL is fine.
 * @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_record_writer_destroy(mdist_record_writer_t *writer);

#ifdef __cplusplus
}
#endif

#endif
