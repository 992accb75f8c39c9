use std::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{Rrc, RrcConfig, RrcState};
use crate::amc::lte::Direction;

/// The rest of the round trip in the measurements, in ms.
const FLOOR: f64 = 65.0;

/// Round trips in ms, at 10, 50 and 90 %, of a packet that arrives `gap` after the last traffic, which ended
/// at any time.
fn round_trips(config: RrcConfig, gap: Duration) -> [f64; 3] {
    let mut found: Vec<f64> = (0..1_280_000)
        .step_by(100)
        .map(|micros| {
            let mut rrc = Rrc::new(config);
            let last = Instant::from_millis(5_000) + Duration::from_micros(micros);
            rrc.handle_traffic(last);
            let now = last + gap;
            FLOOR + (rrc.handle_packet(now, Direction::Down) - now) / Duration::from_millis(1)
        })
        .collect();
    found.sort_by(f64::total_cmp);
    [0.1, 0.5, 0.9].map(|share| found[(share * found.len() as f64) as usize])
}

#[test]
fn round_trips_grow_with_the_silence_before_them() {
    for (gap, expected) in
        [(50, [65.0, 65.0, 65.0]), (3_000, [87.0, 215.0, 343.0]), (16_000, [483.0, 995.0, 1_507.0])]
    {
        let found = round_trips(RrcConfig::LTE, Duration::from_millis(gap));
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 0.5, "{gap} ms: {found}, expected {expected}");
        }
    }
    let [_, median, most] = round_trips(RrcConfig::NR, Duration::from_millis(3_000));
    assert!((75.0..85.0).contains(&median) && most < 100.0, "{median} {most}");
}

#[test]
fn an_uplink_packet_needs_no_page_and_no_listening() {
    let mut rrc = Rrc::new(RrcConfig::LTE);
    let now = Instant::from_millis(1_700);
    assert_eq!(rrc.state(now), RrcState::Idle);
    let ready = Instant::from_millis(1_990);
    assert_eq!(rrc.handle_packet(now, Direction::Up), ready);
    assert_eq!(rrc.state(now), RrcState::Connecting(ready));
    assert_eq!(rrc.handle_packet(now, Direction::Down), ready, "one promotion serves both");
    let later = ready + Duration::from_millis(500);
    assert_eq!(rrc.handle_packet(later, Direction::Up), later);
    assert_eq!(rrc.promotions(), 1);
}

#[test]
fn a_silent_terminal_is_released() {
    let mut rrc = Rrc::new(RrcConfig::LTE);
    rrc.handle_traffic(Instant::from_secs(1));
    let released = Instant::from_millis(11_200);
    assert_eq!(rrc.poll_timeout(Instant::from_secs(1)), Some(released));
    assert_eq!(rrc.state(Instant::from_millis(11_199)), RrcState::Connected);
    assert_eq!((rrc.state(released), rrc.poll_timeout(released)), (RrcState::Idle, None));
}
