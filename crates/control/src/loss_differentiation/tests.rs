use super::{LossCause, LossDifferentiation, Omniscient};

#[test]
fn the_omniscient_repeats_what_it_was_told() {
    let mut oracle = Omniscient::new();
    oracle.inform(7, LossCause::Wireless);
    oracle.inform(8, LossCause::Congestion);
    assert_eq!(oracle.cause_of(7, LossCause::Congestion), LossCause::Wireless);
    assert_eq!(oracle.cause_of(8, LossCause::Congestion), LossCause::Congestion);
}

#[test]
fn a_loss_nobody_spoke_of_is_congestion() {
    let mut oracle = Omniscient::new();
    assert_eq!(oracle.cause_of(7, LossCause::Congestion), LossCause::Congestion);
}

#[test]
fn the_oldest_truths_are_forgotten_first() {
    let mut oracle = Omniscient::new();
    for sequence in 0..=Omniscient::MEMORY as u64 {
        oracle.inform(sequence, LossCause::Wireless);
    }
    assert_eq!(oracle.cause_of(0, LossCause::Congestion), LossCause::Congestion);
    assert_eq!(oracle.cause_of(1, LossCause::Congestion), LossCause::Wireless);
}
