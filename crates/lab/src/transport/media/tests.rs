use std::sync::{Arc, Mutex};

use whimbrel_control::media::{
    Allowance, Feedback, MediaController, PacketReport, Probe, ProbeId, SentPacket,
};
use whimbrel_netsim::{Ecn, FlowId, Packet};
use whimbrel_scenario::Network;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::congestion_feedback::{CongestionFeedback, PacketMetric};

use super::*;
use crate::payload::{Envelope, SimPayload};
use crate::transport::{Content, FlowEnd, IpHeaders};
use crate::{Document, run};

mod scream_losses;

/// Bytes of a packet with 960 bytes of media.
const SIZE: u64 = 1000;

/// A law with a preset allowance, which records its inputs.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Recording>>);

#[derive(Debug, Default)]
struct Recording {
    /// Rate in bit/s.
    rate: f64,
    window: Option<u64>,
    probe: Option<Probe>,
    /// Rate of padding in bit/s.
    padding: f64,
    sent: Vec<SentPacket>,
    reports: Vec<PacketReport>,
    rtts: Vec<Option<Duration>>,
}

impl MediaController for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn ecn(&self) -> Ecn {
        Ecn::Ect1
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.0.lock().unwrap().sent.push(*packet);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let mut recording = self.0.lock().unwrap();
        recording.reports.extend(feedback.packets);
        recording.rtts.push(feedback.rtt);
    }

    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn on_timer(&mut self, _: Instant) {}
    fn allowance(&self) -> Allowance {
        let recording = self.0.lock().unwrap();
        let rate = DataRate::from_bits_per_second(recording.rate);
        Allowance { target: rate, pacing: rate, window: recording.window.map(ByteCount::new) }
    }

    fn poll_probe(&mut self, _: Instant) -> Option<Probe> {
        self.0.lock().unwrap().probe.take()
    }

    fn padding(&self) -> DataRate {
        DataRate::from_bits_per_second(self.0.lock().unwrap().padding)
    }

    fn on_path_change(&mut self, _: Instant) {}
}

/// The two ends of a flow with the traffic of `keys`, and its law.
struct Ends {
    sender: MediaSender,
    receiver: MediaReceiver,
    law: Recorder,
}

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

impl Ends {
    fn new(keys: &str, rate: f64) -> Self {
        let text = format!(
            "[simulation]\nduration = \"1000 s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
             rate = \"10 Mbit/s\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"media\"\npayload = \"960 B\"\n{keys}"
        );
        let plan = Document::from_toml(&text).unwrap().plan().unwrap_or_else(|error| panic!("{error}"));
        let network: Network<FlowAgent> = Network::new(&plan, &plan.events, 1);
        let law = Recorder::default();
        law.0.lock().unwrap().rate = rate;
        let mut flow = plan.flows[0].transport.get::<MediaFlow>().unwrap().clone();
        flow.settings.controller = Box::new(law.clone());
        let (nodes, links, streams) = (&network.nodes, &network.links, network.simulator.streams());
        let setup = FlowSetup::new(&plan, &plan.flows[0], FlowId(0), nodes, links, &[], streams);
        let [FlowAgent::MediaSender(sender), FlowAgent::MediaReceiver(receiver)] = flow.ends(&setup) else {
            panic!("ends of another transport")
        };
        Self { sender, receiver, law }
    }

    /// An adaptive encoder at 240 kbit/s: 30 packets per second, each a frame.
    fn adaptive() -> Self {
        Self::new("", 30.0 * 8.0 * SIZE as f64)
    }

    /// Runs the sender until `end` and returns what it sends.
    fn send_until(&mut self, end: Instant) -> Vec<(Instant, Packet<Envelope>)> {
        drain_until(&mut self.sender, end)
    }

    /// The reports until `end` reach the sender at once.
    fn report_until(&mut self, end: Instant) -> usize {
        let reports = drain_until(&mut self.receiver, end);
        let count = reports.len();
        for (time, mut packet) in reports {
            self.sender.handle_packet(time, packet.size, packet.ecn, &mut packet.payload);
        }
        count
    }

    fn receive(&mut self, at: Instant, packet: &Packet<Envelope>, ecn: Ecn) {
        self.receiver.handle_packet(at, packet.size, ecn, &mut packet.payload.clone());
    }

    fn in_flight(&self) -> u64 {
        self.sender.in_flight()
    }

    /// Sequence numbers and arrival times of the packets reported.
    fn reported(&self) -> Vec<(u64, Option<Instant>)> {
        let recording = self.law.0.lock().unwrap();
        recording.reports.iter().map(|report| (report.sent.sequence, report.arrival())).collect()
    }
}

/// All packets that an end sends until `end`.
fn drain_until(end_of_flow: &mut impl FlowEnd, end: Instant) -> Vec<(Instant, Packet<Envelope>)> {
    let mut packets = Vec::new();
    let mut now = Instant::ZERO;
    while let Some(due) = end_of_flow.poll_timeout().filter(|due| *due <= end) {
        now = now.max(due);
        end_of_flow.handle_timeout(now);
        packets.extend(std::iter::from_fn(|| end_of_flow.poll_transmit(now)).map(|packet| (now, packet)));
        assert!(end_of_flow.poll_timeout().is_none_or(|due| due > now), "no progress at {now:?}");
    }
    packets
}

#[test]
fn the_law_learns_the_arrival_and_the_mark_of_each_packet_and_each_loss() {
    let mut ends = Ends::adaptive();
    let packets = ends.send_until(at(130));
    assert_eq!(
        packets.iter().map(|(time, _)| time.as_nanos() / 1_000_000).collect::<Vec<_>>(),
        [0, 33, 66, 99]
    );
    assert!(packets.iter().all(|(_, packet)| packet.ecn == Ecn::Ect1 && u64::from(packet.size) == SIZE));
    // The third is lost and the second marked.
    for (index, ecn) in [(0, Ecn::Ect1), (1, Ecn::Ce), (3, Ecn::Ect1)] {
        let (sent, packet) = &packets[index];
        ends.receive(*sent + Duration::from_millis(20), packet, ecn);
    }
    assert_eq!(ends.report_until(at(130)), 1);
    let recording = ends.law.0.lock().unwrap();
    let reported: Vec<_> =
        recording.reports.iter().map(|report| (report.sent.sequence, report.is_marked())).collect();
    assert_eq!(reported, [(0, false), (1, true), (2, false), (3, false)]);
    for (index, report) in recording.reports.iter().enumerate() {
        assert_eq!(report.arrival().is_none(), index == 2);
        let Some(arrival) = report.arrival() else { continue };
        let error = arrival - (report.sent.sent_at + Duration::from_millis(20));
        // The report's units are 1/1024 s and 1/65536 s.
        assert!(error < Duration::from_micros(1000), "{error:?}");
    }
    assert_eq!(recording.rtts.len(), 1);
}

#[test]
fn reports_leave_at_the_interval_while_packets_arrive() {
    let mut ends = Ends::adaptive();
    let packets = ends.send_until(at(220));
    let mut times = Vec::new();
    for (sent, packet) in &packets {
        times.extend(
            drain_until(&mut ends.receiver, *sent).iter().map(|(time, _)| time.as_nanos() / 1_000_000),
        );
        ends.receive(*sent, packet, Ecn::NotEct);
    }
    times.extend(
        drain_until(&mut ends.receiver, at(1000)).iter().map(|(time, _)| time.as_nanos() / 1_000_000),
    );
    assert_eq!(times, [50, 100, 150, 200]);
}

#[test]
fn a_packet_that_arrives_after_the_report_that_missed_it_is_reported() {
    let mut ends = Ends::adaptive();
    let packets = ends.send_until(at(130));
    ends.receive(at(20), &packets[0].1, Ecn::NotEct);
    ends.receive(at(60), &packets[2].1, Ecn::NotEct);
    assert_eq!(ends.report_until(at(70)), 1);
    ends.receive(at(75), &packets[1].1, Ecn::NotEct);
    ends.receive(at(76), &packets[3].1, Ecn::NotEct);
    assert_eq!(ends.report_until(at(130)), 1);
    let reported: Vec<_> =
        ends.reported().iter().map(|(sequence, arrival)| (*sequence, arrival.is_some())).collect();
    assert_eq!(reported, [(0, true), (1, false), (2, true), (1, true), (3, true)]);
}

#[test]
fn reports_continue_where_the_sequence_numbers_of_rtp_wrap() {
    let mut ends = Ends::new("", 65_600.0 * 8.0 * SIZE as f64);
    let mut count = 0;
    for end in (10..=1010).step_by(10).map(at) {
        for (sent, packet) in ends.send_until(end) {
            count += 1;
            ends.receive(sent, &packet, Ecn::NotEct);
            ends.report_until(sent);
        }
    }
    assert!(count > 65_536, "{count} packets");
    ends.report_until(at(1100));
    let reported = ends.reported();
    assert!(reported.iter().map(|(sequence, _)| *sequence).eq(0..count));
    assert!(reported.iter().all(|(_, arrival)| arrival.is_some()));
}

#[test]
fn a_gap_longer_than_a_report_takes_several_and_none_of_its_packets_stays_in_flight() {
    // 5000 packets per second, of which 3000 in a row are lost.
    let mut ends = Ends::new("", 5000.0 * 8.0 * SIZE as f64);
    let mut count = 0;
    for end in (10..=1000).step_by(10).map(at) {
        for (sent, packet) in ends.send_until(end) {
            if !(1000..4000).contains(&count) {
                ends.receive(sent, &packet, Ecn::NotEct);
            }
            ends.report_until(sent);
            count += 1;
        }
    }
    ends.report_until(at(1100));
    let reported = ends.reported();
    assert!(reported.iter().map(|(sequence, _)| *sequence).eq(0..count));
    let missing = reported.iter().filter(|(_, arrival)| arrival.is_none()).count();
    assert_eq!((missing, ends.in_flight()), (3000, 0));
}

#[test]
fn a_lost_report_leaves_its_packets_without_a_fate_and_out_of_flight() {
    let mut ends = Ends::adaptive();
    let packets = ends.send_until(at(230));
    for (sent, packet) in &packets[..3] {
        ends.receive(*sent, packet, Ecn::NotEct);
    }
    assert_eq!(drain_until(&mut ends.receiver, at(90)).len(), 1, "the report that is lost");
    for (sent, packet) in &packets[3..6] {
        ends.receive(*sent, packet, Ecn::NotEct);
    }
    ends.report_until(at(220));
    let reported: Vec<_> = ends.reported().iter().map(|(sequence, _)| *sequence).collect();
    assert_eq!((reported, ends.in_flight()), (vec![3, 4, 5], SIZE));
}

#[test]
fn packets_that_arrived_at_an_unknown_time_are_not_in_flight() {
    let mut ends = Ends::adaptive();
    for (_, packet) in ends.send_until(at(130)) {
        ends.receive(at(130), &packet, Ecn::NotEct);
    }
    // More than eight seconds before the report.
    let (_, mut report) = drain_until(&mut ends.receiver, at(9000)).remove(0);
    let SimPayload::Media(MediaContent::Feedback(feedback)) = &mut report.payload.content else { panic!() };
    feedback.streams[0].metrics.fill(PacketMetric::received(Ecn::NotEct, 9 * 1024));
    ends.sender.handle_packet(at(9000), report.size, report.ecn, &mut report.payload);
    assert_eq!((ends.reported(), ends.in_flight()), (vec![], 0));
}

#[test]
fn a_window_stops_the_sender_and_a_report_lets_it_continue() {
    let mut ends = Ends::adaptive();
    ends.law.0.lock().unwrap().window = Some(2 * SIZE);
    let packets = ends.send_until(at(150));
    assert_eq!(packets.len(), 2);
    ends.receive(at(150), &packets[0].1, Ecn::NotEct);
    ends.receive(at(150), &packets[1].1, Ecn::NotEct);
    assert_eq!(ends.report_until(at(200)), 1);
    assert_eq!(ends.send_until(at(200)).len(), 2);
}

#[test]
fn an_encoder_skips_frames_rather_than_queue_them_for_longer_than_it_may() {
    let mut ends = Ends::adaptive();
    ends.law.0.lock().unwrap().window = Some(0);
    assert_eq!(ends.send_until(at(2000)).len(), 1, "a window does not stop what has nothing in the network");
    // 200 ms at 240 kbit/s are 6 packets; the frame that exceeds them is the last.
    let mut queued = 0;
    while ends.sender.encoder_mut().pop().is_some() {
        queued += 1;
    }
    assert_eq!(queued, 7);
}

#[test]
fn other_traffic_expires_in_the_queue_of_a_blocked_sender() {
    let mut ends = Ends::new("traffic = { kind = \"cbr\", rate = \"80 kbit/s\" }", 1e6);
    ends.law.0.lock().unwrap().window = Some(0);
    ends.send_until(at(1000));
    // Ten datagrams a second, of which the first was sent and the last 200 ms wait.
    let expired = ends.sender.meter().counters().expired_datagrams;
    assert!((7..=8).contains(&expired), "{expired}");
}

#[test]
fn a_probe_is_sent_at_its_rate_with_padding_where_media_do_not_suffice() {
    let mut ends = Ends::adaptive();
    let rate = DataRate::from_kilobits_per_second(2360.0);
    let probe = Probe { id: ProbeId(3), rate, size: ByteCount::new(4000), packets: 5 };
    ends.law.0.lock().unwrap().probe = Some(probe);
    let packets = ends.send_until(at(30));
    let recording = ends.law.0.lock().unwrap();
    assert!(recording.sent.iter().all(|packet| packet.probe == Some(ProbeId(3))));
    // A packet of media, and packets of 295 bytes, each 1 ms.
    assert_eq!(packets.len(), 1 + 3000_usize.div_ceil(295));
    let [.., (before, _), (last, padding)] = &packets[..] else { panic!("few packets") };
    assert_eq!((*last - *before).as_micros(), 1000);
    assert_eq!((padding.size, padding.payload.content.data_length()), (295, 0));
    assert_eq!(ends.sender.meter().counters().sent_packets, 1);
}

#[test]
fn padding_fills_what_the_media_leave_of_the_rate_asked_for() {
    let mut ends = Ends::new("traffic = { kind = \"cbr\", rate = \"80 kbit/s\" }", 1e6);
    ends.law.0.lock().unwrap().padding = 400e3;
    ends.send_until(at(10_000));
    let sent: u64 = ends.law.0.lock().unwrap().sent.iter().map(|packet| packet.size.as_u64()).sum();
    assert!((sent as f64 * 8.0 / 4e6 - 1.0).abs() < 0.01, "{sent} bytes");
    // Ten packets of media each second.
    assert_eq!(ends.sender.meter().counters().sent_packets, 101);
}

#[test]
fn packets_have_the_bytes_of_rtp_and_rtcp_in_captures() {
    let mut ends = Ends::adaptive();
    let (_, packet) = ends.send_until(at(0)).remove(0);
    let addresses = IpHeaders {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        flow_port: 5004,
        sink_port: 9,
        is_encapsulated: false,
    };
    let bytes = |packet: &Packet<Envelope>| {
        let mut bytes = Vec::new();
        let SimPayload::Media(content) = &packet.payload.content else { panic!("another transport") };
        assert_eq!(content.capture_bytes(&addresses, &mut bytes), 17);
        assert_eq!(bytes.len() + 20, packet.size as usize);
        bytes
    };
    let rtp = bytes(&packet);
    assert_eq!(rtp[..8], [0x13, 0x8c, 0, 9, 0x03, 0xd4, 0, 0]);
    assert_eq!(rtp[8..20], [0x80, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    ends.receive(at(20), &packet, Ecn::NotEct);
    let (_, report) = drain_until(&mut ends.receiver, at(70)).remove(0);
    let rtcp = CongestionFeedback::decode(&bytes(&report)[8..]).unwrap();
    assert_eq!((rtcp.streams[0].first, rtcp.streams[0].metrics.len()), (0, 1));
}

/// A cell of the `flows` table after a run of `keys` over a link of 2 Mbit/s and 20 ms.
fn cell(keys: &str, column: &str) -> f64 {
    let text = format!(
        "[simulation]\nduration = \"20 s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
         rate = \"2 Mbit/s\"\ndelay = \"20 ms\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"media\"\npayload = \"960 B\"\n{keys}"
    );
    let record =
        run(&Document::from_toml(&text).unwrap().plan().unwrap_or_else(|error| panic!("{error}")), 1);
    record.table("flows").and_then(|table| table.number(column, 0)).unwrap_or_else(|| panic!("no {column}"))
}

#[test]
fn a_constant_rate_is_that_of_the_link_with_headers() {
    let goodput = cell("media = { start_rate = \"1 Mbit/s\" }", "goodput_bps");
    assert!((goodput / 960e3 - 1.0).abs() < 0.01, "{goodput}");
}

#[test]
fn settings_that_contradict_each_other_name_the_key() {
    let plan = |media: &str| {
        let text = format!(
            "[simulation]\nduration = \"1 s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
             rate = \"2 Mbit/s\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"media\"\nmedia = {{ {media} }}"
        );
        Document::from_toml(&text).and_then(|document| document.plan()).unwrap_err().to_string()
    };
    for (keys, key) in [
        ("start_rate = \"100 kbit/s\"", "media.start_rate"),
        ("min_rate = \"0 bit/s\"", "media.min_rate"),
        ("frame_rate = \"0 Hz\"", "media.frame_rate"),
        ("report_interval = \"0 s\"", "media.report_interval"),
        ("controller = \"fast\"", "media.controller"),
    ] {
        let error = plan(keys);
        assert!(error.contains(key), "{error}");
    }
}

/// Goodput in Mbit/s of a law over 6 Mbit/s with 40 ms, from 20 to 50 s, with losses in both directions.
fn goodput(law: &str, [there, back]: [&str; 2], report_interval: &str) -> f64 {
    let text = format!(
        "[simulation]\nduration = \"50 s\"\nwarm_up = \"20 s\"\n[[node]]\nname = \"camera\"\n[[node]]\nname = \"viewer\"\n\
         [[link]]\nbetween = [\"camera\", \"viewer\"]\nrate = \"6 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"150 packets\"\n\
         loss = {{ model = \"bernoulli\", rate = \"{there}\" }}\n\
         reverse = {{ rate = \"100 Mbit/s\", loss = {{ model = \"bernoulli\", rate = \"{back}\" }} }}\n\
         [[flow]]\nname = \"video\"\nfrom = \"camera\"\nto = \"viewer\"\ntransport = \"media\"\npayload = \"1160 B\"\nstart = \"1 s\"\n\
         media = {{ controller = \"{law}\", max_rate = \"20 Mbit/s\", report_interval = \"{report_interval}\" }}\n"
    );
    let plan = Document::from_toml(&text).unwrap().plan().unwrap_or_else(|error| panic!("{error}"));
    run(&plan, 1).table("flows").and_then(|table| table.number("goodput_bps", 0)).unwrap() / 1e6
}

#[test]
fn lost_reports_cost_no_law_its_rate() {
    for law in ["bbr", "copa", "scream", "gcc", "nada", "delay-aware"] {
        let [clean, lossy] = ["0 %", "1 %"].map(|back| goodput(law, ["0 %", back], "20 ms"));
        assert!(clean > 5.0 && lossy > 0.97 * clean, "{law}: {lossy} of {clean} Mbit/s");
    }
}
