use super::*;

fn addresses() -> Vec<InterfaceAddress> {
    let of = |interface: &str, address: &str, is_up| InterfaceAddress {
        interface: interface.into(),
        address: address.parse().ok(),
        is_up,
    };
    vec![
        of("lo", "127.0.0.1", true),
        of("wlan0", "", true),
        of("wlan0", "192.0.2.10", true),
        of("wlan0", "fe80::1", true),
        of("wlan0", "2001:db8::10", true),
        of("wwan0", "198.51.100.10", true),
        of("wwan1", "203.0.113.10", false),
    ]
}

fn spec(text: &str) -> PathSpec {
    text.parse().expect("a path")
}

fn refusal(texts: &[&str]) -> String {
    let specs: Vec<_> = texts.iter().map(|text| spec(text)).collect();
    check_among(&specs, &addresses()).expect_err("refused").0
}

#[test]
fn a_path_is_an_interface_or_an_address_with_properties() {
    let path = spec("wlan0");
    assert_eq!(path.place, Place::Interface("wlan0".into()));
    assert_eq!((path.priority, path.weight, path.cost), (None, None, None));
    let path = spec("198.51.100.10,priority=1,cost=10");
    assert_eq!(path.place, Place::Address("198.51.100.10".parse().expect("an address")));
    assert_eq!((path.priority, path.weight, path.cost), (Some(1), None, Some(10)));
    assert_eq!(spec("2001:db8::10,weight=3").weight, Some(3));
    for (text, named) in [
        ("", "neither"),
        ("a name with spaces", "neither"),
        ("wlan0,priority=16", "0 to 15"),
        ("wlan0,cost=x", "cost=x"),
        ("wlan0,speed=3", "speed=3"),
    ] {
        let error = text.parse::<PathSpec>().expect_err("refused");
        assert!(error.to_string().contains(named), "{text}: {error}");
    }
}

#[test]
fn the_address_of_a_path_is_of_the_peers_family_and_reaches_other_networks() {
    let v4 = |text: &str| spec(text).address(&addresses(), Reach::V4).map(|(address, _)| address.to_string());
    let v6 = |text: &str| spec(text).address(&addresses(), Reach::V6).map(|(address, _)| address.to_string());
    assert_eq!(v4("wlan0").as_deref(), Some("192.0.2.10"));
    assert_eq!(v6("wlan0").as_deref(), Some("2001:db8::10"));
    assert_eq!(v6("wwan0"), None);
    assert_eq!(v4("198.51.100.10").as_deref(), Some("198.51.100.10"));
    assert_eq!(v6("198.51.100.10"), None);
    assert_eq!(v4("wwan1"), None, "it is down");
    assert_eq!(v4("127.0.0.9").as_deref(), Some("127.0.0.9"), "every host has it");
}

#[test]
fn a_neighbour_is_reached_from_a_link_local_address_of_the_named_interface() {
    let link =
        |text: &str| spec(text).address(&addresses(), Reach::Link).map(|(at, on)| format!("{at} on {on:?}"));
    let expected = Some("fe80::1 on Some(\"wlan0\")");
    assert_eq!(link("wlan0").as_deref(), expected);
    assert_eq!(link("fe80::1%wlan0").as_deref(), expected);
    assert_eq!(link("fe80::1%wwan0"), None);
    assert_eq!(spec("fe80::1%wlan0").address(&addresses(), Reach::V6), None);
    assert_eq!(link("2001:db8::10"), None);
    // A number must be the index of an interface of this host.
    let error = "fe80::1%999999".parse::<PathSpec>().expect_err("refused");
    assert_eq!(error, PathSpecError::Interface(999_999));
    let unknown = refusal(&["fe80::1%wlan9"]);
    assert!(unknown.contains("there is no such network interface"), "{unknown}");
    let foreign = refusal(&["fe80::1%wwan0"]);
    assert!(foreign.contains("--path fe80::1%wwan0: wwan0 does not have this address"), "{foreign}");
}

#[test]
fn what_is_wrong_with_paths_is_named() {
    let unknown = refusal(&["wlan0", "wlan9"]);
    assert!(unknown.contains("--path wlan9") && unknown.contains("lo, wlan0, wwan0, wwan1"), "{unknown}");
    let foreign = refusal(&["10.9.9.9"]);
    assert!(foreign.contains("--path 10.9.9.9: no network interface has this address"), "{foreign}");
    let shared = refusal(&["wlan0", "wwan0", "192.0.2.10"]);
    assert!(shared.contains("--path wlan0 and --path 192.0.2.10 have one address, 192.0.2.10"), "{shared}");
    assert!(refusal(&["wwan1", "wwan1"]).contains("one address"));
    // One that is down now may come.
    let paths = [spec("wlan0"), spec("wwan0"), spec("wwan1")];
    assert!(check_among(&paths, &addresses()).is_ok());
}
