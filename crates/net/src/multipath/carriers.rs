//! One task for each local address: kernel to protocol, and back.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Notify;
use whimbrel_proto::multipath::Path;
use whimbrel_proto::{ReceiveMeta, Transmit};

use super::shared::Shared;
use crate::arrival_times::ArrivalTimes;
use crate::carrier::{Arrival, Carrier, PathError, Quoted, UdpCarrier};

/// Receive calls between two rounds of sending.
const RECEIVES_PER_ROUND: usize = 8;

/// Binds a local address, on an interface if one is given, and starts its task. Returns the address with its port.
pub(super) fn add(
    shared: &Arc<Shared>,
    local: SocketAddr,
    interface: Option<&str>,
) -> io::Result<SocketAddr> {
    let mut carrier = Carrier::from(UdpCarrier::bind_on(local, interface, shared.options.peer)?);
    carrier.set_dscp(shared.options.dscp)?;
    let local = carrier.local_addr()?;
    let pending = Arc::new(Notify::new());
    let number = shared.add_outlet(local, carrier.drop_counter(), pending.clone());
    let task = Task { shared: shared.clone(), carrier, local, number, waiting: VecDeque::new() };
    tokio::spawn(task.run(pending));
    Ok(local)
}

/// The task of one local address.
struct Task {
    shared: Arc<Shared>,
    carrier: Carrier,
    local: SocketAddr,
    number: u64,
    waiting: VecDeque<(SocketAddr, Transmit)>,
}

impl Drop for Task {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(mut outlet) = state.outlets.remove(&self.number) {
            state.earlier_drops += outlet.drops.total();
        }
    }
}

impl Task {
    async fn run(mut self, pending: Arc<Notify>) {
        let mut times = ArrivalTimes::new(self.shared.clock);
        loop {
            // A path whose socket is broken shows by its missing acknowledgements.
            let Ok(has_more) = self.receive(&mut times) else { return };
            self.shared.pump();
            let is_ending = self.take_outbox();
            let is_blocked = !self.send();
            if is_ending && self.waiting.is_empty() {
                return;
            }
            if has_more {
                tokio::task::yield_now().await;
                continue;
            }
            tokio::select! {
                () = pending.notified(), if !is_blocked => {}
                result = self.carrier.readable() => if result.is_err() { return },
                result = self.carrier.writable(), if is_blocked => if result.is_err() { return },
            }
        }
    }
    /// Takes the packets to send, and measures new paths. Returns `true` if the task has to end afterwards.
    fn take_outbox(&mut self) -> bool {
        let (outbox, unmeasured, is_ending) = {
            let mut state = self.shared.lock();
            let is_stopped = state.is_stopped;
            let Some(outlet) = state.outlets.get_mut(&self.number) else { return true };
            let outbox = std::mem::take(&mut outlet.outbox);
            (outbox, std::mem::take(&mut outlet.unmeasured), outlet.is_removed || is_stopped)
        };
        self.waiting.extend(outbox);
        for remote in unmeasured {
            measure(&self.shared, &self.carrier, Path { local: self.local, remote });
        }
        is_ending
    }
    /// Passes received packets to the protocol. Returns `true` if more may wait.
    fn receive(&mut self, times: &mut ArrivalTimes) -> io::Result<bool> {
        let Self { shared, carrier, local, .. } = self;
        for _ in 0..RECEIVES_PER_ROUND {
            match carrier.receive()? {
                Arrival::Datagrams { remote, ecn, stamp, mut bytes, stride } => {
                    let path = Path { local: *local, remote };
                    let mut times = times.of(remote, stamp, bytes.len(), stride);
                    while !bytes.is_empty() {
                        let datagram = bytes.split_to(stride.min(bytes.len()));
                        let arrival = times.as_mut().and_then(Iterator::next);
                        if let Some(packet) = carrier.decode(datagram) {
                            shared.receive(path, ReceiveMeta { ecn, arrival }, packet);
                        }
                    }
                }
                Arrival::PathError(remote, path_error) => {
                    report(shared, carrier, Path { local: *local, remote }, None, path_error);
                }
                Arrival::Report { remote, quoted, path_error } => {
                    report(shared, carrier, Path { local: *local, remote }, Some(quoted), path_error);
                }
                Arrival::Nothing => return Ok(false),
                Arrival::Noise => {}
            }
        }
        Ok(true)
    }
    /// Sends packets in batches. Returns `false` if the kernel accepts no more now.
    fn send(&mut self) -> bool {
        loop {
            let is_blocked = self.carrier.flush().is_err();
            for (remote, path_error) in self.carrier.take_path_errors() {
                let path = Path { local: self.local, remote };
                report(&self.shared, &self.carrier, path, None, path_error);
            }
            if is_blocked {
                return false;
            }
            if self.waiting.is_empty() {
                return true;
            }
            while let Some((destination, transmit)) = self.waiting.pop_front() {
                if self.carrier.add(destination, &transmit) {
                    break;
                }
            }
        }
    }
}

/// Sets the system's packet size for a path.
pub(super) fn measure(shared: &Shared, carrier: &Carrier, path: Path) {
    // The state is not locked during the system calls.
    if let Some(limit) = carrier.datagram_limit(path.remote) {
        shared.lock().limit_datagrams(shared.clock.now(), path, limit);
    }
}

/// Reports an error of a path to its subflows.
fn report(shared: &Shared, carrier: &Carrier, path: Path, quoted: Option<Quoted>, path_error: PathError) {
    let path_error = match path_error {
        // The error had no size; the system may have recorded one.
        PathError::TooLarge(None) if quoted.is_none() => {
            PathError::TooLarge(carrier.datagram_limit(path.remote))
        }
        known => known,
    };
    shared.with(|state, now| state.handle_path_error(now, path, quoted, path_error));
}
