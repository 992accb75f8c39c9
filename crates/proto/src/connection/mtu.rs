//! How large a datagram may be (RFC 4340, Section 14).

use whimbrel_units::Instant;
use whimbrel_wire::Options;

use super::Connection;

/// Options that fit beside the largest datagram, in bytes. With the default of 1400 bytes, the
/// longest fixed header of a DataAck (24), UDP (8) and IPv6 (40), this makes 1500.
const OPTION_ROOM: usize = 28;

impl Connection {
    /// Command: the path carries datagrams of `limit` bytes at most (the driver got "too big" from
    /// its socket or from ICMP), or again as many as the configuration says. Larger ones in the
    /// queue are dropped: RFC 4340, Section 14.2 forbids to send them unfragmentable.
    pub fn set_max_datagram(&mut self, now: Instant, limit: usize) {
        let _ = now;
        self.outbound.max_datagram = limit.clamp(1, self.config.max_datagram);
        self.outbound.queue.drop_larger_than(self.outbound.max_datagram, &mut self.events);
        self.congestion.on_packet_size(self.outbound.max_datagram);
    }
    /// The largest datagram that `send` takes now, in bytes.
    pub(super) fn max_datagram(&self) -> usize {
        self.outbound.max_datagram
    }
    /// Whether a datagram of `size` bytes and these options fit into one packet.
    pub(super) fn has_room(&self, size: usize, options: &Options) -> bool {
        let taken: usize = options.iter().map(|option| option.encoded_len()).sum();
        size + taken + self.handshake.cookies_len() <= self.max_datagram() + OPTION_ROOM
    }
}
