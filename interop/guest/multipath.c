/*
 * One end of an MP-DCCP connection on the sockets of the Linux kernels with MP-DCCP
 * (https://github.com/telekom/mp-dccp, of March 2024, which speaks the drafts of that year). Its counterpart on
 * Whimbrel's stack is interop/peers/src/bin/interop_multipath.rs.
 *
 *	multipath on|off INTERFACE...           use the addresses of these interfaces for MP-DCCP, or not any longer
 *	multipath server PORT [key=value]...
 *	multipath client ADDRESS PORT [key=value]...
 *
 *	from=ADDRESS  a client's address of the first subflow (the system's choice)
 *	code=N        service code (42)
 *	ccid=N        congestion control in both directions (2)
 *	single=0|1    1: a regular connection; net.mpdccp.mpdccp_enabled has to be 0 as well (0)
 *	scheduler=S   of the kernel: default, rr, srtt, redundant or otias (default)
 *	size=BYTES    of each datagram (500)
 *	count=N       number of datagrams that this end sends (0)
 *	interval=S    between two datagrams (0.02)
 *	after=S       from the handshake to the first datagram (0)
 *	closes=S      time from the handshake until this end closes (never)
 *	fast=0|1      1: it closes with MP_FAST_CLOSE (0)
 *	wait=S        limit of the test (20)
 *
 * Prints a line of JSON at the end. The datagrams are those of peer.c.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SOCK_DCCP_ = 6, IPPROTO_DCCP_ = 33, SOL_DCCP_ = 269 };
/* Socket options of these kernels. */
enum { OPT_SERVICE = 2, OPT_CCID = 13, OPT_MULTIPATH = 18, OPT_SCHEDULER = 21, OPT_FAST_CLOSE = 23 };
/* The interface flag by which an interface takes part; it needs netlink, as it does not fit into ifr_flags. */
enum { FLAG_ON = 0x200000 };

static struct {
	const char *role, *address, *from, *scheduler;
	int port, code, ccid, single, size, count, fast;
	double interval, after, closes, wait;
} o = { .code = 42, .ccid = 2, .size = 500, .interval = 0.02, .closes = 1e9, .wait = 20 };

static int sent, received, corrupt, duplicates, refused;
static uint8_t seen[1 << 16];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void finish(const char *end, int error)
{
	printf("{\"who\":\"kernel\",\"role\":\"%s\",\"end\":\"%s\",\"error\":\"%s\",\"sent\":%d,\"received\":%d,"
	       "\"corrupt\":%d,\"duplicates\":%d,\"refused\":%d}\n",
	       o.role, end, error ? strerrorname_np(error) : "", sent, received, corrupt, duplicates, refused);
	fflush(stdout);
	/* The kernel's sockets outlive the process: their last packets leave. */
	exit(0);
}

static int switch_interface(const char *name, int on)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} m = { .head = { .nlmsg_len = sizeof m, .nlmsg_type = RTM_NEWLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.info = { .ifi_family = AF_UNSPEC, .ifi_index = (int)if_nametoindex(name),
			  .ifi_flags = on ? FLAG_ON : 0, .ifi_change = FLAG_ON } };
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[512];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd < 0 || send(fd, &m, sizeof m, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
		return errno;
	close(fd);
	return answer.head.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EPROTO;
}

static uint8_t pattern(uint32_t n, int i)
{
	return (uint8_t)(n * 31 + i * 7 + 13);
}

static void check(const uint8_t *buf, ssize_t n)
{
	uint32_t number;

	received++;
	if (n != o.size) {
		corrupt++;
		return;
	}
	memcpy(&number, buf, 4);
	number = ntohl(number);
	for (int i = 4; i < n; i++)
		if (buf[i] != pattern(number, i)) {
			corrupt++;
			return;
		}
	if (number < sizeof seen)
		duplicates += seen[number]++ > 0;
}

static void must(int result, const char *what)
{
	if (result < 0) {
		int error = errno;
		perror(what);
		finish("failed", error);
	}
}

static int open_socket(void)
{
	uint32_t code = htonl((uint32_t)o.code);
	uint8_t ccid = (uint8_t)o.ccid;
	int fd = socket(AF_INET, SOCK_DCCP_, IPPROTO_DCCP_), on = 1;

	must(fd, "socket");
	must(setsockopt(fd, SOL_DCCP_, OPT_SERVICE, &code, sizeof code), "service code");
	must(setsockopt(fd, SOL_DCCP_, OPT_CCID, &ccid, 1), "CCID");
	if (!o.single)
		must(setsockopt(fd, SOL_DCCP_, OPT_MULTIPATH, &on, sizeof on), "multipath");
	return fd;
}

static struct sockaddr_in address_of(const char *address, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	if (address)
		inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

static int open_server(void)
{
	struct sockaddr_in a = address_of(NULL, o.port);
	int listener = open_socket(), fd;
	struct pollfd p = { .fd = listener, .events = POLLIN };

	must(bind(listener, (struct sockaddr *)&a, sizeof a), "bind");
	must(listen(listener, 4), "listen");
	fprintf(stderr, "listening\n");
	if (poll(&p, 1, (int)(o.wait * 1e3)) != 1)
		finish("idle", 0);
	fd = accept(listener, NULL, NULL);
	must(fd, "accept");
	return fd;
}

static int open_client(void)
{
	struct sockaddr_in to = address_of(o.address, o.port), from = address_of(o.from, 0);
	int fd = open_socket();

	if (o.from)
		must(bind(fd, (struct sockaddr *)&from, sizeof from), "bind");
	must(connect(fd, (struct sockaddr *)&to, sizeof to), "connect");
	return fd;
}

static void send_one(int fd)
{
	static uint8_t buf[2048];
	uint32_t be = htonl((uint32_t)sent);

	memcpy(buf, &be, 4);
	for (int i = 4; i < o.size; i++)
		buf[i] = pattern((uint32_t)sent, i);
	if (send(fd, buf, (size_t)o.size, MSG_DONTWAIT | MSG_NOSIGNAL) == o.size)
		sent++;
	else if (errno == EAGAIN)
		refused++;
	else
		finish("failed", errno);
}

static void transfer(int fd)
{
	uint8_t buf[2048];
	double begin = now(), next = begin + o.after;

	if (o.scheduler)
		must(setsockopt(fd, SOL_DCCP_, OPT_SCHEDULER, o.scheduler, (socklen_t)strlen(o.scheduler) + 1), "scheduler");
	for (;;) {
		double time = now();
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (time > begin + o.wait)
			finish("timeout", 0);
		if (time > begin + o.closes) {
			uint8_t fast = (uint8_t)o.fast;
			if (fast)
				must(setsockopt(fd, SOL_DCCP_, OPT_FAST_CLOSE, &fast, 1), "fast close");
			close(fd);
			finish("closed", 0);
		}
		if (sent < o.count && time >= next) {
			send_one(fd);
			next += o.interval;
		}
		if (poll(&p, 1, 5) < 1)
			continue;
		ssize_t n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
		if (n > 0)
			check(buf, n);
		else if (n == 0)
			finish("eof", 0);
		else if (errno != EAGAIN)
			finish("reset", errno);
	}
}

int main(int argc, char **argv)
{
	int place = 2;

	if (argc < 3) {
		fprintf(stderr, "multipath on|off INTERFACE... | server PORT | client ADDRESS PORT [key=value]...\n");
		return 2;
	}
	o.role = argv[1];
	if (!strcmp(o.role, "on") || !strcmp(o.role, "off")) {
		for (; place < argc; place++) {
			int error = switch_interface(argv[place], o.role[1] == 'n');
			if (error) {
				fprintf(stderr, "%s: %s\n", argv[place], strerror(error));
				return 1;
			}
		}
		return 0;
	}
	if (!strcmp(o.role, "client"))
		o.address = argv[place++];
	o.port = place < argc ? atoi(argv[place++]) : 0;
	for (; place < argc; place++) {
		char *value = strchr(argv[place], '=');
		if (!value) {
			fprintf(stderr, "%s: expected key=value\n", argv[place]);
			return 2;
		}
		*value++ = 0;
		struct {
			const char *key;
			int *number;
			double *time;
			const char **text;
		} keys[] = {
			{ "from", NULL, NULL, &o.from }, { "scheduler", NULL, NULL, &o.scheduler },
			{ "code", &o.code, NULL, NULL }, { "ccid", &o.ccid, NULL, NULL },
			{ "single", &o.single, NULL, NULL }, { "size", &o.size, NULL, NULL },
			{ "count", &o.count, NULL, NULL }, { "fast", &o.fast, NULL, NULL },
			{ "interval", NULL, &o.interval, NULL }, { "after", NULL, &o.after, NULL },
			{ "closes", NULL, &o.closes, NULL }, { "wait", NULL, &o.wait, NULL },
		};
		size_t i, n = sizeof keys / sizeof *keys;
		for (i = 0; i < n && strcmp(keys[i].key, argv[place]); i++)
			;
		if (i == n) {
			fprintf(stderr, "%s: unknown key\n", argv[place]);
			return 2;
		}
		if (keys[i].number)
			*keys[i].number = atoi(value);
		else if (keys[i].time)
			*keys[i].time = atof(value);
		else
			*keys[i].text = value;
	}
	if (o.size < 4 || o.size > 2048) {
		fprintf(stderr, "size=%d: expected 4 to 2048\n", o.size);
		return 2;
	}
	transfer(strcmp(o.role, "server") ? open_client() : open_server());
}
