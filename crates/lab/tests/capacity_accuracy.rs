//! Compares the capacity and the available bandwidth that are inferred at the MAC and end to end with what
//! the simulated medium carries.

use whimbrel_lab::Record;

use crate::simulation;
use simulation::{rows_with, simulate};

/// Stations in a row: `n0` receives, `n1` to `n{senders}` send to it, and the last one takes no part.
struct Cell {
    rate: f64,
    size: u32,
    senders: usize,
    /// Mbit/s of each sender's datagrams.
    load: f64,
    /// Distance of neighbours in metres.
    spacing: f64,
    /// `true` for RTS and CTS.
    protects: bool,
}

impl Cell {
    fn run(&self, pairs: bool) -> Record {
        let Self { rate, size, senders, load, spacing, protects } = self;
        let threshold = if *protects { "rts_threshold = \"0 B\"\n" } else { "" };
        let mut text = format!(
            "[simulation]\nduration = \"10 s\"\nwarm_up = \"1 s\"\n[[wifi]]\nname = \"air\"\nstandard = \"802.11b\"\nrate = \"{rate} Mbit/s\"\n\
             {threshold}controller = {{ law = \"xcp-winf\" }}\n[[node]]\nname = \"n{{i}}\"\ncount = {}\nwifi = \"air\"\n\
             layout = {{ kind = \"grid\", columns = 20, spacing = \"{spacing} m\" }}\n",
            senders + 2
        );
        for sender in 1..=*senders {
            text += &format!(
                "[[flow]]\nname = \"f{sender}\"\nfrom = \"n{sender}\"\nto = \"n0\"\ntransport = \"udp\"\npacket_size = \"{size} B\"\n\
                 start_jitter = \"100 ms\"\ntraffic = {{ kind = \"cbr\", rate = \"{load} Mbit/s\" }}\n"
            );
        }
        if pairs {
            text += &format!(
                "[[flow]]\nname = \"pairs\"\nfrom = \"n1\"\nto = \"n0\"\ntransport = \"udp\"\npacket_size = \"{size} B\"\n\
                 traffic = {{ kind = \"probe-pairs\" }}\n"
            );
        }
        simulate(&text, &[])
    }

    /// Goodput of IP packets of a single saturated sender, in Mbit/s: what the medium carries.
    fn truth(&self) -> f64 {
        let alone = Self { senders: 1, load: 2.0 * self.rate, spacing: 20.0, ..*self };
        let record = alone.run(false);
        let flows = record.table("flows").unwrap();
        flows.number("received_bytes", 0).unwrap() * 8e-6 / flows.number("measured_s", 0).unwrap()
    }
}

fn estimate(record: &Record, station: usize, column: &str) -> f64 {
    let table = record.table("capacity").expect("a table of estimates");
    let name = format!("n{station}");
    let words = [("station", name.as_str())];
    let row = rows_with(table, &words).next().expect("a station");
    table.number(column, row).expect("a number") / 1e6
}

/// Capacities and available bandwidths in Mbit/s of one record, and what is true.
#[derive(Debug)]
struct Outcome {
    /// Goodput of a saturated sender alone, and what of it the flows leave.
    truth: (f64, f64),
    sender: (f64, f64),
    onlooker: (f64, f64),
    data_ack: (f64, f64),
    idle_gap: (f64, f64),
    adhoc_probe: f64,
}

impl Cell {
    /// `share` of the capacity as load of all senders together.
    fn outcome(self, share: f64) -> Outcome {
        let truth = self.truth();
        let cell = Self { load: share * truth / self.senders as f64, ..self };
        let record = cell.run(true);
        let flows = record.table("flows").unwrap();
        let received = (0..flows.rows()).map(|row| flows.number("received_bytes", row).unwrap());
        let carried = received.sum::<f64>() * 8e-6 / flows.number("measured_s", 0).unwrap();
        let pairs = rows_with(flows, &[("flow", "pairs")]).next().unwrap();
        let both = |station: usize, name: &str| {
            let [capacity, available] = ["capacity", "available"]
                .map(|part| estimate(&record, station, &format!("{name}_{part}_bps")));
            (capacity, available)
        };
        let onlooker = cell.senders + 1;
        Outcome {
            truth: (truth, (truth - carried).max(0.0)),
            sender: both(1, "winf_sender"),
            onlooker: both(onlooker, "winf_onlooker"),
            data_ack: both(onlooker, "winf_data_ack"),
            idle_gap: both(onlooker, "idle_gap"),
            adhoc_probe: flows.number("adhoc_probe_bps", pairs).unwrap() / 1e6,
        }
    }
}

const NEAR: f64 = 20.0;
/// Neighbours are in range, stations two apart only sense each other's carrier; three apart they are hidden.
const FAR: f64 = 240.0;

fn cell(rate: f64, size: u32, senders: usize, spacing: f64, protects: bool) -> Cell {
    Cell { rate, size, senders, load: 0.0, spacing, protects }
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value}, expected {expected}");
}

/// rt-Winf with RTS and CTS takes DATA and ACK for the whole of an exchange, that without them the SIFS
/// between, too; both are therefore above what the medium carries, the more so the shorter the packets.
/// IdleGap takes the rate of the header. AdHoc Probe's pairs contain all overhead but the backoff: the pair
/// with the least delay has drawn two slots at most.
#[test]
fn the_error_of_the_capacity_is_the_overhead_that_an_estimator_does_not_see() {
    // Errors in percent of rt-Winf with RTS and CTS, from DATA and ACK, of IdleGap and of AdHoc Probe.
    for (rate, size, errors) in [
        (1.0, 1500, [8.8, 3.4, 9.6, 2.4]),
        (2.0, 1500, [14.4, 6.1, 15.9, 4.7]),
        (5.5, 1500, [34.7, 14.0, 39.6, 11.3]),
        (11.0, 1500, [59.4, 23.7, 76.8, 19.2]),
        (11.0, 700, [95.6, 38.2, 164.6, 30.0]),
        (11.0, 300, [139.3, 55.9, 383.7, 34.4]),
    ] {
        let with = cell(rate, size, 1, NEAR, true).outcome(0.3);
        let without = cell(rate, size, 1, NEAR, false).outcome(0.3);
        let control = 192.0 + 14.0 * 8.0 / rate.min(2.0);
        let bits = f64::from(size + 8) * 8.0;
        let time = 192.0 + f64::from(size + 36) * 8.0 / rate + control;
        for (capacity, expected) in [
            (with.sender.0, bits / time),
            (with.onlooker.0, bits / time),
            (with.data_ack.0, bits / (time + 10.0)),
            (without.data_ack.0, bits / (time + 10.0)),
            (with.idle_gap.0, rate),
        ] {
            assert_near(capacity, expected, 0.005);
        }
        // The time between the packets of the best pair: DATA, SIFS, ACK and DIFS, at most two backoff slots.
        let dispersion = f64::from(size) * 8.0 / without.adhoc_probe;
        let rest = dispersion - (time + 10.0 + 50.0);
        assert!((-1.0..41.0).contains(&rest), "{rate} {size}: {rest} us");
        let [winf, data_ack, idle_gap, pairs] = errors;
        for (capacity, truth, error) in [
            (with.onlooker.0, with.truth.0, winf),
            (without.data_ack.0, without.truth.0, data_ack),
            (without.idle_gap.0, without.truth.0, idle_gap),
            (without.adhoc_probe, without.truth.0, pairs),
        ] {
            assert!(
                (100.0 * (capacity / truth - 1.0) - error).abs() < 1.0,
                "{rate} {size}: {capacity} of {truth}, {error} %"
            );
        }
    }
}

#[test]
fn capacities_do_not_depend_on_the_number_of_senders() {
    let alone = cell(11.0, 1500, 1, NEAR, true).outcome(0.3);
    for senders in [2, 5, 10] {
        for share in [0.3, 2.0] {
            let outcome = cell(11.0, 1500, senders, NEAR, true).outcome(share);
            assert_near(outcome.sender.0, alone.sender.0, 0.002);
            assert_near(outcome.onlooker.0, alone.onlooker.0, 0.002);
            assert_near(outcome.data_ack.0, alone.data_ack.0, 0.002);
            assert_near(outcome.idle_gap.0, 11.0, 1e-9);
        }
    }
}

/// Available bandwidths are shares of capacities that are too high. None of the estimators reports a
/// saturated medium as such: backoff counts as idle time.
#[test]
fn available_bandwidths_are_above_what_is_left() {
    // Senders, load, then left, rt-Winf, data and ACK, IdleGap in Mbit/s.
    for (senders, share, expected) in [
        (1, 0.3, [2.92, 5.46, 5.76, 7.28]),
        (10, 0.3, [2.92, 5.45, 5.74, 7.26]),
        (1, 2.0, [0.0, 2.03, 2.84, 1.68]),
        (10, 2.0, [0.0, 1.62, 2.43, 1.01]),
    ] {
        let outcome = cell(11.0, 1500, senders, NEAR, true).outcome(share);
        let values = [outcome.truth.1, outcome.onlooker.1, outcome.data_ack.1, outcome.idle_gap.1];
        for (value, expected) in values.into_iter().zip(expected) {
            assert!((value - expected).abs() < 0.03, "{senders} {share}: {outcome:?}");
        }
    }
}

/// Station `n1` and the receiver `n0` are hidden from the onlooker, which receives the frames of `n2` and no
/// response to them: it has no capacity, and IdleGap misses the frames of `n1`.
#[test]
fn an_onlooker_that_is_hidden_from_the_receiver_has_no_capacity() {
    let outcome = cell(11.0, 1500, 2, FAR, true).outcome(0.3);
    assert!(outcome.onlooker.0.is_nan() && outcome.data_ack.0.is_nan(), "{outcome:?}");
    assert_near(outcome.sender.0, 7.735, 0.005);
    assert!((outcome.truth.1 - 2.92).abs() < 0.03, "{outcome:?}");
    assert!((outcome.sender.1 - 4.75).abs() < 0.05 && (outcome.idle_gap.1 - 9.6).abs() < 0.05, "{outcome:?}");
}

#[test]
fn pairs_are_refused_over_transports_that_do_not_send_at_once() {
    let text = "[simulation]\nduration = \"2 s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
                rate = \"8 Mbit/s\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"udp\"\npacket_size = \"1000 B\"\n\
                traffic = { kind = \"probe-pairs\" }\n";
    // On a link, the dispersion of any pair is the time of a packet.
    let record = simulate(text, &[]);
    assert_near(simulation::number(&record, "adhoc_probe_bps"), 8e6, 1e-6);
    assert_eq!(simulation::number(&record, "sent_packets"), 80.0);
    for (key, value) in
        [("flow.f.transport", "tcp"), ("flow.f.traffic", "{ kind = \"probe-pairs\", interval = \"0 s\" }")]
    {
        let error = simulation::document(text, &[(key, value)]).plan().map(drop).unwrap_err().to_string();
        assert!(error.contains("flow[0].traffic"), "{error}");
    }
}
