//! Packets as the layer makes them, by a sender and a receiver of `whimbrel-repair`.

use whimbrel_repair::receiver::{Receiver, ReceiverConfig};
use whimbrel_repair::sender::{Mark, Sender, SenderConfig, Sent};
use whimbrel_repair::wire::Role;
use whimbrel_units::{Duration, Instant};

use super::*;

const LATENCY: Duration = Duration::from_millis(120);
const DELAY: Duration = Duration::from_millis(15);

/// Two ends, packets on their way, and the view of a capture at the sender.
struct Path {
    sender: Sender,
    receiver: Receiver,
    flying: Vec<(Instant, bool, Vec<u8>)>,
    seen: Repair,
    /// The capture is at the receiver: what is lost is not in it.
    is_at_receiver: bool,
}

impl Path {
    fn new() -> Self {
        let sender = SenderConfig { round_trip: DELAY * 2, ..SenderConfig::new(1200, LATENCY) };
        let receiver = ReceiverConfig { round_trip: DELAY * 2, ..ReceiverConfig::new(1200, LATENCY) };
        let (sender, receiver) = (Sender::new(sender), Receiver::new(receiver));
        Self { sender, receiver, flying: Vec::new(), seen: Repair::default(), is_at_receiver: false }
    }

    /// Sends frames of four packets for that time. `loses`: packets that are lost on the path.
    fn run(&mut self, from: u64, frames: u64, mut loses: impl FnMut(&Sent) -> bool) {
        let mut bytes = Vec::new();
        for millisecond in from..from + frames * 33 + 300 {
            let now = Instant::from_millis(millisecond);
            if (millisecond - from).is_multiple_of(33) && (millisecond - from) / 33 < frames {
                for part in 0..4 {
                    let mark = Mark { role: Role::Disposable, ..Mark::part(part, 4) };
                    self.sender.send(now, &[7; 800], mark).expect("room");
                }
            }
            for (at, forth, bytes) in std::mem::take(&mut self.flying) {
                match (at <= now, forth) {
                    (false, _) => self.flying.push((at, forth, bytes)),
                    (true, true) => self.receiver.handle_packet(now, &bytes).expect("a datagram"),
                    (true, false) => {
                        let Ok(Datagram::Report(report)) = Datagram::decode(&bytes) else {
                            panic!("a report")
                        };
                        self.seen.on_report(&report);
                        self.sender.handle_packet(now, &bytes).expect("a report");
                    }
                }
            }
            self.sender.handle_timeout(now);
            self.receiver.handle_timeout(now);
            while self.receiver.poll_delivery(now, &mut bytes).is_some() {}
            while let Some(sent) = self.sender.poll_transmit(now, &mut bytes) {
                let is_lost = loses(&sent);
                if !is_lost || !self.is_at_receiver {
                    self.seen.on_data(&Datagram::decode(&bytes).expect("a datagram"), bytes.len());
                }
                if !is_lost {
                    self.flying.push((now + DELAY, true, bytes.clone()));
                }
            }
            while self.receiver.poll_transmit(now, &mut bytes).is_some() {
                self.flying.push((now + DELAY, false, bytes.clone()));
            }
        }
    }

    fn report(&self) -> RepairReport {
        self.seen.report().expect("packets")
    }
}

#[test]
fn what_is_lost_is_told_by_what_repaired_it_as_the_ends_count_it() {
    let mut path = Path::new();
    // Every seventh source packet is lost.
    path.run(1_000, 60, |sent| matches!(sent, Sent::Source(esi) if esi.0 % 7 == 3));
    let (report, sent, received) = (path.report(), path.sender.counts(), path.receiver.counts());
    assert_eq!(
        (report.sources, report.repeats, report.parity, report.surplus, report.repair_bytes),
        (sent.source, sent.repeats, sent.parity, sent.surplus, sent.repair_bytes)
    );
    assert_eq!((report.sources, report.lost), (240, 34));
    assert_eq!((report.by_repeats, report.by_code), (received.repeated, received.restored), "{report:?}");
    assert_eq!((report.given_up, report.pending, report.frames_given_up), (0, 0, 0), "{report:?}");
    assert!(report.by_repeats > 0 && report.requests > 0 && report.reports > report.requests);
}

#[test]
fn what_comes_too_late_is_given_up_with_its_frame() {
    for is_at_receiver in [false, true] {
        let mut path = Path { is_at_receiver, ..Path::new() };
        path.run(1_000, 30, |_| false);
        // A packet whose repeats are lost as well, and so are the coded packets.
        path.run(3_000, 30, |sent| {
            let esi = match sent {
                Sent::Source(esi) | Sent::Repeat(esi) => *esi,
                _ => return true,
            };
            (160..162).contains(&esi.0)
        });
        let (report, received) = (path.report(), path.receiver.counts());
        assert_eq!(
            (report.lost, report.given_up, report.frames_given_up),
            (2, 2, 1),
            "{report:?} {received:?}"
        );
        assert_eq!((report.by_repeats, report.by_code, received.lost), (0, 0, 2));
        assert_eq!(report.repeats >= 2, !is_at_receiver, "{report:?}");
    }
}

#[test]
fn numbers_that_a_peer_makes_up_take_no_memory() {
    let mut seen = Repair::default();
    for esi in [0, 5_000_000, 9, 4_000_000_000, 4_000_004_000, 1] {
        seen.on_data(&Datagram::Source { answer: None, adu: &[0; 20], esi: Esi(esi) }, 25);
        assert!(seen.symbols.len() <= WINDOW, "{}", seen.symbols.len());
    }
    let mut report = Report::new(1, Esi(u32::MAX));
    report.want(Esi(u32::MAX - 1));
    seen.on_report(&report);
    assert_eq!(seen.report().map(|report| report.reports), Some(1));
}
