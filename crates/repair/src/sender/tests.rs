use std::vec;
use std::vec::Vec;

use super::*;
use crate::channel::Cause;

const LATENCY: Duration = Duration::from_millis(125);

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(1_000 + milliseconds)
}

/// A sender that has sent a frame of four datagrams at 0, and everything it sends.
fn sender() -> Sender {
    let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
    for n in 0..4 {
        sender.send(at(0), &[n as u8; 20], Mark::part(n, 4)).expect("room");
    }
    assert_eq!(drain(&mut sender, at(0)).len(), 4);
    sender
}

fn drain(sender: &mut Sender, now: Instant) -> Vec<Sent> {
    let mut out = vec![];
    core::iter::from_fn(|| sender.poll_transmit(now, &mut out)).collect()
}

/// The symbols 1 and 2 were lost. `echo` was received at the time of the report.
fn report(number: u8, answer: u8) -> Report {
    let mut report = Report::new(number, Esi(4));
    report.first = Esi(1);
    report.want(Esi(1));
    report.want(Esi(2));
    (report.echo, report.arrivals, report.answer) = (Some(Esi(3)), 0b1001, answer);
    report
}

#[test]
fn missing_originals_are_repeated_first_and_once_per_round_trip() {
    let mut sender = sender();
    sender.on_report(at(50), &report(1, 0));
    let sent = drain(&mut sender, at(50));
    assert_eq!(sent[..2], [Sent::Repeat(Esi(1)), Sent::Repeat(Esi(2))]);
    assert!(sent[2..].iter().all(|sent| *sent == Sent::Surplus));
    assert_eq!(sender.round_trip(), Duration::from_millis(50));
    // However many reports ask before an answer can have arrived.
    for n in 2..20 {
        let mut again = report(n, 0);
        again.hold = Duration::from_millis(u64::from(n));
        sender.on_report(at(50 + u64::from(n)), &again);
        assert_eq!(drain(&mut sender, at(50 + u64::from(n))), []);
    }
    // The answer is complete, and one of the repeats was lost.
    let mut second = Report::new(20, Esi(4));
    second.first = Esi(2);
    second.want(Esi(2));
    (second.echo, second.hold, second.answer) = (Some(Esi(3)), Duration::from_millis(50), 1);
    sender.on_report(at(100), &second);
    assert_eq!(drain(&mut sender, at(100))[0], Sent::Repeat(Esi(2)));
}

#[test]
fn nothing_is_sent_that_would_be_late() {
    let mut sender = sender();
    sender.on_report(at(126), &report(1, 0));
    assert_eq!(drain(&mut sender, at(126)), []);
    // An answer that waits for the rate until it is late is dropped.
    let mut sender = self::sender();
    sender.set_granted_rate(at(0), Some(DataRate::from_bytes_per_second(0.0)));
    sender.on_report(at(50), &report(1, 0));
    assert_eq!(drain(&mut sender, at(60)), []);
    sender.set_granted_rate(at(130), None);
    assert_eq!(drain(&mut sender, at(130)), []);
}

#[test]
fn the_end_of_a_frame_is_missed_by_time() {
    let mut sender = sender();
    let mut report = Report::new(1, Esi(2));
    (report.echo, report.arrivals) = (Some(Esi(1)), 0b11);
    // The newest arrival waits for longer than the others could be late.
    report.hold = Duration::from_micros(300);
    sender.on_report(at(50), &report);
    assert_eq!(drain(&mut sender, at(50)), []);
    // A report of another cause says nothing about what follows: a queue of the path may spread it.
    report.hold = Duration::from_millis(2);
    sender.on_report(at(52), &report);
    assert_eq!(drain(&mut sender, at(52)), []);
    report.is_overdue = true;
    sender.on_report(at(52), &report);
    assert_eq!(drain(&mut sender, at(52))[..2], [Sent::Repeat(Esi(2)), Sent::Repeat(Esi(3))]);
}

/// Congestion control spreads a frame over time: what has not left yet is not missing.
#[test]
fn packets_are_awaited_from_their_departure_on() {
    let repeats = |departs: bool, hold: u64| {
        let mut sender = sender();
        if departs {
            (0..4).for_each(|n| sender.on_departure(at(u64::from(n) * 3), Sent::Source(Esi(n))));
        }
        let mut report = Report::new(1, Esi(2));
        (report.echo, report.arrivals, report.is_overdue) = (Some(Esi(1)), 0b11, true);
        report.hold = Duration::from_millis(hold);
        sender.on_report(at(60), &report);
        drain(&mut sender, at(60)).into_iter().filter(|sent| matches!(sent, Sent::Repeat(_))).count()
    };
    assert_eq!(repeats(false, 2), 2);
    assert_eq!(repeats(true, 2), 0);
    assert_eq!(repeats(true, 7), 2);
}

#[test]
fn old_frames_are_dropped_whole_when_the_rate_does_not_suffice() {
    let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
    sender.set_granted_rate(at(0), Some(DataRate::from_bytes_per_second(100.0)));
    for frame in 0..3 {
        for n in 0..4 {
            sender
                .send(at(frame * 40), &[0; 20], Mark { role: Role::Disposable, ..Mark::part(n, 4) })
                .unwrap();
        }
    }
    assert_eq!(drain(&mut sender, at(170)), [Sent::Source(Esi(0))]);
    let lost: Vec<SenderEvent> = core::iter::from_fn(|| sender.poll_event()).collect();
    assert_eq!(lost, [SenderEvent::Lost { frame: 0 }, SenderEvent::Lost { frame: 1 }]);
    assert_eq!((sender.counts().dropped_frames, sender.counts().lost_frames), (2, 2));
}

/// A rate of four fifths of the video's: four fifths of the frames are in time, and not all late by a little.
#[test]
fn where_the_rate_is_too_low_those_frames_that_are_sent_are_in_time() {
    let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
    let (frames, packets, interval) = (150, 16, 33);
    let bytes = 100 + wire::SOURCE_OVERHEAD;
    let video = (packets * bytes) as f64 / 0.033;
    sender.set_granted_rate(at(0), Some(DataRate::from_bytes_per_second(0.8 * video)));
    let mut in_time = 0;
    for millisecond in 0..frames * interval {
        if millisecond % interval == 0 {
            for n in 0..packets {
                let mark = Mark { role: Role::Disposable, ..Mark::part(n, packets) };
                sender.send(at(millisecond), &[0; 100], mark).expect("room");
            }
        }
        let mut out = vec![];
        while let Some(sent) = sender.poll_transmit(at(millisecond), &mut out) {
            let Sent::Source(_) = sent else { continue };
            let header = AduHeader::decode(&out[1..]).expect("a source packet").0;
            let age = millisecond - u64::from(header.frame) * interval;
            in_time += u64::from(header.is_last && at(age) <= at(0) + LATENCY);
        }
    }
    assert!(in_time * 100 >= frames * 70, "{in_time} of {frames}");
}

#[test]
fn the_pace_is_not_that_of_an_outage() {
    let mut pace = rate::Pace::new();
    (0..200).for_each(|ms| pace.on_sent(at(ms), true, LATENCY));
    let before = pace.time_of(16);
    assert!((14..=15).contains(&before.as_millis()), "{before:?}");
    pace.on_sent(at(2_200), true, LATENCY);
    assert_eq!(pace.time_of(16), before);
}

#[test]
fn the_rest_of_a_dropped_frame_is_not_sent() {
    let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
    let part = |n| Mark { role: Role::Disposable, captured: Some(at(0)), ..Mark::part(n, 4) };
    (0..2).for_each(|n| sender.send(at(0), &[0; 20], part(n)).expect("room"));
    assert_eq!(drain(&mut sender, at(126)), []);
    (2..4).for_each(|n| assert_eq!(sender.send(at(127), &[0; 20], part(n)), Err(SendError::LateFrame)));
    assert_eq!((sender.counts().dropped, sender.counts().dropped_frames), (4, 1));
    sender.send(at(130), &[0; 20], Mark::SINGLE).expect("the next frame");
    assert_eq!(drain(&mut sender, at(130)), [Sent::Source(Esi(0))]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let config = SenderConfig { queue: 2, ..SenderConfig::new(160, LATENCY) };
    let mut sender = Sender::new(config);
    let most = config.most_payload();
    assert_eq!(most, 160 - 3 - 8 - 3 - 8);
    assert_eq!(
        sender.send(at(0), &vec![0; most + 1], Mark::SINGLE),
        Err(SendError::TooLong { bytes: most + 1, most })
    );
    sender.send(at(0), &vec![0; most], Mark::SINGLE).unwrap();
    sender.send(at(0), &[], Mark::SINGLE).unwrap();
    assert_eq!(sender.send(at(0), &[], Mark::SINGLE), Err(SendError::QueueFull));
    let mut out = vec![];
    while sender.poll_transmit(at(0), &mut out).is_some() {
        assert!(out.len() <= 160);
    }
}

#[test]
fn reports_of_what_was_not_sent_are_counted() {
    let mut sender = sender();
    sender.on_report(at(50), &Report::new(1, Esi(5)));
    let mut report = report(2, 0);
    report.hold = Duration::from_millis(51);
    sender.on_report(at(50), &report);
    assert!(sender.handle_packet(at(50), &[1, 2, 3]).is_err());
    assert_eq!((sender.counts().invalid, drain(&mut sender, at(50)).len()), (3, 0));
}

/// On a channel of long fades, an answer waits while nothing arrives, and leaves with the first sign of life.
#[test]
fn answers_wait_for_a_sign_of_life() {
    let mut sender = sender();
    sender.estimator = Estimator::starting_with(Channel::bursts(0.01, 200.0));
    // Enough evidence for a memory.
    for n in 0..6_400 {
        sender.estimator.record((n % 3_200 < 64).then_some(Cause::Radio));
    }
    let mut silent = Report::new(1, Esi(1));
    (silent.echo, silent.arrivals, silent.hold) = (Some(Esi(0)), 1, Duration::from_millis(5));
    silent.is_overdue = true;
    sender.on_report(at(55), &silent);
    assert_eq!(drain(&mut sender, at(55)), []);
    assert!(sender.poll_timeout().expect("the last instant") > at(120));
    sender.send(at(60), &[1], Mark::part(0, 2)).unwrap();
    assert_eq!(drain(&mut sender, at(60)), [Sent::Source(Esi(4))]);
    let mut alive = Report::new(2, Esi(5));
    (alive.echo, alive.arrivals, alive.first) = (Some(Esi(4)), 1, Esi(1));
    for n in 1..4 {
        alive.want(Esi(n));
    }
    sender.on_report(at(110), &alive);
    assert_eq!(drain(&mut sender, at(110))[..3], [1, 2, 3].map(|n| Sent::Repeat(Esi(n))));
}

/// The granted rate is used up, and each report claims that the answer before is complete and that everything
/// was lost.
#[test]
fn reports_do_not_make_the_queue_grow() {
    let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
    for n in 0..40 {
        sender.send(at(0), &[n as u8; 20], Mark::part(n, 40)).expect("room");
    }
    drain(&mut sender, at(0));
    sender.set_granted_rate(at(0), Some(DataRate::from_bytes_per_second(0.0)));
    let mut longest = 0;
    for n in 0..1_000 {
        let mut report = Report::new((n % 255) as u8 + 1, Esi(40));
        report.first = Esi(0);
        (0..40).for_each(|esi| assert!(report.want(Esi(esi))));
        (report.echo, report.answer) = (Some(Esi(39)), sender.flight.begin_answer());
        report.lead = LATENCY.as_nanos() as i64;
        sender.on_report(at(50 + n / 20), &report);
        if n == 0 {
            longest = sender.repairs.len();
        }
    }
    assert!(longest >= 40 && sender.repairs.len() <= longest, "{} of {longest}", sender.repairs.len());
}

/// A peer that echoes the oldest packet that is remembered makes the round-trip time grow, and an application
/// may never end a frame.
#[test]
fn memory_is_bounded_whatever_is_echoed_and_whether_or_not_frames_end() {
    for ends in [true, false] {
        let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
        for n in 0..4_000_u64 {
            let mark = Mark { ends_frame: ends, role: Role::Disposable, count: None, ..Mark::SINGLE };
            sender.send(at(10 * n), &[1], mark).expect("room");
            drain(&mut sender, at(10 * n));
            let mut report = Report::new((n % 255) as u8 + 1, sender.encoder.next());
            (report.echo, report.lead) = (sender.flight.oldest_remembered(), LATENCY.as_nanos() as i64);
            sender.on_report(at(10 * n), &report);
        }
        let packets = sender.flight.remembered();
        assert!((100..=1_010).contains(&packets), "{packets} packets are remembered");
        assert!(sender.flight.frames().count() <= 14, "{}", sender.flight.frames().count());
    }
}

/// Without a report, everything is sent once, with the parity of the first assumption.
#[test]
fn without_feedback_the_data_go_on() {
    let mut sender = Sender::new(SenderConfig {
        round_trip: Duration::from_millis(200),
        ..SenderConfig::new(160, LATENCY)
    });
    let mut sent = vec![];
    for n in 0..500 {
        for part in 0..4 {
            sender.send(at(n * 33), &[0; 20], Mark::part(part, 4)).unwrap();
        }
        sent.extend(drain(&mut sender, at(n * 33)));
    }
    let sources = sent.iter().filter(|sent| matches!(sent, Sent::Source(_))).count();
    let counts = sender.counts();
    assert_eq!((sources, counts.repeats, counts.surplus, counts.dropped_frames), (2_000, 0, 0, 0));
    // The latency is below the round-trip time: no repeat could be in time, and that is counted.
    assert_eq!(counts.without_round, 500);
    assert!(counts.parity <= 2_000);
}

/// Parity in the last 100 of 600 frames of four datagrams. After 300 frames the round-trip time grows from 40
/// to `later` ms. Before that a datagram of each eighth frame is lost if `is_lossy`.
fn parity_after_a_change(later: u64, is_lossy: bool) -> u64 {
    let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
    let (mut reports, mut arrivals, mut before) = (VecDeque::new(), 0_u128, 0);
    for n in 0..600 {
        let now = at(n * 33);
        while reports.front().is_some_and(|&(due, _)| due <= now) {
            let Some((due, report)) = reports.pop_front() else { break };
            sender.on_report(due, &report);
            drain(&mut sender, due);
        }
        for part in 0..4 {
            sender.send(now, &[0; 20], Mark::part(part, 4)).unwrap();
        }
        drain(&mut sender, now);
        let end = sender.encoder.next();
        let mut report = Report::new((n % 255) as u8 + 1, end);
        report.cause = Cause::Radio;
        let round_trip = Duration::from_millis(if n < 300 { 40 } else { later });
        // The queue is in the direction of the data.
        let lead = (LATENCY + Duration::from_millis(40)).as_nanos() as i64 - round_trip.as_nanos() as i64;
        (report.echo, report.lead) = (Some(end.plus(u32::MAX)), lead);
        arrivals = arrivals << 4 | if is_lossy && n < 300 && n % 8 == 0 { 0b1101 } else { 0b1111 };
        report.arrivals = arrivals;
        reports.push_back((now + round_trip, report));
        if n == 499 {
            before = sender.counts().parity;
        }
    }
    sender.counts().parity - before
}

#[test]
fn where_a_queue_leaves_no_round_parity_is_for_losses_that_were_seen() {
    assert_eq!(parity_after_a_change(40, false), 0);
    assert_eq!(parity_after_a_change(200, false), 0);
    assert!(parity_after_a_change(200, true) >= 25, "{}", parity_after_a_change(200, true));
}

/// A sender of a key frame and another of video, and of audio, one datagram each: frames 0 to 2.
fn sender_of_streams() -> Sender {
    let mut sender = Sender::new(SenderConfig::new(160, LATENCY));
    for mark in [VIDEO_START, Mark { role: Role::Inner, ..VIDEO_START }, Mark::SINGLE] {
        sender.send(at(0), &[1], mark).expect("room");
    }
    drain(&mut sender, at(0));
    sender
}

const VIDEO_START: Mark = Mark { stream: 9, role: Role::Start, ..Mark::SINGLE };

/// Key frames requested of encoders after a report that those frames were given up.
fn starts_after(sender: &mut Sender, now: Instant, lost: u16, lost_before: u8) -> Vec<u64> {
    let mut report = Report::new(1, Esi(3));
    (report.lost, report.lost_before) = (Some(lost), lost_before);
    sender.on_report(now, &report);
    starts(sender)
}

fn starts(sender: &mut Sender) -> Vec<u64> {
    let events = core::iter::from_fn(|| sender.poll_event());
    events
        .filter_map(|event| if let SenderEvent::NewStart { stream } = event { Some(stream) } else { None })
        .collect()
}

#[test]
fn a_lost_frame_of_video_asks_for_a_start_though_audio_was_lost_after_it() {
    assert_eq!(starts_after(&mut sender_of_streams(), at(300), 2, 0), []);
    assert_eq!(starts_after(&mut sender_of_streams(), at(300), 2, 1), [9]);
    // A peer claims what was never sent.
    assert_eq!(starts_after(&mut sender_of_streams(), at(300), 77, 15), []);
}

/// The encoder answers, its answer is lost, and nothing is lost afterwards.
#[test]
fn a_lost_answer_is_asked_for_again_by_time() {
    let mut sender = sender_of_streams();
    assert_eq!(starts_after(&mut sender, at(300), 1, 0), [9]);
    sender.send(at(310), &[1], VIDEO_START).expect("room");
    drain(&mut sender, at(310));
    assert_eq!(starts_after(&mut sender, at(320), 3, 0), []);
    // A round trip of 100 ms, as long as none was measured, and the time for a frame.
    assert_eq!(sender.poll_timeout(), Some(at(500)));
    sender.handle_timeout(at(499));
    assert_eq!(starts(&mut sender), []);
    sender.handle_timeout(at(500));
    assert_eq!((starts(&mut sender), sender.poll_timeout()), (vec![9], None));
}

/// A report may ask for what would be late if it was sent again. The receiver gives that up later.
#[test]
fn a_frame_past_its_deadline_is_lost_with_the_report_that_asks_for_it() {
    let mut asking = Report::new(1, Esi(3));
    (asking.first, asking.echo, asking.arrivals) = (Esi(1), Some(Esi(2)), 0b101);
    asking.want(Esi(1));
    for (time, lost) in [(100, vec![]), (160, vec![9])] {
        let mut sender = sender_of_streams();
        sender.on_report(at(time), &asking);
        assert_eq!(starts(&mut sender), lost, "{time}");
        assert_eq!(drain(&mut sender, at(time)).is_empty(), !lost.is_empty(), "{time}");
        // The answer is still under way, and a loss causes one request.
        let mut again = asking;
        (again.number, again.hold) = (2, Duration::from_millis(5));
        sender.on_report(at(170), &again);
        assert_eq!(starts(&mut sender), [], "{time}");
    }
}

/// Coded packets that arrive after the deadline, behind those that wait, only make the next frames late.
#[test]
fn a_surplus_is_no_more_than_arrives_in_time() {
    let surplus = |rate: Option<f64>| {
        let mut sender = sender();
        sender.estimator = Estimator::starting_with(Channel::bursts(0.05, 8.0));
        sender.planner.follow(&sender.estimator);
        for n in 0..4 {
            sender.send(at(33), &[n as u8; 20], Mark::part(n, 4)).expect("room");
        }
        drain(&mut sender, at(33));
        sender.set_granted_rate(at(33), rate.map(DataRate::from_bytes_per_second));
        let mut all = Report::new(1, Esi(8));
        (all.first, all.echo, all.arrivals) = (Esi(4), Some(Esi(7)), 0b1000);
        (4..7).for_each(|n| assert!(all.want(Esi(n))));
        sender.on_report(at(80), &all);
        sender.repairs.iter().filter(|repair| matches!(repair.what, What::Coded { .. })).count()
    };
    let all = surplus(None);
    assert!(all > 1, "{all}");
    // 78 ms are left: at half of 20,000 bytes/s for four packets of 160 bytes, three of which are repeats.
    assert_eq!(surplus(Some(20_000.0)), 1);
    assert_eq!(surplus(Some(1e6)), all);
}

/// Frames that wait for the rate have no time for repeats, and would get more parity for that reason.
#[test]
fn parity_yields_to_frames_that_wait_for_the_rate() {
    let parity_of = |wait: u64| {
        let mut sender =
            Sender::new(SenderConfig { round_trip: LATENCY * 2, ..SenderConfig::new(160, LATENCY) });
        sender.estimator = Estimator::starting_with(Channel::independent(0.2));
        sender.planner.follow(&sender.estimator);
        let mut sent = vec![];
        for frame in 0..10 {
            // An encoder takes 50 ms.
            let captured = Some(at(33 * frame));
            for n in 0..4 {
                sender
                    .send(at(33 * frame + 50), &[0; 20], Mark { captured, ..Mark::part(n, 4) })
                    .expect("room");
            }
            sent.extend(drain(&mut sender, at(33 * frame + 50 + if frame < 5 { 0 } else { wait })));
        }
        let parity = |sent: &[Sent]| sent.iter().filter(|sent| **sent == Sent::Parity).count();
        let half = sent.iter().position(|sent| *sent == Sent::Source(Esi(20))).expect("the sixth frame");
        (parity(&sent[..half]), parity(&sent[half..]))
    };
    let (before, after) = parity_of(0);
    assert!(before > 0 && after >= before, "{before} {after}");
    assert_eq!(parity_of(30), (before, after));
    assert_eq!(parity_of(40), (before, 0));
}
