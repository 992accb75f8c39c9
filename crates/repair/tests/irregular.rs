//! Datagrams that come when something happens, not at the rate of a camera.

use std::collections::VecDeque;

use whimbrel_repair::receiver::{Receiver, ReceiverConfig};
use whimbrel_repair::sender::{Mark, Sender, SenderConfig};
use whimbrel_units::{Duration, Instant};

const STEP: Duration = Duration::from_micros(500);
const STEPS: u64 = 60_000;

/// A name, the most reports per datagram, and the datagrams that are sent in a millisecond.
type Pattern = (&'static str, f64, fn(u64) -> u32);

/// Reports and repeats per datagram over 30 s without losses. `sent_in`: datagrams that are sent in a
/// millisecond.
fn run(one_way: Duration, sent_in: impl Fn(u64) -> u32) -> (f64, f64) {
    let latency = Duration::from_millis(150);
    let round_trip = one_way * 2;
    let mut sender = Sender::new(SenderConfig { round_trip, ..SenderConfig::new(1_300, latency) });
    let mut receiver = Receiver::new(ReceiverConfig::new(1_300, latency));
    receiver.set_round_trip(round_trip);
    let (mut forth, mut back) = (VecDeque::new(), VecDeque::new());
    let (mut sent, mut packets, mut out) = (0, 0, Vec::new());
    for step in 0..STEPS {
        let now = Instant::from_millis(1_000) + STEP * step;
        for _ in 0..if step % 2 == 0 { sent_in(step / 2) } else { 0 } {
            sender.send(now, &[0; 200], Mark::part(0, 1)).expect("an accepted datagram");
            sent += 1;
        }
        while back.front().is_some_and(|(at, _): &(Instant, Vec<u8>)| *at <= now)
            && let Some((_, report)) = back.pop_front()
        {
            sender.handle_packet(now, &report).expect("a report");
        }
        sender.handle_timeout(now);
        while sender.poll_transmit(now, &mut out).is_some() {
            packets += 1;
            forth.push_back((now + one_way, out.clone()));
        }
        while sender.poll_event().is_some() {}
        while forth.front().is_some_and(|(at, _): &(Instant, Vec<u8>)| *at <= now)
            && let Some((_, datagram)) = forth.pop_front()
        {
            receiver.handle_packet(now, &datagram).expect("a datagram");
        }
        receiver.handle_timeout(now);
        while receiver.poll_transmit(now, &mut out).is_some() {
            back.push_back((now + one_way, out.clone()));
        }
        while receiver.poll_delivery(now, &mut out).is_some() {}
    }
    let each = |count: u64| count as f64 / f64::from(sent);
    (each(receiver.counts().reports), each(packets) - 1.0)
}

#[test]
fn what_is_not_regular_is_not_asked_for_before_it_is_sent() {
    // A report each 100 ms is regular.
    let patterns: [Pattern; 4] = [
        ("regular", 1.05, |millis| u32::from(millis % 96 == 0)),
        ("two streams", 0.7, |millis| u32::from(millis % 96 == 0) + u32::from(millis % 101 == 50)),
        ("a sender that is late at times", 1.25, |millis| u32::from((millis + millis / 96 % 5) % 96 == 0)),
        ("bursts", 1.0, |millis| if millis % 1_000 == 0 { 10 } else { 0 }),
    ];
    for one_way in [Duration::from_micros(150), Duration::from_millis(20)] {
        for (name, most, sent_in) in patterns {
            let (reports, repeats) = run(one_way, sent_in);
            assert!(reports <= most, "{name}, {one_way:?}: {reports:.2} reports per datagram");
            assert!(repeats < 0.01, "{name}, {one_way:?}: {repeats:.2} repeats per datagram");
        }
    }
}
