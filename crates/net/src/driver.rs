//! The task that turns the crank: kernel to protocol, protocol to kernel, timers, wake-ups.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use whimbrel_proto::endpoint::EndpointEvent;
use whimbrel_proto::{ConnectionError, ConnectionHandle, Endpoint, EndpointConfig, Event};
use whimbrel_units::Instant;

use crate::carrier::{Arrival, Carrier};
use crate::clock::{Clock, entropy};
use crate::inbox::Inbox;

/// Receive calls between two rounds of sending: neither direction starves the other.
const RECEIVES_PER_ROUND: usize = 16;

/// What the driver and the application's handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) local: SocketAddr,
    state: Mutex<State>,
    /// The application gave a command.
    pub(crate) commanded: Notify,
    /// A connection was accepted.
    pub(crate) accepted: Notify,
}

/// The protocol, and each connection's application side.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) endpoint: Endpoint,
    pub(crate) mailboxes: BTreeMap<ConnectionHandle, Mailbox>,
    /// Accepted connections that nobody has asked for.
    pub(crate) unclaimed: std::collections::VecDeque<ConnectionHandle>,
    /// Listener and sockets that still exist; the driver ends when there are none and all is said.
    pub(crate) handles: usize,
    pub(crate) stopped: bool,
    pub(crate) accepting: bool,
    pub(crate) inbox_limit: usize,
}

/// What waits for one socket, and who waits for it.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) inbox: Inbox,
    pub(crate) wakers: Arc<Wakers>,
    pub(crate) remote: SocketAddr,
}

/// Whom to wake for what.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    pub(crate) readable: Notify,
    pub(crate) writable: Notify,
    pub(crate) event: Notify,
}

impl Mailbox {
    pub(crate) fn new(remote: SocketAddr) -> Self {
        Self { inbox: Inbox::default(), wakers: Arc::default(), remote }
    }
}

impl Shared {
    /// Starts a driver for a bound socket on the current runtime.
    pub(crate) fn start(carrier: Carrier, inbox_limit: usize) -> io::Result<Arc<Self>> {
        let clock = Clock::start();
        let shared = Arc::new(Self {
            clock,
            local: carrier.local_addr()?,
            state: Mutex::new(State {
                endpoint: Endpoint::new(EndpointConfig::default(), entropy()),
                mailboxes: BTreeMap::new(),
                unclaimed: std::collections::VecDeque::new(),
                handles: 0,
                stopped: false,
                accepting: false,
                inbox_limit,
            }),
            commanded: Notify::new(),
            accepted: Notify::new(),
        });
        tokio::spawn(run(StopGuard(shared.clone()), carrier));
        Ok(shared)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere must not spread: the state is consistent between calls.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Tells everybody when the driver ends, however it ends.
struct StopGuard(Arc<Shared>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.stopped = true;
        for mailbox in state.mailboxes.values() {
            mailbox.wakers.wake_all();
        }
        drop(state);
        self.0.accepted.notify_waiters();
    }
}

impl Wakers {
    fn wake_all(&self) {
        self.readable.notify_waiters();
        self.readable.notify_one();
        self.writable.notify_waiters();
        self.writable.notify_one();
        self.event.notify_waiters();
        self.event.notify_one();
    }
}

async fn run(guard: StopGuard, mut carrier: Carrier) {
    let shared = &guard.0;
    // With a packet in hand that the kernel would not take, nothing more is polled from the protocol.
    let mut blocked = false;
    loop {
        receive_round(shared, &mut carrier);
        blocked = if blocked {
            carrier.flush().is_err() || send_round(shared, &mut carrier)
        } else {
            send_round(shared, &mut carrier)
        };
        let (deadline, finished) = {
            let state = shared.lock();
            (state.endpoint.poll_timeout(), state.is_finished())
        };
        if finished && !blocked {
            return;
        }
        let sleep = async {
            match deadline {
                Some(deadline) if !blocked => shared.clock.sleep_until(deadline).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            result = carrier.readable() => if result.is_err() { return },
            _ = carrier.writable(), if blocked => {}
            () = sleep => {}
            () = shared.commanded.notified() => {}
        }
    }
}

/// Gives the protocol what the kernel has.
fn receive_round(shared: &Shared, carrier: &mut Carrier) {
    for _ in 0..RECEIVES_PER_ROUND {
        match carrier.receive() {
            Ok(Arrival::Datagrams { remote, meta, mut bytes, stride }) => {
                let now = shared.clock.now();
                let mut state = shared.lock();
                while !bytes.is_empty() {
                    let datagram = bytes.split_to(stride.min(bytes.len()));
                    if let Some(packet) = carrier.decode(datagram) {
                        state.endpoint.handle_packet(now, remote, meta, packet);
                    }
                }
                state.deliver_events(now, shared);
            }
            Ok(Arrival::Unreachable) => {
                let now = shared.clock.now();
                let mut state = shared.lock();
                state.handle_unreachable(now);
                state.deliver_events(now, shared);
            }
            Err(_) => return,
        }
    }
}

/// Sends what the protocol has. True: the kernel would not take it all.
fn send_round(shared: &Shared, carrier: &mut Carrier) -> bool {
    let now = shared.clock.now();
    let mut state = shared.lock();
    if state.endpoint.poll_timeout().is_some_and(|deadline| deadline <= now) {
        state.endpoint.handle_timeout(now);
    }
    let mut blocked = false;
    while !blocked && let Some((destination, transmit)) = state.endpoint.poll_transmit(now) {
        blocked = carrier.add(destination, &transmit).is_err();
    }
    state.deliver_events(now, shared);
    drop(state);
    blocked || carrier.flush().is_err()
}

impl State {
    fn is_finished(&self) -> bool {
        self.handles == 0 && self.mailboxes.values().all(|mailbox| mailbox.inbox.closed.is_some())
    }

    /// Hands the protocol's events to the mailboxes and wakes who waits for them.
    fn deliver_events(&mut self, now: Instant, shared: &Shared) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                EndpointEvent::Accepted { remote, .. } => {
                    self.mailboxes.insert(handle, Mailbox::new(remote));
                }
                EndpointEvent::Connection(event) => self.deliver(now, shared, handle, event),
                _ => {}
            }
        }
    }

    fn deliver(&mut self, now: Instant, shared: &Shared, handle: ConnectionHandle, event: Event) {
        let limit = self.inbox_limit;
        let Some(mailbox) = self.mailboxes.get_mut(&handle) else { return };
        let is_new_server = matches!(event, Event::Connected { .. }) && self.accepting;
        match &event {
            Event::Datagram { .. } => mailbox.wakers.readable.notify_one(),
            Event::SendReady => mailbox.wakers.writable.notify_one(),
            Event::DatagramSent { .. } => {}
            Event::Connected { .. } => mailbox.wakers.event.notify_one(),
            Event::Closed(_) => mailbox.wakers.wake_all(),
            _ => mailbox.wakers.event.notify_one(),
        }
        let drained = event == Event::Drained;
        mailbox.inbox.push(event, now, limit);
        if is_new_server {
            self.unclaimed.push_back(handle);
            shared.accepted.notify_one();
        }
        if drained && Arc::strong_count(&mailbox.wakers) == 1 {
            // Its socket is gone (or was never claimed) and the handle will name another connection.
            self.mailboxes.remove(&handle);
            self.unclaimed.retain(|other| *other != handle);
        }
    }

    /// ICMP came back on a connected UDP socket: it concerns every connection that still waits for its first answer.
    fn handle_unreachable(&mut self, now: Instant) {
        let handles: Vec<_> = self.mailboxes.keys().copied().collect();
        for handle in handles {
            if let Some(connection) = self.endpoint.connection_mut(handle) {
                connection.handle_unreachable(now);
                self.endpoint.wake(handle);
            }
        }
    }

    /// Why a connection no longer works, if so.
    pub(crate) fn failure(&self, handle: ConnectionHandle) -> Option<ConnectionError> {
        match self.mailboxes.get(&handle) {
            Some(mailbox) => mailbox.inbox.closed,
            None => Some(ConnectionError::ClosedLocally),
        }
    }
}
