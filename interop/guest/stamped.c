/*
 * Datagrams with time stamps: a sender of constant rate and a receiver, as interop/emulation/emulation_traffic.py for a guest without Python.
 *
 *	stamped send ADDRESS PORT SIZE INTERVAL_NS COUNT TRAIN
 *	stamped receive PORT
 *
 * SIZE is that of the data in a datagram. The sender sends COUNT datagrams in trains of TRAIN, one train every INTERVAL_NS. Each carries
 * its number and the time at which it was sent. The receiver says "listening" on standard error, takes the kernel's time of arrival, and
 * prints after SIGTERM a line "number,sent_ns,received_ns" per datagram, in the order of arrival.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000000 };

struct stamp { uint64_t number, sent; };
struct arrival { uint64_t number, sent, received; };

static volatile sig_atomic_t ended;

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static int send_all(char **words)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(atoi(words[1])) };
	static char data[65536];
	size_t size = atol(words[2]);
	uint64_t interval = strtoull(words[3], NULL, 10), count = strtoull(words[4], NULL, 10);
	uint64_t train = strtoull(words[5], NULL, 10), begin;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (inet_pton(AF_INET, words[0], &a.sin_addr) != 1 || size < sizeof(struct stamp) || size > sizeof data || !train)
		return fprintf(stderr, "stamped: wrong address, size or train\n"), 2;
	if (connect(fd, (void *)&a, sizeof a))
		return fail("connect");
	begin = clock_ns(CLOCK_MONOTONIC);
	for (uint64_t n = 0; n < count; n++) {
		uint64_t at = begin + n / train * interval;
		struct timespec t = { at / SECOND, at % SECOND };
		if (n % train == 0)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		struct stamp stamp = { n, clock_ns(CLOCK_REALTIME) };
		memcpy(data, &stamp, sizeof stamp);
		if (write(fd, data, size) < 0)
			perror("write");
	}
	return 0;
}

static int receive_all(char **words)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(atoi(words[0])) };
	struct sigaction action = { .sa_handler = end };
	struct arrival *seen = NULL;
	size_t count = 0, room = 0;
	/* A signal between the test of `ended` and recvmsg() does not interrupt that. */
	struct timeval limit = { .tv_usec = 100000 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1, buffer = 1 << 24;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
	sigaction(SIGTERM, &action, NULL);
	if (bind(fd, (void *)&a, sizeof a))
		return fail("bind");
	fprintf(stderr, "listening\n");
	while (!ended) {
		char data[65536], control[256];
		struct iovec into = { data, sizeof data };
		struct msghdr m = { .msg_iov = &into, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
		struct timespec t = { 0 };
		struct stamp stamp;
		ssize_t n = recvmsg(fd, &m, 0);

		if (n < (ssize_t)sizeof stamp)
			continue;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS)
				memcpy(&t, CMSG_DATA(c), sizeof t);
		memcpy(&stamp, data, sizeof stamp);
		if (count == room) {
			room = room ? 2 * room : 4096;
			seen = realloc(seen, room * sizeof *seen);
			if (!seen)
				return fail("realloc");
		}
		seen[count++] = (struct arrival){ stamp.number, stamp.sent, (uint64_t)t.tv_sec * SECOND + t.tv_nsec };
	}
	for (size_t i = 0; i < count; i++)
		printf("%llu,%llu,%llu\n", (unsigned long long)seen[i].number, (unsigned long long)seen[i].sent,
		       (unsigned long long)seen[i].received);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 8 && !strcmp(argv[1], "send"))
		return send_all(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "receive"))
		return receive_all(argv + 2);
	return fprintf(stderr, "stamped: wrong arguments\n"), 2;
}
