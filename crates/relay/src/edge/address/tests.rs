use super::*;

#[test]
fn a_server_is_one_host_at_a_port() {
    for right in
        ["camera", "camera.local:7000", ":6511", "[2001:db8::7]:80", "[fe80::1%eth0]:80", "192.0.2.7"]
    {
        assert_eq!(parse_server(right).expect(right).to_string(), right);
    }
    for (wrong, because) in [
        ("camera:0", "port 0"),
        ("0.0.0.0:6511", "127.0.0.1 for this host"),
        ("::", "no host's address"),
        ("239.1.2.3:6511", "several hosts"),
        ("255.255.255.255", "several hosts"),
        ("ff02::1%eth0", "several hosts"),
        ("fe80::1", "such as [fe80::1%eth0]"),
        ("[febf::1]:80", "its interface"),
        ("", "expected a name or address"),
        ("a b", "expected a name or address"),
    ] {
        if wrong.contains('%') {
            // A zone is no part of the number: found when it is resolved.
            continue;
        }
        let error = parse_server(wrong).expect_err(wrong);
        assert!(error.to_string().contains(because), "{wrong}: {error}");
    }
}

#[test]
fn the_options_of_a_place_are_for_groups() {
    let place = parse_from("239.1.2.3:5004,interface=eth0,source=192.0.2.9").expect("a group");
    assert_eq!((place.interface.as_deref(), place.source), (Some("eth0"), Some(Ipv4Addr::new(192, 0, 2, 9))));
    assert_eq!(parse_to("239.1.2.3:5004,interface=eth0,ttl=4").expect("a group").ttl, Some(4));
    for right in ["localhost:5004", ":5004", "127.0.0.1:0", "255.255.255.255:5004", "[ff02::1%1]:5004"]
        .into_iter()
        .chain(["[ff02::1]:5004,interface=eth0", "[ff05::1]:5004"])
    {
        parse_from(right).expect(right);
    }
    for right in ["camera.local:5004", ":5004", "192.168.1.255:5004", "[fe80::1%eth0]:5004"] {
        parse_to(right).expect(right);
    }
    for (wrong, because) in [
        ("239.1.2.3:5004,source=239.1.2.4", "the IPv4 address of a host"),
        ("239.1.2.3:5004,source=camera", "the IPv4 address of a host"),
        ("239.1.2.3:0", "another one than 0"),
        ("[ff02::1]:5004,source=192.0.2.9", "a group of IPv4"),
        ("127.0.0.1:5004,interface=lo", "for multicast groups"),
        ("[ff02::1]:5004", "such as [ff02::1%eth0]"),
        ("[ff11::1]:5004", "its interface"),
        ("[fe80::1]:5004", "its interface"),
        ("239.1.2.3:5004,ttl=4", "interface= or source="),
        ("239.1.2.3:5004,interface", "expected a value"),
        ("239.1.2.3", "expected a port"),
        ("localhost", "localhost:5004"),
    ] {
        let error = parse_from(wrong).expect_err(wrong);
        assert!(error.to_string().contains(because), "{wrong}: {error}");
    }
    for (wrong, because) in [
        ("127.0.0.1:0", "port 0"),
        ("0.0.0.0:5004", "127.0.0.1 for a program"),
        ("[::]:5004", "no program's address"),
        ("[fe80::1]:5004", "its interface"),
        ("[ff02::1]:5004", "its interface"),
        ("239.1.2.3:5004,ttl=0", "1 to 255"),
        ("239.1.2.3:5004,source=192.0.2.9", "interface= or ttl="),
        ("192.0.2.1:5004,ttl=9", "for multicast groups"),
    ] {
        let error = parse_to(wrong).expect_err(wrong);
        assert!(error.to_string().contains(because), "{wrong}: {error}");
    }
}

#[test]
fn an_own_address_may_be_a_name_of_this_host() {
    assert_eq!(parse_own("127.0.0.1:0").expect("an address"), SocketAddr::from(([127, 0, 0, 1], 0)));
    assert!(parse_own("localhost:6511").expect("a name of every host").ip().is_loopback());
    assert!(parse_own(":6511").expect("all").ip().is_unspecified());
    for (wrong, because) in [
        ("127.0.0.1", "expected a port"),
        ("239.1.2.3:80", "several hosts"),
        ("[fe80::1]:80", "its interface"),
        ("no-host.invalid:80", "resolved"),
    ] {
        let error = parse_own(wrong).expect_err(wrong);
        assert!(error.to_string().contains(because), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn a_name_is_checked_once_it_is_resolved() {
    for host in ["::", "0.0.0.0"] {
        let error = resolve(&HostPort::new(host, Some(80)), 80).await.expect_err("no host");
        assert!(error.to_string().contains("no host's address"), "{error}");
    }
    let program = parse_to("localhost:5004").expect("a name").resolve_to().await.expect("loopback");
    assert!(program.addresses.iter().all(|address| address.ip().is_loopback()));
    assert!(!program.is_group());
}
