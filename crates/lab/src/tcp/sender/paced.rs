//! BBR: the window and the pace of a model of the path (draft-ietf-ccwg-bbr).
//!
//! RACK's order of transmissions numbers the packets of [`bbr`](whimbrel_control::bbr). Loss detection,
//! retransmissions and timers are those of [`rack`](super::rack); the model replaces the window law.

use whimbrel_control::bbr::Model;
use whimbrel_control::window::Window;
use whimbrel_units::{Duration, Instant};

use super::{Method, TcpSender};
use crate::tcp::config::TcpConfig;

/// The model of a sender, and its pacer.
#[derive(Clone, Debug)]
pub(super) struct Paced {
    pub(super) model: Model,
    pacer: Pacer,
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
    /// Bytes of a full packet.
    segment: f64,
    /// A packet waits for `next`.
    is_waiting: bool,
}

impl Pacer {
    fn holds_back(&self, now: Instant) -> bool {
        let is_in_quantum = self.quantum_at == now && self.left >= self.segment;
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

impl Paced {
    /// The model of `config`, if it has one, at that first window.
    pub(super) fn new(config: &TcpConfig, method: Method, window: &Window) -> Option<Box<Self>> {
        let parameters = config.window.bbr.filter(|_| method == Method::Rack)?;
        let segment = f64::from(config.segment_size);
        let model = Model::for_transport(parameters, window.cwnd * segment, segment);
        let pacer = Pacer { segment, ..Pacer::default() };
        Some(Box::new(Self { model, pacer, has_pace: false, has_round_trip: false }))
    }

    /// A transmission leaves, the one of that `order`.
    pub(super) fn on_sent(&mut self, now: Instant, order: u64, size: u64, smoothed_rtt: Option<Duration>) {
        if !self.has_pace {
            self.has_pace = true;
            self.has_round_trip = smoothed_rtt.is_some();
            self.model.start_pacing(now, smoothed_rtt);
        }
        self.model.on_sent(now, order, size as f64);
        let rate = self.model.pacing_rate().as_bytes_per_second();
        self.pacer.on_sent(now, size as f64, rate, self.model.send_quantum());
    }

    /// An acknowledgement ends that measured `rtt`.
    fn on_ack(&mut self, now: Instant, rtt: Option<Duration>) {
        if !self.has_round_trip && rtt.is_some() {
            self.has_round_trip = true;
            self.model.start_pacing(now, rtt);
        }
        self.model.on_ack(now, rtt);
    }

    /// `true` if the pace forbids sending now; the deadline then is that of the next quantum.
    pub(super) fn holds_back(&mut self, now: Instant) -> bool {
        self.pacer.is_waiting = self.pacer.holds_back(now);
        self.pacer.is_waiting
    }

    /// Time of the next quantum, if a packet waits for it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pacer.is_waiting.then_some(self.pacer.next)
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.pacer.is_waiting &= self.pacer.next > now;
    }
}

impl TcpSender {
    /// The model of the path, under BBR.
    pub fn path_model(&self) -> Option<&Model> {
        self.paced.as_deref().map(|paced| &paced.model)
    }

    /// Passes an acknowledgement to the model: the segments that it covers, those that it shows to be lost,
    /// and its round-trip time.
    pub(super) fn update_model(&mut self, now: Instant, rtt: Option<Duration>) {
        let Some(paced) = &mut self.paced else { return };
        paced.model.set_in_flight(self.transmissions.pipe() as f64);
        for order in self.transmissions.take_delivered() {
            paced.model.on_delivered(order, now);
        }
        for order in self.transmissions.take_lost() {
            paced.model.on_lost(now, order);
        }
        paced.on_ack(now, rtt);
        self.follow_model();
    }

    /// Passes losses that a timer has found to the model.
    pub(super) fn note_losses_in_model(&mut self, now: Instant) {
        let Some(paced) = &mut self.paced else { return };
        paced.model.set_in_flight(self.transmissions.pipe() as f64);
        for order in self.transmissions.take_lost() {
            paced.model.on_lost(now, order);
        }
    }

    /// The retransmission timer has expired, and what it takes as lost is marked.
    pub(super) fn time_out_model(&mut self, now: Instant) {
        self.note_losses_in_model(now);
        if let Some(paced) = &mut self.paced {
            paced.model.on_timeout();
            self.follow_model();
        }
    }

    /// The application has run out of data.
    pub(super) fn limit_model(&mut self) {
        if let Some(paced) = &mut self.paced {
            paced.model.set_in_flight(self.transmissions.pipe() as f64);
            paced.model.on_application_limited();
        }
    }

    /// Sets the window to the model's.
    fn follow_model(&mut self) {
        if let Some(paced) = &self.paced {
            self.window.cwnd = paced.model.window() / f64::from(self.config.segment_size);
        }
    }
}
