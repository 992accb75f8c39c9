//! Multipath connections that share the UDP port of a [`Listener`](crate::Listener).

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Notify;
use whimbrel_proto::ReceiveMeta;
use whimbrel_proto::multipath::Path;
use whimbrel_wire::Packet;

use super::carriers::measure;
use super::shared::Shared;
use crate::carrier::{Carrier, PathError};
use crate::driver::LoopExit;
use crate::socket_buffers::DropCounter;

/// Packets sent between two rounds of receiving.
const PACKETS_PER_ROUND: usize = 1024;

/// The multipath connections at the address of another driver, which passes packets to and from them.
#[derive(Debug)]
pub(crate) struct Attachment {
    shared: Arc<Shared>,
    local: SocketAddr,
    number: u64,
}

impl Attachment {
    /// Attaches the connections to a driver at that address. `pending` wakes the driver.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        local: SocketAddr,
        drops: Option<DropCounter>,
        pending: Arc<Notify>,
    ) -> Self {
        let number = shared.add_outlet(local, drops, pending);
        Self { shared: shared.clone(), local, number }
    }
    /// `true` once no connection and nothing that could open one is left.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.lock().is_stopped
    }
    /// Takes a packet if it concerns these connections; otherwise returns it.
    pub(crate) fn receive(&self, remote: SocketAddr, meta: ReceiveMeta, packet: Packet) -> Option<Packet> {
        let path = Path { local: self.local, remote };
        let mut state = self.shared.lock();
        let now = self.shared.clock.now();
        if !state.connections.endpoint.concerns(now, path, &packet) {
            return Some(packet);
        }
        state.connections.endpoint.handle_packet(now, path, meta, packet);
        None
    }
    /// Processes what was received.
    pub(crate) fn pump(&self) {
        self.shared.pump();
    }
    /// Sends the packets of the connections.
    pub(crate) fn send(&self, carrier: &mut Carrier) -> LoopExit {
        let unmeasured = {
            let mut state = self.shared.lock();
            state.outlets.get_mut(&self.number).map(|outlet| std::mem::take(&mut outlet.unmeasured))
        };
        for remote in unmeasured.into_iter().flatten() {
            measure(&self.shared, carrier, Path { local: self.local, remote });
        }
        for _ in 0..PACKETS_PER_ROUND {
            let next = {
                let mut state = self.shared.lock();
                state.outlets.get_mut(&self.number).and_then(|outlet| outlet.outbox.pop_front())
            };
            let is_last = next.is_none();
            let is_full = next.is_some_and(|(destination, transmit)| carrier.add(destination, &transmit));
            if (is_full || is_last) && carrier.flush().is_err() {
                return LoopExit::Blocked;
            }
            if is_last {
                return LoopExit::Done;
            }
        }
        if carrier.flush().is_err() { LoopExit::Blocked } else { LoopExit::More }
    }
    /// The system reported that a packet to `remote` was not sent or not delivered.
    pub(crate) fn handle_path_error(&self, remote: SocketAddr, path_error: PathError) {
        let path = Path { local: self.local, remote };
        self.shared.with(|state, now| state.handle_path_error(now, path, None, path_error));
    }
    /// The driver has ended.
    pub(crate) fn stop(&self) {
        self.shared.stop();
    }
}
