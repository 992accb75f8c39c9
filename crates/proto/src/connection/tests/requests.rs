//! The times of a client's Requests, and the handshake on a path with bursts of loss.

use whimbrel_units::Duration;
use whimbrel_wire::PacketType;

use super::pair::{End, Pair, SentPacket, config};
use crate::config::{RequestSchedule, TimerConfig};
use crate::{Config, State};

/// Times of the client's Requests in milliseconds after the first.
fn request_times(pair: &Pair) -> Vec<u64> {
    let sent = pair.sent_by(End::Client, PacketType::Request);
    sent.iter().map(|packet| (packet.at - sent[0].at).as_millis()).collect()
}

#[test]
fn the_default_schedule_has_a_second_request_after_100_ms_and_then_five_per_second() {
    let mut pair = Pair::new(Config { timers: TimerConfig::default(), ..config(Duration::ZERO) });
    pair.lose(|_| true);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_millis(1_000));
    assert_eq!(request_times(&pair), [0, 100, 300, 500, 700, 900]);
}

#[test]
fn the_round_trip_time_is_that_of_the_request_that_was_answered_though_others_followed() {
    let mut pair = Pair::new(Config { timers: TimerConfig::default(), ..config(Duration::ZERO) });
    pair.delay = Duration::from_millis(440);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_millis(1_000));
    assert_eq!(request_times(&pair), [0, 100, 300, 500, 700]);
    assert_eq!(pair.client.state(), State::PartOpen);
    assert_eq!(pair.client.snapshot().rtt, Some(Duration::from_millis(880)));
}

/// A path that loses 95 % for periods of 4 s on average, and 5 % for 1 s between them (Gilbert and Elliott).
fn bursty(seed: u64) -> impl FnMut(&SentPacket) -> bool {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // SplitMix64.
    let mut draw = move |parts: u64| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % parts
    };
    let mut is_bad = draw(5) > 0;
    let mut known = None;
    move |sent| {
        let known = known.get_or_insert(sent.at);
        while *known < sent.at {
            *known += Duration::from_millis(50);
            is_bad ^= draw(if is_bad { 80 } else { 20 }) == 0;
        }
        draw(100) < if is_bad { 95 } else { 5 }
    }
}

/// Number of 400 clients on bursty paths to which the handshake has given a connection after 2, 5 and 45 s.
fn connected(requests: RequestSchedule) -> [usize; 3] {
    let mut counts = [0; 3];
    for seed in 1..=400 {
        let timers = TimerConfig { requests, ..TimerConfig::rfc4340() };
        let mut pair = Pair::new(Config { timers, ..config(Duration::ZERO) });
        pair.lose(bursty(seed));
        pair.client.connect(pair.now);
        for (count, seconds) in counts.iter_mut().zip([2, 3, 40]) {
            pair.run_for(Duration::from_secs(seconds));
            let is_open = |state| state == State::Open;
            *count += usize::from(pair.server.as_ref().is_some_and(|server| is_open(server.state())));
        }
    }
    counts
}

#[test]
fn a_bursty_path_opens_within_seconds() {
    let media = connected(RequestSchedule::default());
    let rfc4340 = connected(RequestSchedule::RFC4340);
    assert!(media.iter().zip(rfc4340).all(|(media, rfc4340)| *media > rfc4340), "{media:?}, {rfc4340:?}");
    assert!(media[2] == 400 && rfc4340[2] < 300, "{media:?}, {rfc4340:?}");
}
