//! Ack Vectors of one connection, in both directions (RFC 4340, Section 11.4).

use whimbrel_wire::{Ecn, Options, Packet, SeqNo};

use crate::ack_vector::{AckedPacket, BeforeStart, Reader, Recorder};

/// Bytes that Ack Vectors take in one packet at most: two full options.
const ROOM: usize = 2 * 255;

/// What this end tells of arrived packets, and what it has learnt of its own.
#[derive(Clone, Debug)]
pub(super) struct AckVectors {
    recorder: Recorder,
    reader: Reader,
    /// This end sends Ack Vectors.
    sends: bool,
    /// What the last packet told that was not known before.
    news: Vec<AckedPacket>,
}

impl AckVectors {
    /// `iss`: the first packet that the other end can tell about.
    pub(super) fn new(iss: SeqNo) -> Self {
        Self { recorder: Recorder::new(), reader: Reader::new(iss), sends: false, news: Vec::new() }
    }
    /// Whether this end sends Ack Vectors from now on.
    pub(super) fn set_sending(&mut self, sends: bool) {
        if !sends {
            self.recorder = Recorder::new();
        }
        self.sends = sends;
    }
    /// Whether this end sends Ack Vectors.
    pub(super) fn is_sending(&self) -> bool {
        self.sends
    }
    /// A packet arrived and its options were processed.
    pub(super) fn on_received(&mut self, sequence: SeqNo, ecn: Ecn) {
        if self.sends {
            self.recorder.record(sequence, ecn);
        }
    }
    /// How many bytes of options [`AckVectors::write`] will add.
    pub(super) fn encoded_len(&self) -> usize {
        if self.sends { self.recorder.encoded_len().min(ROOM) } else { 0 }
    }
    /// How many bytes of options the whole history would take.
    pub(super) fn history_len(&self) -> usize {
        self.recorder.encoded_len()
    }
    /// Vectors sent of which it is not known that they arrived.
    pub(super) fn unacknowledged(&self) -> usize {
        self.recorder.unacknowledged()
    }
    /// Adds the Ack Vectors to packet `sequence`, which acknowledges `ack`, in at most `room` bytes.
    pub(super) fn write(&mut self, sequence: SeqNo, ack: SeqNo, room: usize, options: &mut Options) {
        if self.sends {
            self.recorder.write(sequence, ack, room.min(ROOM), options);
        }
    }
    /// A packet with Acknowledgement Number `ack` arrived. What its Ack Vectors tell that was not
    /// known before; and what the other end is now known to have, this end need not tell again.
    ///
    /// # Errors
    ///
    /// Vectors that reach back before the start of the connection are ignored, so that there are no news.
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
    /// What the last packet told that was not known before, the oldest first.
    pub(super) fn news(&self) -> &[AckedPacket] {
        &self.news
    }
}
