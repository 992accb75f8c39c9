//! Handovers, resolved: their events, once their random parts are drawn.

use whimbrel_netsim::random::RandomStreams;
use whimbrel_units::{DataRate, Duration, Instant};

use super::flows::FlowPlan;
use super::links::{EventPlan, LinkPlan, REVERSE, positive, unknown_link};
use super::signals::{self, FreezePlan};
use crate::Scenario;
use crate::error::ScenarioError;
use crate::handover::{Handover, HandoverDuration};
use crate::link::WhenDown;
use crate::quantity::Rate;
use crate::transport::Transports;

/// A handover, resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct HandoverPlan {
    /// The link's name.
    pub link: String,
    /// The positions of its directions.
    pub links: Vec<usize>,
    /// The earliest time at which it goes down.
    pub at: Instant,
    /// The bound of the random delay of that.
    pub jitter: Duration,
    /// The new rate.
    pub rate: Option<DataRate>,
    /// The new delay.
    pub delay: Option<Duration>,
    /// The duration of the outage.
    pub duration: HandoverDuration,
    /// The round-trip time of the new network, for a duration that depends on it.
    pub rtt: Duration,
    /// Handling of the link's packets.
    pub when_down: WhenDown,
    /// The flows that are notified.
    pub freeze: Option<FreezePlan>,
}

/// The time for which a link is down for a handover, in a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Gap {
    /// The link's name.
    pub link: String,
    /// Time at which it goes down.
    pub down: Instant,
    /// Time at which it comes back.
    pub up: Instant,
}

impl HandoverPlan {
    /// Draws its times in a run with these streams. `number` is its position among the handovers.
    pub fn draw(&self, number: usize, streams: RandomStreams) -> Gap {
        let mut random = streams.stream(&format!("handover {number}"), "time");
        let down = self.at + self.jitter.mul_f64(random.uniform());
        Gap { link: self.link.clone(), down, up: down + self.duration.draw(self.rtt, &mut random) }
    }

    /// The events of the links: down, then, at one time, another rate and delay and up.
    pub fn events(&self, gap: &Gap) -> Vec<EventPlan> {
        let event = |at, link| EventPlan {
            at,
            link,
            rate: None,
            delay: None,
            impairment: None,
            losses_start_anywhere: false,
            up: None,
            when_down: self.when_down,
        };
        let down = self.links.iter().map(|link| EventPlan { up: Some(false), ..event(gap.down, *link) });
        let up = self.links.iter().map(|link| EventPlan {
            up: Some(true),
            rate: self.rate,
            delay: self.delay,
            ..event(gap.up, *link)
        });
        down.chain(up).collect()
    }
}

/// The handovers of a scenario.
pub(super) fn plan<T: Transports>(
    transports: &T,
    scenario: &Scenario,
    links: &[LinkPlan],
    flows: &[FlowPlan<T::Plan>],
) -> Result<Vec<HandoverPlan>, ScenarioError> {
    let plan = |(position, handover): (usize, &Handover)| {
        one(transports, scenario, links, flows, &format!("handover[{position}]"), handover)
    };
    scenario.handover.iter().enumerate().map(plan).collect()
}

fn one<T: Transports>(
    transports: &T,
    scenario: &Scenario,
    links: &[LinkPlan],
    flows: &[FlowPlan<T::Plan>],
    key: &str,
    handover: &Handover,
) -> Result<HandoverPlan, ScenarioError> {
    if handover.time.0 > scenario.simulation.duration.0 {
        let expected = format!("a time within the simulation's {}", scenario.simulation.duration.0);
        return Err(ScenarioError::invalid(format!("{key}.time"), handover.time.0, expected));
    }
    let targets: Vec<usize> = (0..links.len())
        .filter(|&link| {
            let name = links[link].name.as_str();
            name.strip_suffix(REVERSE).unwrap_or(name) == handover.link
        })
        .collect();
    let Some(&first) = targets.first() else {
        return Err(unknown_link(&format!("{key}.link"), &handover.link, links));
    };
    let rate = handover.rate.map(|Rate(rate)| positive(&format!("{key}.rate"), rate)).transpose()?;
    let delay = handover.delay.map(|delay| delay.0).or(handover.to.map(|network| network.delay));
    let rtt = match (handover.delay, handover.to) {
        (None, Some(network)) => network.stationary_rtt(),
        _ => delay.unwrap_or(links[first].config.delay) * 2,
    };
    let freeze = handover.freeze.as_ref();
    let freeze = freeze
        .map(|freeze| signals::plan(transports, &format!("{key}.freeze"), freeze, flows))
        .transpose()?;
    Ok(HandoverPlan {
        freeze,
        link: handover.link.clone(),
        links: targets,
        at: handover.time.after_start(),
        jitter: handover.jitter.0,
        rate: rate.or(handover.to.map(|network| network.rate)),
        delay,
        duration: handover.duration,
        rtt,
        when_down: handover.when_down,
    })
}
