//! Controllers of egresses, and headers that they write.

use std::sync::{Arc, Mutex};

use super::*;
use crate::medium::{IdealMedium, Observation, Position};
use crate::queue::Discipline;
use crate::{ControlledPacket, Controller, Egress, PacketId, QueueLimit, Shim};

/// A packet with or without a header that routers write.
type Content = Option<Shim>;

/// Sends packets with these contents at once and keeps what arrives.
#[derive(Default)]
struct End {
    peer: NodeId,
    sends: VecDeque<Content>,
    received: Vec<(Instant, Content)>,
}

impl Agent for End {
    type Payload = Content;

    fn handle_packet(&mut self, now: Instant, packet: Packet<Content>) {
        self.received.push((now, packet.payload));
    }

    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, _: Instant) -> Option<Packet<Content>> {
        let payload = self.sends.pop_front()?;
        let (destination, source) = (self.peer, NodeId::default());
        Some(Packet {
            id: PacketId(0),
            flow: FLOW,
            source,
            destination,
            size: 1_000,
            ecn: Ecn::NotEct,
            payload,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn shim(payload: &mut Content) -> Option<&mut Shim> {
        payload.as_mut()
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Seen {
    Arrival(Instant, u64),
    Departure(Instant, u64),
    Interval(Instant, u64),
    Observed(Instant),
}

/// Grants at most this rate, and has a control interval.
struct Cap {
    most: f64,
    interval: Duration,
    next: Instant,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Cap {
    fn new(most: f64) -> (Self, Arc<Mutex<Vec<Seen>>>) {
        let seen = Arc::default();
        let interval = Duration::from_millis(2);
        (Self { most, interval, next: Instant::ZERO + interval, seen: Arc::clone(&seen) }, seen)
    }

    fn note(&self, seen: Seen) {
        self.seen.lock().unwrap().push(seen);
    }
}

impl Controller for Cap {
    fn handle_arrival(&mut self, now: Instant, packet: &mut ControlledPacket<'_>, backlog: Count) {
        assert_eq!(packet.size, 1_000);
        self.note(Seen::Arrival(now, backlog.packets));
    }

    fn handle_departure(&mut self, now: Instant, packet: &mut ControlledPacket<'_>, backlog: Count) {
        if let Some(shim) = &mut packet.shim {
            shim.allocation = shim.allocation.min(self.most);
        }
        self.note(Seen::Departure(now, backlog.packets));
    }

    fn handle_timeout(&mut self, now: Instant, backlog: Count) {
        self.note(Seen::Interval(now, backlog.packets));
        self.next = if now < micros(4_000) { now + self.interval } else { Instant::FAR_FUTURE };
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (self.next < Instant::FAR_FUTURE).then_some(self.next)
    }

    fn handle_observation(&mut self, now: Instant, observation: &Observation) {
        assert!(matches!(observation, Observation::Sent(_)));
        self.note(Seen::Observed(now));
    }
}

fn shim(allocation: f64) -> Content {
    Some(Shim { rtt: Duration::from_millis(50), rate: DataRate::from_bits_per_second(1e6), allocation })
}

fn allocations(end: &End) -> Vec<Option<f64>> {
    end.received.iter().map(|(_, content)| content.map(|shim| shim.allocation)).collect()
}

fn end(peer: NodeId, sends: &[Content]) -> End {
    End { peer, sends: sends.iter().copied().collect(), received: Vec::new() }
}

#[test]
fn the_smallest_allocation_on_the_path_reaches_the_receiver() {
    let mut simulator: Simulator<End> = Simulator::new(SimulationConfig::default());
    let nodes = ["a", "b", "c"].map(|name| simulator.add_node(name));
    let first = simulator.add_link(nodes[0], nodes[1], slow());
    let second = simulator.add_link(nodes[1], nodes[2], slow());
    let (wide, _) = Cap::new(5e6);
    let (narrow, seen) = Cap::new(2e6);
    simulator.set_controller(Egress::Link(first), Box::new(wide));
    simulator.set_controller(Egress::Link(second), Box::new(narrow));
    simulator.add_agent(nodes[0], FLOW, end(nodes[2], &[shim(9e6), None, shim(1e6)]));
    let sink = simulator.add_agent(nodes[2], FLOW, End::default());
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(allocations(simulator.agent(sink)), [Some(2e6), None, Some(1e6)]);
    // A packet reaches the second link 6 ms after it was sent and leaves at once, as the rates are alike.
    let expected: Vec<Seen> = [2_000, 4_000]
        .map(|at| Seen::Interval(micros(at), 0))
        .into_iter()
        .chain(
            [6_000, 7_000, 8_000]
                .into_iter()
                .flat_map(|at| [Seen::Arrival(micros(at), 0), Seen::Departure(micros(at), 0)]),
        )
        .collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_controller_sees_the_queue_and_does_not_move_packets_in_time() {
    let run = |controlled: bool| {
        let mut simulator: Simulator<End> = Simulator::new(SimulationConfig::default());
        let [a, b] = ["a", "b"].map(|name| simulator.add_node(name));
        let link = simulator.add_link(a, b, slow());
        let (cap, seen) = Cap::new(2e6);
        if controlled {
            simulator.set_controller(Egress::Link(link), Box::new(cap));
        }
        simulator.add_agent(a, FLOW, end(b, &[None, None, None]));
        let sink = simulator.add_agent(b, FLOW, End::default());
        simulator.run_until(Instant::from_secs(1));
        let times: Vec<Instant> = simulator.agent(sink).received.iter().map(|(at, _)| *at).collect();
        let seen = seen.lock().unwrap().clone();
        (times, seen)
    };
    let (with, seen) = run(true);
    assert_eq!(with, run(false).0);
    use Seen::{Arrival, Departure, Interval};
    let expected = [
        Arrival(micros(0), 0),
        Departure(micros(0), 0),
        Arrival(micros(0), 0),
        Arrival(micros(0), 1),
        Departure(micros(1_000), 1),
        // Both of one time: the end of the transmission was planned before the interval began.
        Interval(micros(2_000), 1),
        Departure(micros(2_000), 0),
        Interval(micros(4_000), 0),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_controller_at_a_station_sees_the_packets_and_the_medium() {
    let mut simulator: Simulator<End> = Simulator::new(SimulationConfig::default());
    let places = vec![Position::default(); 2];
    let medium = IdealMedium::new(DataRate::from_bytes_per_second(1e6), 1.0, places);
    let medium = simulator.add_medium(medium);
    let nodes = ["a", "b"].map(|name| simulator.add_node(name));
    let stations = nodes.map(|node| {
        simulator.add_station(node, medium, &Discipline::DropTail, QueueLimit::Unlimited).unwrap()
    });
    let (cap, seen) = Cap::new(2e6);
    simulator.set_controller(Egress::Station(stations[0]), Box::new(cap));
    simulator.add_agent(nodes[0], FLOW, end(nodes[1], &[shim(9e6)]));
    let sink = simulator.add_agent(nodes[1], FLOW, End::default());
    simulator.run_until(micros(1_500));
    assert_eq!(allocations(simulator.agent(sink)), [Some(2e6)]);
    let expected =
        [Seen::Arrival(micros(0), 0), Seen::Departure(micros(0), 0), Seen::Observed(micros(1_000))];
    assert_eq!(*seen.lock().unwrap(), expected);
}
