use std::vec;
use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::super::{DropCause, Event, ImmediateAccess, MacConfig, Outgoing, ReceptionError, Step};
use super::{
    ME, OTHER, PEER, at, config, events, frame, outcomes, payload, receive, run, station, steps, times,
};
use crate::frame::{FrameKind, MacAddress};
use crate::phy::Rate;

#[test]
fn a_frame_on_an_idle_medium_is_sent_after_difs_and_acknowledged() {
    let mut machine = station(config(), &[5]);
    machine.enqueue(at(1_000), payload(1)).unwrap();
    let sent = run(&mut machine, 2_360);
    assert_eq!(times(&sent), [(1_050, FrameKind::Data)]);
    let data = sent[0].1;
    assert_eq!((data.air_time, data.size), (Duration::from_micros(1_310), 1_536));
    // SIFS and an acknowledgement at 1 Mbit/s.
    assert_eq!(data.nav, Duration::from_micros(10 + 304));
    let end = receive(&mut machine, 2_370, &frame(FrameKind::Ack, PEER, ME, 0));
    assert_eq!(outcomes(&mut machine), [Event::Sent { payload: 1, receiver: PEER, retries: 0 }]);
    // The backoff after the success: 5 slots after DIFS, also for a frame that arrives during it.
    machine.enqueue(at(end + 60), payload(2)).unwrap();
    assert_eq!(times(&run(&mut machine, end + 500)), [(end + 50 + 5 * 20, FrameKind::Data)]);
}

#[test]
fn the_idle_time_before_the_arrival_counts_by_the_older_text() {
    let mut machine = station(MacConfig { immediate_access: ImmediateAccess::AtOnce, ..config() }, &[]);
    machine.enqueue(at(1_000), payload(1)).unwrap();
    assert!(machine.poll_transmit(at(1_000)).is_some());
    let mut early = station(MacConfig { immediate_access: ImmediateAccess::AtOnce, ..config() }, &[]);
    early.enqueue(at(20), payload(1)).unwrap();
    assert_eq!(times(&run(&mut early, 100)), [(50, FrameKind::Data)]);
}

#[test]
fn a_busy_medium_at_arrival_or_during_difs_demands_a_backoff() {
    let other = frame(FrameKind::Data, OTHER, PEER, 0);
    let mut machine = station(config(), &[3]);
    machine.handle_busy(at(900));
    machine.enqueue(at(1_000), payload(1)).unwrap();
    machine.handle_frame(at(2_210), &other);
    machine.handle_idle(at(2_210));
    assert_eq!(times(&run(&mut machine, 2_400)), [(2_210 + 50 + 60, FrameKind::Data)]);

    let mut interrupted = station(config(), &[4]);
    interrupted.enqueue(at(1_000), payload(1)).unwrap();
    let end = receive(&mut interrupted, 1_049, &other);
    assert_eq!(times(&run(&mut interrupted, end + 200)), [(end + 50 + 80, FrameKind::Data)]);
}

#[test]
fn a_frozen_backoff_keeps_the_whole_slots_that_it_counted() {
    let mut machine = station(config(), &[10]);
    let end = receive(&mut machine, 0, &frame(FrameKind::Data, OTHER, PEER, 0));
    machine.handle_busy(at(end + 10));
    machine.enqueue(at(end + 11), payload(1)).unwrap();
    machine.handle_idle(at(end + 20));
    // Three slots and a half pass, then another station sends.
    let busy = end + 20 + 50 + 70;
    assert!(run(&mut machine, busy - 1).is_empty());
    let idle = receive(&mut machine, busy, &frame(FrameKind::Data, OTHER, PEER, 0));
    assert!(steps(&mut machine).contains(&Step::BackoffFrozen { slots: 7 }));
    assert_eq!(times(&run(&mut machine, idle + 300)), [(idle + 50 + 7 * 20, FrameKind::Data)]);
}

/// The timeout of 11 Mbit/s with the long preamble: SIFS, a slot and 192 us.
const TIMEOUT: u64 = 10 + 20 + 192;

#[test]
fn without_acknowledgements_the_window_doubles_and_the_seventh_attempt_is_the_last() {
    // The largest backoff of each window, then the one after the drop.
    let mut machine = station(config(), &[63, 127, 255, 511, 1_023, 1_023, 9]);
    machine.enqueue(at(1_000), payload(1)).unwrap();
    let sent = run(&mut machine, 1_000_000);
    assert_eq!(sent.len(), 7);
    assert!(!sent[0].1.is_retry && sent[1..].iter().all(|(_, frame)| frame.is_retry));
    assert!(sent.iter().all(|(_, frame)| frame.sequence == 0));
    for (pair, slots) in sent.windows(2).zip([63, 127, 255, 511, 1_023, 1_023]) {
        // The timeout falls into the ninth slot after DIFS: the backoff begins at the next boundary.
        let end = pair[0].0 + 1_310;
        assert_eq!((TIMEOUT - 50).div_ceil(20), 9);
        assert_eq!(pair[1].0, end + 50 + 9 * 20 + slots * 20);
    }
    let windows: Vec<u16> = steps_of_windows(&mut machine);
    assert_eq!(windows, [63, 127, 255, 511, 1_023, 1_023, 31]);
    assert_eq!(machine.counters().failed_attempts, 7);
    assert!(machine.is_ready());
}

fn steps_of_windows(machine: &mut super::Dcf<super::Script>) -> Vec<u16> {
    let window = |step| if let Step::BackoffDrawn { window, .. } = step { Some(window) } else { None };
    let all = events(machine);
    let cause = DropCause::NoAcknowledgement;
    assert!(all.contains(&Event::Dropped { payload: 1, receiver: PEER, cause }));
    let steps =
        all.into_iter().filter_map(|event| if let Event::Trace(step) = event { Some(step) } else { None });
    steps.filter_map(window).collect()
}

#[test]
fn an_exchange_with_rts_reserves_the_medium_to_its_end() {
    let mut machine = station(MacConfig { rts_threshold: 0, ..config() }, &[0]);
    machine.enqueue(at(0), payload(1)).unwrap();
    let rts = run(&mut machine, 402);
    assert_eq!(times(&rts), [(50, FrameKind::Rts)]);
    // 3 SIFS, CTS, data and acknowledgement.
    assert_eq!(rts[0].1.nav, Duration::from_micros(30 + 304 + 1_310 + 304));
    let cts_end = receive(&mut machine, 412, &frame(FrameKind::Cts, PEER, ME, 1_634));
    assert_eq!(times(&run(&mut machine, cts_end + 10 + 1_310)), [(cts_end + 10, FrameKind::Data)]);
    receive(&mut machine, cts_end + 10 + 1_310 + 10, &frame(FrameKind::Ack, PEER, ME, 0));
    assert_eq!(outcomes(&mut machine), [Event::Sent { payload: 1, receiver: PEER, retries: 0 }]);
}

#[test]
fn missing_cts_and_missing_acknowledgements_have_their_own_limits() {
    let limits =
        MacConfig { rts_threshold: 0, short_retry_limit: Some(3), long_retry_limit: Some(2), ..config() };
    let mut silent = station(limits.clone(), &[0, 0, 0]);
    silent.enqueue(at(0), payload(1)).unwrap();
    let sent = run(&mut silent, 100_000);
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|(_, frame)| frame.kind == FrameKind::Rts));
    let dropped = Event::Dropped { payload: 1, receiver: PEER, cause: DropCause::NoCts };
    assert_eq!(outcomes(&mut silent), [dropped]);

    // A CTS each time, but no acknowledgement: the second data frame is the last.
    let mut machine = station(limits, &[0, 0, 0]);
    machine.enqueue(at(0), payload(1)).unwrap();
    let mut sent = Vec::new();
    let mut now = 0;
    while machine.poll_timeout().is_some() && sent.len() < 20 {
        let more = run(&mut machine, now);
        if let Some((start, rts)) = more.last()
            && rts.kind == FrameKind::Rts
        {
            run(&mut machine, start + 352);
            now = receive(&mut machine, start + 362, &frame(FrameKind::Cts, PEER, ME, 1_634));
        }
        sent.extend(times(&more).into_iter().map(|(_, kind)| kind));
        now += 1;
    }
    assert_eq!(sent, [FrameKind::Rts, FrameKind::Data, FrameKind::Rts, FrameKind::Data]);
    let dropped = Event::Dropped { payload: 1, receiver: PEER, cause: DropCause::NoAcknowledgement };
    assert_eq!(outcomes(&mut machine), [dropped]);
    assert_eq!((machine.counters().failed_attempts, machine.counters().failed_after_cts), (0, 2));
}

#[test]
fn a_cts_is_sent_after_sifs_unless_the_medium_is_reserved() {
    let rts = frame(FrameKind::Rts, PEER, ME, 1_948);
    let mut machine = station(config(), &[]);
    let end = receive(&mut machine, 0, &rts);
    let sent = run(&mut machine, end + 400);
    assert_eq!(times(&sent), [(end + 10, FrameKind::Cts)]);
    assert_eq!(sent[0].1.receiver, PEER);
    assert_eq!(sent[0].1.nav, Duration::from_micros(1_948 - 10 - 304));

    let mut reserved = station(config(), &[]);
    let end = receive(&mut reserved, 0, &frame(FrameKind::Cts, OTHER, OTHER, 5_000));
    let end = receive(&mut reserved, end + 10, &rts);
    assert!(run(&mut reserved, end + 400).is_empty());
    assert!(steps(&mut reserved).iter().any(|step| matches!(step, Step::CtsWithheld { .. })));
}

#[test]
fn the_reservation_of_an_rts_ends_when_no_frame_follows() {
    let rts = frame(FrameKind::Rts, OTHER, PEER, 1_948);
    // 2 SIFS, a CTS, 192 us and 2 slots.
    let wait = 20 + 304 + 192 + 40;
    let mut machine = station(config(), &[2]);
    let end = receive(&mut machine, 0, &rts);
    machine.enqueue(at(end), payload(1)).unwrap();
    assert_eq!(machine.nav_end(), at(end + 1_948));
    assert_eq!(times(&run(&mut machine, end + 1_000)), [(end + wait + 50 + 40, FrameKind::Data)]);
    assert!(steps(&mut machine).contains(&Step::NavReset));

    let mut kept = station(config(), &[2]);
    let end = receive(&mut kept, 0, &rts);
    kept.enqueue(at(end), payload(1)).unwrap();
    // The CTS is too weak to be decoded, but its energy is sensed.
    kept.handle_busy(at(end + 10));
    kept.handle_error(at(end + 314), ReceptionError::Undecodable);
    kept.handle_idle(at(end + 314));
    assert_eq!(times(&run(&mut kept, end + 3_000)), [(end + 1_948 + 50 + 40, FrameKind::Data)]);
}

#[test]
fn eifs_follows_a_corrupted_frame_and_a_good_frame_ends_it() {
    let mut machine = station(config(), &[0, 0]);
    machine.handle_busy(at(0));
    machine.enqueue(at(1), payload(1)).unwrap();
    machine.handle_error(at(500), ReceptionError::Corrupted);
    machine.handle_idle(at(500));
    assert_eq!(machine.poll_timeout(), Some(at(500 + 364)));
    let end = receive(&mut machine, 600, &frame(FrameKind::Ack, OTHER, OTHER, 0));
    assert_eq!(machine.poll_timeout(), Some(at(end + 50)));

    let mut weak = station(config(), &[0]);
    weak.handle_busy(at(0));
    weak.enqueue(at(1), payload(1)).unwrap();
    weak.handle_error(at(500), ReceptionError::Undecodable);
    weak.handle_idle(at(500));
    assert_eq!(weak.poll_timeout(), Some(at(550)), "energy without a frame is followed by DIFS");
}

#[test]
fn data_is_acknowledged_after_sifs_whatever_the_medium_and_a_repetition_is_not_delivered() {
    let mut data = frame(FrameKind::Data, PEER, ME, 314);
    let mut machine = station(config(), &[]);
    machine.handle_busy(at(0));
    machine.handle_frame(at(1_310), &data);
    // Another station's signal keeps the medium busy.
    assert_eq!(times(&run(&mut machine, 2_000)), [(1_320, FrameKind::Ack)]);
    assert_eq!(outcomes(&mut machine), [Event::Delivered { frame: data }]);
    data.is_retry = true;
    machine.handle_frame(at(5_000), &data);
    assert_eq!(times(&run(&mut machine, 6_000)), [(5_010, FrameKind::Ack)]);
    assert_eq!(outcomes(&mut machine), []);
    assert_eq!(machine.counters().duplicates, 1);
    // The same sequence number without the retry bit is another frame.
    data.is_retry = false;
    machine.handle_frame(at(8_000), &data);
    assert_eq!(outcomes(&mut machine), [Event::Delivered { frame: data }]);
}

#[test]
fn a_broadcast_is_sent_once_at_the_basic_rate_and_never_acknowledged() {
    let mut machine = station(config(), &[1]);
    machine.enqueue(at(0), Outgoing::data(MacAddress::BROADCAST, 72, 5)).unwrap();
    let sent = run(&mut machine, 100_000);
    assert_eq!(times(&sent), [(50, FrameKind::Data)]);
    assert_eq!((sent[0].1.rate, sent[0].1.nav), (Rate::Dsss1, Duration::ZERO));
    let done = Event::Sent { payload: 5, receiver: MacAddress::BROADCAST, retries: 0 };
    assert_eq!(outcomes(&mut machine), [done]);

    let mut receiver = station(config(), &[]);
    let broadcast = frame(FrameKind::Data, PEER, MacAddress::BROADCAST, 0);
    receive(&mut receiver, 0, &broadcast);
    assert_eq!(outcomes(&mut receiver), [Event::Delivered { frame: broadcast }]);
    assert!(run(&mut receiver, 10_000).is_empty());
}

#[test]
fn a_reception_in_progress_at_the_timeout_decides_about_the_attempt() {
    for (is_response, payload_sent) in [(true, true), (false, false)] {
        let mut machine = station(config(), &[0, 0]);
        machine.enqueue(at(0), payload(1)).unwrap();
        run(&mut machine, 1_360);
        let response = frame(FrameKind::Ack, PEER, if is_response { ME } else { OTHER }, 0);
        machine.handle_busy(at(1_370));
        assert!(run(&mut machine, 1_360 + TIMEOUT).is_empty());
        machine.handle_frame(at(1_674), &response);
        machine.handle_idle(at(1_674));
        let sent = Event::Sent { payload: 1, receiver: PEER, retries: 0 };
        assert_eq!(outcomes(&mut machine).contains(&sent), payload_sent);
        assert_eq!(machine.counters().failed_attempts, u64::from(!payload_sent));
    }
}

#[test]
fn sequence_numbers_count_payloads_modulo_4096() {
    let mut machine = station(config(), &vec![0; 5_000]);
    let mut now = Instant::ZERO;
    for number in 0..4_100_u64 {
        machine.enqueue(now, Outgoing::data(MacAddress::BROADCAST, 1, number)).unwrap();
        assert!(machine.enqueue(now, payload(0)).is_err(), "one payload at a time");
        let sequence = loop {
            now = machine.poll_timeout().unwrap();
            machine.handle_timeout(now);
            if let Some(transmit) = machine.poll_transmit(now) {
                break transmit.frame.sequence;
            }
        };
        assert_eq!(u64::from(sequence), number % 4_096);
        now = machine.poll_timeout().unwrap();
        machine.handle_timeout(now);
        while machine.poll_event().is_some() {}
    }
}

#[test]
fn an_empty_payload_is_a_frame_of_the_header_alone() {
    let mut machine = station(config(), &[0]);
    machine.enqueue(at(0), Outgoing::data(PEER, 0, 1)).unwrap();
    let sent = run(&mut machine, 60);
    // 28 bytes at 11 Mbit/s: 20.4 us, rounded up.
    assert_eq!((sent[0].1.size, sent[0].1.air_time), (28, Duration::from_micros(192 + 21)));
}
