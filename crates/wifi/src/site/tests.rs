use alloc::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};

use super::Site;
use crate::StationIndex;
use crate::medium::Link;
use crate::mobility::{Path, Position, Presence};
use crate::propagation::{BlockFading, ChannelConfig, Fading};

const START: Instant = Instant::ZERO;

fn fixed(places: &[(f64, f64)]) -> Vec<(Path, Presence)> {
    places.iter().map(|&(x, y)| (Path::fixed(Position { x, y }), Presence::ALWAYS)).collect()
}

fn reached(links: &[Link]) -> Vec<u32> {
    links.iter().map(|link| link.station.0).collect()
}

/// ns-2's card: decodable to 250 m, sensed to 550 m.
#[test]
fn stations_are_reached_to_the_carrier_sense_range_and_decode_to_the_receive_range() {
    let places = [(0.0, 0.0), (249.9, 0.0), (250.1, 0.0), (549.9, 0.0), (550.1, 0.0)];
    let mut site = Site::new(ChannelConfig::ns2(), fixed(&places)).expect("a radio");
    assert_eq!(reached(site.links(StationIndex(0), START)), [1, 2, 3]);
    let decodes: Vec<bool> =
        (0..5).map(|to| site.reaches(StationIndex(0), StationIndex(to), START)).collect();
    assert_eq!(decodes, [false, true, false, false, false]);
}

/// 300 m take a microsecond at the speed of light of ns-2.
#[test]
fn links_have_the_delay_of_their_length() {
    let mut site = Site::new(ChannelConfig::ns2(), fixed(&[(0.0, 0.0), (0.0, 300.0)])).expect("a radio");
    assert_eq!(site.links(StationIndex(0), START)[0].delay, 1000);
    assert_eq!(site.links(StationIndex(1), START)[0].delay, 1000);
}

#[test]
fn stations_that_are_off_neither_send_nor_receive() {
    let outage = [(Instant::from_secs(1), Instant::from_secs(2))];
    let mut stations = fixed(&[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]);
    stations[1].1 = Presence::except(&outage).expect("an interval");
    let mut site = Site::new(ChannelConfig::ns2(), stations).expect("a radio");
    assert_eq!(reached(site.links(StationIndex(0), START)), [1, 2]);
    assert_eq!(reached(site.links(StationIndex(0), Instant::from_secs(1))), [2]);
    assert!(site.links(StationIndex(1), Instant::from_secs(1)).is_empty());
    assert!(
        [1, 2].map(|s| site.reaches(StationIndex(0), StationIndex(1), Instant::from_secs(s)))
            == [false, true]
    );
}

/// A station passes another one at 100 m/s.
#[test]
fn moving_stations_come_into_range_and_leave_it() {
    let path = Path::through(&[
        (START, Position { x: -1000.0, y: 0.0 }),
        (Instant::from_secs(20), Position { x: 1000.0, y: 0.0 }),
    ]);
    let mut stations = fixed(&[(0.0, 0.0)]);
    stations.push((path.expect("a path"), Presence::ALWAYS));
    let mut site = Site::new(ChannelConfig::ns2(), stations).expect("a radio");
    let seen: Vec<bool> =
        (0..=20).map(|second| !site.links(StationIndex(0), Instant::from_secs(second)).is_empty()).collect();
    // Sensed while the distance is at most 550 m: from 4.5 to 15.5 s.
    assert!(seen.iter().enumerate().all(|(second, &seen)| seen == (5..=15).contains(&second)), "{seen:?}");
}

#[test]
fn fading_varies_the_power_and_both_directions_have_the_same() {
    let fading = BlockFading::new(Fading::Rayleigh, Duration::from_millis(10), 7);
    let config = ChannelConfig { fading, ..ChannelConfig::ns2() };
    let mut site = Site::new(config, fixed(&[(0.0, 0.0), (100.0, 0.0)])).expect("a radio");
    let mut power = |from: u32, ms: u64| site.links(StationIndex(from), Instant::from_millis(ms))[0].power;
    assert_eq!(power(0, 1), power(1, 9));
    assert_ne!(power(0, 1), power(0, 11));
}

proptest! {
    /// The links that are computed once are those that are computed anew.
    #[test]
    fn lasting_links_are_those_of_a_search(
        places in proptest::collection::vec((0.0..2000.0f64, 0.0..1500.0f64), 1..30),
    ) {
        let mut lasting = Site::new(ChannelConfig::ns2(), fixed(&places)).expect("a radio");
        let mut searched = lasting.clone();
        searched.is_constant = false;
        for from in 0..places.len() {
            let once = lasting.links(StationIndex::new(from), START).to_vec();
            prop_assert_eq!(&once, &lasting.links(StationIndex::new(from), Instant::from_secs(1)).to_vec());
            prop_assert_eq!(&once, &searched.links(StationIndex::new(from), START).to_vec());
            let decoded: Vec<u32> =
                (0..places.len() as u32).filter(|&to| lasting.reaches(StationIndex::new(from), StationIndex(to), START)).collect();
            prop_assert!(decoded.iter().all(|to| reached(&once).contains(to)));
        }
    }
}
