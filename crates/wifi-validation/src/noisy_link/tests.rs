use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::phy::{Phy, Preamble, Rate};

use super::adaptation;

/// Between 4 and 26 dB the best rate of 802.11g rises from 6 to 54 Mbit/s. Where the next rate fails, ARF
/// loses one frame after every ten, up to 14 % of the throughput. Minstrel loses what its lookaround at
/// faster rates costs.
#[test]
fn both_rate_adaptations_find_the_best_rate_of_80211g_at_every_signal_to_noise_ratio() {
    let config = MacConfig::standard(Phy::erp_ofdm(), Rate::Ofdm54);
    let mut best_rates = std::vec::Vec::new();
    for decibels in [5.0, 8.0, 11.0, 15.0, 19.0, 22.0, 26.0] {
        let found = adaptation(&config, decibels);
        best_rates.push(found.best_rate);
        assert!((0.84..=1.01).contains(&(found.arf / found.best)), "{found:?}");
        assert!((0.94..=1.01).contains(&(found.minstrel / found.best)), "{found:?}");
    }
    use Rate::{Ofdm6, Ofdm12, Ofdm18, Ofdm24, Ofdm36, Ofdm48, Ofdm54};
    assert_eq!(best_rates, [Ofdm6, Ofdm12, Ofdm18, Ofdm24, Ofdm36, Ofdm48, Ofdm54]);
}

#[test]
fn both_rate_adaptations_find_the_best_rate_of_80211b() {
    let config = MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11);
    for (decibels, rate) in [(0.0, Rate::Dsss1), (2.0, Rate::Dsss2), (6.0, Rate::Hr5_5), (10.0, Rate::Hr11)] {
        let found = adaptation(&config, decibels);
        assert_eq!(found.best_rate, rate);
        assert!((0.84..=1.01).contains(&(found.arf / found.best)), "{found:?}");
        assert!((0.94..=1.01).contains(&(found.minstrel / found.best)), "{found:?}");
    }
}
