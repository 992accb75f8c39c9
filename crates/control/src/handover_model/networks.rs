//! The networks of the paper, as observed by its TFRC sender in the stationary state (Table 3).

use whimbrel_units::{DataRate, Duration};

use super::Network;

/// UMTS at 384 kbit/s, 802.16 at 9.5 Mbit/s, 802.11b at 11 Mbit/s and 802.11g at 54 Mbit/s, by name. A MBps
/// of the paper is 10^6 bytes per second: its 0.044 and 1.10 are then what 384 kbit/s and 9.5 Mbit/s carry.
pub fn table_3() -> [(&'static str, Network); 4] {
    [
        ("umts", 44_000.0, 960),
        ("802.16", 1_100_000.0, 170),
        ("802.11b", 1_270_000.0, 50),
        ("802.11g", 4_820_000.0, 40),
    ]
    .map(|(name, rate, rtt)| {
        let rate = DataRate::from_bytes_per_second(rate);
        (name, Network { rate, rtt: Duration::from_millis(rtt) })
    })
}

/// The network of Table 3 with that name, such as `umts` or `802.11g`.
pub fn by_name(name: &str) -> Option<Network> {
    table_3().into_iter().find_map(|(known, network)| (known == name).then_some(network))
}
