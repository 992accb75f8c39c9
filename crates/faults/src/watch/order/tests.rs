use whimbrel_units::Duration;
use whimbrel_wire::{ChecksumCoverage, Kind, Options, Payload, ServiceCode};

use super::*;

fn ordered() -> Config {
    let mut config = Config::default();
    config.receive.reorder_delay = Some(Duration::from_millis(50));
    config
}

fn request(number: u64) -> Packet {
    Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(number),
        kind: Kind::Request { service_code: ServiceCode(42) },
        options: Options::new(),
        payload: Payload::Opaque { length: 8, tag: 1 },
    }
}

/// A tampered copy of a Request may have any number of the window.
#[test]
fn a_handshakes_datagram_comes_first_whatever_its_number_is() {
    let mut order = Order::default();
    order.on_arrival(&request(209));
    for number in [209, 24, 25] {
        order.on_datagram(&ordered(), SeqNo::new(number));
    }
}

#[test]
#[should_panic(expected = "though the application wants order")]
fn a_handshakes_datagram_may_not_come_later() {
    let mut order = Order::default();
    order.on_arrival(&request(209));
    for number in [300, 209] {
        order.on_datagram(&ordered(), SeqNo::new(number));
    }
}

#[test]
#[should_panic(expected = "though the application wants order")]
fn an_older_number_may_not_follow_a_newer_one() {
    let mut order = Order::default();
    for number in [25, 24] {
        order.on_datagram(&ordered(), SeqNo::new(number));
    }
}

#[test]
fn there_is_no_order_across_moves_beyond_the_largest_window() {
    let mut order = Order::default();
    order.on_datagram(&ordered(), SeqNo::new(25));
    order.on_arrival(&request(25 + (1 << 46)));
    order.on_datagram(&ordered(), SeqNo::new(24));
}

#[test]
#[should_panic(expected = "though the application wants order")]
fn a_move_within_the_largest_window_keeps_the_order() {
    let mut order = Order::default();
    order.on_datagram(&ordered(), SeqNo::new(25));
    order.on_arrival(&request(24 + (1 << 46)));
    order.on_datagram(&ordered(), SeqNo::new(24));
}
