use super::super::Mode;
use super::super::protocol::{MAX_PROBES, Plan};
use super::*;

#[test]
fn headers_survive_the_way_and_nothing_else_is_one() {
    for kind in [Kind::Hello, Kind::Probe(Class::Load), Kind::Probe(Class::Train), Kind::Echo(Class::Load)] {
        let header = Header { kind, token: u64::MAX - 1, number: 7 << 40, sent_us: 3 };
        let mut bytes = [0xff; PING];
        header.write(&mut bytes);
        assert_eq!(Header::read(&bytes), Some(header));
        // A probe must be longer than its echo.
        let is_probe = matches!(kind, Kind::Probe(_));
        assert_eq!(Header::read(&bytes[..ECHO]), Some(header).filter(|_| !is_probe));
        for length in 0..HEADER {
            assert_eq!(Header::read(&bytes[..length]), None);
        }
        for (position, wrong) in [(0, b'w'), (4, 3), (5, 3)] {
            let mut other = bytes;
            other[position] = wrong;
            assert_eq!(Header::read(&other), None, "byte {position}");
        }
    }
}

/// Two datagrams of a peer: without a bound of their numbers, the losses between would be a terabyte of text.
#[test]
fn a_peer_cannot_report_probes_that_its_plan_does_not_have() {
    let plan = Plan { version: 2, mode: Mode::Gentle, load_ms: 10_000, rate_bps: 200e3 };
    let numbers = plan.numbers();
    // 228 bytes at 200 kbit/s are 110 per second.
    assert!((1_096..4_000).contains(&numbers), "{numbers}");
    let arrival = Arrival { class: Class::Load, number: 0, sent_us: 5, arrived_us: 9, bytes: 228 };
    assert!(arrival.is_plausible(numbers));
    for wrong in [
        Arrival { number: 1 << 40, ..arrival },
        Arrival { number: numbers, ..arrival },
        Arrival { bytes: u32::MAX, ..arrival },
        Arrival { sent_us: i64::MIN, ..arrival },
        Arrival { arrived_us: i64::MAX, ..arrival },
    ] {
        assert!(!wrong.is_plausible(numbers), "{wrong:?}");
    }
    // The longest plan of small probes.
    let longest = Plan { load_ms: 600_000, rate_bps: 93e6, ..plan };
    assert!(longest.probes() < MAX_PROBES && longest.numbers() > 93_000_000 / 8 / 228 * 600);
}
