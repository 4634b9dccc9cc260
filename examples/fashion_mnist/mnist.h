// SPDX-License-Identifier: Apache-2.0
// Mnist: reads images and labels from gzipped IDX files, the format of MNIST and similar datasets. It checks everything
// that a file claims. Afterwards there are as many 28 x 28 images as labels, and all labels are below 10.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MNIST_FOLDER "/usr/share/datasets/fashion-mnist" // the folder of Debian's dataset-fashion-mnist

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
