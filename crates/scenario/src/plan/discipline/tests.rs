use serde_json::{Value, json};
use whimbrel_netsim::LinkRate;
use whimbrel_netsim::queue::{Discipline, QueueProtectionConfig};
use whimbrel_units::{DataRate, Duration};

use super::discipline;
use crate::decode::decode;

/// Queue protection of a discipline with this value of `protection`; otherwise, the message.
fn protection(value: Value) -> Result<Option<QueueProtectionConfig>, String> {
    let table = json!({ "kind": "dualpi2", "protection": value });
    let rate = LinkRate::Constant(DataRate::from_megabits_per_second(10.0));
    let planned = decode(&table).and_then(|decoded| discipline("discipline", &decoded, &rate));
    match planned.map_err(|error| error.to_string())? {
        Discipline::DualPi2(config) => Ok(config.protection),
        other => panic!("{other:?}"),
    }
}

#[test]
fn queue_protection_is_off_on_or_a_table() {
    let default = QueueProtectionConfig::default();
    assert_eq!(protection(json!(false)), Ok(None));
    assert_eq!(protection(json!(true)), Ok(Some(default.clone())));
    assert_eq!(protection(json!({})), Ok(Some(default.clone())));
    assert_eq!(
        protection(json!({
            "critical_delay": "3 ms", "critical_score": "8 ms", "aging": "100 kB/s", "buckets": 64,
        })),
        Ok(Some(QueueProtectionConfig {
            critical_delay: Some(Duration::from_millis(3)),
            critical_score: Duration::from_millis(8),
            aging: DataRate::from_bytes_per_second(1e5),
            buckets: 64,
        }))
    );
    let without: crate::discipline::Discipline = decode(&json!("dualpi2")).unwrap();
    let rate = LinkRate::Constant(DataRate::from_megabits_per_second(10.0));
    let Discipline::DualPi2(config) = discipline("discipline", &without, &rate).unwrap() else { panic!() };
    assert_eq!(config.protection, None);
}

#[test]
fn a_mistake_in_queue_protection_is_named() {
    for (value, expected) in [
        (json!("on"), "protection = \"on\": expected true, false or a table of parameters"),
        (json!({ "aging": 5 }), "protection.aging = 5: expected a rate"),
        (json!({ "score": "4 ms" }), "protection.score: "),
        (
            json!({ "buckets": 33 }),
            "discipline.protection.buckets = 33: expected a power of two, at most 65536",
        ),
        (json!({ "critical_score": "0 s" }), "discipline.protection.critical_score = 0"),
    ] {
        let said = protection(value).unwrap_err();
        assert!(said.starts_with(expected), "{said}\nexpected {expected}");
    }
}
