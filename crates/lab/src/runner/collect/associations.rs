//! The associations of clients with access points in a record.

use whimbrel_netsim::medium::{QosMedium, StationRole, WifiMedium};
use whimbrel_netsim::{MediumId, Simulator};
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::infrastructure::HandoverReport;
use whimbrel_wifi::site::Site;
use whimbrel_wifi::{MacAddress, StationIndex};

use super::super::Run;
use crate::metrics::seconds;
use crate::record::Table;
use crate::scenario::{Note, WifiPlan};
use crate::transport::FlowAgent;

/// Names in a note.
const SHOWN: usize = 8;

type Phase = (&'static str, fn(&HandoverReport) -> Duration);

/// A row for each association of a client, in the order of time: the phases of a handover, or of joining.
pub(super) fn associations(run: &Run<'_>) -> Table {
    let mut rows: Vec<(usize, Option<usize>, Option<usize>, HandoverReport)> = Vec::new();
    for (wifi, medium) in media(run) {
        let node =
            |address: MacAddress| medium.station(address).map(|station| wifi.stations[station.index()].node);
        rows.extend(medium.handovers().iter().map(|&(client, report)| {
            (wifi.stations[client.index()].node, report.from.and_then(node), node(report.to), report)
        }));
    }
    rows.sort_by_key(|(.., report)| report.associated);
    let name = |node: Option<usize>| node.map_or("", |node| run.plan.nodes[node].as_str());
    let phases: [Phase; 5] = [
        ("detection_s", HandoverReport::detection),
        ("search_s", HandoverReport::search),
        ("authentication_s", HandoverReport::authentication),
        ("association_s", HandoverReport::association),
        ("outage_s", HandoverReport::outage),
    ];
    let mut table = Table::new("associations");
    table.floats("time_s", rows.iter().map(|(.., report)| seconds(report.associated - Instant::ZERO)));
    table.words("client", rows.iter().map(|&(client, ..)| name(Some(client))));
    table.words("from", rows.iter().map(|&(_, from, ..)| name(from)));
    table.words("to", rows.iter().map(|&(_, _, to, _)| name(to)));
    for (column, phase) in phases {
        table.floats(column, rows.iter().map(|(.., report)| seconds(phase(report))));
    }
    table
}

/// A medium whose clients associate.
pub(crate) trait Associating {
    fn site(&self) -> &Site;
    fn station(&self, address: MacAddress) -> Option<StationIndex>;
    fn access_point(&self, client: StationIndex) -> Option<StationIndex>;
    fn handovers(&self) -> &[(StationIndex, HandoverReport)];
}

impl Associating for WifiMedium {
    fn site(&self) -> &Site {
        self.site()
    }

    fn station(&self, address: MacAddress) -> Option<StationIndex> {
        self.station(address)
    }

    fn access_point(&self, client: StationIndex) -> Option<StationIndex> {
        self.access_point(client)
    }

    fn handovers(&self) -> &[(StationIndex, HandoverReport)] {
        self.handovers()
    }
}

impl Associating for QosMedium {
    fn site(&self) -> &Site {
        self.site()
    }

    fn station(&self, address: MacAddress) -> Option<StationIndex> {
        self.station(address)
    }

    fn access_point(&self, client: StationIndex) -> Option<StationIndex> {
        self.access_point(client)
    }

    fn handovers(&self) -> &[(StationIndex, HandoverReport)] {
        self.handovers()
    }
}

/// A medium as one whose clients associate, if it is one.
pub(crate) fn associating(simulator: &Simulator<FlowAgent>, medium: MediumId) -> Option<&dyn Associating> {
    let old = simulator.medium::<WifiMedium>(medium).map(|medium| medium as &dyn Associating);
    let new = simulator.medium::<QosMedium>(medium).filter(|medium| medium.associates());
    old.or(new.map(|medium| medium as &dyn Associating))
}

/// The media of a run with their plans.
fn media<'a>(run: &'a Run<'_>) -> impl Iterator<Item = (&'a WifiPlan, &'a dyn Associating)> {
    run.plan.wifi.iter().zip(&run.parts.stations).filter_map(|(wifi, ids)| {
        let medium = associating(&run.simulator, ids.first()?.medium())?;
        Some((wifi, medium))
    })
}

/// Notes on clients that were not associated although they wanted to be: their flows carry nothing meanwhile.
pub(super) fn notes(run: &Run<'_>) -> Vec<Note> {
    media(run).flat_map(|(wifi, medium)| notes_of(run, wifi, medium)).collect()
}

fn notes_of(run: &Run<'_>, wifi: &WifiPlan, medium: &dyn Associating) -> Vec<Note> {
    let end = run.plan.end;
    let roles = wifi.infrastructure.iter().flat_map(|infrastructure| infrastructure.roles.iter().enumerate());
    let clients: Vec<usize> = roles
        .filter(|(station, role)| {
            matches!(role, StationRole::Client { joins_at, .. } if *joins_at < end)
                && medium.site().is_on(StationIndex::new(*station), end)
        })
        .map(|(station, _)| station)
        .collect();
    let handovers = medium.handovers();
    let names = |stations: &[usize]| {
        let name = |&station: &usize| run.plan.nodes[wifi.stations[station].node].as_str();
        let mut names: Vec<&str> = stations.iter().take(SHOWN).map(name).collect();
        if stations.len() > SHOWN {
            names.push("...");
        }
        names.join(" ")
    };
    let all = clients.len();
    let is_without = |client: &usize| medium.access_point(StationIndex::new(*client)).is_none();
    let has_joined = |client: &usize| handovers.iter().any(|(other, _)| other.index() == *client);
    let (left, never): (Vec<usize>, Vec<usize>) =
        clients.into_iter().filter(is_without).partition(has_joined);
    let mut notes = Vec::new();
    if !never.is_empty() {
        let text = format!(
            "{} of {all} clients were never associated with an access point: {}",
            never.len(),
            names(&never)
        );
        notes.push(Note::of_plan(&wifi.name, text));
    }
    if !left.is_empty() {
        let text = format!(
            "{} of {all} clients have lost their access point and have none at the end: {}",
            left.len(),
            names(&left)
        );
        notes.push(Note::of_plan(&wifi.name, text));
    }
    let returns = || handovers.iter().filter(|(_, report)| report.from == Some(report.to));
    if let Some((_, first)) = returns().next() {
        let mut clients: Vec<usize> = returns().map(|(client, _)| client.index()).collect();
        let times = clients.len();
        clients.sort_unstable();
        clients.dedup();
        let outage: Duration = returns().map(|(_, report)| report.outage()).sum();
        let text = format!(
            "clients lost an access point and associated with the same again: {times} times; for {:.1} s without one; {}",
            seconds(outage),
            names(&clients)
        );
        notes.push(Note::since(first.detected, &wifi.name, text));
    }
    notes
}
