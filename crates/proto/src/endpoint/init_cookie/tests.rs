use core::net::SocketAddr;

use proptest::prelude::*;
use whimbrel_wire::option::FeatureAction;
use whimbrel_wire::option::FeatureOption;

use super::*;

const NOW: Instant = Instant::from_secs(10_000);

fn tuple() -> FourTuple<SocketAddr> {
    FourTuple { address: SocketAddr::from(([10, 0, 0, 1], 6511)), local_port: 5001, remote_port: 9 }
}

fn jar() -> CookieJar {
    CookieJar::new(Secret::new(7))
}

fn request(options: Options) -> Packet {
    Packet {
        source_port: 9,
        destination_port: 5001,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(0x1234_5678_9abc),
        kind: Kind::Request { service_code: ServiceCode(42) },
        options,
        payload: Payload::EMPTY,
    }
}

fn change(values: &[u8]) -> DccpOption {
    DccpOption::Feature(FeatureOption::preferences(FeatureAction::ChangeL, 1u8, values))
}

/// A packet with the cookie for `request`.
fn carrier(at: Instant, request: &Packet) -> Packet {
    let remembered = Remembered::new(at, request).unwrap();
    let options: Options = jar().bake(&tuple(), 3, SeqNo::new(5), &remembered).collect();
    Packet { kind: Kind::Ack { ack: SeqNo::new(5) }, options, ..request.clone() }
}

fn is_genuine(returned: &Returned) -> bool {
    returned.is_genuine(&jar(), &tuple(), 3, SeqNo::new(5))
}

#[test]
fn the_shortest_cookie_fits_three_times_the_shortest_request() {
    // Section 5 of RFC 4340: 20 bytes of Request, 28 of Response; three times 20 leave 32 for the option.
    let cookie = carrier(NOW, &request(Options::new())).options;
    assert_eq!(cookie.iter().map(DccpOption::encoded_len).sum::<usize>(), 32);
    assert_eq!(Remembered::new(NOW, &request(Options::new())).unwrap().cookie_len(), 32);
}

#[test]
fn a_cookie_holds_the_relevant_contents_of_a_request() {
    let unknown = DccpOption::Unknown { kind: 99, data: OptionBytes::from_slice(&[1]) };
    let options = Options::from_vec(vec![
        change(&[3, 2]),
        DccpOption::SlowReceiver,
        unknown.clone(),
        DccpOption::Mandatory,
        unknown.clone(),
        DccpOption::Timestamp(77),
    ]);
    let packet = carrier(NOW, &request(options));
    let returned = Returned::read(NOW, &packet).unwrap();
    assert!(is_genuine(&returned));
    let remembered = returned.remembered(&tuple()).unwrap();
    let kept = vec![change(&[3, 2]), DccpOption::Mandatory, unknown, DccpOption::Timestamp(77)];
    assert_eq!(remembered.request, request(Options::from_vec(kept)));
    assert!(NOW - remembered.at < Duration::from_nanos(1 << UNIT_BITS));
}

#[test]
fn a_long_cookie_takes_several_options() {
    let many = Options::from_vec((0..40).map(|_| change(&[3, 2, 4, 5, 6])).collect());
    let packet = carrier(NOW, &request(many.clone()));
    let lengths: Vec<usize> = packet.options.iter().map(DccpOption::encoded_len).collect();
    assert_eq!(lengths, [255, 30 + 40 * 8 - 253 + 2]);
    assert_eq!(Remembered::new(NOW, &request(many.clone())).unwrap().cookie_len(), lengths.iter().sum());
    let returned = Returned::read(NOW, &packet).unwrap();
    assert!(is_genuine(&returned));
    assert_eq!(returned.remembered(&tuple()).unwrap().request, request(many));
    // In another order they are another cookie.
    let swapped = Packet { options: packet.options.iter().rev().cloned().collect(), ..packet };
    assert!(!Returned::read(NOW, &swapped).is_some_and(|returned| is_genuine(&returned)));
}

#[test]
fn a_cookie_expires() {
    let packet = carrier(NOW, &request(Options::new()));
    assert!(Returned::read(NOW + (LIFETIME - Duration::from_millis(1)), &packet).is_some());
    assert!(Returned::read(NOW + LIFETIME + Duration::from_millis(1), &packet).is_none());
    // When the clock in it reads the same again, 73 minutes later, the key and the time are others.
    let again = Instant::from_nanos(NOW.as_nanos() + (1 << (32 + UNIT_BITS)));
    let returned = Returned::read(again, &packet).unwrap();
    assert!(!is_genuine(&returned));
}

#[test]
fn a_cookie_outlives_the_change_of_the_key() {
    let rotation = Instant::ZERO + KEY_LIFETIME * 100;
    let before = Instant::from_nanos(rotation.as_nanos() - 1_000_000);
    let packet = carrier(before, &request(Options::new()));
    let returned = Returned::read(rotation + Duration::from_secs(5), &packet).unwrap();
    assert!(is_genuine(&returned));
    let keys: Vec<_> =
        (0..3).map(|period| Secret::new(7).derive(PURPOSE, period).authenticate(&[], &[])).collect();
    assert!(keys[0] != keys[1] && keys[1] != keys[2]);
}

#[test]
fn a_cookie_is_bound_to_addresses_ports_numbers_and_listener() {
    let returned = Returned::read(NOW, &carrier(NOW, &request(Options::new()))).unwrap();
    let (jar, iss) = (jar(), SeqNo::new(5));
    assert!(returned.is_genuine(&jar, &tuple(), 3, iss));
    let other_port = SocketAddr::from(([10, 0, 0, 1], 6512));
    let mapped = SocketAddr::from(("::10.0.0.1".parse::<core::net::Ipv6Addr>().unwrap(), 6511));
    for tuple in [
        FourTuple { address: other_port, ..tuple() },
        FourTuple { address: mapped, ..tuple() },
        FourTuple { local_port: 5002, ..tuple() },
        FourTuple { remote_port: 10, ..tuple() },
    ] {
        assert!(!returned.is_genuine(&jar, &tuple, 3, iss), "{tuple:?}");
    }
    assert!(!returned.is_genuine(&jar, &tuple(), 4, iss));
    assert!(!returned.is_genuine(&jar, &tuple(), 3, iss.next()));
    assert!(!returned.is_genuine(&CookieJar::new(Secret::new(8)), &tuple(), 3, iss));
}

proptest! {
    #[test]
    fn no_changed_byte_passes(at in 0usize..54, bit in 0u8..8) {
        let options = Options::from_vec(vec![change(&[3, 2, 4]), DccpOption::Timestamp(77)]);
        let mut packet = carrier(NOW, &request(options));
        let DccpOption::InitCookie(data) = &mut packet.options[0] else { panic!() };
        prop_assume!(at < data.len());
        data[at] ^= 1 << bit;
        prop_assert!(!Returned::read(NOW, &packet).is_some_and(|returned| is_genuine(&returned)));
    }

    #[test]
    fn arbitrary_cookies_are_read_without_harm(data in prop::collection::vec(any::<u8>(), 0..253)) {
        let mut packet = carrier(NOW, &request(Options::new()));
        packet.options = Options::from_vec(vec![DccpOption::InitCookie(OptionBytes::from_slice(&data)); 3]);
        if let Some(returned) = Returned::read(NOW, &packet) {
            prop_assert!(!is_genuine(&returned));
            let _ = returned.remembered(&tuple());
        }
    }
}
