use whimbrel_units::{Duration, Instant};

use super::super::{EdcaConfig, TransmitRate};
use super::Contention;
use crate::phy::{Phy, Rate};

const BEST_EFFORT: usize = 1;
const VOICE: usize = 3;

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn contention() -> Contention {
    Contention::new(&EdcaConfig::station(Phy::ofdm(), TransmitRate::Legacy(Rate::Ofdm54)))
}

/// Best effort: boundaries 43, 52, 61, ... us after the end of the busy period.
#[test]
fn an_uncontested_counter_ends_aifs_and_its_slots_after_the_busy_period() {
    let mut contention = contention();
    contention.handle_busy(at(0));
    assert!(contention.set_traffic(BEST_EFFORT, at(1), true));
    contention.draw(BEST_EFFORT, at(1), 5);
    contention.handle_idle(at(100));
    assert_eq!(contention.deadline(), at(100 + 43 + 5 * 9));
}

#[test]
fn the_boundary_at_which_another_station_begins_counts() {
    for (busy, remaining) in [(142, 5), (143, 4), (145, 4), (152, 3), (153, 3), (161, 2)] {
        let mut contention = contention();
        contention.handle_busy(at(0));
        contention.set_traffic(BEST_EFFORT, at(1), true);
        contention.draw(BEST_EFFORT, at(1), 5);
        contention.handle_idle(at(100));
        contention.handle_busy(at(busy));
        contention.handle_idle(at(1_000));
        assert_eq!(contention.deadline(), at(1_043 + remaining * 9), "busy at {busy}");
    }
}

#[test]
fn a_grant_at_the_instant_of_the_busy_edge_stands() {
    let mut contention = contention();
    contention.handle_busy(at(0));
    contention.set_traffic(BEST_EFFORT, at(1), true);
    contention.draw(BEST_EFFORT, at(1), 2);
    contention.set_traffic(VOICE, at(1), true);
    contention.draw(VOICE, at(1), 7);
    contention.handle_idle(at(100));
    contention.handle_busy(at(161));
    assert_eq!(contention.deadline(), at(161));
    // Voice: boundaries at 134, 143, 152 and 161 have passed.
    assert_eq!(contention.take_grants(at(161)), [false, true, false, false]);
    contention.handle_transmit_start(at(161));
    contention.handle_transmit_end(at(400));
    contention.set_traffic(BEST_EFFORT, at(400), false);
    contention.handle_idle(at(400));
    assert_eq!(contention.deadline(), at(400 + 34 + 3 * 9));
}

#[test]
fn counters_that_end_together_collide_within_the_station() {
    let mut contention = contention();
    contention.handle_busy(at(0));
    for (category, slots) in [(BEST_EFFORT, 1), (VOICE, 2)] {
        contention.set_traffic(category, at(1), true);
        contention.draw(category, at(1), slots);
    }
    contention.handle_idle(at(100));
    assert_eq!(contention.take_grants(at(152)), [false, true, false, true]);
}

#[test]
fn a_frame_that_finds_the_medium_idle_goes_at_the_next_boundary() {
    let mut contention = contention();
    contention.handle_busy(at(0));
    contention.handle_idle(at(100));
    assert!(!contention.set_traffic(BEST_EFFORT, at(1_000), true));
    // 143 + 96 x 9 = 1007.
    assert_eq!(contention.deadline(), at(1_007));
    // Within AIFS: at its end.
    let mut contention = self::contention();
    contention.handle_busy(at(0));
    contention.handle_idle(at(100));
    assert!(!contention.set_traffic(BEST_EFFORT, at(110), true));
    assert_eq!(contention.deadline(), at(143));
}

#[test]
fn reservations_and_errors_defer_the_first_boundary() {
    let mut contention = contention();
    contention.handle_busy(at(0));
    contention.set_traffic(BEST_EFFORT, at(1), true);
    contention.handle_error(at(100));
    contention.handle_idle(at(100));
    // SIFS, an acknowledgement at 6 Mbit/s, AIFS.
    assert_eq!(contention.deadline(), at(100 + 16 + 44 + 43));
    contention.handle_frame();
    contention.set_nav(at(500));
    assert_eq!(contention.deadline(), at(543));
    contention.reset_nav(at(200));
    assert_eq!(contention.deadline(), at(243));
}
