//! The driver task: kernel to protocol, protocol to kernel, timers, wake-ups.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use whimbrel_proto::ReceiveMeta;
use whimbrel_units::{Duration, Instant};

use crate::alarm::Alarm;
use crate::arrival_times::ArrivalTimes;
use crate::carrier::{Arrival, Carrier, PathError};
use crate::clock::Clock;
use crate::multipath::{self, Attachment};
use crate::state::State;
use crate::{Dscp, HostOptions, NetError};

/// Receive calls between two rounds of sending: neither direction starves the other.
const RECEIVES_PER_ROUND: usize = 8;
/// Time for which the previous carrier is still received from: until the peer has followed, on any path.
const DRAIN_TIME: Duration = Duration::from_secs(3);
/// Interval at which timers are processed while the kernel accepts no packets: a peer may be given up meanwhile.
const BLOCKED_TICK: Duration = Duration::from_millis(100);
/// Batches sent between two rounds of receiving.
const BATCHES_PER_ROUND: usize = 16;

/// State shared by the driver and the application's handles.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    /// Its carrier serves one socket that was opened here, and can be replaced.
    pub(crate) is_one_sockets: bool,
    /// DSCP of the sent packets, for further carriers.
    pub(crate) dscp: Dscp,
    state: Mutex<State>,
    /// The application gave a command, or multipath connections have packets to send.
    commanded: Arc<Notify>,
    /// A connection was accepted.
    pub(crate) accepted: Notify,
}

impl Shared {
    /// Starts a driver for a bound socket on the current runtime.
    pub(crate) fn start(carrier: Carrier, options: &HostOptions) -> io::Result<Started> {
        Self::start_with(carrier, options, false)
    }

    /// Starts one for a socket that is the only one to use it.
    pub(crate) fn start_for_one(carrier: Carrier, options: &HostOptions) -> io::Result<Started> {
        Self::start_with(carrier, options, true)
    }

    fn start_with(mut carrier: Carrier, options: &HostOptions, is_one_sockets: bool) -> io::Result<Started> {
        carrier.set_dscp(options.dscp)?;
        let (is_alone, local) = (carrier.is_alone(), carrier.local_addr()?);
        let shared = Arc::new(Self {
            clock: Clock::start(),
            is_one_sockets,
            dscp: options.dscp,
            state: Mutex::new(State::new(options, is_alone, local, carrier.drop_counter())?),
            commanded: Arc::default(),
            accepted: Notify::new(),
        });
        shared.lock().handles += 1;
        tokio::spawn(run(StopGuard(shared.clone()), carrier));
        Ok(Started(shared))
    }

    /// This host's address.
    pub(crate) fn local(&self) -> SocketAddr {
        self.lock().local
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere must not spread: the state is consistent between calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the packets of multipath connections to and from `connections` from now on, as long as these exist.
    pub(crate) fn attach(&self, connections: &Arc<multipath::Shared>) -> Result<(), NetError> {
        let mut state = self.lock();
        if state.multipath.is_some() {
            return Err(NetError::Config("this listener has multipath connections already".into()));
        }
        let drops = state.kernel_drops.counter();
        let attachment = Attachment::new(connections, state.local, drops, self.commanded.clone());
        state.multipath = Some(Arc::new(attachment));
        state.handles += 1;
        Ok(())
    }

    /// The multipath connections at this address, as long as they exist.
    fn attached(&self) -> Option<Arc<Attachment>> {
        let mut state = self.lock();
        if state.multipath.as_ref()?.is_over() {
            state.multipath = None;
            state.handles -= 1;
        }
        state.multipath.clone()
    }

    /// Wakes the driver. Takes the state that was changed, so that many commands in a row cost one
    /// wake-up.
    pub(crate) fn wake_driver(&self, mut state: MutexGuard<'_, State>) {
        let was_commanded = std::mem::replace(&mut state.commanded, true);
        drop(state);
        if !was_commanded {
            self.commanded.notify_one();
        }
    }
}

/// A driver that has just been started. It does not end for lack of handles before the first one was made: on a runtime of
/// several threads it runs at once.
#[derive(Debug)]
pub(crate) struct Started(Arc<Shared>);

impl Started {
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.handles -= 1;
        self.0.wake_driver(state);
    }
}

/// Notifies all waiting tasks when the driver ends, on any path.
struct StopGuard(Arc<Shared>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        let attached = self.0.attached();
        self.0.lock().stop();
        self.0.accepted.notify_waiters();
        if let Some(attached) = attached {
            attached.stop();
        }
    }
}

async fn run(guard: StopGuard, mut carrier: Carrier) {
    let shared = &guard.0;
    let mut alarm = Alarm::new(shared.clock);
    let mut previous = None;
    let mut times = ArrivalTimes::new(shared.clock);
    loop {
        change_carrier(shared, &mut carrier, &mut previous);
        let Ok(received) = receive_round(shared, &mut carrier, &mut times, true) else { return };
        receive_from_previous(shared, &mut previous, &mut times);
        let sent = send_round(shared, &mut carrier);
        let (deadline, finished) = {
            let state = shared.lock();
            (state.connections.poll_timeout(), state.is_finished())
        };
        if finished && sent == LoopExit::Done {
            return;
        }
        if received == LoopExit::More || sent == LoopExit::More {
            // Tasks that read received data run before more is received.
            tokio::task::yield_now().await;
            continue;
        }
        let blocked = sent == LoopExit::Blocked;
        let until = previous.as_ref().map(|previous: &PreviousCarriers| previous.until);
        // Nothing can be sent: wait for the tick only.
        let deadline = if blocked { Some(shared.clock.now() + BLOCKED_TICK) } else { deadline };
        alarm.set(deadline.into_iter().chain(until).min());
        tokio::select! {
            biased;
            () = shared.commanded.notified(), if !blocked => {}
            result = carrier.readable() => if result.is_err() { return },
            result = carrier.writable(), if blocked => if result.is_err() { return },
            () = readable(&previous), if previous.is_some() => {}
            () = alarm.ring() => {}
        }
    }
}

/// The exit condition of a receive or send loop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopExit {
    /// There is no more to do.
    Done,
    /// The limit of the loop was reached.
    More,
    /// The kernel accepts no more now.
    Blocked,
}

/// The previous carrier, for packets in transit.
struct PreviousCarriers {
    carrier: Carrier,
    until: Instant,
}

/// Replaces the carrier, if there is a next one.
fn change_carrier(shared: &Shared, carrier: &mut Carrier, previous: &mut Option<PreviousCarriers>) {
    let mut state = shared.lock();
    if std::mem::take(&mut state.path_changed) {
        carrier.forget_source_addresses();
        state.measure_all();
    }
    if let Some(next) = state.next_carrier.take() {
        state.kernel_drops.replace(next.drop_counter());
        let _ = carrier.flush();
        let until = shared.clock.now() + DRAIN_TIME;
        *previous = Some(PreviousCarriers { carrier: std::mem::replace(carrier, next), until });
        state.measure_all();
    }
}

/// Receives from the previous carrier. Its errors are ignored.
fn receive_from_previous(shared: &Shared, previous: &mut Option<PreviousCarriers>, times: &mut ArrivalTimes) {
    *previous = previous.take().filter(|previous| previous.until > shared.clock.now());
    let is_broken = previous
        .as_mut()
        .is_some_and(|previous| receive_round(shared, &mut previous.carrier, times, false).is_err());
    if is_broken {
        *previous = None;
    }
}

async fn readable(previous: &Option<PreviousCarriers>) {
    match previous {
        Some(previous) if previous.carrier.readable().await.is_ok() => {}
        _ => std::future::pending().await,
    }
}

/// Passes received packets to the protocol; `with_errors`, also errors of sent packets.
fn receive_round(
    shared: &Shared,
    carrier: &mut Carrier,
    times: &mut ArrivalTimes,
    with_errors: bool,
) -> io::Result<LoopExit> {
    let attached = shared.attached();
    for _ in 0..RECEIVES_PER_ROUND {
        match carrier.receive()? {
            Arrival::Datagrams { remote, ecn, stamp, mut bytes, stride } => {
                let mut times = times.of(remote, stamp, bytes.len(), stride);
                let now = shared.clock.now();
                let mut state = shared.lock();
                while !bytes.is_empty() {
                    let datagram = bytes.split_to(stride.min(bytes.len()));
                    let arrival = times.as_mut().and_then(Iterator::next);
                    if let Some(packet) = carrier.decode(datagram) {
                        let meta = ReceiveMeta { ecn, arrival };
                        let packet = match &attached {
                            Some(attached) => attached.receive(remote, meta, packet),
                            None => Some(packet),
                        };
                        if let Some(packet) = packet {
                            state.connections.endpoint.handle_packet(now, remote, meta, packet);
                        }
                    }
                }
                if let Some(attached) = &attached {
                    attached.pump();
                }
                deliver_events(shared, state, now);
            }
            Arrival::PathError(..) | Arrival::Report { .. } if !with_errors => {}
            Arrival::PathError(remote, path_error) => handle_path_error(shared, carrier, remote, path_error),
            Arrival::Report { remote, quoted, path_error } => {
                let now = shared.clock.now();
                let mut state = shared.lock();
                state.handle_report(now, remote, quoted, path_error);
                deliver_events(shared, state, now);
            }
            Arrival::Noise => {}
            Arrival::Nothing => return Ok(LoopExit::Done),
        }
    }
    Ok(LoopExit::More)
}

/// Sends the protocol's packets.
fn send_round(shared: &Shared, carrier: &mut Carrier) -> LoopExit {
    // While the kernel refuses a pending packet, nothing more is polled from the protocol.
    if carrier.flush().is_err() {
        let now = shared.clock.now();
        let mut state = shared.lock();
        state.connections.endpoint.handle_timeout(now);
        state.connections.handle_timeouts(now);
        deliver_events(shared, state, now);
        return LoopExit::Blocked;
    }
    measure_paths(shared, carrier);
    if let Some(attached) = shared.attached() {
        match attached.send(carrier) {
            LoopExit::Done => {}
            exit => return exit,
        }
    }
    for _ in 0..BATCHES_PER_ROUND {
        let now = shared.clock.now();
        let mut state = shared.lock();
        state.commanded = false;
        state.connections.handle_timeouts(now);
        // The lock is not held during system calls: the application can run meanwhile.
        let drained = loop {
            let Some((destination, transmit)) = state.connections.endpoint.poll_transmit(now) else {
                break true;
            };
            if carrier.add(destination, &transmit) {
                break false;
            }
        };
        deliver_events(shared, state, now);
        let result = carrier.flush();
        let path_errors = carrier.take_path_errors();
        let quiet = path_errors.is_empty();
        for (remote, path_error) in path_errors {
            handle_path_error(shared, carrier, remote, path_error);
        }
        if result.is_err() {
            return LoopExit::Blocked;
        }
        if drained && quiet {
            return LoopExit::Done;
        }
    }
    LoopExit::More
}

/// Sets the system's packet size for connections that are new or have changed their path.
fn measure_paths(shared: &Shared, carrier: &Carrier) {
    // The lock is not held during the system calls.
    let unmeasured = std::mem::take(&mut shared.lock().connections.unmeasured);
    for (handle, remote) in unmeasured {
        if let Some(limit) = carrier.datagram_limit(remote) {
            let now = shared.clock.now();
            shared.lock().limit_datagrams(now, handle, remote, limit);
        }
    }
}

fn handle_path_error(shared: &Shared, carrier: &Carrier, remote: SocketAddr, path_error: PathError) {
    // The error had no size; the system may have recorded one.
    let path_error = match path_error {
        PathError::TooLarge(None) => PathError::TooLarge(carrier.datagram_limit(remote)),
        known => known,
    };
    // A host between two networks has no route for a while, which is no error of the server.
    let is_between = path_error == PathError::Unreachable
        && shared.is_one_sockets
        && shared.lock().is_requesting()
        && !carrier.has_route(remote);
    if is_between {
        return;
    }
    if let Some(attached) = shared.attached() {
        attached.handle_path_error(remote, path_error);
    }
    let now = shared.clock.now();
    let mut state = shared.lock();
    state.handle_path_error(now, remote, path_error);
    deliver_events(shared, state, now);
}

fn deliver_events(shared: &Shared, mut state: MutexGuard<'_, State>, now: Instant) {
    let accepted = state.connections.deliver_events(now) == Some(true);
    drop(state);
    if accepted {
        shared.accepted.notify_waiters();
    }
}
