use std::net::SocketAddr;

use super::path_mtu;

#[path = "../../../tests/support/own_network.rs"]
mod own_network;
use own_network::{in_own_network, run};

#[test]
fn interface_and_route_are_queried_in_both_families() {
    in_own_network(async {
        assert!(run("ip link add wh0 mtu 1400 type veth peer name peer0 mtu 1400"));
        assert!(run("ip link set peer0 up") && run("ip link set wh0 up"));
        assert!(run("ip addr add 10.77.1.2/24 dev wh0") && run("ip addr add fd00:77::2/64 dev wh0 nodad"));
        assert!(run("ip route add 10.78.0.0/16 via 10.77.1.1 mtu 1250"));
        assert!(run("ip route add fd00:78::/64 via fd00:77::1 mtu 1300"));
        let mtu = |from: &str, to: &str| {
            let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
            path_mtu(address(from), address(to))
        };
        for from in ["0.0.0.0:0", "10.77.1.2:6511", "[::]:6511"] {
            assert_eq!(mtu(from, "10.77.1.9:6511"), Some(1400), "{from}");
            assert_eq!(mtu(from, "10.78.0.9:0"), Some(1250), "{from}");
        }
        for from in ["[::]:0", "[fd00:77::2]:6511"] {
            assert_eq!(mtu(from, "[fd00:77::9]:6511"), Some(1400), "{from}");
            assert_eq!(mtu(from, "[fd00:78::9]:0"), Some(1300), "{from}");
        }
        assert_eq!(mtu("0.0.0.0:0", "192.0.2.1:6511"), None, "there is no route");
    });
}
