//! Phase effects among constant rates.
//!
//! Packets of equal intervals that meet at a full drop-tail queue arrive in the same order again and again, and so the same flow
//! finds the place that a departure has left (S. Floyd, V. Jacobson, "On traffic phase effects in packet-switched gateways", 1992).

use std::collections::BTreeMap;

use whimbrel_netsim::{LinkRate, QueueLimit, queue};
use whimbrel_units::Duration;

use super::{LinkPlan, Note, TrafficPlan};

/// A constant rate on a link: the position of its entry, its interval and the size of its packets in bytes.
type Rate = (usize, Duration, u32);

/// The constant rates without jitter on each link.
#[derive(Default)]
pub(super) struct Phases {
    by_link: BTreeMap<usize, Vec<Rate>>,
}

impl Phases {
    /// Adds a flow over these links, which belongs to the entry at `position`.
    pub(super) fn add(&mut self, position: usize, traffic: &TrafficPlan, size: u32, path: &[usize]) {
        let TrafficPlan::Cbr { interval, jitter } = *traffic else { return };
        if jitter.is_zero() {
            for &link in path {
                self.by_link.entry(link).or_default().push((position, interval, size));
            }
        }
    }

    /// Notes the first link of each entry at which flows of equal intervals fill a drop-tail queue.
    pub(super) fn note(self, links: &[LinkPlan], notes: &mut Vec<Note>) {
        let mut noted = Vec::new();
        for (link, rates) in self.by_link {
            let link = &links[link];
            if !is_regular(link) || !overloads(link, &rates) {
                continue;
            }
            for &(position, interval, _) in &rates {
                let equal = rates.iter().filter(|(_, other, _)| *other == interval).count();
                if equal < 2 || noted.contains(&position) {
                    continue;
                }
                noted.push(position);
                let text = format!(
                    "{equal} constant rates of equal intervals overload \"{}\": which flow finds room in its queue depends on their \
                     phases and does not change during a run, so that their shares may be as unequal as can be; `jitter`, or \
                     `kind = \"poisson\"`, gives them equal chances",
                    link.name
                );
                notes.push(Note::of_plan(&format!("flow[{position}].traffic"), text));
            }
        }
    }
}

/// `true` if packets of one size leave the link's queue at equal intervals, and those that find it full are dropped.
fn is_regular(link: &LinkPlan) -> bool {
    let config = &link.config;
    matches!(config.rate, LinkRate::Constant(_))
        && matches!(config.discipline, queue::Discipline::DropTail)
        && config.limit != QueueLimit::Unlimited
        && link.controller.is_none()
}

/// `true` if the rates exceed that of the link, or leave nothing of it.
fn overloads(link: &LinkPlan, rates: &[Rate]) -> bool {
    let LinkRate::Constant(capacity) = link.config.rate else { return false };
    let offered: f64 =
        rates.iter().map(|&(_, interval, size)| f64::from(size) * 8.0 / interval.as_secs_f64()).sum();
    offered > capacity.as_bits_per_second()
}
