/*
 * One end of a flow of the kernel's TCP or UDP.
 *
 *	flow tcp-send ADDRESS PORT SIZE SECONDS CONGESTION
 *	flow udp-send ADDRESS PORT SIZE SECONDS BITS_PER_SECOND
 *	flow tcp-sink PORT
 *	flow udp-sink PORT
 *
 * SIZE is that of the data in a packet. A sink reads until it is killed, and says "listening" on standard error.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* of TCP's header; TCP_MAXSEG includes them */
enum { TIMESTAMPS = 12 };

static char data[65536];

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int receive(int tcp, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int on = 1, fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (void *)&a, sizeof a) || (tcp && listen(fd, 1)))
		return fail("bind");
	fprintf(stderr, "listening\n");
	if (tcp && (fd = accept(fd, NULL, NULL)) < 0)
		return fail("accept");
	while (read(fd, data, sizeof data) > 0)
		;
	return 0;
}

/* Datagrams at even distances: a late one is followed by the next at its own time. */
static void paced(int fd, int size, double seconds, double bits_per_second)
{
	double interval = size * 8 / bits_per_second, begin = now();

	for (long n = 0; n * interval < seconds; n++) {
		double at = begin + n * interval;
		struct timespec t = { (time_t)at, (long)((at - (time_t)at) * 1e9) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		if (write(fd, data, size) < 0)
			perror("write");
	}
}

/* What is in the send buffer at the end is not sent: the connection ends with a RST. */
static int bulk(int fd, double seconds)
{
	struct timeval limit = { .tv_usec = 50000 };
	struct linger reset = { .l_onoff = 1 };
	double begin = now();

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	while (now() - begin < seconds)
		if (write(fd, data, 8192) < 0 && now() - begin < seconds)
			continue;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	return close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int tcp, fd, segment;

	if (argc == 3 && strstr(argv[1], "-sink"))
		return receive(!strncmp(argv[1], "tcp", 3), atoi(argv[2]));
	if (argc != 7)
		return fprintf(stderr, "flow: wrong arguments\n"), 2;
	tcp = !strcmp(argv[1], "tcp-send");
	inet_pton(AF_INET, argv[2], &a.sin_addr);
	a.sin_port = htons(atoi(argv[3]));
	fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
	if (tcp) {
		segment = atoi(argv[4]) + TIMESTAMPS;
		if (setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment) ||
		    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, argv[6], strlen(argv[6])))
			return fail("setsockopt");
	}
	if (connect(fd, (void *)&a, sizeof a))
		return fail("connect");
	if (tcp)
		return bulk(fd, atof(argv[5]));
	paced(fd, atoi(argv[4]), atof(argv[5]), atof(argv[6]));
	return 0;
}
