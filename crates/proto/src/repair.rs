//! Repair of lost datagrams within a latency budget: a layer between a connection, or the DTLS above it, and
//! the application.
//!
//! [`whimbrel_repair`] decides what is repeated and what is coded. [`RepairLayer`] passes the datagrams of
//! the application through it: what it sends is paid from the rate that congestion control allows, since the
//! layer hands the connection one datagram after another, answers first. Both ends agree by the feature
//! Repair ([`Config::repair`](crate::Config::repair)); without an agreement the layer passes everything as it
//! is.

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_control::loss_differentiation::LossClass;
use whimbrel_control::multipath::Purpose;
use whimbrel_repair::channel::Cause;
use whimbrel_repair::receiver::{Receiver, ReceiverConfig};
use whimbrel_repair::sender::{self, Sender, SenderConfig, SenderEvent, Sent};
use whimbrel_repair::wire;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::Payload;

use crate::layer::{Agreed, Step, Transport};
use crate::{Connection, Datagram, DatagramId, DropReason, SendError};
pub use whimbrel_repair::frames::{Groups, StreamFrame};
pub use whimbrel_repair::receiver::{Delivery, ReceiverCounts};
pub use whimbrel_repair::sender::{Mark, Policy};
pub use whimbrel_repair::wire::{REPAIR_OVERHEAD, Role, SOURCE_OVERHEAD};

mod config;
mod in_flight;
mod waiting;

pub use config::{RepairConfig, RepairCounts};
use in_flight::InFlight;
use waiting::Waiting;

/// The largest datagram of the layer: a limit of the code, not what is sent.
const LARGEST: u16 = 1500;
/// Events that are kept while the ends negotiate.
const MOST_HELD: usize = 256;
/// Datagrams that wait in the connection's queue. Another one is there before congestion control asks for it,
/// and an answer does not wait behind many.
const DEPTH: usize = 2;

/// The layers below repair: the connection, and security if there is one.
pub trait Below<C> {
    /// The connection.
    fn connection(&mut self) -> &mut C;
    /// Queues a datagram.
    ///
    /// # Errors
    /// See [`Connection::send`].
    fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError>;
    /// Makes room for a datagram of that size.
    ///
    /// # Errors
    /// The reason for refusing it.
    fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError>;
    /// The largest datagram.
    fn max_datagram(&mut self) -> usize;
}

impl<C: Transport> Below<C> for C {
    fn connection(&mut self) -> &mut C {
        self
    }
    fn send(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        Transport::send(self, now, datagram)
    }
    fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        Transport::make_room(self, now, size)
    }
    fn max_datagram(&mut self) -> usize {
        Transport::max_datagram(self)
    }
}

/// Repair between a connection and its application.
///
/// The driver passes each event from below to [`RepairLayer::handle_event`], takes those for the application
/// from
/// [`RepairLayer::poll_event`], sends through [`RepairLayer::send`], and calls
/// [`RepairLayer::handle_timeout`] at
/// [`RepairLayer::poll_timeout`]. After each call it polls the connection, as after any command.
#[derive(Debug)]
pub struct RepairLayer<C: Transport = Connection> {
    config: RepairConfig,
    phase: Phase<C::Event>,
    events: VecDeque<C::Event>,
}

#[derive(Debug)]
enum Phase<E> {
    /// The connection is not open yet.
    Opening,
    /// The connection is open, and the ends still negotiate: the events since.
    Agreeing(Vec<E>),
    /// The peer does not repair.
    Plain,
    /// Both ends repair.
    Repairing(Box<Ends<E>>),
    /// The connection has ended: what the layer did.
    Over(Option<Box<RepairCounts>>),
}

/// The two ends of this side: of the data that it sends, and of the data that it receives.
#[derive(Debug)]
struct Ends<E> {
    sender: Sender,
    receiver: Receiver,
    /// Datagrams of the application that may wait.
    most_queued: usize,
    /// Datagrams go in parts.
    in_parts: bool,
    /// The largest datagram below.
    max_datagram: usize,
    /// Datagrams of the application that wait in `sender`.
    waiting: Waiting,
    /// Datagrams in the connection's queue.
    in_flight: InFlight,
    /// The event of the last arrival, without its data: the frame of those that are delivered.
    arrival: Option<E>,
    buffer: Vec<u8>,
    /// The application waits for room.
    is_refused: bool,
}

impl<C: Transport> RepairLayer<C> {
    /// The layer of a connection that is not open yet.
    pub fn new(config: RepairConfig) -> Self {
        Self { config, phase: Phase::Opening, events: VecDeque::new() }
    }

    /// Counters, also after the end; `None` while the layer does not repair.
    pub fn counts(&self) -> Option<RepairCounts> {
        match &self.phase {
            Phase::Repairing(ends) => Some(ends.counts()),
            Phase::Over(counts) => counts.as_deref().copied(),
            Phase::Opening | Phase::Agreeing(_) | Phase::Plain => None,
        }
    }

    /// The configuration, with the newest policy.
    pub fn config(&self) -> &RepairConfig {
        &self.config
    }

    /// Repairs what this end sends by a policy from now on.
    pub fn set_policy(&mut self, policy: Policy) {
        self.config.policy = Some(policy);
        if let Phase::Repairing(ends) = &mut self.phase {
            ends.sender.set_policy(policy);
        }
    }

    /// The largest datagram of the application where one of `max_datagram` bytes is the largest below.
    pub fn room(&self, max_datagram: usize) -> usize {
        match self.phase {
            Phase::Repairing(ref ends) => ends.room(max_datagram),
            _ => max_datagram,
        }
    }

    /// Queues a datagram, as [`Connection::send`] does.
    ///
    /// # Errors
    /// See [`Connection::send`]; [`SendError::Closed`] also before the connection is open.
    pub fn send(
        &mut self,
        now: Instant,
        below: &mut impl Below<C>,
        datagram: Datagram,
    ) -> Result<DatagramId, SendError> {
        match &mut self.phase {
            Phase::Opening | Phase::Agreeing(_) | Phase::Over(_) => Err(SendError::Closed),
            Phase::Plain => below.send(now, datagram),
            Phase::Repairing(ends) => {
                let id = ends.send(now, &datagram)?;
                self.pump(now, below);
                Ok(id)
            }
        }
    }

    /// Makes room for a datagram of `size` bytes, as [`Connection::make_room`] does.
    ///
    /// # Errors
    /// As [`RepairLayer::send`].
    pub fn make_room(
        &mut self,
        now: Instant,
        below: &mut impl Below<C>,
        size: usize,
    ) -> Result<(), SendError> {
        match &mut self.phase {
            Phase::Opening | Phase::Agreeing(_) | Phase::Over(_) => Err(SendError::Closed),
            Phase::Plain => below.make_room(now, size),
            Phase::Repairing(ends) => ends.make_room(size),
        }
    }

    /// Processes an event from below. The events for the application follow by [`RepairLayer::poll_event`].
    pub fn handle_event(&mut self, now: Instant, below: &mut impl Below<C>, mut event: C::Event) {
        if let Phase::Agreeing(held) = &mut self.phase {
            let is_over = matches!(C::step(&mut event), Step::Closed(_));
            // More data is lost, as on the path.
            if held.len() < MOST_HELD || !matches!(C::step(&mut event), Step::Datagram(_)) {
                held.push(event);
            }
            let is_agreed = below.connection().repairs().is_some();
            if is_over || is_agreed {
                let mut held = core::mem::take(held);
                if !is_agreed {
                    // Data of the application or of a layer that repairs: nobody will ever know.
                    held.retain_mut(|event| !matches!(C::step(event), Step::Datagram(_)));
                }
                self.open(below);
                held.into_iter().for_each(|event| self.handle_event(now, below, event));
            }
            return;
        }
        let step = C::step(&mut event);
        if let (Step::Opened, Phase::Opening) = (&step, &self.phase) {
            self.phase = Phase::Agreeing(Vec::new());
            return self.handle_event(now, below, event);
        } else if let Phase::Repairing(ends) = &mut self.phase {
            match step {
                Step::Datagram(payload) => {
                    let payload = core::mem::replace(payload, Payload::Bytes(Bytes::new()));
                    ends.receive(now, &payload);
                    ends.arrival = Some(event);
                    return self.pump(now, below);
                }
                // An erasure, where its data may be wrong in any byte and there is no checksum of its parts.
                Step::Damaged(payload) => {
                    // Data recovered with it is delivered as at an arrival.
                    if ends.in_parts && ends.arrival.is_some() {
                        let payload = core::mem::replace(payload, Payload::Bytes(Bytes::new()));
                        ends.receive(now, &payload);
                        self.pump(now, below);
                    }
                    return;
                }
                Step::Outcome(id) => {
                    // Another one is a further copy, on another path.
                    let Some(entry) = ends.in_flight.take(*id) else { return };
                    if let Some(sent) = entry.sent {
                        ends.sender.on_departure(now, sent);
                    }
                    let Some(of_application) = entry.of_application else {
                        return self.pump(now, below);
                    };
                    *id = of_application;
                    self.events.push_back(event);
                    return self.pump(now, below);
                }
                // Room in the connection's queue is not the application's.
                Step::SendReady => return self.pump(now, below),
                Step::Resized(max_datagram) => {
                    ends.max_datagram = *max_datagram;
                    *max_datagram = ends.room(*max_datagram);
                }
                Step::Closed(_) => {
                    // Everything is delivered that is there.
                    ends.deliver(now + self.config.latency * 2, &mut self.events, C::deliver);
                    ends.waiting
                        .drop_all(|id| self.events.push_back(C::dropped(id, DropReason::ConnectionEnded)));
                    self.phase = Phase::Over(Some(Box::new(ends.counts())));
                }
                Step::Classified(class) => ends.receiver.set_verdict(match class {
                    LossClass::Wireless => Cause::Radio,
                    LossClass::Congestion => Cause::Congestion,
                }),
                Step::Opened | Step::Other => {}
            }
        } else if let Step::Closed(_) = step {
            self.phase = Phase::Over(None);
        }
        self.events.push_back(event);
    }

    /// Runs timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant, below: &mut impl Below<C>) {
        if let Phase::Repairing(ends) = &mut self.phase {
            ends.receiver.handle_timeout(now);
            self.pump(now, below);
        }
    }
    /// Latest time of the next call to [`RepairLayer::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let Phase::Repairing(ends) = &self.phase else { return None };
        // Data and reports that wait for the connection's queue are sent when that has room.
        if ends.in_flight.len() >= DEPTH {
            return ends.receiver.next_delivery();
        }
        [ends.receiver.poll_timeout(), ends.sender.poll_timeout()].into_iter().flatten().min()
    }
    /// The next event for the application.
    pub fn poll_event(&mut self) -> Option<C::Event> {
        self.events.pop_front()
    }

    /// Hands the connection everything that waits. [`Connection::close`] follows.
    pub fn close(&mut self, now: Instant, below: &mut impl Below<C>) {
        if let Phase::Repairing(ends) = &mut self.phase {
            ends.transmit(now, below, usize::MAX, &mut self.events);
        }
    }

    fn open(&mut self, below: &mut impl Below<C>) {
        let max_datagram = below.max_datagram();
        let connection = below.connection();
        let in_parts = match connection.repairs() {
            Some(Agreed::InParts) => true,
            Some(Agreed::Whole) => false,
            Some(Agreed::No) | None => {
                self.phase = Phase::Plain;
                return;
            }
        };
        let config = RepairConfig { in_parts, ..self.config };
        self.phase = Phase::Repairing(Box::new(Ends::new(config, max_datagram, connection.rtt())));
    }

    /// Delivers what is due, and sends what can be sent.
    fn pump(&mut self, now: Instant, below: &mut impl Below<C>) {
        let Phase::Repairing(ends) = &mut self.phase else { return };
        ends.deliver(now, &mut self.events, C::deliver);
        // Its timers wait while the connection's queue is full.
        ends.sender.handle_timeout(now);
        ends.transmit(now, below, DEPTH, &mut self.events);
        if ends.is_refused && ends.sender.queued() < ends.most_queued {
            ends.is_refused = false;
            self.events.push_back(C::send_ready());
        }
    }
}

impl<E: Clone> Ends<E> {
    fn new(config: RepairConfig, max_datagram: usize, rtt: Option<Duration>) -> Self {
        let sender = SenderConfig {
            queue: config.queue,
            drops_late: config.drops_late,
            in_parts: config.in_parts,
            policy: config.policy,
            ..SenderConfig::new(LARGEST, config.latency)
        };
        let receiver = ReceiverConfig {
            delivery: config.delivery,
            in_parts: config.in_parts,
            ..ReceiverConfig::new(LARGEST, config.latency)
        };
        let round_trip = rtt.unwrap_or(sender.round_trip);
        Self {
            sender: Sender::new(SenderConfig { round_trip, ..sender }),
            receiver: Receiver::new(ReceiverConfig { round_trip, ..receiver }),
            most_queued: config.queue,
            in_parts: config.in_parts,
            max_datagram,
            waiting: Waiting::default(),
            in_flight: InFlight::default(),
            arrival: None,
            buffer: Vec::new(),
            is_refused: false,
        }
    }

    fn counts(&self) -> RepairCounts {
        let (sender, received) = (&self.sender, self.receiver.counts());
        let (budget, prospect, path_rate) = (sender.budget(), sender.prospect(), sender.path_rate());
        let (round_trip, channel) = (sender.round_trip(), sender.channel());
        let (loss, burst) = (channel.mean(), 1.0 / (1.0 - channel.again(1)).max(f64::EPSILON));
        RepairCounts { sent: sender.counts(), received, budget, prospect, path_rate, round_trip, loss, burst }
    }

    /// Room for the application's data in a datagram of that size.
    fn room(&self, max_datagram: usize) -> usize {
        let size = max_datagram.min(usize::from(LARGEST));
        let more = if self.in_parts { wire::parts::overhead(size) } else { 0 };
        size.saturating_sub(REPAIR_OVERHEAD + more)
    }

    fn make_room(&mut self, size: usize) -> Result<(), SendError> {
        let limit = self.room(self.max_datagram);
        if size > limit {
            return Err(SendError::TooLarge { size, limit });
        }
        if self.sender.queued() >= self.most_queued {
            self.is_refused = true;
            return Err(SendError::QueueFull);
        }
        Ok(())
    }

    fn send(&mut self, now: Instant, datagram: &Datagram) -> Result<DatagramId, SendError> {
        self.make_room(datagram.payload.len())?;
        let zeros;
        let bytes: &[u8] = match &datagram.payload {
            Payload::Bytes(bytes) => bytes,
            // The simulator's placeholders have no bytes.
            Payload::Opaque { .. } => {
                zeros = vec![0; datagram.payload.len()];
                &zeros
            }
        };
        match self.sender.send(now, bytes, datagram.mark) {
            Ok(()) => Ok(self.waiting.push()),
            // A datagram that the receiver has no use for is dropped with its frame.
            Err(sender::SendError::LateFrame) => Ok(self.waiting.refuse()),
            Err(sender::SendError::TooLong { bytes, most }) => {
                Err(SendError::TooLarge { size: bytes, limit: most })
            }
            Err(_) => {
                self.is_refused = true;
                Err(SendError::QueueFull)
            }
        }
    }

    fn receive(&mut self, now: Instant, payload: &Payload) {
        let Payload::Bytes(bytes) = payload else { return };
        // Datagrams of other layers are counted there.
        let _ = if wire::is_report(bytes) {
            self.sender.handle_packet(now, bytes)
        } else {
            self.receiver.handle_packet(now, bytes)
        };
    }

    /// Passes what is due to the application.
    fn deliver(&mut self, now: Instant, events: &mut VecDeque<E>, event: impl Fn(&E, Bytes, bool) -> E) {
        while let Some(delivered) = self.receiver.poll_delivery(now, &mut self.buffer) {
            let Some(arrival) = &self.arrival else { continue };
            events.push_back(event(arrival, Bytes::copy_from_slice(&self.buffer), delivered.is_repaired));
        }
    }

    /// Hands the connection datagrams until its queue holds `depth`.
    fn transmit<C: Transport<Event = E>>(
        &mut self,
        now: Instant,
        below: &mut impl Below<C>,
        depth: usize,
        events: &mut VecDeque<E>,
    ) {
        while self.in_flight.len() < depth {
            let is_report = self.receiver.poll_transmit(now, &mut self.buffer).is_some();
            if is_report && let Some(round_trip) = below.connection().rtt() {
                self.receiver.set_round_trip(round_trip);
            }
            let sent = if is_report { None } else { self.sender.poll_transmit(now, &mut self.buffer) };
            let purpose = match sent {
                _ if is_report => Purpose::Feedback,
                Some(Sent::Source(_)) => Purpose::Data,
                _ => Purpose::Repair,
            };
            let id = self.waiting.settle(self.sender.queued(), purpose == Purpose::Data, |dropped| {
                events.push_back(C::dropped(dropped, DropReason::Expired));
            });
            if !is_report && sent.is_none() {
                break;
            }
            let datagram = Datagram::new(Bytes::copy_from_slice(&self.buffer)).with_purpose(purpose);
            match below.send(now, datagram) {
                Ok(below) => self.in_flight.push(below, id, sent),
                // The datagram is lost, as on the path.
                Err(_) => events.extend(id.map(|id| C::dropped(id, DropReason::QueueFull))),
            }
        }
        while let Some(event) = self.sender.poll_event() {
            if let SenderEvent::NewStart { stream } = event {
                events.push_back(C::new_start(stream));
            }
        }
    }
}
