//! Maximum throughput of one sender.

use whimbrel_wifi::phy::{Phy, Rate};

/// The components of the delay per MSDU of one saturated sender without losses, all control frames at one
/// rate and times not rounded to whole microseconds (Jun, Peddabachagari and Sichitiu, "Theoretical maximum
/// throughput of IEEE 802.11 and its applications", 2003, and equation 3 of the paper `winf`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SingleSender {
    /// a: microseconds per payload byte.
    pub per_byte: f64,
    /// b: microseconds per payload.
    pub per_payload: f64,
}

impl SingleSender {
    /// Delay per MSDU: DIFS, the mean backoff, the data frame with `header_bytes` bytes of header and frame
    /// check sequence, SIFS, the acknowledgement and, if used, RTS, CTS and two more SIFS.
    pub fn new(phy: &Phy, data_rate: Rate, control_rate: Rate, header_bytes: u32, uses_rts: bool) -> Self {
        use whimbrel_wifi::phy::{ACK_BYTES, CTS_BYTES, RTS_BYTES};
        let micros = |time: whimbrel_units::Duration| time.as_nanos() as f64 / 1e3;
        let per_byte = 8e6 / data_rate.bits_per_second() as f64;
        let backoff = f64::from(phy.cw_min) / 2.0 * micros(phy.slot);
        let control = |bytes| micros(phy.duration(control_rate, bytes));
        let sifs = micros(phy.sifs);
        let mut per_payload = micros(phy.difs()) + backoff + sifs + control(ACK_BYTES);
        per_payload += micros(phy.plcp(data_rate)) + f64::from(header_bytes) * per_byte;
        if uses_rts {
            per_payload += control(RTS_BYTES) + control(CTS_BYTES) + 2.0 * sifs;
        }
        Self { per_byte, per_payload }
    }

    /// Throughput in Mbit/s of payloads of `bytes` bytes: 8 x / (a x + b).
    pub fn megabits_per_second(&self, bytes: u32) -> f64 {
        let bytes = f64::from(bytes);
        8.0 * bytes / (self.per_byte * bytes + self.per_payload)
    }
}
