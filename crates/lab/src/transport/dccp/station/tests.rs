use whimbrel_cell::handover::CellIndex;
use whimbrel_netsim::NodeId;
use whimbrel_netsim::medium::Association;
use whimbrel_units::DataRate;
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::infrastructure::HandoverReport;

use super::*;

const BINDING: Duration = Duration::from_millis(2500);

fn following() -> Following {
    let notice = CellNotice::Preparation;
    Following { delay: Some(BINDING), notice, scope: Scope::Local, terminals: Vec::new() }
}

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn associated(at: Instant, from: Option<NodeId>) -> Observation {
    let address = MacAddress::station(1);
    let report = HandoverReport {
        from: from.map(|_| address),
        to: address,
        detected: at,
        scanned: at,
        authenticated: at,
        associated: at,
        last_contact: at,
    };
    Observation::Associated(Association { from, to: NodeId::default(), report })
}

#[test]
fn a_sender_that_follows_its_station_stops_without_access_point_and_waits_for_the_distribution_system() {
    let mut station = Station::new(None, Some(following()));
    let access_point = NodeId::default();
    assert_eq!(station.on_observation(at(0), &associated(at(0), None)), None, "it joins");
    assert_eq!(station.poll_timeout(), None);
    let left = Observation::Disassociated { access_point };
    assert_eq!(station.on_observation(at(1000), &left), Some(StationChange::Left));
    assert_eq!(station.on_observation(at(1200), &associated(at(1200), Some(access_point))), None);
    assert_eq!(station.poll_timeout(), Some(at(3700)));
    assert!(!station.take_completion(at(3699)));
    assert!(station.take_completion(at(3700)));
    assert_eq!(station.poll_timeout(), None);
}

#[test]
fn a_station_that_leaves_again_has_no_complete_path() {
    let mut station = Station::new(None, Some(following()));
    let access_point = NodeId::default();
    station.on_observation(at(1200), &associated(at(1200), Some(access_point)));
    station.on_observation(at(2000), &Observation::Disassociated { access_point });
    assert_eq!(station.poll_timeout(), None);
    let stayed = Observation::Stayed { access_point };
    assert_eq!(station.on_observation(at(2100), &stayed), Some(StationChange::Back));
}

#[test]
fn a_sender_that_does_not_follow_its_station_ignores_associations() {
    let mut station = Station::new(None, None);
    let left = Observation::Disassociated { access_point: NodeId::default() };
    assert_eq!(station.on_observation(at(1000), &left), None);
}

#[test]
fn an_end_pauses_from_the_notice_of_a_handover_until_a_cell_serves() {
    let [from, to] = [0, 1].map(CellIndex);
    let steps = [
        HandoverEvent::Prepared { from, to },
        HandoverEvent::Commanded { from, to },
        HandoverEvent::Failed { cell: to },
        HandoverEvent::Reestablished { cell: from },
        HandoverEvent::Completed { cell: to },
    ];
    let (left, back) = (Some(StationChange::Left), Some(StationChange::Back));
    for (notice, first) in [(CellNotice::Preparation, left), (CellNotice::Interruption, None)] {
        let mut station = Station::new(None, Some(Following { delay: None, notice, ..following() }));
        let changes = steps.map(|step| station.on_observation(at(0), &Observation::Cell(step)));
        assert_eq!(changes, [first, left, left, back, back]);
    }
}

#[test]
fn estimates_are_rates_of_application_data_and_reported_once() {
    let store = CrossLayer::default();
    let mut station = Station::new(Some((store.clone(), 0.5)), None);
    assert_eq!(station.changed_estimate(), None);
    let rate = DataRate::from_megabits_per_second;
    store.set(Position::Sender, Some(Estimate { capacity: rate(8.0), available: rate(4.0) }));
    let data = Estimate { capacity: rate(4.0), available: rate(2.0) };
    assert_eq!(station.changed_estimate(), Some(Some(data)));
    assert_eq!(station.changed_estimate(), None);
    store.clear();
    assert_eq!(station.changed_estimate(), Some(None));
}
