//! rt-Winf and IdleGap against the channel's occupancy, and XCP-Winf and RCP-Winf over 802.11.

use whimbrel_lab::{Record, run};

use crate::simulation;
use simulation::{document, number, simulate};

/// Station `n1` sends datagrams to `n0`, `n2` is an onlooker; all in range of each other.
const CELL: &str = r#"
[variables]
rate = "11 Mbit/s"
size = "1500 B"
load = "1 Mbit/s"
law = "xcp-winf"
[simulation]
duration = "20 s"
[[wifi]]
name = "air"
standard = "802.11b"
rate = "$rate"
rts_threshold = "0 B"
controller = { law = "$law" }
[[node]]
name = "n{i}"
count = 3
wifi = "air"
layout = { kind = "grid", columns = 3, spacing = "20 m" }
[[flow]]
name = "f"
from = "n1"
to = "n0"
transport = "udp"
packet_size = "$size"
traffic = { kind = "cbr", rate = "$load" }
"#;

fn of(record: &Record, station: &str, column: &str) -> f64 {
    let table = record.table("capacity").expect("a table of estimates");
    let words = [("station", station)];
    let row = simulation::rows_with(table, &words).next().expect("a station");
    table.number(column, row).expect("a number")
}

/// Times in microseconds of an exchange with the long preamble and control frames at 1 Mbit/s or 2 Mbit/s:
/// (DATA + ACK) of Figure 1, and the NAV of the RTS.
fn exchange(rate: f64, size: f64) -> (f64, f64) {
    let control = 14.0 * 8.0 / rate.min(2.0) + 192.0;
    // 802.11 header and frame check sequence 28 bytes, LLC and SNAP 8 bytes.
    let data = (size + 36.0) * 8.0 / rate + 192.0;
    (data + control, data + 2.0 * control + 30.0)
}

#[test]
fn rt_winf_infers_the_capacity_of_each_exchange_and_the_share_of_its_reservations() {
    for (rate, size) in [(11.0, 1500.0), (11.0, 300.0), (2.0, 1500.0), (5.5, 1000.0), (1.0, 700.0)] {
        let (rate_text, size_text) = (format!("{rate} Mbit/s"), format!("{size} B"));
        // Below saturation.
        let load = if size < 500.0 { 0.05 * rate } else { 0.2 * rate };
        let load_text = format!("{load} Mbit/s");
        let record = simulate(
            CELL,
            &[("variables.rate", &rate_text), ("variables.size", &size_text), ("variables.load", &load_text)],
        );
        let (time, nav) = exchange(rate, size);
        // The MSDU counts the LLC header, too.
        let capacity = (size + 8.0) * 8.0 / time;
        let share = load * nav / (size * 8.0);
        for who in ["sender", "onlooker"] {
            let station = if who == "sender" { "n1" } else { "n2" };
            let estimate = of(&record, station, &format!("winf_{who}_capacity_bps")) / 1e6;
            let available = of(&record, station, &format!("winf_{who}_available_bps")) / 1e6;
            assert!(
                (estimate / capacity - 1.0).abs() < 0.03,
                "{rate} {size} {who}: {estimate} of {capacity}"
            );
            let expected = capacity * (1.0 - share);
            assert!((available - expected).abs() < 0.05 * capacity, "{who}: {available} of {expected}");
        }
        // IdleGap takes the rate of the header for the capacity.
        let idle_gap = of(&record, "n2", "idle_gap_capacity_bps") / 1e6;
        assert!((idle_gap - rate).abs() < 1e-9 && idle_gap > 1.05 * capacity, "{idle_gap}");
    }
}

/// Equations 7 to 9 with the slots that the MAC has drawn: the backoff that the reduction of the sender's
/// available bandwidth stands for is a whole number of slots of CWmin, odd ones among them. Other states are
/// not corrected.
#[test]
fn the_collision_correction_uses_the_backoff_of_the_station() {
    let run_with = |controller: &str, seed: u64| {
        // On a nearly idle medium, the receiver's estimate, which counts longer reservations, is as large as
        // the sender's.
        let changes = [
            ("wifi.air.controller", controller),
            ("simulation.duration", "4 s"),
            ("variables.load", "20 kbit/s"),
        ];
        let text = CELL.replace("law = \"xcp-winf\"\n", "");
        run(&document(&text, &changes).plan().unwrap_or_else(|error| panic!("{error}")), seed)
    };
    // DIFS, SIFS and slot of 802.11b; RTS, CTS and DATA of 1500 bytes at 11 Mbit/s, control frames at 2
    // Mbit/s.
    let (difs, sifs, slot) = (50.0, 10.0, 20.0);
    let frames = (20.0 + 14.0) * 8.0 / 2.0 + 1536.0 * 8.0 / 11.0 + 3.0 * 192.0;
    let mut slots = Vec::new();
    for seed in 1..=12 {
        let plain = run_with("{ law = \"xcp-winf\" }", seed);
        let corrected = run_with("{ law = \"xcp-winf\", collision_correction = true }", seed);
        let ratio =
            |column: &str, station: &str| of(&corrected, station, column) / of(&plain, station, column);
        assert_eq!(ratio("winf_sender_capacity_bps", "n1"), 1.0);
        assert_eq!(ratio("winf_receiver_available_bps", "n0"), 1.0);
        assert_eq!(ratio("winf_onlooker_available_bps", "n2"), 1.0);
        let share = 1.0 - ratio("winf_sender_available_bps", "n1");
        let backoff = (share * (2.0 * difs + 3.0 * sifs + frames) - difs) / (1.0 - share);
        slots.push(backoff / slot);
    }
    for count in &slots {
        assert!((count - count.round()).abs() < 0.1 && (-0.1..31.1).contains(count), "{slots:?}");
    }
    assert!(slots.iter().any(|count| count.round() % 2.0 == 1.0), "{slots:?}");
    let least = slots.iter().copied().fold(f64::MAX, f64::min);
    assert!(slots.iter().any(|count| count - least > 5.0), "{slots:?}");
}

/// A bulk transfer over two hops, mean of three runs: XCP and RCP assume the nominal rate of the medium,
/// which no payload reaches and which the two hops share.
#[test]
fn estimates_raise_the_goodput_of_xcp_and_rcp_over_two_hops() {
    let with = |law: &str, transport: &str, details: &str| {
        let head = CELL.split("[[flow]]").next().unwrap().split("[simulation]").nth(1).unwrap();
        let head =
            head.replace("20 m", "200 m").replace("\"$law\"", law).replace("\"$rate\"", "\"11 Mbit/s\"");
        let flow = format!(
            "[simulation]{head}[[flow]]\nname = \"f\"\nfrom = \"n0\"\nto = \"n2\"\ntransport = \"{transport}\"\n\
             payload = \"1460 B\"\n{details}"
        );
        let plan = document(&flow, &[]).plan().unwrap_or_else(|error| panic!("{error}"));
        let mean = |column| (1..=3).map(|seed| number(&run(&plan, seed), column) / 3.0).sum::<f64>();
        (mean("goodput_bps") / 1e6, mean("cwnd_mean_packets"))
    };
    let (xcp, _) = with("\"xcp\"", "xcp", "");
    let (rcp, _) = with("\"rcp\"", "rcp", "");
    let (xcp_winf, _) = with("\"xcp-winf\"", "xcp", "xcp = { winf = \"sensible\" }\n");
    let (rcp_winf, _) = with("\"rcp-winf\"", "rcp", "rcp = { winf = true }\n");
    let (literal, window) =
        with("\"xcp-winf\", reading = \"literal\"", "xcp", "xcp = { winf = \"literal\" }\n");
    assert!(xcp_winf > 1.2 * xcp, "{xcp_winf} {xcp}");
    assert!(rcp_winf > 2.0 * rcp, "{rcp_winf} {rcp}");
    // The literal sender only ever requests decreases: its window falls to one segment, from any initial
    // value. One segment fills two hops.
    assert!(window < 1.01 && literal > 1.0, "{window} {literal}");
}
