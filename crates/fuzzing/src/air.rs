//! Any bytes as a capture in monitor mode: the analysis never panics, and its shares and counts are
//! consistent.

use whimbrel_inspect::capacity::{CapacityAnalysis, CapacityConfig, EstimateReport};
use whimbrel_inspect::capture::CaptureReader;
use whimbrel_units::Duration;

const MAX_STATIONS: usize = 4;

/// One input.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let Ok(mut reader) = CaptureReader::new(data) else { return };
    let interval = Some(Duration::from_millis(1));
    let mut analysis = CapacityAnalysis::new(CapacityConfig {
        interval,
        max_stations: MAX_STATIONS,
        ..CapacityConfig::default()
    });
    let mut records = 0;
    while let Ok(Some(record)) = reader.next_record() {
        analysis.on_record(&record);
        records += 1;
    }
    let report = analysis.finish();
    assert_eq!(report.records, records);
    assert_eq!(records, report.frames + report.other_links + report.malformed + report.damaged);
    let is_valid = |estimate: &EstimateReport| {
        let EstimateReport { capacity_bps, available_bps } = *estimate;
        capacity_bps.is_finite() && (0.0..=capacity_bps).contains(&available_bps)
    };
    let mut stations = 0;
    for channel in &report.channels {
        assert!((0.0..=1.0).contains(&channel.busy_share));
        let estimates = [&channel.onlooker, &channel.data_ack, &channel.idle_gap];
        assert!(estimates.into_iter().flatten().all(is_valid), "{channel:?}");
        assert!(channel.intervals.len() as u64 <= channel.frames);
        for station in &channel.stations {
            stations += 1;
            assert!(station.frames <= channel.frames && station.data_frames <= station.frames);
            let shares = [station.failure_probability, station.backoff_share];
            assert!(shares.into_iter().flatten().all(|share| (0.0..=1.0).contains(&share)));
            assert!([&station.sender, &station.receiver].into_iter().flatten().all(is_valid));
        }
    }
    assert!(stations <= MAX_STATIONS);
}
