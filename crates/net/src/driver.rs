//! The task that turns the crank: kernel to protocol, protocol to kernel, timers, wake-ups.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use whimbrel_proto::ReceiveMeta;
use whimbrel_units::{Duration, Instant};

use crate::HostOptions;
use crate::alarm::Alarm;
use crate::arrival_times::ArrivalTimes;
use crate::carrier::{Arrival, Carrier, Trouble};
use crate::clock::Clock;
use crate::state::State;

/// Receive calls between two rounds of sending: neither direction starves the other.
const RECEIVES_PER_ROUND: usize = 8;
/// How long the carrier that was left is listened to: until the peer has followed, on any path.
const LINGER: Duration = Duration::from_secs(3);
/// While the kernel takes no packets, timers are looked at as often as that: a peer may be given up meanwhile.
const BLOCKED_TICK: Duration = Duration::from_millis(100);
/// Batches sent between two rounds of receiving.
const BATCHES_PER_ROUND: usize = 16;

/// What the driver and the application's handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    /// Its carrier serves one socket of this end's making, and can be replaced.
    pub(crate) is_one_sockets: bool,
    state: Mutex<State>,
    /// The application gave a command.
    commanded: Notify,
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

    fn start_with(carrier: Carrier, options: &HostOptions, is_one_sockets: bool) -> io::Result<Started> {
        let (is_alone, local) = (carrier.is_alone(), carrier.local_addr()?);
        let shared = Arc::new(Self {
            clock: Clock::start(),
            is_one_sockets,
            state: Mutex::new(State::new(options, is_alone, local)?),
            commanded: Notify::new(),
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

    /// Tells the driver that it has something to do. Takes the state that was changed, so that
    /// many commands in a row cost one wake-up.
    pub(crate) fn wake_driver(&self, mut state: MutexGuard<'_, State>) {
        let knows = std::mem::replace(&mut state.commanded, true);
        drop(state);
        if !knows {
            self.commanded.notify_one();
        }
    }
}

/// A driver that has just been started. It does not end for want of handles before the first one was made: on a runtime of
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

/// Tells everybody when the driver ends, however it ends.
struct StopGuard(Arc<Shared>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.lock().stop();
        self.0.accepted.notify_waiters();
    }
}

async fn run(guard: StopGuard, mut carrier: Carrier) {
    let shared = &guard.0;
    let mut alarm = Alarm::new(shared.clock);
    let mut left = None;
    let mut times = ArrivalTimes::new(shared.clock);
    loop {
        change_ways(shared, &mut carrier, &mut left);
        let Ok(received) = receive_round(shared, &mut carrier, &mut times, true) else { return };
        hear_old_way(shared, &mut left, &mut times);
        let sent = send_round(shared, &mut carrier);
        let (deadline, finished) = {
            let state = shared.lock();
            (state.endpoint.poll_timeout(), state.is_finished())
        };
        if finished && sent == Round::Done {
            return;
        }
        if received == Round::More || sent == Round::More {
            // Who reads what has arrived gets a turn before more of it is fetched.
            tokio::task::yield_now().await;
            continue;
        }
        let blocked = sent == Round::Blocked;
        let until = left.as_ref().map(|left: &Left| left.until);
        // What is due to be sent cannot be: only the tick leads anywhere.
        let deadline = if blocked { Some(shared.clock.now() + BLOCKED_TICK) } else { deadline };
        alarm.set(deadline.into_iter().chain(until).min());
        tokio::select! {
            biased;
            () = shared.commanded.notified(), if !blocked => {}
            result = carrier.readable() => if result.is_err() { return },
            result = carrier.writable(), if blocked => if result.is_err() { return },
            () = readable(&left), if left.is_some() => {}
            () = alarm.ring() => {}
        }
    }
}

/// How a round ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    /// Nothing is left.
    Done,
    /// It was long enough.
    More,
    /// The kernel takes no more now.
    Blocked,
}

/// What packets travelled in before, for those that were under way.
struct Left {
    carrier: Carrier,
    until: Instant,
}

/// Puts another carrier into the place of this one, if there is one.
fn change_ways(shared: &Shared, carrier: &mut Carrier, left: &mut Option<Left>) {
    let mut state = shared.lock();
    if std::mem::take(&mut state.way_changed) {
        carrier.forget_ways();
        state.measure_all();
    }
    if let Some(next) = state.next_carrier.take() {
        let _ = carrier.flush();
        let until = shared.clock.now() + LINGER;
        *left = Some(Left { carrier: std::mem::replace(carrier, next), until });
        state.measure_all();
    }
}

/// Takes what still comes by the carrier that was left. What becomes of packets there is nobody's trouble any more.
fn hear_old_way(shared: &Shared, left: &mut Option<Left>, times: &mut ArrivalTimes) {
    *left = left.take().filter(|left| left.until > shared.clock.now());
    let is_broken =
        left.as_mut().is_some_and(|left| receive_round(shared, &mut left.carrier, times, false).is_err());
    if is_broken {
        *left = None;
    }
}

async fn readable(left: &Option<Left>) {
    match left {
        Some(left) if left.carrier.readable().await.is_ok() => {}
        _ => std::future::pending().await,
    }
}

/// Gives the protocol what the kernel has. `hears`: also what the system says of packets that were sent.
fn receive_round(
    shared: &Shared,
    carrier: &mut Carrier,
    times: &mut ArrivalTimes,
    hears: bool,
) -> io::Result<Round> {
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
                        state.endpoint.handle_packet(now, remote, meta, packet);
                    }
                }
                deliver_events(shared, state, now);
            }
            Arrival::Trouble(..) | Arrival::Report { .. } if !hears => {}
            Arrival::Trouble(remote, trouble) => handle_trouble(shared, carrier, remote, trouble),
            Arrival::Report { remote, quoted, trouble } => {
                let now = shared.clock.now();
                let mut state = shared.lock();
                state.handle_report(now, remote, quoted, trouble);
                deliver_events(shared, state, now);
            }
            Arrival::Noise => {}
            Arrival::Nothing => return Ok(Round::Done),
        }
    }
    Ok(Round::More)
}

/// Sends what the protocol has.
fn send_round(shared: &Shared, carrier: &mut Carrier) -> Round {
    // With a packet in hand that the kernel would not take, nothing more is polled from the protocol.
    if carrier.flush().is_err() {
        let now = shared.clock.now();
        let mut state = shared.lock();
        state.endpoint.handle_timeout(now);
        deliver_events(shared, state, now);
        return Round::Blocked;
    }
    measure_ways(shared, carrier);
    for _ in 0..BATCHES_PER_ROUND {
        let now = shared.clock.now();
        let mut state = shared.lock();
        state.commanded = false;
        // The lock is not held while the kernel works: the application can go on meanwhile.
        let drained = loop {
            let Some((destination, transmit)) = state.endpoint.poll_transmit(now) else { break true };
            if carrier.add(destination, &transmit) {
                break false;
            }
        };
        deliver_events(shared, state, now);
        let result = carrier.flush();
        let troubles = carrier.take_troubles();
        let quiet = troubles.is_empty();
        for (remote, trouble) in troubles {
            handle_trouble(shared, carrier, remote, trouble);
        }
        if result.is_err() {
            return Round::Blocked;
        }
        if drained && quiet {
            return Round::Done;
        }
    }
    Round::More
}

/// Tells connections that are new, or take another way, what the system knows of the packet size there.
fn measure_ways(shared: &Shared, carrier: &Carrier) {
    // The lock is not held while the system is asked.
    let unmeasured = std::mem::take(&mut shared.lock().unmeasured);
    for (handle, remote) in unmeasured {
        if let Some(limit) = carrier.datagram_limit(remote) {
            let now = shared.clock.now();
            shared.lock().limit_datagrams(now, handle, remote, limit);
        }
    }
}

fn handle_trouble(shared: &Shared, carrier: &Carrier, remote: SocketAddr, trouble: Trouble) {
    // Whatever the system had heard of the size, it has forgotten to say.
    let trouble = match trouble {
        Trouble::TooLarge(None) => Trouble::TooLarge(carrier.datagram_limit(remote)),
        known => known,
    };
    // A host between two networks has no route for a while, which says nothing of the server.
    let is_between = trouble == Trouble::Unreachable
        && shared.is_one_sockets
        && shared.lock().is_requesting()
        && !carrier.has_way(remote);
    if is_between {
        return;
    }
    let now = shared.clock.now();
    let mut state = shared.lock();
    state.handle_trouble(now, remote, trouble);
    deliver_events(shared, state, now);
}

fn deliver_events(shared: &Shared, mut state: MutexGuard<'_, State>, now: Instant) {
    let accepted = state.deliver_events(now);
    drop(state);
    if accepted {
        shared.accepted.notify_waiters();
    }
}
