//! A file of positions: floating car data of SUMO, or a table.

use std::collections::BTreeSet;

use whimbrel_lab::scenario::positions::{PositionError, Track, parse_csv, parse_sumo};
use whimbrel_units::{Duration, Instant};

use crate::setdest::check_continuity;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let whole = parse_csv(&text, None);
    let with_gaps = parse_csv(&text, Some(Duration::from_secs(1)));
    assert_eq!(whole.as_ref().err(), with_gaps.as_ref().err());
    if let (Ok(whole), Ok(with_gaps)) = (&whole, &with_gaps) {
        // Gaps change when a node is there, and not where.
        assert_eq!(whole.len(), with_gaps.len());
        for (whole, with_gaps) in whole.iter().zip(with_gaps) {
            assert_eq!((&whole.name, &whole.path), (&with_gaps.name, &with_gaps.path));
            assert!(whole.absences.len() <= with_gaps.absences.len());
        }
    }
    for result in [whole, with_gaps, parse_sumo(&text)] {
        match result {
            Ok(tracks) => check_tracks(&tracks),
            Err(error) => check_error(&text, &error),
        }
    }
}

fn check_tracks(tracks: &[Track]) {
    let names: BTreeSet<&str> = tracks.iter().map(|track| track.name.as_str()).collect();
    assert!(names.len() == tracks.len() && !names.contains(""));
    for Track { path, absences, .. } in tracks {
        check_continuity(path);
        assert!(absences.iter().all(|(from, until)| from < until));
        assert!(absences.is_sorted_by(|(_, until), (from, _)| until <= from));
        // Each track ends with its last position.
        assert_eq!(absences.last().map(|&(_, until)| until), Some(Instant::FAR_FUTURE));
    }
}

fn check_error(text: &str, error: &PositionError) {
    let lines = text.lines().count() as u64;
    assert!((1..=lines.max(1) + 1).contains(&error.line), "{error}");
    // A message does not repeat a long line.
    assert!(error.to_string().len() < 1_000, "{error}");
}
