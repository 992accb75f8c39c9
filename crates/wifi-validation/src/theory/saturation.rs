//! Saturation throughput in closed form.

use super::{BackoffChain, ExchangeTimes, Operation};

/// Throughput of n saturated stations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Saturation {
    /// The operating point.
    pub operation: Operation,
    /// Payloads per second by Bianchi 2000, equation 13.
    pub classic: f64,
    /// Payloads per second by Bianchi and Tinnirello, "Remarks on IEEE 802.11 DCF performance analysis", IEEE
    /// Communications Letters 9(8), 2005: a frozen counter does not count the slot that a transmission took,
    /// so the sender of a success alone may transmit in the slot after it, with probability 1 / W per
    /// success.
    pub refined: f64,
}

/// Computes the throughput of `stations` saturated stations with unlimited retries.
pub fn saturation(chain: BackoffChain, times: ExchangeTimes, stations: u32) -> Saturation {
    let operation = chain.solve(stations);
    let tau = operation.transmission;
    let n = f64::from(stations);
    let idle = libm::pow(1.0 - tau, n);
    let success = n * tau * libm::pow(1.0 - tau, n - 1.0);
    let collision = 1.0 - idle - success;
    let rate = |payloads: f64, success_time: f64, collision_time: f64| {
        let mean_slot = idle * times.slot + success * success_time + collision * collision_time;
        success * payloads / mean_slot * 1e6
    };
    // B: the winner draws 0 and sends again.
    let again = 1.0 / chain.window;
    let payloads = 1.0 / (1.0 - again);
    let refined_success = times.success * payloads + times.slot;
    Saturation {
        operation,
        classic: rate(1.0, times.success, times.collision),
        refined: rate(payloads, refined_success, times.collision),
    }
}
