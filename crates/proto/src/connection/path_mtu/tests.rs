use super::*;

mod advice;

const RTT: Duration = Duration::from_millis(50);
const MAX: usize = 1452;

/// A path that carries packets of up to `carries` bytes.
struct Path {
    now: Instant,
    mtu: PathMtu,
    carries: usize,
    next: SeqNo,
    probes: Vec<usize>,
}

impl Path {
    fn new(carries: usize, cautious: bool) -> Self {
        let now = Instant::from_secs(100);
        let mtu = PathMtu::new(now, MAX, cautious);
        Self { now, mtu, carries, next: SeqNo::new(1), probes: Vec::new() }
    }

    /// Advances the clock.
    fn run_for(&mut self, time: Duration) {
        let deadline = self.now + time;
        while self.mtu.wake_at() <= deadline {
            self.now = self.now.max(self.mtu.wake_at());
            let Some((size, _)) = self.mtu.handle_timeout(self.now) else { continue };
            self.probes.push(size);
            assert!(self.probes.len() < 10_000, "it does not rest");
            self.next = self.next.next();
            self.mtu.on_probe_sent(self.now, self.next, size, RTT);
            if size <= self.carries {
                self.now += RTT;
                assert!(self.mtu.on_sync_ack(self.now, self.next));
            }
        }
        self.now = self.now.max(deadline);
    }

    fn state(&self) -> (PathMtuPhase, usize) {
        (self.mtu.phase(), self.mtu.size())
    }
}

#[test]
fn a_path_that_carries_everything_takes_two_probes() {
    let mut path = Path::new(9000, true);
    assert_eq!(path.state(), (PathMtuPhase::Base, 1200));
    path.run_for(Duration::from_secs(1));
    assert_eq!(path.state(), (PathMtuPhase::Complete, MAX));
    assert_eq!(path.probes, [1200, MAX]);
    path.run_for(Duration::from_secs(3600));
    assert_eq!(path.probes.len(), 2, "silence costs nothing");
}

#[test]
fn the_largest_size_is_found_to_within_the_resolution() {
    for carries in (BASE..MAX + 20).step_by(7) {
        let mut path = Path::new(carries, true);
        path.run_for(Duration::from_secs(60));
        let (phase, size) = path.state();
        assert_eq!(phase, PathMtuPhase::Complete);
        assert!(size <= carries && size + RESOLUTION >= carries.min(MAX), "{size} of {carries}");
        // Each size that does not work costs three probes; halving from 252 bytes leaves few of them.
        assert!(path.probes.len() <= 2 + 3 * 6, "{:?}", path.probes);
    }
}

#[test]
fn a_hopeful_start_falls_back_after_three_probes() {
    let mut path = Path::new(1300, false);
    assert_eq!(path.state(), (PathMtuPhase::Complete, MAX));
    path.run_for(Duration::from_millis(2900));
    assert_eq!((path.state().1, &path.probes[..]), (MAX, &[MAX; 3][..]));
    path.run_for(Duration::from_millis(200));
    assert!(path.state().1 < 1300);
    path.run_for(Duration::from_secs(30));
    assert!((1284..=1300).contains(&path.state().1), "{:?}", path.state());
}

#[test]
fn below_the_base_size_the_largest_that_arrives_is_found_and_the_base_size_probed() {
    for carries in (MIN..BASE).step_by(31) {
        let mut path = Path::new(carries, true);
        path.run_for(Duration::from_secs(40));
        let (phase, size) = path.state();
        assert_eq!(phase, PathMtuPhase::Error);
        assert!(size <= carries && size + RESOLUTION >= carries, "{size} of {carries}");
        let probes = path.probes.len();
        path.run_for(Duration::from_secs(150));
        assert_eq!(path.probes[probes..].iter().filter(|size| **size != BASE).count(), 0);
        assert!((8..=11).contains(&(path.probes.len() - probes)), "one per 15 s");
        path.carries = MAX;
        path.run_for(Duration::from_secs(20));
        assert_eq!(path.state(), (PathMtuPhase::Complete, MAX));
    }
}

#[test]
fn a_narrow_path_that_gets_narrower_or_wider_is_followed() {
    let found = || {
        let mut path = Path::new(1100, true);
        path.run_for(Duration::from_secs(40));
        assert!((1084..=1100).contains(&path.state().1));
        path
    };
    // Without a word: large packets are no longer acknowledged.
    let mut path = found();
    path.carries = 700;
    let start = path.now;
    while path.state().1 > 700 {
        path.mtu.on_large_sent(path.now, SeqNo::new(7), RTT);
        path.run_for(Duration::from_millis(20));
        assert!(path.now - start <= CONFIRMATION_TIME + MIN_PROBE_TIME * 4, "not in time: {:?}", path.probes);
    }
    path.run_for(Duration::from_secs(30));
    assert!((684..=700).contains(&path.state().1), "{:?}", path.state());
    // With a message.
    for (carries, patience) in [(700, MIN_PROBE_TIME), (1150, RTT * 2)] {
        let mut path = found();
        path.carries = carries;
        path.mtu.on_too_big(path.now, carries);
        assert!(path.state().1 <= carries, "what is too large is not sent any more");
        path.run_for(patience);
        assert_eq!(path.state(), (PathMtuPhase::Error, carries));
    }
    // Without one, after ten minutes.
    let mut path = found();
    path.carries = 1180;
    path.run_for(RAISE_TIME + Duration::from_secs(30));
    assert!((1164..=1180).contains(&path.state().1), "{:?}", path.state());
}

#[test]
fn a_black_hole_is_noticed_while_large_packets_leave() {
    let mut path = Path::new(MAX, true);
    path.run_for(Duration::from_secs(5));
    path.carries = 1300;
    let start = path.now;
    // Nothing is acknowledged any more.
    while path.state().1 == MAX {
        path.mtu.on_large_sent(path.now, SeqNo::new(7), RTT);
        path.run_for(Duration::from_millis(20));
        assert!(path.now - start < Duration::from_secs(5), "not in time");
    }
    path.run_for(Duration::from_secs(30));
    assert!((1284..=1300).contains(&path.state().1), "{:?}", path.state());
}

#[test]
fn a_black_hole_is_noticed_in_the_midst_of_a_search() {
    let mut path = Path::new(1250, true);
    path.run_for(Duration::from_millis(3_500));
    assert_eq!(path.state(), (PathMtuPhase::Searching, BASE), "{:?}", path.probes);
    path.carries = 1000;
    let start = path.now;
    // Nothing is acknowledged any more. One probe of the search, three of the size in use, three of the base
    // size, one of the least.
    while path.state().1 > 1000 {
        path.mtu.on_large_sent(path.now, SeqNo::new(7), RTT);
        path.run_for(Duration::from_millis(20));
        assert!(path.now - start <= Duration::from_secs(9), "not in time: {:?}", path.probes);
    }
}

#[test]
fn a_search_goes_on_where_it_was_after_the_size_in_use_was_confirmed() {
    let searching = |disturbed: bool| {
        let mut path = Path::new(1250, true);
        for _ in 0..3_000 {
            if disturbed {
                // Large packets leave all the time, and all but the probes is acknowledged.
                path.mtu.on_large_sent(path.now, path.next, RTT);
            }
            path.run_for(Duration::from_millis(20));
        }
        assert_eq!(path.mtu.phase(), PathMtuPhase::Complete, "{:?}", path.probes);
        path
    };
    let (alone, disturbed) = (searching(false), searching(true));
    assert_eq!(alone.state(), disturbed.state());
    let candidates = |path: &Path| {
        let size = path.probes.iter().copied();
        size.filter(|size| *size > 1250).collect::<Vec<_>>()
    };
    assert_eq!(candidates(&alone), candidates(&disturbed), "no candidate is tried again for it");
    assert!(disturbed.probes.len() > alone.probes.len());
}

#[test]
fn a_size_is_confirmed_now_and_then_while_it_is_used() {
    let mut path = Path::new(MAX, true);
    path.run_for(Duration::from_secs(1));
    path.probes.clear();
    for n in 0..6000u64 {
        // Everything is acknowledged.
        path.mtu.on_large_sent(path.now, SeqNo::new(n), RTT);
        path.run_for(Duration::from_millis(10));
    }
    assert!((11..=12).contains(&path.probes.len()), "every 5 s of 60: {:?}", path.probes);
}

#[test]
fn a_wider_path_is_found_after_ten_minutes() {
    let mut path = Path::new(1300, true);
    path.run_for(Duration::from_secs(30));
    path.carries = MAX;
    path.run_for(Duration::from_secs(560));
    assert!(path.state().1 <= 1300);
    path.run_for(Duration::from_secs(60));
    assert_eq!(path.state(), (PathMtuPhase::Complete, MAX));
}

#[test]
fn only_the_answer_to_the_probe_counts() {
    let mut path = Path::new(MAX, true);
    let (size, _) = path.mtu.handle_timeout(path.now).unwrap();
    path.mtu.on_probe_sent(path.now, SeqNo::new(50), size, RTT);
    for other in [0, 49, 51] {
        assert!(!path.mtu.on_sync_ack(path.now, SeqNo::new(other)));
    }
    assert!(path.mtu.on_sync_ack(path.now, SeqNo::new(50)));
    assert!(!path.mtu.on_sync_ack(path.now, SeqNo::new(50)), "once");
}

#[test]
fn through_an_outage_all_stays_as_it_was() {
    let mut path = Path::new(MAX, false);
    path.run_for(Duration::from_secs(1));
    path.carries = 0;
    path.now += CONFIRMATION_TIME;
    assert!(path.mtu.on_large_sent(path.now, SeqNo::new(5), RTT));
    path.probes.clear();
    path.run_for(Duration::from_secs(60));
    assert_eq!(path.probes[..8], [MAX, MAX, MAX, BASE, BASE, BASE, MIN, MAX]);
    assert!(path.probes.len() <= 61, "one probe a second");
    assert_eq!(path.mtu.size(), MAX);
    path.carries = MAX;
    path.run_for(Duration::from_secs(4));
    assert_eq!(path.state(), (PathMtuPhase::Complete, MAX));
}

#[test]
fn a_narrow_path_that_is_silent_is_no_outage() {
    // All datagrams are too large for the path, so that nothing is acknowledged any more.
    for (start, size) in [(MAX, MAX), (BASE, 900)] {
        let mut path = Path::new(start, true);
        path.run_for(Duration::from_secs(60));
        path.carries = 800;
        let change = path.now;
        while path.state().0 != PathMtuPhase::Error || path.state().1 > 800 {
            path.mtu.on_large_sent(path.now, SeqNo::new(7), RTT);
            path.run_for(Duration::from_millis(20));
            // A size is trusted for 5 s; then 3 probes of it, 3 of the base size and one of the least, a
            // second each.
            let patience = CONFIRMATION_TIME + MIN_PROBE_TIME * 7;
            assert!(path.now - change < patience, "{size}: {:?}", path.probes);
        }
        path.carries = MAX;
        // The path widens. Larger sizes than it ever carried are for the raise timer.
        path.run_for(ERROR_TIME + RTT * 5);
        assert_eq!(path.mtu.phase(), PathMtuPhase::Complete);
        assert!(path.mtu.size() >= start - RESOLUTION, "{}", path.mtu.size());
    }
}

#[test]
fn whenever_an_outage_ends_the_size_in_use_is_soon_in_use_again() {
    for tenths in 10..150 {
        let mut path = Path::new(MAX, false);
        path.run_for(Duration::from_secs(1));
        path.carries = 0;
        path.now += CONFIRMATION_TIME;
        assert!(path.mtu.on_large_sent(path.now, SeqNo::new(5), RTT));
        path.run_for(Duration::from_millis(100 * tenths));
        path.carries = MAX;
        // At worst the probe under way has just been lost; then base and least size, and up again.
        path.run_for(MIN_PROBE_TIME + RTT * 4);
        assert_eq!(path.mtu.phase(), PathMtuPhase::Complete);
        assert!(path.mtu.size() >= MAX - RESOLUTION, "after {tenths} tenths of a second: {:?}", path.state());
    }
}

#[test]
fn a_path_that_still_acknowledges_small_packets_is_not_silent() {
    let mut path = Path::new(MAX, false);
    path.run_for(Duration::from_secs(1));
    path.carries = 600;
    path.now += CONFIRMATION_TIME;
    assert!(path.mtu.on_large_sent(path.now, SeqNo::new(5), RTT));
    for ack in 6..20 {
        path.mtu.on_progress(path.now, SeqNo::new(ack));
        path.run_for(Duration::from_secs(1));
    }
    let (phase, size) = path.state();
    assert!(phase == PathMtuPhase::Error && (MIN..=600).contains(&size), "{size}");
}

#[test]
fn an_answer_gets_four_round_trip_times() {
    for (rtt, patience) in [
        (Duration::from_millis(1), MIN_PROBE_TIME),
        (Duration::from_millis(250), MIN_PROBE_TIME),
        (Duration::from_millis(700), Duration::from_millis(2800)),
        (Duration::from_secs(10), Duration::from_secs(40)),
    ] {
        for carries in [MAX, 1300] {
            let mut path = Path::new(carries, true);
            let (size, _) = path.mtu.handle_timeout(path.now).unwrap();
            path.mtu.on_probe_sent(path.now, SeqNo::new(1), size, rtt);
            assert_eq!(path.mtu.wake_at(), path.now + patience, "{rtt}");
            path.now += rtt;
            assert!(path.mtu.on_sync_ack(path.now, SeqNo::new(1)));
            let (size, _) = path.mtu.handle_timeout(path.now).unwrap();
            assert_eq!(size, MAX);
            // The largest size is lost: not found so before its answer would have come.
            path.mtu.on_probe_sent(path.now, SeqNo::new(2), size, rtt);
            assert_eq!(path.mtu.wake_at(), path.now + patience, "{rtt}");
        }
    }
}

/// Probes that confirm the size in use leave every 5 s while large packets do. The base size has its turn
/// every 15 s all the same.
#[test]
fn confirming_a_size_below_the_base_size_does_not_put_off_the_base_size() {
    let mut path = Path::new(1000, true);
    path.run_for(Duration::from_secs(40));
    assert_eq!(path.state().0, PathMtuPhase::Error);
    path.probes.clear();
    let mut next = 0;
    let mut send_for = |path: &mut Path, seconds: u64| {
        let until = path.now + Duration::from_secs(seconds);
        while path.now < until {
            next += 1;
            // Everything is acknowledged.
            path.mtu.on_large_sent(path.now, SeqNo::new(next), RTT);
            path.run_for(Duration::from_millis(100));
        }
    };
    send_for(&mut path, 60);
    let of_base = path.probes.iter().filter(|size| **size == BASE).count();
    assert!((3..=4).contains(&of_base) && path.probes.len() > of_base + 8, "{:?}", path.probes);
    path.carries = MAX;
    send_for(&mut path, 20);
    assert_eq!(path.state(), (PathMtuPhase::Complete, MAX));
}

/// A size too large for a path that did not even carry the base size is not excluded on one that does.
#[test]
fn a_path_that_gets_wide_again_is_probed_for_the_largest_size_first() {
    // The largest size is known not to arrive before the base size is.
    let mut path = Path::new(1000, false);
    path.run_for(Duration::from_secs(40));
    assert_eq!(path.state().0, PathMtuPhase::Error);
    path.carries = MAX;
    path.run_for(Duration::from_secs(20));
    assert_eq!(path.state(), (PathMtuPhase::Complete, MAX), "{:?}", path.probes);
}
