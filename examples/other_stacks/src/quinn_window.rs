//! A window law as the congestion control of quinn.

use std::{any::Any, sync::Arc, time::Instant};

use quinn_proto::{RttEstimator, congestion::Controller, congestion::ControllerFactory};
use whimbrel_control::window::{
    Acknowledgement, CongestionCause, CongestionSignal, LawPrototype, Window, WindowLaw,
};

/// For `TransportConfig::congestion_controller_factory`, such as
/// `Law(Westwood::plus(BandwidthFilter::Tustin).into())`.
pub struct Law(pub LawPrototype);

struct State {
    law: Box<dyn WindowLaw>,
    window: Window,
    in_flight: f64,
    mtu: f64,
    start: Instant,
    recovering_since: Option<Instant>,
}

impl ControllerFactory for Law {
    fn build(self: Arc<Self>, start: Instant, mtu: u16) -> Box<dyn Controller> {
        let (law, window, mtu) = (self.0.build(), Window::new(10.0), mtu.into());
        Box::new(State { law, window, in_flight: 0.0, mtu, start, recovering_since: None })
    }
}

impl State {
    fn at(&self, now: Instant) -> whimbrel_units::Instant {
        whimbrel_units::Instant::ZERO + now.duration_since(self.start).into()
    }
}

impl Controller for State {
    fn on_ack(&mut self, now: Instant, _: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        let (acked, smoothed_rtt) = (bytes as f64 / self.mtu, Some(rtt.get().into()));
        let ack = Acknowledgement { now: self.at(now), acked, in_flight: self.in_flight, smoothed_rtt };
        if !app_limited {
            self.law.on_ack(&mut self.window, &ack);
        }
    }

    fn on_end_acks(&mut self, _: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        self.in_flight = in_flight as f64 / self.mtu;
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        // One signal for each window of data.
        if self.recovering_since.is_some_and(|since| sent <= since) {
            return;
        }
        self.recovering_since = Some(now);
        let cause = if lost > 0 { CongestionCause::Loss } else { CongestionCause::Mark };
        let signal = CongestionSignal { now: self.at(now), in_flight: self.in_flight, cause };
        if persistent {
            self.law.on_timeout(&mut self.window, &signal, false);
        } else {
            self.law.on_congestion(&mut self.window, &signal);
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu.into();
    }

    fn window(&self) -> u64 {
        (self.window.cwnd.max(2.0) * self.mtu) as u64
    }

    fn initial_window(&self) -> u64 {
        (10.0 * self.mtu) as u64
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { law: self.law.boxed_clone(), ..*self })
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
