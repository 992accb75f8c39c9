//! A scenario made ready to run: copies made, names resolved, files read, everything checked.

mod capacity;
mod cells;
mod channels;
mod delay_variation;
mod discipline;
mod flows;
mod groups;
mod handovers;
mod hosts;
mod links;
mod losses;
mod mac;
mod netem;
mod notes;
mod pairs;
mod phases;
mod physical_layers;
mod qos;
mod randomness;
mod reach;
mod recorded_delay;
mod recordings;
mod roles;
mod routes;
mod signals;
mod stations;
mod vehicular;
mod wifi;

use std::collections::BTreeMap;

use whimbrel_netsim::random::RandomStreams;
use whimbrel_units::{DataRate, Duration, Instant};

pub use capacity::LinkCapacity;
pub use cells::{CellularPlan, TerminalPlan};
pub use flows::{FlowPlan, TrafficPlan};
pub use handovers::{Gap, HandoverPlan};
pub use hosts::HostPlan;
pub use links::{EventPlan, LinkPlan};
pub use notes::Note;
pub use recordings::RandomStart;
pub use routes::RoutePlan;
pub use signals::{FlowEventPlan, FreezePlan};
pub use stations::{Movement, StationPlan};
pub use wifi::{RoutingPlan, WifiPlan};

use self::reach::Reach;
use super::error::ScenarioError;
use super::files::Files;
use super::transport::{TransportPlan, Transports};
use super::{Record, Scenario, text};

/// A scenario made ready to run. Runs share it; each adds a seed.
#[derive(Clone, Debug)]
pub struct Plan<P> {
    /// A one-line title.
    pub title: String,
    /// End of the simulation.
    pub end: Instant,
    /// Start of the totals.
    pub measured_from: Instant,
    /// The seed if the caller gives none.
    pub seed: u64,
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The links, one for each direction, in the order of the document; the two of a pair stand together.
    pub links: Vec<LinkPlan>,
    /// The 802.11 media, in the order of the document.
    pub wifi: Vec<WifiPlan>,
    /// The base stations of each gateway, in the order of their first ones.
    pub cellular: Vec<CellularPlan>,
    /// The flows, in the order of the document.
    pub flows: Vec<FlowPlan<P>>,
    /// Changes of links, in the order of time.
    pub events: Vec<EventPlan>,
    /// Commands for ends of flows, in the order of the document.
    pub flow_events: Vec<FlowEventPlan>,
    /// Handovers, in the order of the document; their exact times are drawn for each run.
    pub handovers: Vec<HandoverPlan>,
    /// Nodes with a limited processor, in the order of the document.
    pub hosts: Vec<HostPlan>,
    /// Routes other than the shortest paths, in the order of the document.
    pub routes: Vec<RoutePlan>,
    /// Records besides the totals.
    pub record: Record,
    /// `true` if the packets of flows are logged, for a program that takes the log during the run; `false` in
    /// a new plan.
    pub log_packets: bool,
    /// The keys of recordings of links that every run meets from their beginning.
    pub fixed_recordings: Vec<String>,
    /// Notes for a reader of the results, in the order of the document.
    pub notes: Vec<Note>,
}

impl<P: TransportPlan> Plan<P> {
    /// Resolves a scenario whose flows have these transports. `files` has the files that it names.
    ///
    /// # Errors
    /// Names the key at fault.
    pub fn new<T>(transports: &T, scenario: &Scenario, files: &Files) -> Result<Self, ScenarioError>
    where
        T: Transports<Plan = P>,
    {
        check(scenario)?;
        let nodes =
            Names::collect("node", scenario.node.iter().map(|node| (node.name.as_str(), node.count)))?;
        let mut notes = Vec::new();
        let mut links = links::plan(scenario, &nodes, files, &mut notes)?;
        let mut wifi = wifi::plan(scenario, files, &mut notes)?;
        let categories = qos::categories_of_flows(scenario)?;
        let qos = wifi.iter_mut().filter_map(|wifi| wifi.qos.as_mut());
        qos.for_each(|qos| qos.categories.clone_from(&categories));
        let cellular = cells::plan(scenario, &nodes, files, &mut notes)?;
        let reach = Reach::new(&nodes.list, &links, &wifi, &cellular);
        let flows = flows::plan(transports, scenario, &nodes, &links, &reach, files, &mut notes)?;
        let events = links::plan_events(scenario, &links, files, &mut notes)?;
        recordings::set_range(&mut links, &events);
        let flow_events = signals::plan_events(transports, scenario, &flows)?;
        let handovers = handovers::plan(transports, scenario, &links, &flows)?;
        let hosts = hosts::plan(scenario)?;
        let entries = scenario.flow.iter().enumerate();
        let entries: Vec<usize> =
            entries.flat_map(|(entry, flow)| copies(flow.count).map(move |_| entry)).collect();
        notes.extend(phases::notes(&flows, &entries, &links, &hosts));
        let routes = routes::plan(scenario, &nodes, &links)?;
        check_record(scenario, flows.len())?;
        let simulation = &scenario.simulation;
        Ok(Self {
            title: scenario.title.clone(),
            end: simulation.duration.after_start(),
            measured_from: simulation.warm_up.after_start(),
            seed: simulation.seed,
            nodes: nodes.list,
            links,
            wifi,
            cellular,
            flows,
            events,
            flow_events,
            handovers,
            hosts,
            routes,
            record: scenario.record.clone(),
            log_packets: false,
            fixed_recordings: recordings::fixed(scenario),
            notes,
        })
    }

    /// The time over which the totals are counted.
    pub fn measured(&self) -> Duration {
        self.end - self.measured_from
    }

    /// The times of the handovers of a run with this seed, in the order of the document.
    pub fn gaps(&self, seed: u64) -> Vec<Gap> {
        let streams = RandomStreams::new(seed, 0);
        self.handovers.iter().enumerate().map(|(number, handover)| handover.draw(number, streams)).collect()
    }

    /// All changes of links when the handovers happen in these gaps, in the order of time.
    pub fn events_with(&self, gaps: &[Gap]) -> Vec<EventPlan> {
        let mut events = self.events.clone();
        events.extend(self.handovers.iter().zip(gaps).flat_map(|(handover, gap)| handover.events(gap)));
        events.sort_by_key(|event| event.at);
        events
    }

    /// All commands for ends of flows when the handovers happen in these gaps, in the order of time.
    pub fn flow_events_with(&self, gaps: &[Gap]) -> Vec<FlowEventPlan> {
        let mut events = self.flow_events.clone();
        for (handover, gap) in self.handovers.iter().zip(gaps) {
            events.extend(handover.freeze.iter().flat_map(|freeze| freeze.events(gap)));
        }
        events.sort_by_key(|event| event.at);
        events
    }

    /// The interval at which routes are computed anew; `None` if the links between stations never change.
    pub fn reroute_interval(&self) -> Option<Duration> {
        let changing = self.wifi.iter().filter(|wifi| wifi.needs_reroutes());
        let intervals = changing.filter_map(|wifi| match wifi.routing {
            RoutingPlan::ShortestPath { interval } => Some(interval),
            RoutingPlan::Dsdv(_) | RoutingPlan::Aodv(_) => None,
        });
        intervals.min()
    }

    /// `true` if ends of flows get commands.
    pub fn has_commands(&self) -> bool {
        !self.flow_events.is_empty() || self.handovers.iter().any(|handover| handover.freeze.is_some())
    }

    /// Mean capacity of a link while the totals of a run with this seed are counted, with the rate changes
    /// and interruptions among `events`.
    pub fn mean_capacity(&self, link: usize, events: &[EventPlan], seed: u64) -> DataRate {
        self.capacity_between(link, events, seed, self.measured_from, self.end)
    }

    /// The same between two times.
    pub fn capacity_between(
        &self,
        link: usize,
        events: &[EventPlan],
        seed: u64,
        start: Instant,
        end: Instant,
    ) -> DataRate {
        self.capacity(link, events, seed).between(start, end)
    }

    /// The capacity of a link in a run with this seed, with the rate changes and interruptions among
    /// `events`.
    pub fn capacity<'a>(&'a self, link: usize, events: &'a [EventPlan], seed: u64) -> LinkCapacity<'a> {
        LinkCapacity::new(&self.links[link], events.iter().filter(|event| event.link == link).collect(), seed)
    }
}

/// Rows that the table of intervals may have. Each takes some 550 bytes, so that the table takes a gigabyte.
const MAX_INTERVAL_ROWS: f64 = 2e6;

/// The most copies of one entry.
const MAX_COPIES: u32 = 100_000;

/// Checks a scenario as far as is possible before its names are resolved.
fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    if scenario.title.chars().any(|character| !text::is_printable(character)) {
        let expected = "one line without control characters";
        return Err(ScenarioError::invalid("title", quoted(&scenario.title), expected));
    }
    let simulation = &scenario.simulation;
    let (duration, warm_up) = (simulation.duration.0, simulation.warm_up.0);
    if duration.is_zero() {
        return Err(ScenarioError::invalid("simulation.duration", duration, "a time above zero"));
    }
    if warm_up >= duration {
        let expected = format!("less than the duration, {duration}");
        return Err(ScenarioError::invalid("simulation.warm_up", warm_up, expected));
    }
    if scenario.link.is_empty() && scenario.wifi.is_empty() && scenario.cell.is_empty() {
        return Err(ScenarioError::missing("link", "at least one `[[link]]`, `[[wifi]]` or `[[cell]]`"));
    }
    for (key, values) in &scenario.sweep {
        if values.as_array().is_some_and(Vec::is_empty) {
            return Err(ScenarioError::invalid(format!("sweep.{key}"), "[]", "at least one value"));
        }
    }
    check_counts("node", scenario.node.iter().map(|node| node.count))?;
    check_counts("link", scenario.link.iter().map(|link| link.count))?;
    check_counts("flow", scenario.flow.iter().map(|flow| flow.count))
}

fn check_counts(table: &str, counts: impl Iterator<Item = Option<u32>>) -> Result<(), ScenarioError> {
    for (position, count) in counts.enumerate() {
        if let Some(count) = count.filter(|count| *count > MAX_COPIES) {
            let key = format!("{table}[{position}].count");
            return Err(ScenarioError::invalid(key, count, format!("at most {MAX_COPIES} copies")));
        }
    }
    Ok(())
}

/// Checks that the table of intervals fits into memory.
fn check_record(scenario: &Scenario, flows: usize) -> Result<(), ScenarioError> {
    let Some(interval) = scenario.record.interval else {
        return match scenario.record.delays {
            true => Err(ScenarioError::missing("record.interval", "the intervals of `record.delays`")),
            false => Ok(()),
        };
    };
    let rows = scenario.simulation.duration.0 / interval.0 * flows as f64;
    let wrong = |expected| Err(ScenarioError::invalid("record.interval", interval.0, expected));
    if interval.0 < Duration::from_micros(1) {
        wrong("at least \"1 us\"".to_owned())
    } else if rows > MAX_INTERVAL_ROWS {
        wrong(format!("a longer interval: the record would have {rows:.0} rows"))
    } else {
        Ok(())
    }
}

/// Named things in the order of the document.
struct Names {
    list: Vec<String>,
    index: BTreeMap<String, usize>,
}

impl Names {
    /// Replicates names by their counts and refuses duplicates; `table` is the document's name of the list.
    fn collect<'a>(
        table: &str,
        entries: impl Iterator<Item = (&'a str, Option<u32>)>,
    ) -> Result<Self, ScenarioError> {
        let mut names = Self { list: Vec::new(), index: BTreeMap::new() };
        for (position, (pattern, count)) in entries.enumerate() {
            for copy in copies(count) {
                names.add(&format!("{table}[{position}].name"), fill(pattern, copy), count)?;
            }
        }
        Ok(names)
    }

    fn add(&mut self, key: &str, name: String, count: Option<u32>) -> Result<(), ScenarioError> {
        if name.is_empty() || !text::is_cell(&name) {
            return Err(ScenarioError::invalid(key, quoted(&name), text::CELL));
        }
        if self.index.insert(name.clone(), self.list.len()).is_some() {
            let expected = match count {
                Some(_) => "a name with `{i}` in it, so that copies differ",
                None => "a name that nothing else of its kind has",
            };
            return Err(ScenarioError::invalid(key, quoted(&name), expected));
        }
        self.list.push(name);
        Ok(())
    }

    fn find(&self, key: &str, name: &str, what: &str) -> Result<usize, ScenarioError> {
        self.index.get(name).copied().ok_or_else(|| {
            ScenarioError::invalid(key, quoted(name), format!("the name of {what}: {}", abridged(&self.list)))
        })
    }
}

/// The numbers of an entry's copies.
fn copies(count: Option<u32>) -> std::ops::Range<u32> {
    0..count.unwrap_or(1)
}

/// A name with its copy's number in it.
fn fill(pattern: &str, copy: u32) -> String {
    pattern.replace("{i}", &copy.to_string())
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Names for an error message; abridged if there are many.
fn abridged(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text.push_str(", ...");
    }
    text
}
