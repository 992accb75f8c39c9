use super::{Comparison, capture, exposed, extended_space, hidden, protection, single_sender};

fn assert_all_hold(comparisons: Vec<Comparison>, count: usize) -> Vec<Comparison> {
    assert_eq!(comparisons.len(), count);
    for one in &comparisons {
        assert!(one.holds(), "{one:?}: {:+.3} %", 100.0 * one.deviation());
    }
    comparisons
}

#[test]
fn one_sender_reaches_the_throughput_of_equation_3() {
    assert_all_hold(single_sender(), 8);
}

#[test]
fn protection_costs_the_time_of_its_frames_and_of_the_long_slots() {
    let found = assert_all_hold(protection(), 4);
    // Each form costs more than the one before.
    assert!(found.is_sorted_by(|a, b| a.measured > b.measured));
}

#[test]
fn hidden_senders_lose_frames_with_the_probability_of_renewal_theory() {
    assert_all_hold(hidden(), 4);
}

#[test]
fn exposed_senders_share_one_channel_with_rts_and_without() {
    let found = assert_all_hold(exposed(), 8);
    // One sender alone at 11 Mbit/s: DIFS, 15.5 slots, data, SIFS, acknowledgement. Two that did not sense
    // each other would send twice as many frames.
    let alone = 1e6 / (50.0 + 310.0 + 1_310.0 + 10.0 + 304.0);
    assert!(found[0].measured < 1.12 * alone, "{} {alone}", found[0].measured);
}

#[test]
fn a_sender_that_waits_for_eifs_has_a_fifth_of_the_channel() {
    let found = assert_all_hold(extended_space(), 2);
    let share = found[1].measured / (found[0].measured + found[1].measured);
    assert!((0.19..0.23).contains(&share), "{share}");
}

#[test]
fn near_senders_gain_what_the_slotted_rule_with_capture_gives_them() {
    assert_all_hold(capture(), 9);
}
