use std::vec;
use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::Policy;
use crate::fecframe::Esi;
use crate::sender::{Mark, Sender, SenderConfig, Sent};
use crate::wire::Report;

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(1_000 + milliseconds)
}

fn sender(policy: Policy) -> Sender {
    let config = SenderConfig::new(160, Duration::from_millis(125));
    Sender::new(SenderConfig { policy: Some(policy), ..config })
}

/// Sends a frame of four datagrams at `now`, and returns everything that leaves.
fn frame(sender: &mut Sender, now: Instant) -> Vec<Sent> {
    (0..4).for_each(|n| sender.send(now, &[n as u8; 20], Mark::part(n, 4)).expect("room"));
    drain(sender, now)
}

fn drain(sender: &mut Sender, now: Instant) -> Vec<Sent> {
    let mut out = vec![];
    core::iter::from_fn(|| sender.poll_transmit(now, &mut out)).collect()
}

/// The second of four symbols was lost.
fn report() -> Report {
    let mut report = Report::new(1, Esi(4));
    report.first = Esi(1);
    report.want(Esi(1));
    (report.echo, report.arrivals) = (Some(Esi(3)), 0b1101);
    report
}

#[test]
fn parity_is_the_share_that_the_policy_names() {
    let mut sender = sender(Policy { parity: 0.375, repeats: true });
    let mut parity =
        |ms: u64| frame(&mut sender, at(ms)).iter().filter(|sent| **sent == Sent::Parity).count();
    // 1.5 of four: one, then two.
    assert_eq!([parity(0), parity(40), parity(80), parity(120)], [1, 2, 1, 2]);
    sender.set_policy(Policy { parity: 0.0, repeats: true });
    assert!(!frame(&mut sender, at(160)).contains(&Sent::Parity));
    // More than the data is not made, nor sent in bytes (RFC 6363, Section 8.2).
    sender.set_policy(Policy { parity: 7.0, repeats: true });
    let sent = frame(&mut sender, at(1_200)).iter().filter(|sent| **sent == Sent::Parity).count();
    assert_eq!((sent, sender.counts().over_share), (3, 1));
}

#[test]
fn what_is_missing_is_repeated_once_and_without_surplus_or_not_at_all() {
    for (repeats, expected) in [(true, &[Sent::Repeat(Esi(1))][..]), (false, &[])] {
        let mut sender = sender(Policy { parity: 0.0, repeats });
        assert_eq!(frame(&mut sender, at(0)).len(), 4);
        sender.on_report(at(50), &report());
        assert_eq!(drain(&mut sender, at(50)), expected);
        sender.handle_timeout(at(124));
        assert_eq!(drain(&mut sender, at(124)), []);
    }
}
