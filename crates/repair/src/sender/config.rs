//! Inputs of a sender, and its results.

use core::fmt;

use whimbrel_units::{Duration, Instant};

use super::parity::Policy;
use crate::decision::PlannerConfig;
use crate::encoder::CodeConfig;
use crate::fecframe::{ADUI_HEADER, Esi};
use crate::wire::{self, Role, parts};

/// Symbols that both ends keep: at 1,200 bytes, 400 ms at 25 Mbit/s.
pub(crate) const WINDOW: u16 = 1024;

/// Parameters of a sender.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderConfig {
    /// The most bytes of a datagram of the transport.
    pub packet_size: u16,
    /// The time from the capture of a frame to its delivery, less the delay of the path: what repair may use.
    pub latency: Duration,
    /// The target.
    pub planner: PlannerConfig,
    /// Repair as a program sets it; `None`: the planner decides.
    pub policy: Option<Policy>,
    /// The round-trip time until one is measured.
    pub round_trip: Duration,
    /// Frames that are late before they are begun, and what is left of others after the latency, are not
    /// sent.
    pub drops_late: bool,
    /// Datagrams that wait for the granted rate; more are refused.
    pub queue: usize,
    /// Datagrams go in [parts](crate::wire::parts), in both directions: the transport may deliver damaged
    /// ones.
    pub in_parts: bool,
}

impl SenderConfig {
    /// 99.99 % of the frames within `latency`.
    #[must_use]
    pub fn new(packet_size: u16, latency: Duration) -> Self {
        Self {
            packet_size,
            latency,
            planner: PlannerConfig::default(),
            policy: None,
            round_trip: Duration::from_millis(100),
            drops_late: true,
            queue: 1024,
            in_parts: false,
        }
    }

    /// The code of both ends.
    pub(crate) fn code(&self) -> CodeConfig {
        // A repair packet has the first byte and the number of its answer in front of its identifier.
        let more = 3 + if self.in_parts { parts::overhead(self.packet_size.into()) as u16 } else { 0 };
        CodeConfig { window: WINDOW, ..CodeConfig::new(self.packet_size.saturating_sub(more)) }
    }

    /// The most bytes of a datagram of the application.
    #[must_use]
    pub fn most_payload(&self) -> usize {
        usize::from(self.code().symbol_size).saturating_sub(ADUI_HEADER + wire::ADU_HEADER)
    }
}

/// The application's marks on a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The stream of the frame: frames of different streams do not refer to each other.
    pub stream: u64,
    /// The datagram is the last of its frame.
    pub ends_frame: bool,
    /// The role of the frame.
    pub role: Role,
    /// Datagrams of the frame, if known.
    pub count: Option<u8>,
    /// When the frame was captured; `None`: now.
    pub captured: Option<Instant>,
}

impl Mark {
    /// A frame of one datagram, as in audio.
    pub const SINGLE: Self =
        Self { stream: 0, ends_frame: true, role: Role::Disposable, count: Some(1), captured: None };
    /// The datagram at `index` of the `count` of an inner frame of the only stream.
    #[must_use]
    pub const fn part(index: usize, count: usize) -> Self {
        let known = if count <= 255 { Some(count as u8) } else { None };
        Self { stream: 0, ends_frame: index + 1 >= count, role: Role::Inner, count: known, captured: None }
    }
}

/// Refusal of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// The datagram is longer than [`SenderConfig::most_payload`].
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// The most that fit.
        most: usize,
    },
    /// As many datagrams wait for the granted rate as may.
    QueueFull,
    /// The beginning of its frame was late and is not sent.
    LateFrame,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes, most } => {
                write!(f, "a datagram of {bytes} bytes, of which {most} can be repaired")
            }
            Self::QueueFull => write!(f, "the queue is full"),
            Self::LateFrame => write!(f, "the beginning of its frame was late and is not sent"),
        }
    }
}

impl core::error::Error for SendError {}

/// Datagram of [`Sender::poll_transmit`](crate::sender::Sender::poll_transmit).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// A datagram of the application.
    Source(Esi),
    /// A datagram again.
    Repeat(Esi),
    /// A coded packet with a frame.
    Parity,
    /// A coded packet in an answer.
    Surplus,
}

/// Events.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum SenderEvent {
    /// A frame is lost for the receiver, or was too old to be sent.
    Lost {
        /// Its number.
        frame: u16,
    },
    /// A frame is missing that others refer to, and no new start has followed: the encoder should make a
    /// frame that refers to none before.
    NewStart {
        /// The stream, as in [`Mark::stream`].
        stream: u64,
    },
    /// The channel and the budget do not allow the target.
    OutOfReach {
        /// Frames that are missed nevertheless, by the model.
        missed: f64,
    },
}

/// Sender's counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounts {
    /// Datagrams of the application.
    pub source: u64,
    /// Repeats.
    pub repeats: u64,
    /// Coded packets with frames.
    pub parity: u64,
    /// Coded packets in answers.
    pub surplus: u64,
    /// Bytes of datagrams of the application, with identifiers.
    pub source_bytes: u64,
    /// Bytes of all else.
    pub repair_bytes: u64,
    /// Datagrams of the application that were not sent: they were late, or of a frame that is dropped.
    pub dropped: u64,
    /// Frames that were dropped before they were sent.
    pub dropped_frames: u64,
    /// Frames that are lost for the receiver, those that were dropped included.
    pub lost_frames: u64,
    /// Repeats and coded packets beyond their share of the source. Parity that yields to frames that wait.
    pub over_share: u64,
    /// Frames of which no repeat could arrive in time: the latency is too short for the round-trip time.
    pub without_round: u64,
    /// Frames for which no choice reaches the target.
    pub out_of_reach: u64,
    /// Reports.
    pub reports: u64,
    /// Datagrams from the receiver that were none of this layer.
    pub invalid: u64,
}
