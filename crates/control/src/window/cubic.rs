//! CUBIC: a window that is a cubic function of the time since the last congestion (RFC 9438).

use libm::cbrt;
use whimbrel_units::{Duration, Instant};

use super::hystart::{HyStart, LinuxHyStart};
use super::{Acknowledgement, CongestionCause, CongestionSignal, Delivery, Window, WindowLaw};

/// CUBIC (RFC 9438). Window and time are in segments and seconds, as there.
///
/// In congestion avoidance an acknowledgement of `n` segments adds `n (target - cwnd) / cwnd`, where `target`
/// is the cubic function a round-trip time ahead (Sections 4.4 and 4.5, which count acknowledgements;
/// counting segments, as Linux does, makes the growth independent of delayed acknowledgements). The quantity
/// that is multiplied by beta on congestion is the
/// [`in_flight`](CongestionSignal::in_flight) of the signal, which the sender chooses (Section 4.6).
#[derive(Clone, PartialEq, Debug)]
pub struct Cubic {
    /// Multiplicative decrease factor.
    beta: f64,
    /// Aggressiveness, in segments per cubic second.
    c: f64,
    fast_convergence: bool,
    /// Maximum number of segments that an acknowledgement adds in slow start.
    slow_start_limit: f64,
    hystart: SlowStartExit,
    /// As in Linux: the function is evaluated the least round-trip time ahead, and the Reno-friendly window
    /// never grows by a whole segment in a round-trip time.
    is_linux: bool,
    /// `W_max` comes from a loss or a mark.
    knows_maximum: bool,
    /// Least round-trip time.
    least_rtt: Option<Duration>,
    /// `W_max`; 0 if undefined, before the first congestion and after a timeout.
    w_max: f64,
    /// `cwnd` when `ssthresh` was set; `None` before.
    prior: Option<f64>,
    epoch: Option<Epoch>,
    /// Time of the last acknowledgement.
    last_delivery: Option<Instant>,
    /// Time between the last acknowledgement and the one before.
    since_delivery: Duration,
}

/// An end of the first slow start before a loss.
#[derive(Clone, PartialEq, Debug)]
enum SlowStartExit {
    None,
    PlusPlus(HyStart),
    Linux(LinuxHyStart),
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Epoch {
    /// Its duration, without the times in which the window was not updated, in seconds.
    t: f64,
    /// Time at which the function reaches `W_max`, in seconds.
    k: f64,
    /// Window of a Reno sender.
    w_est: f64,
}

impl Cubic {
    /// beta of RFC 9438, Section 4.6.
    pub const BETA: f64 = 0.7;
    /// C of RFC 9438, Section 5.1.
    pub const C: f64 = 0.4;

    /// CUBIC with the RFC's constants, fast convergence and the slow start of RFC 5681, by one segment for
    /// each acknowledgement.
    pub const fn rfc9438() -> Self {
        Self {
            beta: Self::BETA,
            c: Self::C,
            fast_convergence: true,
            slow_start_limit: 1.0,
            hystart: SlowStartExit::None,
            is_linux: false,
            knows_maximum: false,
            least_rtt: None,
            w_max: 0.0,
            prior: None,
            epoch: None,
            last_delivery: None,
            since_delivery: Duration::ZERO,
        }
    }

    /// Without fast convergence (Section 4.7), for a network with a single flow.
    #[must_use]
    pub const fn without_fast_convergence(self) -> Self {
        Self { fast_convergence: false, ..self }
    }

    /// With HyStart++ (RFC 9406), as Section 4.10 recommends, and its limit of 8 segments for an
    /// acknowledgement in slow start.
    #[must_use]
    pub const fn with_hystart(self) -> Self {
        Self {
            hystart: SlowStartExit::PlusPlus(HyStart::rfc9406()),
            slow_start_limit: HyStart::LIMIT,
            ..self
        }
    }

    /// CUBIC as in Linux 6.1: its [HyStart](LinuxHyStart), growth by all that an acknowledgement covers in
    /// slow start, the function evaluated the least round-trip time ahead instead of the smoothed one, and a
    /// growth by a twentieth in a round-trip time at least before the first congestion.
    pub const fn linux() -> Self {
        let hystart = SlowStartExit::Linux(LinuxHyStart::new());
        Self { hystart, is_linux: true, slow_start_limit: f64::INFINITY, ..Self::rfc9438() }
    }

    /// The same without HyStart.
    #[must_use]
    pub const fn without_hystart(self) -> Self {
        Self { hystart: SlowStartExit::None, ..self }
    }

    fn slow_start(&mut self, window: &mut Window, ack: &Acknowledgement) {
        let growth = ack.acked.min(self.slow_start_limit);
        let ends = match &mut self.hystart {
            SlowStartExit::PlusPlus(hystart) if !hystart.is_over() => {
                window.cwnd += growth * hystart.share();
                hystart.on_ack(ack.in_flight)
            }
            SlowStartExit::Linux(hystart) => {
                let ends = hystart.on_ack(ack.now, window.cwnd, ack.in_flight);
                if !ends {
                    window.cwnd += growth;
                }
                ends
            }
            SlowStartExit::PlusPlus(_) | SlowStartExit::None => {
                window.cwnd += growth;
                false
            }
        };
        if ends {
            window.ssthresh = window.cwnd;
            self.prior = Some(window.cwnd);
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, ack: &Acknowledgement) {
        let rtt = ack.smoothed_rtt.unwrap_or(Duration::ZERO);
        let prior = *self.prior.get_or_insert(window.cwnd);
        // Acknowledgements of a sender that uses its window are less than a round-trip time apart. In a
        // longer time the window was not updated, which Section 4.2 leaves out.
        let step = self.since_delivery.min(rtt).as_secs_f64();
        let mut epoch = match self.epoch {
            Some(epoch) => Epoch { t: epoch.t + step, ..epoch },
            None => self.begin(window.cwnd),
        };
        let alpha = if epoch.w_est >= prior && !self.is_linux {
            1.0
        } else {
            3.0 * (1.0 - self.beta) / (1.0 + self.beta)
        };
        epoch.w_est += alpha * ack.acked / window.cwnd;
        self.epoch = Some(epoch);
        if self.at(&epoch, 0.0) < epoch.w_est {
            window.cwnd = window.cwnd.max(epoch.w_est);
        } else {
            let ahead = if self.is_linux { self.least_rtt.unwrap_or(rtt) } else { rtt };
            // Linux lets the window grow by a twentieth at least while the capacity is unknown.
            let least = if self.is_linux && !self.knows_maximum { 1.05 } else { 1.0 };
            let target = self.at(&epoch, ahead.as_secs_f64()).clamp(least * window.cwnd, 1.5 * window.cwnd);
            window.cwnd += ack.acked * (target - window.cwnd) / window.cwnd;
        }
    }

    /// `W_cubic`, `ahead` seconds from now (equation 1).
    fn at(&self, epoch: &Epoch, ahead: f64) -> f64 {
        let distance = epoch.t + ahead - epoch.k;
        self.c * distance * distance * distance + self.w_max
    }

    /// Begins a stage of congestion avoidance (equation 2). K is 0 where `W_max` is undefined or was
    /// exceeded.
    fn begin(&mut self, cwnd: f64) -> Epoch {
        self.w_max = self.w_max.max(cwnd);
        Epoch { t: 0.0, k: cbrt((self.w_max - cwnd) / self.c), w_est: cwnd }
    }

    /// `ssthresh` after congestion (Section 4.6), and the end of the stage.
    fn reduce(&mut self, window: &Window, in_flight: f64) -> f64 {
        self.prior = Some(window.cwnd);
        self.epoch = None;
        match &mut self.hystart {
            SlowStartExit::PlusPlus(hystart) => hystart.end(),
            SlowStartExit::Linux(hystart) => hystart.end(),
            SlowStartExit::None => {}
        }
        (in_flight * self.beta).max(2.0)
    }
}

impl WindowLaw for Cubic {
    fn name(&self) -> &'static str {
        "CUBIC"
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        let before = self.last_delivery.replace(delivery.now);
        self.since_delivery = before.map_or(Duration::ZERO, |before| delivery.now.saturating_since(before));
        if let Some(rtt) = delivery.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        match &mut self.hystart {
            SlowStartExit::PlusPlus(hystart) => hystart.on_delivery(delivery),
            SlowStartExit::Linux(hystart) => hystart.on_delivery(delivery),
            SlowStartExit::None => {}
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if window.in_slow_start() {
            self.slow_start(window, ack);
            // In Linux, the acknowledgement that ends slow start begins congestion avoidance.
            if !self.is_linux || window.in_slow_start() {
                return;
            }
        }
        self.avoid_congestion(window, ack);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: &CongestionSignal) {
        // Section 4.7: a flow whose window shrinks leaves capacity to others.
        let is_shrinking = self.fast_convergence && window.cwnd < self.w_max;
        self.w_max = if is_shrinking { window.cwnd * (1.0 + self.beta) / 2.0 } else { window.cwnd };
        window.ssthresh = self.reduce(window, signal.in_flight);
        self.knows_maximum = true;
        let least = if signal.cause == CongestionCause::Mark { 1.0 } else { 2.0 };
        window.cwnd = (signal.in_flight * self.beta).max(least);
    }

    fn on_timeout(&mut self, window: &mut Window, signal: &CongestionSignal, repeated: bool) {
        let ssthresh = self.reduce(window, signal.in_flight);
        if !repeated {
            window.ssthresh = ssthresh;
        }
        // Section 4.8: the next stage begins at its own W_max, with K = 0.
        self.w_max = 0.0;
        self.knows_maximum = false;
        window.cwnd = 1.0;
    }
}

#[cfg(test)]
mod tests;
