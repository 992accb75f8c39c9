// DCCP sockets: unreliable datagrams with congestion control, encrypted by DTLS 1.3.
//
// This file is generated from the Rust sources (crates/capi). docs/embed.md is the guide.
//
// Every function returns at once, except for whimbrel_wait..., whimbrel_listener_wait, whimbrel_runtime_close,
// whimbrel_runtime_free and, where a name has to be resolved or an address bound, whimbrel_listen. Descriptors are for poll,
// epoll or select: whimbrel_fd is readable while there is a datagram to read and at the end of the handshake and of the
// connection, whimbrel_event_fd while there is an event, whimbrel_listener_fd while there is a connection to accept. They
// stay so until the call that reads returns WHIMBREL_AGAIN, and may be readable once without anything to read. Nothing is
// read from the descriptors themselves, and they are closed when their object is freed.
//
// Functions that return an int or an int64_t return a negative code on failure, those that return a pointer NULL;
// whimbrel_last_error describes the failure of the calling thread's last call. NULL where an object is expected is
// WHIMBREL_ERROR_ARGUMENT.
//
// Threads: a runtime, a listener and a socket may be used by several threads at a time, a config by one at a time. An
// object is freed when no other call uses it. A runtime may be freed before its sockets, and a config right after use.


#ifndef WHIMBREL_H
#define WHIMBREL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The handshake is complete. `value` is the CCID of the data that this end sends, `detail` the CCID of the
// other direction.
#define WHIMBREL_EVENT_CONNECTED 1

// The queued datagram with the number `value` (whimbrel_send) will not be sent. `detail`: 1 its lifetime has
// passed, 2 the queue was full, 3 the connection has ended, 4 it is too large for the path, 5 the peer's
// application does not listen, 0 another reason.
#define WHIMBREL_EVENT_DROPPED 2

// The data of a packet arrived and did not reach the peer's application. `value`: its sequence number.
#define WHIMBREL_EVENT_DATA_DROPPED 3

// The send queue has room after it has refused a datagram.
#define WHIMBREL_EVENT_SEND_READY 4

// The peer cannot keep up: reduce the rate.
#define WHIMBREL_EVENT_SLOW_RECEIVER 5

// This end has stopped sending data for a handover; `detail` is 1 if the peer has asked for it.
#define WHIMBREL_EVENT_FROZEN 6

// This end sends data again. `detail`: 1 this end's application, 2 the peer, 3 a packet of the peer, 4 the
// time limit.
#define WHIMBREL_EVENT_UNFROZEN 7

// The largest datagram of the path is now `value` bytes.
#define WHIMBREL_EVENT_MAX_DATAGRAM 8

// The client of this server has another address now: `text` has it.
#define WHIMBREL_EVENT_PEER_MOVED 9

// The server sends to the new address of this client.
#define WHIMBREL_EVENT_MOVE_CONFIRMED 10

// Packets were lost and classified. `value` is their number, `detail` is 1 if they count as congestion.
#define WHIMBREL_EVENT_LOSS 11

// The connection has ended; `text` has the reason. Reading returns it as a code.
#define WHIMBREL_EVENT_CLOSED 12

// Another event; `text` describes it.
#define WHIMBREL_EVENT_OTHER 13

// A further path is in use; `value` is its number.
#define WHIMBREL_EVENT_PATH_UP 14

// A path has ended; `value` is its number, `text` has the reason. The connection goes on.
#define WHIMBREL_EVENT_PATH_DOWN 15

// A path does not answer: no data takes it while another one does. `value` is its number.
#define WHIMBREL_EVENT_PATH_FAILED 16

// A path answers again; `value` is its number.
#define WHIMBREL_EVENT_PATH_RECOVERED 17

// Repair has given up a frame of this end to which others refer (whimbrel_send_part): the encoder should
// make a key frame. `value` is the stream. Repeated if more is missing before that frame, after a
// round-trip time and 100 ms at the earliest.
#define WHIMBREL_EVENT_NEW_START_NEEDED 18

// Room for the text of an event, with the zero behind it.
#define WHIMBREL_EVENT_TEXT 256

// There is nothing to read now, the queue is full, or the handshake is not complete: wait for the
// descriptor.
#define WHIMBREL_AGAIN -1

// An argument is invalid.
#define WHIMBREL_ERROR_ARGUMENT -2

// The configuration is invalid or incomplete, or a key cannot be used.
#define WHIMBREL_ERROR_CONFIG -3

// The operating system refused.
#define WHIMBREL_ERROR_SYSTEM -4

// The datagram is larger than a packet can carry.
#define WHIMBREL_ERROR_TOO_LARGE -5

// One of the ends has closed the connection: its regular end.
#define WHIMBREL_CLOSED -6

// The connection has ended otherwise: a reset, a peer that does not answer or cannot be reached.
#define WHIMBREL_ERROR_CONNECTION -7

// The connection has ended because it is not secured: the peer has another key, or does not use DTLS.
#define WHIMBREL_ERROR_SECURITY -8

// The peer's application no longer listens.
#define WHIMBREL_ERROR_NOT_LISTENING -9

// A fault of this library.
#define WHIMBREL_ERROR_INTERNAL -10

// Freezes the data that this end sends.
#define WHIMBREL_FREEZE_LOCAL 1

// Freezes the data that the peer sends.
#define WHIMBREL_FREEZE_REMOTE 2

// Freezes both directions.
#define WHIMBREL_FREEZE_BOTH 3

// A frame that refers to frames before it, and to which frames after it refer.
#define WHIMBREL_FRAME_INNER 1

// A frame that begins a group: it refers to no other (a key frame).
#define WHIMBREL_FRAME_START 2

// A frame to which no other refers.
#define WHIMBREL_FRAME_DISPOSABLE 3

// The handshake of a path is under way.
#define WHIMBREL_PATH_JOINING 1

// A path carries data.
#define WHIMBREL_PATH_UP 2

// A path does not answer.
#define WHIMBREL_PATH_FAILED 3

// A path is closed, or being closed.
#define WHIMBREL_PATH_ENDED 4

// Room for an address as text, with the zero behind it.
#define WHIMBREL_ADDRESS_TEXT 64

// The configuration of connections: the protocol, and the keys that secure them.
typedef struct whimbrel_config whimbrel_config;

// Accepts connections at one UDP port.
typedef struct whimbrel_listener whimbrel_listener;

// The thread that drives sockets.
typedef struct whimbrel_runtime whimbrel_runtime;

// One connection.
typedef struct whimbrel_socket whimbrel_socket;

// An event.
typedef struct {
  // A WHIMBREL_EVENT_ constant, which says what the other fields are; they are 0 otherwise.
  int kind;
  // A detail.
  int detail;
  // A number.
  uint64_t value;
  // A description in English.
  char text[WHIMBREL_EVENT_TEXT];
} whimbrel_event;

// The place of a datagram in a frame of media. The datagrams of a frame are sent one after the other.
typedef struct {
  // The stream of the frame: frames of different streams do not refer to each other.
  uint64_t stream;
  // A WHIMBREL_FRAME_ constant.
  int role;
  // Datagrams of the frame, 1 to 255; 0 if unknown.
  uint8_t count;
  // The datagram is the last of its frame.
  bool ends_frame;
} whimbrel_mark;

// A received datagram, besides its data.
typedef struct {
  // The sequence number of the packet that brought it; over several paths, its number in the connection.
  uint64_t sequence;
  // The time of its arrival in nanoseconds, on the clock of whimbrel_now.
  uint64_t arrival_ns;
  // The ECN field of the packet: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 Congestion Experienced.
  uint8_t ecn;
  // The number of the path on which it arrived; 0 unless there are several.
  uint32_t path;
} whimbrel_datagram;

// Measurements of a connection. Over several paths, rates and counts are sums over all paths.
typedef struct {
  // The rate at which congestion control lets this end send, in bit/s; NaN if it has none, or does not
  // know it yet.
  double allowed_rate;
  // The rate at which the peer receives, in bit/s; NaN if unknown.
  double receive_rate;
  // The loss event rate of the data that this end sends, 0 to 1 (RFC 5348); NaN if unknown.
  double loss_event_rate;
  // The round-trip time in nanoseconds; 0 if unknown.
  uint64_t rtt_ns;
  // The largest datagram that can be sent now, in bytes.
  uint64_t max_datagram;
  // Datagrams in the send queue.
  uint64_t queued_datagrams;
  // Their bytes.
  uint64_t queued_bytes;
  // Datagrams sent.
  uint64_t datagrams_sent;
  // Their bytes.
  uint64_t bytes_sent;
  // Datagrams received.
  uint64_t datagrams_received;
  // Their bytes.
  uint64_t bytes_received;
  // Datagrams that were dropped instead of sent.
  uint64_t datagrams_dropped;
  // Data packets of this end that were found lost.
  uint64_t packets_lost;
  // Data packets of the peer that were found lost.
  uint64_t packets_lost_here;
  // Received datagrams that were dropped because the application has not read them in time.
  uint64_t receive_overflows;
  // Datagrams that the kernel dropped at this end's UDP socket, as they came faster than they were read or
  // had a wrong checksum; connections of one listener share it. 0 on systems other than Linux.
  uint64_t kernel_drops;
  // Received datagrams that were not authentic, and discarded.
  uint64_t forgeries;
  // This end is frozen, by its application or by the peer.
  bool is_frozen;
} whimbrel_stats;

// Counters of repair (whimbrel_config_latency) since the start of the connection, in datagrams unless stated
// otherwise.
typedef struct {
  // Repeats that this end sent.
  uint64_t repeats_sent;
  // Coded packets that this end sent.
  uint64_t coded_sent;
  // Bytes of this end's datagrams, with repair's headers.
  uint64_t data_bytes;
  // Bytes of the repeats, coded packets and reports that this end sent.
  uint64_t repair_bytes;
  // Frames of this end that were dropped before they were sent, because they were late. A datagram of
  // whimbrel_send is a frame.
  uint64_t frames_dropped;
  // Frames of this end of which no repeat could arrive in time: the latency is below the round-trip time.
  uint64_t without_round;
  // Frames of this end for which no choice of repeats and coded packets is enough.
  uint64_t out_of_reach;
  // Repeats and coded packets that were not sent, because they exceeded their share of the data.
  uint64_t over_share;
  // Reports of the peer on what it misses.
  uint64_t reports;
  // Datagrams of the peer that repeats brought in time.
  uint64_t repeated;
  // Datagrams of the peer that coded packets restored in time.
  uint64_t restored;
  // Datagrams of the peer that were not repaired in time, and given up.
  uint64_t given_up;
  // Datagrams of the peer that arrived after they were given up.
  uint64_t late;
  // Datagrams of the peer delivered before their time, because the window was full.
  uint64_t hurried;
  // The age up to which this end sends a datagram, in nanoseconds: the latency less the queueing delay of
  // the path.
  uint64_t budget_ns;
} whimbrel_repair;

// A path of a connection over several.
typedef struct {
  // Its number, by which events and datagrams name it.
  uint32_t number;
  // A WHIMBREL_PATH_ constant.
  int state;
  // This end's address, such as "192.0.2.10:6511".
  char local[WHIMBREL_ADDRESS_TEXT];
  // The peer's address.
  char remote[WHIMBREL_ADDRESS_TEXT];
  // Its measurements.
  whimbrel_stats stats;
} whimbrel_path;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a configuration with the defaults of the protocol. It is not complete before whimbrel_config_secret,
// whimbrel_config_key_file with whimbrel_config_trust_..., or whimbrel_config_plaintext was called.
whimbrel_config *whimbrel_config_new(void);

// Frees a configuration, which may be NULL. Sockets do not need it any more.
void whimbrel_config_free(whimbrel_config *config);

// Secures nothing: data can be read and changed on the path, and anyone can connect.
int whimbrel_config_plaintext(whimbrel_config *config);

// Secures connections by a secret that both ends have: 20 random bytes or more. Both ends derive keys from
// it; a passphrase could be guessed from recorded handshakes.
int whimbrel_config_secret(whimbrel_config *config, const void *secret, size_t size);

// Authenticates this end by the private key in a file: PEM (PKCS #8) of the curve P-256 or P-384, as
// `whimbrel key`, `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` and others make it.
// certificate_path names the certificate that an authority has issued for it, or is NULL.
int whimbrel_config_key_file(whimbrel_config *config, const char *path, const char *certificate_path);

// Trusts the peer with that key: "SHA256:" and 43 characters. More calls trust more peers.
int whimbrel_config_trust_fingerprint(whimbrel_config *config, const char *fingerprint);

// Trusts peers with a certificate of one of the authorities in a PEM file, for the host `name`, or for any
// host if `name` is NULL.
int whimbrel_config_trust_authorities(whimbrel_config *config, const char *path, const char *name);

// Writes the fingerprint of the key of whimbrel_config_key_file, which peers trust, with a zero behind it:
// 51 bytes.
int whimbrel_config_fingerprint(const whimbrel_config *config, char *out, size_t size);

// Sets the Service Code (RFC 4340, Section 8.1.2), which names the application. Both ends need the same.
int whimbrel_config_service_code(whimbrel_config *config, uint32_t code);

// Sets the congestion control of both directions: 2 is TCP-like (RFC 4341), 3 TFRC with a smooth rate (RFC
// 4342), 4 TFRC for small packets (RFC 5622).
int whimbrel_config_ccid(whimbrel_config *config, uint8_t ccid);

// Limits the send queue to a number of datagrams and of bytes. If it is full, the oldest datagram is
// dropped, or, if `refuse` is true, the new one is refused with WHIMBREL_AGAIN.
int whimbrel_config_send_queue(whimbrel_config *config, size_t datagrams, size_t bytes, bool refuse);

// Limits the number of received datagrams that wait for the application; beyond it the oldest is dropped.
// The default is 4096.
int whimbrel_config_receive_queue(whimbrel_config *config, size_t datagrams);

// Sets the time after which a peer without any sign of life is given up. The default is a minute.
int whimbrel_config_idle_timeout(whimbrel_config *config, uint32_t timeout_ms);

// Repairs lost datagrams, and delivers in order, at most `latency_ms` later than the fastest datagrams
// arrive. Both ends need it; three to four round-trip times are enough, and the shorter latency of both
// limits repair. Datagrams that are not repaired in time are lost. whimbrel_get_repair counts,
// whimbrel_send_part names frames.
int whimbrel_config_latency(whimbrel_config *config, uint32_t latency_ms);

// Uses several paths at a time (MP-DCCP, RFC 9897) if the peer takes part, and one otherwise. `scheduler`
// names what chooses the path of each datagram of this end: "lowest-rtt", "weighted", "redundant" (a copy on
// every path), "cheapest-first", "coded" (refused without a latency) or "handover". A client has the
// paths of whimbrel_config_add_path; a listener needs none, and accepts connections over one path as well.
int whimbrel_config_multipath(whimbrel_config *config, const char *scheduler);

// Adds a path from a local address, such as "192.0.2.10", which should be one of an interface of its own.
// The first one carries the handshake, and the others join afterwards. More calls add more paths. Of a
// listener, it is a further address at which paths arrive.
int whimbrel_config_add_path(whimbrel_config *config, const char *local);

// Offers the peer to freeze the connection over outages, and moves of the client to other addresses. Both
// ends have to offer them.
int whimbrel_config_mobile(whimbrel_config *config);

// Reads an event. Returns 0, or WHIMBREL_AGAIN if there is none.
int whimbrel_next_event(const whimbrel_socket *socket, whimbrel_event *event);

// Returns a description of the last failure in this thread; empty if there was none. It is valid until the
// thread's next failing call.
const char *whimbrel_last_error(void);

// Returns the code of the last failure in this thread, 0 if there was none: the reason for NULL.
int whimbrel_last_error_code(void);

// Returns the version of the library, such as "0.2.0".
const char *whimbrel_version(void);

// Listens at the UDP address `address`, such as "0.0.0.0:6511", "[::]:6511" or ":6511", for connections to
// the DCCP port `port`. With the UDP port 0, whimbrel_listener_address gives the one that the system has
// chosen.
whimbrel_listener *whimbrel_listen(const whimbrel_runtime *runtime,
                                   const whimbrel_config *config,
                                   const char *address,
                                   uint16_t port);

// Stops listening, and frees the listener, which may be NULL. Accepted connections continue.
void whimbrel_listener_free(whimbrel_listener *listener);

// Returns the descriptor that is readable while there are connections to accept.
int whimbrel_listener_fd(const whimbrel_listener *listener);

// Writes the UDP address that it listens on, as text with a zero behind it: 64 bytes suffice.
int whimbrel_listener_address(const whimbrel_listener *listener, char *out, size_t size);

// Returns the next connection; NULL with the code WHIMBREL_AGAIN if there is none.
whimbrel_socket *whimbrel_accept(const whimbrel_listener *listener);

// Waits until the descriptor is readable, or for timeout_ms milliseconds; forever if that is negative.
// Returns 1 if it is, and 0 if not.
int whimbrel_listener_wait(const whimbrel_listener *listener, int64_t timeout_ms);

// Starts the thread that drives sockets. A program needs one.
whimbrel_runtime *whimbrel_runtime_new(void);

// Frees a runtime, which may be NULL, as whimbrel_runtime_close does within two seconds.
void whimbrel_runtime_free(whimbrel_runtime *runtime);

// Frees a runtime, which may be NULL. Waits for at most timeout_ms milliseconds until the connections of
// freed sockets are closed, with all that was sent. Returns 1 if they are, and 0 if some are not, or if some
// sockets are not freed: the thread then ends after the last of them.
int whimbrel_runtime_close(whimbrel_runtime *runtime, uint32_t timeout_ms);

// Begins to connect to the DCCP port `port` behind the UDP address `address`, such as "192.0.2.1:6511" or
// "host:6511". The descriptor is readable when the handshake has ended; whimbrel_state returns its result.
whimbrel_socket *whimbrel_connect(const whimbrel_runtime *runtime,
                                  const whimbrel_config *config,
                                  const char *address,
                                  uint16_t port);

// Closes the connection in good order, after what is queued was sent, and frees the socket, which may be
// NULL. Does not wait: whimbrel_runtime_close does.
void whimbrel_free(whimbrel_socket *socket);

// Begins to close the connection in good order. Received data can still be read; at the end whimbrel_recv
// returns WHIMBREL_CLOSED.
int whimbrel_close(const whimbrel_socket *socket);

// Returns the descriptor that is readable while there are datagrams to read, and when the handshake or the
// connection has ended.
int whimbrel_fd(const whimbrel_socket *socket);

// Returns the descriptor that is readable while there are events to read.
int whimbrel_event_fd(const whimbrel_socket *socket);

// Returns 0 if the handshake was complete, WHIMBREL_AGAIN if it is not, and the reason why it has failed.
int whimbrel_state(const whimbrel_socket *socket);

// Waits until the descriptor is readable, or for timeout_ms milliseconds; forever if that is negative.
// Returns 1 if it is, and 0 if not.
int whimbrel_wait(const whimbrel_socket *socket, int64_t timeout_ms);

// Like whimbrel_wait, for the descriptor of events.
int whimbrel_wait_event(const whimbrel_socket *socket, int64_t timeout_ms);

// Queues a datagram. It is dropped if it could not be sent within lifetime_ms milliseconds, unless that is
// negative. `number`, unless that is NULL, gets the number by which the event WHIMBREL_EVENT_DROPPED names
// it. Returns 0, or WHIMBREL_AGAIN if the queue is full and refuses (whimbrel_config_send_queue): the event
// WHIMBREL_EVENT_SEND_READY follows.
int whimbrel_send(const whimbrel_socket *socket,
                  const void *data,
                  size_t size,
                  int64_t lifetime_ms,
                  uint64_t *number);

// Like whimbrel_send, with the place of the datagram in a frame of media: repair
// (whimbrel_config_latency) then protects whole frames, and WHIMBREL_EVENT_NEW_START_NEEDED reports that a
// key frame is needed. A datagram of whimbrel_send counts as a frame of its own to which no other refers.
int whimbrel_send_part(const whimbrel_socket *socket,
                       const void *data,
                       size_t size,
                       int64_t lifetime_ms,
                       const whimbrel_mark *mark,
                       uint64_t *number);

// Reads a datagram: copies up to `size` bytes of it to `buffer` and fills `datagram`, unless that is NULL.
// Returns its size, which is more than `size` if it was cut off, or WHIMBREL_AGAIN if there is none.
int64_t whimbrel_recv(const whimbrel_socket *socket, void *buffer, size_t size, whimbrel_datagram *datagram);

// Returns the time in nanoseconds on the clock of the socket.
int64_t whimbrel_now(const whimbrel_socket *socket);

// Writes the fingerprint of the key by which the peer has authenticated itself, with a zero behind it: 51
// bytes; empty if nothing secures the connection.
int whimbrel_peer(const whimbrel_socket *socket, char *out, size_t size);

// Freezes the connection for an outage of the path: WHIMBREL_FREEZE_LOCAL, _REMOTE or _BOTH. The peer takes
// part if both ends have whimbrel_config_mobile.
int whimbrel_freeze(const whimbrel_socket *socket, int scope);

// Ends a freeze: the rate is what it was before.
int whimbrel_unfreeze(const whimbrel_socket *socket, int scope);

// Continues from the address that the system selects now, after a change of networks. Only clients can, if
// both ends have whimbrel_config_mobile; WHIMBREL_EVENT_MOVE_CONFIRMED reports success.
int whimbrel_rebind(const whimbrel_socket *socket);

// Reads the measurements of a connection.
int whimbrel_get_stats(const whimbrel_socket *socket, whimbrel_stats *stats);

// Reads the counters of repair. Returns 0, or WHIMBREL_AGAIN if the ends have not agreed on repair.
int whimbrel_get_repair(const whimbrel_socket *socket, whimbrel_repair *repair);

// Reads the state of a path, those from 0 on in turn. Returns 0, or WHIMBREL_AGAIN if there are no more; a
// connection over one path has none.
int whimbrel_get_path(const whimbrel_socket *socket, size_t index, whimbrel_path *path);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WHIMBREL_H */
