/* Receives datagrams of one sender, and writes them to standard output, until it closes the connection.
 *
 *   receive 127.0.0.1:6511 SECRET > data        SECRET: 20 characters or more, or "plaintext"
 *
 * One poll() serves the listener, or the connection and its events. */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <whimbrel.h>

#define DCCP_PORT 5004

static void fail(const char *what) {
    fprintf(stderr, "receive: %s: %s\n", what, whimbrel_last_error());
    exit(1);
}

/* Reads all that is there. Returns 0, or the code of the end. */
static int read_all(const whimbrel_socket *socket) {
    static uint8_t buffer[65536];
    whimbrel_datagram datagram;
    whimbrel_event event;
    int code;
    int64_t size;
    while ((code = whimbrel_next_event(socket, &event)) == 0)
        if (event.kind != WHIMBREL_EVENT_OTHER)
            fprintf(stderr, "receive: %s\n", event.text);
    while ((size = whimbrel_recv(socket, buffer, sizeof buffer, &datagram)) >= 0)
        if (fwrite(buffer, 1, (size_t)size, stdout) != (size_t)size) {
            perror("receive: standard output");
            exit(1);
        }
    /* Events and data end at the same time: what was received is read first. */
    return size == WHIMBREL_AGAIN ? 0 : (int)size;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: receive ADDRESS:PORT SECRET\n");
        return 2;
    }
    whimbrel_runtime *runtime = whimbrel_runtime_new();
    whimbrel_config *config = whimbrel_config_new();
    if (!runtime || !config)
        fail("starting");
    if (strcmp(argv[2], "plaintext") == 0 ? whimbrel_config_plaintext(config)
                                          : whimbrel_config_secret(config, argv[2], strlen(argv[2])))
        fail("the secret");
    whimbrel_listener *listener = whimbrel_listen(runtime, config, argv[1], DCCP_PORT);
    if (!listener)
        fail(argv[1]);
    whimbrel_config_free(config);
    char address[64];
    if (whimbrel_listener_address(listener, address, sizeof address))
        fail("the address");
    fprintf(stderr, "listening on %s\n", address);

    whimbrel_socket *socket = NULL;
    int code = 0;
    while (code == 0) {
        struct pollfd ready[] = {{socket ? whimbrel_fd(socket) : whimbrel_listener_fd(listener), POLLIN, 0},
                                 {socket ? whimbrel_event_fd(socket) : -1, POLLIN, 0}};
        if (poll(ready, 2, -1) < 0) {
            perror("receive: poll");
            return 1;
        }
        if (socket)
            code = read_all(socket);
        else if (!(socket = whimbrel_accept(listener)) && whimbrel_last_error_code() != WHIMBREL_AGAIN)
            fail("accepting");
    }
    if (code != WHIMBREL_CLOSED)
        fail("receiving");
    whimbrel_free(socket);
    whimbrel_listener_free(listener);
    whimbrel_runtime_free(runtime);
    return 0;
}
