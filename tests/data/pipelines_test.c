// SPDX-License-Identifier: Apache-2.0
// Random pipelines give the same elements as the model, in two iterations. A saved iterator continues in another
// dataset that was made the same way.
#include "model.h"

static uint64_t random_state;
static uint64_t draw(uint64_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % bound;
}

typedef struct Pipeline {
    mdist_dataset_t *dataset;
    Elements list;
    Text said; // the pipeline, for messages
} Pipeline;

/// Adds a step to the pipeline's text. Returns 1, as steps do that were possible.
static int say(Pipeline *self, const char *what, uint64_t first, uint64_t second) {
    char words[96];
    snprintf(words, sizeof words, " | %s %llu %llu", what, (unsigned long long)first, (unsigned long long)second);
    put(&self->said, words);
    return 1;
}

static int32_t sum_up(const mdist_tensor_t *inputs, size_t count, const mdist_tensor_t *outputs, size_t output_count,
                      void *user_data) {
    (void)count, (void)output_count, (void)user_data;
    int64_t sum = 0;
    for (uint64_t i = 0; i < mdist_tensor_elements(&inputs[0]); ++i) sum += number_at(&inputs[0], i);
    *(int64_t *)outputs[0].data = 3 * sum + 1;
    return 0;
}

static mdist_dataset_t *sums(mdist_dataset_t *source, uint32_t parallel) {
    const mdist_tensor_t scalar = int64_scalar();
    if (parallel == 0) MADE(mdist_dataset_map(source, sum_up, NULL, NULL, &scalar, 1, &out, NULL, &error), source);
    MADE(mdist_dataset_map(source, sum_up, NULL, NULL, &scalar, 1, &out, MAP_OPTIONS(0, parallel), &error), source);
}

static Pipeline a_range(void) {
    const int64_t start = (int64_t)draw(20) - 10, count = (int64_t)draw(14), step = (int64_t)draw(3) + 1;
    Pipeline self = {range(start, start + count * step, step), model_range(start, count, step), {0}};
    say(&self, "range", (uint64_t)start, (uint64_t)count);
    return self;
}

static int32_t reshuffling; // for all shuffles; the model does not reshuffle

static int choose_elements(Pipeline *self) {
    const uint64_t n = draw(12), m = 1 + draw(3);
    switch (draw(5)) {
        case 0:
            self->dataset = take(self->dataset, n);
            self->list = model_take(&self->list, n);
            return say(self, "take", n, 0);
        case 1:
            self->dataset = without(self->dataset, n / 2);
            self->list = model_skip(&self->list, n / 2);
            return say(self, "skip", n / 2, 0);
        case 2:
            self->dataset = shard(self->dataset, m, n % m);
            self->list = model_shard(&self->list, m, n % m);
            return say(self, "shard", m, n % m);
        case 3:
            self->dataset = evens(self->dataset);
            self->list = model_evens(&self->list);
            return say(self, "filter", 0, 0);
        default:
            self->dataset = shuffle(self->dataset, n + 1, m, reshuffling);
            self->list = model_shuffle(&self->list, n + 1, m);
            return say(self, "shuffle", n + 1, m);
    }
}

static int change_nothing(Pipeline *self) {
    if (draw(2) == 0) {
        self->dataset = cache(self->dataset);
        return say(self, "cache", 0, 0);
    }
    const uint64_t n = 1 + draw(4);
    self->dataset = prefetch(self->dataset, n);
    return say(self, "prefetch", n, 0);
}

static int cut_anew(Pipeline *self) {
    const uint64_t n = 1 + draw(4);
    const int32_t drop = (int32_t)draw(2);
    int deep = 0, flat = 1;
    for (int c = 0; c < self->list.components; ++c) {
        deep |= self->list.ranks[c] >= 3;
        flat &= self->list.ranks[c] == 1;
    }
    switch (draw(4)) {
        case 0:
            if (deep || !model_can_batch(&self->list, n)) return 0;
            self->dataset = batch(self->dataset, n, drop);
            self->list = model_batch(&self->list, n, drop);
            return say(self, "batch", n, (uint64_t)drop);
        case 1:
            if (deep) return 0;
            self->dataset = padded(self->dataset, n, drop);
            self->list = model_batch(&self->list, n, drop);
            return say(self, "padded_batch", n, (uint64_t)drop);
        case 2:
            if (!model_can_unbatch(&self->list)) return 0;
            self->dataset = unbatch(self->dataset);
            self->list = model_unbatch(&self->list);
            return say(self, "unbatch", 0, 0);
        default:
            break;
    }
    // The rows of one batch must have one shape. Batches without rows have no known width, and are not tested here.
    const uint64_t sizes[] = {n, flat ? draw(3) : 1 + draw(3)};
    if (!flat || !model_can_unbatch(&self->list)) return 0;
    self->dataset = rebatch(self->dataset, sizes, 2, drop);
    self->list = model_rebatch(&self->list, sizes, 2, drop);
    return say(self, drop ? "rebatch, dropping," : "rebatch", sizes[0], sizes[1]);
}

static int join_more(Pipeline *self) {
    const uint64_t n = draw(3);
    if (draw(3) == 0) {
        self->dataset = repeat(self->dataset, n);
        self->list = model_repeat(&self->list, n);
        return say(self, "repeat", n, 0);
    }
    if (draw(2) == 0) { // concatenate with a part of itself
        mdist_dataset_t *part = NULL, *out = NULL;
        mdist_error_t *error = NULL;
        OK(mdist_dataset_take(self->dataset, n, &part, NULL, &error));
        OK(mdist_dataset_concatenate(self->dataset, part, &out, NULL, &error));
        mdist_dataset_destroy(part);
        mdist_dataset_destroy(self->dataset);
        const Elements few = model_take(&self->list, n);
        self->dataset = out;
        self->list = model_concatenate(&self->list, &few);
        return say(self, "concatenate with its first", n, 0);
    }
    if (self->list.components == MODEL_COMPONENTS) return 0;
    Pipeline other = a_range();
    self->dataset = zip(self->dataset, other.dataset);
    self->list = model_zip(&self->list, &other.list);
    put(&self->said, " | zip with (");
    put(&self->said, other.said.data);
    put(&self->said, " )");
    free(other.said.data);
    return 1;
}

static int compute(Pipeline *self) {
    const uint32_t parallel = (uint32_t)draw(3);
    self->dataset = sums(self->dataset, parallel);
    self->list = model_sums(&self->list);
    return say(self, "map", parallel, 0);
}

static Pipeline a_pipeline(void) {
    Pipeline self = a_range();
    for (uint64_t steps = 1 + draw(8); steps != 0; --steps) {
        const uint64_t kind = draw(10);
        if (kind < 3 || self.list.count > 100)
            choose_elements(&self);
        else if (kind < 6)
            cut_anew(&self);
        else if (kind < 8)
            join_more(&self);
        else if (kind < 9)
            change_nothing(&self);
        else
            compute(&self);
    }
    return self;
}

static Pipeline pipeline_of(uint64_t seed) {
    random_state = seed * 0x9e3779b97f4a7c15 + 1;
    for (int i = 0; i < 8; ++i) draw(2);
    return a_pipeline();
}

static void check_pipeline(uint64_t seed) {
    Pipeline self = pipeline_of(seed);
    char *wanted = model_text(&self.list);
    for (int round = 1; round <= 2; ++round) {
        char *got = elements_of(self.dataset);
        if (strcmp(got, wanted) != 0)
            fail_msg("seed %llu, round %d:%s\n  gave   %s\n  wanted %s", (unsigned long long)seed, round,
                     self.said.data, got, wanted);
        free(got);
    }
    free(wanted);
    free(self.said.data);
    mdist_dataset_destroy(self.dataset);
    model_free();
}

/// Takes up to `most` elements. Returns how many there were.
static uint64_t take_some(mdist_iterator_t *iterator, uint64_t most, Text *text) {
    uint64_t taken = 0;
    put(text, "");
    while (taken < most && put_element(text, iterator, mdist_iterator_component_count(iterator)) == MDIST_OK) ++taken;
    return taken;
}

/// Says where two iterations differ, or where a call fails that must not.
typedef struct Comparison {
    const Pipeline *self;
    uint64_t seed, taken;
} Comparison;

static void expect_same(const Comparison *where, const char *what, const char *wanted, const char *got) {
    if (strcmp(got, wanted) != 0)
        fail_msg("seed %llu, saved behind element %llu, %s:%s\n  gave   %s\n  wanted %s",
                 (unsigned long long)where->seed, (unsigned long long)where->taken, what, where->self->said.data, got,
                 wanted);
}

/// Restores an iterator of the twin. Checks that it gives the rest, and that the next iterations of both datasets
/// agree.
static void check_rest(const Comparison *where, mdist_iterator_t *iterator, const char *state, const Pipeline *twin) {
    mdist_error_t *error = NULL;
    mdist_iterator_t *restored = NULL;
    Text passed = {0}, rest = {0}, again = {0};
    OK(mdist_iterator_create(twin->dataset, &restored, &error));
    take_some(restored, draw(3), &passed);
    OK(mdist_iterator_restore(restored, state, &error));
    char text[4096];
    OK(mdist_iterator_save(restored, text, sizeof text, NULL, &error));
    expect_same(where, "the state of the restored one", state, text);
    take_some(iterator, UINT64_MAX, &rest);
    take_some(restored, UINT64_MAX, &again);
    expect_same(where, "the rest", rest.data, again.data);
    mdist_iterator_destroy(restored);
    char *next = elements_of(where->self->dataset), *twins = elements_of(twin->dataset);
    expect_same(where, "the iteration after it", next, twins);
    free(next), free(twins), free(passed.data), free(rest.data), free(again.data);
}

static void check_saved(uint64_t seed) {
    reshuffling = 1;
    Pipeline self = pipeline_of(seed), twin = pipeline_of(seed);
    for (uint64_t before = draw(3); before != 0; --before) free(elements_of(self.dataset));
    mdist_error_t *error = NULL;
    mdist_iterator_t *iterator = NULL;
    Text passed = {0};
    char state[4096];
    OK(mdist_iterator_create(self.dataset, &iterator, &error));
    const Comparison where = {&self, seed, take_some(iterator, draw(self.list.count + 2), &passed)};
    const mdist_status_t status = mdist_iterator_save(iterator, state, sizeof state, NULL, &error);
    const int failed = strchr(passed.data, '!') != NULL;
    if (status == MDIST_OK)
        check_rest(&where, iterator, state, &twin);
    else if (!failed)
        fail_msg("seed %llu:%s: %s", (unsigned long long)seed, self.said.data, mdist_error_message(error));
    mdist_error_free(error);
    mdist_iterator_destroy(iterator);
    Pipeline *const both[] = {&self, &twin};
    for (int i = 0; i < 2; ++i) {
        free(both[i]->said.data);
        mdist_dataset_destroy(both[i]->dataset);
    }
    free(passed.data);
    model_free();
    reshuffling = 0;
}

static void random_pipelines_give_what_the_model_gives(void **state) {
    (void)state;
    const uint64_t first = test_seed(1), count = seed_count(500, 10000);
    for (uint64_t seed = first; seed < first + count; ++seed) check_pipeline(seed);
}

static void saved_iterators_go_on_in_a_dataset_made_the_same_way(void **state) {
    (void)state;
    const uint64_t first = test_seed(1), count = seed_count(500, 10000);
    for (uint64_t seed = first; seed < first + count; ++seed) check_saved(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_pipelines_give_what_the_model_gives),
        cmocka_unit_test(saved_iterators_go_on_in_a_dataset_made_the_same_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
