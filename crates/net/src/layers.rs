//! The security layers of a host's connections.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use whimbrel_proto::layer::Transport;
use whimbrel_proto::{Connection, Datagram, DatagramId, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::ServiceCode;

use crate::dtls::{Layer, LayerEvent, Security};
use crate::mailbox::Mailbox;

/// Handshakes of clients in progress. A further one takes the place of the oldest of the source that has the most, so that a source
/// can only shut out itself: one that completes DCCP's handshakes has proven its address.
const MAX_HANDSHAKES: usize = 1024;

/// The security layers of a host's connections, which have numbers, and mailboxes of type `M`.
#[derive(Debug)]
pub(crate) struct Layers<C: Transport = Connection, M = Mailbox> {
    /// By number.
    slots: Vec<Option<Slot<C>>>,
    /// Deadlines of layers.
    timers: BTreeSet<(Instant, usize)>,
    /// Security of the connections to a port and Service Code.
    listening: Vec<(u16, ServiceCode, Security)>,
    /// Handshakes of clients, the oldest first, and some that are over.
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

/// The layer of one connection.
#[derive(Debug)]
struct Slot<C: Transport> {
    layer: Box<Layer<C>>,
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
    /// Connections to that port with that Service Code are secured, or not any more.
    pub(crate) fn serve(&mut self, port: u16, service_code: ServiceCode, security: Option<Security>) {
        self.listening.retain(|(served, code, _)| (*served, *code) != (port, service_code));
        self.listening.extend(security.map(|security| (port, service_code, security)));
    }
    /// Connections to that port are not accepted any more.
    pub(crate) fn stop_serving(&mut self, port: u16) {
        self.listening.retain(|(served, ..)| *served != port);
    }
    /// Security of the connections to that port and Service Code.
    pub(crate) fn security_of(&self, port: u16, service_code: ServiceCode) -> Option<Security> {
        let mut listening = self.listening.iter();
        let found = listening.find(|(served, code, _)| (*served, *code) == (port, service_code));
        found.map(|(.., security)| security.clone())
    }

    /// Secures a connection that is not open yet; the previous one with that number is over.
    pub(crate) fn insert(&mut self, number: usize, security: Option<Security>) {
        self.remove(number);
        let Some(security) = security else { return };
        if self.slots.len() <= number {
            self.slots.resize_with(number + 1, || None);
        }
        self.slots[number] = Some(Slot { layer: Box::new(Layer::new(security)), timer: None });
    }
    /// The connection's state is gone.
    pub(crate) fn remove(&mut self, number: usize) {
        let Some(slot) = self.slots.get_mut(number).and_then(Option::take) else { return };
        if let Some(timer) = slot.timer {
            self.timers.remove(&(timer, number));
        }
    }
    /// The layer of a connection; `None` if it is not secured.
    pub(crate) fn get(&self, number: usize) -> Option<&Layer<C>> {
        self.slots.get(number)?.as_ref().map(|slot| &*slot.layer)
    }
    /// Returns memory that the handshake, or traffic, has left behind.
    pub(crate) fn shrink_to_fit(&mut self, number: usize) {
        if let Some(Some(slot)) = self.slots.get_mut(number) {
            slot.layer.shrink_to_fit();
        }
    }
    /// `true` if the connection is secured.
    pub(crate) fn has(&self, number: usize) -> bool {
        self.get(number).is_some()
    }

    /// Calls `use_it` with a connection's layer, if it is secured. Returns its result, and `true` if the connection has to be
    /// polled.
    pub(crate) fn with<T>(
        &mut self,
        number: usize,
        use_it: impl FnOnce(&mut Layer<C>) -> T,
    ) -> Option<(T, bool)> {
        let slot = self.slots.get_mut(number)?.as_mut()?;
        let result = use_it(&mut slot.layer);
        let timer = slot.layer.poll_timeout();
        if timer != slot.timer {
            if let Some(old) = std::mem::replace(&mut slot.timer, timer) {
                self.timers.remove(&(old, number));
            }
            self.timers.extend(timer.map(|timer| (timer, number)));
        }
        Some((result, slot.layer.take_acted()))
    }
    /// Queues a datagram on a connection, through its layer if it has one.
    ///
    /// # Errors
    /// Those of the connection.
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
        let sent = self.with(number, |layer| layer.send(now, connection, datagram));
        sent.map_or(Err(SendError::Closed), |(result, _)| result)
    }
    /// Makes room for a datagram of that size.
    ///
    /// # Errors
    /// The reason for refusing it.
    pub(crate) fn make_room(
        &self,
        now: Instant,
        number: usize,
        connection: &mut C,
        size: usize,
    ) -> Result<(), SendError> {
        match self.get(number) {
            Some(layer) => layer.make_room(now, connection, size),
            None => connection.make_room(now, size),
        }
    }
    /// Passes an event of the connection to its layer, if it has one, and what the application gets to `out`. Returns `true`
    /// if the connection has to be polled.
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
        let acted = self.with(number, |layer| {
            layer.handle_event(now, connection, event);
            out.extend(std::iter::from_fn(|| layer.poll_event()));
        });
        acted.is_some_and(|((), acted)| acted)
    }

    /// Counts a handshake that a client at `remote` has begun with this server. Returns the one that is to be abandoned for it, if any.
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
                && self.get(each.number).is_some_and(Layer::is_shaking_hands)
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
