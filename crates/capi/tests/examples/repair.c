/* Both ends of a connection with repair. Prints the address of the listener, and reads that of the path. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <whimbrel.h>

#define CHECK(holds) do { if (!(holds)) { printf("line %d: %s\n", __LINE__, whimbrel_last_error()); return 1; } } while (0)
#define MESSAGES 400
#define STREAM 7

static size_t fill(unsigned char *message, int number)
{
    size_t size = 100 + number % 900;
    memset(message, number & 0xff, size);
    message[0] = (unsigned char)(number >> 8);
    message[1] = (unsigned char)number;
    return size;
}

static void pause_ms(long ms)
{
    struct timespec time = {0, ms * 1000000};
    nanosleep(&time, NULL);
}

/* Every message arrives once, in order and unaltered, and both ends count what repaired them. */
static int single_losses(whimbrel_socket *client, whimbrel_socket *server)
{
    unsigned char message[1000], received[1000];
    whimbrel_repair sent, repaired;
    int next = 0;
    for (int number = 0; number < MESSAGES || next < MESSAGES;) {
        if (number < MESSAGES) {
            int code = whimbrel_send(client, message, fill(message, number), -1, NULL);
            CHECK(code == 0 || code == WHIMBREL_AGAIN);
            number += code == 0;
            pause_ms(3);
        } else {
            CHECK(whimbrel_wait(server, 20000) == 1);
        }
        int64_t size;
        while ((size = whimbrel_recv(server, received, sizeof received, NULL)) >= 0) {
            CHECK((size_t)size == fill(message, next++) && memcmp(message, received, (size_t)size) == 0);
        }
        CHECK(size == WHIMBREL_AGAIN);
    }
    CHECK(whimbrel_get_repair(server, &repaired) == 0 && whimbrel_get_repair(client, &sent) == 0);
    printf("%d repeated, %d restored, %d given up, %d repeats and %d coded packets sent\n", (int)repaired.repeated,
           (int)repaired.restored, (int)repaired.given_up, (int)sent.repeats_sent, (int)sent.coded_sent);
    CHECK(repaired.repeated + repaired.restored > 10 && repaired.given_up == 0);
    CHECK(repaired.repeats_sent == 0 && repaired.data_bytes == 0 && repaired.repair_bytes > 0);
    CHECK(sent.repeated + sent.restored == 0 && sent.reports > 0 && sent.repair_bytes > 0);
    CHECK(sent.repeats_sent + sent.coded_sent >= repaired.repeated + repaired.restored);
    /* With the headers of repair, all bytes of the messages: 100 to 499. */
    CHECK(sent.data_bytes > 119800 && sent.data_bytes < 2 * 119800);
    CHECK(sent.budget_ns > 0 && sent.budget_ns <= 1500000000);
    return 0;
}

/* The path is broken for longer than the latency: frames are given up, and the sender's program is told. */
static int outage(whimbrel_socket *client, whimbrel_socket *server)
{
    unsigned char message[1000];
    whimbrel_event event;
    whimbrel_mark mark = {STREAM, WHIMBREL_FRAME_START, 1, true};
    mark.role = 9;
    CHECK(whimbrel_send_part(client, "?", 1, -1, &mark, NULL) == WHIMBREL_ERROR_ARGUMENT);
    CHECK(whimbrel_send_part(client, "?", 1, -1, NULL, NULL) == WHIMBREL_ERROR_ARGUMENT);
    for (int number = 0; number < 4000; number++) {
        mark.role = number == 0 ? WHIMBREL_FRAME_START : WHIMBREL_FRAME_INNER;
        int code = whimbrel_send_part(client, message, fill(message, number % 256), -1, &mark, NULL);
        /* Over the broken path the queue fills. */
        CHECK(code == 0 || code == WHIMBREL_AGAIN);
        pause_ms(5);
        while (whimbrel_recv(server, message, sizeof message, NULL) >= 0)
            ;
        while ((code = whimbrel_next_event(client, &event)) == 0) {
            if (event.kind != WHIMBREL_EVENT_NEW_START_NEEDED)
                continue;
            CHECK(event.value == STREAM && event.detail == 0);
            printf("a new start after %d frames\n", number);
            return 0;
        }
        CHECK(code == WHIMBREL_AGAIN);
    }
    printf("no new start was asked for\n");
    return 1;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    whimbrel_runtime *runtime = whimbrel_runtime_new();
    whimbrel_config *config = whimbrel_config_new();
    whimbrel_repair repair;
    char text[64];
    uint32_t latency = (uint32_t)atoi(arguments[2]);
    CHECK(whimbrel_config_plaintext(config) == 0);
    CHECK(whimbrel_config_send_queue(config, 64, 1 << 20, strcmp(arguments[1], "single") == 0) == 0);
    if (latency > 0)
        CHECK(whimbrel_config_latency(config, latency) == 0);
    whimbrel_listener *listener = whimbrel_listen(runtime, config, "127.0.0.1:0", 5001);
    CHECK(listener && whimbrel_listener_address(listener, text, sizeof text) == 0);
    printf("%s\n", text);
    fflush(stdout);
    CHECK(fgets(text, sizeof text, stdin));
    text[strcspn(text, "\n")] = 0;
    if (strcmp(arguments[1], "refused") == 0) {
        CHECK(whimbrel_config_multipath(config, "coded") == 0);
        CHECK(!whimbrel_connect(runtime, config, text, 5001) && whimbrel_last_error_code() == WHIMBREL_ERROR_CONFIG);
        CHECK(strstr(whimbrel_last_error(), "scheduler = \"coded\": expected"));
        CHECK(!whimbrel_listen(runtime, config, "127.0.0.1:0", 5001));
        CHECK(whimbrel_last_error_code() == WHIMBREL_ERROR_CONFIG);
        /* A connection without a latency has no counters. */
        CHECK(whimbrel_config_multipath(config, "lowest-rtt") == 0);
    }
    whimbrel_socket *client = whimbrel_connect(runtime, config, text, 5001), *server;
    CHECK(client);
    while (!(server = whimbrel_accept(listener)))
        CHECK(whimbrel_listener_wait(listener, 20000) == 1);
    while (whimbrel_state(client) == WHIMBREL_AGAIN)
        CHECK(whimbrel_wait(client, 20000) == 1);
    int failed = 0;
    if (latency == 0)
        CHECK(whimbrel_get_repair(client, &repair) == WHIMBREL_AGAIN);
    else
        failed = strcmp(arguments[1], "single") == 0 ? single_losses(client, server) : outage(client, server);
    whimbrel_free(client);
    whimbrel_free(server);
    whimbrel_listener_free(listener);
    whimbrel_config_free(config);
    whimbrel_runtime_close(runtime, 5000);
    return failed;
}
