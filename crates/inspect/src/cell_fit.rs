//! Parameters of a cell from the delays of one direction: gaps of handovers, the step of repeated blocks, the
//! time between requests for grants, and the size of the queue.
//!
//! Nothing but send times, arrivals and sizes is known. Each parameter needs a stream of its own kind, and is
//! absent if the stream does not show it:
//!
//! - gaps: packets often enough that some are sent in the gap;
//! - step: packets less often than a block is repeated, in a direction without grants;
//! - period: packets less often than requests are, in the uplink;
//! - queue: more packets than the cell carries, until some are lost.

use serde::Serialize;

use crate::loss_fit::Estimate;

#[cfg(test)]
mod tests;

/// The least gap, in seconds: repetitions make shorter ones.
const LEAST_GAP: f64 = 0.02;
/// The least number of values that an estimate needs.
const LEAST_VALUES: usize = 20;
/// Width of the bins in which steps are counted, in seconds: a slot of LTE.
const BIN: f64 = 0.001;
/// Delays above the least one from which a queue is the reason, in seconds.
const QUEUED: f64 = 0.1;
/// Half of the middle spread of delays from which grants are the reason, in seconds.
const SPREAD: f64 = 0.0015;
/// Standard deviations of an interval at the level of 95 %.
const DEVIATIONS: f64 = 1.96;

/// A packet of a stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Crossing {
    /// When it was sent, in seconds.
    pub sent_s: f64,
    /// When it arrived; `None` if it was lost.
    pub received_s: Option<f64>,
    /// Its size in bytes; 0 if that is unknown.
    pub size: u32,
    /// A full queue lost it.
    pub met_full_queue: bool,
}

/// A time in which packets waited and none arrived.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Gap {
    /// Its end, in seconds.
    pub until_s: f64,
    /// Its length. The interval is certain: it lies between the last arrival before it and the time at which
    /// the first packet that waited should have arrived.
    pub length_s: Estimate,
}

/// Estimates from a stream.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CellFit {
    /// Gaps, in the order of time.
    pub gaps: Vec<Gap>,
    /// Time after which a block is repeated, in seconds.
    pub step_s: Option<Estimate>,
    /// Time between two occasions to request a grant, in seconds.
    pub request_period_s: Option<Estimate>,
    /// Bytes that the queue holds.
    pub queue_bytes: Option<Estimate>,
}

/// Estimates the parameters that a stream shows.
pub fn fit(packets: &[Crossing]) -> CellFit {
    let mut sent = packets.to_vec();
    sent.sort_by(|one, other| one.sent_s.total_cmp(&other.sent_s));
    let mut arrived: Vec<(f64, f64)> =
        sent.iter().filter_map(|packet| Some((packet.sent_s, packet.received_s?))).collect();
    if arrived.len() < LEAST_VALUES {
        return CellFit::default();
    }
    let least = arrived.iter().map(|(sent, received)| received - sent).fold(f64::INFINITY, f64::min);
    let extras: Vec<f64> = arrived.iter().map(|(sent, received)| received - sent - least).collect();
    let mut sorted = extras.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    let is_queued = middle > QUEUED;
    let spread = (quartile(&sorted, 3) - quartile(&sorted, 1)) / 2.0;
    let has_grants = !is_queued && spread > SPREAD;
    arrived.sort_by(|one, other| one.1.total_cmp(&other.1));
    CellFit {
        gaps: if is_queued { Vec::new() } else { gaps(&arrived, least + middle, spacing(&sent)) },
        step_s: if is_queued || has_grants { None } else { step(&extras, middle) },
        request_period_s: if has_grants { period(&sorted) } else { None },
        queue_bytes: queue(&sent, least),
    }
}

/// The middle of the times between two packets.
fn spacing(sent: &[Crossing]) -> f64 {
    let mut times: Vec<f64> = sent.windows(2).map(|pair| pair[1].sent_s - pair[0].sent_s).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Times between arrivals in which a packet that was sent should have arrived.
fn gaps(arrived: &[(f64, f64)], usual: f64, spacing: f64) -> Vec<Gap> {
    let mut found = Vec::new();
    for pair in arrived.windows(2) {
        let [(_, before), (sent, until_s)] = [pair[0], pair[1]];
        let due = (sent + usual).max(before);
        let (low, high) = (until_s - due, until_s - before);
        if low > LEAST_GAP.max(spacing) {
            let length_s = Estimate { value: (low + high) / 2.0, interval: Some((low, high)) };
            found.push(Gap { until_s, length_s });
        }
    }
    found
}

/// A quartile of sorted values.
fn quartile(sorted: &[f64], number: usize) -> f64 {
    sorted[(sorted.len() - 1) * number / 4]
}

/// The value at a rank, with the ranks that it may have by chance.
fn ranked(sorted: &[f64], share: f64) -> [f64; 3] {
    let count = sorted.len() as f64;
    let off = DEVIATIONS * libm::sqrt(count * share * (1.0 - share));
    [-off, 0.0, off].map(|off| sorted[((count - 1.0) * share + off).clamp(0.0, count - 1.0) as usize])
}

/// The most frequent wait of packets that are late behind one that is not, less the usual wait.
fn step(extras: &[f64], middle: f64) -> Option<Estimate> {
    let is_late = |extra: f64| extra - middle > 1.5 * BIN;
    let leaders = extras.windows(2).filter(|pair| is_late(pair[1]) && !is_late(pair[0]));
    let mut waits: Vec<f64> = leaders.map(|pair| pair[1] - middle).filter(|wait| *wait < LEAST_GAP).collect();
    waits.sort_by(f64::total_cmp);
    // By binary search: a recording may have millions of waits.
    let near = |wait: f64| {
        let from = waits.partition_point(|other| *other <= wait - BIN);
        &waits[from..waits.partition_point(|other| *other < wait + BIN)]
    };
    let own = waits.iter().map(|wait| near(*wait)).max_by_key(|own| own.len())?;
    if own.len() < LEAST_VALUES {
        return None;
    }
    let [low, value, high] = ranked(own, 0.5);
    Some(Estimate { value, interval: Some((low, high)) })
}

/// Waits for a request are uniform over the period: half of them are between the quartiles.
fn period(sorted: &[f64]) -> Option<Estimate> {
    if sorted.len() < LEAST_VALUES {
        return None;
    }
    let ([low, first, high], [less, third, more]) = (ranked(sorted, 0.25), ranked(sorted, 0.75));
    let interval = (2.0 * (less - high).max(0.0), 2.0 * (more - low));
    Some(Estimate { value: 2.0 * (third - first), interval: Some(interval) })
}

/// The bytes under way when a full queue loses a packet, less those that the rest of the path holds.
fn queue(sent: &[Crossing], least: f64) -> Option<Estimate> {
    let mut arrivals: Vec<(f64, f64)> = sent
        .iter()
        .filter_map(|packet| Some((packet.received_s?, f64::from(packet.size))))
        .filter(|(_, size)| *size > 0.0)
        .collect();
    arrivals.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut next, mut bytes) = (0, 0.0);
    let mut found = Vec::new();
    for packet in sent {
        // Packets that have left the queue by now arrive a path delay later.
        while let Some((_, size)) = arrivals.get(next).filter(|(at, _)| *at <= packet.sent_s + least) {
            bytes -= size;
            next += 1;
        }
        if packet.met_full_queue {
            found.push(bytes);
        } else if packet.received_s.is_some() {
            bytes += f64::from(packet.size);
        }
    }
    if found.len() < LEAST_VALUES {
        return None;
    }
    found.sort_by(f64::total_cmp);
    Some(Estimate { value: quartile(&found, 2), interval: Some((quartile(&found, 1), quartile(&found, 3))) })
}
