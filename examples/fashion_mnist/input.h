// SPDX-License-Identifier: Apache-2.0
// Input: from images in memory, or in files, to batches cut over the replicas of a strategy.
#pragma once

#include <mdist/mdist.h>

#include "mnist.h"

// A dataset of batches {float32 images [rows][784], uint8 labels [rows]}; the last one may be short. Images lie between
// 0 and 1. With shuffle_seed other than 0, each iteration has an order of its own. set must outlive the dataset.
mdist_status_t input_create(mdist_strategy_t *strategy, const MnistSet *set, uint64_t batch, uint64_t shuffle_seed,
                            mdist_dataset_t **out, mdist_error_t **error);

// The same batches from TFRecord files <folder>/<prefix>-*.tfrecord, made by `mdist records`; count receives how many
// images they hold.
mdist_status_t input_create_from_records(mdist_strategy_t *strategy, const char *folder, const char *prefix,
                                         uint64_t batch, uint64_t shuffle_seed, uint64_t *count, mdist_dataset_t **out,
                                         mdist_error_t **error);
