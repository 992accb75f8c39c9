//! Data Dropped of one connection, in both directions, and the effect of received reports on sending (RFC
//! 4340, Sections 11.6 and 11.7).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{DccpOption, Options, Packet, SeqNo};

use super::ack_vectors;
use super::context::{Context, Effects};
use super::timer::Timer;
use crate::Event;
use crate::ack_vector::AckedPacket;
use crate::ccid::DroppedPacket;
use crate::data_dropped::{Invalid, Reader, Recorder};

/// The most bytes that Data Dropped takes in one packet: one full option.
const ROOM: usize = 255;

/// The most copies of a datagram on the retransmissions of a Request or Response that are reported as
/// dropped.
const REPEATED: u64 = 16;

/// The dropped data that this end reports, and the reports that it has received.
#[derive(Clone, Debug)]
pub(super) struct DroppedData {
    recorder: Recorder,
    /// `None` before the peer's first report: most connections never receive one.
    reader: Option<Box<Reader>>,
    /// The first packet of this end.
    iss: SeqNo,
    /// Packets reported for the first time by the packet that is being processed.
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

    /// Records a packet whose data was delivered, but not as usual.
    pub(super) fn record(&mut self, sequence: SeqNo, code: DropCode) {
        self.recorder.record(sequence, code);
    }

    /// Records a packet whose data is dropped, and the reason. Returns `true` if this is a new report.
    #[cold]
    pub(super) fn discard(&mut self, fx: &mut Effects, sequence: SeqNo, code: DropCode) -> bool {
        let is_new = self.recorder.record(sequence, code);
        fx.statistics.datagrams_discarded += u64::from(is_new);
        is_new
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

    /// The peer has received packet `ack` of this end, and `others` as Ack Vectors report: their reports need
    /// not be repeated.
    #[inline]
    pub(super) fn on_acked(&mut self, ack: SeqNo, others: &[AckedPacket]) {
        if !self.recorder.is_empty() {
            self.recorder.on_acked(ack);
            for packet in others {
                self.recorder.on_acked(packet.sequence);
            }
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

    /// The packet is processed.
    pub(super) fn forget_news(&mut self) {
        ack_vectors::forget(&mut self.news);
    }

    /// `true` if the next data packet should carry an acknowledgement, so that the peer can stop repeating
    /// its reports (RFC 4340, Section 11.1).
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

    /// Reports the new reports of dropped data to the application. Returns `true` if the peer could not
    /// accept data because of a protocol constraint: none are sent for a round-trip time.
    #[cold]
    #[must_use]
    pub(super) fn process_news(&mut self, now: Instant, cx: &Context, fx: &mut Effects) -> bool {
        let mut is_constrained = false;
        for DroppedPacket { sequence, code } in self.news.iter().copied() {
            // Acknowledgements are unlimited, and a report can name them, too. Reports beyond the packets
            // that had data are wrong, and would accumulate for an application that does not poll.
            if fx.statistics.datagrams_lost_at_peer < fx.statistics.datagrams_sent + REPEATED {
                fx.statistics.datagrams_lost_at_peer += 1;
                fx.events.push_back(Event::DataDropped { sequence, code });
            }
            is_constrained |= code == DropCode::ProtocolConstraints;
            if code == DropCode::ApplicationNotListening && !self.peer_stopped {
                // RFC 4340, Section 11.7.2: no more data will ever be delivered.
                self.peer_stopped = true;
                fx.queue.give_up(&mut fx.events);
            }
        }
        // The peer discarded the data of a Request or Response: this does not concern data after the
        // handshake.
        let must_pause = is_constrained && cx.state.may_send_data();
        if must_pause {
            // Section 11.7.2: no data until the constraint no longer applies. Feature negotiation takes a
            // round trip.
            fx.timers.set(Timer::Constraint, now + cx.rtt.or_default());
        }
        must_pause
    }

    /// Reports a Slow Receiver option to the application, at most once per round-trip time.
    pub(super) fn on_slow_receiver(&mut self, now: Instant, cx: &Context, fx: &mut Effects) {
        let rtt = cx.rtt.or_default();
        if self.slow_at.is_none_or(|at| now - at >= rtt) {
            self.slow_at = Some(now);
            fx.report_latest(Event::SlowReceiver);
        }
    }

    /// Time of the peer's last Slow Receiver option, to within a round-trip time.
    pub(super) fn peer_slow_at(&self) -> Option<Instant> {
        self.slow_at
    }
}
