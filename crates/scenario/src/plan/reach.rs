//! Paths between the ends of flows.

use std::cell::OnceCell;

use whimbrel_netsim::random::RandomStreams;
use whimbrel_netsim::{StationIndex, Topology};
use whimbrel_units::Instant;
use whimbrel_wifi::propagation::LinkBudget;

use super::{CellularPlan, LinkPlan, Note, WifiPlan, quoted};
use crate::error::ScenarioError;

/// The paths of a network, and the reasons where there is none.
pub(super) struct Reach<'a> {
    nodes: &'a [String],
    links: &'a [LinkPlan],
    wifi: &'a [WifiPlan],
    cellular: &'a [CellularPlan],
    /// The links, and the hops between stations in range of each other.
    topology: Topology,
    /// The same as if all stations were in range of each other. Large, and rarely needed.
    unlimited: OnceCell<Topology>,
}

impl<'a> Reach<'a> {
    pub(super) fn new(
        nodes: &'a [String],
        links: &'a [LinkPlan],
        wifi: &'a [WifiPlan],
        cellular: &'a [CellularPlan],
    ) -> Self {
        let mut topology = wired(nodes, links, cellular);
        wifi.iter().for_each(|wifi| wifi.add_hops(nodes, true, &mut topology));
        Self { nodes, links, wifi, cellular, topology, unlimited: OnceCell::new() }
    }

    /// The path from one node to another, and whether it can be taken: where only a distance is in the way,
    /// as in a sweep over distances, it cannot.
    ///
    /// # Errors
    /// If there is no path, regardless of distances.
    pub(super) fn path(
        &self,
        key: &str,
        from: usize,
        to: usize,
    ) -> Result<(Vec<usize>, bool), ScenarioError> {
        if let Some(path) = self.topology.path(from, to) {
            return Ok((path, true));
        }
        let unlimited = self.unlimited.get_or_init(|| {
            let mut topology = wired(self.nodes, self.links, self.cellular);
            self.wifi.iter().for_each(|wifi| wifi.add_hops(self.nodes, false, &mut topology));
            topology
        });
        let Some(path) = unlimited.path(from, to) else {
            let expected = format!(
                "a node that can be reached: there is no path from \"{}\" to \"{}\"",
                self.nodes[from], self.nodes[to]
            );
            return Err(ScenarioError::invalid(key, quoted(&self.nodes[to]), expected));
        };
        Ok((path, false))
    }

    /// A note on pairs of nodes, senders and receivers, between which no packet gets.
    pub(super) fn note(&self, pairs: &[(usize, usize)]) -> Option<Note> {
        let &(from, to) = pairs.first()?;
        let (sender, receiver) = (&self.nodes[from], &self.nodes[to]);
        let more = match pairs.len() - 1 {
            0 => String::new(),
            more => format!(" and between {more} more pairs"),
        };
        let ranges: Vec<String> = self
            .wifi
            .iter()
            .map(|wifi| {
                let radio = &wifi.channel.radio;
                let range = LinkBudget::new(&wifi.channel.path_loss, radio, radio).ranges().receive;
                let distance = wifi.distance(self.nodes, from, to);
                let apart =
                    distance.map_or(String::new(), |metres| format!("; they are {metres:.1} m apart"));
                format!("stations of \"{}\" receive each other up to {range:.1} m{apart}", wifi.name)
            })
            .collect();
        let text = format!(
            "nothing gets from \"{sender}\" to \"{receiver}\"{more}: they are out of range of each other, or of the stations between them ({})",
            ranges.join("; ")
        );
        Some(Note::of_plan(&self.wifi.first()?.name, text))
    }
}

/// The hops that do not depend on distances.
fn wired(nodes: &[String], links: &[LinkPlan], cellular: &[CellularPlan]) -> Topology {
    let mut topology = Topology::new(nodes.len());
    links.iter().for_each(|link| topology.add_link(link.from, link.to));
    cellular.iter().for_each(|network| network.add_hops(&mut topology));
    topology
}

impl WifiPlan {
    /// The distance between the stations of two nodes in metres; `None` unless both have one.
    fn distance(&self, nodes: &[String], from: usize, to: usize) -> Option<f64> {
        let station = |node: usize| self.stations.iter().position(|station| station.node == node);
        let (from, to) = (station(from)?, station(to)?);
        let site = self.site(nodes, RandomStreams::new(0, 0), Instant::ZERO);
        let place = |station| site.position(station, Instant::ZERO);
        Some(libm::sqrt(place(StationIndex::new(from)).distance_squared(place(StationIndex::new(to)))))
    }
}
