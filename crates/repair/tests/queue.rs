//! A path whose queue shows its rate.

use std::collections::VecDeque;

use whimbrel_repair::receiver::{Receiver, ReceiverConfig};
use whimbrel_repair::sender::{Mark, Sender, SenderConfig};
use whimbrel_units::{Duration, Instant};

const LATENCY: Duration = Duration::from_millis(150);
const ONE_WAY: Duration = Duration::from_millis(20);
const STEP: Duration = Duration::from_micros(500);
const SIZE: usize = 1_200;

/// The sender's state after a step: the time, the prospect, and the rate of the path in bit/s.
type Known = (Instant, Duration, Option<f64>);

/// Four seconds of video over a queue, with a frame every 33 ms. `path` returns the rate in bit/s at a time
/// in milliseconds, and `frame` the datagrams of a frame. The path stops for `pause` before every fiftieth
/// datagram.
fn run(path: impl Fn(u64) -> f64, frame: impl Fn(u64) -> usize, pause: Duration) -> Vec<Known> {
    let mut sender = Sender::new(SenderConfig {
        round_trip: ONE_WAY * 2,
        queue: 1_000,
        ..SenderConfig::new(SIZE as u16 + 100, LATENCY)
    });
    let mut receiver = Receiver::new(ReceiverConfig::new(SIZE as u16 + 100, LATENCY));
    receiver.set_round_trip(ONE_WAY * 2);
    let (mut forth, mut back) = (VecDeque::new(), VecDeque::new());
    let (mut known, mut out) = (Vec::new(), Vec::new());
    let (mut free, mut frames, mut sent) = (Instant::ZERO, 0, 0);
    for millis in 0..4_000 {
        let now = Instant::from_millis(1_000 + millis);
        if millis % 33 == 0 {
            let count = frame(frames);
            frames += 1;
            for part in 0..count {
                sender.send(now, &[0; SIZE], Mark::part(part, count)).expect("an accepted datagram");
            }
        }
        for now in [now, now + STEP] {
            while back.front().is_some_and(|(at, _)| *at <= now)
                && let Some((_, report)) = back.pop_front()
            {
                let report: Vec<u8> = report;
                sender.handle_packet(now, &report).expect("a report");
            }
            sender.handle_timeout(now);
            while sender.poll_transmit(now, &mut out).is_some() {
                sent += 1;
                let pause = if sent % 50 == 0 { pause } else { Duration::ZERO };
                free = free.max(now) + pause + Duration::from_secs_f64(out.len() as f64 * 8.0 / path(millis));
                forth.push_back((free + ONE_WAY, out.clone()));
            }
            while sender.poll_event().is_some() {}
            while forth.front().is_some_and(|(at, _)| *at <= now)
                && let Some((_, datagram)) = forth.pop_front()
            {
                receiver.handle_packet(now, &datagram).expect("a datagram");
            }
            receiver.handle_timeout(now);
            while receiver.poll_transmit(now, &mut out).is_some() {
                back.push_back((now + ONE_WAY, out.clone()));
            }
            while receiver.poll_delivery(now, &mut out).is_some() {}
            known.push((now, sender.prospect(), sender.path_rate().map(|rate| rate.as_bits_per_second())));
        }
    }
    known
}

#[test]
fn a_large_frame_shows_the_rate_of_the_path() {
    // 4 Mbit/s, frames of 6 datagrams and every thirtieth of 40, which takes 98 ms.
    let known = run(|_| 4e6, |number| if number % 30 == 20 { 40 } else { 6 }, Duration::ZERO);
    let rates: Vec<f64> = known.iter().filter_map(|(_, _, rate)| *rate).collect();
    assert!(!rates.is_empty());
    for rate in rates {
        assert!((3.6e6..4.4e6).contains(&rate), "{rate}");
    }
}

#[test]
fn a_pause_is_no_slower_path() {
    let frame = |number| if number % 30 == 20 { 40 } else { 6 };
    let known = run(|_| 4e6, frame, Duration::from_millis(25));
    for (at, _, rate) in known {
        assert!(rate.is_none_or(|rate| rate > 2.4e6), "{at:?}: {rate:?}");
    }
}

#[test]
fn a_fall_of_the_rate_is_known_at_the_next_frames() {
    const FALL: u64 = 2_010;
    // 4 Mbit/s, of which a video takes 2.4, and then 1 Mbit/s.
    let known = run(|millis| if millis < FALL { 4e6 } else { 1e6 }, |_| 8, Duration::ZERO);
    let fall = Instant::from_millis(1_000 + FALL);
    let is_short = |prospect: Duration| prospect < LATENCY * 6 / 10;
    assert!(known.iter().all(|(at, prospect, _)| *at > fall || !is_short(*prospect)));
    let is_known =
        |(_, prospect, rate): &&Known| is_short(*prospect) && rate.is_some_and(|rate| rate < 1.2e6);
    let (at, _, rate) = known.iter().find(is_known).expect("a known fall");
    // The next frame is 3 ms away, and two reports whose delays grew by 20 ms each come back.
    assert!(*at - fall < Duration::from_millis(130), "{:?}", *at - fall);
    assert!(rate.is_some_and(|rate| rate > 0.9e6), "{rate:?}");
}
