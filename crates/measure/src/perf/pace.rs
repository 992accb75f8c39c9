//! Times and sizes of a stream's datagrams.

use whimbrel_units::Duration;

use super::datagram::Head;
use super::plan::Plan;

/// Time of the datagram with that number, counted from the beginning, and its size in bytes. Without a
/// time: as soon as the transport accepts it.
pub(crate) fn datagram(plan: &Plan, number: u64) -> (Option<Duration>, usize) {
    match &plan.load.media {
        Some(schedule) => {
            let (offset, entry) = schedule.nth(number);
            (Some(offset), (entry.size as usize).max(Head::LEN))
        }
        None => (plan.load.spacing().map(|spacing| spacing * number), plan.load.size as usize),
    }
}
