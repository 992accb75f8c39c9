use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::WindowedMin;

#[test]
fn the_minimum_leaves_with_its_window() {
    let window = Duration::from_millis(640);
    let mut filter = WindowedMin::default();
    assert_eq!(filter.add(Instant::from_millis(0), 5, window), 5);
    assert_eq!(filter.add(Instant::from_millis(100), 7, window), 5);
    assert_eq!(filter.add(Instant::from_millis(640), 9, window), 5);
    assert_eq!(filter.add(Instant::from_millis(641), 9, window), 7);
    assert_eq!(filter.add(Instant::from_millis(700), 6, window), 6);
    filter.clear();
    assert_eq!(filter.add(Instant::from_millis(701), 8, window), 8);
}

#[test]
fn a_sliding_minimum_agrees_with_a_search_to_a_64th_of_the_window() {
    let window = Duration::from_millis(320);
    let mut filter = WindowedMin::default();
    let mut all: Vec<(u64, u64)> = Vec::new();
    let mut random = 7_u64;
    for ms in 0..3000 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = random >> 40;
        all.push((ms, value));
        let found = filter.add(Instant::from_millis(ms), value, window);
        let least = |span: u64| all.iter().filter(|(at, _)| at + span >= ms).map(|(_, v)| *v).min().unwrap();
        assert!(found >= least(320) && found <= least(315), "at {ms} ms");
        assert!(filter.entries.len() <= 66);
    }
}
