use whimbrel_wire::Payload;

use super::super::tests::concern::{START, events, parts, runs_for};
use super::super::{Role, State};
use super::*;
use crate::{Datagram, DropReason};

const RTT: Duration = Duration::from_millis(50);

fn open(path_mtu: PathMtuDiscovery) -> (Mtu, Context, Effects) {
    let config = Config { path_mtu, max_datagram: 1400, ..Config::default() };
    let mtu = Mtu::new(&config);
    let (cx, fx) = parts(Role::Client, State::Open, config);
    (mtu, cx, fx)
}

#[test]
fn without_discovery_a_report_is_the_limit() {
    let (mut mtu, cx, mut fx) = open(PathMtuDiscovery::Off);
    assert_eq!(mtu.start(START, &cx, &mut fx), None);
    assert!(!mtu.is_discovered());
    assert_eq!(mtu.on_too_big(START, &cx, &mut fx, 900), Some(900));
    assert_eq!(mtu.on_refused(START, &mut fx, 500), Some(500));
    for length in [800, 600] {
        let datagram = Datagram::new(Payload::Opaque { length, tag: 0 });
        fx.queue.push(START, datagram, &mut fx.events).unwrap();
    }
    assert_eq!(mtu.limit(&cx, &mut fx, 700), 700);
    let dropped = events(&mut fx);
    assert!(matches!(dropped[..], [Event::DatagramDropped { reason: DropReason::TooLarge, .. }]));
    assert_eq!(mtu.limit(&cx, &mut fx, 2000), 1400, "no more is configured");
    assert_eq!(events(&mut fx), [], "the application set the limit itself");
}

#[test]
fn discovery_starts_with_the_hint_from_before() {
    for (path_mtu, hint, size) in [
        (PathMtuDiscovery::FromLargest, None, None),
        (PathMtuDiscovery::FromBase, None, Some(1200 - OVERHEAD)),
        (PathMtuDiscovery::FromLargest, Some(1300), Some(1300)),
    ] {
        let (mut mtu, cx, mut fx) = open(path_mtu);
        if let Some(hint) = hint {
            assert_eq!(mtu.on_too_big(START, &cx, &mut fx, hint), Some(hint));
        }
        assert_eq!(mtu.start(START, &cx, &mut fx), size, "{path_mtu:?} {hint:?}");
        assert_eq!(runs_for(&fx, Timer::PathMtu), Duration::ZERO);
        if let Some(size) = size {
            assert_eq!(mtu.limit(&cx, &mut fx, size), size);
            assert_eq!(events(&mut fx), [Event::MaxDatagramChanged { max_datagram: size }]);
        }
    }
}

#[test]
fn a_probe_waits_for_congestion_control_but_stays_pending() {
    let (mut mtu, cx, mut fx) = open(PathMtuDiscovery::FromBase);
    let size = mtu.start(START, &cx, &mut fx).unwrap();
    mtu.limit(&cx, &mut fx, size);
    assert_eq!(mtu.on_timer(START, &cx, &mut fx), None);
    assert_eq!(mtu.probe(), Some((1200, true)));
    assert!(!fx.timers.is_running(Timer::PathMtu), "the probe leaves first");
    assert_eq!(mtu.postpone_probe(START, &cx, &mut fx), None);
    assert_eq!(runs_for(&fx, Timer::PathMtu), RTT);
    assert_eq!(mtu.probe(), Some((1200, true)));

    let sequence = SeqNo::new(1000);
    assert_eq!(mtu.on_probe_sent(START, &cx, &mut fx, sequence, 1200), None);
    assert_eq!((mtu.probe(), fx.statistics.path_probes_sent), (None, 1));
    assert_eq!(runs_for(&fx, Timer::PathMtu), Duration::from_secs(1));
    assert_eq!(mtu.on_sync_ack(START, &mut fx, sequence), None, "the base size is in use");
    assert_eq!(runs_for(&fx, Timer::PathMtu), Duration::ZERO, "the search goes on at once");
}

#[test]
fn a_packet_that_may_not_be_sent_is_not_probed_for() {
    let (mut mtu, mut cx, mut fx) = open(PathMtuDiscovery::FromBase);
    assert!(mtu.start(START, &cx, &mut fx).is_some());
    cx.state = State::Closing;
    assert_eq!(mtu.on_timer(START, &cx, &mut fx), None);
    assert_eq!(mtu.probe(), None);
}
