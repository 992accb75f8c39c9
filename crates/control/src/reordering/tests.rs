use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::DataRate;

use super::*;

const SIZE: ByteCount = ByteCount::new(500);

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn fixed(packets: u32, ms: u64) -> ReorderConfig {
    let delay = Duration::from_millis(ms);
    ReorderConfig { delay, size: BufferSize::Fixed(packets), ..ReorderConfig::default() }
}

/// Output, a number for a packet and `!first+count` for losses, separated by blanks.
fn drain(buffer: &mut ReorderBuffer<()>, now: Instant) -> alloc::string::String {
    let mut words = Vec::new();
    while let Some(output) = buffer.poll(now) {
        words.push(match output {
            Output::Packet { sequence, .. } => alloc::format!("{sequence}"),
            Output::Lost { first, count } => alloc::format!("!{first}+{count}"),
        });
    }
    words.join(" ")
}

/// Processes arrivals `(ms, sequence)` and returns the output after each.
fn feed(buffer: &mut ReorderBuffer<()>, arrivals: &[(u64, u64)]) -> Vec<alloc::string::String> {
    let mut left = Vec::new();
    for &(ms, sequence) in arrivals {
        buffer.on_packet(at(ms), sequence, SIZE, ());
        left.push(drain(buffer, at(ms)));
    }
    left
}

#[test]
fn figure_1_all_packets_are_released_when_the_gap_is_filled() {
    // "Packets 1 and 2 arrive in-order ... packet 4 arrives. Packet 4 and the following are enqueued until
    // the reception of packet 3. When packet 3 is received, the buffer is flushed without delay (at t = 8)."
    let mut buffer = ReorderBuffer::new(fixed(12, 100), 1);
    let arrivals = [(1, 1), (2, 2), (4, 4), (5, 5), (6, 6), (7, 7), (8, 3)];
    assert_eq!(feed(&mut buffer, &arrivals), ["1", "2", "", "", "", "", "3 4 5 6 7"]);
    assert_eq!(buffer.counts(), ReorderCounts { reordered: 4, most_held: 5, ..ReorderCounts::default() });
    assert_eq!((buffer.held(), buffer.next_sequence(), buffer.poll_timeout()), (0, 8, None));
}

#[test]
fn packets_without_data_are_not_waited_for() {
    let mut buffer = ReorderBuffer::new(fixed(12, 50), 1);
    feed(&mut buffer, &[(0, 1)]);
    // 2 and 3 carry no data: 4 follows 1. 7 arrives before 5, and 6 carries no data.
    buffer.on_packet_behind(at(1), 4, 2, SIZE, ());
    assert_eq!(drain(&mut buffer, at(1)), "4");
    buffer.on_packet_behind(at(2), 7, 1, SIZE, ());
    assert_eq!((drain(&mut buffer, at(2)), buffer.poll_timeout()), (String::new(), Some(at(52))));
    assert_eq!(feed(&mut buffer, &[(3, 5)]), ["5 7"]);
    // 6 arrives nevertheless.
    assert_eq!(buffer.on_packet(at(4), 6, SIZE, ()), Placement::Late);
    // Of the missing packets, 8 alone is lost.
    buffer.on_packet_behind(at(5), 10, 1, SIZE, ());
    assert_eq!(drain(&mut buffer, at(55)), "!8+1 10");
}

#[test]
fn the_next_packet_in_order_need_not_be_inserted() {
    let mut buffer = ReorderBuffer::<()>::new(fixed(12, 50), 1);
    assert!(buffer.pass(1, 0, SIZE) && !buffer.pass(1, 0, SIZE), "once");
    assert!(!buffer.pass(3, 0, SIZE) && buffer.pass(3, 1, SIZE), "no packet is missing before 3");
    feed(&mut buffer, &[(0, 5)]);
    assert!(!buffer.pass(4, 0, SIZE), "5 would leave, too");
    assert_eq!(feed(&mut buffer, &[(1, 4)]), ["4 5"]);
}

#[test]
fn a_packet_held_for_long_does_not_let_memory_grow() {
    let mut buffer = ReorderBuffer::new(fixed(12, 60_000), 1);
    feed(&mut buffer, &[(0, 100_000)]);
    for pair in 0..10_000 {
        let left = feed(&mut buffer, &[(pair, 2 * pair + 2), (pair, 2 * pair + 1)]);
        assert_eq!(left[1], alloc::format!("{} {}", 2 * pair + 1, 2 * pair + 2));
        assert!(buffer.waiting.len() <= 8, "{}", buffer.waiting.len());
    }
    assert_eq!(buffer.poll_timeout(), Some(at(60_000)));
}

#[test]
fn a_new_size_applies_at_once() {
    let mut buffer = ReorderBuffer::new(fixed(12, 50), 1);
    assert_eq!(feed(&mut buffer, &[(0, 2), (1, 3), (2, 4)]), ["", "", ""]);
    buffer.set_size(BufferSize::Fixed(2));
    assert_eq!(drain(&mut buffer, at(2)), "!1+1 2 3 4");
}

#[test]
fn a_packet_held_for_d_max_is_released_and_missing_packets_before_it_are_lost() {
    let mut buffer = ReorderBuffer::new(fixed(12, 50), 1);
    feed(&mut buffer, &[(0, 1), (10, 3), (20, 4)]);
    assert_eq!(buffer.poll_timeout(), Some(at(60)));
    assert_eq!(drain(&mut buffer, at(59)), "");
    assert_eq!(drain(&mut buffer, at(60)), "!2+1 3 4");
    assert_eq!(buffer.counts().expired, 1);
}

#[test]
fn only_gaps_before_the_due_packet_are_declared_lost() {
    let mut buffer = ReorderBuffer::new(fixed(12, 50), 1);
    // 2 and 4 are missing; 3 has been held since 10 ms, 5 since 40 ms.
    feed(&mut buffer, &[(0, 1), (10, 3), (40, 5)]);
    assert_eq!(drain(&mut buffer, at(60)), "!2+1 3");
    assert_eq!(buffer.poll_timeout(), Some(at(90)));
    assert_eq!(feed(&mut buffer, &[(70, 4)]), ["4 5"]);
}

#[test]
fn the_packet_held_longest_may_be_a_later_one() {
    let mut buffer = ReorderBuffer::new(fixed(12, 50), 1);
    // 6 arrived first: at 60 ms it is due, and 2, 3 and 5 are declared lost, although 4 arrived only at 50
    // ms.
    feed(&mut buffer, &[(0, 1), (10, 6), (50, 4)]);
    assert_eq!(buffer.poll_timeout(), Some(at(60)));
    assert_eq!(drain(&mut buffer, at(60)), "!2+2 4 !5+1 6");
    assert_eq!(buffer.counts().expired, 3);
}

#[test]
fn a_full_buffer_declares_its_first_gap_lost() {
    let mut buffer = ReorderBuffer::new(fixed(2, 1000), 1);
    let left = feed(&mut buffer, &[(0, 1), (1, 3), (2, 5), (3, 7)]);
    // Three are held with room for two: 2 is declared lost. 5 and 7 are held on.
    assert_eq!(left, ["1", "", "", "!2+1 3"]);
    assert_eq!((buffer.held(), buffer.counts().overflowed), (2, 1));
}

#[test]
fn a_buffer_can_be_full_by_bytes() {
    let config = ReorderConfig { max_bytes: ByteCount::new(999), ..fixed(12, 1000) };
    let mut buffer = ReorderBuffer::new(config, 1);
    assert_eq!(feed(&mut buffer, &[(0, 2), (1, 3)]), ["", "!1+1 2 3"]);
}

#[test]
fn a_packet_behind_the_next_one_is_late_and_a_held_one_is_a_duplicate() {
    let mut buffer = ReorderBuffer::new(fixed(12, 50), 1);
    feed(&mut buffer, &[(0, 1), (10, 3)]);
    assert_eq!(buffer.on_packet(at(11), 3, SIZE, ()), Placement::Duplicate);
    assert_eq!(drain(&mut buffer, at(60)), "!2+1 3");
    assert_eq!(buffer.on_packet(at(61), 2, SIZE, ()), Placement::Late);
    assert_eq!(buffer.on_packet(at(62), 4, SIZE, ()), Placement::InOrder);
    assert_eq!(buffer.on_packet(at(63), 6, SIZE, ()), Placement::Held);
    assert_eq!((buffer.counts().late, buffer.counts().duplicates), (1, 1));
}

#[test]
fn the_sizes_follow_from_the_rates_as_in_the_paper() {
    // Section III: 1 Mbit/s, 50 ms, 500 bytes: 12.5 packets. G.711: 80 kbit/s, 100 ms, 200 bytes: 5.
    for (kbit, ms, size, packets) in [(1000.0, 50, 500, 12), (80.0, 100, 200, 5), (24.0, 100, 60, 5)] {
        let rate = DataRate::from_kilobits_per_second(kbit);
        for size_of in [BufferSize::Peak(rate), BufferSize::Dynamic] {
            let config = ReorderConfig { size: size_of, ..fixed(1, ms) };
            let mut buffer = ReorderBuffer::new(config, 1);
            buffer.set_rate(rate);
            buffer.on_packet(at(0), 1, ByteCount::new(size), ());
            assert_eq!(buffer.capacity(), packets, "{kbit} kbit/s");
        }
    }
}

#[test]
fn a_dynamic_size_follows_the_rate_and_the_packets() {
    let mut buffer = ReorderBuffer::new(ReorderConfig::default(), 1);
    buffer.on_packet(at(0), 1, SIZE, ());
    assert_eq!(buffer.capacity(), ReorderConfig::default().max_packets, "the rate is not known");
    buffer.set_rate(DataRate::from_megabits_per_second(2.0));
    assert_eq!(buffer.capacity(), 25);
    for sequence in 2..=400 {
        buffer.on_packet(at(0), sequence, ByteCount::new(1000), ());
    }
    assert_eq!(buffer.capacity(), 12);
    buffer.set_rate(DataRate::ZERO);
    assert_eq!(buffer.capacity(), 1);
}

#[test]
fn a_new_d_max_applies_to_held_packets_and_to_q() {
    let config = ReorderConfig { delay: Duration::from_millis(50), ..ReorderConfig::default() };
    let mut buffer = ReorderBuffer::new(config, 1);
    buffer.set_rate(DataRate::from_megabits_per_second(1.0));
    feed(&mut buffer, &[(0, 1), (10, 3), (30, 5)]);
    assert_eq!((buffer.capacity(), buffer.poll_timeout()), (12, Some(at(60))));
    buffer.set_delay(Duration::from_millis(100));
    assert_eq!((buffer.capacity(), buffer.poll_timeout()), (25, Some(at(110))));
    assert_eq!(drain(&mut buffer, at(60)), "");
    // Packets held for longer than the new D_max are released.
    buffer.set_delay(Duration::from_millis(40));
    assert_eq!(drain(&mut buffer, at(60)), "!2+1 3");
    assert_eq!((buffer.capacity(), buffer.poll_timeout()), (10, Some(at(70))));
}

/// Reference implementation of the buffer's definition, without any retained state.
struct Naive {
    config: ReorderConfig,
    next: u64,
    held: BTreeMap<u64, Instant>,
}

impl Naive {
    fn on_packet(&mut self, now: Instant, sequence: u64) {
        if sequence >= self.next {
            self.held.entry(sequence).or_insert(now);
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Output<()>> {
        let (&first, &arrived) = self.held.iter().next()?;
        if first == self.next {
            self.held.remove(&first);
            self.next += 1;
            return Some(Output::Packet { sequence: first, arrived, value: () });
        }
        let BufferSize::Fixed(packets) = self.config.size else { unreachable!() };
        let is_over = self.held.values().any(|&arrived| arrived + self.config.delay <= now);
        if !is_over && self.held.len() <= packets as usize {
            return None;
        }
        let lost = Output::Lost { first: self.next, count: first - self.next };
        self.next = first;
        Some(lost)
    }
}

/// Arrivals: pauses in ms, and the distance by which the packet is reordered.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u64)>> {
    proptest::collection::vec((0..30u64, prop_oneof![6 => 0..1u64, 3 => 1..8u64, 1 => 0..60u64]), 1..200)
}

proptest! {
    #[test]
    fn the_buffer_matches_its_definition(arrivals in arrivals(), packets in 1..9u32, delay in 0..120u64) {
        let config = fixed(packets, delay);
        let mut buffer = ReorderBuffer::new(config, 1);
        let mut naive = Naive { config, next: 1, held: BTreeMap::new() };
        let (mut ms, mut newest) = (0, 1);
        for (pause, back) in arrivals {
            ms += pause;
            newest += 1 + u64::from(back > 5) * back / 4;
            let sequence = newest.saturating_sub(back).max(1);
            buffer.on_packet(at(ms), sequence, SIZE, ());
            naive.on_packet(at(ms), sequence);
            loop {
                let output = buffer.poll(at(ms));
                prop_assert_eq!(output, naive.poll(at(ms)));
                if output.is_none() {
                    break;
                }
            }
            prop_assert_eq!(buffer.held(), naive.held.len());
        }
    }

    /// Packets leave strictly in order; none is held longer than D_max, if timeouts are handled; at most Q
    /// are held; each packet and each loss is returned once, and together they cover every number up to the
    /// last.
    #[test]
    fn the_invariants_of_the_buffer_hold(arrivals in arrivals(), packets in 1..9u32, delay in 0..120u64) {
        let mut buffer = ReorderBuffer::new(fixed(packets, delay), 1);
        let (mut ms, mut newest, mut next) = (0, 1u64, 1);
        for (pause, back) in arrivals {
            ms += pause;
            newest += 1;
            // Handle timeouts that are due.
            while let Some(deadline) = buffer.poll_timeout().filter(|deadline| *deadline <= at(ms)) {
                let mut woke = false;
                while let Some(output) = buffer.poll(deadline) {
                    woke = true;
                    next = check(output, next, deadline, delay)?;
                }
                prop_assert!(woke, "timeout without effect at {deadline:?}");
            }
            buffer.on_packet(at(ms), newest.saturating_sub(back).max(1), SIZE, ());
            while let Some(output) = buffer.poll(at(ms)) {
                next = check(output, next, at(ms), delay)?;
            }
            prop_assert!(buffer.held() <= packets as usize);
            prop_assert_eq!(buffer.held() == 0, buffer.poll_timeout().is_none());
            prop_assert_eq!(buffer.next_sequence(), next);
        }
    }

    #[test]
    fn packets_in_order_are_not_delayed(pauses in proptest::collection::vec(0..50u64, 1..100)) {
        let mut buffer = ReorderBuffer::new(fixed(1, 0), 1);
        let mut ms = 0;
        for (sequence, pause) in (1..).zip(pauses) {
            ms += pause;
            prop_assert_eq!(buffer.on_packet(at(ms), sequence, SIZE, ()), Placement::InOrder);
            prop_assert_eq!(buffer.poll(at(ms)), Some(Output::Packet { sequence, arrived: at(ms), value: () }));
            prop_assert_eq!((buffer.poll(at(ms)), buffer.poll_timeout()), (None, None));
        }
        prop_assert_eq!(buffer.counts(), ReorderCounts { most_held: 1, ..ReorderCounts::default() });
    }
}

/// Checks that an output is allowed; returns the next sequence number to release.
fn check(output: Output<()>, next: u64, now: Instant, delay: u64) -> Result<u64, TestCaseError> {
    Ok(match output {
        Output::Packet { sequence, arrived, .. } => {
            prop_assert_eq!(sequence, next);
            prop_assert!(now - arrived <= Duration::from_millis(delay));
            sequence + 1
        }
        Output::Lost { first, count } => {
            prop_assert_eq!(first, next);
            prop_assert!(count > 0);
            first + count
        }
    })
}
