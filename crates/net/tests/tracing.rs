//! The records of connections for the `tracing` crate.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata, Subscriber};
use whimbrel_net::{Config, Identity, Listener, Security, Setup, Socket, Trust};

/// Writes each record as a line.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl Recorder {
    fn push(&self, line: String) -> usize {
        let mut lines = self.0.lock().expect("no panic");
        lines.push(line);
        lines.len()
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "whimbrel_net::connection"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(format!("span {}", span.metadata().name()));
        span.record(&mut line);
        Id::from_u64(self.push(line.0) as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let parent = event.parent().expect("in a span").into_u64();
        let mut line = Line(format!("{} {parent}:", event.metadata().level()));
        event.record(&mut line);
        self.push(line.0);
    }

    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_connection_is_a_span_with_its_events() {
    let recorder = Recorder::default();
    let _guard = tracing::subscriber::set_default(recorder.clone());
    let any = "127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind(any, 5001, Config::default()).await.expect("loopback");
    let remote = listener.local();
    let client = Socket::connect(remote, 5001, Config::default()).await.expect("a handshake");
    let server = listener.accept().await.expect("a client");
    client.send(Bytes::from_static(b"seven b")).await.expect("open");
    server.recv().await.expect("open");
    client.close().await.expect("in order");

    let lines = recorder.0.lock().expect("no panic").clone();
    let number = |wanted: &str| {
        1 + lines.iter().position(|line| line == wanted).unwrap_or_else(|| panic!("{wanted}: {lines:#?}"))
    };
    let ours = number(&format!("span connection remote={remote} role=\"client\""));
    let theirs = number(&format!("span connection remote={} role=\"server\"", server.remote()));
    let has = |span: usize, level: Level, text: &str| {
        let start = format!("{level} {span}:");
        assert!(
            lines.iter().any(|line| line.starts_with(&start) && line.contains(text)),
            "{text}: {lines:#?}"
        );
    };
    for span in [ours, theirs] {
        has(span, Level::DEBUG, "connected");
        has(span, Level::DEBUG, "closed");
    }
    has(theirs, Level::TRACE, "bytes=7");
}

#[tokio::test]
async fn a_refused_peer_is_a_warning() {
    let recorder = Recorder::default();
    let _guard = tracing::subscriber::set_default(recorder.clone());
    let (stranger, server) = (Identity::generate().expect("a key"), Identity::generate().expect("a key"));
    let setup = |identity, trust| Setup::secured(Config::default(), Security::new(identity, trust));
    let any = "127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind(any, 5001, setup(server, Trust::Pinned(vec![]))).await.expect("loopback");
    let fingerprint = stranger.fingerprint().to_string();
    // The client's handshake is complete before the server has checked its key.
    let _client = Socket::connect(listener.local(), 5001, setup(stranger, Trust::Any)).await;
    let warns = |line: &String| line.starts_with("WARN") && line.contains(&fingerprint);
    let has_warned = async {
        while !recorder.0.lock().expect("no panic").iter().any(warns) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), has_warned).await.expect("a warning");
}
