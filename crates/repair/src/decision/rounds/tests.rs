use std::vec::Vec;

use proptest::prelude::*;

use super::*;

const TAMBUR: Channel = Channel { to_bad: 0.068, to_good: 0.852, loss_good: 0.04, loss_bad: 0.5 };

/// "Least overhead in % for at most 1e-4 missed", computed by another program; values above 100 % of parity
/// left out.
#[test]
fn the_least_overhead_is_that_of_the_table() {
    for (channel, packets, expected) in [
        (TAMBUR, 16, &[48.35, 15.68, 8.95, 8.02, 7.99][..]),
        (Channel::independent(0.01), 16, &[18.16, 1.88, 1.01, 1.01, 1.01]),
        (Channel::independent(0.03), 16, &[29.27, 7.24, 3.16, 3.09, 3.09]),
        (Channel::independent(0.08), 16, &[48.78, 16.30, 9.81, 8.74, 8.69]),
        (Channel::independent(0.2), 16, &[93.23, 40.40, 30.48, 26.74, 25.37]),
        (Channel::bursts(0.05, 8.0), 16, &[f64::NAN, 37.06, 6.27, 5.26, 5.25]),
        (TAMBUR, 1, &[f64::NAN, 21.30, 8.40, 7.98]),
        (Channel::independent(0.2), 1, &[f64::NAN, 97.19, 35.44, 26.29]),
    ] {
        let programme = Rounds::new(&channel, packets, if packets == 1 { 12 } else { 48 });
        for (count, &percent) in expected.iter().enumerate() {
            let mix = programme.cheapest(count, 1e-4);
            if percent.is_nan() {
                assert_eq!(mix, None, "{channel:?}, {packets} packets, {count} rounds");
                continue;
            }
            let mix = mix.expect("a plan");
            // The table is rounded to 0.005 %; the mix of two plans is exact.
            let difference = (mix.overhead() * 100.0 - percent).abs();
            assert!(
                difference < 0.0075,
                "{channel:?}, {packets} packets, {count} rounds: {}",
                mix.overhead()
            );
            assert!(mix.missed() <= 1e-4 + 1e-12);
        }
    }
}

/// The plan at a price of 10,000 packets: packets to send for 1, 2, 4, 8 missing.
#[test]
fn the_plan_of_the_sheet() {
    let programme = Rounds::new(&TAMBUR, 16, 48);
    for (count, parity) in [(0, 8), (1, 2), (2, 0), (3, 0)] {
        let plan = programme.plan(count, 1e4);
        assert_eq!(plan.first - 16, parity, "{count} rounds");
        let answers = |left| [1, 2, 4, 8].map(|missing| plan.answer(left, missing));
        let expected = [[4, 6, 9, 14], [1, 2, 5, 9], [1, 2, 4, 8]];
        for (left, expected) in (1..=count).zip(expected) {
            assert_eq!(answers(left), expected, "{count} rounds, {left} left");
        }
    }
}

/// Expected cost of a policy, by following every outcome.
fn cost(
    programme: &Rounds,
    policy: &dyn Fn(usize, usize) -> usize,
    left: usize,
    missing: usize,
    price: f64,
) -> f64 {
    if missing == 0 {
        return 0.0;
    }
    if left == 0 {
        return price;
    }
    let sent = policy(left, missing);
    let outcomes = programme.lost[sent].iter().enumerate().map(|(lost, probability)| {
        let arrived = sent - lost;
        probability * cost(programme, policy, left - 1, missing.saturating_sub(arrived), price)
    });
    sent as f64 + outcomes.sum::<f64>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// No policy is cheaper: all of them are tried for a frame of two packets, two rounds and at most four
    /// packets in each.
    #[test]
    fn no_policy_is_cheaper(
        to_bad in 0.01..0.5, to_good in 0.1..0.9, loss_good in 0.0..0.3, loss_bad in 0.3..1.0, price in 1.0..1e4,
    ) {
        let channel = Channel { to_bad, to_good, loss_good, loss_bad };
        let programme = Rounds::new(&channel, 2, 4);
        let plan = programme.plan(2, price);
        // answers[left - 1][missing - 1], and the first transmission.
        let total = |first: usize, answers: [[usize; 2]; 2]| {
            let policy = |left: usize, missing: usize| if left == 3 { first } else { answers[left - 1][missing - 1] };
            cost(&programme, &policy, 3, 2, price)
        };
        let all: Vec<usize> = (0..5).collect();
        let mut best = f64::INFINITY;
        for first in 2..=4 {
            for &a in &all { for &b in &all { for &c in &all { for &d in &all {
                best = best.min(total(first, [[a, b], [c, d]]));
            } } } }
        }
        let chosen = [0, 1].map(|left| [1, 2].map(|missing| plan.answers[left][missing]));
        let ours = total(plan.first, chosen);
        prop_assert!((ours - best).abs() <= 1e-9 * best, "{} for {}", ours, best);
        let stated = (1.0 + plan.overhead) * 2.0 + price * plan.missed;
        prop_assert!((ours - stated).abs() <= 1e-9 * best, "{} stated for {}", stated, ours);
    }

    #[test]
    fn more_rounds_and_less_loss_never_cost_more(loss in 0.001..0.2) {
        let overhead = |loss: f64, count: usize| {
            Rounds::new(&Channel::independent(loss), 4, 16).cheapest(count, 1e-3).map_or(2.0, |mix| mix.overhead())
        };
        for count in 0..3 {
            prop_assert!(overhead(loss, count + 1) <= overhead(loss, count) + 1e-9);
            prop_assert!(overhead(loss / 2.0, count) <= overhead(loss, count) + 1e-9);
        }
    }
}

#[test]
fn answers_repeat_at_least_what_is_missing() {
    let plan = Rounds::new(&Channel::independent(0.05), 4, 16).plan(2, 0.5);
    assert_eq!(plan.answer(2, 3), 3);
    // More rounds than planned, more missing than planned.
    assert_eq!(plan.answer(7, 40), 40);
    let dear = Rounds::new(&Channel::independent(0.2), 4, 16).plan(1, 1e4);
    assert!(dear.answer(1, 8) >= 2 * dear.answer(1, 4) - 1);
}
