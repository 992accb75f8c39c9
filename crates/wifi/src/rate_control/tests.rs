use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{Arf, Minstrel, RECEIVERS, RateControl, RateController, RateCost};
use crate::frame::MacAddress;
use crate::phy::Rate;
use crate::random::SplitMix64;

const PEER: MacAddress = MacAddress::station(2);

fn ladder(rates: &[Rate]) -> Vec<RateCost> {
    let time = |rate: Rate| Duration::from_nanos(9_600_000_000_000 / rate.bits_per_second());
    rates.iter().map(|&rate| RateCost { rate, time: time(rate) + Duration::from_micros(500) }).collect()
}

const B: [Rate; 4] = [Rate::Dsss1, Rate::Dsss2, Rate::Hr5_5, Rate::Hr11];

fn arf(initial: Rate) -> RateController {
    RateController::new(RateControl::Arf(Arf::default()), initial, ladder(&B))
}

/// Outcomes of transmissions of one payload each, `+` acknowledged and `-` not, all at `now`. Returns the
/// rate of each in Mbit/s, without the fraction.
fn rates(controller: &mut RateController, now: Instant, outcomes: &str) -> Vec<u64> {
    let mut random = SplitMix64::new(1);
    let mut transmit = |outcome| {
        let rate = controller.begin(now, PEER, &mut random);
        match outcome {
            '+' => controller.handle_success(PEER),
            '-' => _ = controller.handle_failure(now, PEER),
            other => panic!("{other}"),
        }
        rate.bits_per_second() / 1_000_000
    };
    outcomes.chars().map(&mut transmit).collect()
}

#[test]
fn arf_rises_after_ten_successes_and_falls_after_two_failures() {
    let now = Instant::ZERO;
    let mut controller = arf(Rate::Dsss1);
    assert_eq!(rates(&mut controller, now, "++++++++++"), [1; 10]);
    // At 2 Mbit/s, the first frame is acknowledged: from then on a single failure does not count.
    assert_eq!(rates(&mut controller, now, "+-+-+"), [2; 5]);
    assert_eq!(rates(&mut controller, now, "--"), [2, 2]);
    assert_eq!(rates(&mut controller, now, "+++++++++"), [1; 9]);
    // A failure after nine successes: ten are needed again.
    assert_eq!(rates(&mut controller, now, "-++++++++++"), [1; 11]);
    assert_eq!(rates(&mut controller, now, "++++++++++"), [2; 10]);
    assert_eq!(rates(&mut controller, now, "++++++++++"), [5; 10]);
    // The highest rate has no successor.
    assert_eq!(rates(&mut controller, now, "+++++++++++++++++++++"), [11; 21]);
    assert_eq!(rates(&mut controller, now, "----------"), [11, 11, 5, 5, 2, 2, 1, 1, 1, 1]);
}

#[test]
fn arf_falls_back_at_once_when_the_first_frame_at_a_higher_rate_fails() {
    let now = Instant::ZERO;
    let mut controller = arf(Rate::Dsss2);
    for _ in 0..3 {
        assert_eq!(rates(&mut controller, now, "++++++++++-"), [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 5]);
    }
    // The failure on probation is not the first of two at the lower rate.
    assert_eq!(rates(&mut controller, now, "-+"), [2, 2]);
}

#[test]
fn arf_rises_when_its_timer_expires_and_is_then_on_probation() {
    let at = Instant::from_millis;
    let mut controller = arf(Rate::Hr5_5);
    assert_eq!(rates(&mut controller, at(0), "--"), [5, 5]);
    assert_eq!(rates(&mut controller, at(59), "+"), [2]);
    assert_eq!(rates(&mut controller, at(60), "-"), [5]);
    // The fall starts the timer anew.
    assert_eq!(rates(&mut controller, at(119), "+"), [2]);
    assert_eq!(rates(&mut controller, at(120), "+-+"), [5, 5, 5]);
    // Ten successes cancel it.
    assert_eq!(rates(&mut controller, at(1_000), "+"), [5]);
}

#[test]
fn each_receiver_has_a_rate_of_its_own_and_their_number_is_bounded() {
    let now = Instant::ZERO;
    let mut controller = arf(Rate::Hr11);
    let mut random = SplitMix64::new(1);
    rates(&mut controller, now, "--");
    assert_eq!(controller.begin(now, PEER, &mut random), Rate::Hr5_5);
    for other in 0..2 * RECEIVERS as u32 {
        assert_eq!(controller.begin(now, MacAddress::station(100 + other), &mut random), Rate::Hr11);
    }
    assert_eq!(controller.receivers.len(), RECEIVERS);
    // Forgotten, because many others came after it.
    assert_eq!(controller.begin(now, PEER, &mut random), Rate::Hr11);
}

#[test]
fn an_initial_rate_that_the_ladder_lacks_is_replaced_by_the_next_lower_one() {
    let mut random = SplitMix64::new(1);
    let control = RateControl::Arf(Arf::default());
    for (initial, expected) in [(Rate::Ofdm9, Rate::Hr5_5), (Rate::Ofdm54, Rate::Hr11)] {
        let mut controller = RateController::new(control, initial, ladder(&B));
        assert_eq!(controller.begin(Instant::ZERO, PEER, &mut random), expected);
    }
    let mut controller = RateController::new(control, Rate::Dsss1, ladder(&[Rate::Ofdm6]));
    assert_eq!(controller.begin(Instant::ZERO, PEER, &mut random), Rate::Ofdm6);
    assert!(!RateController::new(RateControl::Fixed, Rate::Dsss1, Vec::new()).is_adaptive());
}

/// Sends a payload every millisecond over a channel on which `works` decides; up to seven transmissions.
/// Returns the rates of all transmissions, by payload.
fn payloads(
    controller: &mut RateController,
    start: u64,
    count: u64,
    works: impl Fn(Rate) -> bool,
) -> Vec<Vec<Rate>> {
    let mut random = SplitMix64::new(7);
    let mut send = |number| {
        let now = Instant::from_millis(start + number);
        let mut rate = controller.begin(now, PEER, &mut random);
        let mut tried = Vec::from([rate]);
        while !works(rate) && tried.len() < 7 {
            rate = controller.handle_failure(now, PEER);
            tried.push(rate);
        }
        if works(rate) {
            controller.handle_success(PEER);
        }
        tried
    };
    (0..count).map(&mut send).collect()
}

fn minstrel(initial: Rate) -> RateController {
    RateController::new(RateControl::Minstrel(Minstrel::default()), initial, ladder(&B))
}

#[test]
fn minstrel_finds_the_highest_working_rate_and_looks_around_with_a_tenth_of_the_payloads() {
    let mut controller = minstrel(Rate::Dsss1);
    let works = |rate: Rate| rate.bits_per_second() <= 5_500_000;
    payloads(&mut controller, 0, 1_000, works);
    let later = payloads(&mut controller, 1_000, 1_000, works);
    // Every tenth payload looks around. A look at a slower rate is not needed, as the best rate works; one at
    // the faster rate fails and is followed by the best one.
    let usual = later.iter().filter(|tried| **tried == [Rate::Hr5_5]).count();
    let looks = later.iter().filter(|tried| **tried == [Rate::Hr11, Rate::Hr5_5]).count();
    assert_eq!(usual + looks, 1_000);
    // 100 looks at three other rates, one of them faster: binomial with mean 33 and deviation 4.7.
    assert!((15..52).contains(&looks), "{looks}");
}

#[test]
fn minstrel_changes_its_choice_only_at_the_end_of_an_interval() {
    let mut controller = minstrel(Rate::Dsss1);
    let before = payloads(&mut controller, 0, 100, |_| true);
    let usual = |tried: &[Vec<Rate>], rate| tried.iter().filter(|tried| ***tried == [rate]).count();
    assert!(usual(&before, Rate::Dsss1) >= 90, "{before:?}");
    // A look at 11 Mbit/s has succeeded.
    assert!(usual(&before, Rate::Hr11) > 0);
    let after = payloads(&mut controller, 100, 100, |_| true);
    assert!(after.iter().all(|tried| **tried == [Rate::Hr11]), "{after:?}");
}

#[test]
fn minstrel_descends_a_chain_of_rates_to_the_lowest() {
    let mut controller = minstrel(Rate::Dsss1);
    payloads(&mut controller, 0, 1_000, |_| true);
    // Looks have measured all rates: 11 is the fastest, then 5.5; all are certain.
    controller.control = RateControl::Minstrel(Minstrel { lookaround_percent: 0, ..Minstrel::default() });
    let chain = payloads(&mut controller, 1_000, 1, |_| false).remove(0);
    let (eleven, five, one) = (Rate::Hr11, Rate::Hr5_5, Rate::Dsss1);
    assert_eq!(chain, [eleven, eleven, five, five, eleven, eleven, one]);
}

#[test]
fn minstrel_weighs_the_old_average_three_times_as_much_as_the_new_measurement() {
    let mut controller = minstrel(Rate::Hr11);
    payloads(&mut controller, 0, 400, |_| true);
    let probability = |controller: &mut RateController, now: u64| {
        controller.begin(Instant::from_millis(now), PEER, &mut SplitMix64::new(1));
        let super::State::Minstrel(state) = &controller.receivers[0].1 else { panic!("minstrel") };
        state.probability(3)
    };
    assert_eq!(probability(&mut controller, 400), Some(1.0));
    controller.handle_success(PEER);
    // An interval in which 11 Mbit/s never works: (3 x 1 + 0) / 4; then the same again.
    payloads(&mut controller, 401, 98, |rate| rate != Rate::Hr11);
    let first = probability(&mut controller, 500).unwrap();
    assert!((0.75..0.76).contains(&first), "{first}");
}
