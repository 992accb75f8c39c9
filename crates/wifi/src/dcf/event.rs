//! Events that a station's MAC reports.

use whimbrel_units::{Duration, Instant};

use crate::frame::bytes::Flags;
use crate::frame::{Addressing, Frame, FrameKind, MacAddress};

/// A payload to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// Next station, or a group address.
    pub receiver: MacAddress,
    /// Length of the payload in bytes, without 802.11 header and frame check sequence. It may be 0.
    pub size: u32,
    /// Driver's handle of the payload.
    pub payload: u64,
    /// Data or management.
    pub kind: FrameKind,
    /// Transmission rate, one of the PHY's; `None` for the configured one or, with rate adaptation, the
    /// adapted one.
    pub rate: Option<crate::phy::Rate>,
    /// Subtype, direction and address 3.
    pub addressing: Addressing,
}

impl Outgoing {
    /// A data payload at the configured rate.
    pub const fn data(receiver: MacAddress, size: u32, payload: u64) -> Self {
        let addressing = Addressing { subtype: 0, flags: Flags(0), address3: None, identifier: 0 };
        Self { receiver, size, payload, kind: FrameKind::Data, rate: None, addressing }
    }
}

/// A frame that a station begins to transmit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The frame, which is on the air for [`Frame::air_time`] from now on.
    pub frame: Frame,
}

/// Reason for dropping a payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropCause {
    /// RTS frames got no CTS until the short retry limit was reached.
    NoCts,
    /// Data frames got no acknowledgement until the retry limit was reached.
    NoAcknowledgement,
}

/// Kind of an erroneous reception.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReceptionError {
    /// The frame's beginning was decodable, its content was not: a collision, or noise.
    Corrupted,
    /// The signal was above the carrier-sense threshold and below the reception threshold.
    Undecodable,
}

/// An event of a station's MAC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A frame with a payload for this station, or for a group; each once.
    Delivered {
        /// The frame.
        frame: Frame,
    },
    /// The payload in service was acknowledged or, to a group, transmitted. The MAC accepts the next one.
    Sent {
        /// Driver's handle of the payload.
        payload: u64,
        /// Its receiver.
        receiver: MacAddress,
        /// Retries of data and RTS frames.
        retries: u16,
    },
    /// The payload in service was dropped. The MAC accepts the next one.
    Dropped {
        /// Driver's handle of the payload.
        payload: u64,
        /// Its receiver.
        receiver: MacAddress,
        /// The reason.
        cause: DropCause,
    },
    /// A step of the MAC; reported if [`super::MacConfig::is_traced`].
    Trace(Step),
}

/// A step of the MAC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A transmission began.
    TransmitStarted {
        /// The frame.
        frame: Frame,
    },
    /// A frame was received, for any station.
    Received {
        /// The frame.
        frame: Frame,
    },
    /// A frame was received with errors.
    ReceivedInError(ReceptionError),
    /// A repetition of a payload was received and not delivered again.
    Duplicate {
        /// The frame.
        frame: Frame,
    },
    /// A backoff was drawn.
    BackoffDrawn {
        /// Slots to count.
        slots: u32,
        /// Contention window.
        window: u16,
    },
    /// The medium became busy during a backoff or immediate access.
    BackoffFrozen {
        /// Slots that remain.
        slots: u32,
    },
    /// The medium is reserved by another station's frame.
    NavSet {
        /// End of the reservation.
        until: Instant,
    },
    /// The reservation of an RTS without a following frame was dropped.
    NavReset,
    /// No response to an own frame.
    ResponseMissing {
        /// Type of the own frame: RTS, data or management.
        kind: FrameKind,
        /// Failed attempts of this type for the payload in service.
        retries: u16,
    },
    /// An RTS for this station got no CTS, because the medium is reserved or busy.
    CtsWithheld {
        /// Rest of the reservation; zero if the medium is busy.
        nav: Duration,
    },
}
