//! The layers between a host's connections and their applications: repair, above security.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use whimbrel_proto::layer::Transport;
use whimbrel_proto::repair::{RepairConfig, RepairCounts};
use whimbrel_proto::{Datagram, DatagramId, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::ServiceCode;

use crate::dtls::{Layer, LayerEvent, Security};
use stack::Stack;

mod stack;

/// Handshakes of clients in progress. A further one takes the place of the oldest of the source that has the
/// most, so that a source can only shut out itself: one that completes DCCP's handshakes has proven its
/// address.
const MAX_HANDSHAKES: usize = 1024;

/// The layers of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Above {
    /// Security layer.
    pub(crate) security: Option<Security>,
    /// Repair, if the peer has it as well.
    pub(crate) repair: Option<RepairConfig>,
}

/// The layers of a host's connections, which have numbers, and mailboxes of type `M`.
#[derive(Debug)]
pub(crate) struct Layers<C: Transport, M> {
    /// By number; `None` for a connection without layers.
    slots: Vec<Option<Slot<C>>>,
    /// Deadlines of layers.
    timers: BTreeSet<(Instant, usize)>,
    /// Layers of the connections to a port and Service Code.
    listening: Vec<(u16, ServiceCode, Above)>,
    /// Handshakes of clients, the oldest first, and some that have ended.
    handshakes: VecDeque<Handshake<M>>,
}

/// A handshake in progress.
#[derive(Debug)]
struct Handshake<M> {
    number: usize,
    mailbox: Arc<M>,
    /// An IPv4 address, or a /64 network of IPv6.
    source: u64,
}

/// The layers of one connection.
#[derive(Debug)]
struct Slot<C: Transport> {
    stack: Box<Stack<C>>,
    timer: Option<Instant>,
}

impl<C: Transport, M> Default for Layers<C, M> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            timers: BTreeSet::new(),
            listening: Vec::new(),
            handshakes: VecDeque::new(),
        }
    }
}

impl<C: Transport, M> Layers<C, M> {
    /// Connections to that port with that Service Code have these layers.
    pub(crate) fn serve(&mut self, port: u16, service_code: ServiceCode, above: Above) {
        self.listening.retain(|(served, code, _)| (*served, *code) != (port, service_code));
        self.listening.push((port, service_code, above));
    }

    /// Connections to that port are not accepted any more.
    pub(crate) fn stop_serving(&mut self, port: u16) {
        self.listening.retain(|(served, ..)| *served != port);
    }

    /// Layers of the connections to that port and Service Code.
    pub(crate) fn above(&self, port: u16, service_code: ServiceCode) -> Above {
        let mut listening = self.listening.iter();
        let found = listening.find(|(served, code, _)| (*served, *code) == (port, service_code));
        found.map(|(.., above)| above.clone()).unwrap_or_default()
    }

    /// Adds the layers of a connection that is not open yet; the previous one with that number has ended.
    pub(crate) fn insert(&mut self, number: usize, above: Above) {
        self.remove(number);
        let Some(stack) = Stack::new(above) else { return };
        if self.slots.len() <= number {
            self.slots.resize_with(number + 1, || None);
        }
        self.slots[number] = Some(Slot { stack: Box::new(stack), timer: None });
    }

    /// The connection's state is gone.
    pub(crate) fn remove(&mut self, number: usize) {
        let Some(slot) = self.slots.get_mut(number).and_then(Option::take) else { return };
        if let Some(timer) = slot.timer {
            self.timers.remove(&(timer, number));
        }
    }

    fn stack(&self, number: usize) -> Option<&Stack<C>> {
        self.slots.get(number)?.as_ref().map(|slot| &*slot.stack)
    }

    /// The layer that secures a connection.
    pub(crate) fn security(&self, number: usize) -> Option<&Layer<C>> {
        self.stack(number)?.security.as_ref()
    }

    /// Repair counters of a connection; `None` if its ends have not agreed on it.
    pub(crate) fn repair(&self, number: usize) -> Option<RepairCounts> {
        self.stack(number)?.repair.as_ref()?.counts()
    }

    /// The largest datagram of the application where one of `max_datagram` bytes is the largest of the
    /// security layer, or of the connection.
    pub(crate) fn room(&self, number: usize, max_datagram: usize) -> usize {
        let repair = self.stack(number).and_then(|stack| stack.repair.as_ref());
        repair.map_or(max_datagram, |repair| repair.room(max_datagram))
    }

    /// Returns memory that the handshake, or traffic, has left behind.
    pub(crate) fn shrink_to_fit(&mut self, number: usize) {
        if let Some(Some(slot)) = self.slots.get_mut(number)
            && let Some(security) = &mut slot.stack.security
        {
            security.shrink_to_fit();
        }
    }

    /// `true` if the connection has layers.
    pub(crate) fn has(&self, number: usize) -> bool {
        self.stack(number).is_some()
    }

    /// Calls `use_it` with a connection's layers, if it has any. Returns its result, and `true` if the
    /// connection has to be polled.
    fn with<T>(&mut self, number: usize, use_it: impl FnOnce(&mut Stack<C>) -> T) -> Option<(T, bool)> {
        let slot = self.slots.get_mut(number)?.as_mut()?;
        let result = use_it(&mut slot.stack);
        let timer = slot.stack.poll_timeout();
        if timer != slot.timer {
            if let Some(old) = std::mem::replace(&mut slot.timer, timer) {
                self.timers.remove(&(old, number));
            }
            self.timers.extend(timer.map(|timer| (timer, number)));
        }
        Some((result, slot.stack.take_acted()))
    }

    /// Queues a datagram on a connection, through its layers if it has any.
    ///
    /// # Errors
    /// An error of the connection.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        number: usize,
        connection: &mut C,
        datagram: Datagram,
    ) -> Result<DatagramId, SendError> {
        if !self.has(number) {
            return connection.send(now, datagram);
        }
        let sent = self.with(number, |stack| stack.send(now, connection, datagram));
        sent.map_or(Err(SendError::Closed), |(result, _)| result)
    }

    /// Makes room for a datagram of that size.
    ///
    /// # Errors
    /// The reason for refusing it.
    pub(crate) fn make_room(
        &mut self,
        now: Instant,
        number: usize,
        connection: &mut C,
        size: usize,
    ) -> Result<(), SendError> {
        match self.slots.get_mut(number) {
            Some(Some(slot)) => slot.stack.make_room(now, connection, size),
            _ => connection.make_room(now, size),
        }
    }

    /// Passes an event of the connection to its layers, if it has any, and what the application gets to
    /// `out`. Returns `true` if the connection has to be polled.
    pub(crate) fn filter(
        &mut self,
        now: Instant,
        number: usize,
        connection: Option<&mut C>,
        event: C::Event,
        out: &mut VecDeque<LayerEvent<C::Event>>,
    ) -> bool {
        let Some(connection) = connection.filter(|_| self.has(number)) else {
            out.push_back(LayerEvent::Event(event));
            return false;
        };
        let acted = self.with(number, |stack| {
            stack.handle_event(now, connection, event);
            out.append(&mut stack.events);
        });
        acted.is_some_and(|((), acted)| acted)
    }

    /// Runs timers of a connection's layers that are due. Returns the events for the application.
    pub(crate) fn handle_timeout(
        &mut self,
        now: Instant,
        number: usize,
        connection: &mut C,
    ) -> VecDeque<LayerEvent<C::Event>> {
        self.events_of(number, |stack| stack.handle_timeout(now, connection))
    }

    /// Gives up the handshake of a connection, because others need its place. Returns the events for the
    /// application.
    pub(crate) fn evict(
        &mut self,
        now: Instant,
        number: usize,
        connection: &mut C,
    ) -> VecDeque<LayerEvent<C::Event>> {
        self.events_of(number, |stack| stack.evict(now, connection))
    }

    /// Calls `use_it` with a connection's layers, if it has any. Returns the events for the application.
    fn events_of(
        &mut self,
        number: usize,
        use_it: impl FnOnce(&mut Stack<C>),
    ) -> VecDeque<LayerEvent<C::Event>> {
        let events = self.with(number, |stack| {
            use_it(stack);
            std::mem::take(&mut stack.events)
        });
        events.map_or_else(VecDeque::new, |(events, _)| events)
    }

    /// Sends what has to precede the end of the connection.
    pub(crate) fn close(&mut self, now: Instant, number: usize, connection: &mut C) {
        self.with(number, |stack| stack.close(now, connection));
    }

    /// Counts a handshake that a client at `remote` has begun with this server. Returns the one that is to be
    /// abandoned for it, if any.
    pub(crate) fn begin_handshake(
        &mut self,
        number: usize,
        mailbox: &Arc<M>,
        remote: IpAddr,
        is_current: impl Fn(usize, &Arc<M>) -> bool,
    ) -> Option<usize> {
        let source = match remote.to_canonical() {
            IpAddr::V4(address) => u64::from(u32::from(address)),
            IpAddr::V6(address) => (u128::from(address) >> 64) as u64,
        };
        self.handshakes.push_back(Handshake { number, mailbox: mailbox.clone(), source });
        if self.handshakes.len() <= MAX_HANDSHAKES {
            return None;
        }
        let mut handshakes = std::mem::take(&mut self.handshakes);
        handshakes.retain(|each| {
            is_current(each.number, &each.mailbox)
                && self.security(each.number).is_some_and(Layer::is_shaking_hands)
        });
        self.handshakes = handshakes;
        if self.handshakes.len() <= MAX_HANDSHAKES {
            return None;
        }
        let mut counts = BTreeMap::<u64, usize>::new();
        for each in &self.handshakes {
            *counts.entry(each.source).or_default() += 1;
        }
        let most = counts.values().max();
        let oldest = self.handshakes.iter().position(|each| counts.get(&each.source) == most)?;
        self.handshakes.remove(oldest).map(|evicted| evicted.number)
    }

    /// Earliest deadline of a layer.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(timer, _)| *timer)
    }

    /// The connections whose layers have timers that are due.
    pub(crate) fn due(&self, now: Instant) -> Vec<usize> {
        let due = self.timers.iter().take_while(|(timer, _)| *timer <= now);
        due.map(|(_, number)| *number).collect()
    }
}
