use alloc::vec::Vec;

use super::super::{LossClass, LossDifferentiation, Spike, Standing};
use super::{packet, verdict};

/// Arrivals every `step` ms from `from` ms on, with the trip times of `rott`.
fn arrive(
    scheme: &mut dyn LossDifferentiation,
    from: f64,
    step: f64,
    count: u32,
    rott: impl Fn(u32) -> f64,
) -> f64 {
    let mut at = from;
    for n in 0..count {
        at = from + step * f64::from(n + 1);
        scheme.on_arrival(&packet(u64::from(n), at, rott(n)));
    }
    at
}

fn class(scheme: &mut dyn LossDifferentiation) -> LossClass {
    verdict(scheme, 1, 0.0, 10.0)
}

#[test]
fn a_queue_that_stands_at_the_target_of_codel_is_congestion_however_long_slow_start_was() {
    let (mut standing, mut spike) = (Standing::new(), Spike::new().robust());
    for scheme in [&mut standing as &mut dyn LossDifferentiation, &mut spike] {
        // Slow start fills the queue to 200 ms; then it varies from 2 to 14 ms.
        let at = arrive(scheme, 0.0, 10.0, 20, |n| 20.0 + 10.0 * f64::from(n));
        arrive(scheme, at, 10.0, 500, |n| 22.0 + f64::from(n % 13));
    }
    assert_eq!(class(&mut spike), LossClass::Wireless);
    assert_eq!(class(&mut standing), LossClass::Congestion);
    // Empty for a second, then short on average.
    arrive(&mut standing, 5200.0, 10.0, 200, |_| 21.0);
    assert_eq!(class(&mut standing), LossClass::Wireless);
}

#[test]
fn a_queue_of_less_than_5_ms_stands_if_it_is_more_than_half_full_on_average() {
    // 32 packets of 1,500 bytes at 100 Mbit/s take 3.8 ms.
    let mut standing = Standing::new();
    let at = arrive(&mut standing, 0.0, 10.0, 200, |n| if n % 5 < 3 { 20.0 } else { 23.8 });
    assert_eq!(class(&mut standing), LossClass::Wireless, "1.5 ms of 3.8");
    arrive(&mut standing, at, 10.0, 500, |n| 22.0 + f64::from(n % 3) * 0.9);
    assert_eq!(class(&mut standing), LossClass::Congestion, "2.9 ms of 3.8");
}

#[test]
fn the_packets_of_a_frame_are_no_standing_queue() {
    // 16 packets leave together every 33 ms and queue for 0.2 ms each.
    let (mut standing, mut spike) = (Standing::new(), Spike::new().robust());
    for scheme in [&mut standing as &mut dyn LossDifferentiation, &mut spike] {
        for n in 0..960_u32 {
            let behind = f64::from(n % 16) * 0.2;
            let at = 33.0 * f64::from(n / 16) + behind;
            scheme.on_arrival(&packet(u64::from(n), at, 20.0 + behind));
        }
    }
    assert_eq!(class(&mut spike), LossClass::Congestion, "the last packet waited longest");
    assert_eq!(class(&mut standing), LossClass::Wireless);
}

#[test]
fn bursts_that_lose_where_nothing_else_does_are_congestion_even_if_no_queue_stands() {
    let mut standing = Standing::new();
    let mut at = 0.0;
    let found = [(); 4].map(|()| {
        at = arrive(&mut standing, at, 10.0, 300, |_| 20.0);
        at = arrive(&mut standing, at, 0.1, 8, |n| 22.4 + 2.4 * f64::from(n)) + 30.0;
        class(&mut standing)
    });
    let [wireless, congestion] = [LossClass::Wireless, LossClass::Congestion];
    assert_eq!(found, [wireless, wireless, congestion, congestion], "one or two may be chance");
    arrive(&mut standing, at, 10.0, 1, |_| 20.0);
    assert_eq!(class(&mut standing), LossClass::Wireless);
}

#[test]
fn a_longer_route_is_no_standing_queue_for_ever() {
    let mut standing = Standing::new();
    let at = arrive(&mut standing, 0.0, 100.0, 100, |_| 20.0);
    let at = arrive(&mut standing, at, 100.0, 300, |_| 40.0);
    assert_eq!(class(&mut standing), LossClass::Congestion, "30 s later");
    arrive(&mut standing, at, 100.0, 900, |_| 40.0);
    assert_eq!(class(&mut standing), LossClass::Wireless, "two minutes later");
}

/// Frames of 12 packets that queue behind each other for 1.2 ms each. The radio loses one packet in
/// `every`, and the queue `dropped` packets behind the eighth of each frame. Returns the shares of both
/// that count as congestion.
fn bursts(every: u64, dropped: u64) -> [f64; 2] {
    let mut standing = Standing::new();
    let (mut radio, mut queue) = ([0.0; 2], [0.0; 2]);
    let (mut sequence, mut missing) = (0_u64, None);
    for frame in 0..300_u64 {
        for n in 0..12 {
            let is_radio_loss = every > 0 && (frame * 12 + n) % every == every - 1;
            let is_dropped = n >= 8 && n < 8 + dropped;
            sequence += 1;
            if is_radio_loss || is_dropped {
                missing = Some((sequence, is_dropped));
                continue;
            }
            let rott = 20.0 + 1.2 * n as f64;
            standing.on_arrival(&packet(sequence, 33.0 * frame as f64 + rott, rott));
            if let Some((first, is_dropped)) = missing.take() {
                let counts = verdict(&mut standing, sequence - first, 0.0, 10.0) == LossClass::Congestion;
                let of = if is_dropped { &mut queue } else { &mut radio };
                if frame >= 30 {
                    *of = [of[0] + 1.0, of[1] + f64::from(u8::from(counts))];
                }
            }
        }
    }
    [radio, queue].map(|[all, counted]| if all > 0.0 { counted / all } else { 0.0 })
}

/// Eight packets of 5 ms each leave together 17 times a second. The mean of their queue is 12 ms, but each
/// frame finds it empty.
#[test]
fn frames_that_use_most_of_a_slow_link_are_no_standing_queue() {
    let mut standing = Standing::new();
    for n in 0..800_u32 {
        let behind = f64::from(n % 8) * 5.0;
        standing.on_arrival(&packet(u64::from(n), 58.0 * f64::from(n / 8) + 20.0 + behind, 20.0 + behind));
        if n % 8 == 2 {
            let wireless = (n < 80) | (class(&mut standing) == LossClass::Wireless);
            assert!(wireless, "packet {n}: {:?}", standing.evidence());
        }
    }
    // A queue not empty before the next frame stands.
    for n in 0..400_u32 {
        let behind = 8.0 + f64::from(n % 8) * 5.0;
        standing.on_arrival(&packet(
            u64::from(n),
            60_000.0 + 58.0 * f64::from(n / 8) + behind,
            20.0 + behind,
        ));
    }
    assert_eq!(class(&mut standing), LossClass::Congestion);
}

#[test]
fn a_radio_that_loses_in_bursts_as_between_them_is_not_the_queue() {
    let [radio, _] = bursts(13, 0);
    assert!(radio < 0.02, "{radio} of the losses at 8 % count");
}

#[test]
fn a_queue_that_drops_in_bursts_what_the_radio_does_not_lose_between_them_is_congestion() {
    let [_, queue] = bursts(0, 1);
    assert!(queue > 0.98, "{queue} without losses of the radio");
    let [_, queue] = bursts(101, 1);
    assert!(queue > 0.98, "{queue} beside 1 % of the radio");
}

/// A video at 25 frames a second whose radio loses 5 % at random: each second a key frame of 14 to 20
/// packets, which queue behind each other for 0.5 ms each, and frames of three between. Only the last
/// packets of key frames wait for more than 5 ms. Returns the losses and those that count as congestion.
fn key_frames(seed: u64) -> [u32; 2] {
    let mut standing = Standing::new();
    let (mut dice, mut sequence, mut missing) = (seed, 0_u64, 0_u64);
    let mut losses = [0; 2];
    for frame in 0..1500_u32 {
        let packets = if frame % 25 == 0 { 14 + frame / 25 % 7 } else { 3 };
        for n in 0..packets {
            sequence += 1;
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if dice >> 32 < (1 << 32) / 20 {
                missing += 1;
                continue;
            }
            let rott = 120.0 + 0.5 * f64::from(n);
            standing.on_arrival(&packet(sequence, 40.0 * f64::from(frame) + rott, rott));
            if missing > 0 {
                let counts = verdict(&mut standing, missing, 0.0, 10.0) == LossClass::Congestion;
                losses = [losses[0] + 1, losses[1] + u32::from(counts)];
                missing = 0;
            }
        }
    }
    losses
}

#[test]
fn a_radio_that_loses_the_end_of_key_frames_as_anything_else_is_not_the_queue() {
    let all = (0..8).map(key_frames).fold([0; 2], |sum, losses| [sum[0] + losses[0], sum[1] + losses[1]]);
    assert!(f64::from(all[1]) < 0.01 * f64::from(all[0]), "{} of {} losses count", all[1], all[0]);
}

/// A queue with so many places for packets of 2.4 ms each. This stream takes four fifths of the link, and
/// others send a packet with each of eight of its packets in forty. Returns the share of the drops that count
/// as congestion, after the first 10 s.
fn short_queue(places: usize) -> f64 {
    let mut standing = Standing::new();
    let (mut dice, mut leaves, mut missing) = (1_u64, std::vec::Vec::new(), 0);
    let mut drops = [0.0; 2];
    for sequence in 0..10_000_u64 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = 3.0 * sequence as f64 + (dice >> 40) as f64 * 6e-8;
        let others = u32::from(sequence % 40 < 8);
        for own in (0..others).map(|_| false).chain([true]) {
            leaves.retain(|leave| *leave > at);
            if leaves.len() > places {
                missing += u64::from(own);
                continue;
            }
            let leave = leaves.last().copied().unwrap_or(at).max(at) + 2.4;
            leaves.push(leave);
            if own {
                standing.on_arrival(&packet(sequence, leave + 20.0, leave - at + 20.0));
                if missing > 0 {
                    let counts = verdict(&mut standing, missing, 0.0, 10.0) == LossClass::Congestion;
                    if at > 10_000.0 {
                        drops = [drops[0] + 1.0, drops[1] + f64::from(u8::from(counts))];
                    }
                    missing = 0;
                }
            }
        }
    }
    assert!(drops[0] > 50.0, "{drops:?}");
    drops[1] / drops[0]
}

/// Such a queue lasts for less than 10 ms, and the packet after a drop finds less than 5.
#[test]
fn a_queue_of_few_packets_that_drops_is_congestion() {
    let shares = [2, 3].map(short_queue);
    assert!(shares.iter().all(|share| *share > 0.7), "{shares:?} of the drops count");
}

/// Losses of every 20th packet of a stream on a path with a queue of 200 packets, which serves each packet in
/// the time that `service` gives for the one at which it begins; a packet each 5 ms, for 10 s. Returns the
/// times at which they were sent, and their classes.
fn served(service: impl Fn(f64) -> f64) -> Vec<(f64, LossClass)> {
    let mut standing = Standing::new();
    let (mut free, mut served, mut classes) = (0.0, 0_u64, Vec::new());
    for sent in (0..2000).map(|n| 5.0 * f64::from(n)) {
        let waits = f64::max(free - sent, 0.0);
        if waits > 200.0 * service(sent) {
            continue;
        }
        free = sent + waits + service(sent + waits);
        served += 1;
        if served.is_multiple_of(20) {
            classes.push((sent, class(&mut standing)));
        } else {
            standing.on_arrival(&packet(served, free + 20.0, free + 20.0 - sent));
        }
    }
    classes
}

/// A radio that looks for other stations, a cell's handover, a host that does something else.
#[test]
fn a_path_that_stands_still_for_moments_has_no_standing_queue() {
    for still in [40.0, 60.0, 100.0, 200.0] {
        let classes = served(|at| if at > 2.4 && at % 500.0 < 2.4 { still } else { 2.4 });
        let is_wrong = |(_, class): &&(f64, LossClass)| *class == LossClass::Congestion;
        let wrong: Vec<_> = classes.iter().filter(is_wrong).collect();
        assert!(wrong.is_empty() && classes.len() > 90, "{still} ms: {wrong:?}");
    }
}

/// Each packet that comes after more than 20 ms has waited for the one before it.
#[test]
fn a_path_that_has_become_slow_does_not_stand_still() {
    for service in [6.0, 21.0, 30.0, 60.0] {
        let classes = served(|at| if at < 4000.0 { 2.4 } else { service });
        let late: Vec<_> =
            classes.iter().filter(|(sent, _)| *sent > 6000.0).map(|(_, class)| class).collect();
        assert!(
            late.len() > 1 && late.iter().all(|class| **class == LossClass::Congestion),
            "{service}: {late:?}"
        );
    }
}

/// The path stands still as a connection begins.
#[test]
fn a_first_packet_that_has_waited_is_no_standing_queue() {
    let mut standing = Standing::new();
    let at = arrive(&mut standing, 0.0, 2.4, 5, |n| 34.0 - 2.4 * f64::from(n));
    arrive(&mut standing, at, 10.0, 20, |_| 20.0);
    assert_eq!(class(&mut standing), LossClass::Wireless);
}

/// Its mean is above 5 ms for a second longer.
#[test]
fn a_queue_that_has_left_does_not_stand() {
    let mut standing = Standing::new();
    let at = arrive(&mut standing, 0.0, 5.0, 400, |_| 20.0);
    let at = arrive(&mut standing, at, 5.0, 100, |n| 20.0 + 0.5 * f64::from(n));
    assert_eq!(class(&mut standing), LossClass::Congestion);
    for n in 0..20 {
        arrive(&mut standing, at + 50.0 * f64::from(n), 5.0, 10, |_| 21.0);
        assert_eq!(class(&mut standing), LossClass::Wireless, "{n}");
    }
}

/// Key frames wait for up to 20 ms, and between them the queue is empty.
#[test]
fn a_trip_time_that_is_too_short_makes_no_queue_stand() {
    let mut standing = Standing::new();
    for n in 0..600_u32 {
        let rott = match n {
            300 => 119.1,
            _ if n % 50 < 12 => 120.1 + 2.0 * f64::from(n % 50),
            _ => 120.1,
        };
        standing.on_arrival(&packet(u64::from(n), 10.0 * f64::from(n) + rott, rott));
        if n == 461 {
            assert_eq!(class(&mut standing), LossClass::Wireless, "{:?}", standing.evidence());
        }
    }
}

#[test]
fn two_packets_may_arrive_at_once() {
    let mut standing = Standing::new();
    arrive(&mut standing, 0.0, 0.0, 2, |_| 20.0);
    arrive(&mut standing, 0.0, 5.0, 400, |n| 20.0 + f64::from(n.min(50)));
    assert_eq!(class(&mut standing), LossClass::Congestion);
}
