//! Data Dropped of one connection, in both directions, and what the other end's complaints mean for
//! sending (RFC 4340, Sections 11.6 and 11.7).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{DccpOption, Options, Packet, SeqNo};

use super::Connection;
use super::timer::Timer;
use crate::Event;
use crate::ccid::DroppedPacket;
use crate::data_dropped::{Invalid, Reader, Recorder};

/// Bytes that Data Dropped takes in one packet at most: one full option.
const ROOM: usize = 255;

/// What this end tells of data that it dropped, and what it has learnt of its own.
#[derive(Clone, Debug)]
pub(super) struct DroppedData {
    recorder: Recorder,
    /// None before the other end's first report: most connections never see one.
    reader: Option<Box<Reader>>,
    /// The first packet of this end.
    iss: SeqNo,
    /// What the last packet told that was not known before.
    news: Vec<DroppedPacket>,
    /// The other end repeats its reports until it learns that one has arrived.
    owes_ack: bool,
    /// When it was last told so.
    acked_at: Option<Instant>,
    /// The application at the other end no longer listens.
    peer_stopped: bool,
    /// When the other end last said that it is slow and the application was told.
    slow_at: Option<Instant>,
}

impl DroppedData {
    /// `iss`: the first packet that the other end can tell about.
    pub(super) fn new(iss: SeqNo) -> Self {
        Self {
            recorder: Recorder::new(),
            reader: None,
            iss,
            news: Vec::new(),
            owes_ack: false,
            acked_at: None,
            peer_stopped: false,
            slow_at: None,
        }
    }
    /// The data of a packet that arrived went another way than usual. Whether that is news.
    pub(super) fn record(&mut self, sequence: SeqNo, code: DropCode) -> bool {
        self.recorder.record(sequence, code)
    }
    /// Whether there is nothing to tell.
    pub(super) fn is_empty(&self) -> bool {
        self.recorder.is_empty()
    }
    /// How many bytes [`DroppedData::write`] will add to a packet that acknowledges `ack`.
    #[inline]
    pub(super) fn encoded_len(&self, ack: SeqNo) -> usize {
        if self.recorder.is_empty() { 0 } else { self.recorder.encoded_len(ack, ROOM) }
    }
    /// Adds what there is to tell to packet `sequence`, which acknowledges `ack`, in at most `room` bytes.
    #[inline]
    pub(super) fn write(&mut self, sequence: SeqNo, ack: SeqNo, room: usize, options: &mut Options) {
        if !self.recorder.is_empty() {
            self.recorder.write(sequence, ack, room.min(ROOM), options);
        }
    }
    /// The other end has packet `sequence` of this end.
    #[inline]
    pub(super) fn on_acked(&mut self, sequence: SeqNo) {
        if !self.recorder.is_empty() {
            self.recorder.on_acked(sequence);
        }
    }
    /// A packet with Acknowledgement Number `ack` arrived: reads its Data Dropped options.
    pub(super) fn read(
        &mut self,
        now: Instant,
        rtt: Duration,
        ack: SeqNo,
        packet: &Packet,
    ) -> Result<(), Invalid> {
        self.news.clear();
        let is_report = |option: &DccpOption| matches!(option, DccpOption::DataDropped(_));
        if !packet.options.iter().any(is_report) {
            return Ok(());
        }
        let iss = self.iss;
        let reader = self.reader.get_or_insert_with(|| Box::new(Reader::new(iss)));
        reader.read(ack, &packet.options, &mut self.news)?;
        if !self.news.is_empty() || self.acked_at.is_none_or(|at| now - at >= rtt) {
            self.owes_ack = true;
        }
        Ok(())
    }
    /// What the last packet told that was not known before, the oldest first.
    pub(super) fn news(&self) -> &[DroppedPacket] {
        &self.news
    }
    /// Whether the next data packet should acknowledge as well, so that the other end can stop to
    /// repeat its reports (RFC 4340, Section 11.1).
    #[inline]
    pub(super) fn owes_ack(&self) -> bool {
        self.owes_ack
    }
    /// An acknowledgement leaves.
    #[inline]
    pub(super) fn on_ack_sent(&mut self, now: Instant) {
        if self.owes_ack {
            self.owes_ack = false;
            self.acked_at = Some(now);
        }
    }
    /// Whether the application at the other end no longer listens.
    pub(super) fn has_peer_stopped(&self) -> bool {
        self.peer_stopped
    }
}

impl Connection {
    /// Whether the other end still wants data; false once it has reported Drop Code 1.
    pub fn is_peer_listening(&self) -> bool {
        !self.dropped.has_peer_stopped()
    }

    /// The other end has told which packets lost their data: what follows, besides the reaction of the
    /// congestion control.
    #[cold]
    pub(super) fn heed_dropped_data(&mut self, now: Instant) {
        let mut is_constrained = false;
        for index in 0..self.dropped.news.len() {
            let DroppedPacket { sequence, code } = self.dropped.news[index];
            self.statistics.datagrams_lost_at_peer += 1;
            self.events.push_back(Event::DataDropped { sequence, code });
            is_constrained |= code == DropCode::ProtocolConstraints;
            if code == DropCode::ApplicationNotListening && !self.dropped.peer_stopped {
                // RFC 4340, Section 11.7.2: no more data will ever be delivered.
                self.dropped.peer_stopped = true;
                self.outbound.queue.give_up(&mut self.events);
            }
        }
        // The data of a Request or Response were not wanted there: that says nothing of data after the handshake.
        if is_constrained && self.state.may_send_data() {
            // Section 11.7.2: no data until the constraint no longer applies. A coverage that the
            // other end refuses is not tried again; feature negotiation takes a round trip.
            self.features.refuse_partial_coverage();
            self.timers.set(Timer::Constraint, now + self.rtt.or_default());
        }
    }

    /// A Slow Receiver option arrived.
    pub(super) fn on_slow_receiver(&mut self, now: Instant) {
        self.congestion.on_slow_receiver(now);
        let rtt = self.rtt.or_default();
        if self.dropped.slow_at.is_none_or(|at| now - at >= rtt) {
            self.dropped.slow_at = Some(now);
            self.tell_latest(Event::SlowReceiver);
        }
    }
    /// When the other end last said that it has trouble to keep up, to within a round-trip time.
    pub(super) fn peer_slow_at(&self) -> Option<Instant> {
        self.dropped.slow_at
    }
}
