//! Data leaves no faster than the congestion control allows.

use whimbrel_proto::{Ccid, ConnectionSnapshot};
use whimbrel_units::{ByteCount, Instant};
use whimbrel_wire::{DccpOption, Packet, PacketType, SeqNo};

use super::pace::Pace;
use super::window::Window;

/// More than the distance between two packets of a connection that leave one after the other.
const UNKNOWN_DISTANCE: u64 = 1 << 12;

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
    /// The greatest Acknowledgement Number that the sender may have accepted.
    highest_ack: Option<SeqNo>,
    offered: Option<SeqNo>,
    /// Valid packets that have arrived.
    received: u64,
    pace: Pace,
    window: Window,
}

impl Flow {
    /// `is_damped`: the pacing rate may for a while exceed the reported one (RFC 5348, Section 4.5), so
    /// that it cannot be checked.
    pub(crate) fn new(least: ByteCount, is_damped: bool) -> Self {
        Self {
            ccid: None,
            least,
            is_damped,
            is_blind: false,
            last: None,
            highest_ack: None,
            offered: None,
            received: 0,
            pace: Pace::default(),
            window: Window::default(),
        }
    }

    /// The congestion control restarts, perhaps with stored path state.
    pub(crate) fn restart(&mut self) {
        (self.pace, self.window) = (Pace::resumed(), Window::resumed());
    }

    /// Something happened to the sender.
    pub(crate) fn on_change(&mut self, now: Instant, seen: &ConnectionSnapshot) {
        let was_valid = core::mem::replace(&mut self.received, seen.statistics.packets_received);
        if let Some(ack) = self.offered.take()
            && was_valid < self.received
            && self.highest_ack.is_none_or(|highest_ack| ack.is_after(highest_ack))
        {
            self.highest_ack = Some(ack);
        }
        if self.ccid != Some(seen.sender_ccid) {
            self.ccid = Some(seen.sender_ccid);
            (self.pace, self.window) = (Pace::default(), Window::default());
        }
        if seen.sender_ccid == Ccid::TCP_LIKE && !self.is_blind {
            self.window.on_change(now, &seen.sender);
        }
    }

    /// Distance of a packet's number from the last one sent: small for a packet of this connection. Before
    /// the first one, any number may be its start.
    pub(crate) fn distance(&self, packet: &Packet) -> u64 {
        let Some(last) = self.last else { return UNKNOWN_DISTANCE };
        whole(packet.sequence, packet.extended, self.last).distance_from(last).unsigned_abs()
    }

    /// Number of packets sent that no received packet has acknowledged; `None` if unknown.
    pub(crate) fn unacknowledged(&self) -> Option<u64> {
        let (last, highest_ack) = (self.last?, self.highest_ack?);
        (!self.is_blind).then(|| last.distance_from(highest_ack).unsigned_abs())
    }

    /// A packet left. The snapshots of the sender are from before and afterwards: an event while it made
    /// the packet, such as a timer, happened in between.
    pub(crate) fn on_sent(
        &mut self,
        now: Instant,
        packet: &Packet,
        before: &ConnectionSnapshot,
        after: &ConnectionSnapshot,
    ) {
        // A Reset may answer a packet of no connection, with that packet's numbers (RFC 4340, Section 8.3.1).
        if packet.packet_type() == PacketType::Reset {
            return;
        }
        if self.last.is_none() && !packet.extended {
            // Without the start of the connection, half of its numbers are unknown.
            self.is_blind = true;
        }
        if self.is_blind {
            return;
        }
        let sequence = whole(packet.sequence, packet.extended, self.last);
        self.last = Some(sequence);
        self.highest_ack.get_or_insert(sequence.previous());
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

    /// A packet arrived at the sender, which may or may not accept it as valid.
    pub(crate) fn on_arrival(&mut self, packet: &Packet) {
        // A Sync's number acknowledges nothing (RFC 4340, Section 5.7).
        if let Some(ack) = packet.ack()
            && packet.packet_type() != PacketType::Sync
            && let Some(last) = self.last
        {
            let ack = whole(ack, packet.extended, Some(last));
            if !ack.is_after(last) {
                // CCID 2 settles the packets that Ack Vectors cover.
                let tells = self.ccid != Some(Ccid::TCP_LIKE) || packet.options.iter().any(is_ack_vector);
                self.offered = tells.then_some(ack).or(self.offered);
                self.window.on_acknowledged(ack);
            }
        }
    }
}

fn is_ack_vector(option: &DccpOption) -> bool {
    matches!(option, DccpOption::AckVector { .. })
}

/// A number of which only 24 bits may have been sent (RFC 4340, Section 7.6).
fn whole(number: SeqNo, extended: bool, near: Option<SeqNo>) -> SeqNo {
    match near {
        Some(near) if !extended => SeqNo::extend(number.low24(), near),
        _ => number,
    }
}
