//! One task for each local address: kernel to protocol, and back.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Notify;
use whimbrel_proto::multipath::Path;
use whimbrel_proto::{ReceiveMeta, Transmit};

use super::shared::Shared;
use crate::carrier::{Arrival, Carrier, UdpCarrier};

/// Receive calls between two rounds of sending.
const RECEIVES_PER_ROUND: usize = 8;

/// Binds a local address, and starts its task.
pub(super) fn add(shared: &Arc<Shared>, local: SocketAddr) -> io::Result<SocketAddr> {
    let carrier = Carrier::from(UdpCarrier::bind(local, None)?);
    let local = carrier.local_addr()?;
    let (number, pending) = shared.add_carrier(local);
    tokio::spawn(run(shared.clone(), carrier, local, number, pending));
    Ok(local)
}

async fn run(
    shared: Arc<Shared>,
    mut carrier: Carrier,
    local: SocketAddr,
    number: usize,
    pending: Arc<Notify>,
) {
    let mut waiting = VecDeque::new();
    loop {
        let Ok(has_more) = receive(&shared, &mut carrier, local) else { return };
        shared.pump();
        let Some(outbox) = shared.take_outbox(number) else { return };
        waiting.extend(outbox);
        let is_blocked = !send(&mut carrier, &mut waiting);
        if has_more {
            tokio::task::yield_now().await;
            continue;
        }
        tokio::select! {
            () = pending.notified(), if !is_blocked => {}
            result = carrier.readable() => if result.is_err() { return },
            result = carrier.writable(), if is_blocked => if result.is_err() { return },
        }
    }
}

/// Passes received packets to the protocol. Returns `true` if more may wait.
fn receive(shared: &Shared, carrier: &mut Carrier, local: SocketAddr) -> io::Result<bool> {
    for _ in 0..RECEIVES_PER_ROUND {
        match carrier.receive()? {
            Arrival::Datagrams { remote, ecn, mut bytes, stride, .. } => {
                let path = Path { local, remote };
                while !bytes.is_empty() {
                    let datagram = bytes.split_to(stride.min(bytes.len()));
                    if let Some(packet) = carrier.decode(datagram) {
                        let meta = ReceiveMeta { ecn, ..ReceiveMeta::default() };
                        shared.receive(path, meta, packet);
                    }
                }
            }
            Arrival::Nothing => return Ok(false),
            // A path that does not work shows by its missing acknowledgements.
            Arrival::PathError(..) | Arrival::Report { .. } | Arrival::Noise => {}
        }
    }
    Ok(true)
}

/// Sends packets in batches. Returns `false` if the kernel accepts no more now.
fn send(carrier: &mut Carrier, waiting: &mut VecDeque<(SocketAddr, Transmit)>) -> bool {
    loop {
        if carrier.flush().is_err() {
            return false;
        }
        drop(carrier.take_path_errors());
        let mut is_empty = true;
        while let Some((destination, transmit)) = waiting.pop_front() {
            is_empty = false;
            if carrier.add(destination, &transmit) {
                break;
            }
        }
        if is_empty {
            return true;
        }
    }
}
