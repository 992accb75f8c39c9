//! A packet model of one egress for tests: flows with their own round-trip times share a FIFO queue of
//! unlimited length.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::sync::Mutex;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::capacity::Estimate;

use super::{AbcWindow, FlowHeader, RcpSender, RouterLaw, XcpSender};

/// Bytes per packet.
pub(super) const SIZE: u32 = 1000;

/// A sender.
pub(super) trait Sender {
    fn header(&self) -> FlowHeader;
    /// The time from which the next packet may be sent; `None` if an acknowledgement must arrive first.
    fn next_send(&self, in_flight: u64) -> Option<Instant>;
    fn on_sent(&mut self, now: Instant);
    fn on_ack(&mut self, rtt: Duration, header: &FlowHeader);
}

/// Round-trip time smoothed as in RFC 6298.
pub(super) fn smooth(old: Option<Duration>, sample: Duration) -> Duration {
    old.map_or(sample, |old| old.mul_f64(0.875) + sample.mul_f64(0.125))
}

fn window_allows(bytes: f64, in_flight: u64) -> Option<Instant> {
    let packets = (bytes / f64::from(SIZE)).max(1.0) as u64;
    (in_flight < packets).then_some(Instant::ZERO)
}

impl Sender for XcpSender {
    fn header(&self) -> FlowHeader {
        self.header()
    }

    fn next_send(&self, in_flight: u64) -> Option<Instant> {
        window_allows(self.window(), in_flight)
    }

    fn on_sent(&mut self, _now: Instant) {}
    fn on_ack(&mut self, rtt: Duration, header: &FlowHeader) {
        let old = Some(self.header().rtt).filter(|rtt| !rtt.is_zero());
        self.set_rtt(smooth(old, rtt));
        self.on_feedback(header.allocation);
    }
}

impl Sender for RcpSender {
    fn header(&self) -> FlowHeader {
        self.header()
    }

    fn next_send(&self, in_flight: u64) -> Option<Instant> {
        match self.rate() {
            // The first packet is alone.
            None => (in_flight == 0).then_some(Instant::ZERO),
            Some(_) => self.next_send_time(),
        }
    }

    fn on_sent(&mut self, now: Instant) {
        match self.rate() {
            None => self.on_probe_sent(now),
            Some(_) => RcpSender::on_sent(self, now),
        }
    }

    fn on_ack(&mut self, rtt: Duration, header: &FlowHeader) {
        let old = Some(self.header().rtt).filter(|rtt| !rtt.is_zero());
        self.set_rtt(smooth(old, rtt));
        self.on_feedback(header.allocation);
    }
}

impl Sender for AbcWindow {
    fn header(&self) -> FlowHeader {
        FlowHeader { rtt: Duration::ZERO, rate: DataRate::ZERO, allocation: 1.0 }
    }

    fn next_send(&self, in_flight: u64) -> Option<Instant> {
        window_allows(self.packets() * f64::from(SIZE), in_flight)
    }

    fn on_sent(&mut self, _now: Instant) {}
    fn on_ack(&mut self, _rtt: Duration, header: &FlowHeader) {
        AbcWindow::on_ack(self, header.allocation > 0.0);
    }
}

#[derive(Clone, Copy)]
struct Packet {
    flow: usize,
    sent: Instant,
    header: FlowHeader,
}

enum Event {
    Start(usize),
    Stop(usize),
    Wake(usize),
    Served(Packet),
    Ack(Packet),
    Capacity(DataRate),
}

struct Flow {
    sender: Box<dyn Sender>,
    rtt: Duration,
    in_flight: u64,
    is_active: bool,
    delivered: u64,
    /// Earliest time at which the flow is to be woken.
    wake: Option<Instant>,
}

/// One egress and its flows.
pub(super) struct Model {
    pub(super) law: Box<dyn RouterLaw>,
    capacity: DataRate,
    flows: Vec<Flow>,
    queue: VecDeque<Packet>,
    is_busy: bool,
    events: BTreeMap<(Instant, u64), Event>,
    count: u64,
    now: Instant,
    /// Queue in packets times seconds.
    queue_integral: f64,
    queue_since: Instant,
    /// Longest queue in packets.
    pub(super) peak: usize,
    measured_since: Instant,
}

impl Model {
    pub(super) fn new(law: Box<dyn RouterLaw>, capacity: DataRate) -> Self {
        Self {
            law,
            capacity,
            flows: Vec::new(),
            queue: VecDeque::new(),
            is_busy: false,
            events: BTreeMap::new(),
            count: 0,
            now: Instant::ZERO,
            queue_integral: 0.0,
            queue_since: Instant::ZERO,
            peak: 0,
            measured_since: Instant::ZERO,
        }
    }

    /// Adds a flow that is active from `start` to `stop`.
    pub(super) fn add(&mut self, sender: Box<dyn Sender>, rtt: Duration, start: Instant, stop: Instant) {
        let flow = self.flows.len();
        self.flows.push(Flow { sender, rtt, in_flight: 0, is_active: false, delivered: 0, wake: None });
        self.schedule(start, Event::Start(flow));
        self.schedule(stop, Event::Stop(flow));
    }

    /// Changes the capacity at a time.
    pub(super) fn set_capacity_at(&mut self, at: Instant, capacity: DataRate) {
        self.schedule(at, Event::Capacity(capacity));
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    fn backlog(&self) -> ByteCount {
        ByteCount::new(self.queue.len() as u64 * u64::from(SIZE))
    }

    fn note_queue(&mut self) {
        self.queue_integral += self.queue.len() as f64 * (self.now - self.queue_since).as_secs_f64();
        self.queue_since = self.now;
        self.peak = self.peak.max(self.queue.len());
    }

    fn serve(&mut self) {
        if self.is_busy {
            return;
        }
        self.note_queue();
        let Some(mut packet) = self.queue.pop_front() else { return };
        self.is_busy = true;
        let backlog = self.backlog();
        self.law.on_departure(self.now, SIZE, Some(&mut packet.header), backlog);
        let served = self.now + ByteCount::new(u64::from(SIZE)) / self.capacity;
        self.schedule(served, Event::Served(packet));
    }

    fn send(&mut self, flow: usize) {
        loop {
            let state = &mut self.flows[flow];
            let Some(at) = state.sender.next_send(state.in_flight).filter(|_| state.is_active) else {
                return;
            };
            if at > self.now {
                if state.wake.is_none_or(|wake| at < wake) {
                    state.wake = Some(at);
                    self.schedule(at, Event::Wake(flow));
                }
                return;
            }
            let header = state.sender.header();
            state.sender.on_sent(self.now);
            state.in_flight += 1;
            let backlog = self.backlog();
            self.law.on_arrival(self.now, SIZE, Some(&header), backlog);
            self.note_queue();
            self.queue.push_back(Packet { flow, sent: self.now, header });
            self.peak = self.peak.max(self.queue.len());
            self.serve();
        }
    }

    fn process(&mut self, event: Event) {
        match event {
            Event::Start(flow) => {
                self.flows[flow].is_active = true;
                self.send(flow);
            }
            Event::Stop(flow) => self.flows[flow].is_active = false,
            Event::Wake(flow) => {
                // An event that an earlier one has replaced is void.
                if self.flows[flow].wake == Some(self.now) {
                    self.flows[flow].wake = None;
                    self.send(flow);
                }
            }
            Event::Served(packet) => {
                self.is_busy = false;
                self.flows[packet.flow].delivered += u64::from(SIZE);
                let back = self.now + self.flows[packet.flow].rtt;
                self.schedule(back, Event::Ack(packet));
                self.serve();
            }
            Event::Ack(packet) => {
                let flow = &mut self.flows[packet.flow];
                flow.in_flight -= 1;
                flow.sender.on_ack(self.now - packet.sent, &packet.header);
                self.send(packet.flow);
            }
            Event::Capacity(capacity) => {
                self.capacity = capacity;
                self.law.set_capacity(capacity);
            }
        }
    }

    /// Runs until `end` seconds.
    pub(super) fn run_until(&mut self, end: f64) {
        let end = Instant::from_secs_f64(end);
        loop {
            let event = self.events.first_key_value().map_or(Instant::FAR_FUTURE, |((at, _), _)| *at);
            let timer = self.law.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
            if event.min(timer) > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(event.min(timer));
            if timer <= event {
                let backlog = self.backlog();
                self.law.on_timeout(self.now, backlog);
            } else if let Some((_, event)) = self.events.pop_first() {
                self.process(event);
            }
        }
    }

    /// Begins a measurement.
    pub(super) fn measure(&mut self) {
        self.note_queue();
        self.queue_integral = 0.0;
        self.peak = 0;
        self.measured_since = self.now;
        self.flows.iter_mut().for_each(|flow| flow.delivered = 0);
    }

    /// Results between two times in seconds.
    pub(super) fn measured(&mut self, from: f64, to: f64) -> Results {
        self.run_until(from);
        self.measure();
        self.run_until(to);
        self.results()
    }

    /// Results since the measurement began.
    pub(super) fn results(&mut self) -> Results {
        self.note_queue();
        let seconds = (self.now - self.measured_since).as_secs_f64();
        let rates: Vec<f64> = self.flows.iter().map(|flow| flow.delivered as f64 * 8.0 / seconds).collect();
        let sum: f64 = rates.iter().sum();
        Results {
            utilization: sum / self.capacity.as_bits_per_second(),
            jain: jain(&rates),
            mean_queue: self.queue_integral / seconds,
            peak: self.peak,
            rates,
        }
    }
}

/// Jain's index of fairness.
pub(super) fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}

/// Results of a measurement.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) utilization: f64,
    pub(super) jain: f64,
    /// Mean queue in packets.
    pub(super) mean_queue: f64,
    pub(super) peak: usize,
    /// Rates of the flows in bit/s.
    pub(super) rates: Vec<f64>,
}

/// The store in which the MAC leaves its estimates for routers and senders.
pub(super) type SharedEstimate = Arc<Mutex<Option<Estimate>>>;

/// A law that is given exact estimates: the capacity, and the capacity less the departures in the last 40 ms.
#[derive(Debug)]
pub(super) struct Estimated<L> {
    law: L,
    pub(super) shared: SharedEstimate,
    capacity: DataRate,
    departed: u64,
    deadline: Instant,
}

impl<L> Estimated<L> {
    const PERIOD: Duration = Duration::from_millis(40);

    pub(super) fn new(law: L, capacity: DataRate) -> Self {
        let deadline = Instant::ZERO + Self::PERIOD;
        Self { law, shared: SharedEstimate::default(), capacity, departed: 0, deadline }
    }
}

impl<L: RouterLaw> RouterLaw for Estimated<L> {
    fn on_arrival(&mut self, now: Instant, size: u32, header: Option<&FlowHeader>, backlog: ByteCount) {
        self.law.on_arrival(now, size, header, backlog);
    }

    fn on_departure(&mut self, now: Instant, size: u32, header: Option<&mut FlowHeader>, backlog: ByteCount) {
        self.departed += u64::from(size);
        self.law.on_departure(now, size, header, backlog);
    }

    fn on_timeout(&mut self, now: Instant, backlog: ByteCount) {
        if now >= self.deadline {
            let used = ByteCount::new(core::mem::take(&mut self.departed)) / Self::PERIOD;
            let estimate = Estimate { capacity: self.capacity, available: self.capacity - used };
            *self.shared.lock().unwrap() = Some(estimate);
            self.law.set_estimate(estimate);
            self.deadline = now + Self::PERIOD;
        }
        self.law.on_timeout(now, backlog);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.law.poll_timeout().min(Some(self.deadline))
    }

    fn set_capacity(&mut self, capacity: DataRate) {
        self.capacity = capacity;
    }
}
