// SPDX-License-Identifier: Apache-2.0
// Groups of replicas of one worker: random groups, in which each call gives what its definition says for the group's
// order, and layouts of two dimensions.
#include "collective_support.h"
#include "started.h"

enum { MOST = 8, GROUPS = 5, CALLS = 30, ARENA = 1 << 17 };

typedef enum Form { REDUCE, COPY, JOIN, SCATTERED, SHUFFLE, MEET, TO_ROOT, JOIN_AT_ROOT, FROM_ROOT, PARTS, FORMS } Form;

typedef struct Members {
    uint32_t list[MOST], count;
    mdist_group_t *group; // NULL: all replicas
} Members;

/// One call. Replica list[p] gives length[p] elements in a join, and takes as many in a scatter; all lengths are equal
/// in the other forms.
typedef struct Plan {
    Form form;
    const Members *members;
    int op, started;
    int32_t dtype;
    uint32_t root; // position
    uint64_t length[MOST], total;
    uint64_t given[MOST][MOST], taken[MOST][MOST]; // in an all-to-all of parts: of each position, by the other one
    unsigned char *in[MOST], *out[MOST];           // by position
} Plan;

typedef struct World {
    Members all, groups[GROUPS];
    Plan plans[CALLS];
    uint32_t n;
    Note notes[MOST];
} World;

static uint32_t position_in(const Members *members, uint32_t id) {
    uint32_t position = 0;
    while (position < members->count && members->list[position] != id) ++position;
    return position;
}

static void draw_members(Members *members, uint32_t n) {
    for (uint32_t r = 0; r < n; ++r) {
        const uint32_t other = (uint32_t)below(r + 1);
        members->list[r] = members->list[other];
        members->list[other] = r;
    }
    members->count = 1 + (uint32_t)below(n);
}

static int joins(Form form) {
    return form == JOIN || form == JOIN_AT_ROOT;
}
static int scatters(Form form) {
    return form == SCATTERED || form == FROM_ROOT;
}

/// Bytes of the input and the output of a position.
static size_t in_bytes(const Plan *plan, uint32_t p) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->members->count; ++i) sum += plan->given[p][i];
    if (plan->form == PARTS) return sum * mdist_dtype_size((mdist_dtype_t)plan->dtype);
    return (scatters(plan->form) ? plan->total : plan->length[p]) * mdist_dtype_size((mdist_dtype_t)plan->dtype);
}
static size_t out_bytes(const Plan *plan, uint32_t p) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->members->count; ++i) sum += plan->taken[p][i];
    if (plan->form == PARTS) return sum * mdist_dtype_size((mdist_dtype_t)plan->dtype);
    return (joins(plan->form) ? plan->total : plan->length[p]) * mdist_dtype_size((mdist_dtype_t)plan->dtype);
}

static void draw_plan(Plan *plan, const World *world) {
    memset(plan, 0, sizeof *plan);
    plan->members = below(6) == 0 ? &world->all : &world->groups[below(GROUPS)];
    const uint32_t n = plan->members->count;
    plan->form = (Form)below(FORMS);
    plan->started = below(3) == 0;
    plan->root = (uint32_t)below(n);
    plan->dtype = (int32_t)(1 + below(DTYPES));
    do plan->op = (int)(1 + below(OPS));
    while (!takes(plan->op, plan->dtype));
    const uint64_t length = below(3) == 0 ? below(4000) : below(40);
    for (uint32_t p = 0; p < n; ++p) {
        plan->length[p] = joins(plan->form) || scatters(plan->form) ? below(length + 1) : length;
        if (plan->form == SHUFFLE) plan->length[p] = length / n * n;
        plan->total += plan->length[p];
        for (uint32_t i = 0; i < n; ++i) plan->given[p][i] = plan->taken[i][p] = below(3) == 0 ? 0 : below(60);
    }
    for (uint32_t p = 0; p < n; ++p) {
        plan->in[p] = malloc(in_bytes(plan, p) + 1);
        plan->out[p] = calloc(1, out_bytes(plan, p) + 1);
        assert_non_null(plan->in[p]);
        assert_non_null(plan->out[p]);
        fill(plan->dtype, plan->in[p], in_bytes(plan, p) / mdist_dtype_size((mdist_dtype_t)plan->dtype));
        if (plan->form == COPY) memcpy(plan->out[p], plan->in[p], in_bytes(plan, p));
    }
}

static mdist_status_t make(const Plan *plan, mdist_replica_t *replica, uint32_t p, mdist_error_t **error) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)plan->dtype);
    const mdist_buffer_t in = buffer_of(plan->in[p], (mdist_dtype_t)plan->dtype, in_bytes(plan, p) / size);
    const mdist_buffer_t out = buffer_of(plan->out[p], (mdist_dtype_t)plan->dtype, out_bytes(plan, p) / size);
    const mdist_call_options_t options = {.struct_size = sizeof options, .group = plan->members->group};
    const mdist_reduce_op_t op = (mdist_reduce_op_t)plan->op;
    const uint32_t root = plan->members->list[plan->root];
    mdist_work_t *work = NULL;
    mdist_status_t status = MDIST_OK;
    if (!plan->started || p % 2 == 1) { // some start what others call in the blocking form
        switch (plan->form) {
            case REDUCE:
                return mdist_all_reduce(replica, op, &in, &out, 1, &options, error);
            case COPY:
                return mdist_broadcast(replica, root, &out, 1, &options, error);
            case JOIN:
                return mdist_all_gather(replica, &in, &out, 1, &options, error);
            case SCATTERED:
                return mdist_reduce_scatter(replica, op, &in, &out, 1, &options, error);
            case SHUFFLE:
                return mdist_all_to_all(replica, &in, &out, 1, &options, error);
            case PARTS:
                return mdist_all_to_all_parts(replica, &in, plan->given[p], &out, plan->taken[p], 1, &options, error);
            case TO_ROOT:
                return mdist_reduce_to_root(replica, op, root, &in, &out, 1, &options, error);
            case JOIN_AT_ROOT:
                return mdist_gather_to_root(replica, root, &in, &out, 1, &options, error);
            case FROM_ROOT:
                return mdist_scatter(replica, root, &in, &out, 1, &options, error);
            default:
                return mdist_barrier(replica, &options, error);
        }
    }
    switch (plan->form) {
        case REDUCE:
            status = start_all_reduce(replica, op, &in, &out, 1, &work, &options, error);
            break;
        case COPY:
            status = start_broadcast(replica, root, &out, 1, &work, &options, error);
            break;
        case JOIN:
            status = start_all_gather(replica, &in, &out, 1, &work, &options, error);
            break;
        case SCATTERED:
            status = start_reduce_scatter(replica, op, &in, &out, 1, &work, &options, error);
            break;
        case SHUFFLE:
            status = start_all_to_all(replica, &in, &out, 1, &work, &options, error);
            break;
        case PARTS:
            status =
                start_all_to_all_parts(replica, &in, plan->given[p], &out, plan->taken[p], 1, &work, &options, error);
            break;
        case TO_ROOT:
            status = start_reduce_to_root(replica, op, root, &in, &out, 1, &work, &options, error);
            break;
        case JOIN_AT_ROOT:
            status = start_gather_to_root(replica, root, &in, &out, 1, &work, &options, error);
            break;
        case FROM_ROOT:
            status = start_scatter(replica, root, &in, &out, 1, &work, &options, error);
            break;
        default:
            status = start_barrier(replica, &work, &options, error);
    }
    int32_t done = 0;
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, error);
    mdist_work_destroy(work);
    return status;
}

/// What a position must have in the end. Returns 0 if its output is undefined.
static int expect(const Plan *plan, uint32_t p, unsigned char *wanted) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)plan->dtype);
    const uint32_t n = plan->members->count;
    size_t at = 0, before = 0;
    for (uint32_t i = 0; i < p; ++i) before += plan->length[i] * size;
    const unsigned char *sources[MAX_REPLICAS] = {NULL};
    for (uint32_t i = 0; i < n; ++i) sources[i] = plan->in[i] + (plan->form == SCATTERED ? before : 0);
    switch (plan->form) {
        case TO_ROOT:
            if (p != plan->root) return 0;
            reduce_plainly(plan->op, plan->dtype, sources, n, wanted, plan->length[p]);
            return 1;
        case REDUCE:
        case SCATTERED:
            reduce_plainly(plan->op, plan->dtype, sources, n, wanted, plan->length[p]);
            return 1;
        case COPY:
            memcpy(wanted, plan->in[plan->root], out_bytes(plan, p));
            return 1;
        case JOIN_AT_ROOT:
        case JOIN:
            if (plan->form == JOIN_AT_ROOT && p != plan->root) return 0;
            for (uint32_t i = 0; i < n; at += plan->length[i] * size, ++i)
                memcpy(wanted + at, plan->in[i], plan->length[i] * size);
            return 1;
        case FROM_ROOT:
            memcpy(wanted, plan->in[plan->root] + before, out_bytes(plan, p));
            return 1;
        case SHUFFLE:
            for (uint32_t i = 0; i < n; ++i) {
                const size_t part = out_bytes(plan, p) / n;
                memcpy(wanted + i * part, plan->in[i] + p * part, part);
            }
            return 1;
        case PARTS:
            for (uint32_t i = 0; i < n; at += plan->taken[p][i] * size, ++i) {
                size_t from = 0;
                for (uint32_t j = 0; j < p; ++j) from += plan->given[i][j] * size;
                memcpy(wanted + at, plan->in[i] + from, plan->taken[p][i] * size);
            }
            return 1;
        default:
            return 0;
    }
}

static int32_t random_step(mdist_replica_t *replica, void *user_data) {
    World *world = user_data;
    const uint32_t id = mdist_replica_id(replica);
    for (int c = 0; c < CALLS; ++c) {
        const Plan *plan = &world->plans[c];
        const uint32_t p = position_in(plan->members, id);
        mdist_error_t *error = NULL;
        if (p < plan->members->count &&
            note(&world->notes[id], MDIST_OK, make(plan, replica, p, &error), &error, "a call"))
            return 1;
    }
    return 0;
}

static void check_plan(const Plan *plan, int c) {
    unsigned char *wanted = malloc(ARENA * 4);
    assert_non_null(wanted);
    for (uint32_t p = 0; p < plan->members->count; ++p) {
        if (expect(plan, p, wanted) && memcmp(wanted, plan->out[p], out_bytes(plan, p)) != 0)
            fail_msg("call %d, form %d, op %d, dtype %d, %u members: position %u (replica %u) has other bits", c,
                     (int)plan->form, plan->op, (int)plan->dtype, (unsigned)plan->members->count, (unsigned)p,
                     (unsigned)plan->members->list[p]);
    }
    for (uint32_t p = 0; p < plan->members->count; ++p) {
        free(plan->in[p]);
        free(plan->out[p]);
    }
    free(wanted);
}

static void random_groups_do_what_the_header_says(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    seed_random(18);
    for (int round = 0; round < (is_long() ? 400 : 40); ++round) {
        World *world = calloc(1, sizeof *world);
        assert_non_null(world);
        world->n = 1 + (uint32_t)below(MOST);
        mdist_strategy_t *strategy = make_strategy(world->n, NULL);
        for (world->all.count = 0; world->all.count < world->n; ++world->all.count)
            world->all.list[world->all.count] = world->all.count;
        for (int g = 0; g < GROUPS; ++g) {
            Members *members = &world->groups[g];
            draw_members(members, world->n);
            OK(mdist_group_create(strategy, members->list, members->count, &members->group, &error));
            assert_int_equal(mdist_group_size(members->group), members->count);
            for (uint32_t r = 0; r < world->n; ++r) {
                const uint32_t p = position_in(members, r);
                assert_int_equal(mdist_group_position(members->group, r), p < members->count ? p : MDIST_NONE);
            }
        }
        for (int c = 0; c < CALLS; ++c) draw_plan(&world->plans[c], world);
        const mdist_status_t status = mdist_run(strategy, random_step, world, NULL, &error);
        for (uint32_t r = 0; r < world->n; ++r)
            if (world->notes[r].text[0] != '\0') print_error("replica %u: %s\n", (unsigned)r, world->notes[r].text);
        expect_status(MDIST_OK, status, error, "mdist_run", __FILE__, __LINE__);
        for (int c = 0; c < CALLS; ++c) check_plan(&world->plans[c], c);
        for (int g = 0; g < GROUPS; ++g) mdist_group_destroy(world->groups[g].group);
        mdist_strategy_destroy(strategy);
        free(world);
    }
}

// ---- Two dimensions.

typedef struct Grid {
    uint32_t rows, columns;
    mdist_group_t *row[MOST], *column[MOST];
    float got[MOST][3];
    Note notes[MOST];
} Grid;

/// Sums ids over the row and over the column, both started before either is awaited, and over all.
static int32_t grid_step(mdist_replica_t *replica, void *user_data) {
    Grid *grid = user_data;
    const uint32_t id = mdist_replica_id(replica), row = id / grid->columns, column = id % grid->columns;
    const mdist_call_options_t options[] = {{.struct_size = sizeof *options, .group = grid->row[row]},
                                            {.struct_size = sizeof *options, .group = grid->column[column]}};
    float *const got = grid->got[id];
    mdist_work_t *works[2] = {NULL, NULL};
    mdist_error_t *error = NULL;
    mdist_buffer_t buffers[3];
    int32_t wrong = 0, done = 0;
    for (int i = 0; i < 3; ++i) got[i] = (float)id, buffers[i] = buffer_of(&got[i], MDIST_FLOAT32, 1);
    for (int i = 0; i < 2; ++i) {
        const int which = id % 2 == 0 ? i : 1 - i;
        wrong |= note(&grid->notes[id], MDIST_OK,
                      start_all_reduce(replica, MDIST_SUM, &buffers[which], &buffers[which], 1, &works[which],
                                       &options[which], &error),
                      &error, "start");
    }
    wrong |= note(&grid->notes[id], MDIST_OK,
                  mdist_all_reduce(replica, MDIST_SUM, &buffers[2], &buffers[2], 1, NULL, &error), &error, "all");
    for (int i = 0; i < 2; ++i) {
        wrong |=
            note(&grid->notes[id], MDIST_OK, mdist_work_wait(works[i], MDIST_FOREVER, &done, &error), &error, "wait");
        mdist_work_destroy(works[i]);
    }
    return wrong;
}

static void rows_and_columns_of_a_grid(void **state) {
    (void)state;
    static const uint32_t shapes[][2] = {{2, 2}, {2, 4}, {4, 2}, {1, 3}, {3, 2}};
    mdist_error_t *error = NULL;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        Grid grid;
        memset(&grid, 0, sizeof grid);
        grid.rows = shapes[s][0], grid.columns = shapes[s][1];
        mdist_strategy_t *strategy = make_strategy(grid.rows * grid.columns, NULL);
        uint32_t list[MOST];
        for (uint32_t r = 0; r < grid.rows; ++r) {
            for (uint32_t c = 0; c < grid.columns; ++c) list[c] = r * grid.columns + c;
            OK(mdist_group_create(strategy, list, grid.columns, &grid.row[r], &error));
        }
        for (uint32_t c = 0; c < grid.columns; ++c) {
            for (uint32_t r = 0; r < grid.rows; ++r) list[r] = r * grid.columns + c;
            OK(mdist_group_create(strategy, list, grid.rows, &grid.column[c], &error));
        }
        for (int run = 0; run < 20; ++run) {
            OK(mdist_run(strategy, grid_step, &grid, NULL, &error));
            for (uint32_t id = 0; id < grid.rows * grid.columns; ++id) {
                float row = 0, column = 0, all = 0;
                for (uint32_t other = 0; other < grid.rows * grid.columns; ++other) {
                    all += (float)other;
                    if (other / grid.columns == id / grid.columns) row += (float)other;
                    if (other % grid.columns == id % grid.columns) column += (float)other;
                }
                assert_string_equal(grid.notes[id].text, "");
                assert_true(grid.got[id][0] == row && grid.got[id][1] == column && grid.got[id][2] == all);
            }
        }
        for (uint32_t r = 0; r < grid.rows; ++r) mdist_group_destroy(grid.row[r]);
        for (uint32_t c = 0; c < grid.columns; ++c) mdist_group_destroy(grid.column[c]);
        mdist_strategy_destroy(strategy);
    }
}

// ---- Rows.

static int32_t rows_step(mdist_replica_t *replica, void *user_data) {
    mdist_group_t *const group = user_data;
    const uint32_t id = mdist_replica_id(replica);
    if (id == 1) return 0;
    const mdist_call_options_t options = {.struct_size = sizeof options, .group = group};
    int64_t index = id;
    float row[2] = {(float)id + 1, 6};
    const mdist_tensor_t indices = tensor_of(&index, MDIST_INT64, 1);
    mdist_tensor_t values = tensor_of(row, MDIST_FLOAT32, 1), got;
    values.rank = 2, values.shape[1] = 2;
    mdist_value_t *all = NULL;
    if (mdist_all_reduce_sparse(replica, MDIST_MEAN, &indices, &values, &all, &options, NULL) != MDIST_OK) return 1;
    if (mdist_value_tensor(all, 0, &got, NULL) != MDIST_OK || got.shape[0] != 2) return 2;
    const float *const numbers = got.data;
    const int right = numbers[0] == 1.5f && numbers[2] == 0.5f && numbers[1] == 3; // replica 2, then replica 0
    mdist_value_destroy(all);
    return right ? 0 : 3;
}

static void rows_are_joined_in_the_groups_order(void **state) {
    (void)state;
    const uint32_t list[] = {2, 0};
    mdist_error_t *error = NULL;
    mdist_group_t *group = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    OK(mdist_group_create(strategy, list, 2, &group, &error));
    OK(mdist_run(strategy, rows_step, group, NULL, &error));
    mdist_group_destroy(group);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_groups_do_what_the_header_says),
        cmocka_unit_test(rows_and_columns_of_a_grid),
        cmocka_unit_test(rows_are_joined_in_the_groups_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
