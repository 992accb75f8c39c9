use std::collections::VecDeque;

use proptest::prelude::*;
use whimbrel_units::{DataRate, Duration, Instant};

use super::{DropTail, Drops, FlowKey, QueueDiscipline, QueuedPacket};
use crate::{
    Agent, Command, DownPolicy, Ecn, FlowId, LinkConfig, LossCause, NodeId, Packet, PacketId, QueueLimit,
    SimulationConfig, Simulator,
};

/// A packet of flow 1.
pub(super) fn packet(arrival: Instant, size: u32, ecn: Ecn) -> QueuedPacket {
    QueuedPacket::new(arrival, size, ecn, FlowKey { flow: FlowId(1), ..FlowKey::default() })
}

pub(super) fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// The packets dropped by one call.
pub(super) fn dropped(queue: &mut impl QueueDiscipline, now: Instant, packet: QueuedPacket) -> usize {
    let mut drops = Drops::default();
    queue.enqueue(now, packet, &mut drops);
    drops.take().len()
}

/// Sends packets of given times and sizes, and records what comes of them.
#[derive(Default)]
struct Script {
    sends: VecDeque<(Instant, u32)>,
    to: NodeId,
    sent: u64,
    seen: Vec<(Instant, u64, Option<LossCause>)>,
}

impl Agent for Script {
    type Payload = u64;

    fn handle_packet(&mut self, now: Instant, packet: Packet<u64>) {
        self.seen.push((now, packet.payload, None));
    }

    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<u64>> {
        self.sends.front().filter(|(at, _)| *at <= now)?;
        let (_, size) = self.sends.pop_front()?;
        self.sent += 1;
        Some(Packet {
            id: PacketId(0),
            flow: FlowId(1),
            source: NodeId::default(),
            destination: self.to,
            size,
            ecn: Ecn::NotEct,
            payload: self.sent,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.sends.front().map(|send| send.0)
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<u64>, cause: LossCause) {
        self.seen.push((now, packet.payload, Some(cause)));
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Rate(u64),
    Delay(u64),
    Down(DownPolicy),
    Up,
}

/// Arrivals and losses behind a drop-tail link, built in or as a discipline that is asked for each packet.
fn run(
    limit: u32,
    sends: &[(u64, u32)],
    changes: &[(u64, Change)],
    managed: bool,
) -> Vec<(Instant, u64, Option<LossCause>)> {
    let mut simulator = Simulator::new(SimulationConfig::default());
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    let config = LinkConfig::new(DataRate::from_bytes_per_second(1e6), Duration::from_micros(700));
    let link = simulator.add_link(a, b, config.with_packet_limit(limit));
    if managed {
        // A discipline's limit does not count the packet in service.
        simulator.set_queue(link, Box::new(DropTail::new(QueueLimit::Packets(limit - 1))));
    }
    let mut at = 0;
    let sends = sends
        .iter()
        .map(|&(gap, size)| {
            at += gap;
            (Instant::from_nanos(at), size)
        })
        .collect();
    simulator.add_agent(a, FlowId(1), Script { sends, to: b, ..Script::default() });
    let sink = simulator.add_agent(b, FlowId(1), Script::default());
    let mut at = 0;
    for &(gap, change) in changes {
        at += gap;
        let command = match change {
            Change::Rate(rate) => Command::set_rate(link, DataRate::from_bytes_per_second(rate as f64)),
            Change::Delay(delay) => Command::SetDelay { link, delay: Duration::from_micros(delay) },
            Change::Down(policy) => Command::LinkDown { link, policy },
            Change::Up => Command::LinkUp { link },
        };
        simulator.schedule(Instant::from_nanos(at), command);
    }
    simulator.run_until(Instant::from_secs(1_000));
    let mut seen = core::mem::take(&mut simulator.agent_mut(sink).seen);
    // A link that goes down loses its packets at one time, in any order.
    seen.sort_by_key(|&(at, tag, _)| (at, tag));
    seen
}

proptest! {
    #[test]
    fn drop_tail_as_a_discipline_is_drop_tail_built_in(
        limit in 2u32..6,
        sends in prop::collection::vec((0u64..2_500_000, 40u32..1_500), 1..80),
        changes in prop::collection::vec(
            (
                0u64..20_000_000,
                prop_oneof![
                    prop_oneof![Just(0u64), 100_000u64..3_000_000].prop_map(Change::Rate),
                    (0u64..5_000).prop_map(Change::Delay),
                    Just(Change::Down(DownPolicy::Hold)),
                    Just(Change::Down(DownPolicy::DropQueue)),
                    Just(Change::Down(DownPolicy::DropAll)),
                    Just(Change::Up),
                ],
            ),
            0..8,
        ),
    ) {
        prop_assert_eq!(run(limit, &sends, &changes, true), run(limit, &sends, &changes, false));
    }
}
