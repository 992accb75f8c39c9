//! Opening a connection: Request, Response and the acknowledgement of the Response (RFC 4340, Section 8.1).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{DccpOption, Options, Packet, PacketType, Payload, Reset, SeqNo};

use super::context::{Context, Effects};
use super::timer::{Backoff, LIMIT_IN_MSL, Timer};
use super::validation::Validation;
use super::{Role, State};
use crate::Event;

/// Interval before the first retransmission of PARTOPEN's acknowledgement (RFC 4340, Section 8.1.5).
const PARTOPEN_INTERVAL: Duration = Duration::from_millis(200);
/// Upper bound on the bytes of Init Cookies, which leaves room for other options on the packets that carry
/// them.
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
    /// Application data of a received Request or Response, until the connection is announced to the
    /// application.
    received: Option<Event>,
    /// Sequence number of the Request or Response whose data was taken first; no other's will be.
    data_taken: Option<SeqNo>,
    /// This server has sent nothing since the handshake was completed.
    unanswered: bool,
    /// Init Cookies of the Response, kept until the server acknowledges a packet that carries them (RFC 4340,
    /// Section 8.1.4).
    cookies: Vec<DccpOption>,
    /// Confirm options that this client has sent in PARTOPEN. The packet that carried them may be lost, and a
    /// server need not repeat its Change options: Linux resets the connection when the next packet lacks the
    /// Confirms.
    answers: Vec<DccpOption>,
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

    /// Accounts for a packet being sent.
    pub(super) fn on_sent(&mut self) {
        self.unanswered = false;
    }

    /// Starts retransmitting the Request, until the connect time has passed.
    pub(super) fn start_request(&mut self, now: Instant, cx: &Context, fx: &mut Effects) {
        fx.outbound.owe_request();
        self.backoff = Some(request_backoff(cx));
        fx.timers.set(Timer::Connect, now + cx.config.timers.connect);
    }

    /// Starts the time limit of RESPOND.
    pub(super) fn start_respond(now: Instant, cx: &Context, fx: &mut Effects) {
        fx.timers.set(Timer::Handshake, now + cx.config.timers.msl * LIMIT_IN_MSL);
    }

    /// Retransmits the Request at once, after a change of address before the Response.
    pub(super) fn request_from_elsewhere(&mut self, cx: &Context, fx: &mut Effects) {
        self.left = Some(cx.sequence.numbers.gss());
        self.backoff = Some(request_backoff(cx));
        fx.outbound.owe_request();
    }

    /// Processes the client's first Response, which answers the Request of that number. Returns `true` if
    /// that Request was sent from a previous address, which the server still uses.
    #[must_use]
    pub(super) fn enter_partopen(
        &mut self,
        now: Instant,
        cx: &Context,
        fx: &mut Effects,
        request: SeqNo,
    ) -> bool {
        fx.timers.stop(Timer::Request);
        fx.timers.stop(Timer::Connect);
        fx.timers.set(Timer::Handshake, now + cx.config.timers.msl * LIMIT_IN_MSL);
        self.backoff = Some(Backoff::within(PARTOPEN_INTERVAL, cx.config.timers.requests.longest));
        fx.outbound.cancel_request();
        self.left.take().is_some_and(|left| !request.is_after(left))
    }

    /// The handshake is complete at both ends. `is_server`: the client may not know it.
    pub(super) fn complete(&mut self, fx: &mut Effects, is_server: bool) {
        (self.cookies, self.answers) = Default::default();
        self.validation.complete();
        fx.timers.stop(Timer::Handshake);
        fx.timers.stop(Timer::PartOpenAck);
        self.backoff = None;
        fx.outbound.cancel_response();
        self.unanswered |= is_server;
    }

    /// Stores the Init Cookies of a Response.
    ///
    /// # Errors
    ///
    /// Cookies that are too large to echo prevent the connection: returns the Reset.
    pub(super) fn keep_cookies(&mut self, packet: &Packet) -> Result<(), Reset> {
        let is_cookie = |option: &&DccpOption| matches!(option, DccpOption::InitCookie(_));
        self.cookies = packet.options.iter().filter(is_cookie).cloned().collect();
        if self.cookies_len() <= MAX_COOKIES_LEN {
            return Ok(());
        }
        let reset = Reset::option_error(&self.cookies[0]);
        self.cookies.clear();
        Err(reset)
    }

    /// `true` if a packet is another Response of a stateless server, to another copy of the Request: each
    /// such Response offers a connection with numbers of its own (RFC 4340, Section 8.1.4), and this client
    /// has accepted one of them. If it used the numbers of another, the server that has established the first
    /// would find all its acknowledgements invalid.
    pub(super) fn is_other_offer(&self, cx: &Context, packet: &Packet) -> bool {
        cx.state == State::PartOpen
            && self.has_cookies()
            && packet.packet_type() == PacketType::Response
            && packet.sequence != cx.sequence.numbers.isr()
            && packet.options.iter().any(|option| matches!(option, DccpOption::InitCookie(_)))
    }

    /// A Request is being sent.
    pub(super) fn on_request_sent(&mut self, now: Instant, fx: &mut Effects) {
        if let Some(backoff) = &mut self.backoff {
            fx.timers.set(Timer::Request, now + backoff.take());
        }
    }

    /// Stores the data of the first Request or Response.
    pub(super) fn set_data(&mut self, data: Payload) {
        self.data = Some(data);
    }

    /// Data carried by all Requests or Responses: the datagram that was queued when the first was sent.
    pub(super) fn data(&self) -> Payload {
        self.data.clone().unwrap_or_default()
    }

    /// A packet is being sent in PARTOPEN: postpones the retransmission of the acknowledgement.
    pub(super) fn on_sent_in_partopen(&self, now: Instant, fx: &mut Effects) {
        if let Some(backoff) = &self.backoff {
            fx.timers.set(Timer::PartOpenAck, now + backoff.interval());
        }
    }

    /// Retransmits the acknowledgement in PARTOPEN, as no packet was sent for a while.
    pub(super) fn repeat_acknowledgement(&mut self, fx: &mut Effects) {
        fx.outbound.request_ack();
        if let Some(backoff) = &mut self.backoff {
            backoff.back_off();
        }
    }

    /// Answers a client that still acknowledges the Response: RFC 4340 has it give up after 4 MSL in PARTOPEN
    /// unless it receives a packet, but a server without data has no other reason to send one.
    pub(super) fn answer_partopen(&self, fx: &mut Effects, packet: &Packet) {
        let acknowledges = matches!(packet.packet_type(), PacketType::Ack | PacketType::DataAck);
        if acknowledges && self.unanswered {
            fx.outbound.request_ack();
        }
    }

    /// Called for the application data of each Request or Response. Returns `true` if they may be accepted:
    /// the data of one packet per connection, if the configuration permits it (RFC 4340, Section 8.1.3).
    /// `None`: the packet is a second copy of that packet and says nothing new about its data; to report them
    /// as dropped would be wrong.
    pub(super) fn claim_data(&mut self, cx: &Context, sequence: SeqNo) -> Option<bool> {
        if self.data_taken == Some(sequence) {
            return None;
        }
        let is_first = self.data_taken.is_none();
        self.data_taken.get_or_insert(sequence);
        Some(is_first && cx.config.data_on_handshake)
    }

    /// Keeps the data of a Request until the connection is announced: the server's application has no
    /// connection yet, and the address may be forged.
    pub(super) fn keep_received(&mut self, event: Event) {
        self.received = Some(event);
    }

    /// Removes those data.
    pub(super) fn take_received(&mut self) -> Option<Event> {
        self.received.take()
    }

    /// The packet that this one answers, if it is the first answer to a Request or Response.
    pub(super) fn answered(cx: &Context, packet: &Packet) -> Option<SeqNo> {
        let answers = match cx.ports.role {
            Role::Client => packet.packet_type() == PacketType::Response && cx.state == State::Request,
            Role::Server => cx.state == State::Respond,
        };
        packet.ack().filter(|_| answers)
    }
}

/// The intervals between Requests.
fn request_backoff(cx: &Context) -> Backoff {
    let schedule = cx.config.timers.requests;
    Backoff::within(schedule.first, schedule.longest)
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
