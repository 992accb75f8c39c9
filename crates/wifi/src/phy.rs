//! The physical layers of 802.11, as far as time is concerned.
//!
//! A [`Phy`] holds the timing parameters of one physical layer (slot time, interframe spaces, contention
//! window) and computes how long a frame occupies the medium. Clauses refer to IEEE Std 802.11-2012: 16
//! (DSSS, 1 and 2 Mbit/s), 17 (HR/DSSS, 5.5 and 11 Mbit/s), 18 (OFDM, 6 to 54 Mbit/s in the 5 GHz band) and
//! 19 (ERP-OFDM, the same rates in the 2.4 GHz band). Transmissions of 802.11n, ac and ax have a [`Mode`].

mod mode;
mod rate;

pub use mode::{Format, GuardInterval, InvalidMode, LONGEST_PPDU, Mode, Width};
pub use rate::{Modulation, Rate, RateSet};
use whimbrel_units::Duration;

/// Length of an acknowledgement with its frame check sequence, in bytes.
pub const ACK_BYTES: u32 = 14;
/// Length of a CTS frame with its frame check sequence, in bytes.
pub const CTS_BYTES: u32 = 14;
/// Length of an RTS frame with its frame check sequence, in bytes.
pub const RTS_BYTES: u32 = 20;
/// Length of the header (three addresses) and the frame check sequence of a data frame, in bytes.
pub const DATA_OVERHEAD_BYTES: u32 = 28;

/// Length of the PLCP preamble of DSSS frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Preamble {
    /// 144 us of preamble and 48 us of header at 1 Mbit/s.
    Long,
    /// 72 us of preamble and 24 us of header at 2 Mbit/s, from 2 Mbit/s upwards (17.2.2.3). Frames at 1
    /// Mbit/s keep the long form.
    Short,
}

/// Slots of DIFS after SIFS.
const DIFS_SLOTS: u8 = 2;

/// A physical layer: its rates, and the times and contention windows that it prescribes to the MAC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phy {
    /// Slot time.
    pub slot: Duration,
    /// Short interframe space.
    pub sifs: Duration,
    /// The smallest contention window: a power of two minus one.
    pub cw_min: u16,
    /// The largest contention window: a power of two minus one.
    pub cw_max: u16,
    /// Slots between SIFS and the backoff: 2 for DIFS, others for the AIFS of a class of traffic.
    pub aifsn: u8,
    /// Preamble of DSSS and HR/DSSS frames.
    pub preamble: Preamble,
    /// Silence after each OFDM frame that counts as part of it: 6 us in the 2.4 GHz band (19.3.2.4), or 0.
    pub signal_extension: Duration,
    /// `true` if DSSS frames last as long as their bits, as in ns-2; otherwise as long as the microseconds
    /// that their LENGTH field counts (17.2.3.5).
    pub has_exact_times: bool,
    /// Length of an OFDM symbol, a preamble and the wait for it, over that at 20 MHz: 2 with channels of
    /// 10 MHz, whose rates are the halves of the [`Rate`]s.
    pub slowdown: u8,
    /// Rates of data frames.
    pub supported: RateSet,
    /// Rates of which every station of the network is capable, for responses and group-addressed frames.
    pub basic: RateSet,
}

impl Phy {
    /// 802.11 DSSS (clause 16): 1 and 2 Mbit/s; `CWmin` 31.
    pub fn dsss() -> Self {
        let rates = RateSet::new(&[Rate::Dsss1, Rate::Dsss2]);
        Self {
            slot: Duration::from_micros(20),
            sifs: Duration::from_micros(10),
            cw_min: 31,
            cw_max: 1023,
            aifsn: DIFS_SLOTS,
            preamble: Preamble::Long,
            signal_extension: Duration::ZERO,
            has_exact_times: false,
            slowdown: 1,
            supported: rates,
            basic: rates,
        }
    }

    /// 802.11b (clause 17): 1, 2, 5.5 and 11 Mbit/s. The basic rates are 1 and 2 Mbit/s.
    pub fn hr_dsss(preamble: Preamble) -> Self {
        let supported = RateSet::new(&[Rate::Dsss1, Rate::Dsss2, Rate::Hr5_5, Rate::Hr11]);
        Self { preamble, supported, ..Self::dsss() }
    }

    /// 802.11a (clause 18): OFDM at 5 GHz. The basic rates are 6, 12 and 24 Mbit/s.
    pub fn ofdm() -> Self {
        Self {
            slot: Duration::from_micros(9),
            sifs: Duration::from_micros(16),
            cw_min: 15,
            cw_max: 1023,
            aifsn: DIFS_SLOTS,
            preamble: Preamble::Long,
            signal_extension: Duration::ZERO,
            has_exact_times: false,
            slowdown: 1,
            supported: RateSet::of(Modulation::Ofdm),
            basic: RateSet::new(&[Rate::Ofdm6, Rate::Ofdm12, Rate::Ofdm24]),
        }
    }

    /// 802.11p (clause 18, channels of 10 MHz): OFDM at 5.9 GHz with all times doubled, SIFS 32 us and slots
    /// of 13 us. The rates are 3 to 27 Mbit/s, the basic ones 3, 6 and 12 Mbit/s.
    pub fn ofdm_10_mhz() -> Self {
        Self { slot: Duration::from_micros(13), sifs: Duration::from_micros(32), slowdown: 2, ..Self::ofdm() }
    }

    /// The rate in bit/s on channels of this width.
    pub const fn bits_per_second(&self, rate: Rate) -> u64 {
        rate.bits_per_second() / self.slowdown as u64
    }

    /// 802.11g without 802.11b stations (clause 19): OFDM at 2.4 GHz, the short slot of 9 us, `CWmin` 15. The
    /// basic rates are 6, 12 and 24 Mbit/s.
    pub fn erp_ofdm() -> Self {
        Self { sifs: Duration::from_micros(10), signal_extension: Duration::from_micros(6), ..Self::ofdm() }
    }

    /// 802.11g in a network with 802.11b stations (clause 19): both families of rates, the long slot of 20
    /// us. The basic rates are 1, 2, 5.5 and 11 Mbit/s, and `CWmin` is 15 as for all stations that support
    /// the ERP rates (19.8.4).
    pub fn erp_mixed(preamble: Preamble) -> Self {
        Self {
            slot: Duration::from_micros(20),
            preamble,
            supported: RateSet::all(),
            basic: RateSet::new(&[Rate::Dsss1, Rate::Dsss2, Rate::Hr5_5, Rate::Hr11]),
            ..Self::erp_ofdm()
        }
    }

    /// DCF interframe space: SIFS and two slots (9.3.7), or as many as there are in [`aifsn`](Self::aifsn).
    pub fn difs(&self) -> Duration {
        self.sifs + self.slot * u64::from(self.aifsn)
    }

    /// Extended interframe space: SIFS, the time of an ACK at the lowest basic rate, and DIFS (9.3.7).
    pub fn eifs(&self) -> Duration {
        self.sifs + self.duration(self.basic.lowest(), ACK_BYTES) + self.difs()
    }

    /// Time from the beginning of a frame at the antenna to the PHY's report that a frame is being received
    /// (`aPHY-RX-START-Delay`): preamble and header of DSSS frames (17.3.3), 25 us of OFDM frames (18.4.4),
    /// 49 us of those at 10 MHz.
    pub fn rx_start_delay(&self) -> Duration {
        match self.basic.lowest().modulation() {
            Modulation::Ofdm => Duration::from_micros(1 + 24 * u64::from(self.slowdown)),
            Modulation::Dsss | Modulation::HrDsss => self.plcp(Rate::Dsss2),
        }
    }

    /// Rate of the response (CTS, acknowledgement) to a frame at `rate`: the highest basic rate of the same
    /// modulation class (OFDM or not) that is not higher (9.7.6.5). With no such basic rate, the highest
    /// mandatory rate of the class that is not higher.
    pub fn response_rate(&self, rate: Rate) -> Rate {
        let mandatory = [Rate::Dsss1, Rate::Ofdm6, Rate::Ofdm12, Rate::Ofdm24];
        let is_slower = |other: &Rate| other.bits_per_second() <= rate.bits_per_second();
        let alike = |other: &Rate| {
            (other.modulation() == Modulation::Ofdm) == (rate.modulation() == Modulation::Ofdm)
        };
        self.basic
            .iter()
            .filter(|other| is_slower(other) && alike(other))
            .last()
            .or_else(|| mandatory.into_iter().filter(is_slower).rfind(alike))
            .unwrap_or(Rate::Dsss1)
    }

    /// Time on the air of a frame of `bytes` bytes, header and frame check sequence included, at `rate`.
    pub fn duration(&self, rate: Rate, bytes: u32) -> Duration {
        let payload = if self.has_exact_times && rate.modulation() != Modulation::Ofdm {
            let (bits, per_second) = (u64::from(bytes) * 8, rate.bits_per_second());
            Duration::from_nanos((bits * 1_000_000_000 + per_second / 2) / per_second)
        } else {
            Self::payload_duration(rate, bytes) * self.clock(rate)
        };
        match rate.modulation() {
            Modulation::Ofdm => self.plcp(rate) + payload + self.signal_extension,
            Modulation::Dsss | Modulation::HrDsss => self.plcp(rate) + payload,
        }
    }

    /// Time on the air of a PSDU of `bytes` bytes with a mode of HT, VHT or HE.
    pub const fn mode_duration(&self, mode: Mode, bytes: u32) -> Duration {
        Duration::from_nanos(mode.duration(bytes).as_nanos() + self.signal_extension.as_nanos())
    }

    /// Time of the PLCP preamble and header of a frame at `rate`.
    pub fn plcp(&self, rate: Rate) -> Duration {
        match rate.modulation() {
            Modulation::Ofdm => Duration::from_micros(20) * self.clock(rate),
            _ if self.has_short_preamble(rate) => Duration::from_micros(96),
            _ => Duration::from_micros(192),
        }
    }

    /// Length of a frame at `rate` over that at 20 MHz.
    pub(crate) fn clock(&self, rate: Rate) -> u64 {
        if rate.modulation() == Modulation::Ofdm { u64::from(self.slowdown) } else { 1 }
    }

    /// `true` if a frame at `rate` has the short PLCP preamble.
    pub fn has_short_preamble(&self, rate: Rate) -> bool {
        self.preamble == Preamble::Short && rate.modulation() != Modulation::Ofdm && rate != Rate::Dsss1
    }

    /// Time of the frame after the PLCP header. DSSS: the LENGTH field counts whole microseconds, rounded up
    /// (17.2.3.5). OFDM: whole symbols of 4 us, with 16 service and 6 tail bits (18.4.3).
    pub fn payload_duration(rate: Rate, bytes: u32) -> Duration {
        let bits = u64::from(bytes) * 8;
        match rate.bits_per_symbol() {
            Some(per_symbol) => Duration::from_micros((22 + bits).div_ceil(per_symbol) * 4),
            None => Duration::from_micros((bits * 10).div_ceil(rate.bits_per_second() / 100_000)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
