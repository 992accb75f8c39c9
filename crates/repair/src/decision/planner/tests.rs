use super::*;

#[test]
fn choices_are_remembered_until_the_channel_changes() {
    let mut planner = Planner::new(PlannerConfig::default(), Channel::independent(0.08));
    for _ in 0..10 {
        let choice = planner.choose(16, 2, 4);
        assert!(!choice.is_out_of_reach && choice.window.is_none());
        assert!(choice.overhead > 0.0981 && choice.overhead < 0.0981 * 1.05);
    }
    // No round: a window over three frames is cheaper than a block.
    let choice = planner.choose(16, 0, 3);
    assert!(choice.window.is_some() && choice.overhead < 0.30);
    assert_eq!(planner.computed(), 2);
    planner.set_channel(Channel::independent(0.0801));
    planner.choose(16, 2, 4);
    assert_eq!(planner.computed(), 2);
    planner.set_channel(Channel::independent(0.1));
    planner.choose(16, 2, 4);
    assert_eq!(planner.computed(), 3);
    for packets in 1..100 {
        planner.choose(packets, 1, 1);
    }
    assert!(planner.known.len() <= REMEMBERED);
}

#[test]
fn a_target_out_of_reach_is_told_and_costs_no_more_than_its_worth() {
    let mut planner = Planner::new(PlannerConfig::default(), Channel::bursts(0.05, 8.0));
    let choice = planner.choose(16, 0, 3);
    assert!(choice.is_out_of_reach && choice.missed > 1e-4);
    assert!(choice.overhead <= 1.0);
}

#[test]
fn large_frames_are_planned_in_parts() {
    let mut planner = Planner::new(PlannerConfig::default(), Channel::independent(0.02));
    let choice = planner.choose(200, 1, 1);
    assert_eq!(planner.known[0].0.packets, 23);
    assert!(choice.missed <= 1e-4 / 9.0 + 1e-9);
}
