//! How much may be sent to an address that may be forged.
//!
//! A server answers a Request without knowing whether who sent it is where it seems to be. Until an
//! acknowledgement of the Response shows that, it sends three times what it was sent at most, so
//! that nobody gains by having it send to a victim. (RFC 4340 leaves the amount open; the factor
//! is that of RFC 9000, Section 8.1.)

use whimbrel_wire::PacketType;

/// What one received byte is good for.
const FACTOR: usize = 3;

/// How much may be sent to an address that may be forged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Validation {
    is_pending: bool,
    /// Bytes that may still be sent.
    budget: usize,
    /// Bytes of these that somebody else will add to the Response.
    reserved: usize,
}

impl Validation {
    /// Of a server, which has to see that the client exists.
    pub(super) fn pending() -> Self {
        Self { is_pending: true, ..Self::default() }
    }
    /// Whether the other end's address may be forged.
    pub(super) fn is_pending(&self) -> bool {
        self.is_pending
    }
    /// Keeps room on the Response.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.reserved = bytes;
    }
    /// Bytes of the Response that somebody else will fill.
    pub(super) fn reserved(&self) -> usize {
        self.reserved
    }
    /// A packet arrived, be it valid or not.
    pub(super) fn on_received(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_add(bytes.saturating_mul(FACTOR));
    }
    /// A packet leaves.
    pub(super) fn on_sent(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_sub(bytes);
    }
    /// The other end is where it seems to be.
    pub(super) fn complete(&mut self) {
        self.is_pending = false;
    }
    /// Bytes of options and data that a packet of that type may hold, whole words of them.
    pub(super) fn room(&self, packet_type: PacketType) -> usize {
        if !self.is_pending {
            return usize::MAX;
        }
        let taken = packet_type.fixed_header_len(true) + self.reserved;
        self.budget.saturating_sub(taken) & !3
    }
    /// Whether a packet of that type may leave at all.
    pub(super) fn allows(&self, packet_type: PacketType) -> bool {
        !self.is_pending || self.budget >= packet_type.fixed_header_len(true)
    }
}
