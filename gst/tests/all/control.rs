//! Duties of a network element to its pipeline: the rate, key frames, the latency, statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, thread};

use gst::prelude::*;
use tempfile::TempDir;

use crate::hostile_path::{HostilePath, all};
use crate::support::{Running, has, init, of, receiver, sender, until};

const CAMERA: &str = "videotestsrc is-live=true ! video/x-raw,width=160,height=120,framerate=25/1";
const ENCODER: &str = "x264enc name=encoder tune=zerolatency speed-preset=ultrafast key-int-max=1000";
/// Datagrams at the time of the clock.
const SLOW: &str = "fakesrc sizetype=fixed sizemax=500 format=time datarate=50000";
const PAYLOADER: &str = "rtph264pay config-interval=-1 mtu=1200";

/// A camera that sends to that address.
fn camera(address: &str, options: &str) -> Running {
    sender(address, options, &format!("{CAMERA} ! {ENCODER} ! {PAYLOADER}"), "sync=false")
}

#[test]
fn an_encoder_is_asked_for_a_key_frame_when_a_frame_cannot_be_repaired() {
    if !has(&["x264enc", "rtph264pay"]) {
        return;
    }
    let (to, address) = receiver("latency=200", "! fakesink name=end sync=false");
    let arrived = to.count("end", "sink");
    let path = HostilePath::to(address.parse().expect("an address"));
    let from = camera(&path.at.to_string(), "latency=200");
    let requests = from.requests("encoder");
    from.set(gst::State::Playing);
    until("a stream", || of(&arrived) > 50);
    // The one of the connection's start was answered long ago.
    let before = of(&requests);
    // On a machine that is busy the encoder may pause just then.
    until("a request", || {
        path.obey(|forth, packet| if forth && packet.len() > 200 { Vec::new() } else { all(forth, packet) });
        thread::sleep(Duration::from_millis(600));
        path.obey(all);
        thread::sleep(Duration::from_millis(600));
        of(&requests) > before
    });
    let count = of(&arrived);
    until("a stream", || of(&arrived) > count + 50);
}

#[test]
fn a_decoder_asks_the_encoder_of_the_other_end_for_a_key_frame() {
    if !has(&["x264enc", "rtph264pay", "rtph264depay"]) {
        return;
    }
    let (to, address) = receiver("", "! rtph264depay ! fakesink name=end sync=false");
    let arrived = to.count("end", "sink");
    let from = camera(&address, "");
    let requests = from.requests("encoder");
    from.set(gst::State::Playing);
    until("a stream", || of(&arrived) > 10);
    let before = of(&requests);
    let request = gst::Structure::builder("GstForceKeyUnit").field("all-headers", true).build();
    let pad = to.named("end").static_pad("sink").expect("a pad");
    assert!(pad.push_event(gst::event::CustomUpstream::new(request)), "it is taken");
    until("a request", || of(&requests) > before);
}

#[test]
fn the_encoder_follows_the_rate_and_the_application_is_notified() {
    if !has(&["x264enc", "rtph264pay"]) {
        return;
    }
    let (_to, address) = receiver("", "! fakesink sync=false");
    let from = camera(&address, "max-bitrate=300000");
    let sink = from.named("w");
    let notified = Arc::new(AtomicUsize::new(0));
    let counted = notified.clone();
    sink.connect_notify(Some("estimated-bitrate"), move |_, _| _ = counted.fetch_add(1, Ordering::Relaxed));
    from.set(gst::State::Playing);
    let estimate = || sink.property::<u32>("estimated-bitrate");
    let encoder = from.named("encoder");
    let bitrate = || encoder.property::<u32>("bitrate");
    assert!((100_000..=300_000).contains(&estimate()) || estimate() == 0, "{}", estimate());
    // The loopback interface carries more: the limit is the rate. The encoder's unit is kbit/s.
    until("the limit", || estimate() == 300_000 && bitrate() == 270);
    assert!(of(&notified) > 0);
    let before = of(&notified);
    sink.set_property("max-bitrate", 200_000u32);
    until("a lower limit", || of(&notified) > before && bitrate() == 180);
    sink.set_property("adapt-encoders", false);
    sink.set_property("min-bitrate", 250_000u32);
    until("a higher limit", || estimate() == 250_000);
    assert_eq!(bitrate(), 180);
}

#[test]
fn the_source_answers_with_the_latency_and_every_datagram_is_accounted_for() {
    init();
    let (to, address) = receiver("latency=2000", "! fakesink name=end sync=true");
    let arrived = to.count("end", "sink");
    let from = sender(
        &address,
        "latency=2000",
        "fakesrc num-buffers=100 sizetype=fixed sizemax=500 format=time datarate=50000",
        "",
    );
    from.set(gst::State::Playing);
    until("datagrams", || of(&arrived) == 100);
    let mut query = gst::query::Latency::new();
    assert!(to.named("end").static_pad("sink").expect("a pad").peer_query(&mut query));
    assert_eq!(query.result(), (true, gst::ClockTime::from_mseconds(2000), None));
    // The pipeline as a whole has the latency of its source, for which its sinks wait.
    let mut query = gst::query::Latency::new();
    assert!(to.0.query(&mut query));
    let (is_live, least, _) = query.result();
    // With the time that a sink itself needs.
    assert!(is_live && (2000..2100).contains(&least.mseconds()), "{is_live} {least}");
    from.wait();
    // Figures come ten times a second, and the other end's report once.
    let account = |end: &Running, field: &str| {
        let account = end.stat::<gst::Structure>(field);
        let count = |field: &str| account.as_ref().and_then(|it| it.get::<u64>(field).ok());
        [count("sent"), count("delivered"), count("under-way")]
    };
    until("an account", || account(&from, "sent") == [Some(100), Some(100), Some(0)]);
    until("an account", || account(&to, "received")[1] == Some(100));
    assert!(from.stat::<u64>("round-trip-time").is_some() && from.stat::<f64>("allowed-rate-bps").is_some());
}

#[test]
fn two_paths_carry_a_stream() {
    init();
    let (to, address) = receiver("", "! fakesink name=end sync=false");
    let arrived = to.count("end", "sink");
    let options = "paths=\"127.0.0.2;127.0.0.3\"";
    let from = sender(&address, options, SLOW, "");
    from.set(gst::State::Playing);
    until("two paths", || {
        let paths = from.stat::<gst::Array>("paths").map(|paths| {
            let is_up = |path: &gst::Structure| path.get::<&str>("state") == Ok("up");
            paths.iter().filter_map(|path| path.get::<gst::Structure>().ok()).filter(is_up).count()
        });
        paths == Some(2) && of(&arrived) > 100
    });
}

#[test]
fn a_secret_lets_its_owners_in_and_nobody_else() {
    init();
    let folder = TempDir::new().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("room");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&path, mode).expect("an owner");
        path.display().to_string()
    };
    let secret = file("secret", "0123456789012345678901234567890123456789\n");
    let other = file("other", "another secret of forty or so characters\n");
    let (to, address) = receiver(&format!("secret-file={secret}"), "! fakesink name=end sync=false");
    let arrived = to.count("end", "sink");
    let stranger =
        Running::new(&format!("{SLOW} ! whimbrelsink name=w address={address} secret-file={other}")).play();
    until("a refusal", || stranger.stat::<String>("last-error").is_some());
    assert_eq!(stranger.stat::<u64>("connections"), Some(0));
    drop(stranger);
    let options = format!("secret-file={secret} law=tcp-like");
    let from = sender(
        &address,
        &options,
        "fakesrc num-buffers=10 sizetype=fixed sizemax=500 format=time datarate=50000",
        "",
    );
    from.set(gst::State::Playing);
    until("datagrams", || of(&arrived) == 10);
}

#[test]
fn what_cannot_work_is_refused_with_the_property_and_what_was_expected() {
    init();
    for (properties, expected) in [
        ("", "address: expected HOST"),
        ("address=127.0.0.1:0", "address=127.0.0.1:0: no server"),
        ("address=127.0.0.1 law=vegas", "law=vegas: expected 2 (TCP-like)"),
        ("address=127.0.0.1 scheduler=best", "scheduler=best: expected"),
        ("address=127.0.0.1 paths=a/b", "paths: "),
        ("address=127.0.0.1 secret-file=/nonexistent", "/nonexistent"),
        ("address=127.0.0.1 peer-fingerprint=abc", "peer-fingerprint=abc: "),
    ] {
        let sink = Running::new(&format!("fakesrc ! whimbrelsink name=w {properties}"));
        assert!(sink.0.set_state(gst::State::Paused).is_err(), "{properties}");
        let error = sink.error().expect("an error");
        assert!(error.contains(expected), "{properties}: {error}");
    }
    let (_first, address) = receiver("", "! fakesink");
    let second = Running::new(&format!("whimbrelsrc name=w address={address} ! fakesink"));
    assert!(second.0.set_state(gst::State::Playing).is_err());
    let error = second.error().expect("an error");
    assert!(error.contains("in use") || error.contains("address="), "{error}");
}

#[test]
fn elements_are_made_from_uris() {
    init();
    for (kind, factory) in [(gst::URIType::Sink, "whimbrelsink"), (gst::URIType::Src, "whimbrelsrc")] {
        let uri = "whimbrel://127.0.0.1:6599?latency=80";
        let element = gst::Element::make_from_uri(kind, uri, None).expect("an element");
        assert_eq!(element.factory().expect("a factory").name(), factory);
        assert_eq!(element.property::<String>("address"), "127.0.0.1:6599");
        assert_eq!(element.property::<u32>("latency"), 80);
        let handler = element.dynamic_cast::<gst::URIHandler>().expect("a handler");
        assert_eq!(handler.uri().as_deref(), Some(uri));
        assert!(handler.set_uri("whimbrel://host:1?secret-file=x").is_err());
    }
}

/// Checks of a pad as by gst-validate: the order of events, no data after the end or before a segment, time
/// stamps within the segment.
#[derive(Default)]
struct Order {
    seen: Vec<&'static str>,
    offences: Vec<String>,
    buffers: usize,
}

impl Order {
    fn on_event(&mut self, event: &gst::EventRef) {
        let (name, before) = match event.type_() {
            gst::EventType::StreamStart => ("stream-start", None),
            gst::EventType::Caps => ("caps", Some("stream-start")),
            gst::EventType::Segment => ("segment", Some("stream-start")),
            gst::EventType::Eos => ("eos", Some("stream-start")),
            _ => return,
        };
        let is_ordered = before.is_none_or(|before| self.seen.contains(&before));
        if !is_ordered || self.seen.contains(&"eos") || (name == "caps" && self.seen.contains(&"segment")) {
            self.offences.push(format!("{name} after {:?}", self.seen));
        }
        self.seen.push(name);
    }

    fn on_buffer(&mut self, buffer: &gst::BufferRef) {
        self.buffers += 1;
        let is_ordered = self.seen.contains(&"segment") && !self.seen.contains(&"eos");
        if !is_ordered || buffer.pts().is_none() || buffer.size() == 0 {
            self.offences.push(format!("a buffer at {:?} after {:?}", buffer.pts(), self.seen));
        }
    }
}

#[test]
fn a_source_sends_events_and_data_in_the_order_of_gst_validate() {
    if !has(&["x264enc", "rtph264pay", "rtph264depay"]) {
        return;
    }
    let rest =
        "! application/x-rtp,media=video,clock-rate=90000,encoding-name=H264 ! rtph264depay ! fakesink";
    let to = Running::new(&format!("whimbrelsrc name=w address=127.0.0.1:0 one-off=true {rest}"));
    let order = Arc::new(std::sync::Mutex::new(Order::default()));
    let observed = order.clone();
    let pad = to.named("w").static_pad("src").expect("a pad");
    let types = gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM;
    pad.add_probe(types, move |_, info| {
        let mut order = observed.lock().expect("sound");
        match &info.data {
            Some(gst::PadProbeData::Buffer(buffer)) => order.on_buffer(buffer),
            Some(gst::PadProbeData::Event(event)) => order.on_event(event),
            _ => {}
        }
        gst::PadProbeReturn::Ok
    });
    to.set(gst::State::Playing);
    until("a port", || to.stat::<String>("listening").is_some());
    let address = to.stat::<String>("listening").expect("a port");
    let before = format!("videotestsrc num-buffers=40 ! {} ! {PAYLOADER}", ENCODER);
    let from = sender(&address, "", &before, "");
    from.set(gst::State::Playing);
    from.wait();
    drop(from);
    to.wait();
    let order = order.lock().expect("sound");
    assert!(order.offences.is_empty(), "{:#?}", order.offences);
    // The number that arrives in time depends on the machine, so only the order is tested.
    assert!(order.buffers > 0 && order.seen.last() == Some(&"eos"), "{} {:?}", order.buffers, order.seen);
}
