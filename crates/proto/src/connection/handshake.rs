//! Opening a connection: Request, Response and the acknowledgement of the Response (RFC 4340, Section 8.1).

use core::ops::ControlFlow;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{DccpOption, Ecn, Kind, Options, Packet, PacketType, Payload, Reset, SeqNo};

use super::room::MAX_ECHO_LEN;
use super::timer::{Backoff, IDLE_PROBE_FRACTION, Timer};
use super::validation::Validation;
use super::{Connection, ReceiveMeta, Role, State, Transmit};
use crate::Event;

/// Interval before the first retransmission of a Request (RFC 4340, Section 8.1.1).
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
/// Interval before the first retransmission of PARTOPEN's acknowledgement (RFC 4340, Section 8.1.5).
const PARTOPEN_INTERVAL: Duration = Duration::from_millis(200);
/// Time limit of RESPOND, PARTOPEN and closing, in maximum segment lifetimes (RFC 4340, Sections 8.1.3 and 8.1.5).
pub(super) const LIMIT_IN_MSL: u64 = 4;

/// Upper bound on the bytes of Init Cookies, which leaves room for other options on the packets that carry them.
const MAX_COOKIES_LEN: usize = 768;

/// State of the handshake.
#[derive(Clone, Debug, Default)]
pub(super) struct Handshake {
    /// Paces the Requests, then PARTOPEN's acknowledgements.
    backoff: Option<Backoff>,
    /// The last Request that this client sent from a previous address.
    left: Option<SeqNo>,
    /// Application data of the first Request or Response, which every retransmission repeats.
    data: Option<Payload>,
    /// Application data of a received Request or Response, until the connection is announced to the application.
    received: Option<Event>,
    /// Sequence number of the Request or Response whose data were taken first; no other's will be.
    data_taken: Option<SeqNo>,
    /// This server has sent nothing since the handshake was completed.
    unanswered: bool,
    /// A Listen packet has already caused this client to retransmit its Request.
    pub(super) invited: bool,
    /// Number of Listen packets that this server has sent.
    pub(super) listens: u8,
    /// Init Cookies of the Response, kept until the server acknowledges a packet that carries them (RFC 4340, Section
    /// 8.1.4).
    cookies: Options,
    /// Confirm options that this client has sent in PARTOPEN. The packet that carried them may be lost, and a server
    /// need not repeat its Change options: Linux resets the connection when the next packet lacks the Confirms.
    answers: Options,
    /// Anti-amplification limit while the peer's address is not validated.
    pub(super) validation: Validation,
}

impl Handshake {
    pub(super) fn new(role: Role) -> Self {
        let validation = match role {
            Role::Client => Validation::default(),
            Role::Server => Validation::pending(),
        };
        Self { validation, ..Self::default() }
    }
    /// `true` if sent packets carry Init Cookies.
    pub(super) fn has_cookies(&self) -> bool {
        !self.cookies.is_empty()
    }
    /// Number of bytes of Init Cookies.
    pub(super) fn cookies_len(&self) -> usize {
        self.cookies.iter().map(DccpOption::encoded_len).sum()
    }
    /// Adds the Init Cookies to a packet that is about to leave.
    pub(super) fn write_cookies(&self, options: &mut Options) {
        options.extend(self.cookies.iter().cloned());
    }
    /// Stores the Confirm options sent in PARTOPEN.
    pub(super) fn keep_answers(&mut self, sent: &[DccpOption]) {
        for answer in sent.iter().filter(|option| is_answer(option)) {
            self.answers.retain(|older| !answers_the_same(older, answer));
            self.answers.push(answer.clone());
        }
    }
    /// The stored Confirm options that a further packet in PARTOPEN should repeat, besides its own options.
    pub(super) fn answers_besides(&self, options: &Options) -> Options {
        let is_missing = |answer: &&DccpOption| !options.iter().any(|other| answers_the_same(other, answer));
        self.answers.iter().filter(is_missing).cloned().collect()
    }
    /// `true` if this is a server whose client may not know that it is in OPEN.
    pub(super) fn is_unanswered(&self) -> bool {
        self.unanswered
    }
    /// Accounts for a packet being sent.
    pub(super) fn on_sent(&mut self) {
        self.unanswered = false;
    }
}

fn is_answer(option: &DccpOption) -> bool {
    matches!(option, DccpOption::Feature(feature) if !feature.action.is_change())
}

fn answers_the_same(one: &DccpOption, other: &DccpOption) -> bool {
    match (one, other) {
        (DccpOption::Feature(one), DccpOption::Feature(other)) => {
            (one.action, one.feature) == (other.action, other.feature)
        }
        _ => false,
    }
}

pub(super) fn options_len(options: &Options) -> usize {
    options.iter().map(DccpOption::encoded_len).sum()
}

impl Connection {
    pub(super) fn start_request(&mut self, now: Instant) {
        self.state = State::Request;
        self.outbound.request = true;
        self.handshake.backoff = Some(Backoff::new(REQUEST_INTERVAL));
        self.timers.set(Timer::Connect, now + self.config.timers.connect);
    }
    /// Processes a server's first Request: LISTEN ends.
    pub(super) fn start_respond(&mut self, now: Instant, isr: SeqNo) {
        self.state = State::Respond;
        self.start_receiving(isr);
        self.timers.set(Timer::Handshake, now + self.config.timers.msl * LIMIT_IN_MSL);
    }
    /// Retransmits the Request at once, after a change of address before the Response.
    pub(super) fn request_from_elsewhere(&mut self) {
        self.handshake.left = Some(self.sequence.numbers.gss());
        self.handshake.backoff = Some(Backoff::new(REQUEST_INTERVAL));
        self.outbound.request = true;
    }
    /// Processes the client's first Response, which answers the Request of that number.
    pub(super) fn enter_partopen(&mut self, now: Instant, request: SeqNo) {
        self.state = State::PartOpen;
        self.agree_on_mobility();
        self.timers.stop(Timer::Request);
        self.timers.stop(Timer::Connect);
        self.timers.set(Timer::Handshake, now + self.config.timers.msl * LIMIT_IN_MSL);
        self.handshake.backoff = Some(Backoff::new(PARTOPEN_INTERVAL));
        self.outbound.request = false;
        self.announce(now);
        if self.handshake.left.take().is_some_and(|left| !request.is_after(left)) {
            // The Request was sent from the old address, which the server still uses.
            self.announce_move(now, true);
        }
    }
    /// Stores the Init Cookies of a Response. Cookies that are too large to echo prevent the connection.
    pub(super) fn keep_cookies(&mut self, packet: &Packet) -> ControlFlow<()> {
        let is_cookie = |option: &&DccpOption| matches!(option, DccpOption::InitCookie(_));
        self.handshake.cookies = packet.options.iter().filter(is_cookie).cloned().collect();
        if self.handshake.cookies_len() <= MAX_COOKIES_LEN {
            return ControlFlow::Continue(());
        }
        let reset = Reset::option_error(&self.handshake.cookies[0]);
        self.handshake.cookies.clear();
        self.reset(reset);
        ControlFlow::Break(())
    }
    /// `true` if a packet is another Response of a stateless server, to another copy of the Request: each such Response
    /// offers a connection with numbers of its own (RFC 4340, Section 8.1.4), and this client has accepted one of them.
    /// If it used the numbers of another, the server that has established the first would find all its acknowledgements
    /// invalid.
    pub(super) fn is_other_offer(&self, packet: &Packet) -> bool {
        self.state == State::PartOpen
            && self.handshake.has_cookies()
            && packet.packet_type() == PacketType::Response
            && packet.sequence != self.sequence.numbers.isr()
            && packet.options.iter().any(|option| matches!(option, DccpOption::InitCookie(_)))
    }
    /// The handshake is complete at both ends.
    pub(super) fn enter_open(&mut self, now: Instant, osr: SeqNo) {
        let was = self.state;
        self.state = State::Open;
        self.agree_on_mobility();
        self.handshake.cookies.clear();
        self.handshake.answers.clear();
        self.handshake.validation.complete();
        self.sequence.numbers.set_osr(osr);
        self.timers.stop(Timer::Handshake);
        self.timers.stop(Timer::PartOpenAck);
        self.handshake.backoff = None;
        self.outbound.response = false;
        self.start_path_mtu(now);
        if was == State::Respond {
            self.handshake.unanswered = true;
            self.announce(now);
        }
    }
    /// Reports the connection to the application.
    fn announce(&mut self, now: Instant) {
        self.events.push_back(Event::Connected {
            sender_ccid: self.congestion.sender_ccid(),
            receiver_ccid: self.congestion.receiver_ccid(),
        });
        if let Some(event) = self.handshake.received.take() {
            self.deliver(event);
        }
        if let Some(idle) = self.config.timers.idle {
            self.timers.set(Timer::Idle, now + idle / IDLE_PROBE_FRACTION);
        }
        if let Some(interval) = self.config.timers.keep_alive {
            self.timers.set(Timer::KeepAlive, now + interval / 2);
        }
    }

    /// Creates a Request, or its retransmission.
    pub(super) fn request_packet(&mut self, now: Instant) -> Transmit {
        if let Some(backoff) = &mut self.handshake.backoff {
            self.timers.set(Timer::Request, now + backoff.take());
        }
        let kind = Kind::Request { service_code: self.config.service_code };
        self.handshake_packet(now, kind)
    }
    /// Creates a Response to the last Request.
    pub(super) fn response_packet(&mut self, now: Instant) -> Transmit {
        let ack = self.sequence.numbers.gsr();
        let kind = Kind::Response { ack, service_code: self.config.service_code };
        self.handshake_packet(now, kind)
    }
    fn handshake_packet(&mut self, now: Instant, kind: Kind) -> Transmit {
        let sequence = self.sequence.numbers.gss().next();
        let mut options = Options::new();
        let room = self.handshake.validation.room(kind.packet_type());
        self.write_features(now, kind.packet_type(), &mut options);
        self.write_mobility_key(kind.packet_type(), room, &mut options);
        if options_len(&options) + MAX_ECHO_LEN <= room {
            self.rtt.write_echo(now, &mut options);
        }
        if let Some(ack) = kind.ack() {
            let left = room.saturating_sub(options_len(&options));
            let left = left.min(self.option_room(now, kind.packet_type(), &options));
            self.dropped.write(sequence, ack, left, &mut options);
        }
        let mut data = self.handshake_data(now, kind.packet_type(), sequence, &options, room);
        let taken = self.handshake_options_len(now, kind.packet_type(), &options);
        if !data.is_empty() && taken.saturating_add(data.len()) > room {
            // This Request is shorter than the first one, whose Response had the data.
            data = Payload::EMPTY;
        }
        let transmit = self.emit(now, kind, options, data, Ecn::NotEct);
        self.rtt.on_handshake_sent(now, sequence);
        transmit
    }
    /// Data carried by all Requests or Responses: the datagram that was queued when the first was sent.
    fn handshake_data(
        &mut self,
        now: Instant,
        packet_type: PacketType,
        sequence: SeqNo,
        options: &Options,
        room: usize,
    ) -> Payload {
        let is_first = sequence == self.sequence.numbers.iss();
        let taken = self.handshake_options_len(now, packet_type, options);
        // The endpoint may add an Init Cookie to a Response.
        let reserved = self.handshake.validation.reserved();
        let fits =
            |size: usize| size + taken <= room && self.has_room(now, packet_type, size + reserved, options);
        let has_room = self.outbound.queue.front_len().is_some_and(fits);
        if is_first
            && has_room
            && self.config.data_on_handshake
            && let Some(queued) = self.outbound.queue.pop(&mut self.events)
        {
            self.on_datagram_sent(queued.id, queued.payload.len(), sequence);
            self.handshake.data = Some(queued.payload);
        }
        self.handshake.data.clone().unwrap_or_default()
    }
    /// Number of bytes of options on a Request or Response, besides those that all of them carry.
    fn handshake_options_len(&self, now: Instant, packet_type: PacketType, options: &Options) -> usize {
        (options_len(options) + self.late_len(now, packet_type)).next_multiple_of(4)
    }
    /// Reserves `bytes` on the Response, before a server processes its Request.
    pub(crate) fn reserve_on_response(&mut self, bytes: usize) {
        self.handshake.validation.reserve(bytes);
    }
    /// Marks a server that was established by an Init Cookie: its client repeats the cookie on every packet until it
    /// receives one from this end.
    pub(crate) fn release_from_cookies(&mut self) {
        self.outbound.ack |= self.state == State::Open;
    }
    /// A packet is being sent in PARTOPEN: postpones the retransmission of the acknowledgement.
    pub(super) fn on_sent_in_partopen(&mut self, now: Instant) {
        if let Some(backoff) = &self.handshake.backoff {
            self.timers.set(Timer::PartOpenAck, now + backoff.interval());
        }
    }
    /// Retransmits the acknowledgement in PARTOPEN, as no packet was sent for a while.
    pub(super) fn repeat_acknowledgement(&mut self) {
        self.outbound.ack = true;
        if let Some(backoff) = &mut self.handshake.backoff {
            backoff.back_off();
        }
    }

    /// Accepts the application data of a Request or Response, once per connection. Further data are reported as dropped
    /// because of a protocol constraint (RFC 4340, Section 8.1.3).
    pub(super) fn take_handshake_data(&mut self, meta: ReceiveMeta, packet: Packet, is_corrupt: bool) {
        if packet.payload.is_empty() {
            return;
        }
        let (sequence, size) = (packet.sequence, packet.payload.len());
        // A second copy of that packet says nothing new about its data: to report them as dropped would be wrong.
        if self.handshake.data_taken == Some(sequence) {
            return;
        }
        let is_forbidden = self.handshake.data_taken.is_some() || !self.config.data_on_handshake;
        self.handshake.data_taken.get_or_insert(sequence);
        let objection = match self.objection(size, packet.checksum_coverage, is_corrupt) {
            _ if is_forbidden => Some(DropCode::ProtocolConstraints),
            objection => objection,
        };
        if let Some(code) = objection {
            return self.drop_data(sequence, code);
        }
        let event = self.datagram_event(meta, packet, is_corrupt);
        // The server's application has no connection yet, and the address may be forged.
        if self.state == State::Respond {
            self.handshake.received = Some(event);
        } else {
            self.deliver(event);
        }
    }
    /// Takes a round-trip time sample if the packet answers the Request or Response.
    pub(super) fn measure_handshake(&mut self, now: Instant, packet: &Packet) {
        let answers = match self.ports.role {
            Role::Client => packet.packet_type() == PacketType::Response && self.state == State::Request,
            Role::Server => self.state == State::Respond,
        };
        if let Some(ack) = packet.ack()
            && answers
        {
            self.rtt.on_handshake_answered(now, ack);
        }
    }
}
