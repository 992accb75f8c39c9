//! Sessions of Zenoh that know nothing of each other.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::json;
use zenoh::sample::{Locality, Sample};
use zenoh::{Session, Wait};

use crate::programs::wait_for;

/// A session with a listener of its own, and the samples that have come to it from others.
pub(crate) struct Network {
    pub(crate) session: Session,
    pub(crate) endpoint: String,
    arrived: Arc<Mutex<Vec<Sample>>>,
}

impl Network {
    /// Calls `arrives` with each sample of `key`, too.
    pub(crate) fn open(key: &str, arrives: impl Fn(&Sample) + Send + Sync + 'static) -> Self {
        // Another program may take the free port.
        let (session, endpoint) = wait_for("a session", || {
            let port =
                TcpListener::bind("127.0.0.1:0").expect("loopback").local_addr().expect("bound").port();
            let endpoint = format!("tcp/127.0.0.1:{port}");
            let mut config = zenoh::Config::default();
            for (key, value) in [
                ("scouting/multicast/enabled", json!(false)),
                ("scouting/gossip/enabled", json!(false)),
                ("listen/endpoints", json!([endpoint])),
            ] {
                config.insert_json5(key, &value.to_string()).expect("a configuration");
            }
            Some((zenoh::open(config).wait().ok()?, endpoint))
        });
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let all = arrived.clone();
        session
            .declare_subscriber(key)
            .allowed_origin(Locality::Remote)
            .callback(move |sample| {
                arrives(&sample);
                all.lock().expect("no panic").push(sample);
            })
            .background()
            .wait()
            .expect("a subscriber");
        Self { session, endpoint, arrived }
    }

    /// Waits for a subscriber of `key`.
    pub(crate) fn wait_for_subscriber(&self, key: &str) {
        let publisher = self.session.declare_publisher(key.to_owned()).wait().expect("a publisher");
        wait_for("a subscriber", || {
            publisher.matching_status().wait().expect("a status").matching().then_some(())
        });
    }

    /// The samples that have arrived.
    pub(crate) fn arrived(&self) -> Vec<Sample> {
        self.arrived.lock().expect("no panic").clone()
    }

    /// The samples, as soon as there are that many.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Sample> {
        wait_for("samples", || Some(self.arrived()).filter(|arrived| arrived.len() >= count))
    }
}
