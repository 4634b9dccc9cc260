// SPDX-License-Identifier: Apache-2.0
// One set of options for each flag of datasets.
#pragma once

#include <mdist/dataset.h>

static const mdist_dataset_options_t whole_batches = {sizeof(mdist_dataset_options_t), MDIST_DATASET_DROP_REMAINDER, 0,
                                                      0};
static const mdist_dataset_options_t same_order = {sizeof(mdist_dataset_options_t), MDIST_DATASET_SAME_ORDER, 0, 0};
static const mdist_dataset_options_t any_thread = {sizeof(mdist_dataset_options_t), MDIST_DATASET_ANY_THREAD, 0, 0};
