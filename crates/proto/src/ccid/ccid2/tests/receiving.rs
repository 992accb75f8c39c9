//! Times at which the receiver acknowledges.

use super::*;

/// Packets that arrive and, each time one is due, an acknowledgement that leaves.
struct Script {
    receiver: Receiver,
    newest: u64,
}

impl Script {
    fn new() -> Self {
        Self { receiver: Receiver::new(Some(millis(100))), newest: 0 }
    }

    /// `true` if the arrival of a data packet makes an acknowledgement due.
    fn data(&mut self, now: u64, sequence: u64) -> bool {
        self.arrive(now, received(sequence, PacketType::Data))
    }

    fn arrive(&mut self, now: u64, packet: ReceivedPacket<'_>) -> bool {
        self.newest = self.newest.max(packet.sequence.value());
        self.receiver.on_received(at(now), packet);
        self.receiver.feedback_due(at(now))
    }

    /// Sends an acknowledgement. Returns its options.
    fn acknowledge(&mut self, now: u64) -> Vec<DccpOption> {
        let mut options = Options::new();
        self.receiver.write_feedback(at(now), seq(self.newest), &mut options);
        assert!(!self.receiver.feedback_due(at(now)));
        options.into_vec()
    }
}

#[test]
fn one_acknowledgement_for_each_ack_ratio_data_packets() {
    let mut script = Script::new();
    assert!(!script.data(0, 1));
    assert!(script.data(1, 2));
    script.acknowledge(1);
    script.receiver.on_feature(at(1), ACK_RATIO, 4);
    assert_eq!([3, 4, 5, 6].map(|sequence| script.data(2, sequence)), [false, false, false, true]);
    script.acknowledge(2);
    // Packets without data are not acknowledged, however many there are.
    for sequence in 7..20 {
        assert!(!script.arrive(3, received(sequence, PacketType::Ack)));
    }
    assert_eq!(script.receiver.poll_timeout(), None);
    // Ratio 0: the sender does not use it.
    script.receiver.on_feature(at(3), ACK_RATIO, 0);
    assert!(!script.data(4, 20));
    assert!(script.data(4, 21));
}

#[test]
fn an_acknowledgement_waits_for_0_2_seconds_at_most() {
    let mut script = Script::new();
    script.receiver.on_feature(at(0), ACK_RATIO, 10);
    script.data(50, 1);
    script.data(150, 2);
    assert_eq!(script.receiver.poll_timeout(), Some(at(250)));
    script.receiver.handle_timeout(at(249));
    assert!(!script.receiver.feedback_due(at(249)));
    script.receiver.handle_timeout(at(250));
    assert!(script.receiver.feedback_due(at(250)));
    // The newest packet, whose number is acknowledged, has waited for 100 ms: 10,000 units.
    assert_eq!(script.acknowledge(250), [DccpOption::ElapsedTime(Elapsed::Short(10_000))]);
    assert_eq!(script.receiver.poll_timeout(), None);
}

#[test]
fn an_acknowledgement_at_once_needs_no_elapsed_time() {
    let mut script = Script::new();
    script.data(5, 1);
    script.data(5, 2);
    assert_eq!(script.acknowledge(5), []);
}

#[test]
fn a_gap_and_its_filling_are_acknowledged_at_once() {
    let mut script = Script::new();
    script.receiver.on_feature(at(0), ACK_RATIO, 10);
    assert!(!script.data(0, 1));
    assert!(script.data(1, 4));
    script.acknowledge(1);
    assert!(!script.data(2, 5));
    assert!(script.data(3, 3));
    script.acknowledge(3);
    assert!(!script.data(4, 6));
}

#[test]
fn marks_are_acknowledged_at_once_but_once_per_round_trip() {
    let mut script = Script::new();
    script.receiver.on_feature(at(0), ACK_RATIO, 10);
    let marked = |sequence| ReceivedPacket { ecn: Ecn::Ce, ..received(sequence, PacketType::Data) };
    assert!(script.arrive(0, marked(1)));
    script.acknowledge(0);
    assert!(!script.arrive(99, marked(2)));
    assert!(script.arrive(100, marked(3)));
    assert_eq!(script.receiver.snapshot().marked, 3);
}

#[test]
fn a_gap_before_a_packet_without_data_is_acknowledged_at_once() {
    let mut script = Script::new();
    script.receiver.on_feature(at(0), ACK_RATIO, 10);
    // Nothing but acknowledgements: what is missing among them is no loss of data.
    assert!(!script.arrive(0, received(1, PacketType::Ack)));
    assert!(!script.arrive(1, received(3, PacketType::Ack)));
    assert!(!script.data(2, 4));
    script.acknowledge(2);
    assert!(!script.arrive(3, received(5, PacketType::Ack)));
    assert!(script.arrive(4, received(7, PacketType::Ack)), "6 may have been data");
    script.acknowledge(4);
    // The packet says that all that is missing had no data, or that not all had none.
    let counting = |sequence, ndp_count| ReceivedPacket { ndp_count, ..received(sequence, PacketType::Ack) };
    assert!(!script.arrive(5, counting(10, Some(2))));
    assert!(script.arrive(6, counting(13, Some(1))));
    script.acknowledge(6);
    // A late packet fills no gap that was reported as data.
    assert!(!script.arrive(7, received(12, PacketType::Ack)));
}
