//! Inherent loss: classification by the loss rate compared with the path's usual one.

use whimbrel_units::{DataRate, Instant};

use super::{Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival};

mod estimate;
mod window;

use estimate::{Estimate, History};
use window::{Open, Window};

#[cfg(test)]
mod tests;

/// Logarithm of the likelihood ratio from which an additional parameter is accepted: half of 3.84, the 5 %
/// point of the chi-squared distribution with one degree of freedom (Wilks' theorem).
const SIGNIFICANT: f64 = 1.92;

/// Compares the recent loss rate with the loss rate inherent to the path, a maximum-likelihood estimate.
///
/// Modelled on the loss-based controller of Google Congestion Control (WebRTC, `LossBasedBweV2`), for
/// comparison with the schemes of the paper, which use times instead of loss rates.
///
/// **The model.** Packets are counted in windows of at least 250 ms by the sender's clock. Window k has
/// `n_k` packets sent, `l_k` of them lost, and the rate S_k at which they were sent. A path with the
/// inherent loss p and the bandwidth limit B loses each packet independently with probability
///
/// ```text
/// q_k = p                            if S_k <= B
/// q_k = p + (1 - p) (S_k - B) / S_k  otherwise
/// ```
///
/// and the estimate maximises `sum of w_k (l_k ln q_k + (n_k - l_k) ln(1 - q_k))` over the last 15 windows,
/// where `w_k` is 0.9 to the power of the window's age. The best p between 0.001 and 0.05 + 100 kbit/s / B is
/// found by Newton's method, for each of a few candidate limits (the receive rate in the newest of these
/// windows, and 0.95, 1 and 1.02 times the previous best limit) and for no limit (the receive rate then
/// replaces B in the bound). A limit is accepted if it raises the likelihood of the observations by a factor
/// of e^1.92, the 5 % point of a likelihood-ratio test.
///
/// **The classification.** Recent packets belong to the newest complete window, which the estimate does
/// not include yet, and of the current one: `n` packets, `l` of them lost. A loss is congestion if `l / n >
/// p` and the recent packets are likelier by a factor of more than e^1.92 under their own loss rate than
/// under p: `n D(l/n || p) > 1.92`, with D the Kullback-Leibler divergence. All losses at one time get the
/// same class; the scheme does not distinguish single packets. Until there is an estimate, every loss is
/// congestion.
///
/// **Deviations from GCC.** GCC estimates a bandwidth and does not classify losses: the classification is an
/// addition. GCC runs at the sender, after each feedback; this runs at the receiver, with the sender's
/// Timestamps, so that lost packets are assumed to have the mean size of those received. The windows of GCC
/// have no minimum number of packets; here it is 20, since flows of a few packets per 250 ms would otherwise
/// forget a loss rate of 1 % between two losses. GCC takes one Newton step of 0.75; here the steps are
/// repeated until they converge. GCC adds a bias towards high bandwidths where this tests for a limit, and
/// takes candidates from the delay-based estimate, which a TFRC receiver does not have. Its ramp-up, hold and
/// probing belong to rate control and are left out, and with them the mechanism that makes the model well
/// posed: GCC reduces its rate to B, so that windows above and below B are observed together. A sender that
/// always exceeds B cannot be distinguished from one on a path with that inherent loss.
#[derive(Clone, Debug, Default)]
pub struct Inherent {
    history: History,
    estimate: Option<Estimate>,
    newest: Option<Window>,
    open: Option<Open>,
    greatest: Option<u64>,
    evidence: Evidence,
}

impl Inherent {
    /// A classifier without statistics.
    pub fn new() -> Self {
        Self::default()
    }

    /// p: fraction of the packets that the path loses without congestion; `None` until there is an estimate.
    pub fn inherent_loss(&self) -> Option<f64> {
        Some(self.estimate?.loss)
    }

    /// B: the rate above which packets are lost to congestion, if a limit was accepted.
    pub fn bandwidth_limit(&self) -> Option<DataRate> {
        self.estimate?.limit.map(DataRate::from_bits_per_second)
    }

    /// Processes the packet sent at `sent`, in order of sequence numbers, and the `missing` packets before
    /// it.
    fn advance(&mut self, sent: Instant, arrival: &PacketArrival, missing: u64) {
        let open = self.open.get_or_insert_with(|| Open::new(sent));
        // The missing packets were sent before this one, in the window that this one may end.
        open.lost += missing;
        if let Some(window) = open.close(sent) {
            self.open = Some(Open::new(sent));
            self.on_window(window);
        }
        if let Some(open) = &mut self.open {
            open.on_received(arrival.size);
        }
    }

    fn on_window(&mut self, window: Window) {
        if let Some(window) = self.newest.replace(window) {
            self.history.push(window);
            self.estimate = Some(self.history.estimate(self.estimate));
        }
    }

    /// Numbers of packets sent and lost recently.
    fn recent(&self) -> (u64, u64) {
        let open = self.open.map_or((0, 0), |open| (open.sent(), open.lost));
        let newest = self.newest.map_or((0, 0), |window| (window.sent, window.lost));
        (open.0 + newest.0, open.1 + newest.1)
    }
}

impl LossDifferentiation for Inherent {
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        let Some(sent) = arrival.sent else { return };
        match self.greatest {
            Some(greatest) if arrival.sequence == greatest => {}
            Some(greatest) if arrival.sequence < greatest => {
                // A late packet, counted as lost before.
                if let Some(open) = &mut self.open
                    && open.lost > 0
                {
                    open.lost -= 1;
                    open.on_received(arrival.size);
                }
            }
            greatest => {
                let missing = greatest.map_or(0, |greatest| arrival.sequence - greatest - 1);
                self.greatest = Some(arrival.sequence);
                self.advance(sent, arrival, missing);
            }
        }
    }

    fn classify(&mut self, _gap: &LossGap) -> LossClass {
        let Some(estimate) = self.estimate else {
            self.evidence = Evidence::None;
            return LossClass::Congestion;
        };
        let (sent, lost) = self.recent();
        let excess = excess(sent as f64, lost as f64, estimate.loss);
        let limit = self.bandwidth_limit();
        self.evidence = Evidence::Inherent { inherent: estimate.loss, limit, sent, lost, excess };
        LossClass::wireless_if(excess <= SIGNIFICANT)
    }

    fn evidence(&self) -> Evidence {
        self.evidence
    }

    fn on_path_change(&mut self) {
        *self = Self::new();
    }
}

/// n D(l/n || p): logarithm of the likelihood ratio of `lost` in `sent` packets under their own loss rate and
/// under `p`; zero if the loss rate does not exceed `p`.
pub(super) fn excess(sent: f64, lost: f64, p: f64) -> f64 {
    if lost <= sent * p {
        return 0.0;
    }
    let arrived = sent - lost;
    let of_arrived = if arrived > 0.0 { arrived * libm::log(arrived / (sent * (1.0 - p))) } else { 0.0 };
    lost * libm::log(lost / (sent * p)) + of_arrived
}
