//! The sender of RCP: packets paced at the rate of the slowest router.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::explicit_rate::FlowHeader;
use crate::tfrc::pacing::Pacer;

/// A rate-paced RCP sender.
///
/// The first packet (SYN) requests a rate and carries no data; data follows once the receiver has returned
/// the allocation. Each packet carries a request, so that the rate follows the routers. A sender whose
/// packets are more than a round-trip time apart sends small probes in between (REF in the authors' code), so
/// that its rate does not wait for the next packet to rise.
#[derive(Clone, Debug)]
pub struct RcpSender {
    /// Bytes per packet on the wire.
    packet_size: ByteCount,
    /// The rate that the application can use.
    demand: DataRate,
    rate: Option<DataRate>,
    rtt: Option<Duration>,
    pacer: Pacer,
    /// Time of the last packet of any kind.
    last_sent: Option<Instant>,
}

impl RcpSender {
    /// A sender of packets of `packet_size` that uses at most `demand`, which may be infinite.
    pub fn new(packet_size: ByteCount, demand: DataRate) -> Self {
        let pacer = Pacer::new(Duration::MAX);
        Self { packet_size, demand, rate: None, rtt: None, pacer, last_sent: None }
    }

    /// The allowed rate; `None` before the first feedback.
    pub fn rate(&self) -> Option<DataRate> {
        self.rate
    }

    /// Sets the round-trip time.
    pub fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = Some(rtt);
    }

    /// The header of any packet: the rate that the application can use.
    pub fn header(&self) -> FlowHeader {
        FlowHeader {
            rtt: self.rtt.unwrap_or(Duration::ZERO),
            rate: self.rate.unwrap_or(DataRate::ZERO),
            allocation: self.demand.as_bits_per_second(),
        }
    }

    /// Processes the allocation that the receiver has returned, in bit/s. An infinite one, which no router
    /// has reduced, allows what the application can use.
    pub fn on_feedback(&mut self, allocation: f64) {
        let rate = DataRate::from_bits_per_second(allocation).min(self.demand);
        self.rate = Some(rate);
        self.pacer.adjust(self.interval(rate), Duration::ZERO, Duration::ZERO);
    }

    fn interval(&self, rate: DataRate) -> Duration {
        if rate.is_zero() { Duration::MAX } else { self.packet_size / rate }
    }

    /// The earliest time of the next data packet; `None` before the first feedback and at rate zero.
    pub fn next_send_time(&self) -> Option<Instant> {
        self.rate.filter(|rate| !rate.is_zero()).map(|_| self.pacer.next_send_time())
    }

    /// The time of the next probe, a round-trip time after the last packet; `None` if a data packet is due
    /// earlier, or if nothing was sent or measured yet.
    pub fn next_probe_time(&self) -> Option<Instant> {
        let probe = self.last_sent? + self.rtt?;
        match self.next_send_time() {
            Some(data) if data <= probe => None,
            _ => Some(probe),
        }
    }

    /// Processes the sending of a data packet.
    pub fn on_sent(&mut self, now: Instant) {
        self.pacer.on_sent(now);
        self.last_sent = Some(now);
    }

    /// Processes the sending of the first packet or of a probe.
    pub fn on_probe_sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
    }
}
