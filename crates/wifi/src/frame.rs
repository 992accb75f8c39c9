//! Frames as typed values.

use core::fmt;

use whimbrel_units::Duration;

use crate::phy::Rate;

/// A 48-bit MAC address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// A locally administered unicast address for the station of this number.
    pub const fn station(number: u32) -> Self {
        let [a, b, c, d] = number.to_be_bytes();
        Self([0x02, 0x00, a, b, c, d])
    }

    /// `true` for the broadcast address and for multicast addresses, to which no station responds.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Type of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameKind {
    /// Carries an MSDU.
    Data,
    /// Carries a management message (beacon, association and the like).
    Management,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
}

impl FrameKind {
    /// `true` if the frame carries a payload, has a sequence number and, sent to one station, is acknowledged.
    pub const fn has_payload(self) -> bool {
        matches!(self, Self::Data | Self::Management)
    }
}

/// A frame on the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Address 1.
    pub receiver: MacAddress,
    /// Address 2. CTS frames and acknowledgements do not carry it; it then serves observers only.
    pub transmitter: MacAddress,
    /// Type of the frame.
    pub kind: FrameKind,
    /// Transmission rate.
    pub rate: Rate,
    /// `true` in the repetition of a frame with a payload.
    pub is_retry: bool,
    /// Sequence number, modulo 4096; 0 in frames without a payload.
    pub sequence: u16,
    /// Length with header and frame check sequence, in bytes.
    pub size: u32,
    /// Time on the air.
    pub air_time: Duration,
    /// Duration field: the time for which the medium is reserved after the frame's end.
    pub nav: Duration,
    /// Driver's handle of the payload; 0 in frames without one.
    pub payload: u64,
}
