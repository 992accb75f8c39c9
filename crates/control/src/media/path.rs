//! A closed loop for tests: senders with a [`MediaController`] each, bottlenecks with a FIFO queue, and
//! receivers.

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
    /// Probability that an ECT packet is marked behind the queue.
    pub(super) mark: f64,
    /// Time between reports.
    pub(super) report_every: Duration,
    /// Fate of the report sent at a time.
    pub(super) report_fate: Box<dyn Fn(Instant) -> ReportFate>,
    /// Bytes of cross traffic that enter the queue in a millisecond.
    pub(super) cross_traffic: Box<dyn Fn(Instant) -> u64>,
    /// Rate of the encoder in bit/s at a time; infinite for one that always fills the allowance.
    pub(super) encoder: Box<dyn Fn(Instant) -> f64>,
    /// Bytes of a media packet.
    pub(super) packet_size: u64,
    /// Standard deviation of the jitter behind the queue, which does not reorder (RFC 8868, Section 4.5).
    pub(super) jitter: Duration,
    /// Time at which a change of the path is reported to the sender.
    pub(super) path_change: Option<Instant>,
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
            mark: 0.0,
            report_every: Duration::from_millis(50),
            report_fate: Box::new(|_| ReportFate::Arrives),
            cross_traffic: Box::new(|_| 0),
            encoder: Box::new(|_| f64::INFINITY),
            packet_size: 1200,
            jitter: Duration::ZERO,
            path_change: None,
        }
    }
}

/// Fate of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReportFate {
    Arrives,
    Lost,
    /// Arrives that much later, after reports sent after it.
    Late(Duration),
    /// Arrives, and a copy that much later.
    Twice(Duration),
}

impl ReportFate {
    /// Delays, relative to an undisturbed report, after which it arrives.
    fn delays(self) -> impl Iterator<Item = Duration> {
        let (first, second) = match self {
            Self::Arrives => (Some(Duration::ZERO), None),
            Self::Lost => (None, None),
            Self::Late(delay) => (Some(delay), None),
            Self::Twice(delay) => (Some(Duration::ZERO), Some(delay)),
        };
        first.into_iter().chain(second)
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

/// A sender and its receiver.
pub(super) struct Flow<'a> {
    pub(super) controller: &'a mut dyn MediaController,
    /// Its encoder, reports, propagation delay and random losses.
    pub(super) path: &'a Path,
    /// The link that its packets traverse. Rate, queue, marks and cross traffic belong to the path of the
    /// first flow with this link.
    pub(super) link: usize,
    /// The link whose queue the reports traverse; `None` if they meet no queue.
    pub(super) reports: Option<usize>,
}

/// All reports after that many seconds are lost.
pub(super) fn lost_after(seconds: u64) -> Box<dyn Fn(Instant) -> ReportFate> {
    Box::new(move |at| match at > Instant::from_secs(seconds) {
        true => ReportFate::Lost,
        false => ReportFate::Arrives,
    })
}

/// Least bytes of a packet of a probe.
const LEAST_SIZE: u64 = 100;
/// Bytes of a report with its headers.
const REPORT_SIZE: u64 = 100;

/// Mean of a property of samples.
pub(super) fn mean(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    samples.iter().map(of).sum::<f64>() / samples.len() as f64
}

/// Queueing delay of a sample, in milliseconds.
pub(super) fn queue_ms(sample: &Sample) -> f64 {
    sample.queueing.as_secs_f64() * 1e3
}

/// Sequence numbers and receptions in a report.
type Receptions = Vec<(u64, Reception)>;

/// A report, and the time since its newest arrival when it was sent.
#[derive(Clone, Debug)]
struct Report {
    receptions: Receptions,
    held: Duration,
    fate: ReportFate,
}

enum Queued {
    Flow { flow: usize, packet: SentPacket, ecn: Ecn },
    Report { flow: usize, report: Report },
    Cross,
}

struct Link<'a> {
    path: &'a Path,
    queue: VecDeque<(Queued, u64)>,
    queued: u64,
    /// Bits of the first packet in the queue that the link has sent.
    sent_bits: f64,
}

impl<'a> Link<'a> {
    const fn new(path: &'a Path) -> Self {
        Self { path, queue: VecDeque::new(), queued: 0, sent_bits: 0.0 }
    }

    fn queueing(&self, now: Instant) -> Duration {
        let capacity = (self.path.capacity)(now).max(1.0);
        Duration::from_secs_f64(self.queued as f64 * 8.0 / capacity)
    }

    /// `false` if the packet is dropped.
    fn enqueue(&mut self, now: Instant, mut item: Queued, size: u64) -> bool {
        if self.queued + size > self.path.queue {
            return false;
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
        true
    }

    /// The next packet sent in the millisecond that ends at `now`.
    fn transmit(&mut self) -> Option<Queued> {
        let (_, size) = self.queue.front()?;
        let (size, bits) = (*size, *size as f64 * 8.0);
        if self.sent_bits < bits {
            return None;
        }
        self.sent_bits -= bits;
        self.queued -= size;
        self.queue.pop_front().map(|(item, _)| item)
    }
}

/// A sender and its receiver while they run.
struct Running<'a, 'b> {
    flow: &'b mut Flow<'a>,
    sent: SentPackets,
    flying: VecDeque<(Instant, u64, Reception, u64)>,
    reports: Vec<(Instant, Report)>,
    arrived: Receptions,
    next_expected: u64,
    /// Arrival time of the last packet.
    last_arrival: Instant,
    lost: u64,
    received_bits: f64,
    credit: f64,
    encoded: f64,
    padding: f64,
    sequence: u64,
    probe: Option<(ProbeId, f64, i64, i64)>,
    samples: Vec<Sample>,
}

impl<'a, 'b> Running<'a, 'b> {
    fn new(flow: &'b mut Flow<'a>) -> Self {
        Self {
            flow,
            sent: SentPackets::new(1 << 16),
            flying: VecDeque::new(),
            reports: Vec::new(),
            arrived: Vec::new(),
            next_expected: 0,
            last_arrival: Instant::ZERO,
            lost: 0,
            received_bits: 0.0,
            credit: 0.0,
            encoded: 0.0,
            padding: 0.0,
            sequence: 0,
            probe: None,
            samples: Vec::new(),
        }
    }

    /// Arrival time of a packet that leaves the link at `now`.
    fn arrival(&mut self, now: Instant, size: ByteCount, capacity: f64, random: &mut u64) -> Instant {
        let path = self.flow.path;
        let at = now + path.delay;
        if path.jitter.is_zero() {
            return at;
        }
        // A delayed packet is followed at the rate of the link.
        let serial = size / DataRate::from_bits_per_second(capacity);
        self.last_arrival = (at + jitter(path.jitter, random)).max(self.last_arrival + serial);
        self.last_arrival
    }

    fn arrive(&mut self, now: Instant) {
        while self.flying.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, sequence, reception, size)) = self.flying.pop_front() else { return };
            self.arrived.extend((self.next_expected..sequence).map(|lost| (lost, Reception::Missing)));
            self.arrived.push((sequence, reception));
            self.next_expected = sequence + 1;
            self.received_bits += size as f64 * 8.0;
        }
    }

    /// The report that is sent at `now`.
    fn report(&mut self, now: Instant) -> Option<Report> {
        let Some((_, Reception::Arrived { at, .. })) = self.arrived.last() else { return None };
        let held = (now + Duration::from_secs(3600)).saturating_since(*at);
        let fate = (self.flow.path.report_fate)(now);
        Some(Report { receptions: core::mem::take(&mut self.arrived), held, fate })
    }

    /// A report leaves for the sender at `now`.
    fn return_report(&mut self, now: Instant, report: &Report) {
        let arrivals = report.fate.delays().map(|delay| now + self.flow.path.delay + delay);
        self.reports.extend(arrivals.map(|at| (at, report.clone())));
        self.reports.sort_by_key(|(at, _)| *at);
    }

    fn process(&mut self, now: Instant) {
        let controller = &mut *self.flow.controller;
        let arrived = self.reports.iter().take_while(|(at, _)| *at <= now).count();
        for (_, report) in self.reports.drain(..arrived) {
            if let Some(feedback) = self.sent.on_report(now, report.receptions, report.held) {
                controller.on_feedback(&feedback);
            }
        }
        if self.flow.path.path_change == Some(now) {
            controller.on_path_change(now);
        }
        while controller.next_timer().is_some_and(|at| at <= now) {
            controller.on_timer(now);
        }
    }

    /// Size of the next packet: a media packet's, or the rest of a probe in the packets that it lacks.
    fn next_size(&self) -> u64 {
        let size = self.flow.path.packet_size;
        let Some((_, _, left, packets)) = self.probe else { return size };
        let share = u64::try_from(left).unwrap_or(0).div_ceil(8 * u64::try_from(packets).unwrap_or(0).max(1));
        share.clamp(LEAST_SIZE.min(size), size)
    }

    /// Sends for a millisecond that begins at `now`.
    fn send(&mut self, now: Instant, number: usize, link: &mut Link<'_>) {
        let step = Duration::from_millis(1).as_secs_f64();
        let media = self.flow.path.packet_size as f64 * 8.0;
        let controller = &mut *self.flow.controller;
        let allowance = controller.allowance();
        let target = allowance.target.as_bits_per_second();
        let offered = (self.flow.path.encoder)(now);
        controller.on_application_limited(now, offered < target);
        self.encoded += target.min(offered) * step;
        // An encoder does not produce more than 100 ms ahead of the pacer.
        self.encoded = self.encoded.min((target / 10.0).max(media * 2.0));
        // Padding fills what the encoder leaves of its rate.
        let padding = (controller.padding().as_bits_per_second() - target.min(offered)).max(0.0);
        self.padding = (self.padding + padding * step).min(media);
        if self.probe.is_none() {
            self.probe = controller.poll_probe(now).map(|probe| {
                self.credit = 0.0;
                let size = i64::try_from(probe.size.bits()).unwrap_or(i64::MAX);
                (probe.id, probe.rate.as_bits_per_second(), size, i64::from(probe.packets))
            });
        }
        let rate = self.probe.as_ref().map_or(allowance.pacing.as_bits_per_second(), |probe| probe.1);
        self.credit = (self.credit + rate * step).min(media * 40.0);
        while self.probe.is_some() || self.encoded >= media || self.padding >= media {
            let size = self.next_size();
            let bits = size as f64 * 8.0;
            let in_flight = self.sent.in_flight().as_u64();
            let full = allowance.window.is_some_and(|window| in_flight + size > window.as_u64());
            if self.credit < bits || (full && self.probe.is_none()) {
                break;
            }
            self.credit -= bits;
            if self.encoded >= bits {
                self.encoded -= bits;
            } else {
                self.padding = (self.padding - bits).max(0.0);
            }
            let probe = self.probe.as_ref().map(|probe| probe.0);
            let packet = SentPacket {
                sequence: self.sequence,
                sent_at: now,
                captured_at: now,
                size: ByteCount::new(size),
                probe,
            };
            self.sequence += 1;
            self.sent.on_sent(packet);
            let controller = &mut *self.flow.controller;
            controller.on_sent(&packet);
            let ecn = controller.ecn();
            if !link.enqueue(now, Queued::Flow { flow: number, packet, ecn }, size) {
                self.lost += 1;
            }
            if let Some((_, _, left, packets)) = &mut self.probe {
                *left -= bits as i64;
                *packets -= 1;
                if *left <= 0 && *packets <= 0 {
                    self.probe = None;
                    self.credit = 0.0;
                }
            }
        }
        let waiting = ByteCount::new((self.encoded / media) as u64 * self.flow.path.packet_size);
        self.flow.controller.on_pacer_queue(now, waiting);
    }
}

/// Uniform in [0, 1) (xorshift64*).
fn uniform(random: &mut u64) -> f64 {
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    (random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
}

/// The magnitude of a Gaussian variable, truncated at three deviations (RFC 8868, Section 4.5.3).
fn jitter(deviation: Duration, random: &mut u64) -> Duration {
    let (one, two) = (1.0 - uniform(random), uniform(random));
    let gaussian = libm::sqrt(-2.0 * libm::log(one)) * libm::cos(core::f64::consts::TAU * two);
    deviation.mul_f64(gaussian.abs().min(3.0))
}

/// Runs `controller` over `path` for `seconds`, in steps of 1 ms, and returns its state each 100 ms.
pub(super) fn run(controller: &mut dyn MediaController, path: &Path, seconds: u64, seed: u64) -> Vec<Sample> {
    let mut flow = [Flow { controller, path, link: 0, reports: None }];
    run_flows(&mut flow, seconds, seed).pop().unwrap_or_default()
}

/// Runs `flows` as [`run`] does, and returns the states of each. Links are numbered from 0.
pub(super) fn run_flows(flows: &mut [Flow<'_>], seconds: u64, seed: u64) -> Vec<Vec<Sample>> {
    let count = flows.iter().map(|flow| flow.link + 1).max().unwrap_or(0);
    let mut links: Vec<Link<'_>> = (0..count)
        .filter_map(|link| flows.iter().find(|flow| flow.link == link).map(|f| Link::new(f.path)))
        .collect();
    let mut flows: Vec<Running<'_, '_>> = flows.iter_mut().map(Running::new).collect();
    let mut random = seed | 1;
    for millisecond in 1..=seconds * 1000 {
        let now = Instant::from_millis(millisecond);
        for link in &mut links {
            link.sent_bits += (link.path.capacity)(now) / 1e3;
            while let Some(item) = link.transmit() {
                match item {
                    Queued::Flow { flow, packet, mut ecn } => {
                        let flow = &mut flows[flow];
                        let mark = flow.flow.path.mark;
                        if mark > 0.0 && ecn.is_capable() && uniform(&mut random) < mark {
                            ecn = Ecn::Ce;
                        }
                        if uniform(&mut random) < flow.flow.path.loss {
                            flow.lost += 1;
                        } else {
                            let at = flow.arrival(now, packet.size, (link.path.capacity)(now), &mut random);
                            // The receiver's clock is an hour ahead.
                            let reception = Reception::Arrived { at: at + Duration::from_secs(3600), ecn };
                            flow.flying.push_back((at, packet.sequence, reception, packet.size.as_u64()));
                        }
                    }
                    Queued::Report { flow, report } => flows[flow].return_report(now, &report),
                    Queued::Cross => {}
                }
            }
            if link.queue.is_empty() {
                link.sent_bits = 0.0;
            }
        }
        for (number, flow) in flows.iter_mut().enumerate() {
            flow.arrive(now);
            if millisecond % flow.flow.path.report_every.as_millis() == 0
                && let Some(report) = flow.report(now)
            {
                match flow.flow.reports {
                    None => flow.return_report(now, &report),
                    Some(link) => {
                        links[link].enqueue(now, Queued::Report { flow: number, report }, REPORT_SIZE);
                    }
                }
            }
        }
        for flow in &mut flows {
            flow.process(now);
        }
        for link in &mut links {
            let cross = (link.path.cross_traffic)(now);
            if cross > 0 {
                link.enqueue(now, Queued::Cross, cross);
            }
        }
        for (number, flow) in flows.iter_mut().enumerate() {
            let link = &mut links[flow.flow.link];
            flow.send(now, number, link);
            if millisecond % 100 == 0 {
                flow.samples.push(Sample {
                    at: now,
                    target: flow.flow.controller.allowance().target,
                    received: core::mem::take(&mut flow.received_bits) * 10.0,
                    queueing: link.queueing(now),
                    lost: flow.lost,
                });
            }
        }
    }
    flows.into_iter().map(|flow| flow.samples).collect()
}
