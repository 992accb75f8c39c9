//! 802.11 frames of a capture in monitor mode: their times on the air, their transmitters and receivers.
//!
//! Radiotap headers give rate, channel and flags. Frames of 802.11n and later have no rate in the radiotap
//! header and no known air time; they count as frames only.

use whimbrel_units::{ByteCount, Duration, Instant};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::frame::bytes::{Flags, Header, PayloadHeader};
use whimbrel_wifi::frame::radiotap::Radiotap;
use whimbrel_wifi::phy::{Modulation, Phy, Preamble, Rate};

use crate::capture::Record;
use crate::link::{NoPacket, wireless_frame};

mod stamps;

pub use stamps::{Clock, Moment, StampDetector, Stamps};

/// Bytes of the frame check sequence.
const CHECK_SEQUENCE: u64 = 4;
/// Frequencies above are of the band at 5 GHz, in MHz.
const BAND_2_4_GHZ: u16 = 3000;

/// Type of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AirKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// A data frame.
    Data,
    /// A management frame, or a control frame of another type.
    Other,
}

/// A captured 802.11 frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AirFrame {
    /// Timestamp of the record.
    pub captured: Instant,
    /// Clock of the capturing MAC (TSFT), in microseconds.
    pub tsft: Option<u64>,
    /// Frequency of the channel in MHz.
    pub frequency: Option<u16>,
    /// Type.
    pub kind: AirKind,
    /// Receiver (address 1); `None` for types without one that is interpreted.
    pub receiver: Option<MacAddress>,
    /// Transmitter, if the frame carries it: CTS frames and acknowledgements do not.
    pub transmitter: Option<MacAddress>,
    /// Duration field: the reservation after the frame.
    pub nav: Duration,
    /// Body of a data frame: the MSDU with its LLC header.
    pub body: ByteCount,
    /// Time on the air and, of it, the time of the PLCP preamble and header.
    pub airtime: Option<(Duration, Duration)>,
    /// Rate, if it is one of 802.11a, b or g.
    pub rate: Option<Rate>,
    /// The frame is a repetition.
    pub is_retry: bool,
}

/// Reason for which a record is not a frame of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotAFrame {
    /// The link type is not 802.11.
    LinkType(u16),
    /// The radiotap or MAC header is invalid or truncated.
    Malformed,
    /// The radiotap header states that the frame check sequence is wrong.
    Damaged,
}

/// Interframe spaces and slot of a channel: 802.11b's and g's, and 802.11a's above 3 GHz.
pub fn timing(frequency: Option<u16>, preamble: Preamble) -> Phy {
    match frequency {
        Some(frequency) if frequency > BAND_2_4_GHZ => Phy::ofdm(),
        _ => Phy::erp_mixed(preamble),
    }
}

impl AirFrame {
    /// The frame in a record.
    ///
    /// # Errors
    /// The reason for which there is none.
    pub fn parse(record: &Record<'_>) -> Result<Self, NotAFrame> {
        let (radiotap, frame) =
            wireless_frame(record.link_type, record.data).map_err(|reason| match reason {
                NoPacket::UnknownLink(other) => NotAFrame::LinkType(other),
                NoPacket::Damaged => NotAFrame::Damaged,
                _ => NotAFrame::Malformed,
            })?;
        let flags = radiotap.flags.unwrap_or_default();
        if flags & Radiotap::BAD_FCS != 0 {
            return Err(NotAFrame::Damaged);
        }
        let (header, body) = Header::parse(frame).map_err(|_| NotAFrame::Malformed)?;
        // The capture may have cut the frame off.
        let missing = u64::from(record.original_length).saturating_sub(record.data.len() as u64);
        let check = if flags & Radiotap::HAS_FCS != 0 { CHECK_SEQUENCE } else { 0 };
        let without_check = (frame.len() as u64 + missing).saturating_sub(check);
        let preamble = if flags & Radiotap::SHORT_PREAMBLE != 0 { Preamble::Short } else { Preamble::Long };
        let frequency = radiotap.channel.map(|(frequency, _)| frequency);
        let phy = timing(frequency, preamble);
        let rate = radiotap.rate.and_then(|rate| Rate::from_megabits_per_second(f64::from(rate) / 2.0));
        let rate = rate.filter(|rate| phy.supported.contains(*rate) || rate.modulation() == Modulation::Ofdm);
        let bytes = u32::try_from(without_check + CHECK_SEQUENCE).unwrap_or(u32::MAX);
        let airtime = rate.map(|rate| (phy.duration(rate, bytes), phy.plcp(rate)));
        let parts = Parts::of(&header);
        let mut head = (frame.len() - body.len()) as u64;
        if flags & Radiotap::DATA_PAD != 0 {
            head = head.next_multiple_of(4);
        }
        let body = if parts.kind == AirKind::Data { without_check.saturating_sub(head) } else { 0 };
        Ok(Self {
            captured: record.at,
            tsft: radiotap.tsft,
            frequency,
            kind: parts.kind,
            receiver: parts.receiver,
            transmitter: parts.transmitter,
            // Larger values identify associations (8.2.4.2).
            nav: Duration::from_micros(if parts.duration < 0x8000 { u64::from(parts.duration) } else { 0 }),
            body: ByteCount::new(body),
            airtime,
            rate,
            is_retry: parts.is_retry,
        })
    }
}

/// The fields of a MAC header that matter here.
struct Parts {
    kind: AirKind,
    duration: u16,
    receiver: Option<MacAddress>,
    transmitter: Option<MacAddress>,
    is_retry: bool,
}

impl Parts {
    fn of(header: &Header) -> Self {
        let control = |kind, duration, receiver| Self {
            kind,
            duration,
            receiver: Some(receiver),
            transmitter: None,
            is_retry: false,
        };
        let payload = |kind, header: &PayloadHeader| Self {
            kind,
            duration: header.duration,
            receiver: Some(header.receiver),
            transmitter: Some(header.transmitter),
            is_retry: header.flags.contains(Flags::RETRY),
        };
        match header {
            Header::Rts { duration, receiver, transmitter } => {
                Self { transmitter: Some(*transmitter), ..control(AirKind::Rts, *duration, *receiver) }
            }
            Header::Cts { duration, receiver } => control(AirKind::Cts, *duration, *receiver),
            Header::Ack { duration, receiver } => control(AirKind::Ack, *duration, *receiver),
            Header::Data(header) => payload(AirKind::Data, header),
            Header::Management(header) => payload(AirKind::Other, header),
            Header::Unknown { flags, .. } => Self {
                kind: AirKind::Other,
                duration: 0,
                receiver: None,
                transmitter: None,
                is_retry: flags.contains(Flags::RETRY),
            },
        }
    }
}
