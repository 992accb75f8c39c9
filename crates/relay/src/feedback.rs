//! Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01): the arrivals of RTP packets
//! at this end, reported to the programs that sent them, which is what the encoders of WebRTC and of
//! GStreamer's `rtpbin` measure the path by.

use std::collections::BTreeMap;

use bytes::Bytes;
use whimbrel_rtp::{ArrivalLog, RtpPacket};
use whimbrel_units::{Duration, Instant};

use crate::edge::flow::Flow;
use crate::pace::UPDATE_TIME;

/// Time without packets after which a flow is forgotten.
const IDLE_TIME: Duration = Duration::from_secs(10);
/// The most flows that are followed: what a peer can make this end keep.
const MAX_FLOWS: usize = 256;

/// The arrivals of all flows of a connection.
#[derive(Debug)]
pub(super) struct Feedback {
    /// Identifier of the header extension that has the sequence numbers.
    extension: u8,
    /// SSRC of this end in messages.
    sender: u32,
    flows: BTreeMap<Flow, Arrivals>,
    /// Time before which no further message leaves: updates are more frequent when the rate of *this* end
    /// falls, which says nothing about the packets of the other end.
    due: Instant,
}

#[derive(Debug)]
struct Arrivals {
    log: ArrivalLog,
    /// SSRC of the last packet.
    source: u32,
    used: Instant,
}

impl Feedback {
    pub(super) fn new(extension: u8, sender: u32) -> Self {
        Self { extension, sender, flows: BTreeMap::new(), due: Instant::ZERO }
    }

    /// A datagram of the peer has arrived.
    pub(super) fn record(&mut self, now: Instant, flow: Flow, datagram: &[u8]) {
        let Some(packet) = RtpPacket::parse(datagram) else { return };
        let Some(sequence) = packet.transport_sequence(self.extension) else { return };
        if !self.flows.contains_key(&flow) && self.flows.len() >= MAX_FLOWS {
            return;
        }
        let source = packet.source();
        let arrivals =
            self.flows.entry(flow).or_insert_with(|| Arrivals { log: ArrivalLog::new(), source, used: now });
        (arrivals.source, arrivals.used) = (source, now);
        arrivals.log.record(sequence, now);
    }

    /// The messages that are due, with the flows to which they belong: one in 100 ms for each flow, and more
    /// if late packets or long gaps need more.
    pub(super) fn take(&mut self, now: Instant) -> Vec<(Flow, Bytes)> {
        if now < self.due {
            return Vec::new();
        }
        self.due = now + Duration::from(UPDATE_TIME);
        self.flows.retain(|_, arrivals| now < arrivals.used + IDLE_TIME);
        let mut messages = Vec::new();
        for (flow, arrivals) in &mut self.flows {
            while let Some(report) = arrivals.log.poll(self.sender, arrivals.source) {
                let mut bytes = Vec::new();
                // The log makes valid reports only.
                if report.encode(&mut bytes).is_ok() {
                    messages.push((*flow, bytes.into()));
                }
            }
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use whimbrel_rtp::TransportFeedback;

    use super::*;

    /// An RTP packet with that transport-wide sequence number in an extension with the identifier 5.
    fn packet(sequence: u16) -> Vec<u8> {
        let [high, low] = sequence.to_be_bytes();
        vec![0x90, 96, 0, 1, 0, 0, 0, 7, 0, 0, 0, 9, 0xbe, 0xde, 0, 1, 0x51, high, low, 0, 0x65, 0x88]
    }

    fn flow(number: u8) -> Flow {
        Flow { port: 0, number }
    }

    #[test]
    fn each_flow_has_reports_of_its_own() {
        let mut feedback = Feedback::new(5, 77);
        for (at, number, sequence) in [(10, 0, 100), (12, 0, 102), (15, 1, 7)] {
            feedback.record(Instant::from_millis(at), flow(number), &packet(sequence));
        }
        let messages = feedback.take(Instant::from_millis(100));
        let read = |(flow, bytes): &(Flow, Bytes)| {
            let report = TransportFeedback::decode(bytes).expect("a report");
            assert_eq!((report.sender, report.media), (77, 9));
            (flow.number, report.count, report.arrivals().collect::<Vec<_>>())
        };
        let read: Vec<_> = messages.iter().map(read).collect();
        assert_eq!(read, [(0, 3, vec![(100, 40), (102, 48)]), (1, 1, vec![(7, 60)])]);
        assert_eq!(feedback.take(Instant::from_millis(200)), []);
    }

    #[test]
    fn frequent_updates_make_no_frequent_messages() {
        let mut feedback = Feedback::new(5, 77);
        let mut messages = 0;
        for number in 0..50 {
            let now = Instant::from_millis(20 * u64::from(number));
            feedback.record(now, flow(0), &packet(number));
            messages += feedback.take(now).len();
        }
        assert_eq!(messages, 10);
    }

    #[test]
    fn other_datagrams_and_idle_flows_take_no_memory() {
        let now = Instant::from_secs(1);
        let mut feedback = Feedback::new(6, 77);
        for datagram in [&b"hello"[..], &packet(1), &[0x80, 200, 0, 6, 0, 0, 0, 9, 0, 0, 0, 0]] {
            feedback.record(now, flow(0), datagram);
        }
        assert!(feedback.flows.is_empty());
        let mut feedback = Feedback::new(5, 77);
        for port in 0..4 {
            (0..=u8::MAX).for_each(|number| feedback.record(now, Flow { port, number }, &packet(1)));
        }
        assert_eq!((feedback.flows.len(), feedback.take(now).len()), (MAX_FLOWS, MAX_FLOWS));
        assert_eq!(feedback.take(now + IDLE_TIME), []);
        assert!(feedback.flows.is_empty());
    }
}
