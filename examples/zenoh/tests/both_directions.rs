//! Values and deletions arrive once each, as they were sent.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use zenoh::Wait;
use zenoh::bytes::Encoding;
use zenoh::sample::{Sample, SampleKind};

use crate::chain::Chain;
use crate::networks::Network;
use crate::programs::whimbrel;

/// Keys with a value in each direction.
const VALUES: usize = 12;

/// All that a sample says.
type Contents = (SampleKind, Vec<u8>, String, Option<Vec<u8>>);

fn contents(sample: &Sample) -> Contents {
    (
        sample.kind(),
        sample.payload().to_bytes().into_owned(),
        sample.encoding().to_string(),
        sample.attachment().map(|attachment| attachment.to_bytes().into_owned()),
    )
}

/// Puts values with keys that begin with `name`, and deletes one; returns what has to arrive.
fn publish(network: &Network, name: &str) -> BTreeMap<String, Contents> {
    let mut expected = BTreeMap::new();
    for n in 0..VALUES {
        let (key, payload) = (format!("test/{name}/{n}"), format!("{name} {n}").into_bytes());
        let put = network.session.put(&key, &payload);
        let encoding = match n % 2 {
            0 => Encoding::ZENOH_BYTES,
            _ => Encoding::APPLICATION_JSON.with_schema("a.schema"),
        };
        let attachment = (n % 3 == 0).then(|| vec![n as u8, 0xff]);
        put.encoding(encoding.clone()).attachment(attachment.clone()).wait().expect("it puts");
        expected.insert(key, (SampleKind::Put, payload, encoding.to_string(), attachment));
    }
    let key = format!("test/{name}/gone");
    network.session.delete(&key).attachment("why").wait().expect("it deletes");
    let gone = (SampleKind::Delete, Vec::new(), Encoding::default().to_string(), Some(b"why".to_vec()));
    expected.insert(key, gone);
    expected
}

/// The samples that have arrived there; a key may arrive once only.
fn received(network: &Network) -> BTreeMap<String, Contents> {
    let arrived = network.wait_for(VALUES + 1);
    let all: BTreeMap<_, _> =
        arrived.iter().map(|sample| (sample.key_expr().to_string(), contents(sample))).collect();
    assert_eq!(all.len(), arrived.len(), "each arrives once: {arrived:?}");
    all
}

#[test]
fn values_and_deletions_arrive_once_in_both_directions() {
    let Some(whimbrel) = whimbrel() else { return };
    let [vehicle, ground] = [(); 2].map(|()| Network::open("test/**", |_| {}));
    let chain = Chain::start(&whimbrel, [&vehicle, &ground], "test/**", |relay| relay);
    // The ground publishes first: it learns the address from the vehicle's greeting.
    ground.wait_for_subscriber("test/ground");
    let from_ground = publish(&ground, "ground");
    assert_eq!(received(&vehicle), from_ground);
    vehicle.wait_for_subscriber("test/vehicle");
    let from_vehicle = publish(&vehicle, "vehicle");
    assert_eq!(received(&ground), from_vehicle);

    // A sample that went round would come now.
    thread::sleep(Duration::from_secs(2));
    assert_eq!(received(&vehicle), from_ground);
    assert_eq!(received(&ground), from_vehicle);
    for bridge in [chain.ground, chain.vehicle] {
        let last = bridge.end();
        let put = format!(" 0 samples not sent; {} samples put, 0 datagrams ignored", VALUES + 1);
        assert!(last.ends_with(&put), "{last}");
    }
}
