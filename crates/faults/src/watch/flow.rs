//! Data leave no faster than the congestion control allows.

use whimbrel_proto::{Ccid, ConnectionSnapshot};
use whimbrel_units::{ByteCount, Instant};
use whimbrel_wire::{Packet, PacketType, SeqNo};

use super::pace::Pace;
use super::window::Window;

/// One direction of one connection, seen from its sender's network interface.
#[derive(Debug)]
pub(crate) struct Flow {
    ccid: Option<Ccid>,
    /// The least size of a datagram: what a packet costs at least.
    least: ByteCount,
    is_damped: bool,
    is_blind: bool,
    /// The last sequence number sent.
    last: Option<SeqNo>,
    pace: Pace,
    window: Window,
}

impl Flow {
    /// `is_damped`: the rate that packets are paced by may for a while exceed the one that is told
    /// (RFC 5348, Section 4.5), so that nothing can be said.
    pub(crate) fn new(least: ByteCount, is_damped: bool) -> Self {
        Self {
            ccid: None,
            least,
            is_damped,
            is_blind: false,
            last: None,
            pace: Pace::default(),
            window: Window::default(),
        }
    }
    /// Something happened to the sender.
    pub(crate) fn on_change(&mut self, now: Instant, seen: &ConnectionSnapshot) {
        if self.ccid != Some(seen.sender_ccid) {
            self.ccid = Some(seen.sender_ccid);
            (self.pace, self.window) = (Pace::default(), Window::default());
        }
        if seen.sender_ccid == Ccid::TCP_LIKE && !self.is_blind {
            self.window.on_change(now, &seen.sender);
        }
    }
    /// A packet left. What was seen of the sender before and afterwards: what it did while it made the
    /// packet, a timer perhaps, happened in between.
    pub(crate) fn on_sent(
        &mut self,
        now: Instant,
        packet: &Packet,
        before: &ConnectionSnapshot,
        after: &ConnectionSnapshot,
    ) {
        if self.last.is_none() && !packet.extended {
            // Whoever was not told of the connection's start knows half of its numbers.
            self.is_blind = true;
        }
        if self.is_blind {
            return;
        }
        let sequence = whole(packet.sequence, packet.extended, self.last);
        self.last = Some(sequence);
        if !matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck) {
            return;
        }
        match self.ccid {
            Some(Ccid::TCP_LIKE) => self.window.on_data(now, sequence, &before.sender, &after.sender),
            Some(ccid @ (Ccid::TFRC | Ccid::TFRC_SP)) if !self.is_damped => {
                self.pace.on_data(now, ccid, self.least, &before.sender, &after.sender);
            }
            _ => {}
        }
    }
    /// A packet arrived at the sender, which may or may not take it for valid.
    pub(crate) fn on_arrival(&mut self, packet: &Packet) {
        // A Sync's number acknowledges nothing (RFC 4340, Section 5.7).
        if let Some(ack) = packet.ack()
            && packet.packet_type() != PacketType::Sync
            && let Some(last) = self.last
        {
            let ack = whole(ack, packet.extended, Some(last));
            if !ack.is_after(last) {
                self.window.on_acknowledged(ack);
            }
        }
    }
}

/// A number of which only 24 bits may have been sent (RFC 4340, Section 7.6).
fn whole(number: SeqNo, extended: bool, near: Option<SeqNo>) -> SeqNo {
    match near {
        Some(near) if !extended => SeqNo::extend(number.low24(), near),
        _ => number,
    }
}
