//! A sender and a receiver over a channel of the table of bounds, in simulated time.

use std::collections::BTreeMap;

use whimbrel_repair::channel::{Cause, Channel};
use whimbrel_repair::receiver::{Receiver, ReceiverConfig};
use whimbrel_repair::sender::{Mark, Sender, SenderConfig, SenderCounts};
use whimbrel_units::{Duration, Instant};

#[path = "random.rs"]
mod random;

pub(crate) use random::Random;

/// Cause of losses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss {
    /// The state moves before each packet.
    Packets(Channel),
    /// The state moves with each frame interval.
    Frames(Channel),
    /// Everything within a time is lost, every five seconds.
    Fade(Duration),
    /// Everything is lost from the first packet on, for a time; afterwards 3 % are.
    DeadStart(Duration),
    /// Everything is held from the first packet on, for a time, and arrives afterwards.
    HeldStart(Duration),
}

impl Loss {
    /// The channel of a name in the table of bounds.
    pub(crate) fn named(name: &str) -> Self {
        let tambur = Channel { to_bad: 0.068, to_good: 0.852, loss_good: 0.04, loss_bad: 0.5 };
        let fade = |milliseconds| Self::Fade(Duration::from_millis(milliseconds));
        match name {
            "tambur packets" => Self::Packets(tambur),
            "tambur frames" => Self::Frames(tambur),
            "1 %" => Self::Packets(Channel::independent(0.01)),
            "3 %" => Self::Packets(Channel::independent(0.03)),
            "8 %" => Self::Packets(Channel::independent(0.08)),
            "20 %" => Self::Packets(Channel::independent(0.2)),
            "bursts of 8, 5 %" => Self::Packets(Channel::bursts(0.05, 8.0)),
            "fade 50 ms" => fade(50),
            "fade 200 ms" => fade(200),
            "fade 500 ms" => fade(500),
            "dead for 0.3 s" => Self::DeadStart(Duration::from_millis(300)),
            "dead for 5 s" => Self::DeadStart(Duration::from_secs(5)),
            "held for 5 s" => Self::HeldStart(Duration::from_secs(5)),
            _ => panic!("no channel is called {name}"),
        }
    }
}

/// The lossy direction of a path.
pub(crate) struct Lossy {
    loss: Loss,
    random: Random,
    is_bad: bool,
    slot: u64,
    interval: Duration,
}

impl Lossy {
    fn step(&mut self, channel: Channel) {
        let draw = self.random.unit();
        self.is_bad = if self.is_bad { draw >= channel.to_good } else { draw < channel.to_bad };
    }

    pub(crate) fn loses(&mut self, now: Instant) -> bool {
        let channel = match self.loss {
            Loss::Packets(channel) => {
                self.step(channel);
                channel
            }
            Loss::Frames(channel) => {
                let slot = now.as_nanos() / self.interval.as_nanos();
                for _ in self.slot..slot.min(self.slot + 100) {
                    self.step(channel);
                }
                self.slot = slot;
                channel
            }
            // The phase of the fades moves relative to the frames.
            Loss::Fade(length) => return now.as_nanos() % 5_003_000_000 < length.as_nanos(),
            Loss::HeldStart(_) => return false,
            Loss::DeadStart(length) if now < START + length => return true,
            Loss::DeadStart(_) => {
                let channel = Channel::independent(0.03);
                self.step(channel);
                channel
            }
        };
        let loss = if self.is_bad { channel.loss_bad } else { channel.loss_good };
        self.random.unit() < loss
    }
}

/// A row of the table of bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub loss: Loss,
    pub is_video: bool,
    pub round_trip: Duration,
    pub budget: Duration,
    /// Each packet takes up to so much longer than half of the round-trip time, so that packets overtake each
    /// other.
    pub jitter: Duration,
}

/// Results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub frames: u64,
    pub missed: u64,
    /// Packets sent beyond one, per packet of the source.
    pub overhead: f64,
    pub reports_per_frame: f64,
}

impl Outcome {
    pub(crate) fn missed_share(&self) -> f64 {
        self.missed as f64 / self.frames as f64
    }
}

enum Event {
    Frame(u64),
    Part(u64, usize),
    ToReceiver(Vec<u8>),
    ToSender(Vec<u8>),
    Wake,
}

struct Queue {
    events: BTreeMap<(Instant, u64), Event>,
    count: u64,
}

impl Queue {
    fn push(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }
}

fn payload(frame: u64, part: usize) -> Vec<u8> {
    let mut random = Random(frame * 1_000 + part as u64);
    let length = 120 + random.word() as usize % 8;
    (0..length).map(|_| random.word() as u8).collect()
}

/// When the first frame is captured.
const START: Instant = Instant::from_secs(10);

/// Runs `warm + frames` frames; the first are not counted.
pub(crate) fn run(row: Row, warm: u64, frames: u64, seed: u64) -> Outcome {
    let (packets, interval, spread) = if row.is_video {
        (16, Duration::from_nanos(33_333_333), Duration::from_nanos(16_666_667))
    } else {
        (1, Duration::from_millis(20), Duration::ZERO)
    };
    let one_way = row.round_trip / 2;
    let latency = row.budget - one_way;
    let mut sender = Sender::new(SenderConfig::new(160, latency));
    let mut receiver = Receiver::new(ReceiverConfig::new(160, latency));
    receiver.set_verdict(Cause::Radio);
    let mut lossy = Lossy { loss: row.loss, random: Random(seed), is_bad: false, slot: 0, interval };
    let mut queue = Queue { events: BTreeMap::new(), count: 0 };
    let mut random = Random(!seed);
    let mut takes = || one_way + row.jitter.mul_f64(random.unit());
    let start = START;
    queue.push(start, Event::Frame(0));
    let total = warm + frames;
    let mut whole = vec![0_usize; total as usize];
    let (mut out, mut next_wake) = (Vec::new(), Instant::FAR_FUTURE);
    let mut next_delivery = (0_u64, 0_usize);
    let mut before = SenderCounts::default();
    let mut reports_before = 0;
    let captured = |frame: u64| start + interval * frame;
    let end = captured(total) + row.budget + Duration::from_secs(1);
    while let Some(((now, _), event)) = queue.events.pop_first() {
        if now > end {
            break;
        }
        match event {
            Event::Frame(frame) => {
                if frame == warm {
                    before = sender.counts();
                    reports_before = receiver.counts().reports;
                }
                for part in 0..packets {
                    queue.push(now + spread * part as u64 / packets as u64, Event::Part(frame, part));
                }
                if frame + 1 < total {
                    queue.push(captured(frame + 1), Event::Frame(frame + 1));
                }
            }
            Event::Part(frame, part) => {
                let mark = if packets == 1 { Mark::SINGLE } else { Mark::part(part, packets) };
                let mark = Mark { captured: Some(captured(frame)), ..mark };
                // No group is given up here: each frame counts for itself.
                let mark = Mark { role: whimbrel_repair::wire::Role::Disposable, ..mark };
                sender.send(now, &payload(frame, part), mark).expect("an accepted datagram");
            }
            Event::ToReceiver(bytes) => receiver.handle_packet(now, &bytes).expect("a datagram"),
            Event::ToSender(bytes) => sender.handle_packet(now, &bytes).expect("a report"),
            // Another one was set since.
            Event::Wake if now != next_wake => continue,
            Event::Wake => {
                next_wake = Instant::FAR_FUTURE;
                sender.handle_timeout(now);
                receiver.handle_timeout(now);
            }
        }
        while sender.poll_transmit(now, &mut out).is_some() {
            if !lossy.loses(now) {
                let leaves = match row.loss {
                    Loss::HeldStart(length) => now.max(START + length),
                    _ => now,
                };
                queue.push(leaves + takes(), Event::ToReceiver(out.clone()));
            }
        }
        while sender.poll_event().is_some() {}
        while let Some(delivered) = receiver.poll_delivery(now, &mut out) {
            // Frames have 16 bits; they are delivered in order.
            let parts = delivered.esi.0 as u64;
            let (frame, part) = (parts / packets as u64, (parts % packets as u64) as usize);
            assert!((frame, part) >= next_delivery, "delivered twice or out of order");
            next_delivery = (frame, part + 1);
            assert_eq!(delivered.frame, frame as u16);
            assert_eq!(out, payload(frame, part), "altered");
            // The fastest of the packets that show what the path takes has some jitter, too.
            if now <= captured(frame) + row.budget + row.jitter / 10 + Duration::from_micros(100) {
                whole[frame as usize] += 1;
            }
        }
        while receiver.poll_transmit(now, &mut out).is_some() {
            queue.push(now + takes(), Event::ToSender(out.clone()));
        }
        let due = [sender.poll_timeout(), receiver.poll_timeout()].into_iter().flatten().min();
        if let Some(due) = due.filter(|&due| due < next_wake) {
            next_wake = due.max(now + Duration::from_nanos(1));
            queue.push(next_wake, Event::Wake);
        }
    }
    let counts = sender.counts();
    let sent = |counts: SenderCounts| counts.repeats + counts.parity + counts.surplus;
    Outcome {
        frames,
        missed: whole[warm as usize..].iter().filter(|&&parts| parts < packets).count() as u64,
        overhead: (sent(counts) - sent(before)) as f64 / (counts.source - before.source) as f64,
        reports_per_frame: (receiver.counts().reports - reports_before) as f64 / frames as f64,
    }
}
