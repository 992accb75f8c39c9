//! Configuration of both ends.

use whimbrel_net::PathChange;

use super::config;

#[test]
fn both_ends_take_part_in_handovers_and_keep_the_rate_of_the_old_path() {
    let config = config();
    assert!(config.freeze.offer);
    assert_eq!(config.mobility.map(|mobility| mobility.on_move), Some(PathChange::Keep));
}
