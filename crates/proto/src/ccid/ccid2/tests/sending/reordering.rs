//! Packets that are only late.

use super::*;

/// A window of packets that were all sent at one time. Returns that time and the first of them.
fn window_at_once(script: &mut Script, cwnd: u32) -> (u64, u64) {
    let (now, first) = script.grow_to(cwnd);
    script.arrived(now + 100, first..first + u64::from(cwnd));
    let first = script.next;
    script.fill(now + 100);
    (now + 100, first)
}

#[test]
fn a_reduction_is_undone_when_all_packets_that_counted_as_lost_have_arrived() {
    let mut script = Script::new();
    let (now, first) = window_at_once(&mut script, 16);
    let before = script.cwnd();
    script.arrived(now + 100, [first + 1, first + 3, first + 4]);
    script.arrived(now + 101, [first + 5]);
    assert_eq!((script.cwnd(), script.sender.snapshot().lost), (before / 2, 2));
    script.arrived(now + 102, [first]);
    assert_eq!((script.cwnd(), script.sender.snapshot().lost), (before / 2, 1), "one may be lost");
    script.arrived(now + 103, [first + 2]);
    assert_eq!((script.cwnd(), script.sender.snapshot().lost), (before, 0));
    // The pipe counts neither twice.
    assert_eq!(script.pipe(), before - 6);
}

#[test]
fn a_mark_of_the_same_window_keeps_the_reduction() {
    let mut script = Script::new();
    let (now, first) = window_at_once(&mut script, 16);
    let before = script.cwnd();
    script.arrived(now + 100, [first + 1, first + 2, first + 3]);
    script.acknowledge(now + 101, first + 4, &[(first + 4, PacketArrival::Marked)], &[]);
    script.arrived(now + 102, [first]);
    assert_eq!((script.cwnd(), script.sender.snapshot().lost), (before / 2, 0));
}

/// RFC 8985, Section 6.2: a quarter of the least round-trip time beyond the newest packet's.
#[test]
fn on_a_path_that_reorders_a_loss_takes_three_later_arrivals_and_a_reordering_window() {
    let mut script = Script::new();
    let (now, first) = window_at_once(&mut script, 16);
    script.arrived(now + 100, [first + 1]);
    script.arrived(now + 101, [first]);
    script.arrived(now + 102, first + 3..first + 6);
    let before = script.cwnd();
    assert_eq!(script.sender.snapshot().lost, 0);
    assert_eq!(script.sender.poll_timeout(), Some(at(now + 127)));
    script.sender.handle_timeout(at(now + 126));
    assert_eq!(script.sender.snapshot().lost, 0);
    script.sender.handle_timeout(at(now + 127));
    assert_eq!((script.cwnd(), script.sender.snapshot().lost), (before / 2, 1));
    assert!(script.sender.poll_timeout() > Some(at(now + 127)), "the transmit timer is left");
}

#[test]
fn a_timeout_is_undone_when_the_data_were_only_late() {
    let mut script = Script::new();
    script.fill(0);
    let deadline = script.sender.poll_timeout().unwrap();
    script.sender.handle_timeout(deadline);
    assert_eq!((script.cwnd(), script.pipe(), script.sender.snapshot().lost), (1, 0, 4));
    let late = deadline.as_nanos() / 1_000_000 + 10;
    script.arrived(late, [1, 2]);
    assert_eq!((script.cwnd(), script.sender.snapshot().lost), (1, 2));
    script.arrived(late, [3, 4]);
    assert_eq!((script.cwnd(), script.sender.snapshot().lost), (4, 0));
}
