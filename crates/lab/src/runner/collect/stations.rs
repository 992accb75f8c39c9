//! The stations of 802.11 media in a record.

use whimbrel_netsim::medium::{QosMedium, StationStats, WifiMedium};
use whimbrel_netsim::{AgentId, Simulator, StationId};
use whimbrel_units::Duration;
use whimbrel_wifi::dcf::DcfCounters;

use super::super::{Parts, Run};
use crate::metrics::seconds;
use crate::record::Table;
use crate::transport::FlowAgent;

/// The counters of a station: of its queue, of its MAC and of its routing agent.
#[derive(Clone, Copy, Default, Debug)]
pub(in super::super) struct StationCounters {
    queue: StationStats,
    mac: DcfCounters,
    routing_packets: u64,
    routing_bytes: u64,
}

impl StationCounters {
    /// The counters of all stations since the beginning of the run.
    pub(in super::super) fn all(simulator: &Simulator<FlowAgent>, parts: &Parts) -> Vec<Self> {
        let stations = parts.all_stations().zip(&parts.routers);
        stations.map(|(station, &router)| Self::of(simulator, station, router)).collect()
    }

    fn of(simulator: &Simulator<FlowAgent>, station: StationId, router: Option<AgentId>) -> Self {
        let routing = router.map(|router| simulator.agent(router).meter().counters());
        let mac = mac_counters(simulator, station);
        Self {
            queue: simulator.station_stats(station),
            mac,
            routing_packets: routing.map_or(0, |count| count.sent_packets),
            routing_bytes: routing.map_or(0, |count| count.sent_bytes),
        }
    }
}

/// The counters of a station's MAC since the beginning of the run; zero of a medium without MACs. `dropped`
/// and `sent` count packets, `failed_after_cts` failures after the first frame of an access.
pub(crate) fn mac_counters(simulator: &Simulator<FlowAgent>, station: StationId) -> DcfCounters {
    if let Some(medium) = simulator.medium::<WifiMedium>(station.medium()) {
        return medium.mac(station.index()).counters();
    }
    let Some(medium) = simulator.medium::<QosMedium>(station.medium()) else { return DcfCounters::default() };
    let counters = medium.counters(station.index());
    DcfCounters {
        sent: counters.acknowledged,
        dropped: counters.given_up,
        attempts: counters.attempts,
        failed_attempts: counters.failed_attempts,
        failed_after_cts: counters.failed_later,
        air_time: medium.mac(station.index()).air_time(),
        ..DcfCounters::default()
    }
}

type Field = (&'static str, fn(&StationCounters) -> u64);

const COUNTERS: &[Field] = &[
    ("enqueued_packets", |s| s.queue.enqueued.packets),
    ("enqueued_bytes", |s| s.queue.enqueued.bytes),
    ("dropped_packets", |s| s.queue.dropped.packets),
    ("taken_packets", |s| s.queue.taken.packets),
    ("lost_packets", |s| s.queue.lost.packets),
    ("received_packets", |s| s.queue.received.packets),
    ("received_bytes", |s| s.queue.received.bytes),
    ("attempts", |s| s.mac.attempts),
    ("failed_attempts", |s| s.mac.failed_attempts),
    ("failed_after_cts", |s| s.mac.failed_after_cts),
    ("retry_limit_packets", |s| s.mac.dropped),
    ("duplicates", |s| s.mac.duplicates),
];

/// A row for each station, in the order of the media and their nodes.
pub(super) fn stations(run: &Run<'_>) -> Table {
    let plans =
        || run.plan.wifi.iter().flat_map(|wifi| wifi.stations.iter().map(move |station| (wifi, station)));
    let now = StationCounters::all(&run.simulator, &run.parts);
    let before = &run.samples.stations_before;
    let time = run.plan.measured();
    let count = |field: fn(&StationCounters) -> u64| {
        now.iter().zip(before).map(move |(now, before)| field(now) - field(before))
    };

    let mut table = Table::new("stations");
    table.words("station", plans().map(|(_, station)| run.plan.nodes[station.node].as_str()));
    table.words("wifi", plans().map(|(wifi, _)| wifi.name.as_str()));
    table.floats("measured_s", plans().map(|_| seconds(time)));
    for (name, field) in COUNTERS {
        table.integers(name, count(*field));
    }
    if run.plan.wifi.iter().any(|wifi| wifi.routing.has_agents()) {
        table.integers("routing_packets", count(|s| s.routing_packets));
        table.integers("routing_bytes", count(|s| s.routing_bytes));
    }
    // The share of the time in which the station itself transmits.
    let air_time = count(|s| s.mac.air_time.as_nanos()).map(Duration::from_nanos);
    table.floats("air_time", air_time.map(|own| seconds(own) / seconds(time)));
    table.floats("queue_mean_packets", run.samples.station_queues.iter().map(|mean| mean.value()));
    table
}
