use std::vec::Vec;

use whimbrel_units::Duration;

use super::bytes::{Flags, Header, has_valid_check_sequence};
use super::{Addressing, Frame, FrameKind, MacAddress};
use crate::phy::Rate;

#[test]
fn every_kind_of_frame_has_its_length_on_the_air() {
    let kinds = [FrameKind::Data, FrameKind::Management, FrameKind::Rts, FrameKind::Cts, FrameKind::Ack];
    for (kind, size) in kinds.into_iter().zip([1_536, 100, 20, 14, 14]) {
        let frame = Frame {
            receiver: MacAddress::station(2),
            transmitter: MacAddress::station(1),
            kind,
            addressing: Addressing::default(),
            rate: Rate::Hr11,
            mode: None,
            is_retry: true,
            sequence: 4_095,
            size,
            air_time: Duration::from_micros(1_310),
            nav: Duration::from_nanos(313_001),
            payload: 0,
        };
        let mut bytes = Vec::new();
        frame.encode(MacAddress::BROADCAST, &[], &mut bytes);
        assert_eq!(bytes.len(), size as usize, "{kind:?}");
        assert!(has_valid_check_sequence(&bytes));
        let (header, _) = Header::parse(&bytes).unwrap();
        let duration = match header {
            Header::Rts { duration, .. } | Header::Cts { duration, .. } | Header::Ack { duration, .. } => {
                duration
            }
            Header::Data(header) | Header::Management(header) => {
                assert_eq!((header.sequence, header.flags.0), (4_095, 8));
                header.duration
            }
            Header::Unknown { .. } => panic!("{header:?}"),
        };
        assert_eq!(duration, 314);
    }
}

/// IEEE 802.11-2012, 8.3.2.1: address 3 of a frame to the distribution system is the destination, of one from
/// it the source.
#[test]
fn a_frame_through_an_access_point_names_both_ends() {
    let (bssid, other) = (MacAddress::station(1), MacAddress::station(9));
    let addressing = Addressing { flags: Flags::TO_DS, address3: Some(other), ..Addressing::default() };
    let frame = Frame {
        receiver: bssid,
        transmitter: MacAddress::station(2),
        kind: FrameKind::Data,
        addressing,
        rate: Rate::Hr11,
        mode: None,
        is_retry: true,
        sequence: 1,
        size: 100,
        air_time: Duration::from_micros(1),
        nav: Duration::ZERO,
        payload: 0,
    };
    let Header::Data(header) = frame.header(bssid) else { panic!("not a data frame") };
    assert_eq!((header.receiver, header.address3), (bssid, other));
    assert_eq!(header.flags.0, Flags::TO_DS.0 | Flags::RETRY.0);
    let addressing = Addressing { address3: None, ..addressing };
    let Header::Data(header) = (Frame { addressing, ..frame }).header(bssid) else {
        panic!("not a data frame")
    };
    assert_eq!(header.address3, bssid);
}

/// IEEE 802.11-2020, 9.2.4.5.2: bits 0 to 3 of QoS control are the traffic identifier.
#[test]
fn a_qos_frame_names_its_traffic_identifier() {
    let addressing = Addressing { subtype: 8, identifier: 6, ..Addressing::default() };
    let frame = Frame {
        receiver: MacAddress::station(1),
        transmitter: MacAddress::station(2),
        kind: FrameKind::Data,
        addressing,
        rate: Rate::Hr11,
        mode: None,
        is_retry: false,
        sequence: 1,
        size: 100,
        air_time: Duration::from_micros(1),
        nav: Duration::ZERO,
        payload: 0,
    };
    let Header::Data(header) = frame.header(MacAddress::station(1)) else { panic!("not a data frame") };
    assert_eq!(header.qos, Some(6));
}

#[test]
fn addresses_are_printed_and_group_addresses_recognised() {
    assert_eq!(std::format!("{}", MacAddress::station(0x0102)), "02:00:00:00:01:02");
    assert!(MacAddress::BROADCAST.is_group() && !MacAddress::station(0xffff_ffff).is_group());
}

#[test]
fn addresses_are_read_as_they_are_printed() {
    let address = MacAddress::station(0x0102_03ff);
    assert_eq!(alloc::format!("{address}").parse(), Ok(address));
    for wrong in [
        "",
        "02:00:00:00:00",
        "02:00:00:00:00:00:01",
        "2:0:0:0:0:1",
        "02:00:00:00:00:0g",
        "+2:00:00:00:00:01",
    ] {
        assert!(wrong.parse::<MacAddress>().is_err(), "{wrong}");
    }
}
