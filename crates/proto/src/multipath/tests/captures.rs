//! Packets of a Linux kernel with MP-DCCP, which speaks the drafts of 2024: captured by
//! `interop/multipath/multipath.py`, with this implementation at the other end.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::fs::File;

use bytes::Bytes;
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use whimbrel_units::Instant;
use whimbrel_wire::checksum::{self, PseudoHeader};
use whimbrel_wire::option::FeatureAction;
use whimbrel_wire::option::multipath::{self, AddAddress, MultipathOption, RemoveAddress};
use whimbrel_wire::{DccpOption, Packet, PacketType, Reset, ResetCode, ServiceCode};

use crate::multipath::keys::{Code, Host, Keys};
use crate::multipath::offer::{self, JoinOffer, Offer};
use crate::multipath::{Dialect, MultipathConfig, MultipathEndpoint, Path};
use crate::{Config, EndpointConfig, EndpointEvent, ReceiveMeta};

/// The kernel's addresses begin with these bytes, this implementation's with 10.45.
const KERNEL: [u8; 2] = [10, 44];

const ALL: [&str; 5] = [
    "multipath-kernel-accepts.pcap",
    "multipath-kernel-accepts-abort.pcap",
    "multipath-kernel-announces.pcap",
    "multipath-whimbrel-accepts.pcap",
    "multipath-whimbrel-accepts-abort.pcap",
];

/// A captured packet.
struct Captured {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    packet: Packet,
}

impl Captured {
    fn is_of_kernel(&self) -> bool {
        self.source.octets()[..2] == KERNEL
    }

    fn options(&self) -> Vec<MultipathOption> {
        super::world::options(&self.packet)
    }

    /// The ports of client and server, and the client's address.
    fn subflow(&self, is_of_client: bool) -> (Ipv4Addr, Ipv4Addr, u16, u16) {
        let ports = [self.packet.source_port, self.packet.destination_port];
        match (is_of_client, ports) {
            (true, [source, destination]) => (self.source, self.destination, source, destination),
            (false, [source, destination]) => (self.destination, self.source, destination, source),
        }
    }
}

/// The packets of a capture of a TUN device, with checksums, lengths and encodings checked.
fn read(name: &str) -> Vec<Captured> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let mut reader = PcapReader::new(File::open(path).expect("a capture")).expect("a header");
    assert_eq!(reader.header().datalink, DataLink::RAW);
    let mut packets = Vec::new();
    while let Some(record) = reader.next_packet() {
        let record = record.expect("a record");
        let ip = &record.data[..];
        assert_eq!((ip[0], ip[9], ip.len()), (0x45, checksum::PROTOCOL, record.orig_len as usize), "{name}");
        let address = |at: usize| Ipv4Addr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).expect("four bytes"));
        let (source, destination) = (address(12), address(16));
        let pseudo_header = PseudoHeader::v4(source, destination);
        let bytes = Bytes::copy_from_slice(&ip[20..]);
        let place = packets.len();
        assert!(checksum::verify(&bytes, &pseudo_header), "{name}: checksum of packet {place}");
        let packet = Packet::decode(&bytes).unwrap_or_else(|error| panic!("{name}: packet {place}: {error}"));
        let mut again = Vec::new();
        packet.encode_with_checksum(&pseudo_header, &mut again).expect("encodable");
        assert_eq!(again, bytes, "{name}: packet {place}");
        packets.push(Captured { source, destination, packet });
    }
    packets
}

/// The key and the Connection Identifier in a Request or Response.
fn offered(packet: &Packet, action: FeatureAction) -> (Vec<u8>, u32) {
    match offer::read(&packet.options, action) {
        Offer::Keys(keys) => (keys.keys[0].data.to_vec(), keys.connection),
        other => panic!("{other:?}"),
    }
}

fn join_of(packet: &Packet, action: FeatureAction) -> JoinOffer {
    offer::read_join(&packet.options, action).expect("a valid MP_JOIN")
}

/// Numbers of codes in a capture that follow the drafts: of joining subflows, addresses, and removals.
#[derive(PartialEq, Eq, Debug, Default)]
struct Verified {
    joins: usize,
    addresses: usize,
    removals: usize,
}

fn verify_codes(name: &str) -> Verified {
    let packets = read(name);
    let is_client = |captured: &Captured| captured.is_of_kernel() == packets[0].is_of_kernel();
    let (client_key, _) = offered(&packets[0].packet, FeatureAction::ChangeR);
    let (server_key, accepting) = offered(&packets[1].packet, FeatureAction::ConfirmL);
    // The keys as the client has them.
    let keys = Keys::new(&client_key, &server_key);
    let host = |captured: &Captured| if is_client(captured) { Host::Own } else { Host::Peer };
    let mut verified = Verified::default();
    for (place, captured) in packets.iter().enumerate() {
        let options = captured.options();
        let code_after = |place: usize| match options.get(place + 1) {
            Some(MultipathOption::Hmac(code)) => Some(*code),
            _ => None,
        };
        for (at, option) in options.iter().enumerate() {
            let expected: Option<Code> = match option {
                MultipathOption::Join(_) if captured.packet.packet_type() == PacketType::Response => {
                    verified.joins += verify_join(&packets[..], place, &keys, accepting);
                    None
                }
                MultipathOption::AddAddress(address) => {
                    verified.addresses += 1;
                    Some(keys.address_code(host(captured), &AddAddress { nonce: None, ..*address }))
                }
                MultipathOption::RemoveAddress(removal) => {
                    verified.removals += 1;
                    Some(keys.removal_code(host(captured), &RemoveAddress { nonce: None, ..*removal }))
                }
                _ => None,
            };
            if expected.is_some() {
                assert_eq!(code_after(at), expected, "{name}: packet {place}: {option:?}");
            }
        }
    }
    verified
}

/// Compares the codes of the subflow whose Response is at that place. Returns the number of them.
fn verify_join(packets: &[Captured], response: usize, keys: &Keys, accepting: u32) -> usize {
    let subflow = packets[response].subflow(false);
    let request = packets
        .iter()
        .find(|it| it.packet.packet_type() == PacketType::Request && it.subflow(true) == subflow);
    let asked = join_of(&request.expect("a Request").packet, FeatureAction::ChangeR).join;
    let answered = join_of(&packets[response].packet, FeatureAction::ConfirmL);
    assert_eq!(asked.connection, accepting);
    let (theirs, ours) = (answered.join.nonce, asked.nonce);
    let code = |dialect, host, own, other| keys.join_code(dialect, host, own, other, accepting);
    let of_server = code(Dialect::Draft2024, Host::Peer, theirs, ours);
    assert_eq!(answered.code, Some(of_server));
    assert_ne!(code(Dialect::Rfc9897, Host::Peer, theirs, ours), of_server);
    let of_client = MultipathOption::Hmac(code(Dialect::Draft2024, Host::Own, ours, theirs));
    let acknowledgement = packets[response..]
        .iter()
        .find(|it| it.packet.packet_type() == PacketType::Ack && it.subflow(true) == subflow);
    assert_eq!(acknowledgement.expect("an Ack").options(), [of_client]);
    2
}

#[test]
fn every_option_of_the_kernel_is_decoded() {
    for name in ALL {
        let packets = read(name);
        let of_kernel = packets.iter().filter(|captured| captured.is_of_kernel());
        assert!(of_kernel.clone().count() > 30, "{name}");
        for captured in of_kernel {
            for option in &captured.packet.options {
                let is_known = match option {
                    DccpOption::Unknown { .. } | DccpOption::Malformed(_) => false,
                    DccpOption::Multipath(_) => MultipathOption::parse(option).is_some(),
                    _ => true,
                };
                assert!(is_known, "{name}: {option:?}");
            }
        }
    }
}

#[test]
fn the_codes_of_the_kernel_are_those_of_the_drafts() {
    let verified = |joins, addresses, removals| Verified { joins, addresses, removals };
    // Signals of this implementation, which the kernel confirms.
    assert_eq!(verify_codes(ALL[0]), verified(2, 1, 1));
    assert_eq!(verify_codes(ALL[1]), verified(2, 0, 0));
    // The kernel's addresses: a third subflow uses the address that it announces.
    assert_eq!(verify_codes(ALL[2]), verified(4, 1, 0));
    // The kernel leaves an address, and joins from it again.
    assert_eq!(verify_codes(ALL[3]), verified(4, 0, 1));
    assert_eq!(verify_codes(ALL[4]), verified(2, 0, 0));
}

#[test]
fn the_kernel_confirms_each_signal_and_reverses_its_address() {
    let confirmed = |name: &str, is_of_kernel: bool| -> Vec<u8> {
        let packets = read(name);
        let lists = packets.iter().filter(|it| it.is_of_kernel() == is_of_kernel).flat_map(Captured::options);
        let mut all = Vec::new();
        for option in lists {
            if let MultipathOption::Confirm(list) = option {
                all.extend(list.iter().filter_map(|(_, of)| Some(MultipathOption::parse(&of)?.mp_opt())));
            }
        }
        all
    };
    let (add, remove, priority) = (multipath::ADD_ADDRESS, multipath::REMOVE_ADDRESS, multipath::PRIORITY);
    assert_eq!(confirmed(ALL[0], true), [add, priority, priority, priority, remove]);
    assert_eq!(confirmed(ALL[2], false), [priority, add]);
    // The subflow that joins again has the priority of its interface.
    assert_eq!(confirmed(ALL[3], false), [priority, remove, priority]);
    let announced = read(ALL[2]).iter().flat_map(Captured::options).find_map(|option| match option {
        MultipathOption::AddAddress(it) => Some(it.address),
        _ => None,
    });
    let is_meant = IpAddr::from(Ipv4Addr::new(10, 44, 2, 9));
    assert_eq!(announced, Some(IpAddr::from(Ipv4Addr::new(9, 2, 44, 10))));
    assert_eq!(announced.map(|address| Dialect::Draft2024.converted(address)), Some(is_meant));
}

#[test]
fn both_ends_abort_with_the_keys_of_the_other() {
    for name in [ALL[1], ALL[4]] {
        let packets = read(name);
        let (key, _) = offered(&packets[0].packet, FeatureAction::ChangeR);
        let (other, _) = offered(&packets[1].packet, FeatureAction::ConfirmL);
        let key_of_kernel = if packets[0].is_of_kernel() { key } else { other };
        let abrupt = Reset::new(ResetCode::AbruptMultipathTermination);
        let resets: Vec<_> = packets
            .iter()
            .filter(
                |it| matches!(it.packet.kind, whimbrel_wire::Kind::Reset { reset, .. } if reset == abrupt),
            )
            .collect();
        // One on each subflow from each end; only the aborting end's carry a key.
        assert_eq!(resets.len(), 4, "{name}");
        for reset in resets {
            let options = reset.options();
            match &options[..] {
                [MultipathOption::FastClose(key)] => {
                    assert!(!reset.is_of_kernel() && key[..] == key_of_kernel[..], "{name}");
                }
                _ => assert!(reset.is_of_kernel() && options.is_empty(), "{name}"),
            }
        }
    }
}

#[test]
fn the_first_request_of_the_kernel_opens_a_multipath_connection() {
    let packets = read(ALL[3]);
    let request = &packets[0];
    let config = Config::default().service_code(ServiceCode(42));
    let settings = MultipathConfig::default().dialect(Dialect::Draft2024);
    let mut endpoint = MultipathEndpoint::with_entropy(EndpointConfig::default(), [3; 32]);
    endpoint.listen(request.packet.destination_port, config, settings).expect("a valid configuration");
    let path = Path {
        local: SocketAddr::new(request.destination.into(), 0),
        remote: SocketAddr::new(request.source.into(), 0),
    };
    let now = Instant::from_secs(1);
    endpoint.handle_packet(now, path, ReceiveMeta::default(), request.packet.clone());
    let (to, response) = endpoint.poll_transmit(now).expect("a Response");
    assert_eq!((to, response.packet.packet_type()), (path, PacketType::Response));
    let (key, identifier) = offered(&response.packet, FeatureAction::ConfirmL);
    assert!(key.len() == 8 && identifier != 0);
    let event = endpoint.poll_event().map(|(_, event)| event);
    assert!(matches!(event, Some(EndpointEvent::Accepted { .. })), "{event:?}");
}
