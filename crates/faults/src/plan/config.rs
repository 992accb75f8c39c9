//! Random configurations.

use whimbrel_proto::config::{
    CcidPreference, DataChecksumUse, Differentiation, FreezeConfig, IntegrityConfig, PathMtuDiscovery,
    ReceiveConfig, Restart, RestoreLimit, Scheme, Silence, TfrcConfig, TimerConfig,
};
use whimbrel_proto::{Ccid, Config, OverflowPolicy, SendQueueConfig};
use whimbrel_units::{DataRate, Duration};
use whimbrel_wire::ServiceCode;

use super::Dice;

/// A configuration with all options drawn.
#[allow(clippy::needless_update, reason = "a new option keeps its default until it is drawn here")]
pub(super) fn draw(dice: &mut Dice) -> Config {
    let millis = |n: u64| Duration::from_millis(n);
    let longest_msl = if dice.chance(0.7) { 5_000 } else { 120_000 };
    Config::default()
        .service_code(ServiceCode(42))
        .sender_ccids(ccids(dice))
        .receiver_ccids(ccids(dice))
        .ecn(dice.chance(0.8))
        .send_queue(
            SendQueueConfig::default()
                .max_datagrams(1 + dice.below(64) as usize)
                .max_bytes(2_000 + dice.below(100_000) as usize)
                .overflow(if dice.chance(0.5) { OverflowPolicy::DropOldest } else { OverflowPolicy::Refuse }),
        )
        .max_datagram(100 + dice.below(1_400) as usize)
        .path_mtu(*dice.pick(&[
            PathMtuDiscovery::Automatic,
            PathMtuDiscovery::Off,
            PathMtuDiscovery::FromBase,
            PathMtuDiscovery::FromLargest,
        ]))
        .sequence_window(*dice.pick(&[32, 33, 100, 1_000, 20_000, 1 << 20, (1 << 46) - 1]))
        .tfrc(
            TfrcConfig::default()
                .oscillation_damping(dice.chance(0.2))
                .send_loss_event_rate(dice.chance(0.5))
                .send_rtt_estimate(dice.chance(0.5))
                .differentiation(differentiation(dice)),
        )
        .freeze(freeze(dice))
        .timers(
            TimerConfig::rfc4340()
                .connect(millis(1_000 + dice.below(180_000)))
                .msl(millis(500 + dice.below(longest_msl)))
                .idle(dice.chance(0.4).then(|| millis(1_000 + dice.below(60_000)))),
        )
        .receive(
            ReceiveConfig::default()
                .max_datagrams(1 + dice.below(200) as usize)
                .max_bytes(3_000 + dice.below(100_000) as usize)
                .deliver_corrupt(dice.chance(0.3)),
        )
        .integrity(
            IntegrityConfig::default()
                .checksum_coverage(if dice.chance(0.3) { dice.below(16) as u8 } else { 0 })
                .minimum_coverage(if dice.chance(0.3) { dice.below(16) as u8 } else { 0 })
                .data_checksum(*dice.pick(&[
                    DataChecksumUse::Off,
                    DataChecksumUse::Off,
                    DataChecksumUse::Offer,
                    DataChecksumUse::Require,
                ])),
        )
        .server_sends_close_request(dice.chance(0.6))
        .data_on_handshake(dice.chance(0.3))
        .short_sequence_numbers(dice.chance(0.3))
}

/// A configuration for the peer of an end with `other`: mostly they can agree.
pub(super) fn draw_like(dice: &mut Dice, other: &Config) -> Config {
    let mut config = draw(dice);
    if dice.chance(0.9) {
        for (ours, theirs) in [
            (&mut config.sender_ccids, &other.receiver_ccids),
            (&mut config.receiver_ccids, &other.sender_ccids),
        ] {
            let shared = *dice.pick(theirs);
            if !ours.contains(&shared) {
                *ours = ours.iter().copied().chain([shared]).collect();
            }
        }
    }
    config
}

/// Handovers: most ends take part.
fn freeze(dice: &mut Dice) -> FreezeConfig {
    let seconds = |n: u64| Duration::from_secs(n);
    FreezeConfig::default()
        .offer(dice.chance(0.7))
        .restart(*dice.pick(&[Restart::LossRate, Restart::Following, Restart::CarefulResume]))
        .restore_at_most(*dice.pick(&[
            RestoreLimit::None,
            RestoreLimit::Fraction(0.5),
            RestoreLimit::Rate(DataRate::from_kilobits_per_second(64.0)),
        ]))
        .silence(*dice.pick(&[None, Some(Silence::RoundTrips(4.0)), Some(Silence::Time(seconds(2)))]))
        .local_limit(dice.chance(0.3).then(|| seconds(1 + dice.below(60))))
        .remote_limit(seconds(1 + dice.below(30)))
}

/// A classifier of losses, or none.
fn differentiation(dice: &mut Dice) -> Option<Differentiation> {
    let scheme = *dice.pick(&Scheme::ALL);
    match dice.below(4) {
        0 => Some(Differentiation::guarded(scheme)),
        1 => Some(Differentiation::unguarded(scheme)),
        _ => None,
    }
}

/// Some of the CCIDs that there are, in any order.
fn ccids(dice: &mut Dice) -> CcidPreference {
    let registry = Config::default().ccids;
    let mut known: Vec<Ccid> =
        (0..=255).map(Ccid).filter(|ccid| registry.mechanism(*ccid).is_some()).collect();
    let count = 1 + dice.below(known.len() as u64);
    (0..count).map(|_| known.remove(dice.below(known.len() as u64) as usize)).collect()
}
