//! Both halves with the window of PDCP, over a link that loses blocks.

use std::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{ByteCount, Duration, Ecn, Instant};

use super::{Mode, Receiver, Sender, Status};
use crate::packet::{Number, Packet, PacketId, Segment};
use crate::pdcp::Reordering;
use crate::queue::{BearerQueue, QueueConfig};

const MS: Duration = Duration::from_millis(1);
const AM: Mode =
    Mode::Acknowledged { poll_retransmit: Duration::from_millis(80), status_prohibit: MS, repetitions: 8 };

/// A bearer in one direction. Blocks take no time; a status takes five milliseconds, and the grant of a
/// repetition four.
struct Bearer {
    mode: Mode,
    queue: BearerQueue,
    sender: Sender,
    receiver: Receiver,
    order: Reordering,
    statuses: Vec<(Instant, Status)>,
    delivered: Vec<(u64, u64)>,
}

impl Bearer {
    fn new(mode: Mode, reassembly: u64) -> Self {
        let config = QueueConfig { limit: ByteCount::new(1 << 30), discard: None, marks: None };
        Self {
            mode,
            queue: BearerQueue::new(config, 0),
            sender: Sender::new(mode, ByteCount::new(5)),
            receiver: Receiver::new(mode, MS * reassembly),
            order: Reordering::new(None),
            statuses: Vec::new(),
            delivered: Vec::new(),
        }
    }

    fn push(&mut self, now: Instant, id: u64, size: u64) {
        self.queue
            .handle_packet(now, Packet { id: PacketId(id), size: ByteCount::new(size), ecn: Ecn::NotEct });
    }

    /// Sends a block of `room` bytes at `now`, or loses it; `true` if there was something to send.
    fn block(&mut self, now: Instant, room: u64, is_lost: bool) -> bool {
        let mut segments: Vec<Segment> = Vec::new();
        let filled = self.sender.fill(now, ByteCount::new(room), &mut self.queue, &mut segments);
        assert!(filled.used.as_u64() <= room);
        let bytes: u64 = segments.iter().map(|part| part.to - part.from + 5).sum();
        assert_eq!(filled.used.as_u64(), bytes);
        if !is_lost && !segments.is_empty() {
            self.receiver.handle_block(now, &segments, filled.is_poll);
            self.hand_over(now);
        }
        !segments.is_empty()
    }

    /// Timers and statuses of this instant.
    fn run(&mut self, now: Instant) {
        while let Some(place) = self.statuses.iter().position(|(due, _)| *due <= now) {
            let (_, status) = self.statuses.remove(place);
            self.sender.handle_status(&status);
        }
        self.sender.handle_timeout(now);
        self.receiver.handle_timeout(now);
        if let Some(status) = self.receiver.poll_status(now) {
            self.statuses.push((now + MS * 9, status));
        }
        self.hand_over(now);
    }

    fn hand_over(&mut self, now: Instant) {
        while let Some((number, packet)) = self.receiver.poll_packet() {
            self.order.handle_packet(now, number, packet).unwrap();
        }
        while let Some(number) = self.receiver.poll_given_up() {
            assert_eq!(self.mode, Mode::Unacknowledged);
            self.order.handle_given_up(now, number);
        }
        while let Some((_, packet)) = self.order.poll_packet() {
            self.delivered.push((packet.id.0, now.as_nanos() / 1_000_000));
        }
    }
}

/// One block with one packet in each millisecond, of which block 10 is lost: packets with their times of
/// release.
fn without_block_ten(mode: Mode, reassembly: u64) -> Vec<(u64, u64)> {
    let mut bearer = Bearer::new(mode, reassembly);
    for millis in 0..200 {
        let now = Instant::from_millis(millis);
        bearer.push(now, millis, 100);
        bearer.run(now);
        bearer.block(now, 1_000, millis == 10);
    }
    bearer.delivered
}

fn released_at(delivered: &[(u64, u64)], millis: u64) -> Vec<u64> {
    delivered.iter().filter(|(_, at)| *at == millis).map(|(id, _)| *id).collect()
}

#[test]
fn um_releases_what_waited_when_its_timer_ends() {
    let short = without_block_ten(Mode::Unacknowledged, 35);
    assert_eq!(short[9], (9, 9));
    assert_eq!(released_at(&short, 46), (11..=46).collect::<Vec<_>>());
    assert_eq!(short[short.len() - 1], (199, 199));
    let long = without_block_ten(Mode::Unacknowledged, 100);
    assert_eq!(released_at(&long, 111), (11..=111).collect::<Vec<_>>());
}

#[test]
fn am_asks_and_releases_all_with_the_repetition() {
    let found = without_block_ten(AM, 35);
    assert_eq!(found[9], (9, 9));
    assert_eq!(released_at(&found, 55), (10..=55).collect::<Vec<_>>());
    assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), (0..200).collect::<Vec<_>>());
}

#[test]
fn a_lost_last_block_is_found_by_the_poll() {
    let mut bearer = Bearer::new(AM, 35);
    bearer.push(Instant::ZERO, 0, 100);
    assert!(bearer.block(Instant::ZERO, 1_000, true));
    assert_eq!(bearer.sender.poll_timeout(), Some(Instant::from_millis(80)));
    for millis in 0..100 {
        let now = Instant::from_millis(millis);
        bearer.run(now);
        bearer.block(now, 1_000, false);
    }
    assert_eq!(bearer.delivered, [(0, 80)]);
}

#[test]
fn a_packet_that_never_arrives_is_a_failure_of_the_link() {
    let mut bearer = Bearer::new(AM, 35);
    bearer.push(Instant::ZERO, 0, 100);
    let mut failed_at = None;
    for millis in 0..2_000 {
        let now = Instant::from_millis(millis);
        bearer.run(now);
        if bearer.sender.has_failed() {
            failed_at = Some(millis);
            break;
        }
        bearer.block(now, 1_000, true);
    }
    // The first transmission and eight repetitions, 80 ms each.
    assert_eq!(failed_at, Some(9 * 80));
    // Another cell begins with all repetitions.
    bearer.sender.reestablish(true);
    assert!(!bearer.sender.has_failed());
    assert!(bearer.block(Instant::from_millis(800), 1_000, false));
    assert_eq!(bearer.delivered, [(0, 800)]);
}

#[test]
fn packets_span_blocks_and_blocks_hold_packets() {
    let mut bearer = Bearer::new(Mode::Unacknowledged, 35);
    (0..3).for_each(|id| bearer.push(Instant::ZERO, id, 1_000));
    // 605 B: 600 of the first; then 400 of the first and 195 of the second; then 600 more.
    for millis in 0..6 {
        bearer.block(Instant::from_millis(millis), 605, false);
    }
    assert_eq!(bearer.delivered, [(0, 1), (1, 3), (2, 5)]);
    assert_eq!(bearer.sender.pending(), ByteCount::new(0));
}

#[test]
fn a_status_names_the_bytes_that_are_missing() {
    let mut bearer = Bearer::new(AM, 35);
    (0..2).for_each(|id| bearer.push(Instant::ZERO, id, 1_000));
    for (millis, is_lost) in [(0, false), (1, true), (2, false), (3, false)] {
        bearer.block(Instant::from_millis(millis), 605, is_lost);
    }
    let now = Instant::from_millis(2 + 35);
    assert_eq!(bearer.receiver.poll_timeout(), Some(now));
    bearer.receiver.handle_timeout(now);
    let status = bearer.receiver.poll_status(now).unwrap();
    let gap = |number, from, to| crate::packet::Gap { number: Number(number), from, to };
    assert_eq!(status.gaps, [gap(0, 600, u64::MAX), gap(1, 0, 195)]);
    assert_eq!(status.next, Number(2));
    bearer.sender.handle_status(&status);
    assert_eq!(bearer.sender.pending(), ByteCount::new(400 + 195));
}

#[test]
fn statuses_keep_their_distance() {
    let status_prohibit = MS * 50;
    let mode = Mode::Acknowledged { poll_retransmit: MS * 80, status_prohibit, repetitions: 8 };
    let mut receiver = Receiver::new(mode, MS * 35);
    let packet = Packet { id: PacketId(0), size: ByteCount::new(100), ecn: Ecn::NotEct };
    let part = |number| [Segment { number: Number(number), packet, from: 0, to: 100 }];
    receiver.handle_block(Instant::ZERO, &part(0), true);
    assert!(receiver.poll_status(Instant::ZERO).is_some());
    receiver.handle_block(Instant::from_millis(3), &part(1), true);
    assert_eq!(receiver.poll_status(Instant::from_millis(3)), None);
    assert_eq!(receiver.poll_timeout(), Some(Instant::from_millis(50)));
    assert!(receiver.poll_status(Instant::from_millis(50)).is_some());
}

#[test]
fn an_old_status_does_not_silence_a_poll() {
    let mut bearer = Bearer::new(AM, 35);
    (0..2).for_each(|id| bearer.push(Instant::ZERO, id, 100));
    bearer.block(Instant::ZERO, 1_000, true);
    bearer.sender.handle_timeout(Instant::from_millis(80));
    // A status that left before the second packet takes the place of the repetition.
    bearer.sender.handle_status(&Status { next: Number(1), gaps: Vec::new() });
    assert!(!bearer.block(Instant::from_millis(81), 1_000, false));
    assert_eq!(bearer.sender.poll_timeout(), Some(Instant::from_millis(160)));
    bearer.sender.handle_timeout(Instant::from_millis(160));
    assert!(bearer.block(Instant::from_millis(160), 1_000, false));
}

/// Packets of these sizes, one a millisecond, over blocks of these sizes of which some are lost.
fn run(mode: Mode, sizes: &[u64], blocks: &[(u64, bool)]) -> Bearer {
    let mut bearer = Bearer::new(mode, 35);
    for millis in 0..6_000_u64 {
        let now = Instant::from_millis(millis);
        if let Some(size) = sizes.get(millis as usize) {
            bearer.push(now, millis, *size);
        }
        bearer.run(now);
        let (room, is_lost) = blocks.get(millis as usize).copied().unwrap_or((2_000, false));
        bearer.block(now, room, is_lost);
        bearer.run(now);
        // Timers due at an instant are served then.
        for deadline in [bearer.receiver.poll_timeout(), bearer.sender.poll_timeout()].into_iter().flatten() {
            assert!(deadline > now);
        }
    }
    bearer
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// AM delivers each packet once and in order, with any losses that end.
    #[test]
    fn am_delivers_everything_in_order(
        sizes in prop::collection::vec(1_u64..3_000, 1..60),
        blocks in prop::collection::vec((0_u64..2_500, prop::bool::weighted(0.2)), 0..200),
    ) {
        let lasting = Mode::Acknowledged { poll_retransmit: MS * 80, status_prohibit: MS * 10, repetitions: 1_000 };
        let bearer = run(lasting, &sizes, &blocks);
        let found: Vec<u64> = bearer.delivered.iter().map(|(id, _)| *id).collect();
        prop_assert_eq!(found, (0..sizes.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(bearer.sender.pending(), ByteCount::new(0));
    }

    /// UM delivers in order, without repetition, and loses no more packets than lost blocks touched.
    #[test]
    fn um_delivers_in_order_what_arrived(
        sizes in prop::collection::vec(1_u64..3_000, 1..60),
        blocks in prop::collection::vec((6_u64..2_500, prop::bool::weighted(0.2)), 0..200),
    ) {
        let bearer = run(Mode::Unacknowledged, &sizes, &blocks);
        let found: Vec<u64> = bearer.delivered.iter().map(|(id, _)| *id).collect();
        prop_assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
        if !blocks.iter().any(|(_, is_lost)| *is_lost) {
            prop_assert_eq!(found.len(), sizes.len());
        }
    }
}
