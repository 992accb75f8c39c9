//! Reports on the receiving host: dropped data and Slow Receiver.

use super::*;
use crate::ccid::drop_reaction::{self, DropReaction};

#[test]
fn packets_dropped_by_the_receiving_host_shrink_the_window() {
    let respond = |code, run| {
        let mut script = Script::new();
        let (now, first) = script.grow_to(12);
        let ack = first + 3;
        let outcomes: Vec<_> = (first..=ack).map(|number| (number, PacketArrival::Received)).collect();
        let dropped: Vec<_> = (first..first + run).map(|number| (number, code)).collect();
        script.acknowledge_but(now + 100, ack, &outcomes, &[], &dropped);
        let after = script.cwnd();
        // One more, of a packet that was acknowledged before.
        script.acknowledge_but(
            now + 101,
            ack + 1,
            &[(ack + 1, PacketArrival::Received)],
            &[],
            &[(first + run, code)],
        );
        (after, script.cwnd(), script.ssthresh())
    };
    // Receive buffer: one less for each of three, and one for the fourth; slow start has ended.
    assert_eq!(respond(DropCode::ReceiveBuffer, 3), (9, 8, Some(8)));
    // Corruption counts as a mark, once for the window.
    assert_eq!(respond(DropCode::Corrupt, 2), (6, 6, Some(6)));
    assert_eq!(respond(DropCode::Reserved(5), 2), (6, 6, Some(6)));
    assert_eq!(respond(DropCode::DeliveredCorrupt, 2), (6, 6, Some(6)));
    // Protocol constraints and a deaf application are not congestion.
    assert_eq!(respond(DropCode::ProtocolConstraints, 2), (12, 12, Some(12)));
    assert_eq!(respond(DropCode::ApplicationNotListening, 2), (12, 12, Some(12)));
}

/// RFC 4340, Section 11.7.1: with a loss, not more than either alone leaves; and never less than one.
#[test]
fn drops_and_losses_together_leave_the_least() {
    let mut script = Script::new();
    let (now, first) = script.grow_to(12);
    let outcomes: Vec<_> = (first + 1..=first + 4).map(|number| (number, PacketArrival::Received)).collect();
    let dropped: Vec<_> = (first + 1..=first + 4).map(|number| (number, DropCode::ReceiveBuffer)).collect();
    script.acknowledge_but(now + 100, first + 4, &outcomes, &[], &dropped);
    // 12 - 4 = 8, halved.
    assert_eq!(script.cwnd(), 4);
    let more: Vec<_> = (0..9).map(|step| (first + 5 + step, DropCode::ReceiveBuffer)).collect();
    let outcomes: Vec<_> = more.iter().map(|(number, _)| (*number, PacketArrival::Received)).collect();
    script.acknowledge_but(now + 110, first + 11, &outcomes, &[], &more);
    assert_eq!(script.cwnd(), 1);
}

/// The reactions that RFC 4340, Section 11.7, leaves to research.
#[test]
fn an_experimental_reading_of_drop_codes_can_spare_the_window() {
    let drop_policy = |code| match code {
        DropCode::Corrupt => DropReaction::Ignore,
        code => drop_reaction::standard(code),
    };
    let sender = sender_of(1000, Some(millis(100)), &Ccid2 { drop_policy, ..Ccid2::default() });
    let mut script = Script { sender, ..Script::new() };
    let (now, first) = script.grow_to(12);
    let outcomes = [(first, PacketArrival::Received)];
    script.acknowledge_but(now + 100, first, &outcomes, &[], &[(first, DropCode::Corrupt)]);
    assert_eq!(script.cwnd(), 12);
    script.acknowledge_but(now + 101, first + 1, &[], &[], &[(first, DropCode::DeliveredCorrupt)]);
    assert_eq!(script.cwnd(), 6);
}

#[test]
fn a_slow_receiver_holds_the_window_for_a_round_trip() {
    let mut script = Script::new();
    let (now, first) = script.grow_to(8);
    let both = |number| [(number, PacketArrival::Received), (number + 1, PacketArrival::Received)];
    script.sender.on_slow_receiver(at(now + 50));
    script.acknowledge(now + 50, first + 1, &both(first), &[]);
    assert_eq!((script.cwnd(), script.ssthresh()), (8, Some(8)));
    for step in 0..60 {
        script.fill(now + 51 + step);
        let oldest = script.next - u64::from(script.pipe());
        script.acknowledge(now + 52 + step, oldest + 1, &both(oldest), &[]);
        // Nothing before `now` + 150; then the first of so many growths.
        if step < 98 {
            assert_eq!(script.cwnd(), 8);
        }
    }
    for step in 0..4 {
        script.fill(now + 150 + step);
        let oldest = script.next - u64::from(script.pipe());
        script.acknowledge(now + 151 + step, oldest + 1, &both(oldest), &[]);
    }
    assert_eq!(script.cwnd(), 9);
}

/// RFC 4341, Section 5.2: slow start ends with a packet dropped in the receive buffer, so that the window
/// grows by a packet per round-trip time from there, and not past what it was within one.
#[test]
fn a_window_shrunk_by_the_receive_buffer_grows_back_slowly() {
    let mut script = Script::new();
    let (now, first) = script.grow_to(16);
    let outcomes = [(first, PacketArrival::Received), (first + 1, PacketArrival::Received)];
    let dropped = [(first, DropCode::ReceiveBuffer), (first + 1, DropCode::ReceiveBuffer)];
    script.acknowledge_but(now + 100, first + 1, &outcomes, &[], &dropped);
    assert_eq!((script.cwnd(), script.ssthresh()), (14, Some(14)));
    // A window's worth of packets arrives.
    for step in 0..13 {
        script.fill(now + 101 + step);
        let oldest = script.next - u64::from(script.pipe());
        script.acknowledge(now + 101 + step, oldest, &[(oldest, PacketArrival::Received)], &[]);
        assert!(script.cwnd() <= 14, "after {step}: {}", script.cwnd());
    }
    for step in 0..16 {
        script.fill(now + 120 + step);
        let oldest = script.next - u64::from(script.pipe());
        script.acknowledge(now + 120 + step, oldest, &[(oldest, PacketArrival::Received)], &[]);
    }
    assert!((15..=16).contains(&script.cwnd()), "{}", script.cwnd());
}
