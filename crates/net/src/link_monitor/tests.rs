use super::*;

fn route(index: u32, source: &str, gateway: &str) -> Option<Route> {
    Some(Route {
        index,
        interface: format!("eth{index}"),
        source: Some(source.parse().expect("an address")),
        gateway: Some(gateway.parse().expect("an address")),
    })
}

fn events(first: Option<Route>, then: &[Option<Route>]) -> Vec<LinkEvent> {
    let mut tracker = RouteTracker::new(first);
    for route in then {
        tracker.update(route.clone());
    }
    tracker.events.into()
}

#[test]
fn an_unchanged_route_that_returns_is_down_and_up() {
    let home = route(1, "10.0.0.2", "10.0.0.1");
    assert_eq!(events(home.clone(), &[None, None, home]), [LinkEvent::Down, LinkEvent::Up]);
}

#[test]
fn changes_are_reported_before_up() {
    let (home, cafe) = (route(1, "10.0.0.2", "10.0.0.1"), route(2, "10.9.0.2", "10.9.0.1"));
    use LinkEvent::{AddressChanged, Down, RouteChanged, Up};
    assert_eq!(
        events(home.clone(), &[None, cafe.clone(), None, home]),
        [Down, AddressChanged, RouteChanged, Up, Down, AddressChanged, RouteChanged, Up]
    );
    // The same network gives another address, or the same address has another router.
    assert_eq!(events(cafe.clone(), &[route(2, "10.9.0.3", "10.9.0.1")]), [AddressChanged]);
    assert_eq!(events(cafe, &[route(2, "10.9.0.2", "10.9.0.254")]), [RouteChanged]);
}

#[test]
fn a_change_of_route_without_a_gap_is_not_down() {
    let (home, cafe) = (route(1, "10.0.0.2", "10.0.0.1"), route(2, "10.9.0.2", "10.9.0.1"));
    assert_eq!(events(home, &[cafe]), [LinkEvent::AddressChanged, LinkEvent::RouteChanged]);
}

#[test]
fn no_change_gives_no_event() {
    let home = route(1, "10.0.0.2", "10.0.0.1");
    assert_eq!(events(home.clone(), &[home.clone(), home]), []);
    assert_eq!(events(None, &[None]), []);
}

#[test]
fn a_first_route_is_up_and_no_change() {
    assert_eq!(events(None, &[route(1, "10.0.0.2", "10.0.0.1")]), [LinkEvent::Up]);
}
