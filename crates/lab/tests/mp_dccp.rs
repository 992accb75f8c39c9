//! Multipath connections in simulated networks.

use whimbrel_lab::{Document, Record, run};

/// Two radios between a phone and a server, a flow of 95 datagrams a second from the phone, and the end of
/// the Wi-Fi after 10 s, for `outage`.
fn text(outage: &str, flow: &str) -> String {
    format!(
        r#"
[simulation]
duration = "20 s"
[record]
packets = true
[[node]]
name = "phone"
[[node]]
name = "server"
[[link]]
name = "wifi"
between = ["phone", "server"]
rate = "6 Mbit/s"
delay = "10 ms"
[[link]]
name = "mobile"
between = ["phone", "server"]
rate = "3 Mbit/s"
delay = "35 ms"
[[route]]
at = "phone"
to = "server"
via = ["wifi", "mobile"]
by = "sender"
[[route]]
at = "server"
to = "phone"
via = ["wifi", "mobile"]
by = "sender"
[[handover]]
link = "wifi"
time = "10 s"
duration = "{outage}"
when_down = "drop-all"
[[flow]]
name = "video"
from = "phone"
to = "server"
transport = "mp-dccp"
payload = "1000 B"
traffic = {{ kind = "cbr", rate = "800 kbit/s" }}
{flow}
"#
    )
}

fn record(outage: &str, flow: &str) -> Record {
    let document = Document::from_toml(&text(outage, flow)).expect("a scenario");
    run(&document.plan().expect("a plan"), 1)
}

/// Sending and arrival times of the packets with data that were delivered, by arrival.
fn delivered(record: &Record) -> Vec<(f64, f64)> {
    let packets = record.table("packets").expect("packets");
    let mut times: Vec<(f64, f64)> = (0..packets.rows())
        .filter(|row| packets.text("fate", *row) == Some("received"))
        .map(|row| (packets.number("sent_s", row).unwrap(), packets.number("received_s", row).unwrap()))
        .collect();
    times.sort_by(|one, other| one.1.total_cmp(&other.1));
    times
}

/// The longest time without a delivered datagram.
fn longest_gap(record: &Record) -> f64 {
    let times = delivered(record);
    times.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(0.0, f64::max)
}

/// The numbers of the delivered datagrams, each with its arrival time.
fn numbers(record: &Record) -> Vec<(u64, f64)> {
    let packets = record.table("packets").expect("packets");
    let mut numbers: Vec<(u64, f64)> = (0..packets.rows())
        .filter(|row| packets.text("fate", *row) == Some("received"))
        .map(|row| (packets.number("tag", row).unwrap() as u64, packets.number("received_s", row).unwrap()))
        .collect();
    numbers.sort_by_key(|(tag, _)| *tag);
    numbers
}

/// Datagrams before the last delivered one that never were.
fn lost(record: &Record) -> u64 {
    let numbers = numbers(record);
    let (first, last) = (numbers[0].0, numbers[numbers.len() - 1].0);
    last - first + 1 - numbers.len() as u64
}

#[test]
fn a_dead_path_loses_its_traffic_within_its_timeout() {
    let record = record("9 s", "");
    // The Wi-Fi has a round-trip time of about 22 ms, and CCID 3 reports once in one: the timeout is at its
    // lower bound of 200 ms. A datagram leaves each 10.5 ms.
    let (gap, lost) = (longest_gap(&record), lost(&record));
    assert!((0.2..0.26).contains(&gap), "{gap}");
    assert!((15..=25).contains(&lost), "{lost}");
    let after: Vec<u64> =
        numbers(&record).into_iter().filter(|(_, at)| *at > 10.4).map(|(number, _)| number).collect();
    assert!(after.len() > 850 && after.windows(2).all(|pair| pair[1] == pair[0] + 1), "{after:?}");
}

#[test]
fn a_path_that_is_left_for_another_costs_a_handshake_more() {
    let record = record("9 s", r#"multipath = { join = "on-failure" }"#);
    // Before the timeout, data is lost; during the handshake of 4 times 35 ms and more it waits.
    let (gap, lost) = (longest_gap(&record), lost(&record));
    assert!((0.3..0.6).contains(&gap), "{gap}");
    assert!((15..=25).contains(&lost), "{lost}");
}

#[test]
fn redundant_paths_lose_nothing() {
    let record = record("9 s", r#"multipath = { scheduler = "redundant", reorder_delay = "100 ms" }"#);
    assert_eq!(lost(&record), 0);
    assert!(longest_gap(&record) < 0.11, "{}", longest_gap(&record));
}

#[test]
fn a_path_that_returns_is_used_again() {
    let record = record("3 s", "");
    // The delay of the faster path at the end.
    let last: Vec<_> = delivered(&record).into_iter().filter(|(sent, _)| *sent > 18.0).collect();
    let fast = last.iter().filter(|(sent, at)| at - sent < 0.02).count();
    assert!(fast > last.len() * 9 / 10, "{fast} of {}", last.len());
}

/// Datagrams of each second of a flow of 7 Mbit/s that arrive within 400 ms, over a Wi-Fi of 6 Mbit/s and a
/// second link with these keys, which ends after 10 s if `dies`.
fn in_time(scheduler: &str, second: &str, dies: bool) -> Vec<f64> {
    let end = if dies { "10 s" } else { "19.9 s" };
    let text =
        text("9 s", &format!(r#"multipath = {{ scheduler = "{scheduler}", reorder_delay = "100 ms" }}"#))
            .replace("800 kbit/s", "7 Mbit/s")
            .replace(
                "link = \"wifi\"\ntime = \"10 s\"\nduration = \"9 s\"",
                &format!("link = \"mobile\"\ntime = \"{end}\"\nduration = \"10 s\""),
            )
            .replace("rate = \"3 Mbit/s\"\ndelay = \"35 ms\"", second);
    let record = run(&Document::from_toml(&text).expect("a scenario").plan().expect("a plan"), 1);
    let mut seconds = vec![0.0; 20];
    for (sent, _) in delivered(&record).iter().filter(|(sent, arrived)| arrived - sent < 0.4) {
        seconds[*sent as usize] += 1.0;
    }
    seconds
}

#[test]
fn a_dead_or_bad_modem_costs_a_good_line_little() {
    let keys = |rate: &str, delay: &str, loss: f64| {
        format!("rate = \"{rate}\"\ndelay = \"{delay}\"\nloss = {{ model = \"bernoulli\", rate = {loss} }}")
    };
    let (good, dead) = (keys("3 Mbit/s", "35 ms", 0.0), keys("3 Mbit/s", "35 ms", 1.0));
    let mean = |seconds: &[f64]| seconds.iter().sum::<f64>() / seconds.len() as f64;
    for scheduler in ["lowest-rtt", "cheapest-first"] {
        let alone = mean(&in_time(scheduler, &dead, false)[3..19]);
        assert!((680.0..720.0).contains(&alone), "{alone}");
        let dies = in_time(scheduler, &good, true);
        assert!(mean(&dies[4..10]) > 1.1 * alone, "{scheduler}: it carries something before: {dies:?}");
        assert!(
            dies[10] > 0.95 * alone && mean(&dies[10..19]) > 0.98 * alone,
            "{scheduler}: {dies:?} {alone}"
        );
        for bad in [keys("3 Mbit/s", "35 ms", 0.3), keys("200 kbit/s", "400 ms", 0.0)] {
            let seconds = in_time(scheduler, &bad, false);
            assert!(mean(&seconds[3..19]) > 0.98 * alone, "{scheduler}, {bad}: {seconds:?} {alone}");
        }
    }
}

#[test]
fn the_bond_carries_more_than_either_path() {
    let bulk = r#"multipath = { scheduler = "lowest-rtt", reorder_delay = "200 ms", ccid = 2 }"#;
    let text = text("9 s", bulk)
        .replace(r#"traffic = { kind = "cbr", rate = "800 kbit/s" }"#, r#"traffic = "bulk""#);
    let document = Document::from_toml(&text).expect("a scenario");
    let record = run(&document.plan().expect("a plan"), 1);
    let before = delivered(&record).iter().filter(|(_, at)| (5.0..10.0).contains(at)).count() as f64;
    let rate = before * 8_000.0 / 5.0;
    // 9 Mbit/s in all, of which headers take 5 %.
    assert!(rate > 7.0e6, "{rate}");
}

/// The same walk with one connection, whose link becomes the mobile network 300 ms after the end of the
/// Wi-Fi.
fn single(freeze: &str) -> Record {
    let text = format!(
        r#"
[simulation]
duration = "20 s"
[record]
packets = true
[[node]]
name = "phone"
[[node]]
name = "server"
[[link]]
name = "radio"
between = ["phone", "server"]
rate = "6 Mbit/s"
delay = "10 ms"
[[handover]]
link = "radio"
time = "10 s"
duration = "300 ms"
rate = "3 Mbit/s"
delay = "35 ms"
when_down = "drop-all"
{freeze}
[[flow]]
name = "video"
from = "phone"
to = "server"
transport = "dccp"
dccp = {{ freeze = {{}} }}
payload = "1000 B"
traffic = {{ kind = "cbr", rate = "800 kbit/s" }}
"#
    );
    let document = Document::from_toml(&text).expect("a scenario");
    run(&document.plan().expect("a plan"), 1)
}

/// The table of `docs/multipath.md`, which this prints: `cargo test -p whimbrel-lab --test all
/// mp_dccp::table -- --nocapture`.
#[test]
fn the_table_of_handovers() {
    let freeze = r#"freeze = { flows = ["video"], lead = "200 ms", lag = "0.1 ms" }"#;
    let rows = [
        ("one connection, not notified", single("")),
        ("one connection, frozen", single(freeze)),
        ("two subflows, break before make", record("9 s", r#"multipath = { join = "on-failure" }"#)),
        ("two subflows, make before break", record("9 s", "")),
        ("two subflows, redundant", record("9 s", r#"multipath = { scheduler = "redundant" }"#)),
    ];
    println!("| | lost datagrams | longest gap |\n|---|---|---|");
    for (name, record) in &rows {
        println!("| {name} | {} | {:.0} ms |", lost(record), longest_gap(record) * 1e3);
    }
    let [plain, frozen, broken, made, redundant] =
        rows.map(|(_, record)| (lost(&record), longest_gap(&record)));
    // A warning saves the data, not the time without a link; a second path saves most of that time.
    assert!(frozen.0 < plain.0 / 2 && frozen.1 >= 0.3, "{frozen:?} {plain:?}");
    assert!(
        made.1 < broken.1 && redundant.1 < made.1 / 2.0 && redundant.0 == 0,
        "{broken:?} {made:?} {redundant:?}"
    );
}

#[test]
fn keys_are_checked() {
    let refused = |flow: &str| {
        let document = Document::from_toml(&text("9 s", flow)).and_then(|document| document.plan().map(drop));
        document.expect_err("an error").to_string()
    };
    assert!(refused("multipath = { paths = 9 }").contains("multipath.paths"));
    assert!(refused("multipath = { ccid = 7 }").contains("multipath.ccid"));
    assert!(refused("multipath = { priorities = [3] }").contains("2 numbers, one for each path"));
    assert!(refused("multipath = { priorities = [3, 16] }").contains("0 to 15"));
    // `coded` is a part of repair, which these flows do not have.
    let coded = refused(r#"multipath = { scheduler = "coded" }"#);
    assert!(coded.contains("scheduler") && coded.contains("cheapest-first"), "{coded}");
}

#[test]
fn an_encrypted_connection_has_one_session_for_all_paths() {
    // The Wi-Fi carries the first subflow, and fails during the handshake of DTLS, before the first record of
    // the server arrives.
    let text = text("9 s", r#"multipath = { encryption = "dtls" }"#)
        .replace(r#"time = "10 s""#, r#"time = "41 ms""#)
        .replace(r#"duration = "9 s""#, r#"duration = "5 s""#);
    let document = Document::from_toml(&text).expect("a scenario");
    let record = run(&document.plan().expect("a plan"), 1);
    let times = delivered(&record);
    let first = times[0].1;
    // The Wi-Fi's timeout, and the rest of the handshake over the mobile network.
    assert!((0.3..1.5).contains(&first), "{first}");
    // The Wi-Fi is used again when it is back: its delay is 10 ms, the mobile network's 35 ms.
    let fastest = |from: f64, to: f64| {
        let within = times.iter().filter(|(sent, _)| (from..to).contains(sent));
        within.map(|(sent, received)| received - sent).fold(f64::INFINITY, f64::min)
    };
    assert!(fastest(1.5, 5.0) > 0.035 && fastest(10.0, 20.0) < 0.015, "{times:?}");
    assert_eq!(lost(&record), 0);
}

#[test]
fn copies_of_a_record_have_the_number_of_its_datagram() {
    let multipath = |encryption: &str| {
        let flow = format!(r#"multipath = {{ scheduler = "redundant", {encryption} }}"#);
        let record = record("100 ms", &flow);
        let packets = record.table("packets").expect("packets");
        let mut copies = std::collections::BTreeMap::<u64, u32>::new();
        for row in 0..packets.rows() {
            *copies.entry(packets.number("tag", row).expect("a number") as u64).or_default() += 1;
        }
        (lost(&record), copies)
    };
    let (lost, copies) = multipath(r#"encryption = "dtls""#);
    assert_eq!(lost, 0);
    // All but the first, which left before the second path had joined.
    let pairs = copies.values().filter(|count| **count == 2).count();
    assert!(
        pairs + 40 > copies.len() && copies.values().all(|count| *count <= 2),
        "{pairs} of {}",
        copies.len()
    );
    // Packets that are longer by a record leave less often at the same rate.
    let (_, clear) = multipath("");
    let ratio = copies.len() as f64 / clear.len() as f64;
    assert!((ratio - 1048.0 / 1070.0).abs() < 0.01, "{ratio}");
}
