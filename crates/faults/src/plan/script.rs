//! The actions of applications and of the network, with their times.

use core::ops::RangeInclusive;

use whimbrel_proto::{Config, FreezeScope, PathChange};
use whimbrel_units::{Duration, Instant};

use super::{Dice, START, Side};

/// An action at one instant. `which` picks one of a host's connections.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of the fields suffice")]
pub enum Action {
    /// The client's application connects, from that port if given, which the server expects.
    Connect { config: Box<Config>, from: Option<u16> },
    /// The server invites the client at that port.
    Invite { port: u16 },
    /// An application sends datagrams, worth sending for `lifetime`.
    Send { side: Side, which: u64, count: u64, lifetime: Option<Duration> },
    /// An application sends a datagram of that size.
    SendOne { side: Side, which: u64, size: usize },
    /// An application closes.
    Close { side: Side, which: u64 },
    /// An application aborts.
    Abort { side: Side, which: u64 },
    /// ICMP reports that the other end is unreachable.
    Unreachable { side: Side, which: u64 },
    /// The path carries only datagrams up to that size from now on.
    Limit { side: Side, which: u64, size: usize },
    /// The path from that host carries only packets of up to `mtu` bytes from now on, from the DCCP header to
    /// the end of the data.
    Narrow { from: Side, mtu: usize },
    /// An application stops or resumes reading.
    Read { side: Side, reads: bool },
    /// An application stops receiving.
    Stop { side: Side, which: u64 },
    /// An application becomes a slow receiver, or no longer is one.
    Slow { side: Side, which: u64, slow: bool },
    /// An application freezes for a handover, or unfreezes.
    Freeze { side: Side, which: u64, scope: FreezeScope, frozen: bool },
    /// An application probes a better path.
    Probe { side: Side, which: u64 },
    /// The path from that host is cut, or restored.
    Cut { from: Side, cut: bool },
    /// The NAT before the client gives it another address.
    Rebind,
    /// The client's host is in another network, or its NAT has another address. If its drivers are notified,
    /// `known` is the handling of the path state.
    Move { place: u8, known: Option<PathChange> },
}

/// A script for these clients, up to `horizon`. `is_clean`: no impairment except limits on packet sizes.
pub(super) fn draw(
    dice: &mut Dice,
    clients: Vec<Config>,
    sizes: &RangeInclusive<usize>,
    horizon: Instant,
    is_clean: bool,
) -> Vec<(Instant, Action)> {
    let length = horizon - START;
    let connections = clients.len() as u64;
    let mut script = Vec::new();
    for (index, config) in clients.into_iter().enumerate() {
        let at = if index == 0 { START } else { at_some_time(dice, length) };
        let from = dice.chance(0.15).then(|| 40_000 + index as u16);
        if let Some(port) = from {
            let later = dice.time(Duration::ZERO, Duration::from_secs(3));
            script.push((at + later, Action::Invite { port }));
        }
        script.push((at, Action::Connect { config: Box::new(config), from }));
    }
    for side in Side::BOTH {
        let bursts = [0, dice.below(10), dice.below(60), dice.below(400)][dice.below(4) as usize];
        for _ in 0..bursts {
            let lifetime = dice.chance(0.3).then(|| Duration::from_millis(dice.below(2_000)));
            let (which, count) = (dice.below(connections), 1 + dice.below(20));
            script.push((at_some_time(dice, length), Action::Send { side, which, count, lifetime }));
        }
        let which = dice.below(connections);
        if dice.chance(0.3) {
            script.push((at_some_time(dice, length), Action::Close { side, which }));
        }
        if dice.chance(0.1) {
            script.push((at_some_time(dice, length), Action::Abort { side, which }));
        }
        if !is_clean && dice.chance(0.05) {
            script.push((at_some_time(dice, length), Action::Unreachable { side, which }));
        }
        if !is_clean && dice.chance(0.1) {
            let size = dice.within(sizes);
            script.push((at_some_time(dice, length), Action::Limit { side, which, size }));
        }
        if dice.chance(0.15) {
            let (from, until) = stretch(dice, length);
            script.push((from, Action::Read { side, reads: false }));
            script.push((until, Action::Read { side, reads: true }));
        }
        if dice.chance(0.05) {
            script.push((at_some_time(dice, length), Action::Stop { side, which }));
        }
        if dice.chance(0.1) {
            let (from, until) = stretch(dice, length);
            script.push((from, Action::Slow { side, which, slow: true }));
            script.push((until, Action::Slow { side, which, slow: false }));
        }
        if !is_clean && dice.chance(0.2) {
            let (from, until) = stretch(dice, length);
            script.push((from, Action::Cut { from: side, cut: true }));
            script.push((until, Action::Cut { from: side, cut: false }));
        }
    }
    freeze(dice, length, connections, &mut script);
    if !is_clean && dice.chance(0.1) {
        script.push((at_some_time(dice, length), Action::Rebind));
    }
    narrow(dice, length, is_clean, &mut script);
    script.sort_by_key(|(at, _)| *at);
    script
}

/// Applications predict handovers, rightly or wrongly; some in quick succession.
fn freeze(dice: &mut Dice, length: Duration, connections: u64, script: &mut Vec<(Instant, Action)>) {
    for side in Side::BOTH {
        if dice.chance(0.6) {
            continue;
        }
        let longest = *dice.pick(&[Duration::from_millis(5), Duration::from_secs(1), length]);
        for _ in 0..=dice.below(6) {
            let scope = *dice.pick(&[FreezeScope::Local, FreezeScope::Remote, FreezeScope::Both]);
            let (which, from) = (dice.below(connections), at_some_time(dice, length));
            let until = from + dice.time(Duration::ZERO, longest);
            for (at, frozen) in [(from, true), (until, false)] {
                script.push((at, Action::Freeze { side, which, scope, frozen }));
            }
            if dice.chance(0.3) {
                script.push((at_some_time(dice, length), Action::Probe { side, which }));
            }
        }
    }
}

/// Routes change: path MTUs get smaller and larger, down to the least of IPv4, rarely less.
fn narrow(dice: &mut Dice, length: Duration, is_clean: bool, script: &mut Vec<(Instant, Action)>) {
    for from in Side::BOTH {
        if !is_clean && dice.chance(0.7) {
            continue;
        }
        if dice.chance(0.5) {
            script.insert(0, (START, Action::Narrow { from, mtu: mtu(dice, is_clean) }));
        }
        for _ in 0..dice.below(3) {
            script.push((at_some_time(dice, length), Action::Narrow { from, mtu: mtu(dice, is_clean) }));
        }
    }
}

fn mtu(dice: &mut Dice, is_clean: bool) -> usize {
    match dice.below(4) {
        0 if !is_clean => 60 + dice.below(500) as usize,
        1 => 1_500,
        2 => 1_200 + dice.below(300) as usize,
        _ => 548 + dice.below(1_000) as usize,
    }
}

/// A time of the trial, from its start on.
pub(super) fn sometime(dice: &mut Dice, length: Duration) -> Duration {
    dice.time(Duration::ZERO, length)
}

fn at_some_time(dice: &mut Dice, length: Duration) -> Instant {
    START + sometime(dice, length)
}

fn stretch(dice: &mut Dice, length: Duration) -> (Instant, Instant) {
    let from = at_some_time(dice, length);
    (from, from + dice.time(Duration::from_millis(1), length))
}
