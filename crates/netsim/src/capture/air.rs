//! Frames of 802.11 media in a capture, with radiotap headers.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::frame::bytes::SNAP;
use whimbrel_wifi::frame::radiotap::Radiotap;
use whimbrel_wifi::{Frame, FrameKind, MacAddress};

use super::PcapngWriter;
use crate::MediumId;
use crate::packets::PacketSlot;

/// IEEE 802.11 behind a radiotap header.
const LINKTYPE_IEEE802_11_RADIOTAP: u16 = 127;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;

/// BSSID of ad hoc networks: locally administered, and of no station.
const AD_HOC_BSSID: MacAddress = MacAddress([0x02, 0xff, 0xff, 0xff, 0xff, 0xff]);

/// A frame that a station begins to transmit.
#[derive(Clone, Debug)]
pub(crate) struct OnAir {
    pub(crate) frame: Frame,
    /// Time of its PLCP preamble and header.
    pub(crate) plcp: Duration,
    /// `true` if the preamble is short.
    pub(crate) has_short_preamble: bool,
    /// Frequency of the channel in MHz.
    pub(crate) frequency: u16,
    /// The channel has 10 MHz, and half of the rates.
    pub(crate) is_half: bool,
    /// The number of the A-MPDU that the frame is a part of, and whether it is the last one of it.
    pub(crate) ampdu: Option<(u32, bool)>,
    /// The packet in it. A packet that was delivered and is repeated, as its acknowledgement was lost, has
    /// left the store.
    pub(crate) slot: Option<PacketSlot>,
    /// Body of a management frame, or of one that asks for a block acknowledgement or is one.
    pub(crate) message: Option<Vec<u8>>,
}

/// The media whose frames are captured: each is an interface.
#[derive(Debug, Default)]
pub(super) struct AirCapture {
    interfaces: BTreeMap<MediumId, u32>,
    /// Body of the last data frame of each sender, for its repetitions.
    bodies: BTreeMap<(MediumId, MacAddress), Vec<u8>>,
    bytes: Vec<u8>,
}

impl AirCapture {
    /// Describes an interface, once.
    pub(super) fn watch(&mut self, medium: MediumId, name: &str, writer: &mut PcapngWriter) {
        let new = || writer.interface_of(name, LINKTYPE_IEEE802_11_RADIOTAP);
        self.interfaces.entry(medium).or_insert_with(new);
    }

    /// Writes a frame, with the time at which its transmission begins. `packet` appends the bytes of the
    /// packet in it.
    pub(super) fn write(
        &mut self,
        now: Instant,
        medium: MediumId,
        on_air: &OnAir,
        packet: impl FnOnce(&mut Vec<u8>),
        writer: &mut PcapngWriter,
    ) {
        let Some(&interface) = self.interfaces.get(&medium) else { return };
        let frame = &on_air.frame;
        let empty = Vec::new();
        let body = match (&on_air.message, frame.kind) {
            (Some(message), _) => message,
            (None, FrameKind::Data) => {
                let body = self.bodies.entry((medium, frame.transmitter)).or_default();
                if on_air.slot.is_some() {
                    body.clear();
                    body.extend(SNAP);
                    body.extend(ETHERTYPE_IPV4.to_be_bytes());
                    packet(body);
                    // The packets of programs have the version in their first bits.
                    let header = SNAP.len() + size_of::<u16>();
                    if body.get(header).is_some_and(|first| first >> 4 == 6) {
                        body[header - 2..header].copy_from_slice(&ETHERTYPE_IPV6.to_be_bytes());
                    }
                }
                body
            }
            (None, _) => &empty,
        };
        self.bytes.clear();
        let (unit, half) = if on_air.is_half { (1_000_000, Radiotap::HALF_RATE) } else { (500_000, 0) };
        let channel_flags = Radiotap::channel_flags_at(on_air.frequency, frame.rate) | half;
        let radiotap = Radiotap {
            // The first bit of the MPDU follows the PLCP header.
            tsft: Some((now + on_air.plcp).as_nanos() / 1_000),
            flags: Some(
                Radiotap::HAS_FCS | if on_air.has_short_preamble { Radiotap::SHORT_PREAMBLE } else { 0 },
            ),
            // Modes have fields of their own.
            rate: u8::try_from(frame.rate.bits_per_second() / unit).ok().filter(|_| frame.mode.is_none()),
            channel: Some((on_air.frequency, channel_flags)),
            mode: frame.mode,
            ampdu: on_air.ampdu,
            ..Radiotap::default()
        };
        radiotap.encode(&mut self.bytes);
        frame.encode(AD_HOC_BSSID, body, &mut self.bytes);
        writer.packet(interface, now, &self.bytes, 0, None);
    }
}
