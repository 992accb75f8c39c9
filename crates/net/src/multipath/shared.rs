//! The state that the carriers' tasks, the timer's task and the application share.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use whimbrel_proto::multipath::{MultipathConnection, MultipathEndpoint, Path};
use whimbrel_proto::{ConnectionHandle, ReceiveMeta};
use whimbrel_units::Instant;
use whimbrel_wire::Packet;

use super::MultipathOptions;
use super::state::{Outlet, State};
use crate::NetError;
use crate::alarm::Alarm;
use crate::clock::{Clock, secret};
use crate::mailbox::Mailbox;
use crate::socket_buffers::{DropCounter, KernelDrops};
use crate::waiters::wait;

/// State shared by tasks and application.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) clock: Clock,
    pub(super) options: MultipathOptions,
    state: Mutex<State>,
    /// The timer's task has another deadline.
    rescheduled: Notify,
    accepted: Notify,
}

/// A counted reference of the application.
#[derive(Debug)]
pub(super) struct Handle(Arc<Shared>);

impl Handle {
    pub(super) fn get(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.lock().handles -= 1;
        self.0.pump();
    }
}

/// A socket's connection.
pub(super) type Opened = (Handle, ConnectionHandle, Arc<Mailbox<MultipathConnection>>);

impl Shared {
    /// Starts the timer's task. `clock`: that of the arrival times.
    pub(super) fn start(options: MultipathOptions, clock: Clock) -> io::Result<Handle> {
        let endpoint = MultipathEndpoint::with_entropy(options.endpoint, secret()?);
        let shared = Arc::new(Self {
            clock,
            options,
            state: Mutex::new(State::new(endpoint, options.receive_queue)),
            rescheduled: Notify::new(),
            accepted: Notify::new(),
        });
        tokio::spawn(run_timers(StopGuard(shared.clone())));
        Ok(Handle(shared))
    }
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere must not spread: the state is consistent between calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(super) fn locals(&self) -> Vec<SocketAddr> {
        self.lock().outlets.values().filter(|outlet| !outlet.is_removed).map(|outlet| outlet.local).collect()
    }
    /// Adds an outlet, of which `pending` announces packets. Returns its number.
    pub(super) fn add_outlet(
        &self,
        local: SocketAddr,
        drops: Option<DropCounter>,
        pending: Arc<Notify>,
    ) -> u64 {
        let mut state = self.lock();
        let number = state.outlets.last_key_value().map_or(0, |(last, _)| last + 1);
        let outlet = Outlet {
            local,
            outbox: Default::default(),
            unmeasured: Vec::new(),
            is_removed: false,
            drops: KernelDrops::of(drops),
            pending,
        };
        state.outlets.insert(number, outlet);
        number
    }
    /// Passes a received packet to the protocol.
    pub(super) fn receive(&self, path: Path, meta: ReceiveMeta, packet: Packet) {
        self.lock().connections.endpoint.handle_packet(self.clock.now(), path, meta, packet);
    }
    /// Uses the state, and moves packets and events afterwards.
    pub(super) fn with<T>(&self, use_it: impl FnOnce(&mut State, Instant) -> T) -> T {
        let result = use_it(&mut self.lock(), self.clock.now());
        self.pump();
        result
    }
    /// Gives a connection a command, if it exists.
    pub(super) fn command<T>(
        &self,
        handle: ConnectionHandle,
        mailbox: &Arc<Mailbox<MultipathConnection>>,
        command: impl FnOnce(&mut MultipathConnection, Instant) -> T,
    ) -> Option<T> {
        self.with(|state, now| {
            if !state.connections.is_current(handle, mailbox) {
                return None;
            }
            let result = command(state.connections.endpoint.connection_mut(handle)?, now);
            state.connections.endpoint.wake(handle);
            Some(result)
        })
    }
    /// Moves packets to the carriers, and events to the application.
    pub(super) fn pump(&self) {
        let now = self.clock.now();
        let mut state = self.lock();
        let has_accepted = state.pump(now);
        let next = state.connections.poll_timeout();
        let is_rescheduled = next != state.deadline || state.is_stopped;
        state.deadline = next;
        drop(state);
        if is_rescheduled {
            self.rescheduled.notify_one();
        }
        if has_accepted {
            self.accepted.notify_waiters();
        }
    }
    /// Counts a further reference.
    pub(super) fn handle(self: &Arc<Self>, state: &mut State) -> Handle {
        state.handles += 1;
        Handle(self.clone())
    }
    /// The reference of a connection that was counted when it was opened.
    pub(super) fn counted(self: &Arc<Self>) -> Handle {
        Handle(self.clone())
    }
    pub(super) async fn accept(self: &Arc<Self>) -> Result<Opened, NetError> {
        wait(&self.accepted, || {
            let mut state = self.lock();
            if let Some((handle, mailbox)) = state.connections.claim() {
                return Some(Ok((self.handle(&mut state), handle, mailbox)));
            }
            state.is_stopped.then_some(Err(NetError::DriverStopped))
        })
        .await
    }
    /// The tasks have ended.
    pub(super) fn stop(&self) {
        self.lock().stop();
        self.accepted.notify_waiters();
        self.rescheduled.notify_one();
    }
}

/// Notifies all sockets when the timer's task ends, as with its runtime.
struct StopGuard(Arc<Shared>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs the timers.
async fn run_timers(guard: StopGuard) {
    let shared = &guard.0;
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
            () = alarm.ring() => shared.with(|state, now| state.handle_timeouts(now)),
        }
    }
}
