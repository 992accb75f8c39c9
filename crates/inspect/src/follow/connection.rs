//! Tracking of a single connection.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::tfrc::TfrcOption;
use whimbrel_wire::option::{FeatureNumber, ack_vector, timing::Elapsed};
use whimbrel_wire::{DccpOption, Ecn, Packet, PacketType, SeqNo};

use super::anomaly::{Anomalies, AnomalyKind};
use super::ccids;
use super::ending::Ending;
use super::features::Features;
use super::half::Half;
use super::handover::{self, HandoverKind, Handovers};
use super::handshake::Handshake;
use super::rtt::without;
use super::sequence::SequencePlace;
use super::side::Side;
use super::tfrc::{TfrcFeedback, rtt_estimate};
use super::{Endpoint, Roles};
use crate::segment::{Checksum, Segment};
use crate::{names, option_length};

/// First type of the CCID-specific options sent by the receiver (RFC 4340, Section 10.3).
const FIRST_OF_RECEIVER: u8 = 192;
/// Sequence Window of a connection of which it is unknown.
const UNKNOWN_WINDOW: u64 = 1 << 16;

/// State of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    pub(crate) roles: Roles,
    pub(crate) first: Instant,
    pub(crate) last: Instant,
    pub(crate) first_packet: u64,
    pub(crate) handshake: Handshake,
    pub(crate) features: Features,
    pub(crate) ending: Ending,
    pub(crate) anomalies: Anomalies,
    pub(crate) handovers: Handovers,
    pub(crate) opened: bool,
    /// Source of the client's latest Move; the client's address once the server has confirmed it.
    place: Endpoint,
    halves: [Half; 2],
}

impl Connection {
    pub(crate) fn new(
        client: Endpoint,
        server: Endpoint,
        roles: Roles,
        segment: &Segment,
        interval: Duration,
    ) -> Self {
        let half = || Half::new(segment.at, interval);
        Self {
            client,
            server,
            roles,
            first: segment.at,
            last: segment.at,
            first_packet: segment.number,
            handshake: Handshake::default(),
            features: Features::default(),
            ending: Ending::default(),
            anomalies: Anomalies::default(),
            handovers: Handovers::default(),
            opened: false,
            place: client,
            halves: [half(), half()],
        }
    }

    /// The direction with data from `sender`.
    pub(crate) fn half(&self, sender: Side) -> &Half {
        &self.halves[sender.index()]
    }

    pub(super) fn half_mut(&mut self, sender: Side) -> &mut Half {
        &mut self.halves[sender.index()]
    }

    /// The end that sent a packet with this source.
    pub(crate) fn side_of(&self, source: Endpoint) -> Side {
        // A client may have had another address before.
        if source == self.server { Side::Server } else { Side::Client }
    }

    /// `true` for a client's packet with a Move from another address than the last such packet.
    fn is_from_elsewhere(&self, by: Side, segment: &Segment) -> bool {
        by == Side::Client
            && segment.checksum != Checksum::Bad
            && Endpoint::source(segment) != self.place
            && handover::has_option(&segment.packet, HandoverKind::Move)
    }

    /// Records the client's address; returns it if this is the first packet from there.
    fn record_address(&mut self, by: Side, segment: &Segment, is_from_elsewhere: bool) -> Option<Endpoint> {
        if by == Side::Server {
            let is_confirmed = Endpoint::destination(segment) == self.place;
            if is_confirmed && handover::has_option(&segment.packet, HandoverKind::Moved) {
                self.client = self.place;
            }
            return None;
        }
        if !is_from_elsewhere {
            return None;
        }
        self.place = Endpoint::source(segment);
        // If the server's packets are not captured, the client's Move is the only evidence.
        if self.half(Side::Server).sequence.greatest().is_none() {
            self.client = self.place;
        }
        Some(self.place)
    }

    /// The CCID of the data of `sender`, and `true` if it is known and not inferred from options.
    pub(crate) fn ccid(&self, sender: Side) -> (Option<u64>, bool) {
        let begun = self.handshake.requests + self.handshake.responses > 0;
        if begun && !self.has_cut_options() || self.features.was_named(sender, FeatureNumber::Ccid) {
            return (self.features.value(sender, FeatureNumber::Ccid), true);
        }
        let options = &self.half(sender.other()).counts.options;
        (ccids::infer(|kind| options.contains_key(&kind)), false)
    }

    /// `true` if options are unknown that the capture has cut off, and with them what they have negotiated.
    fn has_cut_options(&self) -> bool {
        self.halves.iter().any(|half| half.cut_options > 0)
    }

    /// The Sequence Window, or a large one if it is unknown.
    fn sequence_window(&self, by: Side) -> u64 {
        let window = self.features.sequence_window(by);
        if self.has_cut_options() { window.max(UNKNOWN_WINDOW) } else { window }
    }

    /// `true` if the data of `sender` is under TFRC.
    fn has_tfrc(&self, sender: Side) -> bool {
        self.ccid(sender).0.is_some_and(ccids::is_tfrc)
    }

    /// Processes a packet of this connection. Returns its full sequence number, and `true` if the packet
    /// counts and its number was captured for the first time.
    pub(crate) fn on_segment(&mut self, segment: &Segment) -> (SeqNo, bool) {
        let by = self.side_of(Endpoint::source(segment));
        let packet = &segment.packet;
        let is_from_elsewhere = self.is_from_elsewhere(by, segment);
        self.half_mut(by).interface = Some(segment.interface);
        let extended = self.extend(by, packet);
        self.last = self.last.max(segment.at);
        self.count(by, segment);
        match segment.checksum {
            Checksum::Bad => {
                self.anomalies.add(AnomalyKind::BadChecksum, segment.number, || {
                    format!("{:?} {extended} of the {}", packet.packet_type(), by.name())
                });
                // RFC 4340, Section 8.5, Step 1: receivers ignore the packet.
                return (extended, false);
            }
            Checksum::Absent => self.note(AnomalyKind::NoChecksum, segment, by),
            Checksum::Good | Checksum::Unfinished | Checksum::Unknown => {}
        }
        self.check_type(by, segment);
        self.check_options(by, segment);
        self.half_mut(by).cut_options += u64::from(!segment.has_all_options);
        // RFC 5596, Section 2.2.1: the sequence number of a Listen is unrelated to the others.
        if packet.packet_type() == PacketType::Listen {
            return (extended, false);
        }
        let Some(arrival) = self.classify_number(by, segment, extended) else { return (extended, false) };
        self.handshake.on_packet(by, segment.at, packet);
        self.opened |= self.handshake.completed.is_some()
            || self.handshake.requests == 0
                && matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck | PacketType::Ack);
        let kind = packet.packet_type();
        // A Change may be among the options that were cut off.
        let mut ignored = Anomalies::default();
        let anomalies = if self.has_cut_options() { &mut ignored } else { &mut self.anomalies };
        self.features.on_options(by, segment.number, kind, &packet.options, anomalies);
        if let Some(ack) = packet.ack() {
            self.on_acknowledgement(by, segment, self.extend_ack(by, packet, ack));
        }
        self.on_timestamps(by, segment);
        if arrival != SequencePlace::Old {
            self.on_repair(by, segment);
        }
        // A reordered or duplicated packet may be from the client's previous address.
        let is_newest = !matches!(arrival, SequencePlace::Late | SequencePlace::Old);
        let place = self.record_address(by, segment, is_from_elsewhere && is_newest);
        self.handovers.on_packet(by, segment.number, segment.at, packet, place);
        self.ending.on_packet(by, segment.number, packet.kind);
        (extended, arrival != SequencePlace::Old)
    }

    /// Extends a short sequence number (RFC 4340, Section 7.6).
    fn extend(&self, by: Side, packet: &Packet) -> SeqNo {
        match self.half(by).sequence.greatest() {
            Some(greatest) if !packet.extended => SeqNo::extend(packet.sequence.low24(), greatest),
            _ => packet.sequence,
        }
    }

    fn extend_ack(&self, by: Side, packet: &Packet, ack: SeqNo) -> SeqNo {
        match self.half(by.other()).sequence.greatest() {
            Some(greatest) if !packet.extended => SeqNo::extend(ack.low24(), greatest),
            _ => ack,
        }
    }

    fn note(&mut self, kind: AnomalyKind, segment: &Segment, by: Side) {
        let packet_type = segment.packet.packet_type();
        self.anomalies.add(kind, segment.number, || format!("{packet_type:?} of the {}", by.name()));
    }

    fn count(&mut self, by: Side, segment: &Segment) {
        let packet = &segment.packet;
        let (kind, bytes) = (packet.packet_type(), packet.payload.len() as u64);
        let is_data = kind.carries_data() && bytes > 0;
        let half = self.half_mut(by);
        half.counts.packets += 1;
        half.counts.types[kind as usize] += 1;
        half.counts.on_ecn(segment.ecn);
        half.counts.coverage[usize::from(packet.checksum_coverage.field())] += 1;
        for option in packet.options.iter().filter(|option| !matches!(option, DccpOption::Padding)) {
            *half.counts.options.entry(option.kind()).or_default() += 1;
        }
        let row = half.table.row(segment.at);
        row.packets += 1;
        row.marked_here += u64::from(segment.ecn == Ecn::Ce);
        row.syncs += u64::from(matches!(kind, PacketType::Sync | PacketType::SyncAck));
        if is_data {
            row.datagrams += 1;
            row.bytes += bytes;
            half.counts.datagrams += 1;
            half.counts.bytes += bytes;
            let first = half.counts.data_span.map_or(segment.at, |(first, _)| first);
            half.counts.data_span = Some((first, segment.at.max(first)));
            half.gaps.on_packet(segment.at, u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }

    fn check_type(&mut self, by: Side, segment: &Segment) {
        use PacketType::{CloseReq, Listen, Request, Reset, Response};
        let kind = segment.packet.packet_type();
        let wrong = match by {
            Side::Client => matches!(kind, Response | CloseReq | Listen),
            Side::Server => kind == Request,
        };
        if wrong {
            self.note(AnomalyKind::WrongEnd, segment, by);
        }
        if let whimbrel_wire::Kind::Response { service_code, .. } = segment.packet.kind {
            if self.handshake.requests == 0 {
                self.note(AnomalyKind::ResponseWithoutRequest, segment, by);
            } else if let Some(asked) = self.handshake.service_code.filter(|asked| *asked != service_code) {
                self.anomalies.add(AnomalyKind::OtherServiceCode, segment.number, || {
                    format!("asked for {asked}, answered {service_code}")
                });
            }
        }
        if self.ending.is_over() && kind != Reset {
            self.note(AnomalyKind::AfterTheEnd, segment, by);
        }
        let short = self.features.value(by, FeatureNumber::AllowShortSequenceNumbers);
        // If the handshake was not captured, the negotiated values are unknown.
        if !segment.packet.extended
            && short == Some(0)
            && self.handshake.requests > 0
            && !self.has_cut_options()
        {
            self.note(AnomalyKind::ShortNumbersNotAllowed, segment, by);
        }
    }

    fn check_options(&mut self, by: Side, segment: &Segment) {
        let packet = &segment.packet;
        let kind = packet.packet_type();
        let mut after_mandatory = false;
        for (index, option) in packet.options.iter().enumerate() {
            let anomaly = match option {
                DccpOption::Malformed(_) => Some(AnomalyKind::MalformedOption),
                option if self.expected_length(by, option).is_some() => Some(AnomalyKind::MalformedOption),
                DccpOption::Unknown { .. } => Some(AnomalyKind::UnknownOption),
                DccpOption::Mandatory if after_mandatory || index + 1 == packet.options.len() => {
                    Some(AnomalyKind::MisplacedMandatory)
                }
                option if !option.counts_on(kind) => Some(AnomalyKind::IgnoredOption),
                DccpOption::DataChecksum(value)
                    if segment.is_whole && packet.payload.data_checksum() != *value =>
                {
                    Some(AnomalyKind::WrongDataChecksum)
                }
                _ => None,
            };
            after_mandatory = matches!(option, DccpOption::Mandatory);
            if let Some(anomaly) = anomaly {
                let expected = self.expected_length(by, option);
                self.anomalies.add(anomaly, segment.number, || {
                    let name = names::option_name(option.kind());
                    let place = format!("on a {kind:?} packet of the {}", by.name());
                    match expected {
                        Some(expected) => {
                            let length = option.encoded_len();
                            format!("{name} of {length} bytes {place}: expected {expected}")
                        }
                        None => format!("{name} {place}"),
                    }
                });
            }
        }
    }

    /// The valid lengths for the type of `by`'s option, if its own length is not among them.
    fn expected_length(&self, by: Side, option: &DccpOption) -> Option<&'static str> {
        match option {
            DccpOption::Unknown { kind: 46, data } => option_length::expected_of_multipath(data),
            DccpOption::Unknown { kind, .. } => option_length::expected(*kind),
            DccpOption::CcidSpecific { kind, .. } => {
                // RFC 4340, Section 10.3: from 192 on, the CCID belongs to the data of the other end.
                let sender = if *kind >= FIRST_OF_RECEIVER { by.other() } else { by };
                let is_wrong = self.has_tfrc(sender) && TfrcOption::parse(option).is_none();
                is_wrong.then(|| option_length::expected_by_tfrc(*kind))?
            }
            _ => None,
        }
    }

    /// Classifies the sequence number; `None` if the packet does not count.
    fn classify_number(&mut self, by: Side, segment: &Segment, sequence: SeqNo) -> Option<SequencePlace> {
        let width = self.sequence_window(by);
        let is_sync = matches!(segment.packet.packet_type(), PacketType::Sync | PacketType::SyncAck);
        let payload = segment.packet.payload.len();
        let is_data = segment.packet.packet_type().carries_data() && payload > 0;
        let half = self.half_mut(by);
        let window = half.sequence.window(width);
        // RFC 4340, Section 7.5.3: a Sync may be beyond the window.
        let arrival = half.sequence.on_packet(sequence, (!is_sync).then_some(width));
        let below = window.is_some_and(|(low, _)| sequence.is_before(low));
        let outside = || match window {
            Some((low, high)) => format!("{sequence} of the {}, window {low} to {high}", by.name()),
            None => sequence.to_string(),
        };
        if matches!(arrival, SequencePlace::First | SequencePlace::New { .. } | SequencePlace::Late) {
            half.measure_lateness(segment.at, sequence);
        }
        match arrival {
            SequencePlace::First => half.sent.push(sequence, 0, segment.first_at, payload),
            SequencePlace::New { missing } => {
                half.sent.push(sequence, missing, segment.first_at, payload);
                half.table.row(segment.at).holes += missing.cast_signed();
                half.gaps.on_missing(missing, is_data);
            }
            SequencePlace::Late => {
                half.sent.fill(sequence, segment.first_at, payload);
                half.table.row(segment.at).holes -= 1;
            }
            SequencePlace::Old => {
                self.anomalies.add(AnomalyKind::RepeatedNumber, segment.number, || {
                    format!("{:?} {sequence} of the {}", segment.packet.packet_type(), by.name())
                });
            }
            SequencePlace::Stray => {
                self.anomalies.add(AnomalyKind::OutsideWindow, segment.number, outside);
                return None;
            }
            SequencePlace::Jump => {
                half.sent = Default::default();
                half.lateness = Default::default();
                half.sent.push(sequence, 0, segment.first_at, payload);
                self.anomalies.add(AnomalyKind::NumbersJumped, segment.number, outside);
            }
        }
        if below && matches!(arrival, SequencePlace::Late | SequencePlace::Old) {
            self.anomalies.add(AnomalyKind::OutsideWindow, segment.number, outside);
            return None;
        }
        Some(arrival)
    }

    /// Processes an acknowledgement of the other end's packets.
    fn on_acknowledgement(&mut self, by: Side, segment: &Segment, ack: SeqNo) {
        let kind = segment.packet.packet_type();
        let width = self.sequence_window(by.other());
        let at = segment.at;
        let Some(greatest) = self.half(by.other()).sequence.greatest() else { return };
        // A Reset for a packet without a connection has the numbers of that packet.
        if kind != PacketType::Reset {
            let ahead = ack.distance_from(greatest);
            let detail =
                || format!("{kind:?} of the {} acknowledges {ack}; greatest seen {greatest}", by.name());
            if ahead > 0 {
                self.anomalies.add(AnomalyKind::AcknowledgesUnseen, segment.number, detail);
            } else if ahead.unsigned_abs() >= width {
                self.anomalies.add(AnomalyKind::AcknowledgesTooOld, segment.number, detail);
            }
        }
        let options = &segment.packet.options;
        let elapsed = options.iter().find_map(|option| match option {
            DccpOption::ElapsedTime(elapsed) => Some(elapsed_time(*elapsed)),
            _ => None,
        });
        let is_tfrc = self.has_tfrc(by.other());
        let half = self.half_mut(by.other());
        if let Some(sent) = half.sent.acknowledge(ack) {
            let rtt = without(at.saturating_since(sent), elapsed.unwrap_or(Duration::ZERO));
            half.reported.rtt.add(rtt);
            half.table.row(at).rtt.add(rtt);
        }
        if options.iter().any(|option| matches!(option, DccpOption::AckVector { .. })) && kind.has_ack() {
            let news = half.sent.on_ack_vector(ack_vector::runs(ack, options));
            let lost = news.lost.cast_signed() - news.recovered.cast_signed();
            half.reported.by_ack_vector = true;
            half.reported.acknowledged += news.bytes;
            half.reported.lost += lost;
            half.reported.marked += news.marked;
            let row = half.table.row(at);
            row.ack_vectors += 1;
            row.acknowledged += news.bytes;
            row.lost += lost;
            row.marked += news.marked;
            let (unseen, number) = (news.unseen, segment.number);
            self.anomalies.add_many(AnomalyKind::MissedByCapture, unseen, number, || {
                format!("sent by the {}", by.other().name())
            });
        }
        let is_feedback = |option: &DccpOption| option.kind() >= FIRST_OF_RECEIVER && option.counts_on(kind);
        let is_cut = !segment.has_all_options;
        if is_tfrc && (is_cut || options.iter().any(is_feedback)) {
            self.take_feedback(by.other(), at, TfrcFeedback::read(options), is_cut);
        }
    }

    /// Processes a receiver's report. `is_cut`: it may have more than was captured, so that earlier values
    /// are not the last ones, and the greatest is unknown.
    fn take_feedback(&mut self, sender: Side, at: Instant, feedback: TfrcFeedback, is_cut: bool) {
        let start = self.first;
        let half = self.half_mut(sender);
        let row = half.table.row(at);
        let reported = &mut half.reported;
        if is_cut && feedback.loss_event_rate.is_none() {
            row.loss_event_rate = None;
            (reported.loss_event_rate, reported.has_cut_rates) = (None, true);
        }
        if is_cut && feedback.receive_rate.is_none() {
            reported.receive_rate = None;
        }
        if let Some(rate) = feedback.loss_event_rate {
            row.loss_event_rate = Some(rate);
            reported.loss_event_rate = Some(rate);
            reported.greatest_loss_event_rate = reported.greatest_loss_event_rate.max(rate);
        }
        if let Some(rate) = feedback.receive_rate {
            let since = reported.receive_rate_at.unwrap_or(start);
            row.add_receive_rate(rate, at.saturating_since(since));
            (reported.receive_rate, reported.receive_rate_at) = (Some(rate), Some(at));
        }
        reported.dropped = feedback.dropped.or(reported.dropped.filter(|_| !is_cut));
    }

    /// Processes Timestamps, their echoes, and the round-trip time signalled by the sender.
    fn on_timestamps(&mut self, by: Side, segment: &Segment) {
        let at = segment.at;
        for option in &segment.packet.options {
            match option {
                DccpOption::Timestamp(value) => self.half_mut(by).timestamps.push(*value, segment.first_at),
                DccpOption::TimestampEcho { timestamp, elapsed } => {
                    let half = self.half_mut(by.other());
                    if let Some(rtt) = half.timestamps.echo(*timestamp, elapsed_time(*elapsed), at) {
                        half.reported.rtt.add(rtt);
                        half.table.row(at).rtt.add(rtt);
                    }
                }
                _ => {}
            }
        }
        if self.has_tfrc(by)
            && let Some(nanos) = rtt_estimate(&segment.packet.options)
        {
            self.half_mut(by).reported.sender_rtt.add(Duration::from_nanos(nanos));
        }
    }
}

fn elapsed_time(elapsed: Elapsed) -> Duration {
    Duration::from_nanos(elapsed.nanos())
}
