use whimbrel_units::{Duration, Instant};

use super::{FourStateTransitions, Impairment, ImpairmentError, LossProcess};
use crate::random::RandomStreams;

fn process(impairment: &Impairment, run: u64) -> LossProcess {
    LossProcess::new(impairment, RandomStreams::new(3, run).stream("link", "loss")).unwrap()
}

/// Verdicts on packets that leave a millisecond apart.
fn verdicts(impairment: &Impairment, packets: u64) -> Vec<bool> {
    let mut process = process(impairment, 0);
    (0..packets).map(|k| process.loses(Instant::from_millis(k), 762)).collect()
}

fn loss_rate(verdicts: &[bool]) -> f64 {
    verdicts.iter().filter(|&&lost| lost).count() as f64 / verdicts.len() as f64
}

/// Lengths of the runs of this verdict; the last run, which may have been cut off, is left out.
fn runs(verdicts: &[bool], verdict: bool) -> Vec<usize> {
    let mut runs: Vec<&[bool]> = verdicts.chunk_by(|a, b| a == b).collect();
    runs.pop();
    runs.iter().filter(|run| run[0] == verdict).map(|run| run.len()).collect()
}

fn mean(lengths: &[usize]) -> f64 {
    lengths.iter().sum::<usize>() as f64 / lengths.len() as f64
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() < tolerance, "{value} is not {expected} +- {tolerance}");
}

#[test]
fn bernoulli_loses_its_share_independently() {
    let verdicts = verdicts(&Impairment::Bernoulli { loss: 0.1 }, 200_000);
    // Five standard errors.
    assert_near(loss_rate(&verdicts), 0.1, 5.0 * (0.09f64 / 200_000.0).sqrt());
    let after_loss: Vec<bool> = verdicts.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
    assert_near(loss_rate(&after_loss), 0.1, 5.0 * (0.09f64 / after_loss.len() as f64).sqrt());
}

#[test]
fn certain_loss_and_certain_arrival_are_certain() {
    assert_eq!(loss_rate(&verdicts(&Impairment::Bernoulli { loss: 1.0 }, 1_000)), 1.0);
    assert_eq!(loss_rate(&verdicts(&Impairment::Bernoulli { loss: 0.0 }, 1_000)), 0.0);
    assert_eq!(loss_rate(&verdicts(&Impairment::None, 1_000)), 0.0);
}

#[test]
fn gilbert_elliott_has_its_stationary_loss_and_bursts() {
    let gilbert = Impairment::GilbertElliott {
        good_to_bad: 0.01,
        bad_to_good: 0.25,
        loss_in_good: 0.0,
        loss_in_bad: 1.0,
    };
    let lost = verdicts(&gilbert, 400_000);
    // 0.01 / 0.26; the verdicts' correlation (1 - 0.26) inflates the variance by 1.74 / 0.26.
    let share = 0.01 / 0.26;
    assert_near(loss_rate(&lost), share, 5.0 * (share * (1.0 - share) * (1.74 / 0.26) / 400_000.0f64).sqrt());
    let bursts = runs(&lost, true);
    // Geometric with mean 4 and variance 12.
    assert_near(mean(&bursts), 4.0, 5.0 * (12.0 / bursts.len() as f64).sqrt());

    let elliott = Impairment::GilbertElliott {
        good_to_bad: 0.01,
        bad_to_good: 0.25,
        loss_in_good: 0.02,
        loss_in_bad: 0.6,
    };
    assert_near(loss_rate(&verdicts(&elliott, 400_000)), 0.02 * (1.0 - share) + 0.6 * share, 0.002);
}

#[test]
fn the_four_state_chain_has_its_shares_and_its_bursts() {
    let transitions = FourStateTransitions { p13: 0.01, p31: 0.2, p32: 0.3, p23: 0.4, p14: 0.02 };
    let lost = verdicts(&Impairment::FourState(transitions), 400_000);
    // Balance by hand: 3 to 1 as 0.01 to 0.2, 2 to 3 as 0.3 to 0.4, 4 to 1 as 0.02 to 1.
    let [gap, burst] = [1.0, 0.05];
    let whole = gap + 0.02 * gap + burst + 0.75 * burst;
    let rate = (0.02 * gap + burst) / whole;
    let shares = transitions.shares();
    assert_near(shares[2] + shares[3], rate, 1e-12);
    assert_near(loss_rate(&lost), rate, 0.003);
    // A run of losses is one isolated loss, or burst losses of geometric length with mean 2.
    let isolated = 0.02 * gap;
    let of_bursts = 0.01 * gap + 0.4 * 0.75 * burst;
    let mean_run = (isolated + 2.0 * of_bursts) / (isolated + of_bursts);
    let found = runs(&lost, true);
    assert_near(mean(&found), mean_run, 5.0 * (1.2 / found.len() as f64).sqrt());
    let ones = found.iter().filter(|&&run| run == 1).count() as f64 / found.len() as f64;
    let expected = (isolated + 0.5 * of_bursts) / (isolated + of_bursts);
    assert_near(ones, expected, 5.0 * (expected * (1.0 - expected) / found.len() as f64).sqrt());
}

#[test]
fn a_four_state_chain_that_cannot_be_is_refused() {
    let check = |p13, p31, p32, p23, p14| {
        Impairment::FourState(FourStateTransitions { p13, p31, p32, p23, p14 }).check()
    };
    assert_eq!(check(0.1, 0.9, 0.0, 1.0, 0.0), Ok(()));
    assert_eq!(check(0.0, 1.0, 0.0, 1.0, 0.1), Ok(()));
    assert_eq!(check(0.0, 0.0, 0.5, 0.5, 0.1), Err(ImpairmentError::Stuck));
    assert_eq!(check(0.0, 0.5, 0.5, 0.0, 0.1), Err(ImpairmentError::Stuck));
    let sum = check(0.7, 0.5, 0.0, 1.0, 0.4).unwrap_err().to_string();
    assert!(sum.starts_with("p13 + p14 is 1.1"), "{sum}");
    assert!(check(0.1, 0.7, 0.4, 1.0, 0.0).unwrap_err().to_string().starts_with("p31 + p32 is 1.1"));
    assert!(check(1.1, 0.5, 0.0, 1.0, 0.0).unwrap_err().to_string().starts_with("p13 is 1.1"));
}

/// A chain that started good would lose nothing at its first packet.
#[test]
fn gilbert_elliott_starts_stationary() {
    let half = Impairment::GilbertElliott {
        good_to_bad: 1e-9,
        bad_to_good: 1e-9,
        loss_in_good: 0.0,
        loss_in_bad: 1.0,
    };
    let timed = Impairment::TimedGilbertElliott {
        mean_good: Duration::from_secs(1_000_000),
        mean_bad: Duration::from_secs(1_000_000),
        loss_in_good: 0.0,
        loss_in_bad: 1.0,
    };
    for impairment in [half, timed] {
        let first: Vec<bool> =
            (0..2_000).map(|run| process(&impairment, run).loses(Instant::ZERO, 762)).collect();
        assert_near(loss_rate(&first), 0.5, 5.0 * (0.25f64 / 2_000.0).sqrt());
    }
}

#[test]
fn the_timed_chain_does_not_care_how_many_packets_there_are() {
    let impairment = Impairment::TimedGilbertElliott {
        mean_good: Duration::from_millis(300),
        mean_bad: Duration::from_millis(100),
        loss_in_good: 0.0,
        loss_in_bad: 1.0,
    };
    // A packet per millisecond: bursts last 100 ms, and a quarter is lost.
    let lost = verdicts(&impairment, 1_000_000);
    assert_near(loss_rate(&lost), 0.25, 0.02);
    assert_near(mean(&runs(&lost, true)), 100.0, 10.0);
    // A packet every ten seconds: the states are forgotten in between, the share stays.
    let mut process = process(&impairment, 0);
    let sparse: Vec<bool> = (0..20_000).map(|k| process.loses(Instant::from_secs(10 * k), 762)).collect();
    assert_near(loss_rate(&sparse), 0.25, 5.0 * (0.1875f64 / 20_000.0).sqrt());
    let after_loss: Vec<bool> = sparse.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
    assert_near(loss_rate(&after_loss), 0.25, 0.04);
}

#[test]
fn run_lengths_have_their_distribution_and_their_loss_rate() {
    let impairment = Impairment::RunLength { loss_rate: 0.078, runs: vec![0.70, 0.25, 0.05] };
    let lost = verdicts(&impairment, 1_000_000);
    assert!(!lost[0], "the first run is good");
    assert_near(loss_rate(&lost), 0.078, 0.002);
    let losses = runs(&lost, true);
    let share =
        |length: usize| losses.iter().filter(|&&run| run == length).count() as f64 / losses.len() as f64;
    assert_near(share(1), 0.70, 5.0 * (0.21 / losses.len() as f64).sqrt());
    assert_near(share(2), 0.25, 5.0 * (0.1875 / losses.len() as f64).sqrt());
    assert_near(share(3), 0.05, 5.0 * (0.0475 / losses.len() as f64).sqrt());
    assert!(losses.iter().all(|&run| run <= 3));
    // B = 1.35, so G = 1.35 * 0.922 / 0.078 = 15.957, with the variance G (G - 1) of a geometric.
    let good = runs(&lost, false);
    assert_near(mean(&good), 15.957, 5.0 * (15.957 * 14.957 / good.len() as f64).sqrt());
    let shortest = good.iter().filter(|&&run| run == 1).count() as f64 / good.len() as f64;
    assert_near(shortest, 1.0 / 15.957, 0.005);
}

#[test]
fn run_lengths_reach_their_highest_and_lowest_loss() {
    let alternating = verdicts(&Impairment::RunLength { loss_rate: 0.5, runs: vec![1.0] }, 1_000);
    assert!(alternating.iter().enumerate().all(|(k, &lost)| lost == (k % 2 == 1)));
    let lossless = verdicts(&Impairment::RunLength { loss_rate: 0.0, runs: vec![1.0] }, 1_000);
    assert_eq!(loss_rate(&lossless), 0.0);
    let twos = verdicts(&Impairment::RunLength { loss_rate: 0.2, runs: vec![0.0, 1.0] }, 10_000);
    assert!(runs(&twos, true).iter().all(|&run| run == 2));
}

#[test]
fn a_mask_loses_exactly_its_packets() {
    let lost = verdicts(&Impairment::mask(vec![0, 3, 4, 9]), 12);
    let indices: Vec<usize> = (0..12).filter(|&k| lost[k]).collect();
    assert_eq!(indices, [0, 3, 4, 9]);
}

#[test]
fn a_mask_repeats_or_reports_where_it_ended() {
    let mask = |repeats| Impairment::Mask { lost: vec![0, 3], length: 5, repeats };
    let lost = |impairment: &Impairment| -> Vec<usize> {
        let lost = verdicts(impairment, 15);
        (0..15).filter(|&k| lost[k]).collect()
    };
    assert_eq!(lost(&mask(false)), [0, 3]);
    assert_eq!(lost(&mask(true)), [0, 3, 5, 8, 10, 13]);
    let exceeded = |impairment: &Impairment, packets: u64| {
        let mut process = process(impairment, 0);
        for k in 0..packets {
            process.loses(Instant::from_millis(k), 762);
        }
        process.exceeded()
    };
    assert_eq!(exceeded(&mask(false), 5), None);
    assert_eq!(exceeded(&mask(false), 9), Some(Instant::from_millis(5)));
    assert_eq!(exceeded(&mask(true), 15), None);
    // A list of packets speaks of all packets: the others arrive.
    assert_eq!(exceeded(&Impairment::mask(vec![1]), 15), None);
}

#[test]
fn impossible_parameters_are_named() {
    let check = |impairment: Impairment| impairment.check().unwrap_err();
    assert_eq!(
        check(Impairment::Bernoulli { loss: 1.1 }),
        ImpairmentError::NotAProbability { name: "loss", value: 1.1 }
    );
    assert!(matches!(
        check(Impairment::Bernoulli { loss: f64::NAN }),
        ImpairmentError::NotAProbability { name: "loss", .. }
    ));
    assert_eq!(
        check(Impairment::GilbertElliott {
            good_to_bad: 0.0,
            bad_to_good: 0.0,
            loss_in_good: 0.0,
            loss_in_bad: 1.0
        }),
        ImpairmentError::Stuck
    );
    let no_stay = Impairment::TimedGilbertElliott {
        mean_good: Duration::ZERO,
        mean_bad: Duration::from_secs(1),
        loss_in_good: 0.0,
        loss_in_bad: 1.0,
    };
    assert_eq!(check(no_stay), ImpairmentError::NoStay);
    assert!(matches!(
        check(Impairment::RunLength { loss_rate: 0.1, runs: vec![0.5, 0.4] }),
        ImpairmentError::RunsSum(sum) if (sum - 0.9).abs() < 1e-12
    ));
    assert_eq!(
        check(Impairment::RunLength { loss_rate: 0.6, runs: vec![1.0] }),
        ImpairmentError::TooMuchLoss { loss_rate: 0.6, highest: 0.5 }
    );
    assert_eq!(check(Impairment::mask(vec![3, 3])), ImpairmentError::MaskOrder);
    let mask = |lost, length, repeats| Impairment::Mask { lost, length, repeats };
    assert!(matches!(check(mask(vec![3], 3, false)), ImpairmentError::MaskLength { length: 3, .. }));
    assert!(matches!(check(mask(vec![], 0, true)), ImpairmentError::MaskLength { length: 0, .. }));
}

#[test]
fn correlated_losses_follow_each_other_and_become_rarer_as_in_netem() {
    // With a correlation of 0 the losses are independent.
    let lost = verdicts(&Impairment::Correlated { loss: 0.4, correlation: 0.0 }, 100_000);
    assert_near(loss_rate(&lost), 0.4, 0.01);
    assert_near(mean(&runs(&lost, true)), 1.0 / 0.6, 0.05);
    // The draws x' = (x + 3 y) / 4 have three quarters of the range: a tenth is lost far more rarely.
    let weak = verdicts(&Impairment::Correlated { loss: 0.1, correlation: 0.25 }, 100_000);
    assert!(loss_rate(&weak) > 0.01 && loss_rate(&weak) < 0.09, "{}", loss_rate(&weak));
    // Half stays half by symmetry, in longer runs.
    let strong = verdicts(&Impairment::Correlated { loss: 0.5, correlation: 0.9 }, 100_000);
    assert_near(loss_rate(&strong), 0.5, 0.05);
    assert!(mean(&runs(&strong, true)) > 5.0, "{}", mean(&runs(&strong, true)));
}
