// SPDX-License-Identifier: Apache-2.0
// Mnist: images and labels from the gzipped IDX files that MNIST and its siblings come in. Everything a file claims is
// checked; what is in memory afterwards are 28 x 28 images and labels below 10, as many of the one as of the other.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MNIST_FOLDER "/usr/share/datasets/fashion-mnist" // where Debian's dataset-fashion-mnist puts it

enum { MNIST_PIXELS = 28 * 28, MNIST_CLASSES = 10 };

typedef struct MnistSet {
    uint8_t *images; // [count][MNIST_PIXELS], 0 is background
    uint8_t *labels; // [count]
    size_t count;
} MnistSet;

// Reads <folder>/<prefix>-images-idx3-ubyte.gz and <folder>/<prefix>-labels-idx1-ubyte.gz. Returns 0, or -1 after a
// sentence on stderr.
int mnist_load(const char *folder, const char *prefix, MnistSet *out);

void mnist_free(MnistSet *set);
