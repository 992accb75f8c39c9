//! The ends of emulated flows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId};
use whimbrel_units::Instant;

use super::ip::{self, IpPacket};
use super::packet::BoxedPacket;
use crate::metrics::Meter;
use crate::payload::{Envelope, SimPayload};
use crate::transport::{Content, FlowAgent, FlowEnd, FlowSetup, FlowTransport};

/// A packet that has crossed the network.
#[derive(Debug)]
pub struct Arrival {
    /// The end that it is for, by number.
    pub end: u32,
    /// The time of its arrival in the simulated network.
    pub at: Instant,
    /// The packet, with the ECN field as marked on the way.
    pub packet: BoxedPacket,
}

/// Packets that have left the network, of all ends. The ends are inside the simulator and the driver is
/// outside; they share it.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Arrivals in the order of time.
    arrived: VecDeque<Arrival>,
    /// Packets that the network has lost, for their memory.
    spent: Vec<BoxedPacket>,
}

/// The outbox of an emulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedOutbox(Arc<Mutex<Outbox>>);

impl SharedOutbox {
    /// A thread that panicked with the lock has left whole packets.
    fn lock(&self) -> MutexGuard<'_, Outbox> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves what has arrived, and the packets that were lost, to these.
    pub(crate) fn take(&self, arrived: &mut VecDeque<Arrival>, spent: &mut Vec<BoxedPacket>) {
        let mut outbox = self.lock();
        arrived.append(&mut outbox.arrived);
        spent.append(&mut outbox.spent);
    }
}

/// The end of all flows from and to a node: what its driver sends enters the network, and what arrives waits
/// in the outbox.
#[derive(Debug)]
pub struct EmulatedEnd {
    number: u32,
    outgoing: VecDeque<Packet<Envelope>>,
    outbox: SharedOutbox,
    /// The flows of this node and their meters.
    flows: Vec<Measured>,
    /// The position in `flows` of each flow of the plan; [`NOT_HERE`] for flows of other nodes.
    positions: Vec<u32>,
    /// For flows of other nodes.
    unused: Meter,
}

/// A flow of a node.
#[derive(Debug)]
struct Measured {
    meter: Meter,
    sent: u64,
}

const NOT_HERE: u32 = u32::MAX;

impl EmulatedEnd {
    /// The flow under which the agent of a node is added. It receives the packets of all flows.
    pub(crate) const FLOW: FlowId = FlowId(u32::MAX - 1);

    /// An end without flows, in a plan of `flows`.
    pub(crate) fn new(number: u32, flows: usize, outbox: SharedOutbox) -> Self {
        Self {
            number,
            outgoing: VecDeque::new(),
            outbox,
            flows: Vec::new(),
            positions: vec![NOT_HERE; flows],
            unused: Meter::new(Instant::ZERO, &[], Default::default()),
        }
    }

    /// Adds a flow that begins or ends here.
    pub(crate) fn add_flow(&mut self, id: FlowId, meter: Meter) {
        self.positions[id.0 as usize] = self.flows.len() as u32;
        self.flows.push(Measured { meter, sent: 0 });
    }

    /// Hands a packet of a flow of the plan to the network.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        flow: usize,
        header: &IpPacket,
        destination: NodeId,
        mut packet: BoxedPacket,
    ) {
        let Some(measured) = self.flows.get_mut(self.positions[flow] as usize) else { return };
        let size = packet.ip().len() as u32;
        if header.data > 0 {
            measured.meter.on_sent(size);
        } else {
            measured.meter.on_feedback_sent(size);
        }
        (packet.flow, packet.number, packet.data) = (flow as u32, measured.sent, header.data);
        measured.sent += 1;
        self.outgoing.push_back(Packet {
            id: PacketId(0),
            // Queue disciplines distinguish the programs' flows.
            flow: FlowId(header.flow),
            source: NodeId::default(),
            destination,
            size,
            ecn: header.ecn,
            payload: Envelope { sent: now, content: SimPayload::Other(packet) },
        });
    }

    fn meter_mut(&mut self, flow: u32) -> Option<&mut Meter> {
        let position = *self.positions.get(flow as usize)?;
        self.flows.get_mut(position as usize).map(|measured| &mut measured.meter)
    }
}

/// Takes the packet out of an envelope.
fn open(content: &mut SimPayload) -> Option<BoxedPacket> {
    match core::mem::replace(content, SimPayload::Other(Box::new(Empty))) {
        SimPayload::Other(content) => content.into_emulated(),
        _ => None,
    }
}

impl FlowEnd for EmulatedEnd {
    /// The meter of the first flow.
    fn meter(&self) -> &Meter {
        self.flows.first().map_or(&self.unused, |measured| &measured.meter)
    }

    fn meter_of(&self, flow: usize) -> &Meter {
        let position = self.positions.get(flow).map_or(NOT_HERE, |position| *position);
        self.flows.get(position as usize).map_or(&self.unused, |measured| &measured.meter)
    }

    fn emulated(&mut self) -> Option<&mut EmulatedEnd> {
        Some(self)
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let info = envelope.packet_info(size);
        let data = u64::from(envelope.content.data_length());
        let Some(mut packet) = open(&mut envelope.content) else { return };
        if let Some(meter) = self.meter_mut(packet.flow).filter(|_| data > 0) {
            meter.on_received(now, info, data, ecn);
        }
        ip::set_ecn(packet.ip_mut(), ecn);
        self.outbox.lock().arrived.push_back(Arrival { end: self.number, at: now, packet });
    }

    fn poll_transmit(&mut self, _: Instant) -> Option<Packet<Envelope>> {
        self.outgoing.pop_front()
    }

    fn handle_loss(&mut self, now: Instant, mut packet: Packet<Envelope>, cause: LossCause) {
        let info = packet.payload.packet_info(packet.size);
        let Some(packet) = open(&mut packet.payload.content) else { return };
        let has_data = packet.data > 0;
        if let Some(meter) = self.meter_mut(packet.flow) {
            if has_data { meter.on_lost(now, info, cause) } else { meter.on_feedback_lost() }
        }
        self.outbox.lock().spent.push(packet);
    }
}

/// The placeholder for a packet that was taken out.
#[derive(Clone, Copy, Debug)]
struct Empty;

impl Content for Empty {
    fn data_length(&self) -> u32 {
        0
    }

    fn numbers(&self) -> (u64, u64) {
        (0, 0)
    }

    fn capture_bytes(&self, _: &crate::transport::IpHeaders, _: &mut Vec<u8>) -> u8 {
        0
    }
}

/// The transport of the flows of an emulation: the programs' own, unknown here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EmulatedTransport;

impl FlowTransport for EmulatedTransport {
    fn scheme(&self) -> String {
        "emulated".to_owned()
    }

    /// Emulated packets have their final sizes already.
    fn headers(&self) -> u32 {
        0
    }

    /// Ends of one flow each. An emulation has one end per node instead, for all of its flows.
    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2] {
        [flow.meter(), flow.meter()].map(|meter| {
            let mut end = EmulatedEnd::new(0, flow.id.0 as usize + 1, SharedOutbox::default());
            end.add_flow(flow.id, meter);
            FlowAgent::Other(Box::new(end))
        })
    }
}
