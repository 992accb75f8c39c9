//! Limit on the bytes sent to an unvalidated address.
//!
//! A server answers a Request whose source address may be forged. Until an acknowledgement of the Response
//! validates the address, the server sends at most three times the bytes that it received, so that it cannot
//! be used to amplify an attack. (RFC 4340 leaves the amount open; the factor is from RFC 9000, Section 8.1.)

use whimbrel_wire::PacketType;

/// Number of bytes that may be sent per byte received.
const FACTOR: usize = 3;

/// Limit on the bytes sent to an unvalidated address.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Validation {
    is_pending: bool,
    /// Number of bytes that may still be sent.
    budget: usize,
    /// Number of these reserved for the endpoint's addition to the Response.
    reserved: usize,
}

impl Validation {
    /// The limit of a server, which has to validate its client's address.
    pub(super) fn pending() -> Self {
        Self { is_pending: true, ..Self::default() }
    }

    /// `true` if the peer's address is not validated yet.
    pub(super) fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Reserves room on the Response.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.reserved = bytes;
    }

    /// Number of bytes reserved on the Response.
    pub(super) fn reserved(&self) -> usize {
        self.reserved
    }

    /// Accounts for a received packet, valid or not.
    pub(super) fn on_received(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_add(bytes.saturating_mul(FACTOR));
    }

    /// Accounts for a sent packet.
    pub(super) fn on_sent(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_sub(bytes);
    }

    /// The peer's address is validated.
    pub(super) fn complete(&mut self) {
        self.is_pending = false;
    }

    /// Number of bytes of options and data that a packet of that type may hold: whole words.
    pub(super) fn room(&self, packet_type: PacketType) -> usize {
        if !self.is_pending {
            return usize::MAX;
        }
        let taken = packet_type.fixed_header_len(true) + self.reserved;
        self.budget.saturating_sub(taken) & !3
    }

    /// `true` if a packet of that type may be sent at all.
    pub(super) fn allows(&self, packet_type: PacketType) -> bool {
        !self.is_pending || self.budget >= packet_type.fixed_header_len(true)
    }
}
