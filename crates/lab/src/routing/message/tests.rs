use std::net::Ipv4Addr;

use whimbrel_netsim::capture::CaptureFormat;
use whimbrel_netsim::{Ecn, FlowId, NodeId, Packet, PacketId};
use whimbrel_units::{Duration, Instant};

use whimbrel_wifi::routing::aodv::AodvRule;

use super::*;
use crate::capture::IpCapture;
use crate::payload::{Envelope, SimPayload};

/// A hello is a route reply about its sender (RFC 3561 section 6.9): type 2, and its address twice.
#[test]
fn a_broadcast_hello_is_captured_as_a_datagram_to_all_on_the_port_of_aodv() {
    let hello = AodvMessage::Hello { sequence: 7, lifetime: Duration::from_secs(2) };
    let size = hello.size(AodvRule::Rfc3561);
    let sender = NodeId::default();
    let body = Body::Aodv(hello);
    let payload =
        Envelope { sent: Instant::ZERO, content: SimPayload::Other(Box::new(Message { sender, body })) };
    let (flow, destination) = (FlowId::ROUTING, NodeId::BROADCAST);
    let packet =
        Packet { id: PacketId(1), flow, source: sender, destination, size, ecn: Ecn::NotEct, payload };
    let mut bytes = Vec::new();
    IpCapture::default().capture_bytes(&packet, &mut bytes);
    assert_eq!(bytes.len(), size as usize);
    assert_eq!(bytes[16..20], Ipv4Addr::BROADCAST.octets());
    assert_eq!((bytes[9], &bytes[20..26]), (17, &[2, 142, 2, 142, 0, 28][..]));
    assert_eq!(bytes[28..40], [2, 0, 0, 0, 10, 0, 0, 1, 0, 0, 0, 7]);
    assert_eq!(bytes[40..44], [10, 0, 0, 1]);
}
