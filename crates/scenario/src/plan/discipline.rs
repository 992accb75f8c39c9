//! Queue disciplines, made ready to run.

use whimbrel_netsim::queue::{
    self, CoDelConfig, DualPi2Config, FqCoDelConfig, PieConfig, QueueProtectionConfig, RedConfig,
};
use whimbrel_netsim::random::RandomStreams;
use whimbrel_netsim::{LinkRate, QueueLimit};
use whimbrel_units::{ByteCount, DataRate, Duration};

use crate::ScenarioError;
use crate::discipline::{Discipline, QueueProtection, QueueProtectionParameters};
use crate::quantity::Time;

/// The packet in whose transmission times RED measures idle periods.
const TYPICAL_PACKET: ByteCount = ByteCount::new(1_000);

/// A link's discipline; `key` is its key in the scenario, `rate` the link's rate.
pub(super) fn discipline(
    key: &str,
    discipline: &Discipline,
    rate: &LinkRate,
) -> Result<queue::Discipline, ScenarioError> {
    let config = config(discipline, rate);
    // Building it once checks its parameters.
    let random = RandomStreams::new(0, 0).stream("link", "queue");
    match config.build(QueueLimit::Unlimited, random) {
        Ok(_) => Ok(config),
        Err(error) => {
            Err(ScenarioError::invalid(format!("{key}.{}", error.parameter), error.value, error.expected))
        }
    }
}

fn config(discipline: &Discipline, rate: &LinkRate) -> queue::Discipline {
    let or = |time: Option<Time>, default: Duration| time.map_or(default, |time| time.0);
    match *discipline {
        Discipline::Droptail => queue::Discipline::DropTail,
        Discipline::Red { min_threshold, max_threshold, max_probability, weight, gentle, ecn } => {
            let default = RedConfig::default();
            queue::Discipline::Red(RedConfig {
                min_threshold: min_threshold.unwrap_or(default.min_threshold),
                max_threshold: max_threshold.unwrap_or(default.max_threshold),
                max_probability: max_probability.map_or(default.max_probability, |share| share.0),
                weight: weight.unwrap_or(default.weight),
                gentle: gentle.unwrap_or(default.gentle),
                ecn,
                idle_packet_time: transmission_time(rate).unwrap_or(default.idle_packet_time),
            })
        }
        Discipline::Codel { target, interval, ecn } => {
            let default = CoDelConfig::default();
            let (target, interval) = (or(target, default.target), or(interval, default.interval));
            queue::Discipline::CoDel(CoDelConfig { target, interval, ecn, ..default })
        }
        Discipline::FqCodel { target, interval, ecn, queues, quantum } => {
            let default = FqCoDelConfig::default();
            let (target, interval) = (or(target, default.codel.target), or(interval, default.codel.interval));
            queue::Discipline::FqCoDel(FqCoDelConfig {
                codel: CoDelConfig { target, interval, ecn, ..default.codel },
                queues: queues.unwrap_or(default.queues),
                quantum: quantum.unwrap_or(default.quantum),
            })
        }
        Discipline::Pie { target, update_interval, ecn } => {
            let default = PieConfig::default();
            queue::Discipline::Pie(PieConfig {
                target: or(target, default.target),
                update_interval: or(update_interval, default.update_interval),
                ecn,
                ..default
            })
        }
        Discipline::DualPi2 { target, rtt_max, protection: chosen } => {
            let default = DualPi2Config::default();
            queue::Discipline::DualPi2(DualPi2Config {
                target: or(target, default.target),
                rtt_max: or(rtt_max, default.rtt_max),
                protection: protection(chosen),
                ..default
            })
        }
    }
}

fn protection(chosen: QueueProtection) -> Option<QueueProtectionConfig> {
    let QueueProtectionParameters { critical_delay, critical_score, aging, buckets } = match chosen {
        QueueProtection::Switch(false) => return None,
        QueueProtection::Switch(true) => QueueProtectionParameters::default(),
        QueueProtection::Parameters(parameters) => parameters,
    };
    let default = QueueProtectionConfig::default();
    Some(QueueProtectionConfig {
        critical_delay: critical_delay.map(|time| time.0).or(default.critical_delay),
        critical_score: critical_score.map_or(default.critical_score, |time| time.0),
        aging: aging.map_or(default.aging, |rate| rate.0),
        buckets: buckets.unwrap_or(default.buckets),
    })
}

/// The transmission time of a typical packet on a link of constant rate.
fn transmission_time(rate: &LinkRate) -> Option<Duration> {
    let LinkRate::Constant(rate) = rate else { return None };
    (!rate.is_zero() && *rate < DataRate::INFINITE).then(|| TYPICAL_PACKET / *rate)
}

#[cfg(test)]
mod tests;
