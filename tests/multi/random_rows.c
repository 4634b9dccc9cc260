// SPDX-License-Identifier: Apache-2.0
#include "random_rows.h"

enum { MOST_IN_FILE = 9, MOST_NUMBERS = 64 };

static uint64_t random_state;
uint64_t draw(uint64_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % bound;
}
void begin_random(uint64_t seed) {
    random_state = seed * 0x9e3779b97f4a7c15 + 1;
    for (int i = 0; i < 8; ++i) draw(2);
}

int say(Pipeline *self, const char *what, uint64_t first, uint64_t second) {
    char words[96];
    snprintf(words, sizeof words, " | %s %llu %llu", what, (unsigned long long)first, (unsigned long long)second);
    put(&self->said, words);
    return 1;
}

static int32_t keep_all(const mdist_tensor_t *inputs, size_t count, int32_t *keep, void *user_data) {
    (void)inputs, (void)count, (void)user_data;
    *keep = 1;
    return 0;
}
static mdist_dataset_t *kept(mdist_dataset_t *source) {
    MADE(mdist_dataset_filter(source, keep_all, NULL, NULL, &out, NULL, &error), source);
}

static mdist_dataset_t *tenfolded(mdist_dataset_t *source, uint32_t parallel) {
    const mdist_tensor_t scalar = int64_scalar();
    if (parallel == 0) MADE(mdist_dataset_map(source, tenfold, NULL, NULL, &scalar, 1, &out, NULL, &error), source);
    MADE(mdist_dataset_map(source, tenfold, NULL, NULL, &scalar, 1, &out, MAP_OPTIONS(0, parallel), &error), source);
}

static int32_t read_number(const mdist_tensor_t *inputs, size_t count, const mdist_tensor_t *outputs,
                           size_t output_count, void *user_data) {
    (void)count, (void)output_count, (void)user_data;
    memcpy(outputs[0].data, inputs[0].data, sizeof(int64_t));
    return 0;
}

uint64_t numbers_in_file(uint64_t file) {
    return (file * 5 + 3) % (MOST_IN_FILE + 1);
}
void file_name(char *path, size_t capacity, uint64_t file) {
    snprintf(path, capacity, "%s/%llu", getenv("TEST_FOLDER"), (unsigned long long)file);
}

static mdist_dataset_t *names_of(uint64_t count) {
    char text[FILES][128];
    const char *paths[FILES];
    for (uint64_t file = 0; file < count; ++file) {
        file_name(text[file], sizeof text[file], file);
        paths[file] = text[file];
    }
    MADE(mdist_dataset_files(paths, count, &out, NULL, &error), NULL);
}
static mdist_dataset_t *read_from(mdist_dataset_t *names, uint64_t cycle, uint64_t block, uint64_t parallel) {
    mdist_read_options_t options = {.struct_size = sizeof options};
    options.cycle_length = cycle;
    options.block_length = block;
    options.parallel_files = parallel;
    MADE(mdist_dataset_fixed_records(names, 8, 0, 0, &out, &options, &error), names);
}
static mdist_dataset_t *as_numbers(mdist_dataset_t *records) {
    const mdist_tensor_t scalar = int64_scalar();
    MADE(mdist_dataset_map(records, read_number, NULL, NULL, &scalar, 1, &out, NULL, &error), records);
}

static Pipeline a_source(int from_files) {
    Pipeline self = {.times = 1};
    put(&self.said, "");
    if (!from_files) {
        self.numbers = draw(MOST_NUMBERS);
        self.dataset = range(1, (int64_t)self.numbers + 1, 1);
        say(&self, "range", 1, self.numbers);
        return self;
    }
    const uint64_t files = draw(FILES + 1);
    for (uint64_t file = 0; file < files; ++file) self.numbers += numbers_in_file(file);
    mdist_dataset_t *names = names_of(files);
    say(&self, "files", files, self.numbers);
    if (draw(2) == 0) {
        self.reshuffles = 1;
        names = shuffle(names, 1 + draw(8), 4, 1);
        say(&self, "shuffled names", 0, 0);
    }
    const uint64_t cycle = 1 + draw(3), block = 1 + draw(3), parallel = draw(2);
    self.dataset = as_numbers(read_from(names, cycle, block, parallel));
    say(&self, "read", cycle, block);
    return self;
}

static void flatten(Pipeline *self) {
    self->dataset = unbatch(self->dataset);
    --self->rank;
    say(self, "unbatch", 0, 0);
}

static void join_rows(Pipeline *self) {
    const uint64_t n = 1 + draw(6);
    if (self->ragged || draw(3) == 0) {
        self->dataset = padded(self->dataset, n, 0);
        say(self, "padded_batch", n, 0);
    } else {
        self->dataset = batch(self->dataset, n, 0);
        say(self, "batch", n, 0);
    }
    self->ragged = 1; // the last one is shorter
    ++self->rank;
}

static void cut_anew(Pipeline *self) {
    const uint64_t sizes[] = {1 + draw(5), draw(4)};
    const size_t count = 1 + draw(2);
    self->dataset = rebatch(self->dataset, sizes, count, 0);
    self->ragged = 1;
    say(self, "rebatch", sizes[0], count == 2 ? sizes[1] : sizes[0]);
}

static void change_shape(Pipeline *self) {
    if (self->rank == 0 || (self->rank == 1 && draw(3) == 0))
        join_rows(self);
    else if (self->rank == 1 && draw(2) == 0)
        cut_anew(self);
    else
        flatten(self);
    if (self->rank == 0) self->ragged = 0;
}

static int change_order(Pipeline *self) {
    const uint64_t n = 1 + draw(20);
    switch (draw(7)) {
        case 0:
            self->reshuffles = 1;
            self->dataset = shuffle(self->dataset, n, 3, (int32_t)draw(2));
            return say(self, "shuffle", n, 3);
        case 1:
            self->dataset = cache(self->dataset);
            return say(self, "cache", 0, 0);
        case 2:
            self->dataset = prefetch(self->dataset, n);
            return say(self, "prefetch", n, 0);
        case 3:
            self->dataset = kept(self->dataset);
            return say(self, "filter", 0, 0);
        case 4:
            self->dataset = take(without(shard(self->dataset, 1, 0), 0), MDIST_FOREVER);
            return say(self, "shard, skip, take all", 0, 0);
        case 5:
            if (self->times * self->numbers > 200) return 0;
            self->times *= 2;
            self->dataset = repeat(self->dataset, 2);
            return say(self, "repeat", 2, 0);
        default:
            if (self->rank != 0 || self->mapped) return 0;
            self->mapped = 1;
            self->dataset = tenfolded(self->dataset, (uint32_t)(n % 3));
            return say(self, "map", n % 3, 0);
    }
}

Pipeline a_pipeline(int from_files) {
    Pipeline self = a_source(from_files);
    for (uint64_t steps = draw(8); steps != 0; --steps) {
        if (draw(2) == 0)
            change_shape(&self);
        else
            change_order(&self);
    }
    return self;
}

void end_with_rows(Pipeline *self) {
    while (self->rank > 1) flatten(self);
    if (self->rank == 0) join_rows(self);
    for (uint64_t steps = draw(3); steps != 0; --steps) change_order(self);
}
