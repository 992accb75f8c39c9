//! Transmissions in captures: each MPDU as a frame of its own, with the number of its A-MPDU.

use whimbrel_units::Duration;
use whimbrel_wifi::edca::Ppdu;
use whimbrel_wifi::frame::FrameKind;
use whimbrel_wifi::frame::bytes::Flags;
use whimbrel_wifi::phy::Mode;
use whimbrel_wifi::{Addressing, Frame, MacAddress, Phy};

use super::super::payloads::Payloads;
use super::QosMedium;
use crate::StationIndex;
use crate::capture::OnAir;
use crate::medium::MediumIo;

/// Channel 1, and channel 36.
const LOW_FREQUENCY: u16 = 2_412;
const HIGH_FREQUENCY: u16 = 5_180;
/// Channel 180, the control channel of vehicles in Europe.
const ITS_FREQUENCY: u16 = 5_900;

/// BlockAck control: compressed.
const COMPRESSED: u16 = 2 << 1;
/// Fragment number of a bitmap of 256 bits.
const BITMAP_256: u16 = 0b0100;

/// Place of a transmission.
pub(super) struct Place<'a> {
    pub(super) phy: &'a Phy,
    /// The channel, where there are several.
    pub(super) channel: Option<u8>,
    /// The transmission's number.
    pub(super) number: u32,
    /// Flags of data frames to and from access points.
    pub(super) direction: Flags,
}

impl QosMedium {
    /// The flags of a station's data frames: through the distribution system, or not.
    pub(super) fn direction(&self, station: StationIndex) -> Flags {
        if self.is_access_point(station) {
            Flags::FROM_DS
        } else if self.stations.roaming.is_some() || !self.config.cells.is_empty() {
            Flags::TO_DS
        } else {
            Flags::default()
        }
    }
}

/// The centre of a channel in MHz.
fn frequency(is_low: bool, channel: Option<u8>) -> u16 {
    match (is_low, channel) {
        (true, None) => LOW_FREQUENCY,
        (true, Some(14)) => 2_484,
        (true, Some(channel)) => 2_407 + 5 * u16::from(channel),
        (false, None) => HIGH_FREQUENCY,
        (false, Some(channel)) => 5_000 + 5 * u16::from(channel),
    }
}

/// Hands the MPDUs of a transmission to the capture, or the frame without MPDUs. `message` is the body of a
/// management frame.
pub(super) fn capture(
    place: &Place<'_>,
    ppdu: &Ppdu,
    message: Option<Vec<u8>>,
    payloads: &Payloads,
    io: &mut MediumIo<'_>,
) {
    let Place { phy, number, direction, .. } = *place;
    let frame = &ppdu.frame;
    let is_low = !phy.signal_extension.is_zero();
    let on_air = OnAir {
        frame: *frame,
        plcp: frame.mode.map_or_else(|| phy.plcp(frame.rate), Mode::preamble),
        has_short_preamble: false,
        is_half: phy.slowdown == 2,
        frequency: if phy.slowdown == 2 { ITS_FREQUENCY } else { frequency(is_low, place.channel) },
        ampdu: None,
        slot: None,
        message: None,
    };
    if message.is_some() {
        // A null frame is a data frame.
        let is_null = frame.addressing.flags.0 & (Flags::TO_DS.0 | Flags::FROM_DS.0) != 0;
        let kind = if is_null { FrameKind::Data } else { frame.kind };
        return io.capture(OnAir { frame: Frame { kind, ..*frame }, message, ..on_air });
    }
    if ppdu.mpdus.is_empty() {
        let message = Some(control_body(ppdu));
        return io.capture(OnAir { message, ..on_air });
    }
    let is_aggregate = frame.kind == FrameKind::Aggregate;
    let addressing = Addressing {
        flags: Flags(frame.addressing.flags.0 | direction.0),
        address3: match direction {
            Flags::TO_DS => Some(frame.receiver),
            Flags::FROM_DS => Some(frame.transmitter),
            // The wildcard BSSID of stations without a BSS.
            _ if phy.slowdown == 2 => Some(MacAddress::BROADCAST),
            _ => None,
        },
        ..frame.addressing
    };
    let mut first = 0;
    for (place, mpdu) in ppdu.mpdus.iter().enumerate() {
        let packet = ppdu.packets[first];
        first += usize::from(mpdu.packets);
        let part = Frame {
            kind: FrameKind::Data,
            addressing,
            is_retry: mpdu.is_retry,
            sequence: mpdu.sequence,
            size: mpdu.size,
            air_time: Duration::ZERO,
            ..*frame
        };
        // The bytes of an A-MSDU, and of packets that have been delivered, are zeros.
        let slot = if mpdu.packets == 1 { payloads.slot(packet.handle) } else { None };
        let message = slot.is_none().then(Vec::new);
        let ampdu = is_aggregate.then_some((number, place + 1 == ppdu.mpdus.len()));
        io.capture(OnAir { frame: part, ampdu, slot, message, ..on_air.clone() });
    }
}

/// Bytes after the first four of a control frame whose header is left to the body.
fn control_body(ppdu: &Ppdu) -> Vec<u8> {
    let frame = &ppdu.frame;
    let (receiver, transmitter) = (frame.receiver.0, frame.transmitter.0);
    let mut body = Vec::new();
    if !matches!(frame.kind, FrameKind::BlockAck | FrameKind::BlockAckRequest | FrameKind::CfEnd) {
        return body;
    }
    body.extend(receiver);
    body.extend(transmitter);
    if frame.kind == FrameKind::CfEnd {
        return body;
    }
    let is_answer = frame.kind == FrameKind::BlockAck;
    let fragment = if is_answer && ppdu.block_ack.window > 64 { BITMAP_256 } else { 0 };
    body.extend((COMPRESSED | u16::from(ppdu.identifier) << 12).to_le_bytes());
    body.extend((ppdu.block_ack.start << 4 | fragment).to_le_bytes());
    if is_answer {
        let bitmap = if ppdu.block_ack.window > 64 { 32 } else { 8 };
        body.extend(ppdu.block_ack.bytes());
        body.resize(16 + bitmap, 0);
    }
    body
}
