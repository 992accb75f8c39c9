//! Repair over two paths, of which one fails without a sign.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};

use super::world::{End, Line, World, config, datagram, number};
use crate::multipath::{MultipathConfig, MultipathConnection, MultipathEvent, SchedulerKind};
use crate::repair::{Mark, RepairConfig, RepairCounts, RepairLayer};

/// The latency, and the time between two frames of four datagrams.
const LATENCY: Duration = Duration::from_millis(200);
const FRAME: Duration = Duration::from_millis(40);
const PARTS: usize = 4;

/// The ends of a connection with the layer above each.
struct Repaired {
    world: World,
    client: RepairLayer<MultipathConnection>,
    server: RepairLayer<MultipathConnection>,
    next: u64,
    sent: BTreeMap<u64, Instant>,
    arrived: BTreeMap<u64, Instant>,
}

impl Repaired {
    fn joined(lines: &[Line], scheduler: SchedulerKind) -> Self {
        let settings = MultipathConfig::default().scheduler(scheduler);
        let world = World::joined(lines, config().repair(true), settings);
        let layer = || RepairLayer::new(RepairConfig::new(LATENCY));
        let (sent, arrived) = (BTreeMap::new(), BTreeMap::new());
        let mut pair = Self { world, client: layer(), server: layer(), next: 0, sent, arrived };
        for end in [End::Client, End::Server] {
            pair.event(end, MultipathEvent::Established { is_multipath: true });
        }
        assert!(pair.client.counts().is_some() && pair.server.counts().is_some());
        pair
    }

    fn event(&mut self, end: End, event: MultipathEvent) {
        let layer = if end == End::Client { &mut self.client } else { &mut self.server };
        self.world.command(end, |connection, now| layer.handle_event(now, connection, event));
    }

    fn run_for(&mut self, time: Duration) {
        let until = self.world.now + time;
        while self.world.now < until {
            self.world.run_for(Duration::from_millis(1));
            for end in [End::Client, End::Server] {
                let events = match end {
                    End::Client => std::mem::take(&mut self.world.client_events),
                    End::Server => std::mem::take(&mut self.world.server_events),
                };
                events.into_iter().for_each(|event| self.event(end, event));
                let layer = if end == End::Client { &mut self.client } else { &mut self.server };
                self.world.command(end, |connection, now| layer.handle_timeout(now, connection));
                while let Some(event) = layer.poll_event() {
                    if let MultipathEvent::Datagram { payload, .. } = event {
                        self.arrived.insert(number(&payload), self.world.now);
                    }
                }
            }
        }
    }

    fn frames(&mut self, count: u64) {
        for _ in 0..count {
            for part in 0..PARTS {
                let (number, layer) = (self.next, &mut self.client);
                let datagram = datagram(number).with_mark(Mark::part(part, PARTS));
                let send = |connection: &mut _, now| layer.send(now, connection, datagram).expect("room");
                self.world.command(End::Client, send);
                self.sent.insert(number, self.world.now);
                self.next += 1;
            }
            self.run_for(FRAME);
        }
    }

    /// The datagrams that arrived within that time.
    fn in_time(&self, time: Duration) -> usize {
        let is_in_time = |(number, at): &(&u64, &Instant)| **at <= self.sent[*number] + time;
        self.arrived.iter().filter(is_in_time).count()
    }

    fn counts(&self) -> RepairCounts {
        self.client.counts().expect("it repairs")
    }

    /// Packets with data on both lines, over the datagrams of the application.
    fn packets(&self) -> f64 {
        let sent = (0..2).flat_map(|line| self.world.sent_by(End::Client, line));
        sent.filter(|sent| !sent.packet.payload.is_empty()).count() as f64 / self.sent.len() as f64
    }
}

#[test]
fn coded_data_survive_the_silent_failure_of_the_faster_path_in_time() {
    let mut pair = Repaired::joined(&[Line::of(10), Line::of(35)], SchedulerKind::Coded);
    pair.world.forget();
    // In the middle of a frame.
    pair.frames(100);
    pair.world.lines[0].is_dead = true;
    pair.frames(125);
    pair.world.lines[0].is_dead = false;
    pair.frames(100);
    pair.world.lines[1].is_dead = true;
    pair.frames(100);
    pair.run_for(LATENCY * 2);
    let late = pair.sent.len() - pair.in_time(LATENCY + Duration::from_millis(10));
    assert_eq!((late, pair.arrived.len()), (0, pair.sent.len()), "{:?}", pair.counts());
    // Lost data is sent again on the other path, and one datagram in ten at most is copied.
    assert!(pair.counts().sent.repeats > 10, "{:?}", pair.counts());
    assert!(pair.packets() <= 1.2, "{}", pair.packets());
}

#[test]
fn a_bad_path_beside_a_good_one_costs_little_and_not_for_long() {
    for loss in [64, 128, 255] {
        let mut pair = Repaired::joined(&[Line::of(20), Line::of(5)], SchedulerKind::Coded);
        pair.frames(25);
        // The faster one, so that it has the data at first.
        pair.world.lines[1].loss = loss;
        let before = pair.next as usize;
        pair.frames(25);
        let second = pair.next as usize;
        pair.frames(100);
        pair.run_for(LATENCY * 2);
        let is_late = |number: &u64| {
            let sent = pair.sent[number];
            pair.arrived.get(number).is_none_or(|at| *at > sent + LATENCY + Duration::from_millis(10))
        };
        let late = pair.sent.keys().filter(|number| is_late(number)).count();
        let later = pair.sent.keys().skip(second).filter(|number| is_late(number)).count();
        assert!(late * 20 <= second - before, "{loss}: {late} late, {:?}", pair.counts());
        assert_eq!(later, 0, "{loss}: {:?}", pair.counts());
    }
}
