use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};

use super::{CoDel, CoDelConfig};
use crate::queue::tests::{ms, packet};
use crate::queue::{Drops, QueueDiscipline};
use crate::{Ecn, QueueLimit};

fn codel(config: &CoDelConfig) -> CoDel {
    CoDel::new(config, QueueLimit::Unlimited).unwrap()
}

/// The milliseconds of drops and of marks if a packet leaves every millisecond from a queue far too long.
fn overload(ecn: bool, codepoint: Ecn, milliseconds: u64) -> (Vec<u64>, Vec<u64>) {
    let mut queue = codel(&CoDelConfig { ecn, ..CoDelConfig::default() });
    let (mut drops, mut dropped, mut marked) = (Drops::default(), Vec::new(), Vec::new());
    for _ in 0..2 * milliseconds {
        queue.enqueue(Instant::ZERO, packet(Instant::ZERO, 1_000, codepoint), &mut drops);
    }
    for now in 1_000..1_000 + milliseconds {
        let packet = queue.dequeue(ms(now), &mut drops).unwrap();
        dropped.extend(drops.take().iter().map(|_| now - 1_000));
        if packet.ecn == Ecn::Ce {
            marked.push(now - 1_000);
        }
    }
    (dropped, marked)
}

/// The delay has been above target for 100 ms at 100 ms; the n-th further drop follows 100 ms / sqrt(n)
/// later: 200, 270.7, 328.4, 378.4, 423.2, 464.0, 501.8 (RFC 8289, Section 3.2).
#[test]
fn drops_follow_the_control_law() {
    assert_eq!(overload(false, Ecn::NotEct, 500).0, [100, 200, 271, 329, 379, 424, 464]);
}

#[test]
fn marks_follow_the_same_law_and_drop_nothing() {
    assert_eq!(overload(true, Ecn::Ect0, 500), (vec![], vec![100, 200, 271, 329, 379, 424, 464]));
    // A transport that does not understand marks gets drops.
    assert_eq!(overload(true, Ecn::NotEct, 500).0.len(), 7);
}

#[test]
fn a_queue_of_one_packet_is_left_alone() {
    let mut queue = codel(&CoDelConfig::default());
    let mut drops = Drops::default();
    for round in 0..100 {
        // Two packets that have waited for 50 ms: behind the first only 1000 bytes remain.
        for _ in 0..2 {
            queue.enqueue(ms(50 * round), packet(ms(50 * round), 1_000, Ecn::NotEct), &mut drops);
        }
        queue.dequeue(ms(50 * round + 50), &mut drops).unwrap();
        queue.dequeue(ms(50 * round + 50), &mut drops).unwrap();
    }
    assert!(drops.take().is_empty());
}

/// RFC 8289, Section 5.5, as it stands there, over a list of packets.
struct PseudoCode {
    packets: std::collections::VecDeque<(f64, u64)>,
    first_above_time: f64,
    drop_next: f64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    dropped: usize,
}

const TARGET: f64 = 5e6;
const INTERVAL: f64 = 100e6;

impl PseudoCode {
    fn control_law(t: f64, count: u32) -> f64 {
        t + INTERVAL / f64::from(count).sqrt()
    }

    fn dodequeue(&mut self, now: f64) -> (Option<(f64, u64)>, bool) {
        let Some(p) = self.packets.pop_front() else {
            self.first_above_time = 0.0;
            return (None, false);
        };
        let bytes: u64 = self.packets.iter().map(|p| p.1).sum();
        let mut ok_to_drop = false;
        if now - p.0 < TARGET || bytes <= 1_514 {
            self.first_above_time = 0.0;
        } else if self.first_above_time == 0.0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(p), ok_to_drop)
    }

    fn dequeue(&mut self, now: f64) -> Option<(f64, u64)> {
        let (mut p, mut ok) = self.dodequeue(now);
        if self.dropping {
            if !ok {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped += 1;
                self.count += 1;
                (p, ok) = self.dodequeue(now);
                if ok {
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok {
            self.dropped += 1;
            (p, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count.saturating_sub(self.lastcount);
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16.0 * INTERVAL {
                self.count = delta;
            }
            self.drop_next = Self::control_law(now, self.count);
            self.lastcount = self.count;
        }
        p
    }
}

proptest! {
    /// Bursts and lulls over simulated minutes: the same packets leave, and as many are dropped.
    #[test]
    fn packets_leave_as_by_the_pseudo_code(
        phases in prop::collection::vec((1u64..400, 1u64..40, 1u64..12), 1..40),
        sizes in prop::collection::vec(40u32..1_500, 1..20),
    ) {
        let mut queue = codel(&CoDelConfig::default());
        let mut model = PseudoCode {
            packets: Default::default(),
            first_above_time: 0.0,
            drop_next: 0.0,
            count: 0,
            lastcount: 0,
            dropping: false,
            dropped: 0,
        };
        let (mut drops, mut dropped, mut number) = (Drops::default(), 0, 0);
        let mut sizes = sizes.iter().cycle();
        // Half a millisecond of offset keeps comparisons of times away from ties, where floats and integers
        // may differ.
        let mut now = Duration::from_micros(500);
        for (steps, in_every, out_every) in phases {
            for step in 0..steps {
                now += Duration::from_micros(1_001);
                let at = Instant::ZERO + now;
                if step % in_every.min(6) == 0 {
                    for _ in 0..in_every % 5 {
                        number += 1;
                        let size = *sizes.next().unwrap();
                        queue.enqueue(at, packet(at, size, Ecn::NotEct), &mut drops);
                        model.packets.push_back((at.as_nanos() as f64, u64::from(size)));
                    }
                }
                if step % out_every == 0 {
                    let packet = queue.dequeue(at, &mut drops).map(|p| (p.arrival.as_nanos() as f64, u64::from(p.size)));
                    dropped += drops.take().len();
                    prop_assert_eq!(packet, model.dequeue(at.as_nanos() as f64));
                    prop_assert_eq!(dropped, model.dropped);
                }
            }
        }
        prop_assert!(number >= dropped);
    }
}
