//! Times and sizes of the datagrams of a capture, by flow: those of UDP, and the application data of DCCP.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::udp_encapsulation;

use crate::capture::Record;
use crate::dissect::{Dissected, Dissector};
use crate::{ip, link};

#[cfg(test)]
mod tests;

/// Maximum number of flows that are kept.
const MAX_FLOWS: usize = 4096;

/// One direction of the traffic between two ports. With DCCP over IP they are DCCP's ports, otherwise those of UDP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Flow {
    /// The sender.
    pub source: SocketAddr,
    /// The receiver.
    pub destination: SocketAddr,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}>{}", self.source, self.destination)
    }
}

/// A captured datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Time since the flow's first datagram.
    pub offset: Duration,
    /// Application data in bytes, above zero.
    pub size: u32,
}

/// An address and a port.
type Port = (IpAddr, u16);

/// A flow and its datagrams in the order of their times.
pub type FlowDatagrams = (Flow, Vec<Datagram>);

/// Collects the datagrams of each flow.
#[derive(Clone, Debug, Default)]
pub struct Datagrams {
    dissector: Dissector,
    flows: BTreeMap<Flow, Vec<(Instant, u32)>>,
    /// Datagrams of flows beyond the maximum number.
    ignored: u64,
    collected: u64,
}

impl Datagrams {
    /// Collects; `udp_ports` carry DCCP in addition to 6511.
    pub fn new(udp_ports: &[u16]) -> Self {
        Self { dissector: Dissector::new(udp_ports), ..Self::default() }
    }

    /// Processes the next frame.
    pub fn on_record(&mut self, record: &Record<'_>) {
        if let Dissected::Dccp(segments) = self.dissector.dissect(record) {
            for segment in segments {
                let packet = &segment.packet;
                let ports = segment.udp.map(|udp| (udp.source, udp.destination));
                let (source, destination) = ports.unwrap_or((packet.source_port, packet.destination_port));
                self.add(
                    record.at,
                    (segment.source, source),
                    (segment.destination, destination),
                    packet.payload.len(),
                );
            }
        } else if let Some((source, destination, size)) = udp(record) {
            self.add(record.at, source, destination, size);
        }
    }

    fn add(&mut self, at: Instant, source: Port, destination: Port, size: usize) {
        let Some(size) = u32::try_from(size).ok().filter(|size| *size > 0) else { return };
        let flow = Flow { source: source.into(), destination: destination.into() };
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&flow) {
            self.ignored += 1;
            return;
        }
        self.flows.entry(flow).or_default().push((at, size));
        self.collected += 1;
    }

    /// Number of datagrams collected.
    pub fn collected(&self) -> u64 {
        self.collected
    }

    /// Number of datagrams that are missing, because their flows exceed the maximum number of flows.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The flows and their datagrams in the order of their times. The flow with the most bytes comes first.
    pub fn into_flows(self) -> Vec<FlowDatagrams> {
        let mut flows: Vec<FlowDatagrams> = self
            .flows
            .into_iter()
            .map(|(flow, mut seen)| {
                // Captures of several interfaces are not always in order.
                seen.sort_by_key(|(at, _)| *at);
                let first = seen.first().map_or(Instant::ZERO, |(at, _)| *at);
                let datagrams = seen
                    .iter()
                    .map(|(at, size)| Datagram { offset: at.saturating_since(first), size: *size });
                (flow, datagrams.collect())
            })
            .collect();
        flows.sort_by_key(|(_, datagrams)| std::cmp::Reverse(total(datagrams)));
        flows
    }
}

/// Sum of the datagrams' bytes.
pub fn total(datagrams: &[Datagram]) -> u64 {
    datagrams.iter().map(|datagram| u64::from(datagram.size)).sum()
}

/// Source, destination and application data of a UDP datagram. Of a fragmented one, the first fragment contains the
/// length of the whole; the others have no UDP header.
fn udp(record: &Record<'_>) -> Option<(Port, Port, usize)> {
    let packet = ip::decode(link::ip_packet(record.link_type, record.data).ok()??).ok()?;
    if packet.protocol != udp_encapsulation::PROTOCOL
        || packet.fragment.is_some_and(|fragment| fragment.offset != 0)
    {
        return None;
    }
    let header: &[u8; udp_encapsulation::HEADER_LEN] = packet.payload.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let announced = usize::from(word(4));
    let length = match packet.fragment {
        // Datagrams that a network card has yet to segment may have no length.
        None if announced == 0 => packet.length,
        // No more than there is room for.
        None => announced.min(packet.length),
        Some(_) => announced,
    };
    let size = length.checked_sub(header.len())?;
    Some(((packet.source, word(0)), (packet.destination, word(2)), size))
}
