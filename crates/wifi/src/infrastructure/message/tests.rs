use super::*;
use std::string::ToString;

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
    let announcement = Announcement { ssid, channel: 1, beacon_interval: Duration::from_millis(100) };
    let sizes = [
        ManagementMessage::Beacon(announcement),
        ManagementMessage::ProbeResponse(announcement),
        ManagementMessage::ProbeRequest { ssid: Some(ssid) },
        ManagementMessage::ProbeRequest { ssid: None },
        ManagementMessage::AuthenticationRequest,
        ManagementMessage::AssociationRequest { ssid, previous: None },
        ManagementMessage::AssociationRequest { ssid, previous: Some(MacAddress::station(1)) },
        ManagementMessage::AssociationResponse { status: Status::Success, id: 1 },
        ManagementMessage::Deauthentication,
    ]
    .map(|message| message.size());
    assert_eq!(sizes, [37, 31, 16, 12, 6, 20, 26, 16, 2]);
}
