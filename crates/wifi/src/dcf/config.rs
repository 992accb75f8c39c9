//! Configuration of a station's MAC.

mod check;

use alloc::vec::Vec;

use whimbrel_units::Duration;

pub use check::InvalidMac;

use super::access::Spacing;
use crate::phy::{ACK_BYTES, CTS_BYTES, DATA_OVERHEAD_BYTES, Modulation, Phy, Preamble, Rate, RateSet};
use crate::rate_control::{RateControl, RateCost};

/// The set of rules that a station follows where IEEE 802.11 and ns-2 contradict each other.
///
/// | | [`Standard`](Self::Standard) | [`Ns2`](Self::Ns2) |
/// |---|---|---|
/// | a frame that finds the medium idle | access after DIFS, without backoff | always DIFS and a backoff |
/// | backoff drawn from | 0 to CW | 0 to CW - 1 |
/// | backoff that begins on an idle medium | at the next slot boundary | at once |
/// | EIFS | an interframe space, ended by a frame without errors | a reservation (NAV) of SIFS + DIFS + 8 x 38 bytes / 1 Mbit/s after the error, then DIFS again |
/// | errors that cause EIFS | frames whose beginning was decodable | these and frames below the reception threshold |
/// | response timeout | SIFS + slot + PHY-RX-START delay; a reception that has begun is awaited | SIFS + response + 4 us, in any case |
/// | after a response timeout | the idle time before counts as DIFS | a new DIFS |
/// | another frame while a response is awaited | the exchange has failed | ignored until the timeout |
/// | CTS | if the NAV allows | if the NAV and the medium are idle after SIFS, else none |
/// | data after a CTS | after SIFS | the same; if the medium is busy then, the window doubles and the exchange begins again with an RTS |
/// | after sending a CTS | ordinary deferral | no access until the data frame should have ended |
/// | data above the RTS threshold without a CTS before | received | discarded |
/// | NAV of an RTS without a following frame | reset | kept |
/// | RTS threshold | longer frames use RTS | frames of this length and longer use RTS; 24 bytes of PLCP count |
/// | RTS and responses | highest basic rate of the data frame's modulation class | lowest basic rate |
/// | frames at a rate that the PHY lacks | energy only | received |
/// | retry counters | per frame; a CTS does not reset them | per station; a CTS resets the short one |
/// | after a frame was dropped | backoff from `CWmin` | none before the next frame arrives |
/// | header of data frames | 24 bytes | 30 bytes: the fourth address always counts |
/// | times of DSSS frames | whole microseconds, rounded up | exact; reservations are rounded to the nearest microsecond |
/// | duplicate detection | needs the retry bit | by the sequence number alone |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MacRules {
    /// IEEE Std 802.11-2012, clause 9.
    Standard,
    /// `mac-802_11.cc` of ns-2.35 with `bugFix_timer_`.
    Ns2,
}

/// Access of a frame that finds the medium idle and no backoff in progress.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImmediateAccess {
    /// After a DIFS that begins with the frame's arrival: "the STA determines that the medium is idle when a
    /// frame is queued for transmission, and remains idle for a period of a DIFS" (IEEE 802.11-2016,
    /// 10.3.4.2).
    AfterDifs,
    /// At once if the medium has been idle for DIFS: "idle for greater than or equal to a DIFS period" (IEEE
    /// 802.11-1999, 9.2.5.1).
    AtOnce,
}

/// Interframe space after a frame that was received with errors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorSpacing {
    /// EIFS with an acknowledgement at the lowest basic rate (9.3.7).
    Eifs,
    /// EIFS with the acknowledgement that the configured data rate is answered with.
    EifsOfResponse,
    /// DIFS, as if the frame had no errors.
    Difs,
}

/// Beginning of the backoff after an own frame without a response.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MissingResponse {
    /// Slots count from the timeout on, on the grid of slots that began DIFS after the end of the own frame
    /// (9.3.2.8).
    FromTimeout,
    /// Slots count from the end of EIFS after the own frame: the sender defers as long as the stations that
    /// received the collision.
    FromEifs,
}

/// Time for which a station waits for the beginning of a response.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResponseTimeout {
    /// SIFS, a slot and the PHY-RX-START delay (9.3.2.8).
    RxStart,
    /// SIFS and a slot: the response's energy is noticed, without its header.
    CarrierSense,
}

/// Frames that precede an OFDM frame in a network with 802.11b stations, which cannot decode it (IEEE Std
/// 802.11-2012, 9.23 and 9.3.2.11).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Protection {
    /// None.
    #[default]
    None,
    /// A CTS to the station itself, which reserves the medium for the exchange.
    CtsToSelf {
        /// Its rate, which every station receives.
        rate: Rate,
    },
    /// RTS and CTS; group-addressed frames have none.
    RtsCts {
        /// Rate of the RTS.
        rate: Rate,
    },
}

/// Configuration of a station's MAC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MacConfig {
    /// The physical layer.
    pub phy: Phy,
    /// The set of rules.
    pub rules: MacRules,
    /// Rate of unicast data frames, or the one with which rate adaptation begins.
    pub data_rate: Rate,
    /// Rate adaptation of unicast data frames, among the rates that the physical layer supports.
    pub rate_control: RateControl,
    /// Frames that precede OFDM frames.
    pub protection: Protection,
    /// Rate of RTS frames and responses; `None` for the rule of [`Phy::response_rate`], under ns-2's rules
    /// for the lowest basic rate.
    pub control_rate: Option<Rate>,
    /// Rate of group-addressed frames.
    pub group_rate: Rate,
    /// Length that decides on RTS/CTS, compared with the frame's length including header and frame check
    /// sequence.
    pub rts_threshold: u32,
    /// Attempts for RTS frames and for data frames without RTS; `None` for no limit.
    pub short_retry_limit: Option<u16>,
    /// Attempts for data frames sent after RTS/CTS; `None` for no limit.
    pub long_retry_limit: Option<u16>,
    /// Bytes of header and frame check sequence in frames with a payload.
    pub header_bytes: u32,
    /// Access of a frame that finds the medium idle (standard rules).
    pub immediate_access: ImmediateAccess,
    /// Interframe space after errors (standard rules).
    pub error_spacing: ErrorSpacing,
    /// Beginning of the backoff after a missing response (standard rules).
    pub missing_response: MissingResponse,
    /// Waiting time for a response (standard rules).
    pub response_timeout: ResponseTimeout,
    /// Transmitters remembered by duplicate detection.
    pub duplicate_entries: usize,
    /// Probe frames before data; `None` for none. The steps are to be reported (`is_traced`), as frames for
    /// others would otherwise not all count as traffic.
    pub probe: Option<ProbeConfig>,
    /// `true` if the MAC reports every step ([`super::Event::Trace`]), `false` for outcomes of payloads only.
    pub is_traced: bool,
}

/// Probe frames of rt-Winf (paper `winf`, Section 3.2): a station that begins to send data to another one in
/// absence of traffic sends it a frame of the reserved data subtype first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeConfig {
    /// Length of the payload, which consists of zeros.
    pub size: u32,
    /// Time without own or received frames, other than management frames, that counts as absence of traffic.
    pub quiet: Duration,
}

impl MacConfig {
    /// The standard's rules: no RTS (threshold 2347), 7 short and 4 long attempts.
    pub fn standard(phy: Phy, data_rate: Rate) -> Self {
        let group_rate = phy.basic.lowest();
        Self {
            phy,
            rules: MacRules::Standard,
            data_rate,
            rate_control: RateControl::Fixed,
            protection: Protection::None,
            control_rate: None,
            group_rate,
            rts_threshold: 2_347,
            short_retry_limit: Some(7),
            long_retry_limit: Some(4),
            header_bytes: DATA_OVERHEAD_BYTES,
            immediate_access: ImmediateAccess::AfterDifs,
            error_spacing: ErrorSpacing::Eifs,
            missing_response: MissingResponse::FromTimeout,
            response_timeout: ResponseTimeout::RxStart,
            duplicate_entries: 256,
            probe: None,
            is_traced: false,
        }
    }

    /// The rules of ns-2.35 with its defaults: long preamble, every frame at 1 Mbit/s, RTS for every unicast
    /// frame. Headers have 30 bytes, because ns-2 counts the fourth address, and 4 bytes of frame check
    /// sequence.
    pub fn ns2() -> Self {
        let basic = RateSet::new(&[Rate::Dsss1]);
        let phy = Phy { basic, has_exact_times: true, ..Phy::hr_dsss(Preamble::Long) };
        Self {
            rules: MacRules::Ns2,
            rts_threshold: 0,
            header_bytes: NS2_HEADER_BYTES,
            ..Self::standard(phy, Rate::Dsss1)
        }
    }

    /// The standard's rules as models of saturation simplify them: after a collision every station,
    /// transmitting or not, counts slots from the same instant, DIFS or EIFS after the end of the frames
    /// (Bianchi and Tinnirello 2005).
    pub fn synchronous(phy: Phy, data_rate: Rate, after_collision: AfterCollision) -> Self {
        let standard = Self::standard(phy, data_rate);
        match after_collision {
            AfterCollision::Difs => Self {
                error_spacing: ErrorSpacing::Difs,
                response_timeout: ResponseTimeout::CarrierSense,
                ..standard
            },
            AfterCollision::Eifs => Self {
                error_spacing: ErrorSpacing::EifsOfResponse,
                missing_response: MissingResponse::FromEifs,
                response_timeout: ResponseTimeout::CarrierSense,
                ..standard
            },
        }
    }

    /// Rate of the response to a frame at `rate`, and of the RTS before it.
    pub fn response_rate(&self, rate: Rate) -> Rate {
        self.control_rate.unwrap_or_else(|| match self.rules {
            MacRules::Standard => self.phy.response_rate(rate),
            MacRules::Ns2 => self.phy.basic.lowest(),
        })
    }

    /// Opening of the exchange of a frame with a payload of this length and rate.
    pub(super) fn opening(&self, rate: Rate, frame_bytes: u32, is_group: bool) -> Opening {
        let protection =
            if rate.modulation() == Modulation::Ofdm { self.protection } else { Protection::None };
        let uses_rts = !is_group && self.uses_rts(frame_bytes);
        match protection {
            Protection::CtsToSelf { rate } if !uses_rts => Opening::CtsToSelf(rate),
            // An RTS that 802.11b stations cannot decode would not protect from them.
            Protection::CtsToSelf { rate } | Protection::RtsCts { rate } if !is_group => Opening::Rts(rate),
            Protection::None if uses_rts => Opening::Rts(self.response_rate(rate)),
            _ => Opening::Data,
        }
    }

    /// The rates among which rate adaptation chooses, each with the time of a frame of 1200 bytes, the mean
    /// of the smallest backoff and the acknowledgement.
    pub(super) fn ladder(&self) -> Vec<RateCost> {
        const TYPICAL_BYTES: u32 = 1_200;
        if self.rate_control == RateControl::Fixed {
            return Vec::new();
        }
        let phy = &self.phy;
        let access = phy.difs() + phy.slot * u64::from(phy.cw_min) / 2;
        let cost = |rate: Rate| RateCost {
            rate,
            time: access
                + phy.duration(rate, TYPICAL_BYTES)
                + phy.sifs
                + phy.duration(self.response_rate(rate), ACK_BYTES),
        };
        phy.supported.iter().map(cost).collect()
    }

    pub(super) fn is_ns2(&self) -> bool {
        self.rules == MacRules::Ns2
    }

    /// `true` if an RTS precedes a frame of this length to one station.
    pub fn uses_rts(&self, frame_bytes: u32) -> bool {
        match self.rules {
            MacRules::Standard => frame_bytes > self.rts_threshold,
            MacRules::Ns2 => frame_bytes + NS2_PLCP_BYTES >= self.rts_threshold,
        }
    }

    pub(super) fn spacing(&self) -> Spacing {
        let phy = &self.phy;
        let eifs = match (self.rules, self.error_spacing) {
            (MacRules::Ns2, _) => phy.sifs + phy.difs() + Duration::from_micros(NS2_EIFS_ACK_MICROS),
            (MacRules::Standard, ErrorSpacing::Eifs) => phy.eifs(),
            (MacRules::Standard, ErrorSpacing::Difs) => phy.difs(),
            (MacRules::Standard, ErrorSpacing::EifsOfResponse) => {
                phy.sifs + phy.duration(self.response_rate(self.data_rate), ACK_BYTES) + phy.difs()
            }
        };
        Spacing { slot: phy.slot, difs: phy.difs(), eifs, is_slotted: !self.is_ns2() }
    }

    /// Time from the end of an own frame at `rate` to the end of the wait for its response.
    pub(super) fn timeout(&self, rate: Rate) -> Duration {
        let phy = &self.phy;
        match (self.rules, self.response_timeout) {
            (MacRules::Ns2, _) => {
                phy.sifs + phy.duration(self.response_rate(rate), CTS_BYTES) + Duration::from_micros(4)
            }
            (MacRules::Standard, ResponseTimeout::RxStart) => phy.sifs + phy.slot + phy.rx_start_delay(),
            (MacRules::Standard, ResponseTimeout::CarrierSense) => phy.sifs + phy.slot,
        }
    }

    /// The value of a frame's Duration field for a reservation of this length. Under the standard's rules
    /// reservations are whole microseconds, as the times of frames are; ns-2 rounds to the nearest one.
    /// Reservations of its RTS frames end up to half a microsecond before or after their exchange, and in the
    /// latter case the slots that the stations keeping them count are offset from the exchange's.
    pub(super) fn duration_field(&self, reservation: Duration) -> Duration {
        match self.rules {
            MacRules::Standard => reservation,
            MacRules::Ns2 => Duration::from_micros((reservation.as_nanos() + 500) / 1_000),
        }
    }

    /// Time after an RTS at `rate` without another frame after which its reservation is void (9.3.2.4).
    pub(super) fn nav_timeout(&self, rate: Rate) -> Duration {
        let phy = &self.phy;
        let cts = phy.duration(self.response_rate(rate), CTS_BYTES);
        phy.sifs * 2 + cts + phy.rx_start_delay() + phy.slot * 2
    }
}

/// The first frame of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opening {
    /// The frame with the payload.
    Data,
    /// An RTS at this rate.
    Rts(Rate),
    /// A CTS to the station itself at this rate.
    CtsToSelf(Rate),
}

/// Header with four addresses and frame check sequence: a payload of 1000 bytes has a length of 1058 in
/// ns-2's traces, 24 of which are the PLCP's.
const NS2_HEADER_BYTES: u32 = 34;
/// ns-2 counts 144 + 48 bits of PLCP preamble and header as bytes of the frame.
const NS2_PLCP_BYTES: u32 = 24;
/// ns-2 counts an acknowledgement in EIFS as 14 + 24 bytes at 1 Mbit/s.
const NS2_EIFS_ACK_MICROS: u64 = 304;

/// Interframe space after a collision in [`MacConfig::synchronous`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AfterCollision {
    /// Collisions last as long as the longest frame, followed by DIFS.
    Difs,
    /// Collisions last as long as the longest frame, followed by SIFS, an acknowledgement and DIFS.
    Eifs,
}
