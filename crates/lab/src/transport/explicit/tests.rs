use std::net::Ipv4Addr;

use whimbrel_control::capacity::Estimate;
use whimbrel_netsim::{FlowId, Packet};
use whimbrel_scenario::Network;
use whimbrel_units::{DataRate, Instant};

use super::*;
use crate::payload::{Envelope, SimPayload};
use crate::transport::{Content, FlowEnd, IpHeaders};
use crate::{Document, tcp};

const RTT: Duration = Duration::from_millis(40);
/// Bytes of a data packet of 1000 bytes: IP, TCP and the timestamps option.
const WIRE: f64 = 1052.0;

/// XCP, and a datagram each 200 ms.
const SLOW: &str = "transport = \"xcp\"\ntraffic = { kind = \"cbr\", rate = \"42880 bit/s\" }";

/// The two ends of a flow, and the estimates of the sender's node.
struct Ends {
    sender: ExplicitSender,
    receiver: ExplicitReceiver,
    store: CrossLayer,
}

/// The ends of a flow with these keys.
fn ends(keys: &str) -> Ends {
    let text = format!(
        "[simulation]\nduration = \"100 s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
         rate = \"10 Mbit/s\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\npayload = \"1000 B\"\n{keys}"
    );
    let plan = Document::from_toml(&text).unwrap().plan().unwrap_or_else(|error| panic!("{error}"));
    let network: Network<FlowAgent> = Network::new(&plan, &plan.events, 1);
    let stores = [CrossLayer::default(), CrossLayer::default()];
    let flow = &plan.flows[0];
    let setup = FlowSetup::new(
        &plan,
        flow,
        FlowId(0),
        &network.nodes,
        &network.links,
        &stores,
        network.simulator.streams(),
    );
    let [FlowAgent::ExplicitSender(sender), FlowAgent::ExplicitReceiver(receiver)] =
        flow.transport.ends(&setup)
    else {
        panic!("ends of another transport")
    };
    Ends { sender, receiver, store: stores[0].clone() }
}

fn at(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(milliseconds)
}

/// All packets that an end sends at `now`.
fn drain(end: &mut impl FlowEnd, now: Instant) -> Vec<Packet<Envelope>> {
    if end.poll_timeout().is_some_and(|due| due <= now) {
        end.handle_timeout(now);
    }
    let packets: Vec<_> = std::iter::from_fn(|| end.poll_transmit(now)).collect();
    assert!(end.poll_timeout().is_none_or(|due| due > now), "{:?} at {now:?}", end.poll_timeout());
    packets
}

fn content(packet: &Packet<Envelope>) -> &ExplicitContent {
    match &packet.payload.content {
        SimPayload::Explicit(content) => content,
        other => panic!("{other:?}"),
    }
}

/// Hands packets to an end, with the allocation `granted` by a router if there is one.
fn deliver(end: &mut impl FlowEnd, now: Instant, packets: Vec<Packet<Envelope>>, granted: Option<f64>) {
    for mut packet in packets {
        if let (SimPayload::Explicit(content), Some(granted)) = (&mut packet.payload.content, granted) {
            content.shim.allocation = granted;
        }
        end.handle_packet(now, packet.size, packet.ecn, &mut packet.payload);
    }
}

impl Ends {
    /// Sends SYN and answer; the first data can leave after a round-trip time from `start`.
    fn open(keys: &str, granted: f64) -> Self {
        let mut ends = ends(keys);
        ends.round(0, granted);
        ends
    }

    /// The packets sent at `now` ms arrive with the allocation `granted`, and the answers are back after a
    /// round-trip time.
    fn round(&mut self, now: u64, granted: f64) -> usize {
        let packets = drain(&mut self.sender, at(now));
        let count = packets.len();
        deliver(&mut self.receiver, at(now + 20), packets, Some(granted));
        let answers = drain(&mut self.receiver, at(now + 20));
        deliver(&mut self.sender, at(now + 40), answers, None);
        count
    }

    fn window(&self) -> f64 {
        self.sender.estimate().cwnd
    }
}

fn is_close(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 1e-6
}

#[test]
fn the_header_of_xcp_has_the_rate_of_whole_packets_and_an_unbounded_request() {
    let mut ends = Ends::open("transport = \"xcp\"", 0.0);
    let packets = drain(&mut ends.sender, at(40));
    assert_eq!(packets.len(), 2);
    let shim = content(&packets[0]).shim;
    assert_eq!((shim.rtt, shim.allocation), (RTT, f64::INFINITY));
    // Two packets of 1052 bytes and the header of 20.
    let rate = 2.0 * (WIRE + 20.0) * 8.0 / 0.04;
    assert!(is_close(shim.rate.as_bits_per_second(), rate), "{:?}", shim.rate);
    assert_eq!(packets[0].size, 1072);
}

/// The numbers of packets sent per round-trip time while routers allow ever more.
fn counts_while_routers_allow(keys: &str, granted: f64) -> Vec<usize> {
    let mut ends = Ends::open(keys, granted);
    (1..10).map(|round| ends.round(40 * round, granted)).collect()
}

#[test]
fn a_window_limit_bounds_what_xcp_sends_and_the_rate_in_its_header() {
    let free = counts_while_routers_allow("transport = \"xcp\"", 1e6);
    let limited = counts_while_routers_allow("transport = \"xcp\"\nxcp = { window_limit = 3 }", 1e6);
    assert!(free.iter().any(|count| *count > 3), "{free:?}");
    assert_eq!(limited.iter().max(), Some(&3), "{limited:?}");

    let mut ends = Ends::open("transport = \"xcp\"\nxcp = { window_limit = 3 }", 1e6);
    for round in 1..10 {
        ends.round(40 * round, 1e6);
    }
    assert!(ends.window() > 3.0, "{}", ends.window());
    let packets = drain(&mut ends.sender, at(400));
    let rate = 3.0 * (WIRE + 20.0) * 8.0 / 0.04;
    assert!(is_close(content(&packets[0]).shim.rate.as_bits_per_second(), rate));

    let refused = Document::from_toml(
        "[simulation]\nduration = \"1 s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
         rate = \"1 Mbit/s\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"rcp\"\nrcp = { window_limit = 0.5 }",
    )
    .unwrap()
    .plan()
    .unwrap_err()
    .to_string();
    assert!(refused.contains("rcp.window_limit = 0.5: expected at least one segment"), "{refused}");
}

/// Numbers of the data packets sent in nine round-trip times. The first packet is lost.
fn sent_after_a_loss(keys: &str) -> Vec<u64> {
    let mut ends = Ends::open(keys, 2e6);
    let mut sent = Vec::new();
    for round in 1..10 {
        let mut packets = drain(&mut ends.sender, at(40 * round));
        sent.extend(packets.iter().filter(|p| content(p).data_length() > 0).map(|p| content(p).numbers().0));
        if round == 1 {
            packets.remove(0);
        }
        deliver(&mut ends.receiver, at(40 * round + 20), packets, None);
        let answers = drain(&mut ends.receiver, at(40 * round + 20));
        deliver(&mut ends.sender, at(40 * round + 39), answers, None);
    }
    sent
}

#[test]
fn rcp_repeats_a_lost_packet_at_once_or_after_all_others() {
    let count = |sent: &[u64]| sent.iter().filter(|number| **number == 0).count();
    let tcp = sent_after_a_loss("transport = \"rcp\"");
    assert!(count(&tcp) > 1, "{tcp:?}");
    let endless = sent_after_a_loss("transport = \"rcp\"\nrcp = { reliability = \"at-the-end\" }");
    assert_eq!(count(&endless), 1, "{endless:?}");
    let known = sent_after_a_loss(
        "transport = \"rcp\"\nrcp = { reliability = \"at-the-end\" }\ntraffic = { kind = \"transfer\", bytes = \"5 kB\" }",
    );
    assert_eq!(known, [0, 1000, 2000, 3000, 4000, 0]);
}

#[test]
fn an_acknowledgement_returns_the_sum_of_xcps_feedback() {
    let mut ends = Ends::open("transport = \"xcp\"", 0.0);
    let [first, second] = drain(&mut ends.sender, at(40)).try_into().unwrap();
    deliver(&mut ends.receiver, at(60), vec![first], Some(1000.0));
    deliver(&mut ends.receiver, at(60), vec![second], Some(500.0));
    let answers = drain(&mut ends.receiver, at(60));
    let returned: Vec<f64> = answers.iter().map(|packet| content(packet).shim.allocation).collect();
    assert_eq!(returned, [1500.0, 0.0]);
    let window = ends.window();
    deliver(&mut ends.sender, at(80), answers, None);
    // The window counts the data in a rate of whole packets.
    let growth = 1500.0 / 8.0 * 0.04 / 1072.0;
    assert!(is_close(ends.window(), window + growth), "{}", ends.window());
}

#[test]
fn an_application_below_its_window_requests_no_increase() {
    let mut ends = Ends::open(SLOW, 0.0);
    // One datagram in a window of two.
    assert_eq!(ends.round(40, 0.0), 1);
    let packets = drain(&mut ends.sender, at(200));
    assert_eq!((packets.len(), content(&packets[0]).shim.allocation), (1, 0.0));
}

#[test]
fn a_window_that_is_not_used_ages_each_round_trip_time() {
    let mut ends = Ends::open(SLOW, 0.0);
    assert_eq!(ends.window(), 2.0);
    // Half of the window was used.
    ends.round(40, 0.0);
    assert_eq!(ends.window(), 1.5);
    // Nothing was sent until the next datagram at 200 ms; then one packet, and feedback an RTT later.
    ends.round(200, 10e6);
    let grown = 1.0 + 10e6 / 8.0 * 0.04 / 1072.0;
    assert!(is_close(ends.window(), 0.5 * grown + 0.5), "{} of {grown}", ends.window());
    let aged = ends.window();
    ends.round(400, 0.0);
    assert!(is_close(ends.window(), 0.25 * aged + 0.5), "{} of {aged}", ends.window());
}

/// Grows the window of an ABC sender by `rounds` windows of accelerates.
fn abc(rounds: u64) -> Ends {
    let mut ends = Ends::open("transport = \"abc\"", 1.0);
    for round in 0..rounds {
        ends.round(40 + 40 * round, 1.0);
    }
    ends
}

#[test]
fn a_loss_halves_the_window_of_abc() {
    let mut ends = abc(3);
    let mut packets = drain(&mut ends.sender, at(160));
    assert!(packets.len() > 5, "{}", packets.len());
    packets.remove(0);
    // Brakes, and the loss with one of them.
    deliver(&mut ends.receiver, at(180), packets, Some(-1.0));
    let (mut window, mut halved) = (ends.window(), 0);
    for answer in drain(&mut ends.receiver, at(180)) {
        deliver(&mut ends.sender, at(200), vec![answer], None);
        let braked = (window - 1.0 + 1.0 / window).max(1.0);
        let is_halved = is_close(ends.window(), (braked / 2.0).max(1.0)) && braked > 2.0;
        assert!(is_halved || is_close(ends.window(), braked), "{} after {window}", ends.window());
        halved += u32::from(is_halved);
        window = ends.window();
    }
    assert_eq!(halved, 1);
}

#[test]
fn a_timeout_reduces_the_window_of_abc_to_one_packet() {
    let mut ends = abc(3);
    drain(&mut ends.sender, at(160));
    assert!(ends.window() > 5.0);
    let due = ends.sender.poll_timeout().unwrap();
    ends.sender.handle_timeout(due);
    assert_eq!(ends.window(), 1.0);
}

#[test]
fn a_sender_of_rcp_winf_has_the_window_of_its_rate_which_is_at_most_the_estimated_capacity() {
    let mut ends = Ends::open("transport = \"rcp\"\nrcp = { winf = true }", 4e6);
    // Algorithm 6 counts the data and the headers of IP and RCP.
    let window = |rate: f64| rate / 8.0 * 0.04 / (1000.0 + 20.0 + 12.0);
    assert!(is_close(ends.window(), window(4e6)), "{}", ends.window());
    ends.round(40, 4e6);
    assert!(is_close(ends.window(), window(4e6)), "{}", ends.window());
    let capacity = DataRate::from_megabits_per_second(1.5);
    ends.store.set(Position::Sender, Some(Estimate { capacity, available: DataRate::ZERO }));
    ends.round(80, 4e6);
    assert!(is_close(ends.window(), window(1.5e6)), "{}", ends.window());
    assert!(is_close(ends.sender.estimate().allowed_rate, 1.5e6));
}

#[test]
fn an_rcp_sender_without_data_probes_each_round_trip_time_and_its_probes_are_answered() {
    let slow = "transport = \"rcp\"\ntraffic = { kind = \"cbr\", rate = \"4256 bit/s\" }";
    // A packet of 1064 bytes each 85 ms at most.
    let mut ends = Ends::open(slow, 100e3);
    let sent = drain(&mut ends.sender, at(40));
    assert_eq!(sent.iter().map(|packet| content(packet).data_length()).collect::<Vec<_>>(), [1000]);
    deliver(&mut ends.receiver, at(60), sent, None);
    drain(&mut ends.receiver, at(60));
    for (now, granted) in [(80, 50e3), (120, 60e3)] {
        assert_eq!(ends.sender.poll_timeout(), Some(at(now)));
        let probes = drain(&mut ends.sender, at(now));
        assert_eq!(probes.len(), 1);
        assert_eq!((probes[0].size, content(&probes[0]).data_length()), (52, 0));
        deliver(&mut ends.receiver, at(now + 10), probes, Some(granted));
        let answers = drain(&mut ends.receiver, at(now + 10));
        assert_eq!(answers.len(), 1);
        // One answer per probe.
        assert!(drain(&mut ends.receiver, at(now + 11)).is_empty());
        deliver(&mut ends.sender, at(now + 20), answers, None);
        assert!(is_close(ends.sender.estimate().allowed_rate, granted));
        assert!(drain(&mut ends.sender, at(now + 20)).is_empty());
    }
}

#[test]
fn a_paced_sender_accepts_data_while_a_segment_waits_for_its_time() {
    // Packets of 1064 bytes at 100 kbit/s leave every 85 ms; the application writes one each 5 ms.
    let fast = "transport = \"rcp\"\ntraffic = { kind = \"cbr\", rate = \"1702400 bit/s\" }";
    let mut ends = Ends::open(fast, 100e3);
    let mut sent = 0;
    for now in 40..1040 {
        // `drain` checks that no timer is overdue.
        let packets = drain(&mut ends.sender, at(now));
        sent += packets.iter().filter(|packet| content(packet).data_length() > 0).count();
    }
    assert!((11..=13).contains(&sent), "{sent}");
}

/// A packet as it is captured behind the IP header, with its IP protocol number.
fn captured(packet: &Packet<Envelope>) -> (u8, Vec<u8>) {
    let address = Ipv4Addr::LOCALHOST;
    let headers = IpHeaders {
        source: address,
        destination: address,
        flow_port: 50_000,
        sink_port: 9,
        is_encapsulated: false,
    };
    let mut bytes = Vec::new();
    let protocol = content(packet).capture_bytes(&headers, &mut bytes);
    (protocol, bytes)
}

#[test]
fn a_captured_packet_is_as_long_as_its_size() {
    for (transport, header) in [("xcp", 20), ("rcp", 12), ("abc", 0)] {
        let mut ends = ends(&format!("transport = \"{transport}\""));
        let mut kinds = [0; 3];
        for now in (0..200).step_by(40) {
            let packets = drain(&mut ends.sender, at(now));
            for packet in &packets {
                let (protocol, bytes) = captured(packet);
                let length = content(packet).data_length();
                assert_eq!(20 + bytes.len() as u32 + length, packet.size, "{transport}: {packet:?}");
                assert_eq!(protocol, if header == 0 { 6 } else { 253 });
                // The TCP header follows: the port of the flow.
                assert_eq!(bytes[header..header + 2], 50_000u16.to_be_bytes(), "{transport}");
                let is_syn = content(packet).tcp.segment.flags.contains(tcp::Flags::SYN);
                kinds[if length > 0 { 0 } else { usize::from(is_syn) + 1 }] += 1;
            }
            deliver(&mut ends.receiver, at(now + 20), packets, Some(1e5));
            let answers = drain(&mut ends.receiver, at(now + 20));
            for packet in &answers {
                let (_, bytes) = captured(packet);
                assert_eq!(20 + bytes.len() as u32, packet.size, "{transport}: {packet:?}");
            }
            deliver(&mut ends.sender, at(now + 40), answers, None);
        }
        assert!(kinds[0] > 0 && kinds[2] > 0, "{transport}: {kinds:?}");
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn a_captured_xcp_header_has_the_fields_of_the_draft() {
    let mut ends = Ends::open("transport = \"xcp\"", 0.0);
    let mut packets = drain(&mut ends.sender, at(40));
    if let SimPayload::Explicit(content) = &mut packets[1].payload.content {
        content.shim.allocation = -8000.0;
    }
    let (_, bytes) = captured(&packets[1]);
    assert_eq!(bytes[..4], [6, 20, 0x31, 0]);
    // Two packets in 40 ms: one each 20 ms, in 2^-28 s.
    assert!((f64::from(word(&bytes, 4)) / f64::from(1u32 << 28) - 0.02).abs() < 1e-7);
    assert!((f64::from(word(&bytes, 8)) / f64::from(1u32 << 28) - 0.04).abs() < 1e-7);
    assert_eq!(word(&bytes, 12), 0);
    assert_eq!(word(&bytes, 16) as i32, -1000);
    deliver(&mut ends.receiver, at(60), packets, Some(4000.0));
    let answers = drain(&mut ends.receiver, at(60));
    let (_, bytes) = captured(&answers[0]);
    // Two packets with 4000 bit/s each.
    assert_eq!((word(&bytes, 4), word(&bytes, 8), word(&bytes, 12), word(&bytes, 16)), (0, 0, 1000, 0));
}

#[test]
fn a_captured_rcp_header_has_the_rates_and_the_round_trip_time() {
    let mut ends = Ends::open("transport = \"rcp\"", 8e6);
    let packets = drain(&mut ends.sender, at(40));
    let (_, bytes) = captured(&packets[0]);
    // The request has no limit; 400 units of 100 us.
    assert_eq!((word(&bytes, 0), word(&bytes, 4)), (u32::MAX, 0));
    assert_eq!(bytes[8..12], [1, 0x90, 6, 0]);
    deliver(&mut ends.receiver, at(60), packets, Some(8e6));
    let answers = [drain(&mut ends.receiver, at(60)), drain(&mut ends.receiver, at(300))].concat();
    let (_, bytes) = captured(&answers[0]);
    assert_eq!((word(&bytes, 0), word(&bytes, 4)), (0, 1_000_000));
}
