//! Link notifications of Linux, each test in a network of its own.
//!
//! Needs network namespaces. Without them the tests report that they were skipped.
#![cfg(target_os = "linux")]

use std::net::IpAddr;
use std::time::Duration;

use tokio::time::timeout;
use whimbrel_net::multipath::MultipathConfig;
use whimbrel_net::{
    Config, Host, HostOptions, InterfaceAddress, InterfaceMonitor, LinkEvent, LinkMonitor, Setup,
};

use crate::own_network;
use own_network::{in_own_network, run};

const FAR: &str = "192.0.2.7";

fn far() -> IpAddr {
    FAR.parse().expect("an address")
}

/// Two interfaces with a carrier, and a default route through the first.
fn two_links() {
    for n in [1, 2] {
        assert!(run(&format!("ip link add wh{n} type veth peer name peer{n}")));
        assert!(run(&format!("ip link set peer{n} up")) && run(&format!("ip link set wh{n} up")));
        assert!(run(&format!("ip addr add 10.77.{n}.2/24 dev wh{n}")));
    }
    assert!(run("ip route add default via 10.77.1.1"));
}

/// All events until none has come for a while.
async fn events(monitor: &mut LinkMonitor) -> Vec<LinkEvent> {
    let mut events = Vec::new();
    while let Ok(event) = timeout(Duration::from_millis(1500), monitor.next()).await {
        events.push(event.expect("netlink"));
    }
    events
}

#[test]
fn an_interface_that_goes_down_and_returns_with_another_address_is_reported() {
    in_own_network(async {
        two_links();
        let mut monitor = LinkMonitor::open(far(), None).expect("netlink");
        let route = monitor.route().expect("a route").clone();
        assert_eq!((route.interface.as_str(), route.source), ("wh1", "10.77.1.2".parse().ok()));
        assert_eq!(route.gateway, "10.77.1.1".parse().ok());
        assert!(run("ip link set wh1 down"));
        assert_eq!(events(&mut monitor).await, [LinkEvent::Down]);
        assert!(monitor.route().is_none());
        assert!(run("ip addr flush dev wh1") && run("ip addr add 10.77.3.2/24 dev wh1"));
        assert!(run("ip link set wh1 up") && run("ip route add default via 10.77.3.1"));
        let expected = [LinkEvent::AddressChanged, LinkEvent::RouteChanged, LinkEvent::Up];
        assert_eq!(events(&mut monitor).await, expected);
        assert_eq!(monitor.route().and_then(|route| route.source), "10.77.3.2".parse().ok());
    });
}

#[test]
fn a_lost_carrier_is_reported_although_routes_stay() {
    in_own_network(async {
        two_links();
        let mut monitor = LinkMonitor::open(far(), None).expect("netlink");
        // Like a pulled cable, or a radio out of range.
        assert!(run("ip link set peer1 down"));
        assert_eq!(events(&mut monitor).await, [LinkEvent::Down]);
        assert!(run("ip link set peer1 up"));
        assert_eq!(events(&mut monitor).await, [LinkEvent::Up]);
    });
}

#[test]
fn an_interface_that_was_down_for_a_moment_was_down() {
    in_own_network(async {
        two_links();
        assert!(run("ip route del default") && run("ip route add default via 10.77.1.1 onlink dev wh1"));
        let mut monitor = LinkMonitor::open("10.77.1.9".parse().expect("an address"), None).expect("netlink");
        // Both have happened when the monitor looks.
        assert!(run("ip link set wh1 down") && run("ip link set wh1 up"));
        assert_eq!(events(&mut monitor).await, [LinkEvent::Down, LinkEvent::Up]);
    });
}

#[test]
fn a_default_route_that_moves_is_followed_unless_one_interface_is_asked_for() {
    in_own_network(async {
        two_links();
        let mut any = LinkMonitor::open(far(), None).expect("netlink");
        let mut first = LinkMonitor::open(far(), Some("wh1")).expect("netlink");
        let mut second = LinkMonitor::open(far(), Some("wh2")).expect("netlink");
        assert!(second.route().is_none());
        // Make before break.
        assert!(run("ip route replace default via 10.77.2.1"));
        let (any, first, second) = tokio::join!(events(&mut any), events(&mut first), events(&mut second));
        assert_eq!(any, [LinkEvent::AddressChanged, LinkEvent::RouteChanged]);
        assert_eq!(first, [LinkEvent::Down]);
        assert_eq!(second, [LinkEvent::Up]);
    });
}

#[test]
fn changes_that_do_not_concern_the_route_are_not_reported() {
    in_own_network(async {
        two_links();
        let mut monitor = LinkMonitor::open(far(), None).expect("netlink");
        assert!(run("ip link set wh2 down") && run("ip addr add 10.77.9.9/32 dev wh1"));
        assert!(run("ip route add 198.51.100.0/24 via 10.77.1.1") && run("ip link del wh2"));
        assert_eq!(events(&mut monitor).await, []);
    });
}

#[test]
fn both_families_are_followed() {
    in_own_network(async {
        two_links();
        let far = "2001:db8::7".parse().expect("an address");
        let mut monitor = LinkMonitor::open(far, None).expect("netlink");
        assert!(monitor.route().is_none());
        assert!(run("ip -6 addr add fd00:1::2/64 dev wh1 nodad"));
        assert!(run("ip -6 route add default via fd00:1::1 dev wh1"));
        assert_eq!(events(&mut monitor).await, [LinkEvent::Up]);
        assert!(run("ip link set wh1 down"));
        assert_eq!(events(&mut monitor).await, [LinkEvent::Down]);
    });
}

#[test]
fn an_interface_that_does_not_exist_is_called_by_its_name() {
    in_own_network(async {
        let error = LinkMonitor::open(far(), Some("wlan7")).expect_err("no such interface");
        assert!(error.to_string().contains("wlan7"), "{error}");
    });
}

/// The address of an interface, while it is up.
fn address_of(all: &[InterfaceAddress], name: &str) -> Option<IpAddr> {
    all.iter()
        .find(|each| each.interface == name && each.is_up && each.address.is_some_and(|it| it.is_ipv4()))?
        .address
}

#[test]
fn addresses_of_interfaces_that_come_and_go_are_reported() {
    in_own_network(async {
        let mut monitor = InterfaceMonitor::open().expect("netlink");
        assert_eq!(address_of(monitor.addresses(), "wh1"), None);
        let steps = [
            ("ip link set wh1 down", None),
            ("ip link set wh1 up", Some("10.77.1.2")),
            ("ip addr del 10.77.1.2/24 dev wh1", None),
            ("ip addr add 10.77.9.2/24 dev wh1", Some("10.77.9.2")),
            ("ip link del wh1", None),
        ];
        two_links();
        for (command, address) in std::iter::once(("true", Some("10.77.1.2"))).chain(steps) {
            assert!(run(command), "{command}");
            let expected = address.map(|address: &str| address.parse().expect("an address"));
            let seen = async {
                while address_of(monitor.addresses(), "wh1") != expected {
                    monitor.changed().await.expect("netlink");
                }
            };
            timeout(Duration::from_secs(5), seen)
                .await
                .unwrap_or_else(|_| panic!("no change after {command}"));
        }
        assert_eq!(address_of(monitor.addresses(), "wh2"), "10.77.2.2".parse().ok());
    });
}

#[test]
fn a_path_by_an_interface_takes_that_interface_although_the_route_prefers_another() {
    in_own_network(async {
        two_links();
        // Without IPv6, no other packets leave.
        assert!(run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1"));
        // The default route is by wh1. Nothing answers on the links: the neighbour is set, the kernel counts.
        for n in [1, 2] {
            assert!(run(&format!("ip neigh add 10.77.{n}.1 lladdr 02:00:00:00:00:0{n} dev wh{n}")));
        }
        assert!(run("ip route add default via 10.77.2.1 dev wh2 metric 100"));
        let server = (far(), 6511).into();
        let host = Host::without_address(HostOptions::default().peer(Some(server))).expect("entropy");
        let local =
            host.add_local_on("10.77.2.2:0".parse().expect("an address"), "wh2").expect("an interface");
        let before = [1, 2].map(sent);
        let setup = Setup::from(Config::default()).over_paths([], MultipathConfig::default());
        let connecting = host.connect_from(local, server, 5001, setup);
        assert!(timeout(Duration::from_millis(1500), connecting).await.is_err(), "there is no server");
        let after = [1, 2].map(sent);
        assert!(after[0] == before[0] && after[1] - before[1] >= 2, "{before:?} {after:?}");
        let refused = host.add_local_on("10.77.2.2:0".parse().expect("an address"), "nowhere0");
        assert!(refused.is_err());
    });
}

/// Packets that an interface has sent.
fn sent(n: u32) -> u64 {
    let output =
        std::process::Command::new("ip").args(["-s", "-o", "link", "show", &format!("wh{n}")]).output();
    let text = String::from_utf8(output.expect("the ip program").stdout).expect("text");
    let sending = text.split("TX:").nth(1).expect("counts");
    let numbers: Vec<u64> =
        sending.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    numbers[1]
}
