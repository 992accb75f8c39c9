use std::vec::Vec;

use whimbrel_units::Duration;

use super::super::{DropCause, Event, MacConfig, MacRules, ReceptionError, Step};
use super::{ME, OTHER, PEER, at, events, frame, outcomes, payload, receive, run, station, steps, times};
use crate::frame::FrameKind;
use crate::phy::{Phy, Preamble, Rate};

/// ns-2 with data at 11 Mbit/s and without RTS. Headers have the standard's length, for the computed times.
fn basic() -> MacConfig {
    MacConfig {
        data_rate: Rate::Hr11,
        rts_threshold: 3_000,
        header_bytes: 28,
        is_traced: true,
        ..MacConfig::ns2()
    }
}

fn with_rts() -> MacConfig {
    MacConfig { rts_threshold: 0, ..basic() }
}

#[test]
fn an_idle_medium_still_demands_difs_and_a_backoff() {
    let mut machine = station(basic(), &[7]);
    machine.enqueue(at(1_003), payload(1)).unwrap();
    // From the arrival on, not on a grid of slots.
    assert_eq!(times(&run(&mut machine, 2_000)), [(1_003 + 50 + 140, FrameKind::Data)]);
}

#[test]
fn the_largest_backoff_is_one_slot_less_than_the_window() {
    let mut random = crate::random::SplitMix64::new(1);
    for (rules, largest) in [(MacRules::Standard, 31), (MacRules::Ns2, 30)] {
        let mut seen = 0;
        for _ in 0..2_000 {
            let seed = crate::random::Random::next_u64(&mut random);
            let config = MacConfig { rules, ..basic() };
            let mut machine = super::Dcf::new(ME, config, crate::random::SplitMix64::new(seed));
            machine.handle_busy(at(0));
            machine.enqueue(at(1), payload(1)).unwrap();
            while let Some((_, event)) = machine.poll_event() {
                if let Event::Trace(Step::BackoffDrawn { slots, .. }) = event {
                    seen = seen.max(slots);
                }
            }
        }
        assert_eq!(seen, largest, "{rules:?}");
    }
}

/// At 11 Mbit/s, 1534 bytes last 1115.636 us after the PLCP header, and the reservation of their RTS is
/// rounded upwards; for 1484 bytes (1079.273 us), downwards.
#[test]
fn frames_last_as_long_as_their_bits_and_reservations_are_rounded() {
    for (bytes, nanos, rounded) in [(1_500, 1_115_636, 1_116_000), (1_450, 1_079_273, 1_079_000)] {
        let config = MacConfig { data_rate: Rate::Hr11, ..MacConfig::ns2() };
        let data = config.phy.duration(Rate::Hr11, bytes + config.header_bytes);
        assert_eq!(data, Duration::from_micros(192) + Duration::from_nanos(nanos));
        let rest = Duration::from_micros(3 * 10 + 2 * 304);
        assert_eq!(config.duration_field(rest + data), rest + Duration::from_nanos(192_000 + rounded));
        // The standard's frames last whole microseconds.
        let standard = MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11);
        let whole = standard.phy.duration(Rate::Hr11, bytes + config.header_bytes);
        assert_eq!(whole.as_nanos() % 1_000, 0);
        assert_eq!(standard.duration_field(whole), whole);
    }
}

#[test]
fn an_error_sets_the_nav_by_eifs_and_difs_follows() {
    for error in [ReceptionError::Corrupted, ReceptionError::Undecodable] {
        let mut machine = station(basic(), &[0]);
        machine.handle_busy(at(0));
        machine.enqueue(at(1), payload(1)).unwrap();
        machine.handle_error(at(500), error);
        machine.handle_idle(at(500));
        assert_eq!(machine.nav_end(), at(864));
        // A correct frame does not shorten it: 414 us in all.
        let end = receive(&mut machine, 510, &frame(FrameKind::Ack, OTHER, OTHER, 0));
        assert_eq!(end, 814);
        assert_eq!(machine.poll_timeout(), Some(at(500 + 414)));
    }
}

#[test]
fn a_captured_frame_sets_the_nav_by_eifs_and_its_own_time() {
    let mut machine = station(basic(), &[]);
    machine.handle_busy(at(0));
    machine.handle_captured(at(100), Duration::from_micros(1_000));
    assert_eq!(machine.nav_end(), at(100 + 364 + 1_000));
}

#[test]
fn after_a_timeout_a_new_difs_begins() {
    let mut machine = station(basic(), &[0, 5]);
    machine.enqueue(at(0), payload(1)).unwrap();
    let sent = run(&mut machine, 3_000);
    // The data, which last 1309.09 us, SIFS, an acknowledgement at 1 Mbit/s and twice 2 us.
    let timeout = 50 + 1_309 + 10 + 304 + 4;
    assert_eq!(times(&sent), [(50, FrameKind::Data), (timeout + 50 + 100, FrameKind::Data)]);
}

#[test]
fn another_frame_does_not_end_the_wait_for_a_response() {
    let mut machine = station(basic(), &[0, 0]);
    machine.enqueue(at(0), payload(1)).unwrap();
    run(&mut machine, 1_360);
    receive(&mut machine, 1_361, &frame(FrameKind::Cts, OTHER, OTHER, 0));
    assert_eq!(machine.counters().failed_attempts, 0);
    run(&mut machine, 1_360 + 318);
    assert_eq!(machine.counters().failed_attempts, 1);
}

#[test]
fn a_cts_needs_an_idle_medium_after_sifs() {
    let rts = frame(FrameKind::Rts, PEER, ME, 1_948);
    let mut machine = station(with_rts(), &[]);
    let end = receive(&mut machine, 0, &rts);
    assert_eq!(times(&run(&mut machine, end + 10)), [(end + 10, FrameKind::Cts)]);
    let mut busy = station(with_rts(), &[]);
    let end = receive(&mut busy, 0, &rts);
    busy.handle_busy(at(end + 9));
    assert!(run(&mut busy, end + 400).is_empty());
    assert!(steps(&mut busy).contains(&Step::CtsWithheld { nav: Duration::ZERO }));
}

#[test]
fn a_busy_medium_after_a_cts_doubles_the_window_and_begins_with_an_rts_again() {
    let mut machine = station(with_rts(), &[0, 1]);
    machine.enqueue(at(0), payload(1)).unwrap();
    run(&mut machine, 402);
    let end = receive(&mut machine, 412, &frame(FrameKind::Cts, PEER, ME, 1_634));
    machine.handle_busy(at(end + 5));
    assert!(run(&mut machine, end + 100).is_empty());
    assert_eq!(machine.window(), 63);
    machine.handle_idle(at(end + 200));
    assert_eq!(times(&run(&mut machine, end + 300)), [(end + 200 + 50 + 20, FrameKind::Rts)]);
}

#[test]
fn after_a_cts_the_station_waits_for_the_data_frame_before_it_contends() {
    let mut machine = station(with_rts(), &[0]);
    let rts_end = receive(&mut machine, 0, &frame(FrameKind::Rts, PEER, ME, 1_948));
    machine.enqueue(at(rts_end), payload(1)).unwrap();
    let cts_end = rts_end + 10 + 304;
    // The CTS announces 1634 us, of which SIFS and the acknowledgement do not count.
    let wait = cts_end + 1_634 - 10 - 304 + 4;
    let sent = run(&mut machine, wait + 100);
    assert_eq!(times(&sent), [(rts_end + 10, FrameKind::Cts), (wait + 50, FrameKind::Rts)]);
}

#[test]
fn data_above_the_threshold_is_discarded_without_an_own_cts() {
    let mut machine = station(with_rts(), &[]);
    receive(&mut machine, 0, &frame(FrameKind::Data, PEER, ME, 314));
    assert!(run(&mut machine, 5_000).is_empty());
    assert_eq!(outcomes(&mut machine), []);
    let mut invited = station(with_rts(), &[]);
    let end = receive(&mut invited, 0, &frame(FrameKind::Rts, PEER, ME, 1_948));
    run(&mut invited, end + 314);
    let data = frame(FrameKind::Data, PEER, ME, 314);
    let end = receive(&mut invited, end + 324, &data);
    assert_eq!(times(&run(&mut invited, end + 100)), [(end + 10, FrameKind::Ack)]);
    assert_eq!(outcomes(&mut invited), [Event::Delivered { frame: data }]);
}

#[test]
fn the_reservation_of_an_rts_is_kept_without_a_following_frame() {
    let mut machine = station(basic(), &[0]);
    let end = receive(&mut machine, 0, &frame(FrameKind::Rts, OTHER, PEER, 1_948));
    machine.enqueue(at(end), payload(1)).unwrap();
    assert_eq!(times(&run(&mut machine, end + 3_000)), [(end + 1_948 + 50, FrameKind::Data)]);
}

#[test]
fn a_frame_of_exactly_the_threshold_uses_rts_and_counts_as_short() {
    // 1536 bytes and 24 bytes of PLCP.
    let exact = MacConfig { rts_threshold: 1_560, ..basic() };
    assert!(exact.uses_rts(1_536) && !exact.uses_rts(1_535));
    let standard = MacConfig { rules: MacRules::Standard, rts_threshold: 1_536, ..basic() };
    assert!(standard.uses_rts(1_537) && !standard.uses_rts(1_536));
}

#[test]
fn a_cts_clears_the_short_counter_only_and_counters_outlive_the_frame() {
    // Six missing CTS, then one that arrives: seven more may be missing.
    let mut machine = station(with_rts(), &[0; 14]);
    machine.enqueue(at(0), payload(1)).unwrap();
    let mut kinds = Vec::new();
    let mut now = 0;
    while !machine.is_ready() {
        let sent = run(&mut machine, now);
        if let Some((start, frame_sent)) = sent.last() {
            kinds.push(frame_sent.kind);
            if kinds.len() == 7 {
                run(&mut machine, start + 352);
                now = receive(&mut machine, start + 362, &frame(FrameKind::Cts, PEER, ME, 1_634));
            }
        }
        now += 1;
    }
    assert_eq!(kinds.iter().filter(|&&kind| kind == FrameKind::Rts).count(), 14);
    assert_eq!(kinds[7], FrameKind::Data);
    let dropped = Event::Dropped { payload: 1, receiver: PEER, cause: DropCause::NoCts };
    let all = events(&mut machine);
    assert!(all.contains(&dropped), "{all:?}");
    // No backoff runs after the drop.
    assert_eq!(machine.poll_timeout(), None);
    assert!(matches!(all.last(), Some(Event::Dropped { .. })), "{all:?}");
}

#[test]
fn a_repeated_sequence_number_is_a_duplicate_without_the_retry_bit() {
    let data = frame(FrameKind::Data, PEER, ME, 314);
    let mut machine = station(basic(), &[]);
    receive(&mut machine, 0, &data);
    run(&mut machine, 3_000);
    receive(&mut machine, 5_000, &data);
    assert_eq!(times(&run(&mut machine, 9_000)), [(6_320, FrameKind::Ack)]);
    assert_eq!(machine.counters().duplicates, 1);
}
