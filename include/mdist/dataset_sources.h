/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sources of datasets besides arrays in memory: numbers, your own function, and files.
 *
 * Files take two steps. A dataset of names (mdist_dataset_files, mdist_dataset_match_files) says which files; it can be
 * sharded, shuffled and repeated like any other. One of mdist_dataset_text_lines, mdist_dataset_fixed_records and
 * mdist_dataset_tfrecords reads them: each record is an element of one component, a uint8 tensor [length], which
 * mdist_dataset_map parses. A name, too, is such an element, without a NUL. (TensorFlow: TextLineDataset,
 * FixedLengthRecordDataset, TFRecordDataset, Dataset.range, from_generator, list_files, interleave.)
 *
 * Files are opened when an iteration comes to them. Only regular files are read, up to the size they had when they were
 * opened. Errors name the file and the offset: NOT_FOUND, IO (reason `permission`), INVALID_ARGUMENT (no regular file),
 * RESOURCE (no descriptors left), and DATA_LOSS, reason `corrupt`, for what is cut off, shrank, fails its checksum, or
 * claims to be longer than allowed; see mdist_read_options_t.
 */
#ifndef MDIST_DATASET_SOURCES_H
#define MDIST_DATASET_SOURCES_H

#include <mdist/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Scalars of int64: @p start, @p start + @p step ... as long as they lie before @p stop (past it, for a negative step).
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_range(int64_t start, int64_t stop, int64_t step, mdist_dataset_t **out,
                                             mdist_error_t **error);

/**
 * Makes element @p index of an iteration, into memory that is already there, content undefined. Returns MDIST_OK, or
 * MDIST_END where there is no such element, or any other number to end the iteration with MDIST_ERR_CALLBACK, which
 * mdist_error_native then gives.
 * @p state is NULL for index 0, which begins an iteration or an epoch of mdist_dataset_repeat, and keeps what you leave
 * there for the calls that follow. One call at a time per iterator; it must not call the iterator it serves.
 */
typedef int32_t (*mdist_generate_fn)(uint64_t index, const mdist_tensor_t *outputs, size_t output_count, void **state,
                                     void *user_data);

/** The function may run on any thread, also of the library, so that prefetch and the like may follow. */
#define MDIST_GENERATOR_ANY_THREAD 1

/**
 * Elements that a function makes, one after the other. It runs on the thread that calls mdist_iterator_next; what would
 * run it elsewhere (mdist_dataset_prefetch, mdist_dataset_map_parallel, fetch_to_device of input.h) is
 * MDIST_ERR_FAILED_PRECONDITION, reason `callers_thread`, unless @p flags has MDIST_GENERATOR_ANY_THREAD.
 * @param outputs  dtype and shape of each component; data is not read
 * @param user_data  kept, with the functions, until the dataset, those made from it and their iterators are gone
 * @param free_state  gets a @p state that is not NULL, when its iteration or epoch is over; may be NULL
 * @thread any   @blocks no   @collective no
 * @calls-back never in this call: generate later, as said, free_state and free_user_data, on any thread   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_from_generator(mdist_generate_fn generate, void *user_data,
                                                      mdist_free_fn free_user_data, mdist_free_fn free_state,
                                                      const mdist_tensor_t *outputs, size_t output_count,
                                                      uint32_t flags, mdist_dataset_t **out, mdist_error_t **error);

/**
 * The names @p paths, in this order. Whether there are such files shows when they are read.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_files(const char *const *paths, size_t count, mdist_dataset_t **out,
                                             mdist_error_t **error);

/**
 * The names of all files that match one of @p patterns (`*`, `?` and `[a-z]`, as a shell knows them), sorted by their
 * bytes; one that two patterns match comes twice. They are looked up now. To shuffle them, mdist_dataset_shuffle with a
 * buffer of MDIST_FOREVER. No match at all is MDIST_ERR_NOT_FOUND.
 * @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_match_files(const char *const *patterns, size_t count, mdist_dataset_t **out,
                                                   mdist_error_t **error);

/** How the bytes of a file are packed. */
typedef enum mdist_compression {
    MDIST_COMPRESSION_NONE      = 0,
    MDIST_COMPRESSION_GZIP      = 1, /* several members in a row, too */
    MDIST_COMPRESSION_ZLIB      = 2,
    MDIST_COMPRESSION_PIN_INT32 = -0x7fffffff - 1
} mdist_compression_t;

/** What becomes of a record that is not what it should be. */
typedef enum mdist_on_corrupt {
    MDIST_ON_CORRUPT_FAIL      = 0, /* MDIST_ERR_DATA_LOSS */
    MDIST_ON_CORRUPT_SKIP      = 1, /* left out, and counted: mdist_iterator_skipped; with it the rest of its file where
                                       nobody can say where the next record begins */
    MDIST_ON_CORRUPT_PIN_INT32 = -0x7fffffff - 1
} mdist_on_corrupt_t;

/** How files are read. NULL, or all zero but struct_size: one after the other, uncompressed. */
typedef struct mdist_read_options {
    uint32_t struct_size;      /* sizeof(mdist_read_options_t) as you were compiled */
    uint32_t flags;            /* must be 0 */
    int32_t  compression;      /* mdist_compression_t */
    int32_t  on_corrupt;       /* mdist_on_corrupt_t */
    uint64_t cycle_length;     /* files that are open at a time and take turns, up to 1024; 0: 1 */
    uint64_t block_length;     /* records of a turn; 0: 1 */
    uint64_t max_record_bytes; /* a longer record, or line, is corrupt; 0: 1 GiB */
    uint64_t parallel_files;   /* of those that are open, how many threads of each iterator read ahead at a time, up to
                                  1024: the same records, errors and counts, in the same order; 0: none, they are read
                                  on the thread that asks (TensorFlow: num_parallel_calls, num_parallel_reads) */
} mdist_read_options_t;

/**
 * The lines of text files, without the line feed and a carriage return before it. The last needs no line feed.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_text_lines(const mdist_dataset_t *files, const mdist_read_options_t *options,
                                                  mdist_dataset_t **out, mdist_error_t **error);

/**
 * Records of @p record_bytes each, between a header and a footer of each file. What lies between them must be a whole
 * number of records, else it is corrupt.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_fixed_records(const mdist_dataset_t *files, uint64_t record_bytes,
                                                     uint64_t header_bytes, uint64_t footer_bytes,
                                                     const mdist_read_options_t *options, mdist_dataset_t **out,
                                                     mdist_error_t **error);

/**
 * Records of TFRecord files. The checksums of length and data are compared. Where records differ in length,
 * mdist_dataset_map or mdist_dataset_padded_batch comes before a batch.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_dataset_tfrecords(const mdist_dataset_t *files, const mdist_read_options_t *options,
                                                 mdist_dataset_t **out, mdist_error_t **error);

/**
 * How many corrupt records this iterator's sources have left out so far, also ahead of the elements taken, as under
 * mdist_dataset_prefetch. A file whose rest could not be read counts as one.
 * @thread any   @blocks no   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_iterator_skipped(const mdist_iterator_t *iterator, uint64_t *out, mdist_error_t **error);

/** A TFRecord file that is being written. */
typedef struct mdist_record_writer mdist_record_writer_t;

/**
 * Begins a TFRecord file. Until mdist_record_writer_close it has another name, in the same folder: so at @p path there
 * is what was there before, or the whole new file, also after a crash. (TensorFlow: TFRecordWriter.)
 * @param compression  mdist_compression_t, which readers must be told: mdist_read_options_t
 * @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_record_writer_create(const char *path, int32_t compression, mdist_record_writer_t **out,
                                                    mdist_error_t **error);

/**
 * Adds a record. A writer that failed, as where the disk is full (MDIST_ERR_IO; mdist_error_native gives errno),
 * returns that error for ever.
 * @param data  may be NULL if @p bytes is 0: a record may be empty
 * @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_record_writer_write(mdist_record_writer_t *writer, const void *data, size_t bytes,
                                                   mdist_error_t **error);

/**
 * Ends the file, flushes it to the disk and gives it its name. Afterwards writing is MDIST_ERR_FAILED_PRECONDITION,
 * reason `closed`, and closing again does nothing.
 * @thread any   @blocks until the disk has it   @collective no   @calls-back never   @since 0.1
 */
MDIST_API mdist_status_t mdist_record_writer_close(mdist_record_writer_t *writer, mdist_error_t **error);

/**
 * Frees a writer; a file that was not closed is removed. NULL is fine.
 * @thread any   @blocks for the file system   @collective no   @calls-back never   @since 0.1
 */
MDIST_API void mdist_record_writer_destroy(mdist_record_writer_t *writer);

#ifdef __cplusplus
}
#endif

#endif
