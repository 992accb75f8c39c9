//! Repair of QUIC's datagrams within a latency.

use quinn::Connection;
use tokio::{sync::mpsc, time};
use whimbrel_repair::{receiver::Receiver, sender::Mark, sender::Sender};
use whimbrel_units::Instant;

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Sends frames, and answers the receiver's reports, until the connection ends.
pub async fn send(
    connection: Connection,
    mut frames: mpsc::Receiver<Vec<u8>>,
    mut sender: Sender,
) -> Outcome {
    let (start, mut packet) = (time::Instant::now(), Vec::new());
    let now = || Instant::ZERO + start.elapsed().into();
    loop {
        while sender.poll_transmit(now(), &mut packet).is_some() {
            connection.send_datagram(packet.clone().into())?;
        }
        let next = sender.poll_timeout().map(|at| start + (at - Instant::ZERO).into());
        tokio::select! {
            Some(frame) = frames.recv() => sender.send(now(), &frame, Mark::SINGLE)?,
            report = connection.read_datagram() => drop(sender.handle_packet(now(), &report?)),
            () = time::sleep_until(next.unwrap_or(start)), if next.is_some() => sender.handle_timeout(now()),
        }
    }
}

/// Delivers frames, and reports what is missing.
pub async fn receive(
    connection: Connection,
    frames: mpsc::Sender<Vec<u8>>,
    mut receiver: Receiver,
) -> Outcome {
    let (start, mut packet) = (time::Instant::now(), Vec::new());
    let now = || Instant::ZERO + start.elapsed().into();
    loop {
        while receiver.poll_transmit(now(), &mut packet).is_some() {
            connection.send_datagram(packet.clone().into())?;
        }
        while receiver.poll_delivery(now(), &mut packet).is_some() {
            frames.send(packet.clone()).await?;
        }
        let next = receiver.poll_timeout().map(|at| start + (at - Instant::ZERO).into());
        tokio::select! {
            datagram = connection.read_datagram() => drop(receiver.handle_packet(now(), &datagram?)),
            () = time::sleep_until(next.unwrap_or(start)), if next.is_some() => receiver.handle_timeout(now()),
        }
    }
}
