//! A sender and a receiver over a link with noise.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::{Dcf, MacConfig, Outgoing, ReceptionError};
use whimbrel_wifi::frame::{Frame, MacAddress};
use whimbrel_wifi::propagation::success_probability;
use whimbrel_wifi::random::{Random, SplitMix64};

/// Two stations on a medium of their own. Every frame, acknowledgements included, is lost with the error
/// probability of its rate and length at a constant signal-to-noise ratio.
pub struct NoisyLink {
    /// Sender and receiver.
    machines: [Dcf<SplitMix64>; 2],
    signal_to_noise: f64,
    noise: SplitMix64,
    payload_bytes: u32,
    /// End of the frame on the air, its sender's number and the frame.
    on_air: Option<(Instant, usize, Frame)>,
    now: Instant,
}

impl NoisyLink {
    /// A saturated sender of payloads of `payload_bytes` bytes; `signal_to_noise` is a power ratio.
    pub fn new(config: &MacConfig, signal_to_noise: f64, payload_bytes: u32, seed: u64) -> Self {
        let root = SplitMix64::new(seed);
        let machine = |number| {
            let stream = root.stream(u64::from(number));
            Dcf::new(MacAddress::station(number), config.clone(), stream)
        };
        Self {
            machines: [machine(0), machine(1)],
            signal_to_noise,
            noise: root.stream(2),
            payload_bytes,
            on_air: None,
            now: Instant::ZERO,
        }
    }

    /// Throughput of the payloads in Mbit/s between two instants; earlier ones have passed.
    pub fn throughput(&mut self, from: Instant, to: Instant) -> f64 {
        self.run_until(from);
        let before = self.machines[1].counters().delivered;
        self.run_until(to);
        let payloads = self.machines[1].counters().delivered - before;
        payloads as f64 * f64::from(self.payload_bytes) * 8e-6 / (to - from).as_secs_f64()
    }

    fn run_until(&mut self, end: Instant) {
        loop {
            self.refill();
            let deadlines = self.machines.iter().filter_map(Dcf::poll_timeout);
            let Some(next) = deadlines.chain(self.on_air.map(|(at, ..)| at)).min().filter(|&at| at <= end)
            else {
                self.now = end;
                return;
            };
            self.now = next;
            for number in [0, 1] {
                self.machines[number].handle_timeout(next);
                if let Some(transmit) = self.machines[number].poll_transmit(next) {
                    self.on_air = Some((next + transmit.frame.air_time, number, transmit.frame));
                    self.machines[1 - number].handle_busy(next);
                }
            }
            if let Some((_, sender, frame)) = self.on_air.take_if(|(at, ..)| *at <= next) {
                let bits = f64::from(frame.size) * 8.0;
                let success = success_probability(frame.rate, self.signal_to_noise, bits);
                let is_received = self.noise.uniform() < success;
                let receiver = &mut self.machines[1 - sender];
                if is_received {
                    receiver.handle_frame(next, &frame);
                } else {
                    receiver.handle_error(next, ReceptionError::Corrupted);
                }
                receiver.handle_idle(next);
            }
        }
    }

    fn refill(&mut self) {
        for machine in &mut self.machines {
            while machine.poll_event().is_some() {}
        }
        let sender = &mut self.machines[0];
        if sender.is_ready() {
            let payload = Outgoing::data(MacAddress::station(1), self.payload_bytes, 0);
            let accepted = sender.enqueue(self.now, payload);
            debug_assert!(accepted.is_ok());
        }
    }
}

/// Throughputs in Mbit/s of a saturated sender at one signal-to-noise ratio.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adaptation {
    /// Signal-to-noise ratio in decibels.
    pub decibels: f64,
    /// The fixed rate with the highest throughput.
    pub best_rate: whimbrel_wifi::phy::Rate,
    /// Its throughput.
    pub best: f64,
    /// Throughput under rate adaptation by ARF.
    pub arf: f64,
    /// Throughput under the Minstrel-like rate adaptation.
    pub minstrel: f64,
}

/// Compares both rate adaptations with the best of the fixed rates. Payloads of 1500 bytes, 10 s after 5 s
/// that do not count; adaptation begins at the lowest rate.
pub fn adaptation(config: &MacConfig, decibels: f64) -> Adaptation {
    use whimbrel_wifi::rate_control::{Arf, Minstrel, RateControl};
    let measure = |data_rate, rate_control| {
        let config = MacConfig { data_rate, rate_control, ..config.clone() };
        let ratio = whimbrel_wifi::propagation::from_decibels(decibels);
        let start = Instant::ZERO + Duration::from_secs(5);
        NoisyLink::new(&config, ratio, super::PAYLOAD_BYTES, 1)
            .throughput(start, start + Duration::from_secs(10))
    };
    let lowest = config.phy.supported.lowest();
    let mut best = (lowest, 0.0);
    for rate in config.phy.supported.iter() {
        let throughput = measure(rate, RateControl::Fixed);
        if throughput > best.1 {
            best = (rate, throughput);
        }
    }
    Adaptation {
        decibels,
        best_rate: best.0,
        best: best.1,
        arf: measure(lowest, RateControl::Arf(Arf::default())),
        minstrel: measure(lowest, RateControl::Minstrel(Minstrel::default())),
    }
}

#[cfg(test)]
mod tests;
