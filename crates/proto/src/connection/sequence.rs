//! Sequence numbers and their windows (RFC 4340, Sections 7.1 and 7.5).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{Kind, Packet, PacketType, SeqNo};

use super::duplicates::Duplicates;
use crate::config::{MAX_SEQUENCE_WINDOW, MIN_SEQUENCE_WINDOW};

#[cfg(test)]
mod tests;

/// The Sequence Window that connections start with (RFC 4340, Section 7.5.2).
const INITIAL_WINDOW: u64 = 100;
/// RFC 4340, Section 7.5.2 advises about five times the packets sent per round-trip time.
const PACKETS_PER_RTT_FACTOR: u64 = 5;

/// The sequence number variables of RFC 4340, Section 7.1, for one end.
#[derive(Clone, Debug)]
pub(crate) struct SequenceNumbers {
    /// Initial Sequence Number Sent.
    iss: SeqNo,
    /// Greatest Sequence Number Sent; before the first packet the number before `iss`.
    gss: SeqNo,
    /// Initial Sequence Number Received.
    isr: SeqNo,
    /// Greatest Sequence Number Received.
    gsr: SeqNo,
    /// The greatest number of a packet that was processed, options included: the number that acknowledgements
    /// carry.
    acknowledgeable: SeqNo,
    /// Greatest Acknowledgement Number Received on a packet that was not a Sync.
    gar: SeqNo,
    /// First sequence number received in OPEN.
    osr: SeqNo,
    /// W': the Sequence Window feature of this end, which bounds Acknowledgement Numbers.
    local_window: u64,
    /// W: the Sequence Window feature of the other end, which bounds Sequence Numbers.
    remote_window: u64,
    /// SWL and AWL are not below `isr` and `iss` until the numbers are a whole maximum window beyond: later
    /// they may have wrapped (Section 7.5.1).
    isr_is_floor: bool,
    iss_is_floor: bool,
}

impl SequenceNumbers {
    /// The numbers of an end that will start with `iss` and has received nothing.
    pub(crate) fn new(iss: SeqNo) -> Self {
        Self {
            iss,
            gss: iss.previous(),
            isr: SeqNo::ZERO,
            gsr: SeqNo::ZERO,
            acknowledgeable: SeqNo::ZERO,
            gar: iss,
            osr: SeqNo::ZERO,
            local_window: INITIAL_WINDOW,
            remote_window: INITIAL_WINDOW,
            isr_is_floor: true,
            iss_is_floor: true,
        }
    }

    /// Initializes ISR and GSR from the peer's first valid packet, a Request or a Response.
    pub(crate) fn start_receiving(&mut self, isr: SeqNo) {
        self.isr = isr;
        self.gsr = isr;
        self.acknowledgeable = isr;
        self.isr_is_floor = true;
    }

    /// Marks a packet as acknowledgeable, once its options are processed (RFC 4340, Section 7.4).
    pub(crate) fn on_processed(&mut self, sequence: SeqNo) {
        self.acknowledgeable = self.acknowledgeable.max(sequence);
    }

    /// The Acknowledgement Number of an acknowledgement: GSR, unless the newest packet was not allowed in the
    /// state or at this end, so that it was not processed.
    pub(crate) fn acknowledgeable(&self) -> SeqNo {
        self.acknowledgeable
    }

    /// Allocates the number of the next packet to send.
    pub(crate) fn take_next(&mut self) -> SeqNo {
        self.gss = self.gss.next();
        if self.iss_is_floor && self.gss.distance_from(self.iss) > MAX_SEQUENCE_WINDOW as i64 {
            self.iss_is_floor = false;
        }
        self.gss
    }

    pub(crate) fn iss(&self) -> SeqNo {
        self.iss
    }

    pub(crate) fn gss(&self) -> SeqNo {
        self.gss
    }

    pub(crate) fn isr(&self) -> SeqNo {
        self.isr
    }

    pub(crate) fn gsr(&self) -> SeqNo {
        self.gsr
    }

    pub(crate) fn gar(&self) -> SeqNo {
        self.gar
    }

    pub(crate) fn osr(&self) -> SeqNo {
        self.osr
    }

    /// Sets OSR, the first number received in OPEN.
    pub(crate) fn set_osr(&mut self, osr: SeqNo) {
        self.osr = osr;
    }

    pub(crate) fn local_window(&self) -> u64 {
        self.local_window
    }

    pub(crate) fn remote_window(&self) -> u64 {
        self.remote_window
    }

    /// Sets the Sequence Window feature of this end.
    pub(crate) fn set_local_window(&mut self, window: u64) {
        self.local_window = window.clamp(MIN_SEQUENCE_WINDOW, MAX_SEQUENCE_WINDOW);
    }

    /// Sets the Sequence Window feature of the peer.
    pub(crate) fn set_remote_window(&mut self, window: u64) {
        self.remote_window = window.clamp(MIN_SEQUENCE_WINDOW, MAX_SEQUENCE_WINDOW);
    }

    /// Sequence Number Window Low: a quarter of the window, rounded down, is at or below GSR.
    pub(crate) fn swl(&self) -> SeqNo {
        let swl = self.gsr.next().sub(self.remote_window / 4);
        if self.isr_is_floor { swl.max(self.isr) } else { swl }
    }

    /// Sequence Number Window High.
    pub(crate) fn swh(&self) -> SeqNo {
        self.gsr.add(self.remote_window - self.remote_window / 4)
    }

    /// Acknowledgement Number Window Low.
    pub(crate) fn awl(&self) -> SeqNo {
        let awl = self.gss.next().sub(self.local_window);
        if self.iss_is_floor { awl.max(self.iss) } else { awl }
    }

    /// Acknowledgement Number Window High: the last number sent.
    pub(crate) fn awh(&self) -> SeqNo {
        self.gss
    }

    /// `true` if `ack` is in [AWL, AWH].
    pub(crate) fn is_ack_in_window(&self, ack: SeqNo) -> bool {
        is_within(ack, self.awl(), self.awh())
    }

    /// `true` if `sequence` is in [SWL, SWH].
    pub(crate) fn is_in_window(&self, sequence: SeqNo) -> bool {
        is_within(sequence, self.swl(), self.swh())
    }

    /// Extends the 24-bit numbers of a packet to the nearest 48-bit numbers (RFC 4340, Section 7.6).
    pub(crate) fn extend(&self, packet: &mut Packet) {
        packet.sequence = SeqNo::extend(packet.sequence.low24(), self.gsr);
        if let Kind::Ack { ack } | Kind::DataAck { ack } = &mut packet.kind {
            *ack = SeqNo::extend(ack.low24(), self.gss);
        }
    }

    /// The test of Step 6 for all packets but Sync and SyncAck (RFC 4340, Section 7.5.3).
    pub(crate) fn is_valid(&self, packet_type: PacketType, sequence: SeqNo, ack: Option<SeqNo>) -> bool {
        let ends_connection =
            matches!(packet_type, PacketType::CloseReq | PacketType::Close | PacketType::Reset);
        if ends_connection {
            let is_new = sequence.is_after(self.gsr) && !sequence.is_after(self.swh());
            return is_new && ack.is_some_and(|ack| is_within(ack, self.gar, self.awh()));
        }
        self.is_in_window(sequence) && ack.is_none_or(|ack| self.is_ack_in_window(ack))
    }

    /// The test of Step 5 for Sync and SyncAck. `strict`: the connection is active, so the sequence number
    /// must not be beyond the window (RFC 4340, Section 7.5.3).
    pub(crate) fn is_valid_sync(&self, sequence: SeqNo, ack: SeqNo, strict: bool) -> bool {
        self.is_ack_in_window(ack)
            && if strict { self.is_in_window(sequence) } else { !sequence.is_before(self.swl()) }
    }

    /// The Sequence Window to request after a Sync that names the packet `ack`, if the one in force is too
    /// small for packets that others overtake (RFC 4340, Section 7.5.2).
    ///
    /// The peer accepts a packet that is a quarter of the window late and answers a later one by a Sync.
    /// Where few packets overtake all others, acknowledgements name the fast ones, and the estimate of the
    /// round-trip time is theirs. All packets after `ack` were sent within that packet's own round-trip time.
    pub(crate) fn window_for_overtaken(&self, ack: SeqNo) -> Option<u64> {
        if !ack.is_before(self.gar) {
            return None;
        }
        let per_rtt = self.gss.distance_from(ack).unsigned_abs();
        let wanted = per_rtt.saturating_mul(PACKETS_PER_RTT_FACTOR);
        (wanted > self.local_window).then(|| bounded_growth(self.local_window, wanted))
    }

    /// Updates GSR and, except for Syncs, GAR from a valid packet.
    pub(crate) fn on_valid(&mut self, packet_type: PacketType, sequence: SeqNo, ack: Option<SeqNo>) {
        if sequence.is_after(self.gsr) {
            self.gsr = sequence;
            if self.isr_is_floor && sequence.distance_from(self.isr) > MAX_SEQUENCE_WINDOW as i64 {
                self.isr_is_floor = false;
            }
        }
        if let Some(ack) = ack
            && packet_type != PacketType::Sync
        {
            self.gar = self.gar.max(ack);
        }
    }
}

/// `true` if `low <= number <= high`; `false` if `high` is before `low`, as AWH is before the first packet is
/// sent.
fn is_within(number: SeqNo, low: SeqNo, high: SeqNo) -> bool {
    !number.is_before(low) && !number.is_after(high)
}

/// Measures whether the Sequence Window of this end suits its rate (RFC 4340, Section 7.5.2).
///
/// After every fifth of a window it checks whether that fifth took less than a round-trip time: then the
/// window is smaller than five round-trip times' packets, and a larger one is requested. It never requests a
/// smaller one: large windows are needed for a burst of loss after a quiet period.
#[derive(Clone, Debug)]
pub(crate) struct WindowWatch {
    mark: SeqNo,
    marked_at: Instant,
}

impl WindowWatch {
    /// Starts with the packet numbered `sequence`.
    pub(crate) fn new(now: Instant, sequence: SeqNo) -> Self {
        Self { mark: sequence, marked_at: now }
    }

    /// Accounts for a sent packet. Returns the requested window, if it is larger than `window`.
    pub(crate) fn on_sent(
        &mut self,
        now: Instant,
        sequence: SeqNo,
        window: u64,
        rtt: Duration,
    ) -> Option<u64> {
        let sent = sequence.distance_from(self.mark).unsigned_abs();
        if sent < window / PACKETS_PER_RTT_FACTOR {
            return None;
        }
        let elapsed = now - self.marked_at;
        *self = Self::new(now, sequence);
        if elapsed >= rtt || window >= MAX_SEQUENCE_WINDOW {
            return None;
        }
        // The packets sent per round-trip time at this rate.
        let per_rtt = if elapsed.is_zero() { f64::INFINITY } else { sent as f64 * (rtt / elapsed) };
        let wanted = (per_rtt * PACKETS_PER_RTT_FACTOR as f64) as u64;
        Some(bounded_growth(window, wanted))
    }
}

/// The window to request in place of `window`: a single measurement changes it by a factor of two to four.
fn bounded_growth(window: u64, wanted: u64) -> u64 {
    wanted.clamp(window.saturating_mul(2), window.saturating_mul(4)).min(MAX_SEQUENCE_WINDOW)
}

/// The sequence number state of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Sequencing {
    pub(crate) numbers: SequenceNumbers,
    pub(crate) duplicates: Duplicates,
    watch: WindowWatch,
    /// The last packet with data that was sent.
    last_data: SeqNo,
    /// The first packet with data not yet acknowledged.
    unmeasured_data: Option<SeqNo>,
    /// All packets up to here are acknowledged, or were sent while no data was in flight.
    flight_base: SeqNo,
    /// Arrival time of the last valid packet.
    last_valid: Option<Instant>,
}

impl Sequencing {
    pub(crate) fn new(now: Instant, iss: SeqNo) -> Self {
        let numbers = SequenceNumbers::new(iss);
        Self {
            duplicates: Duplicates::new(SeqNo::ZERO),
            watch: WindowWatch::new(now, iss),
            last_data: iss,
            unmeasured_data: None,
            flight_base: numbers.gss,
            last_valid: None,
            numbers,
        }
    }

    /// Initializes the numbers from the peer's first valid packet.
    pub(crate) fn start_receiving(&mut self, isr: SeqNo) {
        self.numbers.start_receiving(isr);
        self.duplicates = Duplicates::new(isr);
    }

    /// Accounts for a sent packet. Returns the Sequence Window to request, if the one in force is too small.
    pub(crate) fn on_sent(
        &mut self,
        now: Instant,
        sequence: SeqNo,
        has_data: bool,
        rtt: Duration,
    ) -> Option<u64> {
        if has_data {
            if !self.last_data.is_after(self.numbers.gar) {
                self.flight_base = sequence.previous();
            }
            self.last_data = sequence;
            self.unmeasured_data.get_or_insert(sequence);
        }
        self.watch.on_sent(now, sequence, self.numbers.local_window(), rtt)
    }

    /// Called after an acknowledgement. Returns `true` if it acknowledges data sent since the last such call.
    pub(crate) fn take_data_acked(&mut self) -> bool {
        let is_news = self.unmeasured_data.is_some_and(|first| !first.is_after(self.numbers.gar));
        if is_news {
            self.unmeasured_data = None;
        }
        is_news
    }

    /// `true` if another packet with data may be sent. An acknowledgement of a packet that is a whole
    /// Sequence Window old would be invalid, so no more packets may be in flight: RFC 4340, Section 7.5.2
    /// forbids sending more per round-trip time. An eighth is reserved for packets without data.
    pub(crate) fn may_send_data(&self) -> bool {
        let window = self.numbers.local_window();
        let base = self.flight_base.max(self.numbers.gar);
        let is_under_way = self.last_data.is_after(self.numbers.gar);
        let under_way = self.numbers.gss.distance_from(base).unsigned_abs();
        !is_under_way || under_way < window - window / 8
    }

    /// Records the arrival of a valid packet.
    pub(crate) fn on_valid(&mut self, now: Instant) {
        self.last_valid = Some(now);
    }

    /// Arrival time of the last valid packet.
    pub(crate) fn last_valid(&self) -> Option<Instant> {
        self.last_valid
    }

    /// `true` if the connection is active: a valid packet came within three round-trip times (RFC 4340,
    /// Section 7.5.3).
    pub(crate) fn is_active(&self, now: Instant, rtt: Duration) -> bool {
        self.last_valid.is_some_and(|last| now - last <= rtt * 3)
    }
}
