//! The task that turns the crank: kernel to protocol, protocol to kernel, timers, wake-ups.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use whimbrel_units::Instant;

use crate::alarm::Alarm;
use crate::carrier::{Arrival, Carrier, Trouble};
use crate::clock::{Clock, entropy};
use crate::state::State;

/// Receive calls between two rounds of sending: neither direction starves the other.
const RECEIVES_PER_ROUND: usize = 8;
/// Batches sent between two rounds of receiving.
const BATCHES_PER_ROUND: usize = 16;

/// What the driver and the application's handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) local: SocketAddr,
    state: Mutex<State>,
    /// The application gave a command.
    commanded: Notify,
    /// A connection was accepted.
    pub(crate) accepted: Notify,
}

impl Shared {
    /// Starts a driver for a bound socket on the current runtime.
    pub(crate) fn start(carrier: Carrier, inbox_limit: usize) -> io::Result<Arc<Self>> {
        let shared = Arc::new(Self {
            clock: Clock::start(),
            local: carrier.local_addr()?,
            state: Mutex::new(State::new(entropy(), inbox_limit, carrier.is_alone())),
            commanded: Notify::new(),
            accepted: Notify::new(),
        });
        tokio::spawn(run(StopGuard(shared.clone()), carrier));
        Ok(shared)
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
    loop {
        let Ok(received) = receive_round(shared, &mut carrier) else { return };
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
        alarm.set(if blocked { None } else { deadline });
        tokio::select! {
            biased;
            () = shared.commanded.notified(), if !blocked => {}
            result = carrier.readable() => if result.is_err() { return },
            result = carrier.writable(), if blocked => if result.is_err() { return },
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

/// Gives the protocol what the kernel has.
fn receive_round(shared: &Shared, carrier: &mut Carrier) -> io::Result<Round> {
    for _ in 0..RECEIVES_PER_ROUND {
        match carrier.receive()? {
            Arrival::Datagrams { remote, meta, mut bytes, stride } => {
                let now = shared.clock.now();
                let mut state = shared.lock();
                while !bytes.is_empty() {
                    let datagram = bytes.split_to(stride.min(bytes.len()));
                    if let Some(packet) = carrier.decode(datagram) {
                        state.endpoint.handle_packet(now, remote, meta, packet);
                    }
                }
                deliver_events(shared, state, now);
            }
            Arrival::Trouble(remote, trouble) => handle_trouble(shared, remote, trouble),
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
        return Round::Blocked;
    }
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
            handle_trouble(shared, remote, trouble);
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

fn handle_trouble(shared: &Shared, remote: SocketAddr, trouble: Trouble) {
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
