/* Many SRT streams: `srt_busy listen PORT SINK-PORT LATENCY-MS KEY` passes what all callers send to a UDP port;
 * `srt_busy call PORT SINK-PORT LATENCY-MS KEY STREAMS KBIT/S SECONDS` sends a stream by each caller, counts at
 * the UDP port, and prints JSON: datagrams sent and received, and the median and the 99th percentile of their
 * delay in milliseconds. An empty KEY sends in the clear. */

#include <arpa/inet.h>
#include <pthread.h>
#include <srt/srt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1200, MOST = 4096, PARALLEL = 64 };

static double *delays;
static size_t received, room;
static int sink;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void check(int result, const char *what) {
    if (result < 0) {
        fprintf(stderr, "srt_busy: %s: %s\n", what, srt_getlasterror_str());
        exit(1);
    }
}

static struct sockaddr_in at(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static SRTSOCKET open_srt(char **words) {
    SRTSOCKET s = srt_create_socket();
    int latency = atoi(words[4]), length = 16, no = 0;
    check(s, "socket");
    check(srt_setsockflag(s, SRTO_LATENCY, &latency, sizeof latency), "latency");
    if (*words[5]) {
        check(srt_setsockflag(s, SRTO_PBKEYLEN, &length, sizeof length), "key length");
        check(srt_setsockflag(s, SRTO_PASSPHRASE, words[5], strlen(words[5])), "passphrase");
    }
    check(srt_setsockflag(s, SRTO_RCVSYN, &no, sizeof no), "not blocking");
    return s;
}

static void pass_on(char **words) {
    struct sockaddr_in here = at(words[2]), there = at(words[3]);
    SRTSOCKET listener = open_srt(words), ready[MOST];
    int poll = srt_epoll_create(), in = SRT_EPOLL_IN | SRT_EPOLL_ERR, out = socket(AF_INET, SOCK_DGRAM, 0);
    char payload[1500];
    check(srt_bind(listener, (struct sockaddr *)&here, sizeof here), "bind");
    check(srt_listen(listener, MOST), "listen");
    check(srt_epoll_add_usock(poll, listener, &in), "epoll");
    for (;;) {
        int count = MOST;
        if (srt_epoll_wait(poll, ready, &count, NULL, NULL, 1000, NULL, NULL, NULL, NULL) < 0) continue;
        for (int i = 0; i < count; i++) {
            if (ready[i] == listener) {
                SRTSOCKET caller;
                if ((caller = srt_accept(listener, NULL, NULL)) >= 0) srt_epoll_add_usock(poll, caller, &in);
                continue;
            }
            for (;;) {
                int size = srt_recvmsg(ready[i], payload, sizeof payload);
                if (size > 0)
                    sendto(out, payload, size, 0, (struct sockaddr *)&there, sizeof there);
                else
                    break;
            }
            if (srt_getsockstate(ready[i]) > SRTS_CONNECTED) srt_close(ready[i]);
        }
    }
}

static void *count(void *unused) {
    char payload[1500];
    double sent_s;
    (void)unused;
    for (;;) {
        if (recv(sink, payload, sizeof payload, 0) < (int)sizeof sent_s) continue;
        memcpy(&sent_s, payload, sizeof sent_s);
        if (received < room) delays[received++] = now_s() - sent_s;
    }
    return NULL;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void call(char **words) {
    struct sockaddr_in there = at(words[2]), to = at(words[3]), any = at("0");
    int streams = atoi(words[6]), length = sizeof any;
    double gap = SIZE * 8 / 1e3 / atof(words[7]), seconds = atof(words[8]);
    SRTSOCKET *callers = calloc(streams, sizeof *callers);
    char payload[SIZE] = {0};
    size_t sent = 0, refused = 0;
    pthread_t counter;
    room = (size_t)(streams * (seconds + 1) / gap);
    delays = calloc(room, sizeof *delays);
    sink = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(sink, (struct sockaddr *)&to, sizeof to) < 0) perror("sink"), exit(1);
    pthread_create(&counter, NULL, count, NULL);
    for (int i = 0; i < streams; i++) {
        callers[i] = open_srt(words);
        /* One UDP port for all of them: each port has two threads. */
        check(srt_bind(callers[i], (struct sockaddr *)&any, length), "bind");
        if (i == 0) check(srt_getsockname(callers[0], (struct sockaddr *)&any, &length), "name");
        check(srt_connect(callers[i], (struct sockaddr *)&there, sizeof there), "connect");
        /* The listener's queue of handshakes is short. */
        for (int waits = 0; i % PARALLEL == PARALLEL - 1 && waits < 1000; waits++) {
            if (srt_getsockstate(callers[i]) == SRTS_CONNECTED) break;
            usleep(10000);
        }
    }
    for (int i = 0; i < streams; i++) {
        double limit = now_s() + 30;
        while (srt_getsockstate(callers[i]) != SRTS_CONNECTED) {
            if (now_s() > limit) fprintf(stderr, "srt_busy: caller %d is not connected\n", i), exit(1);
            usleep(10000);
        }
    }
    sleep(1);
    puts("all are connected");
    fflush(stdout);
    double begin = now_s();
    while (now_s() < begin + seconds) {
        while (begin + gap / streams * sent <= now_s()) {
            double stamp = now_s();
            memcpy(payload, &stamp, sizeof stamp);
            if (srt_sendmsg(callers[sent % streams], payload, SIZE, -1, 1) < 0) refused++;
            sent++;
        }
        usleep(1000);
    }
    usleep(500000 + atoi(words[4]) * 1000);
    size_t all = received;
    qsort(delays, all, sizeof *delays, compare);
    printf("{\"sent\": %zu, \"received\": %zu, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n", sent, all,
           all ? delays[all / 2] * 1e3 : 0, all ? delays[all * 99 / 100] * 1e3 : 0);
    if (refused) fprintf(stderr, "srt_busy: %zu refused\n", refused);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **words) {
    if ((argc == 6 && !strcmp(words[1], "listen")) || (argc == 9 && !strcmp(words[1], "call"))) {
        srt_startup();
        argc == 6 ? pass_on(words) : call(words);
        return 0;
    }
    fprintf(stderr, "srt_busy listen|call PORT SINK-PORT LATENCY-MS KEY [STREAMS KBIT/S SECONDS]\n");
    return 2;
}
