//! Sender and receiver cost no heap allocation per packet in the steady state.

use std::collections::VecDeque;

use allocation_counter::measure;
use whimbrel_repair::channel::Cause;
use whimbrel_repair::receiver::{Receiver, ReceiverConfig};
use whimbrel_repair::sender::{Mark, Sender, SenderConfig};
use whimbrel_units::{Duration, Instant};

use super::simulation::Random;

const LATENCY: Duration = Duration::from_millis(120);
const ONE_WAY: Duration = Duration::from_millis(20);
const PARTS: usize = 16;

/// Packets on their way, in buffers that are used again.
#[derive(Default)]
struct Path {
    flight: VecDeque<(Instant, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
}

impl Path {
    fn push(&mut self, now: Instant, bytes: &[u8]) {
        let mut buffer = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(1_300));
        buffer.clear();
        buffer.extend_from_slice(bytes);
        self.flight.push_back((now + ONE_WAY, buffer));
    }

    fn pop(&mut self, now: Instant, into: &mut Vec<u8>) -> bool {
        if self.flight.front().is_none_or(|(at, _)| *at > now) {
            return false;
        }
        let (_, buffer) = self.flight.pop_front().expect("a packet");
        into.clear();
        into.extend_from_slice(&buffer);
        self.spare.push(buffer);
        true
    }
}

/// A stream of frames across a path that loses packets at random.
struct Stream {
    sender: Sender,
    receiver: Receiver,
    forward: Path,
    backward: Path,
    random: Random,
    loss: f64,
    /// Of the application's datagrams.
    bytes: usize,
    now: Instant,
    sent: usize,
    delivered: u64,
    buffers: [Vec<u8>; 2],
}

impl Stream {
    fn new(loss: f64, in_parts: bool, bytes: usize) -> Self {
        let mut receiver = Receiver::new(ReceiverConfig { in_parts, ..ReceiverConfig::new(1_200, LATENCY) });
        receiver.set_verdict(Cause::Radio);
        Self {
            sender: Sender::new(SenderConfig { in_parts, ..SenderConfig::new(1_200, LATENCY) }),
            receiver,
            forward: Path::default(),
            backward: Path::default(),
            random: Random(7),
            loss,
            bytes,
            now: Instant::from_secs(1),
            sent: 0,
            delivered: 0,
            buffers: [Vec::with_capacity(1_300), Vec::with_capacity(1_300)],
        }
    }

    fn millisecond(&mut self) {
        let Self { sender, receiver, forward, backward, random, now, .. } = self;
        let [bytes, payload] = &mut self.buffers;
        *now += Duration::from_millis(1);
        let now = *now;
        payload.clear();
        payload.resize(self.bytes, self.sent as u8);
        sender.send(now, payload, Mark::part(self.sent % PARTS, PARTS)).expect("an accepted datagram");
        self.sent += 1;
        while forward.pop(now, bytes) {
            receiver.handle_packet(now, bytes).expect("a datagram");
        }
        while backward.pop(now, bytes) {
            sender.handle_packet(now, bytes).expect("a report");
        }
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        while receiver.poll_delivery(now, bytes).is_some() {
            self.delivered += 1;
        }
        while sender.poll_event().is_some() {}
        while sender.poll_transmit(now, bytes).is_some() {
            if random.unit() >= self.loss {
                forward.push(now, bytes);
            }
        }
        while receiver.poll_transmit(now, bytes).is_some() {
            backward.push(now, bytes);
        }
    }
}

#[test]
fn sender_and_receiver_do_not_allocate() {
    let whole = SenderConfig::new(1_200, LATENCY).most_payload();
    for (loss, in_parts, bytes) in [
        (0.0, false, whole),
        (0.03, false, 1_000),
        (0.1, false, whole),
        (0.1, false, 1_000),
        (0.03, true, 1_000),
    ] {
        let mut stream = Stream::new(loss, in_parts, bytes);
        (0..20_000).for_each(|_| stream.millisecond());
        let (sent, received) = (stream.sender.counts(), stream.receiver.counts());
        let delivered = stream.delivered;
        let (mut allocating, mut largest) = (0, 0);
        for _ in 0..20_000 {
            let info = measure(|| stream.millisecond());
            allocating += u64::from(info.count_total > 0);
            // A plan takes many.
            largest = largest.max(if info.count_total == 1 { info.bytes_total } else { 0 });
        }
        assert_eq!(stream.delivered - delivered, 20_000);
        let repeats = stream.sender.counts().repeats - sent.repeats;
        assert!(repeats as f64 >= 20_000.0 * 0.9 * loss, "{repeats}");
        let restored = stream.receiver.counts().restored - received.restored;
        // Plans for a channel that has changed. The buffers of datagrams that are restored grow, once each,
        // to the size of a symbol.
        let grown = if bytes == whole { 0 } else { restored };
        assert!(allocating <= 12 + grown, "{loss}, {bytes}: {allocating} times, {restored} restored");
        assert!(largest <= 1_300, "{loss}, {bytes}: {largest} bytes");
        assert!(loss < 0.1 || restored > 100, "{restored}");
    }
}
