/* Sends standard input in datagrams of 1000 bytes, then prints statistics.
 *
 *   send 127.0.0.1:6511 SECRET < data          SECRET: that of the receiver, or "plaintext" */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <whimbrel.h>

#define DCCP_PORT 5004

static void fail(const char *what) {
    fprintf(stderr, "send: %s: %s\n", what, whimbrel_last_error());
    exit(1);
}

/* Waits for room in the queue: the event SEND_READY. */
static void wait_for_room(const whimbrel_socket *socket) {
    whimbrel_event event = {0};
    do {
        int code = whimbrel_next_event(socket, &event);
        if (code == WHIMBREL_AGAIN)
            code = whimbrel_wait_event(socket, -1) < 0 ? -1 : 0;
        if (code < 0)
            fail("waiting");
    } while (event.kind != WHIMBREL_EVENT_SEND_READY);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: send ADDRESS:PORT SECRET\n");
        return 2;
    }
    whimbrel_runtime *runtime = whimbrel_runtime_new();
    whimbrel_config *config = whimbrel_config_new();
    if (!runtime || !config)
        fail("starting");
    if (strcmp(argv[2], "plaintext") == 0 ? whimbrel_config_plaintext(config)
                                          : whimbrel_config_secret(config, argv[2], strlen(argv[2])))
        fail("the secret");
    /* A file, not live data: nothing is dropped from the queue, and send waits. */
    if (whimbrel_config_send_queue(config, 64, 1 << 20, true))
        fail("the queue");
    whimbrel_socket *socket = whimbrel_connect(runtime, config, argv[1], DCCP_PORT);
    if (!socket)
        fail(argv[1]);
    whimbrel_config_free(config);
    int code;
    while ((code = whimbrel_state(socket)) == WHIMBREL_AGAIN)
        whimbrel_wait(socket, -1);
    if (code)
        fail("connecting");

    uint8_t data[1000];
    size_t size;
    while ((size = fread(data, 1, sizeof data, stdin)) > 0)
        while ((code = whimbrel_send(socket, data, size, -1, NULL)) != 0) {
            if (code != WHIMBREL_AGAIN)
                fail("sending");
            wait_for_room(socket);
        }

    whimbrel_stats stats;
    if (whimbrel_get_stats(socket, &stats))
        fail("statistics");
    fprintf(stderr, "send: RTT %.3f ms, %llu datagrams queued\n", stats.rtt_ns / 1e6,
            (unsigned long long)stats.queued_datagrams);
    /* Closes after the last datagram was sent; freeing the runtime waits for that. */
    whimbrel_free(socket);
    return whimbrel_runtime_close(runtime, 20000) == 1 ? 0 : 1;
}
