//! Reports of the network and of this host.

use super::*;

#[test]
fn a_router_hastens_the_search_and_an_attacker_gains_little() {
    let mut path = Path::new(1300, true);
    path.run_for(Duration::from_millis(200));
    assert_eq!(path.probes, [1200, MAX]);
    path.mtu.on_too_big(path.now, 1300);
    path.run_for(Duration::from_millis(200));
    assert_eq!(path.state(), (PathMtuPhase::Complete, 1300));
    assert_eq!(path.probes, [1200, MAX, 1300]);
    // Below what every path carries it is ignored.
    for limit in [0, 68, MIN - 1] {
        path.mtu.on_too_big(path.now, limit);
        assert_eq!(path.state(), (PathMtuPhase::Complete, 1300));
    }
    // Below the base size it has that confirmed, once in two seconds: a lie costs two round-trip times.
    path.probes.clear();
    for limit in [MIN, 700, BASE - 1] {
        path.mtu.on_too_big(path.now, limit);
        path.run_for(RTT * 3);
        assert_eq!(path.state(), (PathMtuPhase::Complete, 1300));
        assert_eq!(path.probes, [BASE, 1300], "at {limit}");
    }
    path.run_for(RESTART_TIME);
    // Above, it is tried: a lie costs some time.
    path.mtu.on_too_big(path.now, 1250);
    assert_eq!(path.state(), (PathMtuPhase::Base, BASE));
    path.run_for(Duration::from_secs(5));
    assert_eq!(path.state(), (PathMtuPhase::Complete, 1250));
    path.run_for(Duration::from_secs(700));
    assert!(path.state().1 > 1283, "until the search begins anew");
}

#[test]
fn an_application_may_ask_again_but_not_all_the_time() {
    let mut path = Path::new(1300, true);
    path.run_for(Duration::from_secs(30));
    path.carries = MAX;
    path.probes.clear();
    path.mtu.on_too_big(path.now, MAX);
    path.run_for(Duration::from_secs(1));
    assert_eq!(path.state(), (PathMtuPhase::Complete, MAX));
    path.carries = 1300;
    path.mtu.on_refused(path.now);
    path.run_for(Duration::from_millis(500));
    path.probes.clear();
    path.mtu.on_too_big(path.now, MAX);
    assert!(path.mtu.wake_at() > path.now || path.mtu.phase() != PathMtuPhase::Complete);
}

#[test]
fn a_host_that_refuses_even_the_base_size_is_probed_four_times_a_minute() {
    for cautious in [true, false] {
        let mut path = Path::new(MAX, cautious);
        path.run_for(Duration::from_secs(1));
        // Another route, through a device that takes packets of 1000 bytes. The first to be refused is a
        // datagram.
        path.mtu.on_refused(path.now);
        let (start, mut refused) = (path.now, 0);
        while path.now - start < Duration::from_secs(60) {
            path.now = path.now.max(path.mtu.wake_at());
            if let Some((size, _)) = path.mtu.handle_timeout(path.now) {
                path.next = path.next.next();
                path.mtu.on_probe_sent(path.now, path.next, size, RTT);
                if size <= 1000 {
                    path.now += RTT;
                    assert!(path.mtu.on_sync_ack(path.now, path.next));
                } else {
                    path.mtu.on_refused(path.now);
                    refused += u32::from(size >= BASE);
                }
            }
            assert!(refused <= 5, "asked again after {:?}", path.now - start);
        }
        let (phase, size) = path.state();
        assert_eq!(phase, PathMtuPhase::Error);
        assert!((1000 - RESOLUTION..=1000).contains(&size), "{size}");
        path.run_for(Duration::from_secs(20));
        // The route is as it was.
        assert_eq!(path.mtu.phase(), PathMtuPhase::Complete);
        assert!(path.mtu.size() >= MAX - RESOLUTION, "{}", path.mtu.size());
    }
}

#[test]
fn a_host_that_refuses_every_size_is_probed_at_intervals() {
    for max in [400, MIN, 600, BASE, MAX] {
        let start = Instant::from_secs(100);
        let (mut now, mut probes) = (start, 0);
        let mut mtu = PathMtu::new(now, max, true);
        while now - start < Duration::from_secs(150) {
            now = now.max(mtu.wake_at());
            if let Some((size, _)) = mtu.handle_timeout(now) {
                mtu.on_probe_sent(now, SeqNo::new(probes), size, RTT);
                mtu.on_refused(now);
                probes += 1;
            }
            assert!(probes <= 24, "{max}: {probes} after {:?}", now - start);
        }
        assert!(probes >= 9, "{max}: {probes}");
    }
}

#[test]
fn the_search_is_restarted_for_the_application_once_in_two_seconds() {
    let mut path = Path::new(1300, true);
    path.run_for(Duration::from_secs(30));
    // The application asks, and a router answers the first probe: the search ends at once.
    let ask = |path: &mut Path| {
        path.probes.clear();
        path.mtu.on_too_big(path.now, MAX);
        path.run_for(Duration::from_millis(10));
        path.mtu.on_too_big(path.now, 1300);
        path.run_for(RTT * 2);
        assert_eq!(path.state().0, PathMtuPhase::Complete);
        path.probes.len()
    };
    assert_eq!(ask(&mut path), 2, "the largest size, and what the router named");
    let start = path.now;
    while path.now - start < Duration::from_millis(1500) {
        assert_eq!(ask(&mut path), 0, "{:?} after the last", path.now - start);
    }
    path.run_for(Duration::from_secs(1));
    assert_eq!(ask(&mut path), 1, "what the router names is known by now");
}

#[test]
fn a_limit_beyond_what_was_probed_changes_nothing() {
    // RFC 8899, Section 4.6.1: more than was probed cannot be too large.
    let mut path = Path::new(1300, true);
    path.run_for(Duration::from_millis(200));
    path.mtu.on_too_big(path.now, 1320);
    path.run_for(Duration::from_secs(2));
    assert_eq!(path.probes.last(), Some(&1320), "the router's word is tried");
    let (state, wake_at) = (path.state(), path.mtu.wake_at());
    for limit in [1320, 1321, 1400, MAX - 1] {
        path.mtu.on_too_big(path.now, limit);
        assert_eq!((path.state(), path.mtu.wake_at()), (state, wake_at), "{limit}");
    }
}

#[test]
fn a_limit_below_the_base_size_is_tried_where_the_base_size_does_not_arrive() {
    for named in [1060 - 28, 1100 - 28, MIN, 700] {
        // The first probe, or the first datagrams, are answered by a router.
        for cautious in [true, false] {
            let mut path = Path::new(named, cautious);
            path.run_for(Duration::from_millis(10));
            path.mtu.on_too_big(path.now, named);
            path.run_for(MIN_PROBE_TIME * 2 + RTT * 4);
            assert_eq!(path.state(), (PathMtuPhase::Error, named), "{:?}", path.probes);
        }
    }
    // A router named more than passes.
    let mut path = Path::new(900, true);
    path.run_for(Duration::from_millis(10));
    path.mtu.on_too_big(path.now, 1000);
    path.run_for(Duration::from_secs(40));
    assert!((884..=900).contains(&path.state().1), "{:?}", path.state());
}
