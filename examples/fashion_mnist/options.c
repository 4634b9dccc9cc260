// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mnist.h"

static const char help[] =
    "Trains a small network on Fashion-MNIST with several mirrored replicas.\n"
    "\n"
    "  --devices LIST   a replica on each: gpu, gpu:0,gpu:1, cpu*4 (default: what the\n"
    "                   configuration says under `devices`, else cpu*2)\n"
    "  --replicas N     so many on this machine's CPU (default: what the configuration\n"
    "                   says under `devices`, else 2)\n"
    "  --epochs N       times over the training images (default 10)\n"
    "  --batch N        images per step, over all replicas (default 128)\n"
    "  --config FILE    YAML configuration of libmdist\n"
    "  --checkpoint DIR save a checkpoint there after each epoch; begin after the last one\n"
    "  --limit-steps N  stop training after N steps\n"
    "  --elastic        go on when workers are killed; the replicas are those of the key\n"
    "                   elastic.replicas (MDIST_ELASTIC_REPLICAS)\n"
    "  --commit N       with --elastic: steps between two commits (default 10)\n"
    "  --mirrored       with --elastic: replicas have no state of their own, so any worker\n"
    "                   may be the only one that is left\n"
    "  --data DIR       folder of the four IDX files\n"
    "                   (default " MNIST_FOLDER
    ")\n"
    "  --records DIR    take the images from TFRecord files of that folder instead,\n"
    "                   train-*.tfrecord and t10k-*.tfrecord, as `mdist records` makes them\n"
    "  --help           this text\n";

typedef struct Option {
    const char *name;
    uint64_t *number; // either this, from 1 to limit
    uint64_t limit;
    const char **text; // or this
    int *flag;         // or this, without a value
} Option;

static int refuse(const char *name, const char *value, const char *right) {
    fprintf(stderr, "fashion_mnist: --%s%s%s: %s; --help lists the options\n", name, value ? " " : "",
            value ? value : "", right);
    return 2;
}

static int set(const Option *option, const char *value) {
    if (!value || !*value) return refuse(option->name, NULL, option->number ? "needs a number" : "needs a value");
    if (option->text) {
        *option->text = value;
        return -1;
    }
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end || errno || number < 1 || number > option->limit) {
        char right[64];
        snprintf(right, sizeof right, "must be a whole number from 1 to %llu", (unsigned long long)option->limit);
        return refuse(option->name, value, right);
    }
    *option->number = number;
    return -1;
}

int options_parse(int argument_count, char **arguments, Options *out) {
    *out = (Options){.epochs = 10, .batch = 128, .commit = 10, .data = MNIST_FOLDER};
    const Option known[] = {
        {"replicas", &out->replicas, 256, NULL, NULL},
        {"epochs", &out->epochs, 10000, NULL, NULL},
        {"batch", &out->batch, 1000000, NULL, NULL},
        {"devices", NULL, 0, &out->devices, NULL},
        {"config", NULL, 0, &out->config, NULL},
        {"checkpoint", NULL, 0, &out->checkpoint, NULL},
        {"limit-steps", &out->limit_steps, 1000000000, NULL, NULL},
        {"commit", &out->commit, 1000000000, NULL, NULL},
        {"elastic", NULL, 0, NULL, &out->elastic},
        {"mirrored", NULL, 0, NULL, &out->mirrored},
        {"data", NULL, 0, &out->data, NULL},
        {"records", NULL, 0, &out->records, NULL},
    };
    for (int i = 1; i < argument_count; ++i) {
        if (strcmp(arguments[i], "--help") == 0) {
            fputs(help, stdout);
            return 0;
        }
        const char *name = arguments[i];
        if (strncmp(name, "--", 2) != 0) {
            fprintf(stderr, "fashion_mnist: %s: options start with --; --help lists them\n", name);
            return 2;
        }
        name += 2;
        const size_t length = strcspn(name, "=");
        const Option *found = NULL;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k)
            if (strlen(known[k].name) == length && strncmp(known[k].name, name, length) == 0) found = &known[k];
        if (!found) return refuse(name, NULL, "no such option");
        if (found->flag) {
            if (name[length] == '=') return refuse(found->name, NULL, "takes no value");
            *found->flag = 1;
            continue;
        }
        const char *value = name[length] == '=' ? name + length + 1 : arguments[++i]; // NULL behind the last one
        const int status = set(found, value);
        if (status >= 0) return status;
    }
    if (out->elastic && (out->replicas != 0 || out->devices || out->checkpoint))
        return refuse("elastic", NULL, "does not go with --replicas, --devices or --checkpoint");
    return -1;
}
