use whimbrel_units::{Duration, Instant};

use super::{RadioLink, RadioLinkConfig};
use crate::level::Decibels;

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn detection_takes_its_time() {
    let short =
        RadioLinkConfig { indications: 1, wait: Duration::from_millis(200), ..RadioLinkConfig::DEFAULT };
    for (config, millis) in [(RadioLinkConfig::DEFAULT, 1_250), (short, 400)] {
        let mut link = RadioLink::new(config);
        link.handle_sinr(ms(0), Decibels(10.0));
        assert_eq!(link.poll_timeout(), None);
        link.handle_sinr(ms(3_000), Decibels(-6.0));
        assert_eq!(link.poll_timeout(), Some(ms(3_000 + millis)));
        assert!(!link.has_failed(ms(3_000 + millis - 1)));
        assert!(link.has_failed(ms(3_000 + millis)));
    }
}

#[test]
fn samples_and_changes_detect_at_the_same_time() {
    let mut link = RadioLink::new(RadioLinkConfig::DEFAULT);
    let failed = (0..3_000).find(|millis| {
        link.handle_sinr(ms(*millis), Decibels(if *millis < 700 { 3.0 } else { -9.0 }));
        link.has_failed(ms(*millis))
    });
    assert_eq!(failed, Some(1_950));
}

#[test]
fn a_short_fade_is_no_failure() {
    let mut link = RadioLink::new(RadioLinkConfig::DEFAULT);
    link.handle_sinr(ms(0), Decibels(-8.0));
    link.handle_sinr(ms(199), Decibels(0.0));
    assert_eq!(link.poll_timeout(), None);
    assert!(!link.has_failed(ms(5_000)));
}

#[test]
fn a_cell_that_comes_back_in_time_stays() {
    let mut link = RadioLink::new(RadioLinkConfig::DEFAULT);
    link.handle_sinr(ms(0), Decibels(-8.0));
    // The timer runs from 250 ms on. 99 ms above Qin do not stop it, 100 ms do.
    link.handle_sinr(ms(600), Decibels(0.0));
    link.handle_sinr(ms(699), Decibels(-4.5));
    assert_eq!(link.poll_timeout(), Some(ms(1_250)));
    link.handle_sinr(ms(1_000), Decibels(0.0));
    assert_eq!(link.poll_timeout(), None);
    assert!(!link.has_failed(ms(2_000)));
}

#[test]
fn a_cell_that_comes_back_too_late_is_lost() {
    let mut link = RadioLink::new(RadioLinkConfig::DEFAULT);
    link.handle_sinr(ms(0), Decibels(-8.0));
    link.handle_sinr(ms(1_200), Decibels(0.0));
    assert_eq!(link.poll_timeout(), Some(ms(1_250)));
    assert!(link.has_failed(ms(1_250)));
}
