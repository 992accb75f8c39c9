//! Reaction of the sender to acknowledgements.

use proptest::collection::vec;
use proptest::prelude::*;

use whimbrel_wire::option::data_dropped::DropCode;

use super::*;
use crate::ccid::DroppedPacket;

mod acknowledging;
mod dropping;
mod reordering;

/// A sender and its numbers.
struct Script {
    sender: Sender,
    next: u64,
    ack: u64,
}

impl Script {
    /// Datagrams of 1000 bytes: four of them are the initial window.
    fn new() -> Self {
        Self::with(1_000, None)
    }

    fn with(packet_size: usize, max_burst: Option<u32>) -> Self {
        Self { sender: sender_of(packet_size, Some(millis(100)), &ccid2(max_burst)), next: 1, ack: 1 }
    }

    fn may_send(&mut self, now: u64) -> bool {
        match self.sender.poll_send(at(now), 1_000) {
            SendVerdict::Now => true,
            SendVerdict::Blocked => false,
            SendVerdict::At(_) => panic!("nothing is paced"),
        }
    }

    fn send_packet(&mut self, now: u64, packet_type: PacketType, more_queued: bool) {
        let payload = if packet_type.carries_data() { 1_000 } else { 0 };
        let packet = SentPacket { sequence: seq(self.next), packet_type, payload, more_queued };
        let marks = SenderMarks { ccval: &mut 9, options: &mut Options::new() };
        self.sender.on_sent(at(now), packet, marks);
        self.next += 1;
    }

    /// Sends as much as it may; the number of packets.
    fn fill(&mut self, now: u64) -> u64 {
        let first = self.next;
        while self.may_send(now) {
            self.send_packet(now, PacketType::Data, true);
        }
        self.next - first
    }

    /// An acknowledgement of `ack` that reports these outcomes.
    fn acknowledge(&mut self, now: u64, ack: u64, outcomes: &[(u64, PacketArrival)], options: &[DccpOption]) {
        self.acknowledge_but(now, ack, outcomes, options, &[]);
    }

    /// The same of packets of which some were dropped.
    fn acknowledge_but(
        &mut self,
        now: u64,
        ack: u64,
        outcomes: &[(u64, PacketArrival)],
        options: &[DccpOption],
        dropped: &[(u64, DropCode)],
    ) {
        let dropped: Vec<_> =
            dropped.iter().map(|&(number, code)| DroppedPacket { sequence: seq(number), code }).collect();
        let ack_vector: Vec<_> = outcomes
            .iter()
            .map(|(number, outcome)| AckedPacket { sequence: seq(*number), outcome: *outcome })
            .collect();
        let mut options = options.to_vec();
        options.push(DccpOption::AckVector { nonce: false, cells: OptionBytes::new() });
        let feedback = Feedback {
            ack: seq(ack),
            sequence: seq(self.ack),
            packet_type: PacketType::Ack,
            options: &options,
            ack_vector: &ack_vector,
            data_dropped: &dropped,
            timestamp_rtt: None,
        };
        self.sender.on_received(at(now), &received(self.ack, PacketType::Ack));
        self.sender.on_feedback(at(now), &feedback);
        self.ack += 1;
    }

    /// These packets, ascending, have arrived.
    fn arrived(&mut self, now: u64, numbers: impl IntoIterator<Item = u64>) {
        let outcomes: Vec<_> = numbers.into_iter().map(|number| (number, PacketArrival::Received)).collect();
        self.acknowledge(now, outcomes.last().unwrap().0, &outcomes, &[]);
    }

    fn cwnd(&self) -> u32 {
        self.sender.snapshot().cwnd.unwrap()
    }

    fn pipe(&self) -> u32 {
        self.sender.snapshot().pipe.unwrap()
    }

    fn ssthresh(&self) -> Option<u32> {
        self.sender.snapshot().ssthresh
    }

    /// Slow start, with round trips of 100 ms, up to a window of `cwnd` packets, all of them out.
    /// Returns the time and the first of them.
    fn grow_to(&mut self, cwnd: u32) -> (u64, u64) {
        let mut now = 0;
        self.fill(now);
        loop {
            now += 100;
            for _ in 0..self.pipe() / 2 {
                let oldest = self.next - u64::from(self.pipe());
                self.arrived(now, oldest..oldest + 2);
                if self.cwnd() == cwnd {
                    self.fill(now);
                    assert_eq!(self.pipe(), cwnd);
                    return (now, self.next - u64::from(cwnd));
                }
            }
            self.fill(now);
        }
    }
}

#[test]
fn the_initial_window_follows_rfc_3390() {
    for (packet_size, packets) in
        [(500, 4), (1_000, 4), (1_095, 4), (1_096, 3), (1_460, 3), (1_461, 2), (9_000, 2)]
    {
        let mut script = Script::with(packet_size, None);
        assert_eq!(script.fill(0), packets, "{packet_size} bytes");
        assert_eq!(script.pipe(), packets as u32);
    }
}

#[test]
fn slow_start_adds_a_packet_for_two_acknowledged() {
    let mut script = Script::new();
    script.fill(0);
    script.arrived(100, [1, 2]);
    assert_eq!((script.cwnd(), script.pipe()), (5, 2));
    assert_eq!(script.fill(100), 3);
    // Two acknowledgements of one packet each are worth as much as one of two.
    script.arrived(110, [3]);
    assert_eq!(script.cwnd(), 5);
    script.arrived(120, [4]);
    assert_eq!(script.cwnd(), 6);
    // One acknowledgement adds half the Ack Ratio at most, however much it covers.
    script.fill(120);
    script.arrived(210, 5..=10);
    assert_eq!(script.cwnd(), 7);
    script.sender.on_feature(at(210), ACK_RATIO, 4);
    script.fill(210);
    script.arrived(310, 11..=16);
    assert_eq!(script.cwnd(), 9);
}

#[test]
fn congestion_avoidance_adds_a_packet_per_window() {
    let mut script = Script::new();
    let (now, first) = script.grow_to(8);
    // One loss: the window is 4, and grows once what was sent afterwards is acknowledged.
    script.arrived(now + 100, first + 1..first + 8);
    assert_eq!((script.cwnd(), script.ssthresh()), (4, Some(4)));
    let first = script.next;
    for step in 0..4 {
        script.fill(now + 200 + step);
        script.arrived(now + 300 + step, [first + step]);
        assert_eq!(script.cwnd(), if step < 3 { 4 } else { 5 });
    }
}

#[test]
fn three_later_arrivals_make_a_loss() {
    let mut script = Script::new();
    let (now, first) = script.grow_to(8);
    script.arrived(now + 100, [first + 1, first + 2]);
    assert_eq!((script.sender.snapshot().lost, script.pipe()), (0, 6));
    let cwnd = script.cwnd();
    script.arrived(now + 101, [first + 3]);
    let snapshot = script.sender.snapshot();
    assert_eq!((snapshot.lost, snapshot.marked, snapshot.cwnd), (1, 0, Some(cwnd / 2)));
    // Three arrived, one is lost.
    assert_eq!(script.pipe(), 4);
    // The packet arrives after all: it was not lost, and the reduction is undone.
    script.arrived(now + 102, [first]);
    assert_eq!((script.pipe(), script.cwnd(), script.sender.snapshot().lost), (4, cwnd, 0));
}

#[test]
fn packets_without_data_reveal_losses_but_are_not_in_the_pipe() {
    let mut script = Script::new();
    script.send_packet(0, PacketType::Data, false);
    for _ in 0..3 {
        script.send_packet(1, PacketType::Ack, false);
    }
    assert_eq!(script.pipe(), 1);
    script.arrived(100, [2, 3]);
    assert_eq!((script.pipe(), script.sender.snapshot().lost), (1, 0));
    script.arrived(101, [4]);
    assert_eq!((script.pipe(), script.sender.snapshot().lost), (0, 1));
    assert_eq!(script.sender.poll_timeout(), None);
}

#[test]
fn a_window_is_halved_once() {
    let mut script = Script::new();
    let (now, first) = script.grow_to(16);
    // Packets 0, 2 and 9 of it are lost.
    script.arrived(now + 100, [first + 1, first + 3, first + 4]);
    assert_eq!((script.cwnd(), script.ssthresh()), (8, Some(8)));
    script.arrived(now + 101, [first + 5, first + 6, first + 7, first + 8]);
    script.arrived(now + 102, first + 10..first + 16);
    assert_eq!((script.cwnd(), script.sender.snapshot().lost), (8, 3));
    // A loss among those sent since is another event.
    let next = script.next;
    assert_eq!(script.fill(now + 103), 8);
    script.arrived(now + 203, next + 1..next + 4);
    assert_eq!((script.cwnd(), script.ssthresh()), (4, Some(4)));
}

#[test]
fn a_mark_has_the_effect_of_a_loss() {
    let mut script = Script::new();
    let (now, first) = script.grow_to(16);
    let mark = |number| (number, PacketArrival::Marked);
    script.acknowledge(now + 100, first + 1, &[mark(first), mark(first + 1)], &[]);
    assert_eq!((script.cwnd(), script.ssthresh(), script.pipe()), (8, Some(8), 14));
    script.acknowledge(now + 101, first + 2, &[mark(first + 2)], &[]);
    assert_eq!(script.cwnd(), 8);
    assert_eq!(script.sender.snapshot().marked, 3);
    // The window of data with the mark has ended with its last packet.
    script.arrived(now + 102, first + 3..first + 16);
    script.fill(now + 103);
    script.acknowledge(now + 203, first + 16, &[mark(first + 16)], &[]);
    assert_eq!(script.cwnd(), 4);
}

#[test]
fn the_window_is_never_less_than_a_packet() {
    let mut script = Script::new();
    for (round, cwnd) in [2, 1, 1, 1].into_iter().enumerate() {
        let now = round as u64 * 100;
        script.fill(now);
        let number = script.next - 1;
        script.acknowledge(now + 90, number, &[(number, PacketArrival::Marked)], &[]);
        assert_eq!((script.cwnd(), script.ssthresh()), (cwnd, Some(2)));
        if script.pipe() > 0 {
            script.arrived(now + 95, number - u64::from(script.pipe())..number);
        }
    }
}

#[test]
fn a_timeout_empties_the_pipe_and_starts_over() {
    let mut script = Script::new();
    let (now, _) = script.grow_to(12);
    // All round trips took 100 ms, and the other end may wait: RTO = SRTT + 250 ms.
    let deadline = script.sender.poll_timeout().unwrap();
    assert_eq!(deadline, at(now + 350));
    script.sender.handle_timeout(at(now + 349));
    assert_eq!(script.pipe(), 12);
    script.sender.handle_timeout(deadline);
    assert_eq!((script.cwnd(), script.ssthresh(), script.pipe()), (1, Some(6), 0));
    assert_eq!((script.sender.snapshot().lost, script.sender.poll_timeout()), (12, None));

    // One packet goes out and waits twice as long, and so on.
    let mut now = now + 350;
    for timeout in [700, 1_400, 2_800] {
        assert_eq!(script.fill(now), 1);
        now += timeout;
        assert_eq!(script.sender.poll_timeout(), Some(at(now)));
        script.sender.handle_timeout(at(now));
        assert_eq!((script.cwnd(), script.ssthresh()), (1, Some(2)));
    }
    // Late reports on packets that were given up are ignored.
    script.arrived(now, 1..script.next);
    assert_eq!((script.cwnd(), script.pipe()), (1, 0));
    // An acknowledgement ends the back-off.
    script.fill(now);
    let number = script.next - 1;
    script.arrived(now + 100, [number]);
    script.fill(now + 100);
    assert_eq!(script.sender.poll_timeout(), Some(at(now + 100 + 350)));
}

#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    let mut script = Script::new();
    let (now, first) = script.grow_to(10);
    // The application stops; what was sent while the window was full still counts.
    script.arrived(now + 100, first..first + 2);
    assert_eq!(script.cwnd(), 11);
    script.arrived(now + 100, first + 2..first + 10);
    assert_eq!(script.cwnd(), 12);
    for step in 0..5 {
        let now = now + 110 + 20 * step;
        script.send_packet(now, PacketType::Data, false);
        script.send_packet(now, PacketType::Data, false);
        script.arrived(now + 10, [script.next - 2, script.next - 1]);
        assert_eq!(script.cwnd(), 12);
    }
}

#[test]
fn an_idle_window_is_halved_for_each_timeout() {
    let mut script = Script::new();
    let (now, first) = script.grow_to(32);
    script.arrived(now + 100, first + 1..first + 32);
    assert_eq!((script.cwnd(), script.ssthresh()), (16, Some(16)));
    let cwnd_after = |idle: u64| {
        let mut sender = Script::new();
        sender.grow_to(32);
        sender.arrived(now + 100, first + 1..first + 32);
        sender.send_packet(now + idle, PacketType::Data, false);
        (sender.cwnd(), sender.ssthresh())
    };
    // The last packet left at `now`, and RTO is 350 ms. The threshold stays at 3/4 at least.
    assert_eq!(cwnd_after(349), (16, Some(16)));
    assert_eq!(cwnd_after(350), (8, Some(16)));
    assert_eq!(cwnd_after(700), (4, Some(16)));
    // Not below the initial window, however long.
    assert_eq!(cwnd_after(700_000), (4, Some(16)));
}

#[test]
fn a_window_that_stays_unfilled_shrinks_towards_what_is_used() {
    let mut script = Script::new();
    let (mut now, first) = script.grow_to(36);
    script.arrived(now + 100, first + 1..first + 36);
    assert_eq!(script.cwnd(), 18);
    let mut seen = vec![18];
    for _ in 0..40 {
        now += 100;
        for _ in 0..6 {
            script.send_packet(now, PacketType::Data, false);
        }
        script.arrived(now + 90, script.next - 6..script.next);
        if seen.last() != Some(&script.cwnd()) {
            seen.push(script.cwnd());
        }
    }
    // (18 + 6) / 2 = 12, then 9 and 7.5. At 6.75 the window is filled again, and grows back.
    assert_eq!(seen, [18, 12, 9, 7]);
    assert_eq!(script.ssthresh(), Some(18));
}

#[test]
fn bursts_can_be_limited() {
    let mut script = Script::with(1_000, Some(3));
    assert_eq!(script.fill(0), 3);
    script.arrived(100, [1]);
    assert_eq!((script.fill(100), script.pipe()), (2, 4));
    // The window of five is empty, but three go at once.
    script.arrived(200, [2, 3, 4, 5]);
    assert_eq!((script.cwnd(), script.fill(200)), (5, 3));
    script.arrived(300, [6]);
    assert_eq!(script.fill(300), 3);
}

#[test]
fn no_more_than_a_sequence_window_is_in_flight() {
    let mut script = Script::new();
    script.sender.on_feature(at(0), FeatureNumber::SequenceWindow, 3);
    assert_eq!(script.fill(0), 3);
    script.sender.on_feature(at(0), FeatureNumber::SequenceWindow, 100);
    assert_eq!(script.fill(0), 1);
}

/// Anything that may happen to a sender.
#[derive(Clone, Debug)]
enum Step {
    Send { data: bool },
    Acknowledge { ack: u64, outcomes: Vec<(u64, bool)>, dropped: Vec<u8>, slow: bool },
    Wait { millis: u64 },
    Ratio { value: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let acknowledge = (0u64..40, vec((0u64..60, any::<bool>()), 0..8), vec(any::<u8>(), 0..4), any::<bool>());
    prop_oneof![
        5 => prop::bool::weighted(0.8).prop_map(|data| Step::Send { data }),
        4 => acknowledge.prop_map(|(ack, outcomes, dropped, slow)| Step::Acknowledge {
            ack,
            outcomes,
            dropped,
            slow: slow && ack % 8 == 0,
        }),
        2 => (0u64..600).prop_map(|millis| Step::Wait { millis }),
        1 => (0u64..70_000).prop_map(|value| Step::Ratio { value }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// For any acknowledgements, in any order, true or not: no panic, sane numbers, no spinning.
    #[test]
    fn anything_is_survived(steps in vec(step(), 1..200)) {
        let mut script = Script::new();
        let mut now = 0;
        for step in steps {
            match step {
                Step::Send { data: true } => {
                    if script.may_send(now) {
                        script.send_packet(now, PacketType::Data, true);
                    }
                }
                Step::Send { data: false } => script.send_packet(now, PacketType::Ack, true),
                Step::Acknowledge { ack, outcomes, dropped, slow } => {
                    let number = |back: u64| (script.next - 1).saturating_sub(back);
                    let mut outcomes: Vec<_> = outcomes
                        .iter()
                        .map(|(back, marked)| (number(*back), if *marked { PacketArrival::Marked } else { PacketArrival::Received }))
                        .collect();
                    outcomes.sort_by_key(|(number, _)| *number);
                    if slow {
                        script.sender.on_slow_receiver(at(now));
                    }
                    let dropped: Vec<_> =
                        dropped.iter().map(|byte| (number(u64::from(byte >> 3)), DropCode::from_bits(*byte))).collect();
                    script.acknowledge_but(now, number(ack), &outcomes, &[], &dropped);
                }
                Step::Wait { millis } => now += millis,
                Step::Ratio { value } => script.sender.on_feature(at(now), ACK_RATIO, value & 0xffff),
            }
            script.sender.handle_timeout(at(now));
            prop_assert!(script.sender.poll_timeout().is_none_or(|timeout| timeout > at(now)));
            prop_assert_eq!(script.sender.poll_timeout().is_some(), script.pipe() > 0);
            prop_assert!(script.cwnd() >= 1);
            prop_assert!(u64::from(script.pipe()) < script.next);
            prop_assert!(script.pipe() > 0 || script.may_send(now), "an empty pipe lets a packet in");
            prop_assert!(script.ssthresh().is_none_or(|threshold| threshold >= 2));
            while let Some(request) = script.sender.poll_feature_request(at(now)) {
                prop_assert!((1..=0xffff).contains(&request.value));
            }
        }
    }
}
