use std::vec;
use std::vec::Vec;

use super::*;
use crate::encoder::Encoder;
use crate::sender::{Mark, Sender, SenderConfig, Sent};
use crate::wire::{self, Report};

mod reports;

const LATENCY: Duration = Duration::from_millis(100);

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(1_000 + milliseconds)
}

/// The datagrams of `frames` frames of three, 20 ms apart.
fn packets(frames: u64) -> Vec<(u64, Vec<u8>)> {
    // So many round trips fit that no parity is sent.
    let round_trip = Duration::from_millis(10);
    let mut sender = Sender::new(SenderConfig { round_trip, ..SenderConfig::new(160, LATENCY) });
    let (mut packets, mut out) = (vec![], vec![]);
    for frame in 0..frames {
        for part in 0..3 {
            let mark = Mark { role: Role::Disposable, ..Mark::part(part, 3) };
            sender.send(at(20 * frame), &[frame as u8, part as u8], mark).unwrap();
        }
        while sender.poll_transmit(at(20 * frame), &mut out).is_some() {
            packets.push((20 * frame, out.clone()));
        }
    }
    packets
}

fn delivered(receiver: &mut Receiver, now: Instant) -> Vec<u32> {
    let mut out = vec![];
    core::iter::from_fn(|| receiver.poll_delivery(now, &mut out)).map(|delivered| delivered.esi.0).collect()
}

fn reported(receiver: &mut Receiver, now: Instant) -> Option<Report> {
    let mut out = vec![];
    receiver.poll_transmit(now, &mut out)?;
    match Datagram::decode(&out) {
        Ok(Datagram::Report(report)) => Some(report),
        other => panic!("{other:?}"),
    }
}

#[test]
fn delivery_is_at_a_constant_latency_or_early() {
    for (delivery, first) in [(Delivery::Constant, 100), (Delivery::Early, 0)] {
        let config = ReceiverConfig { delivery, ..ReceiverConfig::new(160, LATENCY) };
        let mut receiver = Receiver::new(config);
        for (time, packet) in packets(2) {
            receiver.handle_packet(at(time), &packet).unwrap();
        }
        assert_eq!(delivered(&mut receiver, at(first)).len(), if first == 0 { 6 } else { 3 });
        assert_eq!(delivered(&mut receiver, at(first + 20)).len(), if first == 0 { 0 } else { 3 });
    }
}

#[test]
fn what_is_missing_when_the_next_is_due_is_given_up() {
    let config = ReceiverConfig { delivery: Delivery::Early, ..ReceiverConfig::new(160, LATENCY) };
    let mut receiver = Receiver::new(config);
    let packets = packets(3);
    for (esi, (time, packet)) in (0..).zip(&packets) {
        if esi != 4 {
            receiver.handle_packet(at(*time), packet).unwrap();
        }
    }
    assert_eq!(delivered(&mut receiver, at(60)), [0, 1, 2, 3]);
    assert!(delivered(&mut receiver, at(119)).is_empty());
    assert_eq!(delivered(&mut receiver, at(121)), [5, 6, 7, 8]);
    // The missing packet arrives after all, and again.
    receiver.handle_packet(at(130), &packets[4].1).unwrap();
    assert!(delivered(&mut receiver, at(200)).is_empty());
    assert_eq!((receiver.counts().lost, receiver.counts().late), (1, 1));
    assert_eq!(reported(&mut receiver, at(200)).expect("a report").lost, Some(1));
}

/// The repair is delivered, since what follows refers to it; a viewer may have discarded it, however.
#[test]
fn a_repair_that_comes_late_counts_as_a_loss() {
    // Frames are 20 ms apart.
    for (time, lost) in [(115, None), (125, None), (135, Some(1))] {
        let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
        let packets = packets(3);
        for (sent, packet) in packets.iter().enumerate().filter(|(n, _)| *n != 5).map(|(_, packet)| packet) {
            receiver.handle_packet(at(*sent), packet).unwrap();
        }
        assert_eq!(delivered(&mut receiver, at(time)).len(), if time < 120 { 3 } else { 5 });
        let repeat = [&[2, 1, 1], &packets[5].1[1..]].concat();
        receiver.handle_packet(at(time), &repeat).unwrap();
        assert_eq!(delivered(&mut receiver, at(200)).last(), Some(&8));
        assert_eq!((receiver.counts().lost, receiver.counts().repeated), (0, 1));
        assert_eq!(reported(&mut receiver, at(200)).expect("a report").lost, lost);
    }
}

#[test]
fn a_report_names_all_frames_that_were_given_up_together() {
    for (lost, expected) in [(2..7, (2, 2)), (3..7, (2, 1)), (3..6, (1, 0)), (0..3, (0, 0))] {
        let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
        for (n, (time, packet)) in (0..).zip(packets(4)) {
            if !lost.contains(&n) {
                receiver.handle_packet(at(time), &packet).unwrap();
            }
        }
        delivered(&mut receiver, at(200));
        let report = reported(&mut receiver, at(200)).expect("a report");
        assert_eq!((report.lost, report.lost_before), (Some(expected.0), expected.1), "{lost:?}");
    }
}

#[test]
fn what_a_repeat_brought_is_marked() {
    let round_trip = Duration::from_millis(10);
    let mut sender = Sender::new(SenderConfig { round_trip, ..SenderConfig::new(160, LATENCY) });
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    let (mut out, mut lost) = (vec![], Some(1));
    let mut marked = vec![];
    for time in 0..300 {
        if time % 20 == 0 && time < 60 {
            sender.send(at(time), &[time as u8], Mark::SINGLE).unwrap();
        }
        while let Some(sent) = sender.poll_transmit(at(time), &mut out) {
            if lost.is_some_and(|esi| sent == Sent::Source(Esi(esi))) {
                lost = None;
            } else {
                receiver.handle_packet(at(time), &out).unwrap();
            }
        }
        receiver.handle_timeout(at(time));
        while let Some(one) = receiver.poll_delivery(at(time), &mut out) {
            marked.push((one.esi.0, one.is_repaired));
        }
        while receiver.poll_transmit(at(time), &mut out).is_some() {
            sender.handle_packet(at(time), &out).unwrap();
        }
    }
    assert_eq!(marked, [(0, false), (1, true), (2, false)]);
    assert_eq!((receiver.counts().repeated + receiver.counts().restored, receiver.repaired.len()), (1, 0));
}

#[test]
fn a_gap_is_reported_at_the_end_of_its_frame_and_again_after_a_round_trip() {
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    receiver.set_round_trip(Duration::from_millis(30));
    let packets = packets(3);
    for n in [0, 1, 2, 3, 5] {
        receiver.handle_packet(at(packets[n].0), &packets[n].1).unwrap();
        let report = reported(&mut receiver, at(packets[n].0));
        assert_eq!(report.is_some(), n == 5, "{n}");
        if let Some(report) = report {
            assert!(report.wants(Esi(4)) && report.wanted_count() == 1);
            assert_eq!((report.next, report.echo, report.arrivals), (Esi(6), Some(Esi(5)), 0b11_1101));
        }
    }
    // The same is said again three times, in case that reports are lost.
    for then in [24, 28, 32] {
        assert!(reported(&mut receiver, at(then - 1)).is_none());
        assert!(reported(&mut receiver, at(then)).is_some_and(|report| report.wants(Esi(4))));
    }
    assert!(reported(&mut receiver, at(40)).is_none());
    let again = reported(&mut receiver, at(20 + 30 + 2)).expect("the answer is late");
    assert!(again.wants(Esi(4)));
    // The frame is due at 120, and an answer to this would arrive after that.
    let late = reported(&mut receiver, at(100));
    assert!(late.is_none_or(|report| report.wanted_count() == 0));
}

#[test]
fn what_was_overtaken_by_as_much_before_is_not_asked_for() {
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    receiver.set_round_trip(Duration::from_millis(30));
    let packets = packets(4);
    // The first packets of frames 1 to 3 are overtaken, by 24, 10 and 20 ms; frame 1's also by the packets of
    // frame 2.
    let overtaken = [(3, 44), (6, 50), (9, 80)];
    let mut asked = [false; 3];
    for now in 0..=100 {
        for (n, (sent, packet)) in packets.iter().enumerate() {
            let time = overtaken.iter().find(|late| late.0 == n).map_or(*sent, |late| late.1);
            if time == now {
                receiver.handle_packet(at(now), packet).unwrap();
            }
        }
        if let Some(report) = reported(&mut receiver, at(now)) {
            for (asked, (n, _)) in asked.iter_mut().zip(overtaken) {
                *asked |= report.wants(Esi(n as u32));
            }
        }
    }
    assert_eq!(asked, [true, true, false]);
}

#[test]
fn the_rest_of_a_frame_and_a_whole_frame_are_missed_by_time() {
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    let packets = packets(4);
    for n in [0, 1, 2, 3, 4, 5, 6, 7] {
        receiver.handle_packet(at(packets[n].0), &packets[n].1).unwrap();
    }
    assert!(reported(&mut receiver, at(40)).is_none());
    let report = reported(&mut receiver, at(42)).expect("the last of the frame is missing");
    assert_eq!((report.next, report.wanted_count()), (Esi(8), 0));
    assert_eq!(report.hold, Duration::from_micros(1984));
    // Nothing of the frame at 60 arrives.
    let report = reported(&mut receiver, at(62)).expect("a frame is missing");
    assert_eq!(report.echo, Some(Esi(7)));
    assert!(report.hold > Duration::from_millis(21));
}

/// Telemetry that stops, with or without its last packet: nobody knows whether more was sent.
#[test]
fn a_sender_that_pauses_is_not_asked_for_ever() {
    for whole in [true, false] {
        let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
        receiver.set_round_trip(Duration::from_millis(10));
        let mut packets = packets(5);
        packets.truncate(if whole { 15 } else { 14 });
        for (time, packet) in packets {
            receiver.handle_packet(at(time), &packet).unwrap();
            delivered(&mut receiver, at(time));
        }
        let (mut now, mut last, mut reports, mut turns) = (at(80), at(80), 0, 0);
        while let Some(due) = receiver.poll_timeout().filter(|due| *due < at(60_000)) {
            now = now.max(due);
            receiver.handle_timeout(now);
            while reported(&mut receiver, now).is_some() {
                (last, reports) = (now, reports + 1);
            }
            delivered(&mut receiver, now);
            turns += 1;
            assert!(turns < 2_000, "{reports} reports until {now}");
        }
        assert!(last < at(2_500) && reports < 500, "{reports} reports until {last}");
    }
}

/// Two frames at a time and a pause, as telemetry has: the interval between the two is none of the frames'.
#[test]
fn frames_in_pairs_cost_few_reports() {
    let round_trip = Duration::from_millis(1);
    let latency = Duration::from_secs(3);
    let mut sender = Sender::new(SenderConfig { round_trip, ..SenderConfig::new(160, latency) });
    let mut receiver = Receiver::new(ReceiverConfig::new(160, latency));
    receiver.set_round_trip(round_trip);
    let (mut out, mut reports) = (vec![], 0);
    for second in 0..10 {
        for frame in [0, 1] {
            let now = at(1_000 * second + 2 * frame);
            sender.send(now, &[second as u8, frame as u8], Mark::part(0, 1)).unwrap();
            while sender.poll_transmit(now, &mut out).is_some() {
                receiver.handle_packet(now, &out).unwrap();
            }
        }
        let end = at(1_000 * (second + 1));
        while let Some(now) = receiver.poll_timeout().filter(|due| *due < end) {
            receiver.handle_timeout(now);
            while reported(&mut receiver, now).is_some() {
                reports += 1;
            }
            delivered(&mut receiver, now);
        }
    }
    assert!((10..200).contains(&reports), "{reports} reports in ten seconds");
}

/// A key frame, whose packets the path spreads over longer than the frame interval. Its length is unknown.
#[test]
fn no_frame_is_missed_while_the_one_before_arrives() {
    let round_trip = Duration::from_millis(10);
    let mut sender = Sender::new(SenderConfig { round_trip, ..SenderConfig::new(160, LATENCY) });
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    let mut out = vec![];
    let mut time = 0;
    for frame in 0..8_u64 {
        let length = if frame == 7 { 20 } else { 3 };
        for part in 0..length {
            let mark = Mark { ends_frame: part == length - 1, count: None, ..Mark::part(0, 2) };
            sender.send(at(20 * frame), &[1], mark).unwrap();
        }
        time = 20 * frame;
        while sender.poll_transmit(at(20 * frame), &mut out).is_some() {
            receiver.handle_packet(at(time), &out).unwrap();
            let report = (0..3).find_map(|n| reported(&mut receiver, at(time + n)));
            // The first packets teach how far apart they are.
            assert!(frame < 3 || report.is_none_or(|report| !report.is_overdue), "{report:?} at {time}");
            time += 3;
        }
    }
    let overdue = (0..10).find_map(|n| reported(&mut receiver, at(time + n)));
    assert!(overdue.is_some_and(|report| report.is_overdue), "the next frame follows it");
}

/// Coded packets carry nothing of the sender's clock.
#[test]
fn what_a_coded_packet_restored_before_any_original_is_delivered() {
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    let (_, original) = packets(1).swap_remove(0);
    let mut encoder = Encoder::new(SenderConfig::new(160, LATENCY).code(), Esi(0));
    encoder.push(0, &original[1..original.len() - 4]).expect("a symbol");
    let (mut symbol, mut coded) = (vec![], vec![]);
    let id = encoder.combine(Esi(0), Esi(1), &mut symbol).expect("a window");
    wire::begin_repair(None, true, &mut coded);
    id.encode(&mut coded);
    coded.extend_from_slice(&symbol);
    receiver.handle_packet(at(5), &coded).unwrap();
    assert_eq!(receiver.counts().restored, 1);
    receiver.handle_packet(at(6), &original).unwrap();
    assert_eq!(delivered(&mut receiver, at(106)), [0]);
}

/// Four frames are not due yet when a coded packet combines them. Three of them were delivered early, and
/// are needed nevertheless.
#[test]
fn parity_over_frames_delivered_early_restores_what_is_missing() {
    const PACKETS: usize = 16;
    let (latency, round_trip) = (Duration::from_millis(120), Duration::from_millis(240));
    let mut sender = Sender::new(SenderConfig { round_trip, ..SenderConfig::new(160, latency) });
    let config = ReceiverConfig { delivery: Delivery::Early, ..ReceiverConfig::new(160, latency) };
    let mut receiver = Receiver::new(config);
    let (mut all, mut parity, mut out) = (vec![], 0, vec![]);
    for frame in 0..12 {
        let now = at(33 * frame);
        for part in 0..PACKETS {
            sender.send(now, &[frame as u8, part as u8], Mark::part(part, PACKETS)).unwrap();
        }
        while let Some(sent) = sender.poll_transmit(now, &mut out) {
            parity += u32::from(sent == Sent::Parity);
            // Of each third frame a packet is lost.
            let is_lost = frame % 3 == 2 && sent == Sent::Source(Esi(frame as u32 * 16 + 5));
            if !is_lost {
                receiver.handle_packet(now, &out).unwrap();
            }
            all.extend(delivered(&mut receiver, now));
        }
    }
    assert!((12..36).contains(&parity), "{parity}");
    assert_eq!(all, Vec::from_iter(0..12 * 16));
}

#[test]
fn other_datagrams_are_counted() {
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    let mut report = vec![];
    Report::new(1, Esi(0)).encode(&mut report);
    for bytes in [&report[..], &[0x11, 2], &[1, 2, 3], &[]] {
        assert!(receiver.handle_packet(at(0), bytes).is_err());
    }
    assert_eq!(receiver.counts().invalid, 4);
}

/// More packets within the latency than the window has places: they are delivered early, and none is lost.
#[test]
fn a_full_window_delivers_before_the_time() {
    let latency = Duration::from_secs(1);
    let mut sender = Sender::new(SenderConfig::new(160, latency));
    let mut receiver = Receiver::new(ReceiverConfig::new(160, latency));
    let (mut out, mut got) = (vec![], vec![]);
    for millisecond in 0..2_000 {
        for _ in 0..3 {
            sender.send(at(millisecond), &[1], Mark::SINGLE).unwrap();
        }
        while sender.poll_transmit(at(millisecond), &mut out).is_some() {
            receiver.handle_packet(at(millisecond), &out).unwrap();
        }
        got.extend(delivered(&mut receiver, at(millisecond)));
    }
    got.extend(delivered(&mut receiver, at(3_000)));
    assert_eq!(got, (0..6_000).collect::<Vec<u32>>());
    assert_eq!(receiver.counts().lost, 0);
    assert!(receiver.counts().hurried > 4_000, "{}", receiver.counts().hurried);
}

/// Identifiers wrap in the middle of a stream that loses each tenth packet; old packets recur long after.
#[test]
fn identifiers_wrap() {
    let first = Esi(u32::MAX - 300);
    let mut sender = Sender::starting_at(SenderConfig::new(160, LATENCY), first);
    let mut receiver = Receiver::starting_at(ReceiverConfig::new(160, LATENCY), first);
    let (mut out, mut got, mut kept, mut path) = (vec![], vec![], vec![], vec![]);
    for millisecond in 0..1_500_u64 {
        let now = at(millisecond);
        if millisecond < 1_200 {
            sender.send(now, &millisecond.to_be_bytes(), Mark::SINGLE).unwrap();
        }
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        while let Some(sent) = sender.poll_transmit(now, &mut out) {
            if let Sent::Source(esi) = sent {
                kept.push(out.clone());
                if esi.0.is_multiple_of(10) {
                    continue;
                }
            }
            path.push((millisecond + 10, out.clone(), true));
        }
        while receiver.poll_transmit(now, &mut out).is_some() {
            path.push((millisecond + 10, out.clone(), false));
        }
        if millisecond % 7 == 0 && millisecond > 700 {
            path.push((millisecond, kept[(millisecond - 700) as usize].clone(), true));
        }
        for (_, bytes, to_receiver) in path.extract_if(.., |packet| packet.0 <= millisecond) {
            let taken = if to_receiver {
                receiver.handle_packet(now, &bytes)
            } else {
                sender.handle_packet(now, &bytes)
            };
            taken.unwrap();
        }
        while receiver.poll_delivery(now, &mut out).is_some() {
            got.push(u64::from_be_bytes(out[..].try_into().unwrap()));
        }
    }
    assert_eq!(got, (0..1_200).collect::<Vec<u64>>());
    assert!(sender.counts().repeats >= 110, "{:?}", sender.counts());
}

/// A peer that announces symbols half the range ahead costs as much as the window is long. A search over the
/// range would not end.
#[test]
fn announced_symbols_cost_no_time() {
    let mut receiver = Receiver::new(ReceiverConfig::new(160, LATENCY));
    // Requests are checked again soon.
    receiver.set_round_trip(Duration::from_millis(2));
    let mut bytes = vec![];
    let mut esi = Esi(0);
    for n in 0..300_u64 {
        let header = AduHeader {
            frame: n as u16,
            time: AduHeader::time_of(at(n)),
            index: 255,
            count: Some(1 + (n % 255) as u8),
            is_last: n % 3 == 0,
            role: Role::Inner,
            has_parity: n % 2 == 0,
            has_waited: false,
        };
        bytes.clear();
        crate::wire::begin_source(None, &mut bytes);
        header.encode(&mut bytes);
        esi.encode(&mut bytes);
        receiver.handle_packet(at(n), &bytes).unwrap();
        esi = esi.plus(if n % 5 == 4 { 0x7000_0000 } else { 1 });
        delivered(&mut receiver, at(n + 200));
        receiver.handle_timeout(at(n));
        reported(&mut receiver, at(n));
    }
    assert!(receiver.counts().lost > 1 << 30);
}

/// Reports of a receiver in a second in which nothing is lost: 30 bursts of 21 datagrams, half a millisecond
/// apart, with these marks.
fn reports_of_bursts(mark: impl Fn(u64) -> Mark) -> u32 {
    let round_trip = Duration::from_millis(40);
    let mut sender = Sender::new(SenderConfig { round_trip, ..SenderConfig::new(1_300, LATENCY) });
    let mut receiver = Receiver::new(ReceiverConfig::new(1_300, LATENCY));
    receiver.set_round_trip(round_trip);
    let (mut out, mut reports) = (vec![], 0);
    let mut now = at(0);
    for index in 0..30 * 21 {
        let captured = at(0) + Duration::from_micros(33_333) * (index / 21);
        sender.send(captured, &[0; 1_200], mark(index)).unwrap();
        while sender.poll_transmit(captured, &mut out).is_some() {
            let arrival = captured + Duration::from_micros(530) * (index % 21);
            loop {
                let due = receiver.poll_timeout().filter(|due| *due < arrival);
                now = due.unwrap_or(arrival).max(now);
                receiver.handle_timeout(now);
                let mut report = vec![];
                while receiver.poll_transmit(now, &mut report).is_some() {
                    reports += 1;
                }
                while receiver.poll_delivery(now, &mut report).is_some() {}
                if due.is_none() {
                    break;
                }
            }
            receiver.handle_packet(now, &out).unwrap();
        }
    }
    reports
}

#[test]
fn bursts_of_datagrams_without_loss_get_few_reports() {
    let of_singles = reports_of_bursts(|_| Mark::SINGLE);
    let of_frames = reports_of_bursts(|index| Mark::part((index % 21) as usize, 21));
    let without_ends = reports_of_bursts(|_| Mark { ends_frame: false, count: None, ..Mark::SINGLE });
    // Each burst is at most once suspected to be incomplete, and a frame without an end always is; a report
    // is repeated three times. The delay since the capture of such a frame grows, which each burst reports.
    assert!(of_singles <= 30 && of_frames <= 30, "{of_singles}, {of_frames}");
    assert!(without_ends <= 5 * 30, "{without_ends}");
}
