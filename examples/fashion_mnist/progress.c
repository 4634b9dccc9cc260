// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double per(double amount, double whole) {
    return whole > 0 ? amount / whole : 0;
}

static void draw(Progress *self, double seconds) {
    enum { WIDTH = 24 };
    static const char full[] = "########################", empty[] = "........................";
    const double done = per((double)self->rows, (double)self->total_rows);
    const int marks = done < 1 ? (int)(done * WIDTH) : WIDTH;
    const double speed = per((double)self->rows, seconds);
    const double left = per((double)(self->total_rows - self->rows), speed);
    // Writes the text from the first column on, and clears the rest of a longer text before it.
    fprintf(self->stream, "\repoch %d/%d [%.*s%.*s] loss %.4f  accuracy %.4f  %.0f images/s  %.0f s left\033[K",
            self->epoch, self->epochs, marks, full, WIDTH - marks, empty, per(self->loss_sum, (double)self->rows),
            per(self->correct, (double)self->rows), speed, left);
    fflush(self->stream);
}

void progress_start(Progress *self, FILE *stream, int epoch, int epochs, uint64_t total_rows) {
    memset(self, 0, sizeof *self);
    self->stream = stream;
    self->terminal = stream && isatty(fileno(stream));
    self->epoch = epoch;
    self->epochs = epochs;
    self->total_rows = total_rows;
    self->start = self->drawn = now();
}

void progress_add(Progress *self, uint64_t rows, double loss_sum, double correct) {
    self->rows += rows;
    self->loss_sum += loss_sum;
    self->correct += correct;
    if (!self->terminal) return;
    const double time = now();
    if (time - self->drawn < 0.1) return;
    self->drawn = time;
    draw(self, time - self->start);
}

void progress_finish(Progress *self) {
    if (!self->stream) return;
    const double seconds = now() - self->start;
    const double rows = (double)self->rows;
    fprintf(self->stream, "%sepoch %d/%d  loss %.4f  accuracy %.4f  %.0f images/s  %.1f s\n",
            self->terminal ? "\r\033[K" : "", self->epoch, self->epochs, per(self->loss_sum, rows),
            per(self->correct, rows), per(rows, seconds), seconds);
    fflush(self->stream);
}
