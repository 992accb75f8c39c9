//! Ack Vectors of one connection, in both directions (RFC 4340, Section 11.4).

use whimbrel_wire::{Ecn, Options, Packet, SeqNo};

use crate::ack_vector::{AckedPacket, BeforeStart, Reader, Recorder};

#[cfg(test)]
mod tests;

/// The most bytes that Ack Vectors take in one packet: two full options.
const ROOM: usize = 2 * 255;
/// Outcomes for which room is kept between packets: more than an acknowledgement usually reports. One packet
/// may report all packets sent so far.
const KEPT_NEWS: usize = 256;

/// The Ack Vectors that this end sends, and those that it has received.
#[derive(Clone, Debug)]
pub(super) struct AckVectors {
    recorder: Recorder,
    reader: Reader,
    /// `true` if this end sends Ack Vectors.
    sends: bool,
    /// Outcomes reported for the first time by the packet that is being processed.
    news: Vec<AckedPacket>,
}

impl AckVectors {
    /// `iss`: the first packet that the peer can report.
    pub(super) fn new(iss: SeqNo) -> Self {
        Self { recorder: Recorder::new(), reader: Reader::new(iss), sends: false, news: Vec::new() }
    }

    /// Starts or stops sending Ack Vectors.
    pub(super) fn set_sending(&mut self, sends: bool) {
        if !sends {
            self.recorder = Recorder::new();
        }
        self.sends = sends;
    }

    /// `true` if this end sends Ack Vectors.
    pub(super) fn is_sending(&self) -> bool {
        self.sends
    }

    /// Records a received packet, once its options are processed.
    pub(super) fn on_received(&mut self, sequence: SeqNo, ecn: Ecn) {
        if self.sends {
            self.recorder.record(sequence, ecn);
        }
    }

    /// Number of bytes of options that [`AckVectors::write`] will add.
    pub(super) fn encoded_len(&self) -> usize {
        if self.sends { self.recorder.encoded_len().min(ROOM) } else { 0 }
    }

    /// Number of bytes of options that the whole history would take.
    pub(super) fn history_len(&self) -> usize {
        self.recorder.encoded_len()
    }

    /// Number of Ack Vectors sent and not known to have arrived.
    pub(super) fn unacknowledged(&self) -> usize {
        self.recorder.unacknowledged()
    }

    /// Adds the Ack Vectors to packet `sequence`, which acknowledges `ack`, in at most `room` bytes.
    pub(super) fn write(&mut self, sequence: SeqNo, ack: SeqNo, room: usize, options: &mut Options) {
        if self.sends {
            self.recorder.write(sequence, ack, room.min(ROOM), options);
        }
    }

    /// Processes a packet with Acknowledgement Number `ack`: collects the outcomes that its Ack Vectors
    /// report for the first time, and drops the history that the peer is now known to have.
    ///
    /// # Errors
    ///
    /// Vectors that reach back before the start of the connection are ignored; then no outcome is collected.
    pub(super) fn on_acknowledgement(&mut self, ack: SeqNo, packet: &Packet) -> Result<(), BeforeStart> {
        self.news.clear();
        let result = self.reader.read(ack, &packet.options, &mut self.news);
        if self.sends {
            for packet in &self.news {
                self.recorder.on_acked(packet.sequence);
            }
            self.recorder.on_acked(ack);
        }
        result
    }

    /// Outcomes reported for the first time by the packet that is being processed, oldest first.
    pub(super) fn news(&self) -> &[AckedPacket] {
        &self.news
    }

    /// The packet is processed.
    pub(super) fn forget_news(&mut self) {
        forget(&mut self.news);
    }
}

/// Empties a list of what one packet reported, and keeps room for an ordinary packet's reports only.
pub(super) fn forget<T>(news: &mut Vec<T>) {
    news.clear();
    news.shrink_to(KEPT_NEWS);
}
