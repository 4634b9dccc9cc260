// SPDX-License-Identifier: Apache-2.0
// Prints a digest of the results of random collectives: DIGEST SEED COUNT. For one number of replicas it is the same on
// every worker, in every layout, and with every build of the library that keeps the bits.
#include <mdist/mdist.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST_PART = 60000, MOST_REPLICAS = 64 };

typedef struct Program {
    uint64_t seed;
    uint32_t count;
    uint64_t digests[MOST_REPLICAS]; // by replica id; only local ones are set
} Program;

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/// Of ordinary size, so that every order of a sum rounds differently.
static void fill(mdist_buffer_t buffer, uint64_t state) {
    for (uint64_t i = 0; i < buffer.elements; ++i) {
        const double value = 0.5 + (double)next(&state) / 2147483648.0;
        if (buffer.dtype == MDIST_FLOAT64)
            ((double *)buffer.data)[i] = value;
        else if (buffer.dtype == MDIST_FLOAT32)
            ((float *)buffer.data)[i] = (float)value;
        else // 0.5 to 1, in either type of 16 bits
            ((uint16_t *)buffer.data)[i] =
                (uint16_t)(buffer.dtype == MDIST_BFLOAT16 ? 0x3f00 + next(&state) % 128 : 0x3800 + next(&state) % 1024);
    }
}

/// All replicas draw the same call.
static mdist_status_t perform(mdist_replica_t *replica, uint64_t draw, char *in, char *out, mdist_buffer_t *result,
                              mdist_error_t **error) {
    static const int32_t types[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16};
    static const uint64_t sizes[] = {1, 63, 1000, 9000, MOST_PART};
    static const mdist_reduce_op_t ops[] = {MDIST_SUM, MDIST_MEAN, MDIST_MAX, MDIST_PROD};
    uint64_t state = draw;
    const uint32_t id = mdist_replica_id(replica), replicas = mdist_replica_count(replica);
    const uint32_t root = (uint32_t)next(&state) % replicas;
    const int32_t type = types[next(&state) % 4];
    const uint64_t part = 1 + next(&state) % sizes[next(&state) % 5], whole = part * replicas;
    const mdist_reduce_op_t op = ops[next(&state) % 4];
    const mdist_buffer_t ins = {in, whole, type, 0}, outs = {out, whole, type, 0};
    const mdist_buffer_t short_in = {in, part, type, 0}, short_out = {out, part, type, 0};
    const uint64_t kind = next(&state) % 9;
    fill(ins, draw ^ (id + 1) * 0x9e3779b97f4a7c15u);
    *result = outs;
    switch (kind) {
        case 0:
            *result = short_out;
            return mdist_reduce_scatter(replica, op, &ins, &short_out, 1, NULL, error);
        case 1:
            return mdist_all_gather(replica, &short_in, &outs, 1, NULL, error);
        case 2:
            return mdist_all_to_all(replica, &ins, &outs, 1, NULL, error);
        case 3:
            *result = ins;
            return mdist_broadcast(replica, root, &ins, 1, NULL, error);
        case 4:
            if (id != root) result->elements = 0;
            return mdist_reduce_to_root(replica, op, root, &ins, &outs, 1, NULL, error);
        case 5:
            *result = ins; // in place
            return mdist_all_reduce(replica, op, &ins, &ins, 1, NULL, error);
        default:
            return mdist_all_reduce(replica, op, &ins, &outs, 1, NULL, error);
    }
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Program *const program = user_data;
    const size_t bytes = (size_t)MOST_PART * mdist_replica_count(replica) * 8;
    char *const in = malloc(bytes), *const out = malloc(bytes);
    mdist_error_t *error = NULL;
    uint64_t digest = 1469598103934665603u;
    int32_t failed = in == NULL || out == NULL;
    for (uint32_t i = 0; !failed && i < program->count; ++i) {
        uint64_t state = program->seed * 1000003 + i;
        next(&state);
        mdist_buffer_t result;
        failed = perform(replica, state, in, out, &result, &error) != MDIST_OK;
        static const size_t widths[] = {8, 4, 2};
        const size_t width = widths[result.dtype == MDIST_FLOAT64 ? 0 : result.dtype == MDIST_FLOAT32 ? 1 : 2];
        const unsigned char *const data = result.data;
        for (size_t byte = 0; !failed && byte < result.elements * width; ++byte)
            digest = (digest ^ data[byte]) * 1099511628211u;
    }
    if (failed) fprintf(stderr, "%s\n", error != NULL ? mdist_error_message(error) : "no memory");
    mdist_error_free(error);
    free(in);
    free(out);
    program->digests[mdist_replica_id(replica)] = digest;
    return failed;
}

int main(int argc, char **argv) {
    static Program program;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = NULL;
    if (argc != 3) return 2;
    program.seed = strtoull(argv[1], NULL, 10);
    program.count = (uint32_t)strtoul(argv[2], NULL, 10);
    mdist_status_t status = mdist_strategy_create(NULL, &strategy, &error);
    if (status == MDIST_OK) status = mdist_run(strategy, step, &program, NULL, &error);
    if (status != MDIST_OK) return fprintf(stderr, "%s\n", mdist_error_message(error)), 1;
    for (uint32_t id = 0; id < MOST_REPLICAS; ++id)
        if (program.digests[id] != 0) printf("replica %u: %016llx\n", id, (unsigned long long)program.digests[id]);
    mdist_strategy_destroy(strategy);
    return 0;
}
