/* Carries the RTP stream of an unmodified program, such as ffmpeg, over an encrypted DCCP connection.
 *
 *   rtp receive 0.0.0.0:6511 SECRET 5006        gives the stream to 127.0.0.1:5006
 *   rtp send VIEWER:6511 SECRET 5004            takes the stream from 127.0.0.1:5004
 *
 *   ffmpeg -re -i clip.mp4 -an -c:v libx264 -tune zerolatency -f rtp 'rtp://127.0.0.1:5004?pkt_size=1100'
 *
 * A packet that could not be sent within 200 ms is dropped: the viewer would show it too late. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <whimbrel.h>

#define DCCP_PORT 5004
#define LIFETIME_MS 200

static uint8_t packet[65536];

static void fail(const char *what) {
    fprintf(stderr, "rtp: %s: %s\n", what, whimbrel_last_error());
    exit(1);
}

static struct sockaddr_in loopback(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* Sends until the connection ends. */
static int send_stream(const whimbrel_runtime *runtime, const whimbrel_config *config, const char *peer, int udp) {
    whimbrel_socket *socket = whimbrel_connect(runtime, config, peer, DCCP_PORT);
    if (!socket)
        fail(peer);
    int code;
    while ((code = whimbrel_state(socket)) == WHIMBREL_AGAIN)
        whimbrel_wait(socket, -1);
    if (code)
        fail(peer);
    fprintf(stderr, "connected\n");
    for (;;) {
        struct pollfd ready[] = {{udp, POLLIN, 0}, {whimbrel_fd(socket), POLLIN, 0}};
        if (poll(ready, 2, -1) < 0)
            return 1;
        if (ready[1].revents) {
            /* Nothing is expected of the viewer but the end. */
            int64_t size = whimbrel_recv(socket, packet, sizeof packet, NULL);
            if (size < 0 && size != WHIMBREL_AGAIN) {
                fprintf(stderr, "rtp: %s\n", whimbrel_last_error());
                whimbrel_free(socket);
                return size == WHIMBREL_CLOSED ? 0 : 1;
            }
        }
        ssize_t size;
        while ((size = recv(udp, packet, sizeof packet, MSG_DONTWAIT)) >= 0)
            if (whimbrel_send(socket, packet, (size_t)size, LIFETIME_MS, NULL) == WHIMBREL_ERROR_TOO_LARGE)
                fprintf(stderr, "rtp: %s: set pkt_size\n", whimbrel_last_error());
    }
}

/* Receives one connection after the other. */
static int receive_stream(const whimbrel_runtime *runtime, const whimbrel_config *config, const char *local, int udp,
                          struct sockaddr_in viewer) {
    whimbrel_listener *listener = whimbrel_listen(runtime, config, local, DCCP_PORT);
    char address[64];
    if (!listener || whimbrel_listener_address(listener, address, sizeof address))
        fail(local);
    fprintf(stderr, "listening on %s\n", address);
    whimbrel_socket *socket = NULL;
    for (;;) {
        /* A newer camera replaces the older one, which may have lost its power. */
        struct pollfd ready[] = {{whimbrel_listener_fd(listener), POLLIN, 0}, {socket ? whimbrel_fd(socket) : -1, POLLIN, 0}};
        if (poll(ready, 2, -1) < 0)
            return 1;
        whimbrel_socket *newer = ready[0].revents ? whimbrel_accept(listener) : NULL;
        if (newer) {
            whimbrel_free(socket);
            socket = newer;
        }
        int64_t size = WHIMBREL_AGAIN;
        while (socket && (size = whimbrel_recv(socket, packet, sizeof packet, NULL)) >= 0)
            sendto(udp, packet, (size_t)size, 0, (struct sockaddr *)&viewer, sizeof viewer);
        if (size != WHIMBREL_AGAIN) {
            fprintf(stderr, "rtp: %s\n", whimbrel_last_error());
            whimbrel_free(socket);
            socket = NULL;
        }
    }
}

int main(int argc, char **argv) {
    int is_sender = argc == 5 && strcmp(argv[1], "send") == 0;
    if (argc != 5 || (!is_sender && strcmp(argv[1], "receive") != 0)) {
        fprintf(stderr, "usage: rtp send|receive ADDRESS:PORT SECRET UDP_PORT\n");
        return 2;
    }
    whimbrel_runtime *runtime = whimbrel_runtime_new();
    whimbrel_config *config = whimbrel_config_new();
    if (!runtime || !config || whimbrel_config_secret(config, argv[3], strlen(argv[3])))
        fail("the secret");
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = loopback(argv[4]);
    if (udp < 0 || (is_sender && bind(udp, (struct sockaddr *)&address, sizeof address) != 0)) {
        perror("rtp: the UDP port");
        return 1;
    }
    return is_sender ? send_stream(runtime, config, argv[2], udp) : receive_stream(runtime, config, argv[2], udp, address);
}
