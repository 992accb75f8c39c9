/*
 * One end of a DCCP connection on the sockets of the Linux kernel (6.15 was the last to have them).
 * Its twin on Whimbrel's sockets, interop/peers/src/bin/interop_peer.rs, takes the same arguments and
 * prints the same JSON, so that a suite can use either at each end of a path.
 *
 *	peer client|server ADDRESS PORT [key=value]...
 *
 *	ccid=2,3      CCIDs to offer, in order of preference (default 2)
 *	code=N        service code (42)
 *	size=BYTES    of each datagram (500)
 *	sends=0|1     1: this end sends data of its own, as fast as allowed (0)
 *	seconds=S     duration of sending (0: unlimited)
 *	count=N       number of datagrams (0: unlimited)
 *	echo=0|1      send back what arrives (0)
 *	closes=0|1    1: this end closes, once it has sent or received all of that (0)
 *	timewait=0|1  a closing server sends Close and keeps TIMEWAIT, instead of CloseReq (0)
 *	reads=0|1     1: read arriving data from the kernel (1)
 *	backlog=N     of the listening socket; 0 and accepts=0: Requests meet a full queue (4)
 *	accepts=0|1   1: a server accepts the connection (1)
 *	warm=S        start of the measurement after the first datagram (0)
 *	measure=S     duration of the measurement, reported in ten parts (1e9)
 *	wait=S        timeout of the test (60)
 *	freezes=S     Whimbrel's end offers all its experiments and freezes for that long after half of its
 *	              data; the kernel's end supports none, and ignores this (0)
 *	orders=S      D_max of the reorder buffer of Whimbrel's end (0)
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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
/* include/uapi/linux/dccp.h */
enum { OPT_SERVICE = 2, OPT_SERVER_TIMEWAIT = 6, OPT_CCID = 13, OPT_TX_CCID = 14, OPT_RX_CCID = 15,
       OPT_QPOLICY_TXQLEN = 17, OPT_CCID_RX_INFO = 128, OPT_CCID_TX_INFO = 192 };
/* include/uapi/linux/tfrc.h: only CCID 3 fills these in */
struct tfrc_tx { uint64_t x, x_recv; uint32_t x_calc, rtt, p, rto, ipi; };
struct tfrc_rx { uint32_t x_recv, rtt, p; };

#define MAX_SAMPLES 4000
struct sample { double t, x, x_recv, p, rtt; };

static struct {
	const char *role, *address;
	int port, code, size, sends, count, echo, closes, timewait, reads, backlog, accepts, nccid;
	double seconds, warm, measure, wait, freezes, orders;
	uint8_t ccids[4];
} o = { .code = 42, .size = 500, .reads = 1, .backlog = 4, .accepts = 1, .nccid = 1, .ccids = { 2 },
	.measure = 1e9, .wait = 60 };

static struct sample tx[MAX_SAMPLES], rx[MAX_SAMPLES];
/* Result of the kernel's throughput equation at each sample of tx, in bytes per second. */
static uint32_t calculated[MAX_SAMPLES];
static int ntx, nrx;
/* the measurement, in equal parts, which show its spread */
enum { PARTS = 10 };
static long sent, received, corrupt, duplicates, measured[PARTS];
static double first, last, connect_ms;
static int tx_ccid = -1, rx_ccid = -1;
static uint8_t *seen;
enum { SEEN = 1 << 20 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void list(const char *name, const struct sample *s, int n)
{
	printf(",\"%s\":[", name);
	for (int i = 0; i < n; i++)
		printf("%s[%.3f,%.0f,%.0f,%.7f,%.7f]", i ? "," : "", s[i].t, s[i].x, s[i].x_recv, s[i].p, s[i].rtt);
	printf("]");
}

/* Prints the report, and exits. */
static void finish(const char *end, int error)
{
	printf("{\"who\":\"linux\",\"role\":\"%s\",\"end\":\"%s\",\"error\":\"%s\",\"connect_ms\":%.3f,"
	       "\"tx_ccid\":%d,\"rx_ccid\":%d,\"sent\":%ld,\"received\":%ld,\"corrupt\":%ld,\"duplicates\":%ld,"
	       "\"first\":%.6f,\"last\":%.6f,\"measured\":[",
	       o.role, end, error ? strerrorname_np(error) : "", connect_ms, tx_ccid, rx_ccid, sent, received,
	       corrupt, duplicates, first, last);
	for (int i = 0; i < PARTS; i++)
		printf("%s%ld", i ? "," : "", measured[i]);
	printf("]");
	list("tx", tx, ntx);
	list("rx", rx, nrx);
	printf(",\"x_calc\":[");
	for (int i = 0; i < ntx; i++)
		printf("%s%u", i ? "," : "", calculated[i]);
	printf("]");
	printf("}\n");
	fflush(stdout);
	exit(0);
}

/* The byte at place i of datagram n; the first four are n itself. */
static uint8_t pattern(uint32_t n, int i)
{
	return (uint8_t)(n * 31 + i * 7 + 13);
}

static void fill(uint8_t *buf, uint32_t n)
{
	uint32_t be = htonl(n);
	memcpy(buf, &be, 4);
	for (int i = 4; i < o.size; i++)
		buf[i] = pattern(n, i);
}

static void check(const uint8_t *buf, ssize_t n)
{
	uint32_t number;
	double t = now();

	if (!received++)
		first = t;
	last = t;
	if (t >= first + o.warm && t < first + o.warm + o.measure)
		measured[(int)((t - first - o.warm) / o.measure * PARTS)] += n;
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
	if (number < SEEN)
		duplicates += seen[number]++ != 0;
}

static void look(int fd)
{
	struct tfrc_tx t = { 0 };
	struct tfrc_rx r = { 0 };
	socklen_t n = sizeof t;

	if (ntx < MAX_SAMPLES && tx_ccid == 3 && !getsockopt(fd, SOL_DCCP_, OPT_CCID_TX_INFO, &t, &n)) {
		calculated[ntx] = t.x_calc;
		tx[ntx++] = (struct sample){ now(), t.x / 64.0, t.x_recv / 64.0, t.p / 1e6, t.rtt / 1e6 };
	}
	n = sizeof r;
	if (nrx < MAX_SAMPLES && rx_ccid == 3 && !getsockopt(fd, SOL_DCCP_, OPT_CCID_RX_INFO, &r, &n))
		rx[nrx++] = (struct sample){ now(), 0, r.x_recv, r.p == ~0u ? 0 : r.p / 1e6, r.rtt / 1e6 };
}

static int ccid(int fd, int option)
{
	int v = -1;
	uint8_t b;
	socklen_t n = sizeof v;

	/* an int or a byte, by version */
	if (getsockopt(fd, SOL_DCCP_, option, &v, &n))
		return -1;
	return n == 1 ? (memcpy(&b, &v, 1), b) : v;
}

static void transfer(int fd)
{
	static uint8_t out[65536], in[65536];
	double begin = now(), sampled = begin;
	int sending = o.sends, error;

	tx_ccid = ccid(fd, OPT_TX_CCID);
	rx_ccid = ccid(fd, OPT_RX_CCID);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	fill(out, 0);
	for (;;) {
		double t = now();
		int full = 0, done;
		struct pollfd p = { .fd = fd, .events = o.reads ? POLLIN : 0 };

		if (t - begin > o.wait)
			finish("timeout", 0);
		if (t - sampled > 0.2) {
			sampled = t;
			look(fd);
		}
		if (sending && ((o.seconds && t - begin >= o.seconds) || (o.count && sent >= o.count)))
			sending = 0;
		while (sending && !full && !(o.count && sent >= o.count)) {
			if (send(fd, out, o.size, 0) >= 0)
				fill(out, ++sent);
			else if (errno == EAGAIN)
				full = 1;
			else
				finish("send", errno);
		}
		done = !sending && (o.sends || (o.seconds && t - begin >= o.seconds) ||
				    (!o.sends && o.count && received >= o.count));
		/* An end that echoes and an end that counts echoes wait for the last of them. */
		if (done && o.closes && !(o.sends && o.echo && received < o.count && t - last < 2)) {
			int level;
			/* queued data would be lost */
			usleep(300000);
			while (o.reads && (level = recv(fd, in, sizeof in, 0)) > 0)
				check(in, level);
			look(fd);
			close(fd);
			sleep(1);
			finish("closed", 0);
		}
		if (poll(&p, 1, 4) < 0)
			continue;
		if (!o.reads && (p.revents & (POLLHUP | POLLERR)))
			finish("hangup", 0);
		for (;;) {
			ssize_t n = o.reads ? recv(fd, in, sizeof in, 0) : -1;
			if (n > 0) {
				check(in, n);
				if (o.echo && !o.sends && send(fd, in, n, 0) >= 0)
					sent++;
				continue;
			}
			if (n == 0) {
				look(fd);
				close(fd);
				sleep(1);
				finish("eof", 0);
			}
			error = o.reads ? errno : EAGAIN;
			if (error != EAGAIN)
				finish("recv", error);
			break;
		}
	}
}

static void option(char *word)
{
	char *value = strchr(word, '=');

	if (!value) {
		fprintf(stderr, "peer: %s: expected key=value\n", word);
		exit(2);
	}
	*value++ = 0;
	if (!strcmp(word, "ccid")) {
		o.nccid = 0;
		for (char *p = strtok(value, ","); p && o.nccid < 4; p = strtok(NULL, ","))
			o.ccids[o.nccid++] = atoi(p);
		return;
	}
	struct { const char *name; int *i; double *d; } known[] = {
		{ "code", &o.code, 0 }, { "size", &o.size, 0 }, { "sends", &o.sends, 0 }, { "count", &o.count, 0 },
		{ "echo", &o.echo, 0 }, { "closes", &o.closes, 0 }, { "timewait", &o.timewait, 0 },
		{ "reads", &o.reads, 0 }, { "backlog", &o.backlog, 0 }, { "accepts", &o.accepts, 0 },
		{ "seconds", 0, &o.seconds }, { "warm", 0, &o.warm }, { "measure", 0, &o.measure },
		{ "wait", 0, &o.wait }, { "freezes", 0, &o.freezes }, { "orders", 0, &o.orders },
	};
	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(word, known[i].name)) {
			if (known[i].i)
				*known[i].i = atoi(value);
			else
				*known[i].d = atof(value);
			return;
		}
	fprintf(stderr, "peer: %s: unknown\n", word);
	exit(2);
}

int main(int argc, char **argv)
{
	struct sockaddr_storage a = { 0 };
	struct sockaddr_in *a4 = (void *)&a;
	struct sockaddr_in6 *a6 = (void *)&a;
	socklen_t length;
	int fd, on = 1, queue = 20;
	uint32_t code;
	double t;

	if (argc < 4)
		return fprintf(stderr, "peer client|server ADDRESS PORT [key=value]...\n"), 2;
	o.role = argv[1];
	o.address = argv[2];
	o.port = atoi(argv[3]);
	for (int i = 4; i < argc; i++)
		option(argv[i]);
	seen = calloc(SEEN, 1);
	if (inet_pton(AF_INET6, o.address, &a6->sin6_addr) == 1) {
		a6->sin6_family = AF_INET6;
		a6->sin6_port = htons(o.port);
		length = sizeof *a6;
	} else {
		memset(&a, 0, sizeof a);
		a4->sin_family = AF_INET;
		a4->sin_port = htons(o.port);
		inet_pton(AF_INET, o.address, &a4->sin_addr);
		length = sizeof *a4;
	}
	fd = socket(a.ss_family, SOCK_DCCP_, IPPROTO_DCCP_);
	if (fd < 0)
		finish("socket", errno);
	code = htonl(o.code);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (setsockopt(fd, SOL_DCCP_, OPT_SERVICE, &code, sizeof code) ||
	    setsockopt(fd, SOL_DCCP_, OPT_CCID, o.ccids, o.nccid) ||
	    setsockopt(fd, SOL_DCCP_, OPT_QPOLICY_TXQLEN, &queue, sizeof queue))
		finish("setsockopt", errno);
	t = now();
	if (!strcmp(o.role, "client")) {
		struct timeval limit = { .tv_sec = (long)o.wait };
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
		if (connect(fd, (void *)&a, length))
			finish("connect", errno);
		connect_ms = (now() - t) * 1e3;
		transfer(fd);
	}
	if (bind(fd, (void *)&a, length) || listen(fd, o.backlog))
		finish("listen", errno);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	fprintf(stderr, "listening\n");
	if (!o.accepts) {
		usleep((useconds_t)(o.wait * 1e6));
		finish("unaccepted", 0);
	}
	if (poll(&p, 1, (int)(o.wait * 1e3)) <= 0)
		finish("idle", 0);
	int connection = accept(fd, NULL, NULL);
	if (connection < 0)
		finish("accept", errno);
	if (o.timewait && setsockopt(connection, SOL_DCCP_, OPT_SERVER_TIMEWAIT, &on, sizeof on))
		finish("setsockopt", errno);
	connect_ms = (now() - t) * 1e3;
	transfer(connection);
}
