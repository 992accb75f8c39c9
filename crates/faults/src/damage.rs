//! Corruption of packets: by accident, and by an attacker.

use bytes::Bytes;
use whimbrel_wire::checksum::{self, PseudoHeader};
use whimbrel_wire::option::{Elapsed, FeatureAction, FeatureOption, OptionBytes};
use whimbrel_wire::{DccpOption, Kind, Packet, Reset, SeqNo, ServiceCode};

use crate::plan::Dice;

/// The packet's bytes, its checksum right.
pub(crate) fn encode(packet: &Packet, addresses: &PseudoHeader) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(packet.encoded_len());
    if let Err(error) = packet.encode_with_checksum(addresses, &mut bytes) {
        panic!("an end sent a packet that cannot be encoded: {error}: {packet:?}");
    }
    bytes
}

/// Flips some bits. Returns the packet as received: mostly `None`, as the checksum is wrong.
pub(crate) fn flip(packet: &Packet, addresses: &PseudoHeader, dice: &mut Dice) -> Option<Packet> {
    let mut bytes = encode(packet, addresses);
    for _ in 0..=dice.below(8) {
        let at = dice.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << dice.below(8);
    }
    read(bytes, addresses)
}

/// Truncates the packet.
pub(crate) fn truncate(packet: &Packet, addresses: &PseudoHeader, dice: &mut Dice) -> Option<Packet> {
    let mut bytes = encode(packet, addresses);
    bytes.truncate(dice.below(bytes.len() as u64) as usize);
    read(bytes, addresses)
}

/// Decodes bytes like a receiver, which drops those with a wrong checksum and those that are no packet.
fn read(bytes: Vec<u8>, addresses: &PseudoHeader) -> Option<Packet> {
    checksum::verify(&bytes, addresses).then(|| Packet::decode(&Bytes::from(bytes)).ok()).flatten()
}

/// An attacker changes the packet and corrects its checksum. `saturate` is the share of changes to the ends
/// of ranges.
pub(crate) fn forge(
    packet: &Packet,
    addresses: &PseudoHeader,
    saturate: f64,
    dice: &mut Dice,
) -> Option<Packet> {
    if dice.chance(saturate) {
        let mut forged = packet.clone();
        let at = dice.below(packet.options.len() as u64 + 1) as usize;
        forged.options.insert(at, saturated(dice));
        let mut bytes = Vec::new();
        forged.encode_with_checksum(addresses, &mut bytes).ok()?;
        return read(bytes, addresses);
    }
    if dice.chance(0.6) {
        let mut forged = packet.clone();
        for _ in 0..=dice.below(2) {
            change(&mut forged, dice);
        }
        let mut bytes = Vec::new();
        // A packet that cannot be encoded cannot be sent.
        forged.encode_with_checksum(addresses, &mut bytes).ok()?;
        return read(bytes, addresses);
    }
    let mut bytes = encode(packet, addresses);
    let header = packet.header_len() as u64;
    for _ in 0..=dice.below(4) {
        let end = if dice.chance(0.8) { header } else { bytes.len() as u64 };
        let at = dice.below(end) as usize;
        bytes[at] ^= 1 << dice.below(8);
    }
    if dice.chance(0.1) {
        bytes.truncate(dice.below(bytes.len() as u64) as usize);
    }
    checksum::fill(&mut bytes, addresses)?;
    read(bytes, addresses)
}

/// Changes one field to a value that an attacker would try.
fn change(packet: &mut Packet, dice: &mut Dice) {
    let ack = packet.ack().unwrap_or(packet.sequence);
    match dice.below(8) {
        0 => packet.sequence = near(packet.sequence, dice),
        1 => packet.kind = kind(near(ack, dice), packet, dice),
        2 => packet.kind = kind(ack, packet, dice),
        3 => packet.ccval = dice.below(16) as u8,
        4 => {
            let at = dice.below(packet.options.len() as u64 + 1) as usize;
            packet.options.insert(at, option(dice));
        }
        5 if !packet.options.is_empty() => {
            let at = dice.below(packet.options.len() as u64) as usize;
            let option = packet.options[at].clone();
            packet.options.push(option);
        }
        6 if !packet.options.is_empty() => {
            let at = dice.below(packet.options.len() as u64) as usize;
            packet.options.remove(at);
        }
        _ => packet.options.insert(0, DccpOption::Mandatory),
    }
}

/// A number that a window might admit.
fn near(number: SeqNo, dice: &mut Dice) -> SeqNo {
    match dice.below(4) {
        0 => number.add(dice.below(200)),
        1 => number.sub(dice.below(200)),
        2 => number.add(1 << dice.below(48)),
        _ => SeqNo::new(dice.word()),
    }
}

fn kind(ack: SeqNo, packet: &mut Packet, dice: &mut Dice) -> Kind {
    let service_code = ServiceCode(42);
    let kind = match dice.below(11) {
        0 => Kind::Request { service_code },
        1 => Kind::Response { ack, service_code },
        2 => Kind::Data,
        3 | 4 => Kind::Ack { ack },
        5 => Kind::DataAck { ack },
        6 => Kind::CloseReq { ack },
        7 => Kind::Close { ack },
        8 => Kind::Reset { ack, reset: Reset::with_data((dice.below(14) as u8).into(), [0; 3]) },
        9 => Kind::Sync { ack },
        _ => Kind::SyncAck { ack },
    };
    if !kind.packet_type().allows_short_sequence_numbers() {
        packet.extended = true;
    }
    kind
}

/// An option with numbers at the ends of their ranges.
fn saturated(dice: &mut Dice) -> DccpOption {
    let byte = *dice.pick(&[0x00, 0xff]);
    let mut data = |length: u64| -> OptionBytes {
        (0..length).map(|at| if at == 0 && dice.chance(0.3) { 0x7f } else { byte }).collect()
    };
    // RTT Estimate, Loss Event Rate, Loss Intervals, Receive Rate, Dropped Packets.
    let (rtt, word, intervals, counts) = (data(3), data(4), data(1 + 9 * 3), data(3 * 3));
    match dice.below(9) {
        0 => DccpOption::CcidSpecific { kind: 128, data: rtt },
        1 => DccpOption::CcidSpecific { kind: 192, data: word },
        2 => DccpOption::CcidSpecific { kind: 193, data: intervals },
        3 => DccpOption::CcidSpecific { kind: 194, data: word },
        4 => DccpOption::CcidSpecific { kind: 195, data: counts },
        5 => DccpOption::Timestamp(u32::from(byte) * 0x0101_0101),
        6 => DccpOption::TimestampEcho {
            timestamp: dice.word() as u32,
            elapsed: Elapsed::Long(u32::from(byte) * 0x0101_0101),
        },
        7 => DccpOption::ElapsedTime(Elapsed::Long(u32::from(byte) * 0x0101_0101)),
        _ => DccpOption::AckVector { nonce: false, cells: core::iter::repeat_n(0x3f, 200).collect() },
    }
}

/// An option of any known type, with data of about the right length.
fn option(dice: &mut Dice) -> DccpOption {
    let mut data = |longest: u64| -> OptionBytes {
        let length = dice.below(longest + 1);
        (0..length).map(|_| dice.word() as u8).collect()
    };
    let bytes = data(12);
    match dice.below(9) {
        0 => DccpOption::AckVector { nonce: false, cells: bytes },
        1 => DccpOption::DataDropped(bytes),
        2 => DccpOption::SlowReceiver,
        3 => DccpOption::Timestamp(dice.word() as u32),
        4 => DccpOption::InitCookie(bytes),
        5 => DccpOption::DataChecksum(dice.word() as u32),
        6 => DccpOption::CcidSpecific { kind: 128 + dice.below(128) as u8, data: bytes },
        _ => DccpOption::Feature(FeatureOption {
            action: FeatureAction::from_kind(32 + dice.below(4) as u8).unwrap_or(FeatureAction::ChangeL),
            feature: *dice.pick(&[1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 127, 128, 192]),
            values: bytes.into_iter().take(6).collect(),
        }),
    }
}
