use super::*;
use crate::edca::AccessCategory;
use std::string::ToString;
use std::vec::Vec;

#[test]
fn a_name_has_at_most_32_bytes() {
    let name = "x".repeat(32);
    assert_eq!(Ssid::new(&name).unwrap().as_bytes(), name.as_bytes());
    let error = Ssid::new(&"x".repeat(33)).unwrap_err();
    assert_eq!(error.to_string(), "the SSID has 33 bytes, expected at most 32");
    assert_eq!(Ssid::new("").unwrap().as_bytes(), b"");
}

#[test]
fn bodies_have_their_fixed_fields_and_elements() {
    let ssid = Ssid::new("abcd").unwrap();
    let announcement = Announcement {
        ssid,
        channel: 1,
        beacon_interval: Duration::from_millis(100),
        erp: None,
        traffic: None,
    };
    let messages = [
        ManagementMessage::Beacon(announcement),
        ManagementMessage::ProbeResponse(announcement),
        ManagementMessage::ProbeRequest { ssid: Some(ssid) },
        ManagementMessage::ProbeRequest { ssid: None },
        ManagementMessage::AuthenticationRequest,
        ManagementMessage::AssociationRequest {
            ssid,
            previous: None,
            is_erp: true,
            listen_interval: 1,
            uapsd: Uapsd::default(),
        },
        ManagementMessage::AssociationRequest {
            ssid,
            previous: Some(MacAddress::station(1)),
            is_erp: true,
            listen_interval: 10,
            uapsd: Uapsd::default().with(AccessCategory::Voice),
        },
        ManagementMessage::AssociationResponse { status: Status::Success, id: 1 },
        ManagementMessage::Deauthentication,
        ManagementMessage::Beacon(Announcement { erp: Some(ErpInformation::default()), ..announcement }),
        ManagementMessage::AssociationRequest {
            ssid,
            previous: None,
            is_erp: false,
            listen_interval: 1,
            uapsd: Uapsd::default(),
        },
    ];
    assert_eq!(messages.map(|message| message.size()), [37, 31, 16, 12, 6, 20, 35, 16, 2, 40, 16]);
    assert_eq!(messages.map(|message| message.subtype()), [8, 5, 4, 4, 11, 0, 2, 1, 12, 8, 0]);
    for message in messages {
        let mut bytes = Vec::new();
        message.encode(Instant::ZERO, &mut bytes);
        assert_eq!(bytes.len(), message.size() as usize, "{message:?}");
    }
}

/// The bytes of a beacon as a protocol analyser shows them.
#[test]
fn a_beacon_has_its_fields_in_network_form() {
    let ssid = Ssid::new("abcd").unwrap();
    let announcement = Announcement {
        ssid,
        channel: 6,
        beacon_interval: Duration::from_micros(102_400),
        erp: None,
        traffic: None,
    };
    let mut bytes = Vec::new();
    ManagementMessage::Beacon(announcement).encode(Instant::from_millis(4_327), &mut bytes);
    let timestamp = 4_327_000_u64;
    assert_eq!(bytes[..8], timestamp.to_le_bytes());
    // 100 time units, ESS; SSID; eight rates; channel; an empty traffic indication map.
    assert_eq!(bytes[8..18], [100, 0, 1, 0, 0, 4, b'a', b'b', b'c', b'd']);
    assert_eq!(bytes[18..28], [1, 8, 0x82, 0x84, 0x8b, 0x96, 0x24, 0x30, 0x48, 0x6c]);
    assert_eq!(bytes[28..], [3, 1, 6, 5, 4, 0, 1, 0, 0]);
    bytes.clear();
    ManagementMessage::AssociationResponse { status: Status::TooManyStations, id: 0 }
        .encode(Instant::ZERO, &mut bytes);
    assert_eq!(bytes[..6], [1, 0, 17, 0, 0, 0xc0]);
}

/// The listen interval, and the WMM information element with the bits of voice and best effort.
#[test]
fn a_request_has_the_listen_interval_and_the_categories_of_automatic_delivery() {
    let categories = [AccessCategory::Voice, AccessCategory::BestEffort];
    let uapsd = categories.into_iter().fold(Uapsd::default(), Uapsd::with);
    let ssid = Ssid::new("abcd").unwrap();
    let mut bytes = Vec::new();
    let (previous, is_erp, listen_interval) = (None, true, 10);
    ManagementMessage::AssociationRequest { ssid, previous, is_erp, listen_interval, uapsd }
        .encode(Instant::ZERO, &mut bytes);
    assert_eq!(bytes[..4], [1, 0, 10, 0]);
    assert_eq!(bytes[bytes.len() - 9..], [221, 7, 0x00, 0x50, 0xf2, 2, 0, 1, 0b1001]);
}

#[test]
fn stations_without_ofdm_are_announced_in_the_erp_information_element() {
    let ssid = Ssid::new("abcd").unwrap();
    let content = Announcement {
        ssid,
        channel: 6,
        beacon_interval: Duration::from_micros(102_400),
        erp: None,
        traffic: None,
    };
    let information = [(false, false, 0), (true, false, 1), (false, true, 2), (true, true, 3)];
    for (has_non_erp, uses_protection, bits) in information {
        let erp = Some(ErpInformation { has_non_erp, uses_protection });
        for message in [
            ManagementMessage::Beacon(Announcement { erp, ..content }),
            ManagementMessage::ProbeResponse(Announcement { erp, ..content }),
        ] {
            let mut bytes = Vec::new();
            message.encode(Instant::ZERO, &mut bytes);
            assert_eq!(bytes[bytes.len() - 3..], [42, 1, bits], "{message:?}");
        }
    }
    // The rates of 802.11b only.
    let mut bytes = Vec::new();
    ManagementMessage::AssociationRequest {
        ssid,
        previous: None,
        is_erp: false,
        listen_interval: 1,
        uapsd: Uapsd::default(),
    }
    .encode(Instant::ZERO, &mut bytes);
    assert_eq!(bytes[bytes.len() - 6..], [1, 4, 0x82, 0x84, 0x8b, 0x96]);
}
