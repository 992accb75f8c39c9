//! A path that carries data again, at random: after any datagram sizes, pauses, outages and packet sizes of
//! the path, a steady application gets its rate.

use whimbrel_proto::{Config, PathMtuDiscovery};
use whimbrel_units::{Duration, Instant};

use super::{Action, Dice, IcmpPolicy, PathPlan, Plan, Side};

/// A steady application and its expected rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Steady {
    /// The sending host.
    pub from: Side,
    /// Time from which the path has no impairment and the application is steady.
    pub since: Instant,
    /// Time from which it gets its rate.
    pub due: Instant,
}

/// Time limit for the recovery of the rate: a sender at the least rate sends once in 64 seconds (RFC 5348,
/// Section 4.3, t_mbi); after the acknowledgement of that packet it may double its rate each round-trip time.
const RECOVERY: Duration = Duration::from_secs(100);
/// Time over which the rate is measured.
const MEASURED: Duration = Duration::from_secs(10);

/// Turns a plan into one of this kind: the hosts and configurations drawn before stay.
pub(super) fn draw(dice: &mut Dice, plan: &mut Plan) {
    let start = plan.start;
    let from = *dice.pick(&Side::BOTH);
    let client = plan.script.iter().find_map(|(_, action)| match action {
        Action::Connect { config, .. } => Some(config.clone()),
        _ => None,
    });
    let Some(mut client) = client else { return };
    client.service_code = plan.server.service_code;
    for host in &mut plan.hosts {
        host.discards = 0.0;
    }
    for config in [&mut *client, &mut plan.server] {
        suit(config);
    }
    for path in &mut plan.paths {
        let delay = Duration::from_millis(1 + dice.below(75));
        *path = PathPlan {
            delay,
            icmp: *dice.pick(&[IcmpPolicy::None, IcmpPolicy::Router]),
            ..PathPlan::default()
        };
    }
    (plan.is_clean, plan.sizes) = (false, 8..=1_200);
    let mut script = vec![(start, Action::Connect { config: client, from: None })];
    let mut now = start + Duration::from_secs(1);
    for _ in 0..1 + dice.below(4) {
        now = phase(dice, from, now, &mut script);
    }
    for side in Side::BOTH {
        script.push((now, Action::Cut { from: side, cut: false }));
        script.push((now, Action::Narrow { from: side, mtu: 1_500 }));
    }
    let (since, due) = (now, now + RECOVERY);
    plan.horizon = due + MEASURED;
    let (size, every) = (*dice.pick(&[100, 160, 400, 1_000, 1_100]), dice.time(millis(20), millis(200)));
    stream(from, size, every, (since, plan.horizon), &mut script);
    script.sort_by_key(|(at, _)| *at);
    plan.script = script;
    plan.steady = Some(Steady { from, since, due });
}

/// Removes options by which an application of the plan would limit the rate.
fn suit(config: &mut Config) {
    config.max_datagram = config.max_datagram.max(1_200);
    config.timers.idle = None;
    config.send_queue.max_bytes = config.send_queue.max_bytes.max(10_000);
    // Twice what a host that reads each 50 ms gets of the fastest stream: a sender has to slow down for data
    // that found no room (RFC 4340, Section 11.7.2).
    config.receive.max_datagrams = config.receive.max_datagrams.max(20);
    config.receive.max_bytes = config.receive.max_bytes.max(24_000);
    config.mobility = None;
    config.integrity.minimum_coverage = 0;
    config.sequence_window = config.sequence_window.max(100);
    if config.path_mtu == PathMtuDiscovery::Off {
        config.path_mtu = PathMtuDiscovery::FromBase;
    }
}

/// A stream of one datagram size, with an event on the path in the middle; perhaps a pause.
fn phase(dice: &mut Dice, from: Side, now: Instant, script: &mut Vec<(Instant, Action)>) -> Instant {
    let until = now + dice.time(Duration::from_secs(1), Duration::from_secs(20));
    let size = *dice.pick(&[40, 160, 500, 1_100, 1_200]);
    stream(from, size, dice.time(millis(5), millis(100)), (now, until), script);
    let at = now + dice.time(Duration::ZERO, until - now);
    match dice.below(5) {
        0 | 1 => {
            let longest = *dice.pick(&[millis(500), Duration::from_secs(3), Duration::from_secs(30)]);
            let back = at + dice.time(millis(1), longest);
            let sides: &[Side] = if dice.chance(0.5) { &Side::BOTH } else { core::slice::from_ref(&from) };
            for side in sides {
                script.push((at, Action::Cut { from: *side, cut: true }));
                script.push((back, Action::Cut { from: *side, cut: false }));
            }
        }
        2 => {
            let mtu = 576 + dice.below(900) as usize;
            script.push((at, Action::Narrow { from, mtu }));
        }
        3 => return until + dice.time(millis(1), Duration::from_secs(60)),
        _ => {}
    }
    until
}

fn stream(
    side: Side,
    size: usize,
    every: Duration,
    (mut now, until): (Instant, Instant),
    script: &mut Vec<(Instant, Action)>,
) {
    while now < until {
        script.push((now, Action::SendOne { side, which: 0, size }));
        now += every;
    }
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}
