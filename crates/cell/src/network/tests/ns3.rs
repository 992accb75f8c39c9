//! Handovers side by side with ns-3's LTE module, where it is installed: `tests/ns3/lte.cc`.

extern crate std;

use std::path::Path;
use std::string::ToString;

use super::*;
use crate::scheduler::tests::ns3::{output, program};

/// A handover with a packet every millisecond, and a burst before it.
struct Transfer {
    /// From the command until the new cell serves.
    interruption: Duration,
    sent: usize,
    delivered: usize,
    is_ordered: bool,
    /// The longest time without a packet.
    silence: Duration,
}

impl Transfer {
    fn new(interruption: Duration, sent: usize, arrivals: &[(u64, Instant)]) -> Self {
        let silence = arrivals.windows(2).map(|pair| pair[1].1 - pair[0].1).max().expect("packets");
        let is_ordered = arrivals.is_sorted();
        Self { interruption, sent, delivered: arrivals.len(), is_ordered, silence }
    }
}

fn theirs(program: &Path, burst: u64) -> Transfer {
    let text = output(program, &["handover", &burst.to_string()]);
    let (mut arrivals, mut interruption, mut sent) = (Vec::new(), Duration::ZERO, 0);
    for line in text.lines() {
        let (first, second) = line.split_once(' ').expect("two words");
        match first {
            "interruption" => interruption = Duration::from_nanos(second.parse().expect("nanoseconds")),
            "sent" => sent = second.parse().expect("a number"),
            id => arrivals.push((
                id.parse().expect("a number"),
                Instant::from_nanos(second.parse().expect("nanoseconds")),
            )),
        }
    }
    Transfer::new(interruption, sent, &arrivals)
}

/// The same, with the interruption as the gap. Packets have been on the wire for 10 ms.
fn ours(interruption: Duration, burst: u64, forwards: bool) -> Transfer {
    let change = (Instant::from_secs(2), CellIndex(1));
    let packet = |at: Instant| (at, UserIndex(0), Direction::Down, 100);
    let mut arrivals: Vec<_> =
        (0..2_000).map(|number| packet(Instant::from_millis(1_010 + number))).collect();
    arrivals.extend((0..burst).map(|number| packet(Instant::from_nanos(1_990_100_000 + 1_000 * number))));
    arrivals.sort_by_key(|arrival| arrival.0);
    let mut config = NetworkConfig { forwards, ..street() };
    config.handover.gap = interruption;
    let mut network = Network::new(config, &[first(&[change])], At(250.0)).unwrap();
    let (outcomes, ..) = run(&mut network, &arrivals, Instant::from_secs(4));
    let delivered = outcomes.iter().filter(|outcome| outcome.fate == Fate::Delivered);
    let delivered: Vec<_> = delivered.map(|outcome| (outcome.packet.id.0, outcome.at)).collect();
    Transfer::new(interruption, arrivals.len(), &delivered)
}

#[test]
fn ns3_is_silent_as_long_and_delivers_all_in_order() {
    let Some(program) = program() else { return };
    let theirs = theirs(program, 0);
    let ours = ours(theirs.interruption, 0, true);
    for transfer in [&theirs, &ours] {
        assert!(transfer.is_ordered);
        assert_eq!(transfer.delivered, transfer.sent);
    }
    let difference = ours.silence.as_secs_f64() - theirs.silence.as_secs_f64();
    assert!(difference.abs() < 2e-3, "{:?}, ns-3 {:?}", ours.silence, theirs.silence);
}

#[test]
fn ns3_loses_what_the_old_cell_holds_as_without_forwarding() {
    let Some(program) = program() else { return };
    let theirs = theirs(program, 400);
    let (with, without) = (ours(theirs.interruption, 400, true), ours(theirs.interruption, 400, false));
    assert!([&theirs, &with, &without].iter().all(|transfer| transfer.is_ordered));
    assert_eq!(with.delivered, with.sent);
    for transfer in [&theirs, &without] {
        // The burst is lost in part; what comes in the gap or afterwards is not.
        let lost = transfer.sent - transfer.delivered;
        assert!((1..400).contains(&lost), "{lost}");
    }
}
