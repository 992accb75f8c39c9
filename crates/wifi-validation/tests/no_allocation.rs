//! Frames cost no heap allocation in the steady state.

use allocation_counter::measure;
use whimbrel_units::Instant;
use whimbrel_wifi::dcf::Protection;
use whimbrel_wifi::phy::Preamble;
use whimbrel_wifi::rate_control::Minstrel;
use whimbrel_wifi::{MacConfig, Phy, Rate, RateControl};
use whimbrel_wifi_validation::cell::Cell;

#[test]
fn frames_do_not_allocate_in_the_steady_state() {
    let mixed = MacConfig {
        protection: Protection::CtsToSelf { rate: Rate::Hr11 },
        rate_control: RateControl::Minstrel(Minstrel::default()),
        ..MacConfig::standard(Phy::erp_mixed(Preamble::Long), Rate::Ofdm54)
    };
    for rts_threshold in [0, 3_000] {
        for (config, seconds) in [
            (MacConfig::standard(Phy::erp_ofdm(), Rate::Ofdm54), 1),
            (MacConfig::ns2(), 10),
            (mixed.clone(), 10),
        ] {
            let mut cell = Cell::saturated(&MacConfig { rts_threshold, ..config }, 20, 1_000, 1);
            cell.run_until(Instant::from_secs(seconds));
            let before = cell.transmissions();
            let info = measure(|| cell.run_until(Instant::from_secs(4 * seconds)));
            let frames = cell.transmissions() - before;
            // A collision of more stations than ever before needs another list of receivers.
            assert!(info.count_total < 10 && frames > 4_000, "{} in {frames} frames", info.count_total);
        }
    }
}
