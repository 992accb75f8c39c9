//! Links and their events, resolved.

use std::path::Path;

use whimbrel_netsim::trace::{AtEnd, DeliveryTrace, LoadDependentTrace, RateSteps};
use whimbrel_netsim::{Impairment, LinkConfig, LinkRate, QueueLimit};
use whimbrel_units::{DataRate, Duration, Instant};

use super::delay_variation::delay_variation;
use super::discipline::discipline;
use super::losses::{check_start, impairment};
use super::netem::netem;
use super::notes::Note;
use super::recorded_delay::{with_bucket, with_delay_trace};
use super::recordings::{self, RandomStart};
use super::{Names, copies, fill, quoted};
use crate::controller::{self, ControllerPlan};
use crate::discipline::Discipline;
use crate::error::ScenarioError;
use crate::files::Files;
use crate::link::{Direction, Loss, RateTrace, TraceFormat, WhenDown};
use crate::quantity::{self, Rate};
use crate::{Event, Link, Scenario};

/// One direction of a link, resolved.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Its name; in the second direction of a pair, the name ends in `:reverse`.
    pub name: String,
    /// The position of its first node.
    pub from: usize,
    /// The position of its last node.
    pub to: usize,
    /// The configuration of the link, with its recordings from their beginning on
    /// ([`config_for`](Self::config_for)).
    pub config: LinkConfig,
    /// The recordings that start elsewhere in each run.
    pub random_start: RandomStart,
    /// Its explicit rate control.
    pub controller: Option<ControllerPlan>,
}

impl LinkPlan {
    /// The mean rate between two times, with its recording from the beginning on.
    pub fn mean_rate(&self, from: Instant, to: Instant) -> DataRate {
        mean_rate(&self.config.rate, from, to)
    }
}

pub(super) fn mean_rate(rate: &LinkRate, from: Instant, to: Instant) -> DataRate {
    match rate {
        LinkRate::Constant(rate) => *rate,
        LinkRate::TokenBucket(bucket) => bucket.rate,
        LinkRate::Deliveries(trace) => trace.mean_rate_between(from, to),
        LinkRate::LoadDependent(trace) => trace.mean_rate_between(from, to),
        LinkRate::Steps(steps) => {
            // Steps are about a second long; a thousand points sample them all in a simulation of minutes.
            let points = 1_000;
            let step = (to - from) / points;
            let sum: f64 = (0..points)
                .map(|point| steps.rate_at(from + step * point + step / 2).as_bits_per_second())
                .sum();
            DataRate::from_bits_per_second(sum / points as f64)
        }
    }
}

/// A change of one direction of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct EventPlan {
    /// Time of the change.
    pub at: Instant,
    /// The position of the link.
    pub link: usize,
    /// The new rate.
    pub rate: Option<DataRate>,
    /// The new delay.
    pub delay: Option<Duration>,
    /// Losses behind the queue from now on, with a recording from its beginning on
    /// ([`RandomStart::impairment`](RandomStart::impairment)).
    pub impairment: Option<Impairment>,
    /// `true` if that recording starts elsewhere in each run.
    pub losses_start_anywhere: bool,
    /// `true` if the link goes up, `false` if it goes down.
    pub up: Option<bool>,
    /// Handling of the packets of a link that goes down.
    pub when_down: WhenDown,
}

/// The suffix of a link's second direction.
pub(super) const REVERSE: &str = ":reverse";

pub(super) fn plan(
    scenario: &Scenario,
    nodes: &Names,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<Vec<LinkPlan>, ScenarioError> {
    let mut names = Names { list: Vec::new(), index: std::collections::BTreeMap::new() };
    let mut plans = Vec::new();
    for (position, link) in scenario.link.iter().enumerate() {
        let key = format!("link[{position}]");
        let (from, to, both) = ends(&key, link)?;
        let forward = forward_config(&key, link, files, notes)?;
        let (controllers, reverse_key) = (&link.controller, format!("{key}.reverse"));
        let forward_controller = controller::plan(
            &key,
            controllers.as_ref(),
            nominal(&forward),
            forward.limit,
            Some(forward.delay),
        )?;
        let backward = if both { Some(reverse_config(&key, link, &forward, files, notes)?) } else { None };
        let reverse_controller = match &backward {
            Some(config) => {
                let own = link.reverse.as_ref().and_then(|reverse| reverse.controller.as_ref());
                let keys = own.or(controllers.as_ref());
                controller::plan(&reverse_key, keys, nominal(config), config.limit, Some(config.delay))?
            }
            None => None,
        };
        for copy in copies(link.count) {
            let (from_name, to_name) = (fill(from, copy), fill(to, copy));
            let name = match &link.name {
                Some(pattern) => fill(pattern, copy),
                None => format!("{from_name}-{to_name}"),
            };
            if name.ends_with(REVERSE) {
                return Err(ScenarioError::invalid(
                    format!("{key}.name"),
                    quoted(&name),
                    "a name without `:reverse`",
                ));
            }
            let ends_key = |end: &str, index: usize| {
                if both { format!("{key}.between[{index}]") } else { format!("{key}.{end}") }
            };
            let from = nodes.find(&ends_key("from", 0), &from_name, "a node")?;
            let to = nodes.find(&ends_key("to", 1), &to_name, "a node")?;
            if from == to {
                return Err(ScenarioError::invalid(ends_key("to", 1), quoted(&to_name), "another node"));
            }
            names.add(&format!("{key}.name"), name.clone(), link.count)?;
            let (config, controller) = (forward.clone(), forward_controller);
            let random_start = RandomStart::of(&name, link.trace.as_ref(), &link.loss);
            plans.push(LinkPlan { name: name.clone(), from, to, config, random_start, controller });
            if let Some(config) = &backward {
                let random_start = match &link.reverse {
                    Some(reverse) => RandomStart::of(&name, reverse.trace.as_ref(), &reverse.loss),
                    None => RandomStart::of(&name, None, &Loss::None),
                };
                let (name, config, controller) = (name + REVERSE, config.clone(), reverse_controller);
                plans.push(LinkPlan { name, from: to, to: from, config, random_start, controller });
            }
        }
    }
    Ok(plans)
}

/// The names of the two ends, and `true` if packets travel in both directions.
fn ends<'a>(key: &str, link: &'a Link) -> Result<(&'a str, &'a str, bool), ScenarioError> {
    match (&link.between, &link.from, &link.to) {
        (Some([a, b]), None, None) => Ok((a, b, true)),
        (None, Some(from), Some(to)) => {
            if link.reverse.is_some() {
                let expected = "`between` instead of `from` and `to`: this link has one direction";
                return Err(ScenarioError::invalid(format!("{key}.reverse"), "{...}", expected));
            }
            Ok((from, to, false))
        }
        (Some(_), ..) => Err(ScenarioError::invalid(
            format!("{key}.between"),
            "[...]",
            "either `between`, or `from` and `to`",
        )),
        (None, None, _) => {
            Err(ScenarioError::missing(format!("{key}.between"), "two nodes, or `from` and `to`"))
        }
        (None, Some(_), None) => Err(ScenarioError::missing(format!("{key}.to"), "the name of a node")),
    }
}

fn forward_config(
    key: &str,
    link: &Link,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<LinkConfig, ScenarioError> {
    let network = link.network.as_ref();
    let rate = rate(key, link.rate, link.trace.as_ref(), files)?;
    let rate = rate.or(network.map(|network| network.rate.into())).ok_or_else(|| {
        let expected = "a rate such as \"2 Mbit/s\", a `trace` or a `network`";
        ScenarioError::missing(format!("{key}.rate"), expected)
    })?;
    let rate = with_bucket(key, rate, link.token_bucket)?;
    let delay = link.delay.map(|delay| delay.0).or(network.map(|network| network.delay));
    let queue = link.queue.or(network.map(|network| network.queue));
    let wanted = link.discipline.clone().unwrap_or_default();
    check_marking(key, link.mark_at, &wanted)?;
    let mut config = LinkConfig {
        discipline: discipline(&format!("{key}.discipline"), &wanted, &rate)?,
        rate,
        delay: delay.unwrap_or_default(),
        limit: queue_limit(queue.unwrap_or(Link::DEFAULT_QUEUE)),
        mark_at: link.mark_at,
        impairment: impairment(&format!("{key}.loss"), &link.loss, files, notes)?,
        damaged: link.damaged.0,
        netem: netem(&format!("{key}.netem"), link.netem.as_ref())?,
        delay_variation: None,
        recorded_delays: None,
    };
    config.delay_variation =
        delay_variation(key, link.delay_variation, nominal(&config), config.netem.is_some())?;
    with_delay_trace(key, config, link.delay_trace.as_ref(), link.delay, files)
}

fn reverse_config(
    key: &str,
    link: &Link,
    forward: &LinkConfig,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<LinkConfig, ScenarioError> {
    let key = format!("{key}.reverse");
    let changes = link.reverse.clone().unwrap_or_default();
    let rate = match rate(&key, changes.rate, changes.trace.as_ref(), files)? {
        Some(rate) => with_bucket(&key, rate, changes.token_bucket)?,
        None if changes.token_bucket.is_some() && link.trace.is_none() => {
            with_bucket(&key, nominal(forward).into(), changes.token_bucket)?
        }
        None if link.trace.is_some() => {
            return Err(ScenarioError::missing(
                format!("{key}.rate"),
                "a rate: a trace holds in one direction only",
            ));
        }
        None => forward.rate.clone(),
    };
    let wanted = changes.discipline.or(link.discipline.clone()).unwrap_or_default();
    check_marking(&key, changes.mark_at.or(link.mark_at), &wanted)?;
    let mut config = LinkConfig {
        discipline: discipline(&format!("{key}.discipline"), &wanted, &rate)?,
        rate,
        delay: changes.delay.map_or(forward.delay, |delay| delay.0),
        limit: changes.queue.map_or(forward.limit, queue_limit),
        mark_at: changes.mark_at.or(forward.mark_at),
        impairment: impairment(&format!("{key}.loss"), &changes.loss, files, notes)?,
        damaged: changes.damaged.0,
        netem: netem(&format!("{key}.netem"), changes.netem.as_ref())?,
        delay_variation: None,
        recorded_delays: None,
    };
    config.delay_variation =
        delay_variation(&key, changes.delay_variation, nominal(&config), config.netem.is_some())?;
    with_delay_trace(&key, config, changes.delay_trace.as_ref(), changes.delay, files)
}

/// The rate of a link at the start; the mean rate of a trace.
fn nominal(config: &LinkConfig) -> DataRate {
    match &config.rate {
        LinkRate::Constant(rate) => *rate,
        LinkRate::TokenBucket(bucket) => bucket.rate,
        LinkRate::Deliveries(trace) => trace.mean_rate(),
        LinkRate::LoadDependent(trace) => trace.mean_rate(),
        LinkRate::Steps(steps) => steps.rate_at(Instant::ZERO),
    }
}

/// Refuses a marking threshold for all disciplines but drop-tail: the others mark by their own law.
fn check_marking(key: &str, mark_at: Option<u32>, discipline: &Discipline) -> Result<(), ScenarioError> {
    match mark_at {
        Some(packets) if *discipline != Discipline::Droptail => Err(ScenarioError::invalid(
            format!("{key}.mark_at"),
            packets,
            "nothing, as the discipline marks by its own law",
        )),
        _ => Ok(()),
    }
}

fn rate(
    key: &str,
    rate: Option<Rate>,
    trace: Option<&RateTrace>,
    files: &Files,
) -> Result<Option<LinkRate>, ScenarioError> {
    match (rate, trace) {
        (None, None) => Ok(None),
        (Some(Rate(rate)), None) => positive(&format!("{key}.rate"), rate).map(|rate| Some(rate.into())),
        (None, Some(trace)) => {
            let key = format!("{key}.trace.file");
            let text = files.read(&key, &trace.file)?;
            let wrong = |error| {
                let file = quoted(&trace.file.display().to_string());
                let hint = other_format(trace.format, &text);
                ScenarioError::invalid(&key, file, format!("a trace in the format named ({error}){hint}"))
            };
            check_light(&key, trace)?;
            check_start(&key.replace("file", "start"), Some((trace.start, trace.repeat)))?;
            Ok(Some(match trace.format {
                TraceFormat::Mahimahi if !trace.repeat => {
                    let expected = "true: a mahimahi trace starts again at its end";
                    return Err(ScenarioError::invalid(key.replace("file", "repeat"), false, expected));
                }
                TraceFormat::Mahimahi => {
                    let heavy = DeliveryTrace::parse(&text).map_err(wrong)?;
                    match &trace.light {
                        Some(file) => {
                            load_dependent(&key.replace("file", "light"), heavy, file, trace, files)?
                        }
                        None => heavy.into(),
                    }
                }
                TraceFormat::Rate => {
                    let at_end = if trace.repeat { AtEnd::Repeat } else { AtEnd::Hold };
                    RateSteps::parse(&text, at_end).map_err(wrong)?.into()
                }
            }))
        }
        (Some(_), Some(_)) => {
            Err(ScenarioError::invalid(format!("{key}.trace"), "{...}", "either `rate` or `trace`, not both"))
        }
    }
}

/// The end of a message on a trace that seems to be in the other format.
fn other_format(format: TraceFormat, text: &str) -> &'static str {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let has_columns = lines.next().is_some_and(|line| line.contains([',', ';', '\t', ' ']));
    match (format, has_columns) {
        (TraceFormat::Mahimahi, true) => "; a table of times and rates is of format = \"rate\"",
        (TraceFormat::Rate, false) => "; lines of one number each are of format = \"mahimahi\"",
        _ => "",
    }
}

/// The keys that need a light recording, or a format that can have one.
fn check_light(key: &str, trace: &RateTrace) -> Result<(), ScenarioError> {
    let wrong =
        |name: &str, expected: &str| Err(ScenarioError::invalid(key.replace("file", name), "...", expected));
    match (&trace.light, trace.idle, trace.format) {
        (Some(_), _, TraceFormat::Rate) => {
            wrong("light", "nothing: only a mahimahi trace has a light recording")
        }
        (None, Some(_), _) => wrong("idle", "nothing without `light`"),
        _ => Ok(()),
    }
}

fn load_dependent(
    key: &str,
    heavy: DeliveryTrace,
    file: &Path,
    trace: &RateTrace,
    files: &Files,
) -> Result<LinkRate, ScenarioError> {
    let text = files.read(key, file)?;
    let idle = trace.idle.map(|idle| idle.0).unwrap_or_default();
    let found = LoadDependentTrace::parse(heavy, &text, idle).map_err(|error| {
        let file = quoted(&file.display().to_string());
        ScenarioError::invalid(key, file, format!("a recording of short trains ({error})"))
    })?;
    Ok(found.into())
}

pub(super) fn positive(key: &str, rate: DataRate) -> Result<DataRate, ScenarioError> {
    if rate.is_zero() {
        return Err(ScenarioError::invalid(
            key,
            "\"0 bit/s\"",
            "a rate above zero (`up = false` stops a link)",
        ));
    }
    Ok(rate)
}

/// A queue limit as the simulator has it.
pub(super) fn queue_limit(limit: quantity::QueueLimit) -> QueueLimit {
    match limit {
        quantity::QueueLimit::Packets(packets) => QueueLimit::Packets(packets),
        quantity::QueueLimit::Bytes(bytes) => QueueLimit::Bytes(bytes.as_u64()),
        quantity::QueueLimit::Unlimited => QueueLimit::Unlimited,
    }
}

/// Refuses link changes in an event for a flow.
fn check_flow_event(key: &str, event: &Event) -> Result<(), ScenarioError> {
    let of_links = [
        ("link", event.link.is_some()),
        ("rate", event.rate.is_some()),
        ("delay", event.delay.is_some()),
        ("loss", event.loss.is_some()),
        ("up", event.up.is_some()),
    ];
    match of_links.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((name, _)) => {
            let expected = "nothing: an event with `flow` is about that flow";
            Err(ScenarioError::invalid(format!("{key}.{name}"), "...", expected))
        }
    }
}

pub(super) fn plan_events(
    scenario: &Scenario,
    links: &[LinkPlan],
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<Vec<EventPlan>, ScenarioError> {
    let mut plans = Vec::new();
    for (position, event) in scenario.event.iter().enumerate() {
        let key = format!("event[{position}]");
        if event.time.0 > scenario.simulation.duration.0 {
            let expected = format!("a time within the simulation's {}", scenario.simulation.duration.0);
            return Err(ScenarioError::invalid(format!("{key}.time"), event.time.0, expected));
        }
        if event.flow.is_some() || event.command.is_some() {
            check_flow_event(&key, event)?;
            continue;
        }
        let Some(link_name) = &event.link else {
            return Err(ScenarioError::missing(format!("{key}.link"), "the name of a link, or a `flow`"));
        };
        if event.rate.is_none() && event.delay.is_none() && event.up.is_none() && event.loss.is_none() {
            let expected = "`up`, `rate`, `delay` or `loss`: what should change";
            return Err(ScenarioError::missing(format!("{key}.up"), expected));
        }
        let rate = event.rate.map(|Rate(rate)| positive(&format!("{key}.rate"), rate)).transpose()?;
        let has_bucket = |link: &LinkPlan| matches!(link.config.rate, LinkRate::TokenBucket(_));
        let targets: Vec<usize> = (0..links.len())
            .filter(|&link| {
                let name = &links[link].name;
                let (name, reverse) = match name.strip_suffix(REVERSE) {
                    Some(name) => (name, true),
                    None => (name.as_str(), false),
                };
                name == link_name
                    && match event.direction {
                        Direction::Both => true,
                        Direction::Forward => !reverse,
                        Direction::Reverse => reverse,
                    }
            })
            .collect();
        if targets.is_empty() {
            return Err(unknown_link(&format!("{key}.link"), link_name, links));
        }
        if let Some(rate) = rate
            && targets.iter().any(|&link| has_bucket(&links[link]))
        {
            let value = format!("{} bit/s", rate.as_bits_per_second());
            let expected = "nothing: the rate of a link with a token bucket does not change";
            return Err(ScenarioError::invalid(format!("{key}.rate"), value, expected));
        }
        let at = event.time.after_start();
        let delay = event.delay.map(|delay| delay.0);
        let loss = event.loss.as_ref();
        let losses_start_anywhere = loss.is_some_and(recordings::starts_anywhere);
        let loss = loss.map(|loss| impairment(&format!("{key}.loss"), loss, files, notes)).transpose()?;
        let (up, when_down) = (event.up, event.when_down);
        plans.extend(targets.into_iter().map(|link| EventPlan {
            at,
            link,
            rate,
            delay,
            impairment: loss.clone(),
            losses_start_anywhere,
            up,
            when_down,
        }));
    }
    plans.sort_by_key(|event| event.at);
    Ok(plans)
}

/// The error for an unknown link name at `key`.
pub(super) fn unknown_link(key: &str, name: &str, links: &[LinkPlan]) -> ScenarioError {
    let names: Vec<String> =
        links.iter().map(|link| link.name.clone()).filter(|name| !name.ends_with(REVERSE)).collect();
    let expected = format!("the name of a link with that direction: {}", super::abridged(&names));
    ScenarioError::invalid(key, quoted(name), expected)
}
