// SPDX-License-Identifier: Apache-2.0
/*
 * All-gather and reduce-scatter over plain blocking sockets, in the way that LightGBM's own network goes: a connection
 * between each two ranks, buffers of 100 KB, no delay; recursive doubling (Bruck if the number of ranks is no power of
 * two), and recursive halving, for which surplus ranks first give their data to a neighbour. Nothing is checked, and a
 * lost rank is an error at most. PEER_RANK of PEER_SIZE; rank i listens at port i of PEER_PORTS.
 */
#define _GNU_SOURCE
#include "collectives.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kBuffer = 100000 };

static int sockets[kMostRanks];
static size_t begins[kMostRanks + 1]; // where each rank's part begins, in elements
static float *scratch;
static size_t scratch_elements;

static void must(int well, const char *what) {
    if (well) return;
    perror(what);
    exit(1);
}

// ---- Bytes

typedef struct parcel {
    int to;
    const float *data;
    size_t elements;
} parcel_t;

static void send_all(int to, const void *data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t sent = send(sockets[to], (const char *)data + done, bytes - done, MSG_NOSIGNAL);
        must(sent > 0, "send");
        done += (size_t)sent;
    }
}

static void receive_all(int from, void *data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t received = recv(sockets[from], (char *)data + done, bytes - done, 0);
        must(received > 0, "recv");
        done += (size_t)received;
    }
}

static void *send_parcel(void *parcel) {
    const parcel_t *const one = parcel;
    send_all(one->to, one->data, one->elements * sizeof(float));
    return NULL;
}

/// What fits the socket's buffer is sent first. More needs a thread: if all only sent, nobody would go on.
static void exchange(int to, const float *sent, size_t sent_elements, int from, float *received, size_t elements) {
    parcel_t parcel = {to, sent, sent_elements};
    pthread_t sender;
    const int threaded = sent_elements * sizeof(float) >= kBuffer;
    if (threaded)
        must(pthread_create(&sender, NULL, send_parcel, &parcel) == 0, "pthread_create");
    else
        send_parcel(&parcel);
    receive_all(from, received, elements * sizeof(float));
    if (threaded) pthread_join(sender, NULL);
}

// ---- Collectives

/// Returns the elements of `count` parts from `first` on, around the ring of ranks.
static size_t parts(int first, int count) {
    size_t elements = 0;
    for (int i = 0; i < count; ++i) elements += lengths[(first + i) % ranks];
    return elements;
}

static int is_power_of_two(int number) {
    return (number & (number - 1)) == 0;
}

static void double_parts(void) {
    memcpy(output + begins[rank], input, lengths[rank] * sizeof(float));
    for (int step = 1; step < ranks; step *= 2) {
        const int own = rank / step * step, mate = rank ^ step, theirs = mate / step * step;
        exchange(mate, output + begins[own], parts(own, step), mate, output + begins[theirs], parts(theirs, step));
    }
}

/// Gathers the parts behind the own one, and turns them to their places in the end.
static void bruck(void) {
    memcpy(scratch, input, lengths[rank] * sizeof(float));
    for (int have = 1; have < ranks;) {
        const int count = have < ranks - have ? have : ranks - have;
        exchange((rank - have + ranks) % ranks, scratch, parts(rank, count), (rank + have) % ranks,
                 scratch + parts(rank, have), parts(rank + have, count));
        have += count;
    }
    const size_t behind = total - begins[rank];
    memcpy(output + begins[rank], scratch, behind * sizeof(float));
    memcpy(output, scratch + behind, begins[rank] * sizeof(float));
}

void all_gather(void) {
    if (is_power_of_two(ranks))
        double_parts();
    else
        bruck();
}

static void add(float *restrict to, const float *restrict from, size_t elements) {
    for (size_t i = 0; i < elements; ++i) to[i] += from[i];
}

/// Recursive halving works on groups, as many as the largest power of two; the last ones have two ranks each.
static int groups(void) {
    int count = 1;
    while (count * 2 <= ranks) count *= 2;
    return count;
}

/// Returns the first rank of a group, or the number of ranks for the group behind the last.
static int leader_of(int group) {
    const int alone = 2 * groups() - ranks; // so many groups of one rank come first
    return group <= alone ? group : alone + 2 * (group - alone);
}

static void halve(int group) {
    int first = 0, count = groups(); // groups whose parts this one still sums
    while (count > 1) {
        count /= 2;
        const int lower = group < first + count, mate = leader_of(lower ? group + count : group - count);
        const int kept = lower ? first : first + count, given = lower ? first + count : first;
        const size_t at = begins[leader_of(given)], own = begins[leader_of(kept)];
        const size_t elements = begins[leader_of(kept + count)] - own;
        exchange(mate, input + at, begins[leader_of(given + count)] - at, mate, scratch, elements);
        add(input + own, scratch, elements);
        first = kept;
    }
}

void reduce_scatter(void) {
    int group = 0;
    while (leader_of(group + 1) <= rank) ++group;
    const int leader = leader_of(group), other = leader + 1, paired = leader_of(group + 1) - leader == 2;
    if (rank != leader) {
        send_all(leader, input, total * sizeof(float));
        receive_all(leader, output, lengths[rank] * sizeof(float));
        return;
    }
    if (paired) {
        receive_all(other, scratch, total * sizeof(float));
        add(input, scratch, total);
    }
    halve(group);
    if (paired) send_all(other, input + begins[other], lengths[other] * sizeof(float));
    memcpy(output, input + begins[rank], lengths[rank] * sizeof(float));
}

static void missing(void) {
    fprintf(stderr, "the plain sockets have all_gather, reduce_scatter and gbdt only\n");
    exit(2);
}

void all_to_all(void) {
    missing();
}
void broadcast(void) {
    missing();
}
void gather(void) {
    missing();
}
void scatter(void) {
    missing();
}
void reduce(void) {
    missing();
}

double over_ranks(double value, int sum) {
    for (int i = 1; i < ranks; ++i) {
        double theirs = 0;
        if (rank == i) send_all(0, &value, sizeof value);
        if (rank != 0) continue;
        receive_all(i, &theirs, sizeof theirs);
        value = sum ? value + theirs : theirs > value ? theirs : value;
    }
    for (int i = 1; i < ranks && rank == 0; ++i) send_all(i, &value, sizeof value);
    if (rank != 0) receive_all(0, &value, sizeof value);
    return value;
}

void lengths_changed(void) {
    for (int i = 0; i < ranks; ++i) begins[i + 1] = begins[i] + lengths[i];
    if (total <= scratch_elements) return;
    free(scratch);
    scratch = malloc((scratch_elements = total) * sizeof(float));
    must(scratch != NULL, "malloc");
}

// ---- Connections

static struct sockaddr_in address_of(int number, const char *ports) {
    for (; number > 0; --number) ports = strchr(ports, ',') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(ports))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// Returns a socket with everything set. Buffers must be set before it connects.
static int fresh_socket(void) {
    const int one = socket(AF_INET, SOCK_STREAM, 0), yes = 1, buffer = kBuffer;
    must(one >= 0, "socket");
    setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(one, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    setsockopt(one, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return one;
}

/// Each rank connects to the lower ones, which may still have to start, and says its rank.
static void connect_all(const char *ports) {
    struct sockaddr_in own = address_of(rank, ports);
    const int listener = fresh_socket();
    must(bind(listener, (struct sockaddr *)&own, sizeof own) == 0 && listen(listener, ranks) == 0, "bind");
    for (int i = 0; i < rank; ++i) {
        struct sockaddr_in address = address_of(i, ports);
        for (sockets[i] = fresh_socket(); connect(sockets[i], (struct sockaddr *)&address, sizeof address) != 0;) {
            close(sockets[i]);
            usleep(10000);
            sockets[i] = fresh_socket();
        }
        send_all(i, &rank, sizeof rank);
    }
    for (int i = rank + 1; i < ranks; ++i) {
        int theirs = -1;
        sockets[rank] = accept(listener, NULL, NULL); // this rank's own place is free
        must(sockets[rank] >= 0, "accept");
        setsockopt(sockets[rank], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        receive_all(rank, &theirs, sizeof theirs);
        must(theirs > rank && theirs < ranks, "rank");
        sockets[theirs] = sockets[rank];
    }
    close(listener);
}

int main(int count, char **arguments) {
    const char *const own = getenv("PEER_RANK"), *const all = getenv("PEER_SIZE"), *const ports = getenv("PEER_PORTS");
    if (own == NULL || all == NULL || ports == NULL || atoi(all) > kMostRanks) {
        fprintf(stderr, "PEER_RANK, PEER_SIZE (at most %d) and PEER_PORTS must be set\n", kMostRanks);
        return 2;
    }
    rank = atoi(own), ranks = atoi(all);
    connect_all(ports);
    return run(count, arguments);
}
