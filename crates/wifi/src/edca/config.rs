//! Access categories and the configuration of a station with quality of service.

use core::fmt;

use whimbrel_units::{Duration, Instant};

use super::turns::Turns;
use crate::aggregation::AggregateLimits;
use crate::dcf::{ErrorSpacing, MissingResponse, ResponseTimeout};
use crate::phy::{ACK_BYTES, Mode, Phy, Rate};

/// An access category, in the order of priority.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum AccessCategory {
    /// Background, AC_BK.
    Background,
    /// Best effort, AC_BE.
    BestEffort,
    /// Video, AC_VI.
    Video,
    /// Voice, AC_VO.
    Voice,
}

impl AccessCategory {
    /// All categories, the lowest first.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// The category of a user priority (802.1D), 0 to 7: BE BK BK BE VI VI VO VO.
    pub const fn of_priority(priority: u8) -> Self {
        match priority & 7 {
            1 | 2 => Self::Background,
            0 | 3 => Self::BestEffort,
            4 | 5 => Self::Video,
            _ => Self::Voice,
        }
    }

    /// The category of packets with this DSCP.
    pub const fn of_dscp(dscp: u8) -> Self {
        Self::of_priority(priority_of_dscp(dscp))
    }

    /// The traffic identifier of the category's frames.
    pub const fn identifier(self) -> u8 {
        match self {
            Self::Background => 1,
            Self::BestEffort => 0,
            Self::Video => 5,
            Self::Voice => 6,
        }
    }
}

impl fmt::Display for AccessCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Background => "background",
            Self::BestEffort => "best effort",
            Self::Video => "video",
            Self::Voice => "voice",
        })
    }
}

/// The user priority of a DSCP, as Linux has it since 5.19 (`cfg80211_classify8021d`, RFC 8325).
pub const fn priority_of_dscp(dscp: u8) -> u8 {
    match dscp & 0x3f {
        // LE, AF11 to AF13 and CS2 are best effort.
        0 | 1 | 10 | 12 | 14 | 16 => 0,
        // AF21 to AF23.
        18 | 20 | 22 => 3,
        // CS3, AF31 to AF33, CS4, AF41 to AF43.
        24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 => 4,
        // CS5, and non-queue-building traffic.
        40 | 45 => 5,
        // Voice-admit and EF.
        44 | 46 => 6,
        48 | 56 => 7,
        other => other >> 3,
    }
}

/// Parameters of an access category.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CategoryParameters {
    /// Slots between SIFS and the first boundary of the backoff: from 1 (access points) or 2 on.
    pub aifsn: u8,
    /// The smallest contention window: a power of two minus one.
    pub cw_min: u16,
    /// The largest contention window: a power of two minus one.
    pub cw_max: u16,
    /// Time for which the medium may be used after an access; zero for one exchange.
    pub txop_limit: Duration,
}

const fn parameters(aifsn: u8, cw_min: u16, cw_max: u16, txop_micros: u64) -> CategoryParameters {
    CategoryParameters { aifsn, cw_min, cw_max, txop_limit: Duration::from_micros(txop_micros) }
}

/// Defaults that stations announce and use (Linux, `ieee80211_set_wmm_default`), by category.
pub const STATION_CATEGORIES: [CategoryParameters; 4] = [
    parameters(7, 15, 1_023, 0),
    parameters(3, 15, 1_023, 0),
    parameters(2, 7, 15, 3_008),
    parameters(2, 3, 7, 1_504),
];

/// An access point's own values (hostapd, `tx_queue_data*`), by category.
pub const ACCESS_POINT_CATEGORIES: [CategoryParameters; 4] = [
    parameters(7, 15, 1_023, 0),
    parameters(3, 15, 63, 0),
    parameters(1, 7, 15, 3_000),
    parameters(1, 3, 7, 1_500),
];

/// Values outside the context of a BSS, for vehicles, by category (IEEE Std 802.11-2012, Table 8-106).
pub const OCB_CATEGORIES: [CategoryParameters; 4] = [
    parameters(9, 15, 1_023, 0),
    parameters(6, 15, 1_023, 0),
    parameters(3, 7, 15, 0),
    parameters(2, 3, 7, 0),
];

/// The rate of frames with payloads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransmitRate {
    /// A rate of 802.11a or g: single frames, without a mode.
    Legacy(Rate),
    /// A mode of 802.11n, ac or ax.
    Mode(Mode),
}

impl TransmitRate {
    /// The rate by which responses go.
    pub const fn reference(self) -> Rate {
        match self {
            Self::Legacy(rate) => rate,
            Self::Mode(mode) => mode.reference_rate(),
        }
    }

    /// The mode, if there is one.
    pub const fn mode(self) -> Option<Mode> {
        match self {
            Self::Legacy(_) => None,
            Self::Mode(mode) => Some(mode),
        }
    }

    /// Time on the air of a PSDU.
    pub fn duration(self, phy: &Phy, bytes: u32) -> Duration {
        match self {
            Self::Legacy(rate) => phy.duration(rate, bytes),
            Self::Mode(mode) => phy.mode_duration(mode, bytes),
        }
    }

    /// The longest PSDU whose time on the air is not above a limit.
    pub(super) fn largest_psdu(self, phy: &Phy, limit: Duration) -> u32 {
        match self {
            Self::Mode(mode) => mode.largest_psdu(limit.saturating_sub(phy.signal_extension)),
            Self::Legacy(rate) => {
                let data = limit.saturating_sub(phy.plcp(rate) + phy.signal_extension);
                let bits = data.as_micros() / (4 * phy.clock(rate)) * rate.bits_per_symbol().unwrap_or(0);
                u32::try_from(bits.saturating_sub(22) / 8).unwrap_or(u32::MAX)
            }
        }
    }
}

/// Reaction to a missing block acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum MissedBlockAck {
    /// The sender repeats the MPDUs, as the drivers of Linux do.
    #[default]
    Repeat,
    /// The sender asks again by a BlockAckReq in an access of its own, as ns-3 does.
    Request,
}

/// Time that frames of a transmission opportunity reserve.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Reservation {
    /// Up to the response to the frame.
    Exchange,
    /// Up to the limit of the transmission opportunity, the rest of which a CF-End frees.
    #[default]
    Opportunity,
}

/// Adaptation of the rate of frames with payloads.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Adaptation {
    /// None: the configured rate.
    #[default]
    Fixed,
    /// [`MinstrelHt`](crate::rate_control::MinstrelHt) over all modes of the configured one's format and
    /// width, up to its streams.
    MinstrelHt,
}

/// Configuration of a station with quality of service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdcaConfig {
    /// Interframe spaces, slot, and rates of control frames.
    pub phy: Phy,
    /// Parameters by [`AccessCategory`].
    pub categories: [CategoryParameters; 4],
    /// Rate of frames with payloads to receivers without one of their own.
    pub rate: TransmitRate,
    /// Adaptation of the rate to each receiver.
    pub adaptation: Adaptation,
    /// Limits of aggregates to receivers without limits of their own.
    pub limits: AggregateLimits,
    /// PSDUs that are longer than this are preceded by RTS and CTS.
    pub rts_threshold: u32,
    /// Transmissions of an MPDU; `None` for no limit.
    pub retry_limit: Option<u16>,
    /// Failed accesses of a category after which its window shrinks again; `None` for never.
    pub window_retry_limit: Option<u16>,
    /// Reaction to a missed block acknowledgement.
    pub missed_block_ack: MissedBlockAck,
    /// The time that frames reserve.
    pub reservation: Reservation,
    /// The order in which receivers are served.
    pub turns: Turns,
    /// Packets that the station takes for one category before some are done.
    pub buffer: usize,
    /// Interframe space after errors.
    pub error_spacing: ErrorSpacing,
    /// Beginning of the backoff after a missing response.
    pub missing_response: MissingResponse,
    /// Waiting time for a response.
    pub response_timeout: ResponseTimeout,
}

impl EdcaConfig {
    /// A station as Linux configures it: one exchange in each access of best effort, no RTS, at most 7
    /// transmissions.
    pub fn station(phy: Phy, rate: TransmitRate) -> Self {
        let limits = match rate {
            TransmitRate::Legacy(_) => AggregateLimits::NONE,
            TransmitRate::Mode(mode) => AggregateLimits::of(mode.format()),
        };
        Self {
            phy,
            categories: STATION_CATEGORIES,
            rate,
            adaptation: Adaptation::default(),
            limits,
            rts_threshold: u32::MAX,
            retry_limit: Some(7),
            window_retry_limit: Some(7),
            missed_block_ack: MissedBlockAck::default(),
            reservation: Reservation::default(),
            turns: Turns::default(),
            buffer: 2 * limits.window as usize,
            error_spacing: ErrorSpacing::Eifs,
            missing_response: MissingResponse::FromTimeout,
            response_timeout: ResponseTimeout::RxStart,
        }
    }

    /// The rules that models of saturation assume: after a collision every station, transmitting or not,
    /// waits for the time of the response, then counts from AIFS; nothing is given up.
    #[must_use]
    pub fn synchronous(self) -> Self {
        Self {
            retry_limit: None,
            window_retry_limit: None,
            error_spacing: ErrorSpacing::EifsOfResponse,
            missing_response: MissingResponse::FromEifs,
            response_timeout: ResponseTimeout::CarrierSense,
            ..self
        }
    }

    /// The time before AIFS after a frame with errors.
    pub(super) fn error_wait(&self) -> Duration {
        let response = |rate| self.phy.sifs + self.phy.duration(rate, ACK_BYTES);
        match self.error_spacing {
            ErrorSpacing::Eifs => response(self.phy.basic.lowest()),
            ErrorSpacing::EifsOfResponse => self.phy.sifs + self.response_time(self.rate, &self.limits),
            ErrorSpacing::Difs => Duration::ZERO,
        }
    }

    /// The time of the response to a full transmission.
    pub(super) fn response_time(&self, rate: TransmitRate, limits: &AggregateLimits) -> Duration {
        let bytes = if limits.ampdu_bytes > 0 && rate.mode().is_some() {
            crate::aggregation::BlockAck::frame_bytes(limits.window)
        } else {
            ACK_BYTES
        };
        self.phy.duration(self.phy.response_rate(rate.reference()), bytes)
    }

    /// The reservation of a frame that ends at `frame_end`: at least `least`, and to the end of the
    /// opportunity if it has a limit.
    pub(super) fn reserved(&self, frame_end: Instant, least: Duration, end: Option<Instant>) -> Duration {
        match end.filter(|_| self.reservation == Reservation::Opportunity && !least.is_zero()) {
            Some(end) if end > frame_end + least => end - frame_end,
            _ => least,
        }
    }

    /// Time from the end of an own frame to the end of the wait for its response.
    pub(super) fn timeout(&self) -> Duration {
        let least = self.phy.sifs + self.phy.slot;
        match self.response_timeout {
            ResponseTimeout::RxStart => least + self.phy.rx_start_delay(),
            ResponseTimeout::CarrierSense => least,
        }
    }
}

#[cfg(test)]
mod tests;
