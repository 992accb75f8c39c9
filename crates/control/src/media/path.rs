//! A closed loop for tests: a sender with a [`MediaController`], one bottleneck with a FIFO queue, and a receiver.
#![expect(dead_code, reason = "the first law that is tested over it removes this line")]

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use super::{MediaController, ProbeId, Reception, SentPacket, SentPackets};

/// The bottleneck and the receiver's reports.
pub(super) struct Path {
    /// Rate of the link at a time, in bit/s; 0 while it is paused.
    pub(super) capacity: Box<dyn Fn(Instant) -> f64>,
    /// One-way propagation delay, in both directions.
    pub(super) delay: Duration,
    /// Capacity of the queue, in bytes.
    pub(super) queue: u64,
    /// Probability of a random loss behind the queue.
    pub(super) loss: f64,
    /// Queueing delay from which ECT packets are marked.
    pub(super) mark_above: Option<Duration>,
    /// Time between reports.
    pub(super) report_every: Duration,
    /// `true` while reports are lost.
    pub(super) reports_lost: Box<dyn Fn(Instant) -> bool>,
    /// Bytes of cross traffic that enter the queue in a millisecond.
    pub(super) cross_traffic: Box<dyn Fn(Instant) -> u64>,
    /// Rate of the encoder in bit/s at a time; infinite for one that always fills the allowance.
    pub(super) encoder: Box<dyn Fn(Instant) -> f64>,
}

impl Path {
    /// A link of `kbps` with `delay_ms` each way, a queue of `queue_ms` and reports each 50 ms.
    pub(super) fn new(kbps: f64, delay_ms: u64, queue_ms: u64) -> Self {
        Self {
            capacity: Box::new(move |_| kbps * 1e3),
            delay: Duration::from_millis(delay_ms),
            queue: (kbps * queue_ms as f64 / 8.0) as u64,
            loss: 0.0,
            mark_above: None,
            report_every: Duration::from_millis(50),
            reports_lost: Box::new(|_| false),
            cross_traffic: Box::new(|_| 0),
            encoder: Box::new(|_| f64::INFINITY),
        }
    }
}

/// The state each 100 ms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) target: DataRate,
    /// Bits of the flow that arrived in the 100 ms before, per second.
    pub(super) received: f64,
    pub(super) queueing: Duration,
    /// Packets of the flow lost so far.
    pub(super) lost: u64,
}

/// Bytes of a media packet.
const SIZE: u64 = 1200;

/// Sequence numbers and receptions in a report.
type Receptions = Vec<(u64, Reception)>;

enum Queued {
    Flow { packet: SentPacket, ecn: Ecn },
    Cross,
}

struct Model<'a> {
    path: &'a Path,
    random: u64,
    queue: VecDeque<(Queued, u64)>,
    queued: u64,
    /// Bits of the first packet in the queue that the link has sent.
    sent_bits: f64,
    flying: VecDeque<(Instant, u64, Reception)>,
    reports: VecDeque<(Instant, Receptions, Duration)>,
    arrived: Receptions,
    next_expected: u64,
    lost: u64,
    received_bits: f64,
}

impl Model<'_> {
    /// Uniform in [0, 1) (xorshift64*).
    fn uniform(&mut self) -> f64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn queueing(&self, now: Instant) -> Duration {
        let capacity = (self.path.capacity)(now).max(1.0);
        Duration::from_secs_f64(self.queued as f64 * 8.0 / capacity)
    }

    fn enqueue(&mut self, now: Instant, mut item: Queued, size: u64) {
        if self.queued + size > self.path.queue {
            self.lost += u64::from(matches!(item, Queued::Flow { .. }));
            return;
        }
        let above = self.path.mark_above.is_some_and(|threshold| self.queueing(now) > threshold);
        if let Queued::Flow { ecn, .. } = &mut item
            && above
            && ecn.is_capable()
        {
            *ecn = Ecn::Ce;
        }
        self.queued += size;
        self.queue.push_back((item, size));
    }

    /// One millisecond of the link that ends at `now`.
    fn transmit(&mut self, now: Instant) {
        self.sent_bits += (self.path.capacity)(now) / 1e3;
        while let Some((_, size)) = self.queue.front() {
            let (size, bits) = (*size, *size as f64 * 8.0);
            if self.sent_bits < bits {
                return;
            }
            self.sent_bits -= bits;
            self.queued -= size;
            if let Some((Queued::Flow { packet, ecn }, _)) = self.queue.pop_front() {
                if self.uniform() < self.path.loss {
                    self.lost += 1;
                } else {
                    let at = now + self.path.delay;
                    // The receiver's clock is an hour ahead.
                    let reception = Reception::Arrived { at: at + Duration::from_secs(3600), ecn };
                    self.flying.push_back((at, packet.sequence, reception));
                }
            }
        }
        self.sent_bits = 0.0;
    }

    fn arrive(&mut self, now: Instant) {
        while self.flying.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, sequence, reception)) = self.flying.pop_front() else { return };
            self.arrived.extend((self.next_expected..sequence).map(|lost| (lost, Reception::Missing)));
            self.arrived.push((sequence, reception));
            self.next_expected = sequence + 1;
            self.received_bits += SIZE as f64 * 8.0;
        }
    }

    fn report(&mut self, now: Instant) {
        let Some((_, Reception::Arrived { at, .. })) = self.arrived.last() else { return };
        let held = (now + Duration::from_secs(3600)).saturating_since(*at);
        let report = core::mem::take(&mut self.arrived);
        if !(self.path.reports_lost)(now) {
            self.reports.push_back((now + self.path.delay, report, held));
        }
    }
}

/// Runs `controller` over `path` for `seconds`, in steps of 1 ms, and returns its state each 100 ms.
pub(super) fn run(controller: &mut dyn MediaController, path: &Path, seconds: u64, seed: u64) -> Vec<Sample> {
    let mut model = Model {
        path,
        random: seed | 1,
        queue: VecDeque::new(),
        queued: 0,
        sent_bits: 0.0,
        flying: VecDeque::new(),
        reports: VecDeque::new(),
        arrived: Vec::new(),
        next_expected: 0,
        lost: 0,
        received_bits: 0.0,
    };
    let mut sent = SentPackets::new(1 << 16);
    let mut samples = Vec::new();
    let (mut credit, mut encoded, mut sequence) = (0.0_f64, 0.0_f64, 0_u64);
    let mut probe: Option<(ProbeId, f64, i64, i64)> = None;
    let step = Duration::from_millis(1);
    for millisecond in 1..=seconds * 1000 {
        let now = Instant::from_millis(millisecond);
        model.transmit(now);
        model.arrive(now);
        if millisecond % path.report_every.as_millis() == 0 {
            model.report(now);
        }
        while model.reports.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, report, held)) = model.reports.pop_front() else { break };
            controller.on_feedback(&sent.on_report(now, report, held));
        }
        while controller.next_timer().is_some_and(|at| at <= now) {
            controller.on_timer(now);
        }
        let cross = (path.cross_traffic)(now);
        if cross > 0 {
            model.enqueue(now, Queued::Cross, cross);
        }
        let allowance = controller.allowance();
        let offered = (path.encoder)(now);
        controller.on_application_limited(now, offered < allowance.target.as_bits_per_second());
        encoded += allowance.target.as_bits_per_second().min(offered) * step.as_secs_f64();
        // An encoder does not produce more than 100 ms ahead of the pacer.
        encoded = encoded.min((allowance.target.as_bits_per_second() / 10.0).max(SIZE as f64 * 16.0));
        if probe.is_none() {
            probe = controller.poll_probe(now).map(|probe| {
                let bits = i64::try_from(probe.size.bits()).unwrap_or(i64::MAX);
                (probe.id, probe.rate.as_bits_per_second(), bits, i64::from(probe.packets))
            });
        }
        let rate = probe.as_ref().map_or(allowance.pacing.as_bits_per_second(), |probe| probe.1);
        credit = (credit + rate * step.as_secs_f64()).min(SIZE as f64 * 8.0 * 40.0);
        let bits = SIZE as f64 * 8.0;
        while credit >= bits && (probe.is_some() || encoded >= bits) {
            let full =
                allowance.window.is_some_and(|window| sent.in_flight().as_u64() + SIZE > window.as_u64());
            if full && probe.is_none() {
                break;
            }
            credit -= bits;
            encoded = (encoded - bits).max(0.0);
            let packet = SentPacket {
                sequence,
                sent_at: now,
                size: ByteCount::new(SIZE),
                probe: probe.as_ref().map(|p| p.0),
            };
            sequence += 1;
            sent.on_sent(packet);
            controller.on_sent(&packet);
            model.enqueue(now, Queued::Flow { packet, ecn: controller.ecn() }, SIZE);
            if let Some((_, _, left, packets)) = &mut probe {
                *left -= bits as i64;
                *packets -= 1;
                if *left <= 0 && *packets <= 0 {
                    probe = None;
                    credit = 0.0;
                }
            }
        }
        if millisecond % 100 == 0 {
            samples.push(Sample {
                at: now,
                target: controller.allowance().target,
                received: core::mem::take(&mut model.received_bits) * 10.0,
                queueing: model.queueing(now),
                lost: model.lost,
            });
        }
    }
    samples
}
