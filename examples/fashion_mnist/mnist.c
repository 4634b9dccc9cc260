// SPDX-License-Identifier: Apache-2.0
#include "mnist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// An IDX file is: 0, 0, type (8: unsigned bytes), rank; each dimension as 32 big-endian bits; the bytes.
enum { IDX_UBYTE = 8, IDX_MAX_RANK = 3, MAX_COUNT = 1000000 };

static int complain(const char *path, const char *what) {
    fprintf(stderr, "%s: %s\n", path, what);
    return -1;
}

static int read_header(gzFile file, const char *path, unsigned rank, uint32_t dimensions[IDX_MAX_RANK]) {
    uint8_t bytes[4 + 4 * IDX_MAX_RANK];
    const unsigned size = 4 + 4 * rank;
    if (gzread(file, bytes, size) != (int)size) return complain(path, "too short for an IDX file");
    if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] != IDX_UBYTE || bytes[3] != rank)
        return complain(path, "not an IDX file of unsigned bytes with the dimensions expected here");
    for (unsigned i = 0; i < rank; ++i) {
        const uint8_t *at = bytes + 4 + 4 * i;
        dimensions[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    if (dimensions[0] == 0 || dimensions[0] > MAX_COUNT) return complain(path, "has no items, or more than a million");
    if (rank == 3 && (dimensions[1] != 28 || dimensions[2] != 28)) return complain(path, "images are not 28 x 28");
    return 0;
}

static int read_items(gzFile file, const char *path, unsigned rank, size_t item_size, uint8_t **items, size_t *count) {
    uint32_t dimensions[IDX_MAX_RANK] = {0};
    if (read_header(file, path, rank, dimensions) != 0) return -1;
    const size_t size = dimensions[0] * item_size;
    *items = malloc(size);
    if (!*items) return complain(path, "not enough memory to hold it");
    if (gzread(file, *items, (unsigned)size) != (int)size) return complain(path, "file is too short or damaged");
    uint8_t more;
    if (gzread(file, &more, 1) != 0) return complain(path, "file has bytes after its last item, or is damaged");
    *count = dimensions[0];
    return 0;
}

static int read_file(const char *folder, const char *prefix, const char *suffix, unsigned rank, size_t item_size,
                     uint8_t **items, size_t *count) {
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s-%s", folder, prefix, suffix);
    if (length < 0 || (size_t)length >= sizeof path) return complain(folder, "name too long");
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file) {
        const char *reason = errno ? strerror(errno) : "not enough memory";
        fprintf(stderr, "%s: %s (install dataset-fashion-mnist, or say where it is with --data)\n", path, reason);
        return -1;
    }
    const int result = read_items(file, path, rank, item_size, items, count);
    gzclose(file);
    return result;
}

int mnist_load(const char *folder, const char *prefix, MnistSet *out) {
    MnistSet set = {0};
    size_t labels = 0;
    if (read_file(folder, prefix, "images-idx3-ubyte.gz", 3, MNIST_PIXELS, &set.images, &set.count) != 0 ||
        read_file(folder, prefix, "labels-idx1-ubyte.gz", 1, 1, &set.labels, &labels) != 0) {
        mnist_free(&set);
        return -1;
    }
    uint8_t largest = 0;
    for (size_t i = 0; i < labels; ++i) largest = set.labels[i] > largest ? set.labels[i] : largest;
    if (labels != set.count || largest >= MNIST_CLASSES) {
        fprintf(stderr,
                "%s: %s has %zu images and %zu labels, the largest %u; there must be one label per image, below %d\n",
                folder, prefix, set.count, labels, (unsigned)largest, MNIST_CLASSES);
        mnist_free(&set);
        return -1;
    }
    *out = set;
    return 0;
}

void mnist_free(MnistSet *set) {
    free(set->images);
    free(set->labels);
    memset(set, 0, sizeof *set);
}
