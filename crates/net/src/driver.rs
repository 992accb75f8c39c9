//! The driver tasks, one for each local address: kernel to protocol, protocol to kernel, timers, wake-ups.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use whimbrel_proto::ReceiveMeta;
use whimbrel_units::{Duration, Instant};

use crate::HostOptions;
use crate::alarm::Alarm;
use crate::arrival_times::ArrivalTimes;
use crate::carrier::{Arrival, Carrier, PathError, Quoted, UdpCarrier};
use crate::clock::Clock;
use crate::state::{MAIN, State};

/// Receive calls between two rounds of sending: neither direction starves the other.
const RECEIVES_PER_ROUND: usize = 8;
/// Time for which the previous carrier is still received from: until the peer has followed, on any path.
const DRAIN_TIME: Duration = Duration::from_secs(3);
/// Interval at which timers are processed while the kernel accepts no packets: a peer may be given up
/// meanwhile.
const BLOCKED_TICK: Duration = Duration::from_millis(100);
/// Batches sent between two rounds of receiving.
const BATCHES_PER_ROUND: usize = 16;

/// State shared by the drivers and the application's handles.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    /// Its main carrier serves one socket that was opened here, and can be replaced.
    pub(crate) is_one_sockets: bool,
    pub(crate) options: HostOptions,
    state: Mutex<State>,
    /// The application gave a command, or packets wait for the main outlet.
    commanded: Arc<Notify>,
    /// A connection was accepted.
    pub(crate) accepted: Notify,
}

impl Shared {
    /// Starts the main driver, for a bound socket, on the current runtime. Without a socket it runs the
    /// timers alone.
    pub(crate) fn start(carrier: Option<Carrier>, options: &HostOptions) -> io::Result<Started> {
        Self::start_with(carrier, options, false)
    }

    /// Starts one for a socket that is the only one to use it.
    pub(crate) fn start_for_one(carrier: Carrier, options: &HostOptions) -> io::Result<Started> {
        Self::start_with(Some(carrier), options, true)
    }

    fn start_with(
        mut carrier: Option<Carrier>,
        options: &HostOptions,
        is_one_sockets: bool,
    ) -> io::Result<Started> {
        let mut state = State::new(options, carrier.as_ref().is_none_or(Carrier::is_alone))?;
        let commanded = Arc::new(Notify::new());
        let mut local = SocketAddr::from(([0; 4], 0));
        let drops = carrier.as_ref().and_then(Carrier::drop_counter);
        if let Some(carrier) = &mut carrier {
            carrier.set_dscp(options.dscp)?;
            local = carrier.local_addr()?;
        }
        let number = state.add_outlet(local, drops, commanded.clone());
        if carrier.is_none() {
            state.end_outlet(number);
        }
        state.handles += 1;
        let (clock, state, accepted) = (Clock::start(), Mutex::new(state), Notify::new());
        let options = *options;
        let shared =
            Arc::new(Self { clock, is_one_sockets, options, state, commanded: commanded.clone(), accepted });
        let guard = StopGuard(shared.clone());
        let driver = Driver::new(shared.clone(), number, local, carrier);
        tokio::spawn(async move {
            let _guard = guard;
            driver.run(&commanded).await;
        });
        Ok(Started(shared))
    }

    /// Binds a further local address, on an interface if one is given, and starts its driver. Returns the
    /// address with its port.
    pub(crate) fn add_local(
        self: &Arc<Self>,
        local: SocketAddr,
        interface: Option<&str>,
    ) -> io::Result<SocketAddr> {
        let mut carrier = Carrier::from(UdpCarrier::bind_on(local, interface, self.options.peer)?);
        carrier.set_dscp(self.options.dscp)?;
        let local = carrier.local_addr()?;
        let pending = Arc::new(Notify::new());
        let number = self.lock().add_outlet(local, carrier.drop_counter(), pending.clone());
        let driver = Driver::new(self.clone(), number, local, Some(carrier));
        tokio::spawn(async move { driver.run(&pending).await });
        Ok(local)
    }

    /// This host's address; the first, if it has several.
    pub(crate) fn local(&self) -> SocketAddr {
        let state = self.lock();
        let first = state.locals().next();
        first.unwrap_or_else(|| SocketAddr::from(([0; 4], 0)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere must not spread: the state is consistent between calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the main driver. Takes the state that was changed, so that many commands in a row cost one
    /// wake-up.
    pub(crate) fn wake_driver(&self, mut state: MutexGuard<'_, State>) {
        let was_commanded = std::mem::replace(&mut state.commanded, true);
        drop(state);
        if !was_commanded {
            self.commanded.notify_one();
        }
    }

    /// Passes events to the sockets. Returns `true` if connections have packets to send for it.
    fn deliver_events(&self, mut state: MutexGuard<'_, State>, now: Instant) -> bool {
        let accepted = state.deliver_events(now);
        let has_acted = state.take_acted();
        drop(state);
        if accepted {
            self.accepted.notify_waiters();
        }
        has_acted
    }
}

/// A driver that has just been started. It does not end for lack of handles before the first one was made: on
/// a runtime of several threads it runs at once.
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

/// Notifies all waiting tasks when the main driver ends, on any path.
struct StopGuard(Arc<Shared>);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.lock().stop();
        self.0.accepted.notify_waiters();
    }
}

/// The exit condition of a receive or send loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopExit {
    /// There is no more to do.
    Done,
    /// The limit of the loop was reached.
    More,
    /// The kernel accepts no more now.
    Blocked,
}

/// The previous carrier, for packets in transit.
struct PreviousCarrier {
    carrier: Carrier,
    until: Instant,
}

/// The task of one local address. The main one runs the timers as well.
struct Driver {
    shared: Arc<Shared>,
    number: u64,
    local: SocketAddr,
    /// `None`: the main one's address is gone, but connections have others.
    carrier: Option<Carrier>,
    previous: Option<PreviousCarrier>,
    times: ArrivalTimes,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.lock().end_outlet(self.number);
    }
}

impl Driver {
    fn new(shared: Arc<Shared>, number: u64, local: SocketAddr, carrier: Option<Carrier>) -> Self {
        let times = ArrivalTimes::new(shared.clock);
        Self { shared, number, local, carrier, previous: None, times }
    }

    async fn run(mut self, pending: &Notify) {
        let mut alarm = Alarm::new(self.shared.clock);
        let mut is_broken = false;
        loop {
            self.change_carrier();
            let received = self.receive_round();
            is_broken |= received.is_err();
            self.receive_from_previous();
            let sent = self.send_round();
            if self.has_ended(sent, is_broken) {
                return;
            }
            if matches!(received, Ok(LoopExit::More)) || sent == LoopExit::More {
                // Tasks that read received data run before more is received.
                tokio::task::yield_now().await;
                continue;
            }
            let blocked = sent == LoopExit::Blocked;
            alarm.set(self.deadline(blocked));
            let (carrier, previous) = (self.carrier.as_ref(), self.previous.as_ref());
            tokio::select! {
                biased;
                () = pending.notified() => {}
                result = readable(carrier) => is_broken |= result.is_err(),
                result = writable(carrier), if blocked => is_broken |= result.is_err(),
                _ = readable(previous.map(|previous| &previous.carrier)), if previous.is_some() => {}
                () = alarm.ring() => {}
            }
        }
    }

    /// `true` if the task has nothing to do any more. The main one goes on without a carrier, as long as
    /// there are other addresses or one may appear. A path whose socket is broken shows by its missing
    /// acknowledgements.
    fn has_ended(&mut self, sent: LoopExit, is_broken: bool) -> bool {
        let mut state = self.shared.lock();
        let is_ending = state.is_ending(self.number) && sent == LoopExit::Done;
        if self.number != MAIN {
            return is_ending || is_broken;
        }
        if self.carrier.is_some() && (is_ending || is_broken) {
            state.end_outlet(MAIN);
            self.carrier = None;
        }
        state.is_finished() && sent == LoopExit::Done || is_broken && state.outlets.is_empty()
    }

    /// Time at which the task has to wake up at the latest.
    fn deadline(&self, blocked: bool) -> Option<Instant> {
        let mut state = self.shared.lock();
        if self.number != MAIN {
            let next = state.poll_timeout(false);
            if next.is_some_and(|next| state.awaited.is_none_or(|awaited| next < awaited)) {
                self.shared.wake_driver(state);
            }
            return None;
        }
        // If nothing can be sent, only other addresses have work before the tick.
        let tick = blocked.then(|| self.shared.clock.now() + BLOCKED_TICK);
        state.awaited = state.poll_timeout(!blocked);
        let until = self.previous.as_ref().map(|previous| previous.until);
        state.awaited.into_iter().chain(tick).chain(until).min()
    }

    /// Replaces the carrier, if there is a next one.
    fn change_carrier(&mut self) {
        let (shared, Some(carrier), true) = (&self.shared, &mut self.carrier, self.number == MAIN) else {
            return;
        };
        let mut state = shared.lock();
        if std::mem::take(&mut state.path_changed) {
            carrier.forget_source_addresses();
            state.measure_all();
        }
        if let Some(next) = state.next_carrier.take() {
            if let Some(outlet) = state.outlets.get_mut(&MAIN) {
                outlet.drops.replace(next.drop_counter());
                self.local = outlet.local;
            }
            let _ = carrier.flush();
            let until = shared.clock.now() + DRAIN_TIME;
            let carrier = std::mem::replace(carrier, next);
            self.previous = Some(PreviousCarrier { carrier, until });
            state.measure_all();
        }
    }

    /// Receives from the previous carrier. Its errors are ignored.
    fn receive_from_previous(&mut self) {
        let Some(previous) = &mut self.previous else { return };
        let here = (self.number, self.local);
        let is_over = previous.until <= self.shared.clock.now();
        if is_over || receive(&self.shared, here, &mut previous.carrier, &mut self.times, false).is_err() {
            self.previous = None;
        }
    }

    /// Passes received packets to the protocol, and errors of sent packets.
    fn receive_round(&mut self) -> io::Result<LoopExit> {
        let Some(carrier) = &mut self.carrier else { return Ok(LoopExit::Done) };
        receive(&self.shared, (self.number, self.local), carrier, &mut self.times, true)
    }

    /// Sends the protocol's packets.
    fn send_round(&mut self) -> LoopExit {
        let shared = &self.shared;
        // While the kernel refuses a pending packet, nothing more is polled from connections over it alone.
        let is_ready = self.carrier.as_mut().is_some_and(|carrier| carrier.flush().is_ok());
        let Some(carrier) = self.carrier.as_mut().filter(|_| is_ready) else {
            return self.send_elsewhere();
        };
        measure_paths(shared, (self.number, self.local), carrier);
        for _ in 0..BATCHES_PER_ROUND {
            let now = shared.clock.now();
            let mut state = shared.lock();
            if self.number == MAIN {
                state.commanded = false;
            }
            state.handle_layer_timeouts(now);
            // The lock is not held during system calls: the application can run meanwhile.
            let drained = state.poll_transmit(now, self.number, carrier);
            let has_acted = shared.deliver_events(state, now);
            let result = carrier.flush();
            let path_errors = carrier.take_path_errors();
            let quiet = path_errors.is_empty();
            for (remote, path_error) in path_errors {
                let here = (self.number, self.local);
                handle_path_error(shared, here, carrier, remote, None, path_error);
            }
            if result.is_err() {
                return LoopExit::Blocked;
            }
            if drained && quiet && !has_acted {
                return LoopExit::Done;
            }
        }
        LoopExit::More
    }

    /// Passes the packets of other addresses to their drivers, while there is no carrier, or it accepts
    /// nothing.
    fn send_elsewhere(&self) -> LoopExit {
        let now = self.shared.clock.now();
        let mut state = self.shared.lock();
        state.commanded &= self.number != MAIN || state.several.is_none();
        state.handle_timeouts(now);
        if self.carrier.is_none() && self.number == MAIN {
            while state.one.endpoint.poll_transmit(now).is_some() {}
        }
        state.distribute(now, |_, _, _| None);
        self.shared.deliver_events(state, now);
        if self.carrier.is_some() { LoopExit::Blocked } else { LoopExit::Done }
    }
}

/// Passes received packets to the protocol; `with_errors`, also errors of sent packets.
fn receive(
    shared: &Shared,
    here: (u64, SocketAddr),
    carrier: &mut Carrier,
    times: &mut ArrivalTimes,
    with_errors: bool,
) -> io::Result<LoopExit> {
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
                        state.handle_packet(now, here, remote, ReceiveMeta { ecn, arrival }, packet);
                    }
                }
                shared.deliver_events(state, now);
            }
            Arrival::PathError(..) | Arrival::Report { .. } if !with_errors => {}
            Arrival::PathError(remote, path_error) => {
                handle_path_error(shared, here, carrier, remote, None, path_error);
            }
            Arrival::Report { remote, quoted, path_error } => {
                handle_path_error(shared, here, carrier, remote, Some(quoted), path_error);
            }
            Arrival::Noise => {}
            Arrival::Nothing => return Ok(LoopExit::Done),
        }
    }
    Ok(LoopExit::More)
}

async fn readable(carrier: Option<&Carrier>) -> io::Result<()> {
    match carrier {
        Some(carrier) => carrier.readable().await,
        None => std::future::pending().await,
    }
}

async fn writable(carrier: Option<&Carrier>) -> io::Result<()> {
    match carrier {
        Some(carrier) => carrier.writable().await,
        None => std::future::pending().await,
    }
}

/// Sets the system's packet size for connections that are new or have changed their path.
fn measure_paths(shared: &Shared, (number, local): (u64, SocketAddr), carrier: &Carrier) {
    // The lock is not held during the system calls.
    let unmeasured = shared.lock().take_unmeasured(number, local);
    for each in unmeasured {
        if let Some(limit) = carrier.datagram_limit(each.2) {
            let now = shared.clock.now();
            shared.lock().limit_datagrams(now, local, each, limit);
        }
    }
}

fn handle_path_error(
    shared: &Shared,
    here: (u64, SocketAddr),
    carrier: &Carrier,
    remote: SocketAddr,
    quoted: Option<Quoted>,
    path_error: PathError,
) {
    // An error without a packet had no size; the system may have recorded one.
    let path_error = match path_error {
        PathError::TooLarge(None) if quoted.is_none() => PathError::TooLarge(carrier.datagram_limit(remote)),
        known => known,
    };
    // A host between two networks has no route for a while, which is no error of the server.
    let is_between = quoted.is_none()
        && path_error == PathError::Unreachable
        && shared.is_one_sockets
        && shared.lock().is_requesting()
        && !carrier.has_route(remote);
    if is_between {
        return;
    }
    let now = shared.clock.now();
    let mut state = shared.lock();
    state.handle_path_error(now, here, remote, quoted, path_error);
    shared.deliver_events(state, now);
}
