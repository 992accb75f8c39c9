//! Receivers that wait for reordered packets, at random.

use whimbrel_proto::Config;
use whimbrel_proto::config::{BufferSize, LossDetection};
use whimbrel_units::{DataRate, Duration};

use super::Dice;

/// Some ends delay delivery or loss detection.
pub(super) fn allow<'a>(dice: &mut Dice, configs: impl Iterator<Item = &'a mut Config>) {
    for config in configs {
        let forgive_late = dice.chance(0.7);
        config.tune_tfrc(|tfrc| tfrc.forgive_late = forgive_late);
        if dice.chance(0.4) {
            let delay = dice.time(Duration::from_micros(1), Duration::from_secs(1));
            config.receive.reorder_delay = Some(delay);
            config.receive.reorder_size = match dice.below(3) {
                0 => BufferSize::Dynamic,
                1 => BufferSize::Fixed(1 + dice.below(20) as u32),
                _ => BufferSize::Peak(DataRate::from_kilobits_per_second(100.0)),
            };
        } else if dice.chance(0.3) {
            config.receive.loss_detection = LossDetection::Rack;
        }
    }
}
