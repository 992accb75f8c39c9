use std::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::Instant;

use super::{Fate, Packet, Room, TransmitWindow};
use crate::aggregation::{AggregateLimits, ReorderBuffer, Scoreboard, sequence_after};
use crate::phy::{Format, GuardInterval, LONGEST_PPDU, Mode, Width};

fn ht7() -> Mode {
    Mode::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).unwrap()
}

fn room(limits: &AggregateLimits) -> Room {
    Room { mode: Some(ht7()), psdu: limits.psdu_bytes(ht7(), LONGEST_PPDU), single: u32::MAX }
}

fn filled(packets: u64) -> TransmitWindow {
    let mut window = TransmitWindow::default();
    (0..packets).for_each(|handle| window.push(Packet { handle, size: 1_508 }));
    window
}

/// The lengths of A-MPDUs: (n - 1) x pad4(4 + m) + 4 + m.
#[test]
fn an_aggregate_holds_what_time_size_and_window_admit() {
    let build = |limits: &AggregateLimits| {
        let (mut mpdus, mut packets) = (Vec::new(), Vec::new());
        let length = filled(600).build(limits, room(limits), &mut mpdus, &mut packets);
        (mpdus.len(), packets.len(), length)
    };
    let ht = AggregateLimits::of(Format::Ht);
    // 5484 us at 65 Mbit/s.
    assert_eq!(build(&ht), (28, 28, 27 * 1_544 + 1_542));
    let small = AggregateLimits { ampdu_bytes: 32_768, amsdu_bytes: 3_839, ..ht };
    assert_eq!(build(&small).0, 10);
    assert_eq!(build(&AggregateLimits { window: 8, ..ht }).0, 8);
    assert_eq!(build(&AggregateLimits::NONE), (1, 1, 1_538));
    let amsdu = AggregateLimits { amsdu_bytes: 7_935, ..AggregateLimits::NONE };
    assert_eq!(build(&amsdu), (1, 5, 4 * 1_524 + 1_522 + 30));
}

#[test]
fn only_what_was_lost_is_repeated_and_the_window_waits_for_it() {
    let limits = AggregateLimits { window: 8, ..AggregateLimits::of(Format::Ht) };
    let mut window = filled(20);
    let mut board = Scoreboard::new(0, 8);
    let mut mpdus = Vec::new();
    let mut fates = Vec::new();
    window.build(&limits, room(&limits), &mut mpdus, &mut Vec::new());
    (0..8).filter(|number| ![1, 6].contains(number)).for_each(|number| board.receive(number));
    let mut report = |handle, fate, tries| fates.push((handle, fate, tries));
    assert!(!window.acknowledge(&board.answer(), Some(2), &mut report));
    // The window begins with 1: 8 is new, 9 has to wait.
    mpdus.clear();
    window.build(&limits, room(&limits), &mut mpdus, &mut Vec::new());
    let sent: Vec<_> = mpdus.iter().map(|mpdu| (mpdu.sequence, mpdu.is_retry)).collect();
    assert_eq!(sent, [(1, true), (6, true), (8, false)]);
    // No response: 1 and 6 have reached the limit, 8 has not.
    assert!(window.fail(Some(2), &mut report));
    assert_eq!(window.start(), 8);
    assert_eq!(
        fates.iter().filter(|fate| fate.1 == Fate::GivenUp).map(|fate| fate.0).collect::<Vec<_>>(),
        [1, 6]
    );
    // A transmission that did not take place does not count.
    mpdus.clear();
    window.build(&limits, room(&limits), &mut mpdus, &mut Vec::new());
    assert_eq!(mpdus.len(), 8);
    window.withdraw();
    mpdus.clear();
    window.build(&limits, room(&limits), &mut mpdus, &mut Vec::new());
    assert_eq!((mpdus[0].is_retry, mpdus[1].is_retry), (true, false));
}

proptest! {
    /// A sender and a receiver with losses of MPDUs and of whole exchanges: the window never exceeds its
    /// size, every packet ends once at the sender, and arrives at most once and in order at the receiver.
    #[test]
    fn packets_end_once_and_arrive_in_order(
        window_size in prop::sample::select(std::vec![2u16, 8, 64]),
        amsdu_bytes in prop::sample::select(std::vec![0u32, 3_839]),
        seed in any::<u64>(),
    ) {
        use crate::random::{Random, SplitMix64};
        const PACKETS: u64 = 700;
        let limits = AggregateLimits { window: window_size, amsdu_bytes, ..AggregateLimits::of(Format::Ht) };
        let mut random = SplitMix64::new(seed);
        let mut sender = filled(PACKETS);
        let mut board = Scoreboard::new(0, window_size);
        let mut buffer = ReorderBuffer::new(0, window_size);
        let (mut ended, mut arrived): (Vec<(u64, Fate)>, Vec<u64>) = (Vec::new(), Vec::new());
        while sender.has_traffic() {
            let (mut mpdus, mut packets) = (Vec::new(), Vec::new());
            let length = sender.build(&limits, room(&limits), &mut mpdus, &mut packets);
            prop_assert!(length > 0 && length <= 65_535);
            let last = mpdus.last().unwrap().sequence;
            prop_assert!(crate::aggregation::sequences_between(sender.start(), last) < window_size);
            let is_heard = random.uniform() < 0.8;
            let mut first = 0;
            for mpdu in &mpdus {
                let end = first + usize::from(mpdu.packets);
                if is_heard && random.uniform() < 0.6 {
                    board.receive(mpdu.sequence);
                    let handles = packets[first..end].iter().map(|packet| packet.handle);
                    buffer.receive(Instant::ZERO, mpdu.sequence, handles, &mut |packet| arrived.push(packet));
                }
                first = end;
            }
            prop_assert_eq!(first, packets.len());
            let mut report = |handle, fate, _| ended.push((handle, fate));
            let gives_up = if is_heard && random.uniform() < 0.9 {
                sender.acknowledge(&board.answer(), Some(4), &mut report)
            } else {
                sender.fail(Some(4), &mut report)
            };
            if gives_up {
                board.request(sender.start());
                buffer.request(sender.start(), &mut |packet| arrived.push(packet));
            }
        }
        prop_assert_eq!(buffer.held(), 0);
        prop_assert_eq!(buffer.start(), sender.start());
        prop_assert_eq!(sequence_after(sender.start(), 0), sender.start());
        prop_assert!(arrived.is_sorted_by(|a, b| a < b));
        let mut handles: Vec<u64> = ended.iter().map(|&(handle, _)| handle).collect();
        handles.sort_unstable();
        prop_assert!(handles.iter().copied().eq(0..PACKETS));
        let acknowledged = ended.iter().filter(|(_, fate)| *fate == Fate::Acknowledged);
        for (handle, _) in acknowledged {
            prop_assert!(arrived.binary_search(handle).is_ok());
        }
    }
}

/// Handover to the next access point: the numbers of the old window are not used again.
#[test]
fn a_cleared_window_gives_back_what_is_not_acknowledged() {
    let limits = AggregateLimits { window: 4, ..AggregateLimits::of(Format::Ht) };
    let mut window = filled(6);
    let mut mpdus = Vec::new();
    window.build(&limits, room(&limits), &mut mpdus, &mut Vec::new());
    let mut board = Scoreboard::new(0, 4);
    board.receive(1);
    window.acknowledge(&board.answer(), None, &mut |_, _, _| {});
    let mut given = Vec::new();
    window.clear(&mut |packet, was_sent| given.push((packet.handle, was_sent)));
    assert_eq!(given, [(0, true), (2, true), (3, true), (4, false), (5, false)]);
    assert!(!window.has_traffic() && window.packets() == 0);
    assert_eq!(window.start(), 4);
    window.push(Packet { handle: 9, size: 100 });
    mpdus.clear();
    window.build(&limits, room(&limits), &mut mpdus, &mut Vec::new());
    assert_eq!((mpdus.len(), mpdus[0].sequence, mpdus[0].is_retry), (1, 4, false));
}
