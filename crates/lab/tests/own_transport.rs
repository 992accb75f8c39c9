//! A transport that is not in the laboratory's table, added to a document from outside.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_lab::metrics::Meter;
use whimbrel_lab::payload::{Envelope, SimPayload};
use whimbrel_lab::run;
use whimbrel_lab::scenario::quantity::Rate;
use whimbrel_lab::scenario::{Document, ScenarioError};
use whimbrel_lab::traffic::TrafficSource;
use whimbrel_lab::transport::{
    Content, FlowAgent, FlowEnd, FlowSetup, FlowTransport, IpHeaders, Transport, Transports,
};
use whimbrel_netsim::{Ecn, FlowId, LossCause, NodeId, Packet, PacketId};
use whimbrel_units::{ByteCount, DataRate, Instant};

/// Sends all data of the application at a constant rate, and never looks back.
#[derive(Debug)]
struct Constant;

/// Key of a flow with this transport.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Keys {
    /// Constant only: the rate on the link.
    #[serde(default)]
    pace: Option<Rate>,
}

impl Transport for Constant {
    const NAME: &'static str = "constant";
    const DESCRIPTION: &'static str = "Datagrams at a constant rate.";
    const KEYS: &'static [&'static str] = &["pace"];
    type Keys = Keys;

    fn configure(&self, key: &str, keys: Keys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        let missing = || ScenarioError::missing(format!("{key}.pace"), "a rate such as \"1 Mbit/s\"");
        Ok(Box::new(ConstantFlow { pace: keys.pace.ok_or_else(missing)?.0 }))
    }
}

#[derive(Clone, Debug)]
struct ConstantFlow {
    pace: DataRate,
}

impl FlowTransport for ConstantFlow {
    fn scheme(&self) -> String {
        "constant".to_owned()
    }

    fn headers(&self) -> u32 {
        20
    }

    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2] {
        let sender = Sender {
            to: flow.to,
            id: flow.id,
            headers: flow.headers,
            pace: self.pace,
            next: flow.start,
            number: 0,
            source: flow.source(),
            meter: flow.meter(),
        };
        [FlowAgent::Other(Box::new(sender)), FlowAgent::Other(Box::new(Receiver { meter: flow.meter() }))]
    }
}

#[derive(Clone, Debug)]
struct Numbered {
    number: u64,
    length: u32,
}

impl Content for Numbered {
    fn data_length(&self) -> u32 {
        self.length
    }

    fn numbers(&self) -> (u64, u64) {
        (self.number, self.number)
    }

    fn capture_bytes(&self, _: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        out.extend(self.number.to_be_bytes());
        // Reserved for experiments (RFC 3692).
        253
    }
}

#[derive(Debug)]
struct Sender {
    to: NodeId,
    id: FlowId,
    headers: u32,
    pace: DataRate,
    next: Instant,
    number: u64,
    source: TrafficSource,
    meter: Meter,
}

impl FlowEnd for Sender {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, _: Instant, _: u32, _: Ecn, _: &mut Envelope) {}
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Envelope>> {
        if now < self.next {
            return None;
        }
        let Some(emission) = self.source.poll_emission(now) else {
            if self.source.is_greedy() {
                // A greedy application that has nothing to send has ended.
                self.next = Instant::FAR_FUTURE;
            }
            return None;
        };
        let size = emission.size + self.headers;
        self.next = now + ByteCount::new(u64::from(size)) / self.pace;
        self.number += 1;
        self.meter.on_sent(size);
        let content = Numbered { number: self.number, length: emission.size };
        Some(Packet {
            id: PacketId(0),
            flow: self.id,
            source: NodeId::default(),
            destination: self.to,
            size,
            ecn: Ecn::NotEct,
            payload: Envelope { sent: now, content: SimPayload::Other(Box::new(content)) },
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.source.poll_timeout()?.max(self.next);
        (next < Instant::FAR_FUTURE).then_some(next)
    }
}

#[derive(Debug)]
struct Receiver {
    meter: Meter,
}

impl FlowEnd for Receiver {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn handle_packet(&mut self, now: Instant, size: u32, ecn: Ecn, envelope: &mut Envelope) {
        let length = u64::from(envelope.content.data_length());
        self.meter.on_received(now, envelope.packet_info(size), length, ecn);
    }

    fn handle_loss(&mut self, now: Instant, packet: Packet<Envelope>, cause: LossCause) {
        self.meter.on_lost(now, packet.payload.packet_info(packet.size), cause);
    }
}

const TEXT: &str = concat!(
    pair!(
        r#"
rate = "1 Mbit/s"
delay = "20 ms"
queue = "5 packets"
"#
    ),
    r#"
[simulation]
duration = "10 s"
[[flow]]
name = "steady"
from = "a"
to = "b"
transport = "constant"
packet_size = "1000 B"
pace = "800 kbit/s"
"#
);

fn document() -> Document {
    Document::from_toml(TEXT).unwrap().with_transports(Transports::default().with(Constant))
}

#[test]
fn a_transport_from_outside_runs_in_a_scenario() {
    let record = run(&document().plan().unwrap(), 1);
    let flows = record.table("flows").unwrap();
    assert_eq!((flows.text("scheme", 0), flows.text("classifier", 0)), (Some("constant"), Some("none")));
    // A packet of 1000 B every 10 ms; the last one is sent at 9.99 s and is under way at the end.
    assert_eq!(flows.number("sent_packets", 0), Some(1_000.0));
    assert_eq!(flows.number("received_packets", 0), Some(998.0));
    assert_eq!(flows.number("delivered_bytes", 0), Some(998.0 * 980.0));
    // 8 ms for 1000 B at 1 Mbit/s, and 20 ms.
    assert!((flows.number("delay_mean_s", 0).unwrap() - 0.028).abs() < 1e-12);
}

#[test]
fn its_losses_are_counted_like_those_of_the_others() {
    let mut document = document();
    document.set("flow.steady.pace", "2 Mbit/s").unwrap();
    let record = run(&document.plan().unwrap(), 1);
    let flows = record.table("flows").unwrap();
    let number = |column| flows.number(column, 0).unwrap();
    assert_eq!(number("sent_packets"), 2_500.0);
    assert_eq!(number("received_packets") + number("lost_queue") + number("under_way_packets"), 2_500.0);
    assert!(number("lost_queue") > 1_200.0, "{}", number("lost_queue"));
}

#[test]
fn its_keys_are_checked_like_those_of_the_others() {
    let error = |key: &str, value: &str| {
        let mut document = document();
        document.set(key, value).unwrap();
        document.plan().unwrap_err().to_string()
    };
    assert!(error("flow.steady.pace", "fast").starts_with("flow[0].pace = \"fast\": expected a rate"));
    assert_eq!(
        error("flow.steady.ccid", "3"),
        "flow[0].ccid = ...: expected nothing: only flows with transport = \"dccp\" have it"
    );
    let message = error("flow.steady.pase", "1 Mbit/s");
    assert!(message.contains("did you mean `pace`?"), "{message}");
    assert_eq!(
        error("flow.steady.transport", "sctp"),
        "flow[0].transport = \"sctp\": expected one of \"dccp\", \"tcp\", \"udp\", \"media\", \"mp-dccp\", \"xcp\", \"rcp\", \"abc\", \"constant\""
    );
    // Another transport leaves the key behind.
    let mut document = document();
    document.set("flow.steady.transport", "dccp").unwrap();
    assert!(document.as_json()["flow"][0].get("pace").is_none());
    document.plan().unwrap();
    // Without the transport, there is neither the name nor the key.
    let message = Document::from_toml(TEXT).unwrap().plan().unwrap_err().to_string();
    assert!(message.starts_with("flow[0].pace: unknown key"), "{message}");
}

#[test]
fn the_schema_has_its_keys() {
    let schema = whimbrel_scenario::schema(&Transports::default().with(Constant));
    assert!(schema.pointer("/$defs/Flow/properties/pace").is_some());
    let names = schema.pointer("/$defs/Transport/oneOf").unwrap().as_array().unwrap();
    assert_eq!(names.last().unwrap()["const"], "constant");
}

#[test]
fn its_packets_are_captured() {
    let plan = document().plan().unwrap();
    let mut run = whimbrel_lab::Run::new(&plan, 1);
    run.capture(|_| true);
    run.execute(|_| std::ops::ControlFlow::Continue(()));
    let bytes = run.take_capture();
    let header = [0x45, 0, 1000u16.to_be_bytes()[0], 1000u16.to_be_bytes()[1]];
    let found = bytes.windows(20).filter(|window| window[..4] == header && window[9] == 253).count();
    assert_eq!(found, 998);
}
