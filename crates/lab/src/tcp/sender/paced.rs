//! BBR: the window and the pace of a model of the path (draft-ietf-ccwg-bbr).
//!
//! RACK's order of transmissions numbers the packets of [`bbr`](whimbrel_control::bbr). The model replaces
//! the window law; loss detection, retransmissions and their timers stay.

use whimbrel_control::bbr::Model;
use whimbrel_control::window::Window;
use whimbrel_units::{DataRate, Duration, Instant};

use super::Method;
use crate::tcp::config::TcpConfig;
use crate::tcp::transmissions::Transmissions;

/// The state of BBR.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct ModelSnapshot {
    /// Name of the state, as in the draft.
    pub state: &'static str,
    /// Estimate of the bandwidth, as payload.
    pub bandwidth: DataRate,
    /// Pacing rate, as payload.
    pub pacing_rate: DataRate,
    /// Estimate of the minimum round-trip time, once measured.
    pub min_rtt: Option<Duration>,
}

/// BBR, or nothing if a window law is in force.
#[derive(Clone, Debug)]
pub(super) struct Paced(Option<Box<Bbr>>);

/// The model of a sender, and its pacer.
#[derive(Clone, Debug)]
struct Bbr {
    model: Model,
    pacer: Pacer,
    /// Bytes in a full segment.
    segment: f64,
    /// The first pace was set, and from a measured round-trip time.
    has_pace: bool,
    has_round_trip: bool,
}

/// Departure times: quanta of packets at the pacing rate.
#[derive(Clone, Copy, Default, Debug)]
struct Pacer {
    /// C.next_send_time: no quantum leaves before.
    next: Instant,
    /// The present quantum: when it began to leave, and the bytes left in it.
    quantum_at: Instant,
    left: f64,
    /// A packet waits for `next`.
    is_waiting: bool,
}

impl Pacer {
    fn holds_back(&self, now: Instant, segment: f64) -> bool {
        let is_in_quantum = self.quantum_at == now && self.left >= segment;
        self.next > now && !is_in_quantum
    }

    /// A packet of `size` bytes leaves, at `rate` in bytes per second.
    fn on_sent(&mut self, now: Instant, size: f64, rate: f64, quantum: f64) {
        if self.next <= now {
            (self.next, self.quantum_at, self.left) = (now, now, quantum);
        }
        if rate > 0.0 {
            self.next += Duration::from_secs_f64(size / rate);
        }
        self.left -= size;
    }
}

impl Bbr {
    fn take_losses(&mut self, now: Instant, transmissions: &mut Transmissions) {
        self.model.set_in_flight(transmissions.pipe() as f64);
        for order in transmissions.take_lost() {
            self.model.on_lost(now, order);
        }
    }

    fn set_window(&self, window: &mut Window) {
        window.cwnd = self.model.window() / self.segment;
    }
}

impl Paced {
    /// The model that `config` asks for, at that first window; with RACK only.
    pub(super) fn new(config: &TcpConfig, method: Method, window: &Window) -> Self {
        Self(config.window.bbr.filter(|_| method == Method::Rack).map(|parameters| {
            let segment = f64::from(config.segment_size);
            let model = Model::for_transport(parameters, window.cwnd * segment, segment);
            let pacer = Pacer::default();
            Box::new(Bbr { model, pacer, segment, has_pace: false, has_round_trip: false })
        }))
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A transmission of `size` bytes is about to enter `transmissions`.
    pub(super) fn on_sent(
        &mut self,
        now: Instant,
        size: u64,
        transmissions: &Transmissions,
        smoothed_rtt: Option<Duration>,
    ) {
        let Some(bbr) = &mut self.0 else { return };
        if !bbr.has_pace {
            bbr.has_pace = true;
            bbr.has_round_trip = smoothed_rtt.is_some();
            bbr.model.start_pacing(now, smoothed_rtt);
        }
        bbr.model.set_in_flight(transmissions.pipe() as f64);
        bbr.model.on_sent(now, transmissions.next_order(), size as f64);
        let rate = bbr.model.pacing_rate().as_bytes_per_second();
        bbr.pacer.on_sent(now, size as f64, rate, bbr.model.send_quantum());
    }

    /// Updates the model and sets the window after an acknowledgement that measured `rtt`. The segments that
    /// were delivered or marked as lost come from `transmissions`.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        rtt: Option<Duration>,
        transmissions: &mut Transmissions,
        window: &mut Window,
    ) {
        let Some(bbr) = &mut self.0 else { return };
        for order in transmissions.take_delivered() {
            bbr.model.on_delivered(order, now);
        }
        bbr.take_losses(now, transmissions);
        if !bbr.has_round_trip && rtt.is_some() {
            bbr.has_round_trip = true;
            bbr.model.start_pacing(now, rtt);
        }
        bbr.model.on_ack(now, rtt);
        bbr.set_window(window);
    }

    /// Takes losses that a timer has found.
    pub(super) fn on_losses(&mut self, now: Instant, transmissions: &mut Transmissions) {
        if let Some(bbr) = &mut self.0 {
            bbr.take_losses(now, transmissions);
        }
    }

    /// A loss that a probe has repaired.
    pub(super) fn on_repaired_loss(&mut self) {
        if let Some(bbr) = &mut self.0 {
            bbr.model.note_loss();
        }
    }

    /// A recovery begins.
    pub(super) fn begin_recovery(&mut self) {
        if let Some(bbr) = &mut self.0 {
            bbr.model.begin_recovery();
        }
    }

    /// Nothing is known to be lost.
    pub(super) fn end_recovery(&mut self) {
        if let Some(bbr) = &mut self.0 {
            bbr.model.end_recovery();
        }
    }

    /// The last recovery was spurious.
    pub(super) fn undo(&mut self) {
        if let Some(bbr) = &mut self.0 {
            bbr.model.on_spurious_recovery();
        }
    }

    /// The retransmission timer has expired, and what it takes as lost is marked.
    pub(super) fn on_timeout(
        &mut self,
        now: Instant,
        transmissions: &mut Transmissions,
        window: &mut Window,
    ) {
        let Some(bbr) = &mut self.0 else { return };
        bbr.take_losses(now, transmissions);
        bbr.model.on_timeout();
        bbr.set_window(window);
    }

    /// The application has run out of data.
    pub(super) fn limit(&mut self, transmissions: &Transmissions) {
        if let Some(bbr) = &mut self.0 {
            bbr.model.set_in_flight(transmissions.pipe() as f64);
            bbr.model.on_application_limited();
        }
    }

    /// `true` if the pace forbids sending now; the [`deadline`](Self::deadline) is then the next quantum's.
    pub(super) fn holds_back(&mut self, now: Instant) -> bool {
        let Some(bbr) = &mut self.0 else { return false };
        bbr.pacer.is_waiting = bbr.pacer.holds_back(now, bbr.segment);
        bbr.pacer.is_waiting
    }

    /// Time of the next quantum, if a packet waits for it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.as_ref().filter(|bbr| bbr.pacer.is_waiting).map(|bbr| bbr.pacer.next)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if let Some(bbr) = &mut self.0 {
            bbr.pacer.is_waiting &= bbr.pacer.next > now;
        }
    }

    pub(super) fn snapshot(&self) -> Option<ModelSnapshot> {
        self.0.as_ref().map(|bbr| ModelSnapshot {
            state: bbr.model.state(),
            bandwidth: bbr.model.bandwidth(),
            pacing_rate: bbr.model.pacing_rate(),
            min_rtt: bbr.model.min_rtt(),
        })
    }
}
