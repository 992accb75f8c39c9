//! Data Dropped of one connection, in both directions, and the effect of received reports on sending (RFC 4340,
//! Sections 11.6 and 11.7).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{DccpOption, Options, Packet, SeqNo};

use super::Connection;
use super::timer::Timer;
use crate::Event;
use crate::ccid::DroppedPacket;
use crate::data_dropped::{Invalid, Reader, Recorder};

/// The most bytes that Data Dropped takes in one packet: one full option.
const ROOM: usize = 255;

/// The dropped data that this end reports, and the reports that it has received.
#[derive(Clone, Debug)]
pub(super) struct DroppedData {
    recorder: Recorder,
    /// `None` before the peer's first report: most connections never receive one.
    reader: Option<Box<Reader>>,
    /// The first packet of this end.
    iss: SeqNo,
    /// Packets reported by the last packet for the first time.
    news: Vec<DroppedPacket>,
    /// An acknowledgement is owed: the peer repeats its reports until it learns that one has arrived.
    owes_ack: bool,
    /// Time of the last acknowledgement.
    acked_at: Option<Instant>,
    /// The peer's application no longer listens.
    peer_stopped: bool,
    /// Time of the last Slow Receiver option that was reported to the application.
    slow_at: Option<Instant>,
}

impl DroppedData {
    /// `iss`: the first packet that the peer can report.
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
    /// Records a packet whose data were not delivered as usual. Returns `true` if this is a new report.
    pub(super) fn record(&mut self, sequence: SeqNo, code: DropCode) -> bool {
        self.recorder.record(sequence, code)
    }
    /// `true` if there is nothing to report.
    pub(super) fn is_empty(&self) -> bool {
        self.recorder.is_empty()
    }
    /// Number of bytes that [`DroppedData::write`] will add to a packet that acknowledges `ack`.
    #[inline]
    pub(super) fn encoded_len(&self, ack: SeqNo) -> usize {
        if self.recorder.is_empty() { 0 } else { self.recorder.encoded_len(ack, ROOM) }
    }
    /// Adds the pending reports to packet `sequence`, which acknowledges `ack`, in at most `room` bytes.
    #[inline]
    pub(super) fn write(&mut self, sequence: SeqNo, ack: SeqNo, room: usize, options: &mut Options) {
        if !self.recorder.is_empty() {
            self.recorder.write(sequence, ack, room.min(ROOM), options);
        }
    }
    /// The peer has received packet `sequence` of this end.
    #[inline]
    pub(super) fn on_acked(&mut self, sequence: SeqNo) {
        if !self.recorder.is_empty() {
            self.recorder.on_acked(sequence);
        }
    }
    /// Reads the Data Dropped options of a packet with Acknowledgement Number `ack`.
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
    /// Packets reported by the last packet for the first time, oldest first.
    pub(super) fn news(&self) -> &[DroppedPacket] {
        &self.news
    }
    /// `true` if the next data packet should carry an acknowledgement, so that the peer can stop repeating its reports
    /// (RFC 4340, Section 11.1).
    #[inline]
    pub(super) fn owes_ack(&self) -> bool {
        self.owes_ack
    }
    /// An acknowledgement is being sent.
    #[inline]
    pub(super) fn on_ack_sent(&mut self, now: Instant) {
        if self.owes_ack {
            self.owes_ack = false;
            self.acked_at = Some(now);
        }
    }
    /// `true` if the peer's application no longer listens.
    pub(super) fn has_peer_stopped(&self) -> bool {
        self.peer_stopped
    }
}

impl Connection {
    /// `true` while the peer accepts data; `false` once it has reported Drop Code 1.
    pub fn is_peer_listening(&self) -> bool {
        !self.dropped.has_peer_stopped()
    }

    /// Processes new reports of dropped data, apart from the reaction of congestion control.
    #[cold]
    pub(super) fn process_dropped_data(&mut self, now: Instant) {
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
        // The peer discarded the data of a Request or Response: this does not concern data after the handshake.
        if is_constrained && self.state.may_send_data() {
            // Section 11.7.2: no data until the constraint no longer applies. A coverage that the peer refuses is not
            // used again; feature negotiation takes a round trip.
            self.features.refuse_partial_coverage();
            self.timers.set(Timer::Constraint, now + self.rtt.or_default());
        }
    }

    /// Processes a Slow Receiver option.
    pub(super) fn on_slow_receiver(&mut self, now: Instant) {
        self.congestion.on_slow_receiver(now);
        let rtt = self.rtt.or_default();
        if self.dropped.slow_at.is_none_or(|at| now - at >= rtt) {
            self.dropped.slow_at = Some(now);
            self.report_latest(Event::SlowReceiver);
        }
    }
    /// Time of the peer's last Slow Receiver option, to within a round-trip time.
    pub(super) fn peer_slow_at(&self) -> Option<Instant> {
        self.dropped.slow_at
    }
}
