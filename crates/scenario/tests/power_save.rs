//! Keys of clients that save power.

use serde_json::{Value, json};
use whimbrel_netsim::medium::StationRole;
use whimbrel_units::Duration;
use whimbrel_wifi::edca::AccessCategory;
use whimbrel_wifi::infrastructure::{AccessPointConfig, PowerSaveConfig, Uapsd};

use super::qos::HOME;
use super::wifi::changed;

fn roles(changes: &[(&str, Value)]) -> (AccessPointConfig, Option<PowerSaveConfig>) {
    let plan = changed(HOME, changes).unwrap();
    let roles = plan.wifi[0].infrastructure.clone().expect("roles").roles;
    let [StationRole::AccessPoint(point), StationRole::Client { config, .. }] = &roles[..] else {
        panic!("a router and a phone")
    };
    (*point, config.power_save)
}

#[test]
fn a_client_saves_power_as_linux_does_unless_keys_say_otherwise() {
    let (point, power_save) = roles(&[]);
    assert_eq!((point.dtim_period, point.power_save_buffer, power_save), (None, 64, None));
    assert_eq!(point.power_save_lifetime, Duration::from_secs(10));
    let (timeout, uapsd) = (Duration::from_millis(100), Uapsd::default());
    let linux = PowerSaveConfig { timeout, listen_interval: 1, uapsd };
    let (point, power_save) = roles(&[("node.phone.client.power_save", json!({}))]);
    assert_eq!((point.dtim_period, point.power_save_buffer, power_save), (Some(2), 64, Some(linux)));
    let own = [
        (
            "node.phone.client.power_save",
            json!({ "timeout": "20 ms", "listen_interval": 10, "uapsd": ["voice", "best_effort"] }),
        ),
        ("node.router.access_point.dtim_period", json!(3)),
        ("node.router.access_point.power_save_buffer", json!(8)),
        ("node.router.access_point.power_save_lifetime", json!("1 s")),
    ];
    let categories = [AccessCategory::Voice, AccessCategory::BestEffort];
    let uapsd = categories.into_iter().fold(Uapsd::default(), Uapsd::with);
    let own_config = PowerSaveConfig { timeout: Duration::from_millis(20), listen_interval: 10, uapsd };
    let (point, power_save) = roles(&own);
    assert_eq!((point.dtim_period, point.power_save_buffer, power_save), (Some(3), 8, Some(own_config)));
    assert_eq!(point.power_save_lifetime, Duration::from_secs(1));
}

#[test]
fn what_does_not_work_is_named_with_its_key() {
    let saves = ("node.phone.client.power_save", json!({}));
    let cases: [(&[(&str, Value)], &str); 9] = [
        (
            &[("node.phone.client.power_save", json!({ "listen_interval": 0 }))],
            "node[1].client.power_save.listen_interval",
        ),
        (
            &[("node.phone.client.power_save", json!({ "timeout": "0 s" }))],
            "node[1].client.power_save.timeout",
        ),
        (&[("node.phone.client.power_save", json!({ "uapsd": ["voices"] }))], "voices"),
        (&[("node.phone.client.power_save", json!({ "timeot": "1 s" }))], "timeot"),
        (
            &[saves.clone(), ("node.router.access_point.dtim_period", json!(0))],
            "node[0].access_point.dtim_period",
        ),
        (
            &[saves.clone(), ("node.router.access_point.power_save_buffer", json!(0))],
            "node[0].access_point.power_save_buffer",
        ),
        (
            &[saves.clone(), ("node.router.access_point.power_save_lifetime", json!("0 s"))],
            "node[0].access_point.power_save_lifetime",
        ),
        (&[saves.clone(), ("wifi.air.association", json!(false))], "node[1].client.power_save"),
        (&[saves.clone(), ("wifi.air.standard", json!("802.11g"))], "node[1].client.power_save"),
    ];
    for (changes, expected) in cases {
        let error = changed(HOME, changes).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
