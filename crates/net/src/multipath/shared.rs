//! The state that the carriers' tasks, the timer's task and the application share.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use whimbrel_proto::multipath::{
    MultipathEndpoint, MultipathEndpointConfig, MultipathEndpointEvent, MultipathEvent, MultipathHandle,
    Path, SubflowId,
};
use whimbrel_proto::{ConnectionError, ReceiveMeta, Transmit};
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Packet, Payload, SeqNo};

use crate::NetError;
use crate::alarm::Alarm;
use crate::clock::{Clock, secret};

/// Packets that wait for one carrier. Further ones are dropped, as by a full queue of an interface.
const MAX_OUTBOX: usize = 512;
/// The most unread datagrams and events of a connection.
const MAX_UNREAD: usize = 1_024;

/// A datagram as the application receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MultipathReceived {
    /// Its data.
    pub payload: Bytes,
    /// Its number in the multipath connection.
    pub sequence: SeqNo,
    /// The subflow on which it arrived.
    pub subflow: SubflowId,
    /// The ECN codepoint with which it arrived.
    pub ecn: Ecn,
}

/// State shared by tasks and application.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: Clock,
    state: Mutex<State>,
    /// The timer's task has another deadline.
    rescheduled: Notify,
    accepted: Notify,
}

#[derive(Debug)]
struct State {
    endpoint: MultipathEndpoint,
    carriers: Vec<Outlet>,
    inboxes: BTreeMap<MultipathHandle, Inbox>,
    /// Established connections that the application has not accepted.
    unaccepted: VecDeque<MultipathHandle>,
    deadline: Option<Instant>,
    handles: usize,
    is_host_gone: bool,
    is_stopped: bool,
}

/// The packets for one carrier.
#[derive(Debug)]
struct Outlet {
    local: SocketAddr,
    outbox: VecDeque<(SocketAddr, Transmit)>,
    pending: Arc<Notify>,
}

/// Data and events that wait for the application of one connection.
#[derive(Debug, Default)]
struct Inbox {
    datagrams: VecDeque<MultipathReceived>,
    events: VecDeque<MultipathEvent>,
    is_multipath: Option<bool>,
    closed: Option<ConnectionError>,
    is_accepting: bool,
    changed: Arc<Notify>,
}

/// A counted reference of the application.
#[derive(Debug)]
pub(super) struct Handle(Arc<Shared>);

impl Handle {
    pub(super) fn get(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.0.lock().handles += 1;
        Self(self.0.clone())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.lock().handles -= 1;
        self.0.pump();
    }
}

impl Shared {
    /// Starts the timer's task.
    pub(super) fn start(limits: MultipathEndpointConfig) -> io::Result<Handle> {
        let state = State {
            endpoint: MultipathEndpoint::new(limits, secret()?),
            carriers: Vec::new(),
            inboxes: BTreeMap::new(),
            unaccepted: VecDeque::new(),
            deadline: None,
            handles: 1,
            is_host_gone: false,
            is_stopped: false,
        };
        let shared = Arc::new(Self {
            clock: Clock::start(),
            state: Mutex::new(state),
            rescheduled: Notify::new(),
            accepted: Notify::new(),
        });
        tokio::spawn(run_timers(shared.clone()));
        Ok(Handle(shared))
    }
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere must not spread: the state is consistent between calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(super) fn locals(&self) -> Vec<SocketAddr> {
        self.lock().carriers.iter().map(|outlet| outlet.local).collect()
    }
    /// Adds a carrier. Returns its number, and the signal that it has packets to send.
    pub(super) fn add_carrier(&self, local: SocketAddr) -> (usize, Arc<Notify>) {
        let pending = Arc::new(Notify::new());
        let outlet = Outlet { local, outbox: VecDeque::new(), pending: pending.clone() };
        let mut state = self.lock();
        state.carriers.push(outlet);
        (state.carriers.len() - 1, pending)
    }
    /// Removes the packets for a carrier; `None` once it has to stop.
    pub(super) fn take_outbox(&self, carrier: usize) -> Option<VecDeque<(SocketAddr, Transmit)>> {
        let mut state = self.lock();
        let outbox = std::mem::take(&mut state.carriers[carrier].outbox);
        (!state.is_stopped || !outbox.is_empty()).then_some(outbox)
    }
    /// Passes a received packet to the protocol.
    pub(super) fn receive(&self, path: Path, meta: ReceiveMeta, packet: Packet) {
        self.lock().endpoint.handle_packet(self.clock.now(), path, meta, packet);
    }
    /// Gives a command to the endpoint.
    pub(super) fn command<T>(&self, command: impl FnOnce(&mut MultipathEndpoint, Instant) -> T) -> T {
        let result = command(&mut self.lock().endpoint, self.clock.now());
        self.pump();
        result
    }
    /// Moves packets to the carriers, and events to the application.
    pub(super) fn pump(&self) {
        let now = self.clock.now();
        let mut state = self.lock();
        let has_accepted = state.pump(now);
        let next = state.endpoint.poll_timeout();
        let is_rescheduled = next != state.deadline || state.is_stopped;
        state.deadline = next;
        drop(state);
        if is_rescheduled {
            self.rescheduled.notify_one();
        }
        if has_accepted {
            self.accepted.notify_one();
        }
    }
    /// Makes an inbox for a connection that this host opens.
    pub(super) fn open(&self, handle: MultipathHandle) {
        self.lock().inboxes.entry(handle).or_default();
        self.pump();
    }
    pub(super) async fn accept(&self) -> Result<MultipathHandle, NetError> {
        loop {
            let notified = self.accepted.notified();
            {
                let mut state = self.lock();
                if let Some(handle) = state.unaccepted.pop_front() {
                    if !state.unaccepted.is_empty() {
                        self.accepted.notify_one();
                    }
                    return Ok(handle);
                }
                if state.is_stopped {
                    return Err(NetError::DriverStopped);
                }
            }
            notified.await;
        }
    }
    /// Waits until `ready` returns a value for a connection.
    pub(super) async fn wait<T>(
        &self,
        handle: MultipathHandle,
        mut ready: impl FnMut(&mut MultipathEndpoint, &mut View<'_>) -> Option<T>,
    ) -> Result<T, NetError> {
        loop {
            let changed = {
                let mut state = self.lock();
                let State { endpoint, inboxes, .. } = &mut *state;
                let inbox = inboxes.get_mut(&handle).ok_or(NetError::DriverStopped)?;
                if let Some(value) = ready(endpoint, &mut View(inbox)) {
                    return Ok(value);
                }
                if let Some(error) = inbox.closed {
                    return Err(error.into());
                }
                inbox.changed.clone()
            };
            changed.notified().await;
        }
    }
    /// The application has dropped a connection.
    pub(super) fn forget(&self, handle: MultipathHandle) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.inboxes.remove(&handle);
        if let Some(connection) = state.endpoint.connection_mut(handle) {
            connection.close(now);
        }
        state.endpoint.wake(handle);
        drop(state);
        self.pump();
    }
    pub(super) fn on_host_dropped(&self) {
        self.lock().is_host_gone = true;
        self.pump();
    }
}

/// The application's view of an inbox.
pub(super) struct View<'a>(&'a mut Inbox);

impl View<'_> {
    pub(super) fn datagram(&mut self) -> Option<MultipathReceived> {
        self.0.datagrams.pop_front()
    }
    pub(super) fn event(&mut self) -> Option<MultipathEvent> {
        self.0.events.pop_front()
    }
    /// `true` once the handshake is complete and the extensions are in use; `false` in a regular connection.
    pub(super) fn is_multipath(&self) -> Option<bool> {
        self.0.is_multipath
    }
    pub(super) fn is_closed(&self) -> bool {
        self.0.closed.is_some()
    }
}

impl State {
    /// Returns `true` if a connection was established for the application to accept.
    fn pump(&mut self, now: Instant) -> bool {
        while let Some((path, transmit)) = self.endpoint.poll_transmit(now) {
            if let Some(outlet) = self.carriers.iter_mut().find(|outlet| outlet.local == path.local)
                && outlet.outbox.len() < MAX_OUTBOX
            {
                outlet.outbox.push_back((path.remote, transmit));
            }
        }
        let mut has_accepted = false;
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                MultipathEndpointEvent::Accepted { .. } => {
                    let inbox = Inbox { is_accepting: true, ..Inbox::default() };
                    self.inboxes.insert(handle, inbox);
                }
                MultipathEndpointEvent::Connection(event) => has_accepted |= self.deliver(handle, event),
                _ => {}
            }
        }
        if self.is_host_gone && self.handles == 0 && self.endpoint.is_empty() {
            self.is_stopped = true;
        }
        for outlet in &self.carriers {
            if !outlet.outbox.is_empty() || self.is_stopped {
                outlet.pending.notify_one();
            }
        }
        has_accepted
    }
    fn deliver(&mut self, handle: MultipathHandle, event: MultipathEvent) -> bool {
        let Some(inbox) = self.inboxes.get_mut(&handle) else { return false };
        let mut has_accepted = false;
        match event {
            MultipathEvent::Datagram { payload, sequence, subflow, ecn } => {
                if let (Payload::Bytes(payload), true) = (payload, inbox.datagrams.len() < MAX_UNREAD) {
                    inbox.datagrams.push_back(MultipathReceived { payload, sequence, subflow, ecn });
                }
            }
            MultipathEvent::Established { is_multipath } => {
                inbox.is_multipath = Some(is_multipath);
                if std::mem::take(&mut inbox.is_accepting) {
                    self.unaccepted.push_back(handle);
                    has_accepted = true;
                }
            }
            MultipathEvent::Closed(error) => {
                inbox.closed = Some(error);
                if inbox.is_accepting {
                    self.inboxes.remove(&handle);
                    return false;
                }
            }
            MultipathEvent::DatagramSent { .. } => return false,
            event => {
                if inbox.events.len() == MAX_UNREAD {
                    inbox.events.pop_front();
                }
                inbox.events.push_back(event);
            }
        }
        if let Some(inbox) = self.inboxes.get(&handle) {
            inbox.changed.notify_waiters();
            inbox.changed.notify_one();
        }
        has_accepted
    }
}

/// Runs the endpoint's timers.
async fn run_timers(shared: Arc<Shared>) {
    let mut alarm = Alarm::new(shared.clock);
    loop {
        let (deadline, is_stopped) = {
            let state = shared.lock();
            (state.deadline, state.is_stopped)
        };
        if is_stopped {
            return;
        }
        alarm.set(deadline);
        tokio::select! {
            () = shared.rescheduled.notified() => {}
            () = alarm.ring() => {
                let now = shared.clock.now();
                shared.lock().endpoint.handle_timeout(now);
                shared.pump();
            }
        }
    }
}
