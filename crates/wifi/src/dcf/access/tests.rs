use std::vec::Vec;

use serde_json::Value;
use whimbrel_units::{Duration, Instant};

use super::{ChannelAccess, Request, Spacing};

/// An input at an instant. Inputs of one instant are processed in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Input {
    TransmitEnd,
    Error,
    Frame,
    Nav(u64),
    NavReset(u64),
    Idle,
    Busy,
    Request(usize),
}

fn periods(vector: &Value, key: &str) -> Vec<(u64, u64)> {
    let numbers = |pair: &Value| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
    vector[key].as_array().map(|list| list.iter().map(numbers).collect()).unwrap_or_default()
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn inputs(vector: &Value) -> Vec<(u64, Input)> {
    let mut inputs = Vec::new();
    for (key, end) in [("rx_ok", Input::Frame), ("rx_error", Input::Error)] {
        for (start, length) in periods(vector, key) {
            inputs.extend([(start, Input::Busy), (start + length, end), (start + length, Input::Idle)]);
        }
    }
    inputs.extend(periods(vector, "nav").into_iter().map(|(start, length)| (start, Input::Nav(length))));
    inputs.extend(
        periods(vector, "nav_reset").into_iter().map(|(start, length)| (start, Input::NavReset(length))),
    );
    let requests = vector["requests"].as_array().unwrap();
    inputs
        .extend(requests.iter().enumerate().map(|(n, one)| (one["at"].as_u64().unwrap(), Input::Request(n))));
    inputs
}

/// Runs one case and returns the grant times in microseconds.
fn grants(vector: &Value) -> Vec<u64> {
    let micros = |key: &str| Duration::from_micros(vector[key].as_u64().unwrap_or(0));
    let slot = micros("slot");
    let difs = micros("sifs") + slot * vector["aifsn"].as_u64().unwrap();
    let spacing = Spacing { slot, difs, eifs: micros("eifs_no_difs") + difs, is_slotted: true };
    let requests = vector["requests"].as_array().unwrap();
    let mut access = ChannelAccess::new(spacing);
    let mut inputs = inputs(vector);
    let mut waiting = None;
    let mut granted = Vec::new();
    loop {
        inputs.sort_unstable();
        let next = inputs.first().copied();
        let deadline = access.deadline();
        if let Some(grant) = deadline
            && next.is_none_or(|(time, _)| grant <= at(time))
        {
            let request: usize = Option::take(&mut waiting).expect("a grant without a request");
            let time = grant.as_nanos() / 1_000;
            granted.push(time);
            access.take_grant();
            access.handle_transmit_start(grant);
            inputs.push((time + requests[request]["tx"].as_u64().unwrap(), Input::TransmitEnd));
            continue;
        }
        let Some((time, input)) = next else { return granted };
        inputs.remove(0);
        let now = at(time);
        match input {
            Input::TransmitEnd => access.handle_transmit_end(now),
            Input::Error => access.handle_error(now),
            Input::Frame => access.handle_frame(now),
            Input::Nav(length) => _ = access.set_nav(now, now + Duration::from_micros(length)),
            Input::NavReset(length) => access.reset_nav(now, now + Duration::from_micros(length)),
            Input::Idle => access.handle_idle(now),
            Input::Busy => assert!(!access.handle_busy(now), "no case interrupts an immediate access"),
            Input::Request(n) => {
                // "backoff": null states that none is drawn: the medium is idle.
                let kind = match requests[n]["backoff"].as_u64() {
                    Some(slots) => Request::Backoff(slots as u32),
                    None => Request::Immediate { wait: difs },
                };
                assert_eq!(access.is_idle(now), matches!(kind, Request::Immediate { .. }), "{vector}");
                access.request(now, kind);
                waiting = Some(n);
            }
        }
    }
}

#[test]
fn the_fourteen_access_cases_are_granted_at_the_exact_times() {
    let file: Value =
        serde_json::from_str(include_str!("../../../tests/data/dcf-access-vectors.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 14);
    for vector in vectors {
        let requests = vector["requests"].as_array().unwrap();
        let expected: Vec<u64> = requests.iter().map(|one| one["grant"].as_u64().unwrap()).collect();
        assert_eq!(grants(vector), expected, "{}", vector["id"]);
    }
}

fn spacing() -> Spacing {
    let micros = Duration::from_micros;
    Spacing { slot: micros(20), difs: micros(50), eifs: micros(364), is_slotted: true }
}

#[test]
fn a_busy_edge_at_the_instant_of_the_grant_does_not_revoke_it() {
    let mut access = ChannelAccess::new(spacing());
    access.request(at(100), Request::Backoff(3));
    // The slots of the idle period begin at 50: the next boundary is 110.
    assert_eq!(access.deadline(), Some(at(170)));
    assert!(!access.handle_busy(at(170)));
    assert_eq!(access.deadline(), Some(at(170)), "both stations of the slot transmit");

    let mut later = ChannelAccess::new(spacing());
    later.request(at(100), Request::Backoff(3));
    later.handle_busy(at(169));
    assert_eq!(later.deadline(), None);
    assert_eq!(later.remaining_slots(), 1);
    later.handle_idle(at(300));
    assert_eq!(later.deadline(), Some(at(370)));
}

#[test]
fn a_backoff_without_a_request_counts_down_and_ends() {
    let mut access = ChannelAccess::new(spacing());
    access.handle_transmit_start(at(0));
    access.handle_transmit_end(at(1_000));
    access.start_backoff(at(1_000), 4);
    assert_eq!(access.deadline(), None);
    assert!(access.is_backing_off(at(1_129)));
    assert!(!access.is_backing_off(at(1_130)));
    // A request in the middle continues the same backoff.
    let mut other = ChannelAccess::new(spacing());
    other.start_backoff(at(0), 4);
    other.request(at(100), Request::Unchanged);
    assert_eq!(other.deadline(), Some(at(130)));
}

#[test]
fn an_interrupted_immediate_access_asks_for_a_backoff() {
    let mut access = ChannelAccess::new(spacing());
    access.request(at(1_000), Request::Immediate { wait: Duration::from_micros(50) });
    assert_eq!(access.deadline(), Some(at(1_050)));
    assert!(access.handle_busy(at(1_049)));
    access.start_backoff(at(1_049), 2);
    access.handle_idle(at(1_200));
    assert_eq!(access.deadline(), Some(at(1_290)));
}

#[test]
fn eifs_follows_the_end_of_the_busy_period_in_which_a_frame_had_errors() {
    let mut access = ChannelAccess::new(spacing());
    access.request(at(0), Request::Backoff(0));
    access.handle_busy(at(10));
    access.handle_error(at(500));
    // Another signal, without a frame of its own, keeps the medium busy.
    access.handle_idle(at(600));
    assert_eq!(access.deadline(), Some(at(964)));
}
