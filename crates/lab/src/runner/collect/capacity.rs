//! The estimates of the stations' MACs at the end of a run.

use whimbrel_control::capacity::Estimate;

use super::super::Run;
use crate::record::Table;
use crate::transport::explicit::Position;

/// A row for each station of the media with rt-Winf; `None` without such a medium.
pub(super) fn capacity(run: &Run<'_>) -> Option<Table> {
    let media = run.plan.wifi.iter();
    let stations: Vec<_> = media
        .filter(|wifi| wifi.controller.is_some_and(|controller| controller.is_estimated))
        .flat_map(|wifi| wifi.stations.iter().map(move |station| (wifi, station.node)))
        .collect();
    if stations.is_empty() {
        return None;
    }
    let mut table = Table::new("capacity");
    table.words("station", stations.iter().map(|(_, node)| run.plan.nodes[*node].as_str()));
    table.words("wifi", stations.iter().map(|(wifi, _)| wifi.name.as_str()));
    let nominal = |(wifi, _): &(&crate::scenario::WifiPlan, usize)| {
        wifi.config.mac.data_rate.data_rate().as_bits_per_second()
    };
    table.floats("nominal_bps", stations.iter().map(nominal));
    type Get = fn(&crate::transport::explicit::CrossLayer) -> Option<Estimate>;
    let estimates: [(&str, &str, Get); 5] = [
        ("winf_sender_capacity_bps", "winf_sender_available_bps", |store| store.get(Position::Sender)),
        ("winf_receiver_capacity_bps", "winf_receiver_available_bps", |store| store.get(Position::Receiver)),
        ("winf_onlooker_capacity_bps", "winf_onlooker_available_bps", |store| store.observed()[0]),
        ("winf_data_ack_capacity_bps", "winf_data_ack_available_bps", |store| store.observed()[1]),
        ("idle_gap_capacity_bps", "idle_gap_available_bps", |store| store.observed()[2]),
    ];
    for (capacity_name, available_name, get) in estimates {
        let of = |node: usize| get(&run.parts.stores[node]);
        let rate = |rate: Option<whimbrel_units::DataRate>| {
            rate.map_or(f64::NAN, whimbrel_units::DataRate::as_bits_per_second)
        };
        let capacity = stations.iter().map(|(_, node)| rate(of(*node).map(|estimate| estimate.capacity)));
        table.floats(capacity_name, capacity);
        let available = stations.iter().map(|(_, node)| rate(of(*node).map(|estimate| estimate.available)));
        table.floats(available_name, available);
    }
    Some(table)
}
