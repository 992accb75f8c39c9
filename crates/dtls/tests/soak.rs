//! A day of an encrypted connection on a path that fades, reorders and hands over, in simulated time.

use crate::world;

use std::collections::BTreeSet;

use whimbrel_proto::{Ccid, Config};
use whimbrel_units::{Duration, Instant};
use world::{Path, World, pair};

const HOUR: u64 = 3600;
/// A datagram leaves in each.
const INTERVAL: Duration = Duration::from_millis(500);
const PER_HOUR: u32 = 2 * HOUR as u32;
/// Time between two events of the link.
const CALM: u64 = 300;

/// The condition of the path, and its duration.
fn disturb(world: &mut World, n: u64) -> Duration {
    let clean = Path::clean();
    let seconds = world.roll(20) + 1;
    world.path = match n % 5 {
        // An outage.
        0 => Path { lost: 100, ..clean },
        1 => Path { lost: 30, doubled: 10, ..clean },
        2 => Path { jitter: Duration::from_millis(150), ..clean },
        // A handover to a longer path, and back.
        3 => Path { delay: Duration::from_millis(20 + 20 * seconds), ..clean },
        _ => Path { mtu: 600, lost: 5, ..clean },
    };
    Duration::from_secs(seconds)
}

/// The datagrams of a stream, and the subset that the server has received.
#[derive(Default)]
struct Stream {
    next: u32,
    arrived: BTreeSet<u32>,
    /// Datagrams that left while the path was clean.
    calm: u32,
    lost: u32,
}

impl Stream {
    /// Sends for that time.
    fn run(&mut self, world: &mut World, time: Duration, is_calm: bool) {
        let end = world.now + time;
        let first = self.next;
        while world.now < end {
            let data = [&self.next.to_be_bytes()[..], &[7; 96]].concat();
            let _ = world.send(&data);
            self.next += 1;
            world.run(INTERVAL, |_| false);
            let server = world.server.as_mut().expect("connected");
            for data in server.received.drain(..) {
                let number = u32::from_be_bytes(data[..4].try_into().expect("a number"));
                assert!(self.arrived.insert(number), "{number} arrived twice");
            }
            server.events.clear();
            world.client.events.clear();
            assert_eq!((world.client.closed, server_closed(world)), (None, None), "at {:?}", world.now);
        }
        if is_calm {
            // The first ones may wait for a rate that an outage has lowered, and the last one is under way.
            let meant = (first + 40..self.next - 2).collect::<BTreeSet<u32>>();
            self.calm += meant.len() as u32;
            self.lost += meant.difference(&self.arrived).count() as u32;
        }
        // The set does not grow with the time.
        self.arrived = self.arrived.split_off(&self.next.saturating_sub(100));
    }

    fn hours(&mut self, world: &mut World, hours: u64) {
        for n in 0..hours * HOUR / CALM {
            let time = disturb(world, n);
            self.run(world, time, false);
            world.path = Path::clean();
            self.run(world, Duration::from_secs(CALM) - time, true);
        }
    }
}

fn server_closed(world: &World) -> Option<whimbrel_proto::ConnectionError> {
    world.server.as_ref().and_then(|server| server.closed)
}

#[test]
fn a_day_of_events_ends_no_connection_and_takes_no_memory() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let config = Config::default().sender_ccids([ccid]).receiver_ccids([ccid]);
        let (client, server) = pair(3);
        let mut world = World::new(3, Path::clean(), config, (client, server));
        assert!(world.connect(Duration::from_secs(5)));
        let mut stream = Stream::default();
        stream.hours(&mut world, 4);
        let used = allocation_counter::measure(|| stream.hours(&mut world, 20));
        assert!(world.now > Instant::from_secs(24 * HOUR));
        println!(
            "{ccid}: {} datagrams, {} of {} lost on the clean path, memory {:+} bytes in 20 h",
            stream.next, stream.lost, stream.calm, used.bytes_current
        );
        assert!(stream.next.abs_diff(24 * PER_HOUR) < PER_HOUR / 4);
        assert!(stream.lost == 0, "{} of {}", stream.lost, stream.calm);
        // Longer queues after the worst outage, but nothing for each datagram or event.
        assert!(used.bytes_current.abs() < 32 << 10, "{}", used.bytes_current);
    }
}
