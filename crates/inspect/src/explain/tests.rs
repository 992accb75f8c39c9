//! Sentences on intervals of a quarter of a second, 25 packets and 300 kbit each: 100 packets/s, 1.2 Mbit/s.

use super::*;

fn usual(at_s: f64) -> Interval {
    Interval {
        at_s,
        length_s: 0.25,
        offered: Some(25.0),
        delivered: 25.0,
        delivered_bps: Some(1.2e6),
        allowed_bps: Some(2.31e6),
        ..Interval::default()
    }
}

/// The sentence after intervals up to `until`, each changed by `change`.
fn after(explainer: &mut Explainer, span: [f64; 2], change: impl Fn(&mut Interval)) -> String {
    let mut text = String::new();
    let mut at = span[0];
    while at < span[1] {
        at += 0.25;
        let mut interval = usual(at);
        change(&mut interval);
        text = explainer.push(&interval);
    }
    text
}

fn silent(interval: &mut Interval) {
    (interval.delivered, interval.delivered_bps) = (0.0, Some(0.0));
    interval.lost[Cause::Down as usize] = 25.0;
    interval.halt = Some(Halt::Down);
}

#[test]
fn a_sound_stream_has_its_rate() {
    let text = after(&mut Explainer::default(), [0.0, 5.0], |_| {});
    assert_eq!(text, "everything arrives; 1.20 Mbit/s delivered of 2.31 Mbit/s allowed");
}

#[test]
fn losses_have_their_cause_and_what_repair_made_of_them() {
    let one_of_25 = |repaired| {
        move |interval: &mut Interval| {
            interval.lost[Cause::Radio as usize] = 1.0;
            interval.delivered = 24.0 + repaired;
            interval.repaired = repaired;
            interval.overhead = (repaired > 0.0).then_some(0.09);
        }
    };
    let rate = "1.20 Mbit/s delivered of 2.31 Mbit/s allowed";
    let text = after(&mut Explainer::default(), [0.0, 5.0], one_of_25(1.0));
    assert_eq!(text, format!("the radio loses 4 %, all repaired, 9 % overhead; {rate}"));
    let text = after(&mut Explainer::default(), [0.0, 5.0], one_of_25(0.0));
    assert_eq!(text, format!("the radio loses 4 %; {rate}"));
    let text = after(&mut Explainer::default(), [0.0, 5.0], one_of_25(0.5));
    assert_eq!(text, format!("the radio loses 4 %, 50 % of it repaired, 9 % overhead; {rate}"));
    let text = after(&mut Explainer::default(), [0.0, 5.0], |interval| {
        interval.delivered = 20.0;
        interval.lost[Cause::Queue as usize] = 1.0;
        interval.lost[Cause::Choice as usize] = 4.0;
        interval.capacity_bps = Some(1.25e6);
    });
    let expected = "the sender drops 16 % to stay in time, a full queue drops 4 %; 1.20 Mbit/s delivered: the path of 1.25 Mbit/s is full";
    assert_eq!(text, expected);
}

#[test]
fn losses_are_forgotten_with_the_window() {
    let mut explainer = Explainer::default();
    after(&mut explainer, [0.0, 5.0], |interval| interval.lost[Cause::Radio as usize] = 1.0);
    let text = after(&mut explainer, [5.0, 9.5], |_| {});
    assert!(text.starts_with("the radio loses"), "{text}");
    let text = after(&mut explainer, [9.5, 10.25], |_| {});
    assert!(text.starts_with("everything arrives"), "{text}");
}

#[test]
fn an_interruption_is_stated_while_it_lasts_and_for_a_while_after() {
    let mut explainer = Explainer::default();
    after(&mut explainer, [0.0, 8.0], |_| {});
    assert_eq!(after(&mut explainer, [8.0, 10.0], silent), "no data since 8.0 s: the link is down");
    after(&mut explainer, [10.0, 12.5], silent);
    let half = |interval: &mut Interval| interval.delivered_bps = Some(0.6e6);
    let text = after(&mut explainer, [12.5, 14.0], half);
    let gap = "no data from 8.0 to 12.5 s: the link was down; 450 packets missing";
    assert_eq!(text, format!("{gap}; the full rate is not back yet"));
    let text = after(&mut explainer, [14.0, 15.0], |_| {});
    assert_eq!(text, format!("{gap}; full rate since 14.0 s"));
    let text = after(&mut explainer, [15.0, 23.0], |_| {});
    assert!(text.starts_with("everything arrives"), "{text}");
}

/// A freeze of the sender: nothing is lost in it. Intervals of a tenth of a second, and a rate that comes
/// back 1.5 s after the data.
#[test]
fn an_interruption_without_losses_states_its_times_and_the_return_of_the_rate() {
    let mut explainer = Explainer::default();
    let mut text = String::new();
    for tenth in 1..=150 {
        let at_s = f64::from(tenth) / 10.0;
        let is_silent = tenth > 80 && tenth <= 126;
        let rate = if is_silent {
            0.0
        } else if tenth > 126 && tenth <= 141 {
            0.6e6
        } else {
            1.2e6
        };
        text = explainer.push(&Interval {
            at_s,
            length_s: 0.1,
            delivered: if is_silent { 0.0 } else { 10.0 },
            delivered_bps: Some(rate),
            halt: is_silent.then_some(Halt::Down),
            ..usual(at_s)
        });
    }
    assert_eq!(text, "no data from 8.0 to 12.6 s: the link was down; full rate since 14.1 s");
}

/// Intervals of half a second show when a second without data began and ended, by their share of the rate.
#[test]
fn an_interruption_begins_and_ends_within_intervals() {
    let mut explainer = Explainer::default();
    let mut text = String::new();
    for half in 1..=20 {
        let at_s = f64::from(half) / 2.0;
        let delivered = match half {
            13 => 22.0,
            14 => 0.0,
            15 => 26.0,
            _ => 50.0,
        };
        let lost = 50.0 - delivered;
        let mut interval = Interval { delivered, length_s: 0.5, offered: Some(50.0), ..usual(at_s) };
        interval.lost[Cause::Down as usize] = lost;
        interval.delivered_bps = Some(delivered * 24e3);
        text = explainer.push(&interval);
        if half == 14 {
            assert_eq!(text, "no data since 6.2 s: nothing arrives");
        }
    }
    assert_eq!(text, "no data from 6.2 to 7.2 s; 102 packets missing; full rate since 7.5 s");
}

#[test]
fn a_stream_that_sends_nothing_is_not_interrupted() {
    let mut explainer = Explainer::default();
    after(&mut explainer, [0.0, 5.0], |_| {});
    let text = after(&mut explainer, [5.0, 11.0], |interval| {
        (interval.offered, interval.delivered, interval.delivered_bps) = (Some(0.0), 0.0, Some(0.0));
    });
    assert_eq!(text, "nothing is sent");
    let before = Interval { halt: Some(Halt::Unconnected), delivered: 0.0, ..usual(0.25) };
    assert_eq!(Explainer::default().push(&before), "there is no connection");
}

#[test]
fn one_packet_per_interval_may_miss_some() {
    // Four packets a second: ten spacings are 2.5 s.
    let slow = |interval: &mut Interval| (interval.delivered, interval.offered) = (1.0, None);
    let none = |interval: &mut Interval| (interval.delivered, interval.offered) = (0.0, None);
    let mut explainer = Explainer::default();
    after(&mut explainer, [0.0, 5.0], slow);
    let text = after(&mut explainer, [5.0, 6.0], none);
    assert!(text.starts_with("everything arrives"), "{text}");
    assert_eq!(after(&mut explainer, [6.0, 8.0], none), "no data since 5.0 s: nothing arrives");
}

#[test]
fn numbers_have_two_or_three_digits() {
    let shares = [0.0023, 0.00995, 0.04, 0.0994, 0.0996, 1.0].map(percent);
    assert_eq!(shares, ["0.23 %", "1 %", "4 %", "9.9 %", "10 %", "100 %"]);
    let rates = [0.0, 999.6, 64_000.0, 999_600.0, 1.313e6, 12.5e6, 2e9].map(rate_text);
    let expected = [
        "0.00 bit/s",
        "1.00 kbit/s",
        "64.0 kbit/s",
        "1.00 Mbit/s",
        "1.31 Mbit/s",
        "12.5 Mbit/s",
        "2.00 Gbit/s",
    ];
    assert_eq!(rates, expected);
}

/// A stream that comes back with less than its rate, and in bursts: the intervals between them are no part of
/// the interruption.
#[test]
fn an_interruption_ends_with_the_data_although_the_rate_does_not_return() {
    let mut explainer = Explainer::default();
    after(&mut explainer, [0.0, 8.0], |_| {});
    after(&mut explainer, [8.0, 9.0], silent);
    let bursts = |interval: &mut Interval| match (interval.at_s * 4.0) as u32 % 4 {
        0 => (interval.delivered, interval.delivered_bps) = (0.0, Some(0.0)),
        _ => interval.delivered_bps = Some(0.6e6),
    };
    let gap =
        "no data from 8.0 to 9.0 s: the link was down; 100 packets missing; the full rate is not back yet";
    assert_eq!(after(&mut explainer, [9.0, 14.25], bursts), gap);
    let text = after(&mut explainer, [14.25, 20.25], bursts);
    assert!(text.starts_with("everything arrives"), "{text}");
}

/// The report counts silences with at most three packets between them as one gap.
#[test]
fn a_few_packets_do_not_end_an_interruption() {
    let mut explainer = Explainer::default();
    after(&mut explainer, [0.0, 8.0], |_| {});
    after(&mut explainer, [8.0, 9.0], silent);
    let few = |interval: &mut Interval| interval.delivered = 2.0;
    after(&mut explainer, [9.0, 9.25], few);
    assert_eq!(after(&mut explainer, [9.25, 11.0], silent), "no data since 8.0 s: the link is down");
    let text = after(&mut explainer, [11.0, 12.0], |_| {});
    assert_eq!(text, "no data from 8.0 to 11.0 s but 2 packets: the link was down; 275 packets missing");
}
