//! Strategies for packets that can be encoded, for property tests.

use core::net::IpAddr;
use std::{vec, vec::Vec};

use bytes::Bytes;
use proptest::{collection::vec, prelude::*};

use crate::{
    ChecksumCoverage, DccpOption, Kind, OptionBytes, Options, Packet, Payload, Reset, SeqNo, ServiceCode,
    option::mobility::{MobilityKey, MobilityOption, Move},
    option::multipath::{
        AddAddress, Confirmations, Join, Key, KeyType, MultipathKey, MultipathOption, PathPriority,
        RemoveAddress, RttReport,
    },
    option::{Elapsed, FeatureAction, FeatureOption, NdpCount},
};

fn data(len: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = OptionBytes> {
    vec(any::<u8>(), len).prop_map(OptionBytes::from_vec)
}

/// Mostly short data, and sometimes long.
fn variable_data() -> impl Strategy<Value = OptionBytes> {
    prop_oneof![8 => data(0..=20), 1 => data(0..=253)]
}

fn elapsed() -> impl Strategy<Value = Elapsed> {
    prop_oneof![
        Just(Elapsed::Absent),
        any::<u16>().prop_map(Elapsed::Short),
        any::<u32>().prop_map(Elapsed::Long),
    ]
}

fn feature() -> impl Strategy<Value = FeatureOption> {
    let action = prop_oneof![
        Just(FeatureAction::ChangeL),
        Just(FeatureAction::ConfirmL),
        Just(FeatureAction::ChangeR),
        Just(FeatureAction::ConfirmR),
    ];
    (action, any::<u8>(), data(0..=12)).prop_map(|(action, feature, values)| FeatureOption {
        action,
        feature,
        values,
    })
}

/// Known types with data of an invalid length, and unknown types.
fn unknown() -> impl Strategy<Value = DccpOption> {
    prop_oneof![
        (3..=31u8).prop_map(|kind| (kind, OptionBytes::new())),
        (32..=35u8).prop_map(|kind| (kind, OptionBytes::new())),
        (Just(37), prop_oneof![data(0), data(7..=9)]),
        (prop_oneof![Just(41), Just(44)], prop_oneof![data(0..=3), data(5..=9)]),
        (Just(42), prop_oneof![data(0..=3), data(5), data(7), data(9..=12)]),
        (Just(43), prop_oneof![data(0..=1), data(3), data(5..=9)]),
        (45..=127u8, variable_data()),
    ]
    .prop_filter("options of a length that they can have", |(kind, data)| {
        let is_freezing = matches!(kind, 120 | 121) && data.is_empty();
        let is_multipath = *kind == 46 && MultipathOption::from_data(data).is_some();
        MobilityOption::from_data(*kind, data).is_none() && !is_freezing && !is_multipath
    })
    .prop_map(|(kind, data)| DccpOption::Unknown { kind, data })
}

fn mobility() -> impl Strategy<Value = MobilityOption> {
    let moved = (any::<u64>(), proptest::option::of(any::<u64>()), any::<u128>());
    prop_oneof![
        (any::<u64>(), any::<[u8; 32]>())
            .prop_map(|(identifier, public)| MobilityOption::Key(MobilityKey { identifier, public })),
        moved.prop_map(|(identifier, echo, tag)| MobilityOption::Move(Move { identifier, echo, tag })),
        any::<u64>().prop_map(MobilityOption::Challenge),
        seq_no().prop_map(MobilityOption::Moved),
    ]
}

/// The Multipath options that are confirmed.
fn confirmed() -> impl Strategy<Value = MultipathOption> {
    let nonce = || proptest::option::of(any::<u32>());
    let address =
        prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)];
    prop_oneof![
        (any::<u8>(), nonce(), address, proptest::option::of(any::<u16>())).prop_map(
            |(address_id, nonce, address, port)| {
                MultipathOption::AddAddress(AddAddress { address_id, nonce, address, port })
            }
        ),
        (any::<u8>(), nonce()).prop_map(|(address_id, nonce)| {
            MultipathOption::RemoveAddress(RemoveAddress { address_id, nonce })
        }),
        (0..16u8).prop_map(|number| MultipathOption::Priority(PathPriority::new(number))),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        data(8).prop_map(|data| Key { key_type: KeyType::PlainText, data }),
        data(64).prop_map(|data| Key { key_type: KeyType::Experimental, data }),
    ]
}

/// Any Multipath option.
pub(crate) fn multipath() -> impl Strategy<Value = MultipathOption> {
    let unread = prop_oneof![
        Just(OptionBytes::new()),
        (1..255u8, data(0..9)).prop_map(|(kind, mut data)| {
            data.insert(0, kind);
            data
        })
    ];
    prop_oneof![
        vec((seq_no(), confirmed()), 1..9).prop_map(|options| {
            let mut list = Confirmations::new();
            for (sequence, option) in options {
                list.push(sequence, &option.into());
            }
            MultipathOption::Confirm(list)
        }),
        (any::<u8>(), any::<u32>(), any::<u32>()).prop_map(|(address_id, connection, nonce)| {
            MultipathOption::Join(Join { address_id, connection, nonce })
        }),
        data(1..=252).prop_map(MultipathOption::FastClose),
        (any::<u32>(), vec(key(), 1..3), unread).prop_map(|(connection, keys, unread)| {
            MultipathOption::Key(MultipathKey { connection, keys: keys.into(), unread })
        }),
        seq_no().prop_map(MultipathOption::Sequence),
        any::<[u8; 20]>().prop_map(MultipathOption::Hmac),
        (any::<u8>(), any::<u32>(), any::<u32>()).prop_map(|(kind, rtt_millis, age_millis)| {
            MultipathOption::Rtt(RttReport { kind: kind.into(), rtt_millis, age_millis })
        }),
        confirmed(),
        data(1..=252).prop_map(MultipathOption::Close),
        data(0..=252).prop_map(MultipathOption::Experimental),
    ]
}

/// Any option but a malformed one.
pub(crate) fn option() -> impl Strategy<Value = DccpOption> {
    prop_oneof![
        Just(DccpOption::Padding),
        Just(DccpOption::Mandatory),
        Just(DccpOption::SlowReceiver),
        Just(DccpOption::Freeze),
        Just(DccpOption::Unfreeze),
        feature().prop_map(DccpOption::Feature),
        variable_data().prop_map(DccpOption::InitCookie),
        data(1..=6).prop_map(|data| DccpOption::NdpCount(NdpCount::from_data(&data).unwrap())),
        (any::<bool>(), variable_data()).prop_map(|(nonce, cells)| DccpOption::AckVector { nonce, cells }),
        variable_data().prop_map(DccpOption::DataDropped),
        any::<u32>().prop_map(DccpOption::Timestamp),
        (any::<u32>(), elapsed())
            .prop_map(|(timestamp, elapsed)| DccpOption::TimestampEcho { timestamp, elapsed }),
        elapsed()
            .prop_filter("an Elapsed Time has a time", |elapsed| *elapsed != Elapsed::Absent)
            .prop_map(DccpOption::ElapsedTime),
        any::<u32>().prop_map(DccpOption::DataChecksum),
        mobility().prop_map(DccpOption::from),
        multipath().prop_map(DccpOption::from),
        (128..=255u8, variable_data()).prop_map(|(kind, data)| DccpOption::CcidSpecific { kind, data }),
        unknown(),
    ]
}

/// Bytes from an option with an invalid length on, which fill whole words behind `before` bytes.
fn malformed(before: usize, kind: u8, length: u8, mut rest: Vec<u8>) -> DccpOption {
    rest.truncate(40);
    let mut bytes = vec![kind];
    if length > 0 || !(before + 1).is_multiple_of(4) {
        bytes.push(length);
        bytes.extend(rest);
        while !(before + bytes.len()).is_multiple_of(4) {
            bytes.push(0xaa);
        }
        // Zero and one are too small; values beyond the number of bytes present are too large.
        let too_large = u8::try_from(bytes.len()).unwrap() + 1;
        bytes[1] = if length < 2 { length } else { length.max(too_large) };
    }
    DccpOption::Malformed(OptionBytes::from_vec(bytes))
}

/// Options as listed by decoding: the end does not contain the padding that the codec adds.
pub(crate) fn options() -> impl Strategy<Value = Options> {
    let malformed_end = proptest::option::weighted(0.1, (32..=255u8, any::<u8>(), vec(any::<u8>(), 0..40)));
    (vec(option(), 0..6), malformed_end).prop_map(|(options, malformed_end)| {
        let mut options = Options::from_vec(options);
        while options.last() == Some(&DccpOption::Padding) {
            options.pop();
        }
        let fits = |options: &Options| encoded_len(options) <= 900;
        while !fits(&options) {
            options.pop();
        }
        while options.last() == Some(&DccpOption::Padding) {
            options.pop();
        }
        if let Some((kind, length, rest)) = malformed_end {
            options.push(malformed(encoded_len(&options), kind, length, rest));
        } else if options.last() == Some(&DccpOption::Mandatory) && !encoded_len(&options).is_multiple_of(4) {
            options.push(DccpOption::Padding);
        }
        options
    })
}

fn encoded_len(options: &Options) -> usize {
    options.iter().map(DccpOption::encoded_len).sum()
}

pub(crate) fn seq_no() -> impl Strategy<Value = SeqNo> {
    prop_oneof![
        any::<u64>().prop_map(SeqNo::new),
        (0..3u64).prop_map(SeqNo::new),
        (0..3u64).prop_map(|n| SeqNo::ZERO.sub(n)),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    (0..=10u8, seq_no(), any::<u32>(), any::<[u8; 4]>()).prop_map(
        |(number, ack, code, [reset_code, data @ ..])| {
            let service_code = ServiceCode(code);
            match number {
                0 => Kind::Request { service_code },
                1 => Kind::Response { ack, service_code },
                2 => Kind::Data,
                3 => Kind::Ack { ack },
                4 => Kind::DataAck { ack },
                5 => Kind::CloseReq { ack },
                6 => Kind::Close { ack },
                7 => Kind::Reset { ack, reset: Reset::with_data(reset_code.into(), data) },
                8 => Kind::Sync { ack },
                9 => Kind::SyncAck { ack },
                _ => Kind::Listen { service_code },
            }
        },
    )
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        vec(any::<u8>(), 0..200).prop_map(|bytes| Payload::Bytes(Bytes::from(bytes))),
        (0..2000u32, any::<u64>()).prop_map(|(length, tag)| Payload::Opaque { length, tag }),
    ]
}

/// Any packet that can be encoded, as decoding returns it.
pub(crate) fn packet() -> impl Strategy<Value = Packet> {
    (any::<[u16; 2]>(), 0..16u8, 0..16u8, any::<bool>(), seq_no(), kind(), options(), payload()).prop_map(
        |([source_port, destination_port], ccval, coverage, extended, sequence, kind, options, payload)| {
            let words = u8::try_from((payload.len() / 4 + 1).min(15)).unwrap();
            let extended = extended || !kind.packet_type().allows_short_sequence_numbers();
            let cut = |number: SeqNo| if extended { number } else { SeqNo::new(number.low24().into()) };
            let kind = match kind {
                Kind::Ack { ack } => Kind::Ack { ack: cut(ack) },
                Kind::DataAck { ack } => Kind::DataAck { ack: cut(ack) },
                kind => kind,
            };
            Packet {
                source_port,
                destination_port,
                ccval,
                checksum_coverage: ChecksumCoverage::from_field(coverage.min(words)),
                extended,
                sequence: cut(sequence),
                kind,
                options,
                payload,
            }
        },
    )
}
