use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::{Event, MacConfig, MacRules, Outgoing, Step};
use whimbrel_wifi::frame::{FrameKind, MacAddress};
use whimbrel_wifi::medium::{Link, MediumConfig};
use whimbrel_wifi::phy::{Phy, Preamble, Rate, RateSet};

use super::Cell;
use whimbrel_wifi::StationIndex;

fn link(station: u32, delay: u32) -> Link {
    Link { station: StationIndex(station), delay, power: 1e-9, is_corrupted: false }
}

/// 802.11b at 11 Mbit/s, control frames at 1 Mbit/s.
fn config() -> MacConfig {
    let phy = Phy { basic: RateSet::new(&[Rate::Dsss1]), ..Phy::hr_dsss(Preamble::Long) };
    MacConfig { is_traced: true, ..MacConfig::standard(phy, Rate::Hr11) }
}

/// Steps with time in microseconds and station, for the steps that `choose` maps to a value.
fn steps<T>(cell: &mut Cell, choose: impl Fn(Event) -> Option<T>) -> Vec<(u64, u32, T)> {
    let log = cell.take_log().into_iter();
    log.filter_map(|(now, station, event)| Some((now.as_nanos() / 1_000, station, choose(event)?))).collect()
}

/// Three stations in a row, 1 us apart (300 m): 0 sends to 1 by RTS/CTS; 2 receives only 1. Every instant is
/// computed by hand from the lengths: RTS 352, CTS 304, data of 1536 bytes 1310, acknowledgement 304 us.
#[test]
fn a_three_node_exchange_happens_at_the_computed_microseconds() {
    let links = vec![vec![link(1, 1_000)], vec![link(0, 1_000), link(2, 1_000)], vec![link(1, 1_000)]];
    let configs = std::iter::repeat_n(MacConfig { rts_threshold: 0, ..config() }, 3);
    let mut cell = Cell::new(MediumConfig::ns2(), links, configs, 1);
    cell.record();
    cell.run_until(Instant::from_nanos(100_000));
    assert!(cell.enqueue(0, Outgoing::data(MacAddress::station(1), 1_508, 42)));
    cell.run_until(Instant::from_nanos(120_000));
    cell.run_until(Instant::from_millis(10));
    let log = cell.take_log();
    let micros = |now: Instant| now.as_nanos() / 1_000;
    let sent: Vec<(u64, u32, FrameKind, u64)> = log
        .iter()
        .filter_map(|&(now, station, event)| match event {
            Event::Trace(Step::TransmitStarted { frame }) => {
                Some((micros(now), station, frame.kind, frame.nav.as_micros()))
            }
            _ => None,
        })
        .collect();
    let expected = [
        // DIFS after the arrival at 100. Reserved: 3 SIFS, CTS, data, acknowledgement.
        (150, 0, FrameKind::Rts, 30 + 304 + 1_310 + 304),
        // The RTS ends at 502, 1 us later at station 1; then SIFS.
        (513, 1, FrameKind::Cts, 20 + 1_310 + 304),
        // The CTS ends at 817, at station 0 at 818.
        (828, 0, FrameKind::Data, 10 + 304),
        // The data frame ends at 2138, at station 1 at 2139.
        (2_149, 1, FrameKind::Ack, 0),
    ];
    assert_eq!(sent, expected);
    let outcomes: Vec<(u64, u32, Event)> = log
        .iter()
        .filter(|(_, _, event)| matches!(event, Event::Sent { .. }))
        .map(|&(now, station, event)| (micros(now), station, event))
        .collect();
    let done = Event::Sent { payload: 42, receiver: MacAddress::station(1), retries: 0 };
    assert_eq!(outcomes, [(2_149 + 304 + 1, 0, done)]);
    let delivered = log.iter().find(|(_, _, event)| matches!(event, Event::Delivered { .. }));
    assert_eq!(delivered.map(|&(now, station, _)| (micros(now), station)), Some((2_139, 1)));
    // Station 2 receives the CTS at 818 and is reserved for its 1634 us. The ACK reserves nothing.
    let reserved: Vec<(u64, u32, u64)> = log
        .iter()
        .filter_map(|&(now, station, event)| match event {
            Event::Trace(Step::NavSet { until }) => Some((micros(now), station, micros(until))),
            _ => None,
        })
        .collect();
    assert_eq!(reserved, [(818, 2, 818 + 1_634)]);
}

/// Two senders that do not sense each other, and a receiver between them.
fn hidden(config: &MacConfig, seed: u64) -> Cell {
    let links = vec![vec![link(1, 1_000)], vec![link(0, 1_000), link(2, 1_000)], vec![link(1, 1_000)]];
    let mut cell = Cell::new(MediumConfig::ns2(), links, std::iter::repeat_n(config.clone(), 3), seed);
    cell.saturate(0, 1, 1_508);
    cell.saturate(2, 1, 1_508);
    cell
}

#[test]
fn hidden_senders_collide_without_rts_and_rts_protects_the_data() {
    for rules in [MacRules::Standard, MacRules::Ns2] {
        let limits = MacConfig { rules, is_traced: false, ..config() };
        let mut unprotected = hidden(&limits, 1);
        unprotected.run_until(Instant::from_secs(10));
        let mut protected = hidden(&MacConfig { rts_threshold: 0, ..limits.clone() }, 1);
        protected.run_until(Instant::from_secs(10));
        let delivered = |cell: &Cell| cell.machines()[1].counters().delivered;
        let lost = |cell: &Cell| cell.losses().collision;
        let attempts = |cell: &Cell| {
            cell.machines().iter().map(|machine| machine.counters().attempts).sum::<u64>() as f64
        };
        // A frame survives only if the other sender is silent for twice its 1310 us, 66 slots more than a
        // first backoff.
        assert!(lost(&unprotected) as f64 > 0.4 * attempts(&unprotected), "{rules:?}");
        assert!(delivered(&protected) * 10 > delivered(&unprotected) * 11, "{rules:?}");
        // With RTS only control frames collide, apart from the RTS that begins while a CTS is on the way.
        assert!(lost(&protected) * 50 < delivered(&protected), "{rules:?}: {}", lost(&protected));
    }
}

/// The rate of a single saturated sender: DIFS, a mean backoff of 15.5 or 15 slots, data, SIFS,
/// acknowledgement.
#[test]
fn one_sender_reaches_the_maximum_throughput_of_its_rules() {
    for (rules, slots) in [(MacRules::Standard, 15.5), (MacRules::Ns2, 15.0)] {
        for (rts_threshold, control) in [(3_000, 0.0), (0, 352.0 + 304.0 + 20.0)] {
            let config = MacConfig { rules, rts_threshold, is_traced: false, ..config() };
            let mut cell = Cell::saturated(&config, 1, 1_500 + 6, 1);
            cell.run_until(Instant::from_secs(100));
            // 34 bytes of header: 1116 us after the PLCP header of 192 us.
            let period = 50.0 + slots * 20.0 + 192.0 + 1_116.0 + 10.0 + 304.0 + control;
            let expected = 100e6 / period;
            let delivered = cell.machines()[0].counters().delivered as f64;
            // The backoff's deviation of 9 slots, over 40,000 frames and more, moves the mean by 0.9 us.
            assert!((delivered / expected - 1.0).abs() < 0.001, "{rules:?}: {delivered}, {expected}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let log = |seed| {
        let mut cell = Cell::saturated(&config(), 3, 1_000, seed);
        cell.record();
        cell.run_until(Instant::from_millis(200));
        cell.take_log()
    };
    assert_eq!(log(1), log(1));
    assert_ne!(log(1), log(2));
}

/// Stations whose counters expire in the same slot all transmit: with three stations and a window of one
/// slot, every access is a collision of all.
#[test]
fn stations_that_reach_a_slot_together_collide_whatever_the_order_and_the_distance() {
    for delay in [0, 1, 700, 1_000] {
        let phy = Phy { cw_min: 0, cw_max: 0, ..Phy::hr_dsss(Preamble::Long) };
        let config =
            MacConfig { short_retry_limit: Some(4), is_traced: true, ..MacConfig::standard(phy, Rate::Hr11) };
        let others = |me: u32| (0..4).filter(|&to| to != me).map(|to| link(to, delay)).collect();
        let links = (0..4).map(others).collect();
        let mut cell = Cell::new(MediumConfig::ns2(), links, std::iter::repeat_n(config, 4), 1);
        cell.record();
        for sender in 1..4 {
            cell.saturate(sender, 0, 1_000);
        }
        cell.run_until(Instant::from_secs(1));
        assert_eq!(cell.machines()[0].counters().delivered, 0, "delay {delay}");
        let starts = steps(&mut cell, |event| {
            matches!(event, Event::Trace(Step::TransmitStarted { .. })).then_some(())
        });
        assert!(starts.len() > 1_000);
        for three in starts.chunks_exact(3) {
            assert!(three.iter().all(|start| start.0 == three[0].0), "delay {delay}: {three:?}");
        }
    }
    assert!(Duration::from_nanos(1_000) < Phy::dsss().slot);
}
