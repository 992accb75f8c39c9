//! The rate that a probe measured.

use alloc::vec::Vec;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::media::{PacketReport, Probe, ProbeId};

/// Share of a probe's packets and bytes that must have arrived.
const LEAST_ARRIVED: f64 = 0.8;
/// Greatest ratio of the rate of arrival to the rate of sending.
const GREATEST_RATIO: f64 = 2.0;
/// Ratio of arrival to sending below which the probe filled the link.
const UNSATURATED_RATIO: f64 = 0.9;
/// Share of the capacity that is used once it is known.
const TARGET_UTILIZATION: f64 = 0.95;
/// Longest probe, and longest memory of one after its last arrival.
const LONGEST: Duration = Duration::from_secs(1);
/// Most probes whose packets are awaited.
const MOST_PROBES: usize = 16;

/// Packets of a probe that arrived.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Cluster {
    first_sent: Instant,
    last_sent: Instant,
    size_last_sent: ByteCount,
    first_arrival: Instant,
    size_first_arrival: ByteCount,
    last_arrival: Instant,
    size: ByteCount,
    packets: u32,
}

impl Cluster {
    fn begin(packet: &PacketReport, arrival: Instant) -> Self {
        let sent = packet.sent;
        Self {
            first_sent: sent.sent_at,
            last_sent: sent.sent_at,
            size_last_sent: sent.size,
            first_arrival: arrival,
            size_first_arrival: sent.size,
            last_arrival: arrival,
            size: sent.size,
            packets: 1,
        }
    }

    fn add(&mut self, packet: &PacketReport, arrival: Instant) {
        let sent = packet.sent;
        self.first_sent = self.first_sent.min(sent.sent_at);
        if sent.sent_at > self.last_sent {
            self.last_sent = sent.sent_at;
            self.size_last_sent = sent.size;
        }
        if arrival < self.first_arrival {
            self.first_arrival = arrival;
            self.size_first_arrival = sent.size;
        }
        self.last_arrival = self.last_arrival.max(arrival);
        self.size += sent.size;
        self.packets += 1;
    }

    /// The lower of the rates of sending and arrival; 95 % of the latter if it is clearly lower, because then
    /// it is the capacity.
    ///
    /// The last packet is not counted as sent and the first not as arrived: the intervals do not contain
    /// their transmission.
    fn rate(&self) -> Option<DataRate> {
        let sending = self.last_sent.saturating_since(self.first_sent);
        let arriving = self.last_arrival.saturating_since(self.first_arrival);
        if sending.is_zero() || sending > LONGEST || arriving.is_zero() || arriving > LONGEST {
            return None;
        }
        let sent = (self.size - self.size_last_sent) / sending;
        let arrived = (self.size - self.size_first_arrival) / arriving;
        if arrived > sent * GREATEST_RATIO {
            return None;
        }
        if arrived < sent * UNSATURATED_RATIO {
            return Some(arrived * TARGET_UTILIZATION);
        }
        Some(sent.min(arrived))
    }
}

/// The probes whose packets are awaited.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct ProbeResults {
    probes: Vec<(Probe, Option<Cluster>)>,
}

impl ProbeResults {
    /// Records a probe that is sent.
    pub(super) fn expect(&mut self, probe: Probe) {
        if self.probes.len() >= MOST_PROBES {
            self.probes.remove(0);
        }
        self.probes.push((probe, None));
    }

    /// Records a packet of probe `id`; returns the rate that the probe measured once enough of it has
    /// arrived, and again for each further packet.
    pub(super) fn record(&mut self, id: ProbeId, packet: &PacketReport) -> Option<DataRate> {
        let arrival = packet.arrival()?;
        self.probes.retain(|(_, cluster)| {
            cluster.is_none_or(|cluster| arrival.saturating_since(cluster.last_arrival) <= LONGEST)
        });
        let (probe, cluster) = self.probes.iter_mut().find(|(probe, _)| probe.id == id)?;
        let cluster = match cluster {
            Some(cluster) => {
                cluster.add(packet, arrival);
                cluster
            }
            None => cluster.insert(Cluster::begin(packet, arrival)),
        };
        let packets = (f64::from(probe.packets) * LEAST_ARRIVED) as u32;
        if cluster.packets < packets || cluster.size.as_f64() < probe.size.as_f64() * LEAST_ARRIVED {
            return None;
        }
        cluster.rate()
    }
}

#[cfg(test)]
mod tests;
