// SPDX-License-Identifier: Apache-2.0
// Input: makes batches from images in memory or in files, and splits them over the replicas of a strategy.
#pragma once

#include <mdist/mdist.h>

#include "mnist.h"

// A dataset of batches {float32 images [rows][784], uint8 labels [rows]}; the last one may be short. Images lie between
// 0 and 1. If shuffle_seed is not 0, each iteration has an order of its own. set must outlive the dataset.
mdist_status_t input_create(mdist_strategy_t *strategy, const MnistSet *set, uint64_t batch, uint64_t shuffle_seed,
                            mdist_dataset_t **out, mdist_error_t **error);

// Makes the same batches from TFRecord files <folder>/<prefix>-*.tfrecord, made by `mdist records`. count receives the
// number of images.
mdist_status_t input_create_from_records(mdist_strategy_t *strategy, const char *folder, const char *prefix,
                                         uint64_t batch, uint64_t shuffle_seed, uint64_t *count, mdist_dataset_t **out,
                                         mdist_error_t **error);
