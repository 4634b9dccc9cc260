// SPDX-License-Identifier: Apache-2.0
#include "model.h"

static void **rooms;
static size_t room_count;

void *model_room(size_t bytes) {
    rooms = realloc(rooms, (room_count + 1) * sizeof *rooms);
    assert_non_null(rooms);
    void *room = calloc(1, bytes + 1);
    assert_non_null(room);
    return rooms[room_count++] = room;
}

void model_free(void) {
    while (room_count != 0) free(rooms[--room_count]);
    free(rooms);
    rooms = NULL;
}

uint64_t model_values(const Array *array, int rank) {
    uint64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= array->dims[i];
    return product;
}

char *model_text(const Elements *list) {
    Text text = {0};
    put(&text, "");
    for (size_t e = 0; e < list->count; ++e) {
        if (e != 0) put(&text, " ");
        for (int c = 0; c < list->components; ++c) {
            if (c != 0) put(&text, "/");
            mdist_tensor_t tensor = {(void *)(uintptr_t)list->at[e][c].values, MDIST_INT64, list->ranks[c], 0, 0, {0}};
            memcpy(tensor.shape, list->at[e][c].dims, sizeof list->at[e][c].dims);
            put_array(&text, &tensor, 0, 0);
        }
    }
    return text.data;
}

/// Allocates an empty list with room for `count` elements like those of `from`.
static Elements like(const Elements *from, size_t count) {
    Elements list = *from;
    list.count = 0;
    list.at = model_room(count * sizeof *list.at);
    return list;
}

static void add(Elements *list, const Elements *from, size_t index) {
    memcpy(list->at[list->count++], from->at[index], sizeof *list->at);
}

Elements model_range(int64_t start, int64_t count, int64_t step) {
    Elements list = {.components = 1};
    list.count = (size_t)count;
    list.at = model_room(list.count * sizeof *list.at);
    for (int64_t i = 0; i < count; ++i) {
        int64_t *value = model_room(sizeof *value);
        *value = start + i * step;
        list.at[i][0].values = value;
    }
    return list;
}

Elements model_take(const Elements *from, uint64_t count) {
    Elements list = like(from, from->count);
    for (size_t i = 0; i < from->count && i < count; ++i) add(&list, from, i);
    return list;
}

Elements model_skip(const Elements *from, uint64_t count) {
    Elements list = like(from, from->count);
    for (size_t i = count; i < from->count; ++i) add(&list, from, i);
    return list;
}

Elements model_shard(const Elements *from, uint64_t shards, uint64_t index) {
    Elements list = like(from, from->count);
    for (size_t i = 0; i < from->count; ++i)
        if (i % shards == index) add(&list, from, i);
    return list;
}

Elements model_repeat(const Elements *from, uint64_t count) {
    Elements list = like(from, from->count * count);
    for (uint64_t round = 0; round < count; ++round)
        for (size_t i = 0; i < from->count; ++i) add(&list, from, i);
    return list;
}

Elements model_concatenate(const Elements *first, const Elements *second) {
    Elements list = like(first, first->count + second->count);
    for (size_t i = 0; i < first->count; ++i) add(&list, first, i);
    for (size_t i = 0; i < second->count; ++i) add(&list, second, i);
    return list;
}

Elements model_zip(const Elements *first, const Elements *second) {
    Elements list = like(first, first->count);
    for (int c = 0; c < second->components; ++c) list.ranks[list.components++] = second->ranks[c];
    for (size_t i = 0; i < first->count && i < second->count; ++i) {
        add(&list, first, i);
        memcpy(list.at[i] + first->components, second->at[i], (size_t)second->components * sizeof(Array));
    }
    return list;
}

Elements model_evens(const Elements *from) {
    Elements list = like(from, from->count);
    for (size_t i = 0; i < from->count; ++i) {
        const Array *array = &from->at[i][0];
        if (model_values(array, from->ranks[0]) != 0 && array->values[0] % 2 == 0) add(&list, from, i);
    }
    return list;
}

Elements model_sums(const Elements *from) {
    Elements list = {.components = 1};
    list.count = from->count;
    list.at = model_room(list.count * sizeof *list.at);
    for (size_t i = 0; i < from->count; ++i) {
        int64_t *sum = model_room(sizeof *sum);
        for (uint64_t k = 0; k < model_values(&from->at[i][0], from->ranks[0]); ++k) *sum += from->at[i][0].values[k];
        *sum = 3 * *sum + 1;
        list.at[i][0].values = sum;
    }
    return list;
}

/// Stacks component c of elements begin .. end - 1. Pads shorter ones with zeros.
static Array stacked(const Elements *from, size_t begin, size_t end, int c) {
    Array out = {.dims = {end - begin}};
    const int rank = from->ranks[c];
    for (size_t e = begin; e < end; ++e)
        for (int d = 0; d < rank; ++d)
            if (from->at[e][c].dims[d] > out.dims[d + 1]) out.dims[d + 1] = from->at[e][c].dims[d];
    int64_t *values = model_room(model_values(&out, rank + 1) * sizeof *values);
    const uint64_t row = rank == 0 ? 1 : model_values(&out, rank + 1) / (end - begin);
    for (size_t e = begin; e < end; ++e) {
        const Array *one = &from->at[e][c];
        for (uint64_t k = 0; k < model_values(one, rank); ++k) {
            uint64_t rest = k, place = 0, stride = 1;
            for (int d = rank - 1; d >= 0; --d) {
                place += rest % one->dims[d] * stride;
                rest /= one->dims[d];
                stride *= out.dims[d + 1];
            }
            values[(e - begin) * row + place] = one->values[k];
        }
    }
    out.values = values;
    return out;
}

static void add_stacked(Elements *list, const Elements *from, size_t begin, size_t end) {
    for (int c = 0; c < from->components; ++c) list->at[list->count][c] = stacked(from, begin, end, c);
    ++list->count;
}

Elements model_batch(const Elements *from, uint64_t size, int drop_remainder) {
    Elements list = like(from, from->count);
    for (int c = 0; c < from->components; ++c) ++list.ranks[c];
    for (size_t begin = 0; begin < from->count; begin += size) {
        const size_t end = begin + size < from->count ? begin + size : from->count;
        if (end - begin == size || !drop_remainder) add_stacked(&list, from, begin, end);
    }
    return list;
}

int model_can_batch(const Elements *from, uint64_t size) {
    for (size_t i = 0; i < from->count; ++i)
        for (int c = 0; c < from->components; ++c)
            for (int d = 0; d < from->ranks[c]; ++d)
                if (from->at[i][c].dims[d] != from->at[i / size * size][c].dims[d]) return 0;
    return 1;
}

Elements model_unbatch(const Elements *from) {
    size_t rows = 0;
    for (size_t i = 0; i < from->count; ++i) rows += from->at[i][0].dims[0];
    Elements list = like(from, rows);
    for (int c = 0; c < from->components; ++c) --list.ranks[c];
    for (size_t i = 0; i < from->count; ++i)
        for (uint64_t row = 0; row < from->at[i][0].dims[0]; ++row, ++list.count)
            for (int c = 0; c < from->components; ++c) {
                Array *to = &list.at[list.count][c];
                memcpy(to->dims, from->at[i][c].dims + 1, (MODEL_RANK - 1) * sizeof *to->dims);
                to->values = from->at[i][c].values + row * model_values(to, list.ranks[c]);
            }
    return list;
}

int model_can_unbatch(const Elements *from) {
    for (int c = 0; c < from->components; ++c)
        if (from->ranks[c] == 0) return 0;
    for (size_t i = 0; i < from->count; ++i)
        for (int c = 0; c < from->components; ++c)
            if (from->at[i][c].dims[0] != from->at[i][0].dims[0]) return 0;
    return from->count != 0;
}

Elements model_rebatch(const Elements *from, const uint64_t *sizes, size_t count, int drop_remainder) {
    const Elements rows = model_unbatch(from);
    Elements list = like(from, (rows.count + 2) * (count + 1));
    for (size_t at = 0, begin = 0;; at = (at + 1) % count) {
        if (sizes[at] != 0 && begin == rows.count) return list;
        const size_t end = begin + sizes[at] < rows.count ? begin + sizes[at] : rows.count;
        if (end - begin < sizes[at] && drop_remainder) return list;
        add_stacked(&list, &rows, begin, end);
        if (end - begin < sizes[at]) return list;
        begin = end;
    }
}

// The order that a seed gives is documented. This repeats its definition without the library's code.
static uint64_t scrambled(uint64_t word) {
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
    word = (word ^ word >> 27) * 0x94d049bb133111eb;
    return word ^ word >> 31;
}
static uint64_t rotated(uint64_t word, int by) {
    return word << by | word >> (64 - by);
}
static uint64_t drawn(uint64_t state[4]) {
    const uint64_t result = rotated(state[1] * 5, 7) * 9, shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotated(state[3], 45);
    return result;
}

Elements model_shuffle(const Elements *from, uint64_t buffer, uint64_t seed) {
    const uint64_t golden = 0x9e3779b97f4a7c15, key[] = {seed, 0, 0};
    uint64_t hash = 0, state[4];
    for (int i = 0; i < 3; ++i) hash = scrambled(hash + golden) ^ scrambled(key[i] + 2 * golden);
    for (int i = 0; i < 4; ++i) state[i] = scrambled(hash += golden);
    Elements list = like(from, from->count);
    size_t *stock = model_room(from->count * sizeof *stock), filled = 0, next = 0;
    for (;;) {
        while (filled < buffer && next < from->count) stock[filled++] = next++;
        if (filled == 0) return list;
        // The high half of a product is even enough for bounds as small as these: the chance of another draw is 2^-50.
        const size_t at = (size_t)((drawn(state) >> 32) * filled >> 32);
        add(&list, from, stock[at]);
        stock[at] = stock[--filled];
    }
}
