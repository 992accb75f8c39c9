//! Keys of 802.11n, ac and ax.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use whimbrel_netsim::medium::{QosConfig, StationRole};
use whimbrel_netsim::{FlowId, QueueLimit, StationIndex};
use whimbrel_units::Duration;
use whimbrel_wifi::airtime::QueueLimits;
use whimbrel_wifi::edca::{AccessCategory, CategoryParameters, Turns};
use whimbrel_wifi::frame::bytes::{Header, has_valid_check_sequence};
use whimbrel_wifi::frame::radiotap::Radiotap;
use whimbrel_wifi::phy::Mode;

use super::Plan;
use super::wifi::changed;

pub(super) const HOME: &str = r#"
[simulation]
duration = "2 s"
[[wifi]]
name = "air"
standard = "802.11ax"
[[node]]
name = "router"
wifi = "air"
position = [0, 0]
access_point = { ssid = "home" }
[[node]]
name = "phone"
wifi = "air"
position = [5, 0]
client = { ssid = "home" }
[[flow]]
name = "download"
from = "router"
to = "phone"
transport = "udp"
payload = "1000 B"
traffic = { kind = "cbr", rate = "400 Mbit/s" }
"#;

fn qos(changes: &[(&str, Value)]) -> QosConfig {
    changed(HOME, changes).unwrap().wifi[0].qos.clone().expect("a MAC with quality of service")
}

fn mode(changes: &[(&str, Value)]) -> Mode {
    qos(changes).mac.rate.mode().expect("a mode")
}

fn mistake(changes: &[(&str, Value)]) -> String {
    changed(HOME, changes).expect_err("a mistake").to_string()
}

#[test]
fn the_defaults_are_those_of_a_router_and_a_phone_of_today() {
    let standard = |name: &str| mode(&[("wifi.air.standard", json!(name))]).to_string();
    assert_eq!(standard("802.11ax"), "HE MCS 11 x 2, 80 MHz, 0.8 us");
    assert_eq!(standard("802.11ac"), "VHT MCS 9 x 2, 80 MHz, 0.4 us");
    assert_eq!(standard("802.11n"), "HT MCS 7 x 2, 40 MHz, 0.4 us");
    let low = [("wifi.air.band", json!("2.4 GHz"))];
    assert_eq!(mode(&low).to_string(), "HE MCS 11 x 2, 20 MHz, 0.8 us");
    assert_eq!(qos(&low).mac.phy.sifs, Duration::from_micros(10));
    // VHT has no MCS 9 with two streams at 20 MHz.
    let narrow = [("wifi.air.standard", json!("802.11ac")), ("wifi.air.width", json!("20 MHz"))];
    assert_eq!(mode(&narrow).mcs(), 8);
    let config = qos(&[]);
    assert_eq!((config.mac.limits.window, config.mac.limits.ampdu_bytes), (256, 6_500_631));
    assert_eq!(config.cells, [None, Some(StationIndex(0))]);
    let best_effort =
        |config: &whimbrel_wifi::edca::EdcaConfig| config.categories[AccessCategory::BestEffort as usize];
    assert_eq!((best_effort(&config.mac).cw_max, best_effort(&config.access_point).cw_max), (1_023, 63));
}

#[test]
fn keys_set_the_mode_the_aggregates_and_the_access() {
    let changes = [
        ("wifi.air.width", json!("160 MHz")),
        ("wifi.air.streams", json!(4)),
        ("wifi.air.guard_interval", json!("3.2 us")),
        ("wifi.air.mcs", json!(5)),
        ("wifi.air.ampdu.size", json!("100 kB")),
        ("wifi.air.ampdu.time", json!("2 ms")),
        ("wifi.air.ampdu.window", json!(64)),
        ("wifi.air.amsdu", json!("3839 B")),
        ("wifi.air.edca.best_effort.cw_min", json!(31)),
        ("wifi.air.edca.best_effort.txop_limit", json!("2528 us")),
        ("wifi.air.rts_threshold", json!("0 B")),
    ];
    let mac = qos(&changes).mac;
    assert_eq!(mode(&changes).to_string(), "HE MCS 5 x 4, 160 MHz, 3.2 us");
    let limits = mac.limits;
    assert_eq!(
        (limits.ampdu_bytes, limits.ampdu_time, limits.window),
        (100_000, Duration::from_millis(2), 64)
    );
    assert_eq!((limits.amsdu_bytes, mac.rts_threshold), (3_839, 0));
    let expected =
        CategoryParameters { aifsn: 3, cw_min: 31, cw_max: 1_023, txop_limit: Duration::from_micros(2_528) };
    assert_eq!(mac.categories[AccessCategory::BestEffort as usize], expected);
}

#[test]
fn what_does_not_exist_is_named_with_its_key_and_value() {
    let standard = |name: &str| ("wifi.air.standard", json!(name));
    let cases: [(&[(&str, Value)], &str); 18] = [
        (
            &[("wifi.air.width", json!("30 MHz"))],
            "wifi[0].width = \"30 MHz\": expected a width of 802.11ax at 5 GHz",
        ),
        (
            &[standard("802.11n"), ("wifi.air.width", json!("80 MHz"))],
            "wifi[0].width = \"80 MHz\": expected a width of 802.11n at 5 GHz: \"20 MHz\", \"40 MHz\"",
        ),
        (
            &[("wifi.air.band", json!("2.4 GHz")), ("wifi.air.width", json!("80 MHz"))],
            "wifi[0].width = \"80 MHz\": expected a width of 802.11ax at 2.4 GHz",
        ),
        (&[standard("802.11ac"), ("wifi.air.band", json!("2.4 GHz"))], "wifi[0].band = \"2.4 GHz\""),
        (&[("wifi.air.streams", json!(5))], "wifi[0].streams = 5: expected 1 to 4"),
        (&[("wifi.air.mcs", json!(12))], "wifi[0].mcs = 12: expected a scheme of 802.11ax: 0 to 11"),
        (
            &[
                standard("802.11ac"),
                ("wifi.air.width", json!("160 MHz")),
                ("wifi.air.streams", json!(3)),
                ("wifi.air.mcs", json!(9)),
            ],
            "wifi[0].mcs = 9: expected a scheme that exists: VHT leaves out MCS 9 with 3 streams at 160 MHz",
        ),
        (&[("wifi.air.guard_interval", json!("0.4 us"))], "wifi[0].guard_interval = \"0.4 us\""),
        (&[("wifi.air.guard_interval", json!("1 us"))], "wifi[0].guard_interval = \"1 us\""),
        (&[("wifi.air.ampdu.size", json!("0 B"))], "wifi[0].ampdu.size = \"0 B\": expected 1 to 6500631 B"),
        (&[("wifi.air.ampdu.window", json!(257))], "wifi[0].ampdu.window = 257: expected 1 to 256"),
        (&[("wifi.air.ampdu.time", json!("6 ms"))], "wifi[0].ampdu.time"),
        (&[("wifi.air.amsdu", json!("12 kB"))], "wifi[0].amsdu"),
        (&[("wifi.air.edca.best_effort.cw_min", json!(10))], "wifi[0].edca.best_effort.cw_min = 10"),
        (&[("wifi.air.rate", json!("54 Mbit/s"))], "wifi[0].rate"),
        (&[standard("802.11g"), ("wifi.air.streams", json!(2))], "wifi[0].streams"),
        (&[("node.phone.client.ssid", json!("other"))], "node[1].client.ssid"),
        (&[("node.phone.standard", json!("802.11b"))], "node[1].standard"),
    ];
    for (changes, expected) in cases {
        let error = mistake(changes);
        assert!(error.contains(expected), "{error}\nlacks\n{expected}");
    }
}

/// A second access point of the network, and the channels of both.
fn campus(first: u8, second: u8, changes: &[(&str, Value)]) -> Result<Plan, String> {
    let text = format!(
        "{HOME}[[node]]\nname = \"second\"\nwifi = \"air\"\nposition = [30, 0]\n\
         access_point = {{ ssid = \"home\", channel = {second} }}\n"
    );
    let first = ("node.router.access_point", json!({ "ssid": "home", "channel": first }));
    changed(&text, &[std::slice::from_ref(&first), changes].concat()).map_err(|error| error.to_string())
}

/// A network with several access points, or keys of a client for its search, need beacons; one access point
/// does not.
#[test]
fn clients_associate_if_they_have_a_choice() {
    let associates = |plan: Plan| plan.wifi[0].qos.as_ref().expect("a MAC").cells.is_empty();
    let home = |changes: &[(&str, Value)]| associates(changed(HOME, changes).unwrap());
    assert!(!home(&[]));
    assert!(home(&[("wifi.air.association", json!(true))]));
    assert!(home(&[("node.phone.client.weak_signal", json!("-70 dBm"))]));
    assert!(associates(campus(36, 149, &[]).unwrap()));
    assert!(associates(campus(36, 36, &[]).unwrap()));
}

/// Attempts that fail while the rate adapts are no reason to leave an access point, unless the scenario says
/// so.
#[test]
fn failed_attempts_are_no_reason_to_leave() {
    let limit = |changes: &[(&str, Value)]| {
        let plan = changed(HOME, changes).unwrap();
        let roles = plan.wifi[0].infrastructure.clone().expect("roles").roles;
        let client = roles.into_iter().find_map(|role| match role {
            StationRole::Client { config, .. } => Some(config),
            _ => None,
        });
        client.expect("a client").trigger.failed_attempts
    };
    assert_eq!(limit(&[]), None);
    assert_eq!(limit(&[("node.phone.client.failed_attempts", json!(30))]), Some(30));
}

#[test]
fn channels_are_of_one_band_and_do_not_overlap() {
    let error = |first, second, changes: &[(&str, Value)]| campus(first, second, changes).unwrap_err();
    let band = "node[2].access_point.channel = 6: expected a channel of the medium's band, 5 GHz";
    assert!(error(36, 6, &[]).contains(band), "{}", error(36, 6, &[]));
    let low = [("wifi.air.band", json!("2.4 GHz"))];
    let band = "node[2].access_point.channel = 36: expected a channel of the medium's band, 2.4 GHz";
    assert!(error(1, 36, &low).contains(band), "{}", error(1, 36, &low));
    let client = mistake(&[("node.phone.client.channels", json!([36, 6]))]);
    let band = "node[1].client.channels = 6: expected a channel of the medium's band, 5 GHz";
    assert!(client.contains(band), "{client}");
    let overlap = "node[2].access_point.channel = 40: expected 36, or a channel that does not overlap it with a width of 80 MHz";
    assert!(error(36, 40, &[]).contains(overlap), "{}", error(36, 40, &[]));
    assert!(campus(36, 40, &[("wifi.air.width", json!("20 MHz"))]).is_ok());
    assert!(campus(1, 6, &low).is_ok());
    let none = [("wifi.air.association", json!(false))];
    let one = "node[2].access_point.channel";
    assert!(error(36, 149, &none).contains(one), "{}", error(36, 149, &none));
    let two = "node[2].access_point.ssid";
    assert!(error(36, 36, &none).contains(two), "{}", error(36, 36, &none));
    let key =
        mistake(&[("wifi.air.association", json!(false)), ("node.phone.client.scan", json!("passive"))]);
    assert!(key.contains("node[1].client.scan"), "{key}");
}

/// The queues of Linux are the default, and a scenario's own queue is a driver's.
#[test]
fn receivers_have_queues_and_shares_of_airtime_unless_there_is_a_queue() {
    let config = qos(&[("wifi.air.aql.high", json!("20 ms"))]);
    let queues = config.queues.as_ref().expect("queues of receivers");
    let (linux, queue) = (QueueLimits::LINUX, &queues.queue);
    assert_eq!(queues.limits, QueueLimits { high: Duration::from_millis(20), ..linux });
    assert_eq!((queue.codel.target, queue.codel.ecn, queue.quantum), (Duration::from_millis(20), true, 300));
    assert_eq!((config.mac.turns, config.access_point.turns), (Turns::Airtime, Turns::Airtime));
    let limit = |changes: &[(&str, Value)]| changed(HOME, changes).unwrap().wifi[0].limit;
    assert_eq!(limit(&[]), QueueLimit::Packets(8_192));
    let driver = [("wifi.air.queue", json!("1000 packets"))];
    assert_eq!((qos(&driver).queues, qos(&driver).mac.turns), (None, Turns::Transmissions));
    assert_eq!(limit(&driver), QueueLimit::Packets(1_000));
    let unfair = [("wifi.air.airtime_fairness", json!(false))];
    assert_eq!(qos(&unfair).mac.turns, Turns::Transmissions);
    assert!(qos(&unfair).queues.is_some());
    let weights = qos(&[("node.phone.station", json!({ "airtime_weight": 512 }))]).weights;
    assert_eq!(weights, BTreeMap::from([(StationIndex(1), 512)]));
}

/// A phone at the edge of the range: the highest scheme carries nothing, and Minstrel-HT finds one that does.
#[test]
fn the_rate_adapts_to_the_distance() {
    let far = |changes: &[(&str, Value)]| {
        let edge = [
            ("wifi.air.noise", json!("-88 dBm")),
            ("wifi.air.radio.power", json!("20 dBm")),
            ("wifi.air.radio.frequency", json!("5.5 GHz")),
            ("wifi.air.radio.receive_threshold", json!("-82 dBm")),
            ("wifi.air.radio.carrier_sense_threshold", json!("-82 dBm")),
            ("wifi.air.propagation", json!({ "kind": "log-distance", "exponent": 2.5 })),
            ("node.phone.position", json!([60, 0])),
        ];
        let changes: Vec<_> = edge.into_iter().chain(changes.iter().cloned()).collect();
        let record = whimbrel_lab::run(&changed(HOME, &changes).unwrap(), 1);
        record.table("flows").unwrap().number("goodput_bps", 0).unwrap()
    };
    let (fixed, adapted) = (far(&[]), far(&[("wifi.air.rate_control", json!("minstrel"))]));
    println!("{fixed} {adapted}");
    assert!(fixed < 1e6 && adapted > 30e6, "{fixed} {adapted}");
    let both = mistake(&[("wifi.air.rate_control", json!("minstrel")), ("wifi.air.mcs", json!(3))]);
    assert!(both.contains("wifi[0].mcs"), "{both}");
    let other = mistake(&[("wifi.air.rate_control", json!("arf"))]);
    assert!(other.contains("wifi[0].rate_control"), "{other}");
}

#[test]
fn the_dscp_of_a_flow_decides_its_category() {
    let category = |dscp: Value| {
        let categories = qos(&[("flow.download.dscp", dscp)]).categories;
        categories.get(&FlowId(0)).copied().unwrap_or(AccessCategory::BestEffort)
    };
    let cases = [
        (json!("EF"), AccessCategory::Voice),
        (json!("AF41"), AccessCategory::Video),
        (json!("cs1"), AccessCategory::Background),
        (json!("LE"), AccessCategory::BestEffort),
        (json!("AF13"), AccessCategory::BestEffort),
        (json!(46), AccessCategory::Voice),
        (json!(0), AccessCategory::BestEffort),
    ];
    for (dscp, expected) in cases {
        assert_eq!(category(dscp.clone()), expected, "{dscp}");
    }
    for wrong in [json!("AF51"), json!("AF10"), json!("CS8"), json!(64), json!("gold")] {
        let error = mistake(&[("flow.download.dscp", wrong.clone())]);
        assert!(error.contains("flow[0].dscp") && error.contains("a number up to 63"), "{wrong}: {error}");
    }
}

#[test]
fn a_station_may_have_categories_of_its_own() {
    let changes = [
        ("wifi.air.edca.voice.txop_limit", json!("2080 us")),
        ("node.phone.station", json!({ "edca": { "video": { "cw_min": 3 } } })),
    ];
    let config = qos(&changes);
    let own = config.own_categories[&StationIndex(1)];
    let [voice, video] = [AccessCategory::Voice, AccessCategory::Video].map(|category| category as usize);
    assert_eq!((own[voice].txop_limit, own[video].cw_min), (Duration::from_micros(2_080), 3));
    assert_eq!((own[video].aifsn, config.mac.categories[video].cw_min), (2, 7));
    assert_eq!((config.access_point.categories[voice].aifsn, own.len()), (1, 4));
    let older = mistake(&[
        ("wifi.air.standard", json!("802.11g")),
        ("node.phone.station", json!({ "airtime_weight": 512 })),
    ]);
    assert!(older.contains("node[1].station.airtime_weight"), "{older}");
    let rate = mistake(&[("node.phone.station", json!({ "rate": "54 Mbit/s" }))]);
    assert!(rate.contains("node[1].station.rate"), "{rate}");
}

/// The delay of a call during a download, in milliseconds: with the queues of Linux, and with a driver's of
/// 1000 packets.
#[test]
fn a_call_beside_a_download_has_a_short_delay() {
    let delay = |changes: &[(&str, Value)]| {
        let plan = changed(LOADED, changes).unwrap();
        let record = whimbrel_lab::run(&plan, 1);
        let flows = record.table("flows").expect("every run has flows");
        assert!(flows.number("goodput_bps", 0).unwrap() > 10e6, "{:?}", flows.number("goodput_bps", 0));
        flows.number("delay_mean_s", 1).expect("a column of numbers") * 1e3
    };
    let linux = delay(&[]);
    let driver = delay(&[("wifi.air.queue", json!("1000 packets"))]);
    let voice = delay(&[("flow.call.dscp", json!("EF"))]);
    println!("{linux} ms, {driver} ms, {voice} ms");
    assert!(driver > 200.0, "{driver} ms");
    assert!(linux < 30.0, "{linux} ms");
    assert!(voice < 0.7 * linux, "{voice} ms beside {linux} ms");
}

/// A download over a link of 802.11ax with MCS 1 at 20 MHz, and a call to the same phone.
const LOADED: &str = r#"
[simulation]
duration = "12 s"
warm_up = "4 s"
[[wifi]]
name = "air"
standard = "802.11ax"
width = "20 MHz"
streams = 1
mcs = 1
[[node]]
name = "router"
wifi = "air"
position = [0, 0]
access_point = { ssid = "home" }
[[node]]
name = "phone"
wifi = "air"
position = [5, 0]
client = { ssid = "home" }
[[flow]]
name = "download"
from = "router"
to = "phone"
transport = "tcp"
tcp = { preset = "linux", congestion = "cubic" }
[[flow]]
name = "call"
from = "router"
to = "phone"
transport = "udp"
payload = "160 B"
traffic = { kind = "cbr", rate = "64 kbit/s" }
"#;

/// 400 Mbit/s pass, in far fewer transmissions than packets: 1000 of 1028 bytes are payload.
#[test]
fn a_home_carries_what_802_11g_cannot() {
    let plan = changed(HOME, &[]).unwrap();
    let record = whimbrel_lab::run(&plan, 1);
    let flows = record.table("flows").expect("every run has flows");
    let number = |name: &str| flows.number(name, 0).expect("a column of numbers");
    assert!(number("goodput_bps") > 385e6, "{}", number("goodput_bps"));
    let stations = record.table("stations").expect("a table of stations");
    let attempts = stations.number("attempts", 0).expect("a column of numbers");
    assert!(attempts > 0.0 && attempts < 0.3 * number("sent_packets"), "{attempts}");
}

/// The packets of a pcapng file.
fn captured(file: &[u8]) -> Vec<&[u8]> {
    const ENHANCED_PACKET: u32 = 6;
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut packets) = (0, Vec::new());
    while at < file.len() {
        if word(at) == ENHANCED_PACKET {
            let length = word(at + 20) as usize;
            packets.push(&file[at + 28..at + 28 + length]);
        }
        at += word(at + 4) as usize;
    }
    packets
}

/// Each frame of an A-MPDU is a record with the number of its A-MPDU, and a valid frame with a packet.
#[test]
fn captures_have_real_aggregates() {
    let plan = changed(HOME, &[("simulation.duration", json!("50 ms"))]).unwrap();
    let mut run = whimbrel_lab::Run::new(&plan, 1);
    run.capture(|_| true);
    run.execute(|_| core::ops::ControlFlow::Continue(()));
    let file = run.take_capture();
    let (mut frames, mut aggregates, mut block_acks) = (0, BTreeMap::new(), 0);
    for packet in captured(&file) {
        let (radiotap, frame) = Radiotap::parse(packet).unwrap();
        assert!(has_valid_check_sequence(frame));
        match Header::parse(frame).unwrap().0 {
            Header::Data(header) => {
                frames += 1;
                assert_eq!(header.qos, Some(0));
                if let Some((number, _)) = radiotap.ampdu {
                    *aggregates.entry(number).or_insert(0) += 1;
                }
            }
            Header::Unknown { kind: 0x94, .. } => {
                block_acks += 1;
                // 256 bits.
                assert_eq!(frame.len(), 56);
            }
            _ => {}
        }
    }
    assert!(frames > 1_900, "{frames} frames");
    assert!(aggregates.len() > 20 && aggregates.values().all(|&count: &u32| count > 1 && count <= 256));
    assert!(block_acks >= aggregates.len() - 1, "{block_acks} for {} aggregates", aggregates.len());
}
