//! Elements that start, stop, and start again; and other ends that do.

use std::fs;
use std::process::{Command, Stdio};

use gst::prelude::*;

use crate::documents::plugin_folder;
use crate::support::{Running, init, of, receiver, sender, until};

/// Threads and files of other tests.
const OTHERS: usize = 60;
const STREAM: &str = "fakesrc name=s sizetype=fixed sizemax=500 format=time datarate=50000";

/// The numbers of threads and of open files of this process.
fn resources() -> (usize, usize) {
    let count = |folder: &str| fs::read_dir(folder).expect("Linux").count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

#[test]
fn elements_start_and_stop_again_and_again() {
    init();
    let to = Running::new("whimbrelsrc name=w address=127.0.0.1:0 ! fakesink sync=false name=end");
    let arrived = to.count("end", "sink");
    let from = Running::new(&format!("{STREAM} ! whimbrelsink name=w"));
    let mut first = None;
    // A thousand changes of state.
    for cycle in 0..84 {
        to.set(gst::State::Playing);
        from.named("w").set_property("address", to.stat::<String>("listening").expect("it listens"));
        let before = of(&arrived);
        // Three changes to PLAYING, and three back, of each end.
        from.set(gst::State::Playing);
        // Each second time without a word to the other end.
        if cycle % 2 == 0 {
            until("a stream", || of(&arrived) > before);
        }
        // Either end may be the first to stop.
        let order = if cycle % 4 < 2 { [&from, &to] } else { [&to, &from] };
        order.iter().for_each(|each| each.set(gst::State::Null));
        let now = resources();
        let (threads, files) = *first.get_or_insert(now);
        // Other tests run at the same time, and GStreamer keeps threads for later; a leak recurs each time.
        assert!(now.0 < threads + OTHERS && now.1 < files + OTHERS, "{now:?} after {threads} and {files}");
    }
}

#[test]
fn a_sink_connects_again_when_the_other_end_has_started_again() {
    init();
    let (to, address) = receiver("", "! fakesink name=end sync=false");
    let arrived = to.count("end", "sink");
    let from = sender(&address, "", STREAM, "");
    from.set(gst::State::Playing);
    until("a stream", || of(&arrived) > 10);
    let requests = from.requests("s");
    to.set(gst::State::Null);
    to.named("w").set_property("address", &address);
    to.set(gst::State::Playing);
    let before = of(&arrived);
    until("a stream", || of(&arrived) > before + 10);
    assert_eq!((from.stat("connections"), to.stat("connections")), (Some(2u64), Some(1u64)));
    // Frames sent meanwhile are lost, so the new connection begins with a key frame.
    until("a request", || of(&requests) > 0);
    assert!(from.error().is_none());
}

#[test]
fn a_stream_without_data_does_not_keep_others_from_playing() {
    init();
    let (to, address) = receiver("", "! fakesink name=end sync=false");
    let arrived = to.count("end", "sink");
    let from = Running::new(&format!("{STREAM} ! whimbrelsink name=w address={address}"));
    assert!(from.named("w").request_pad_simple("sink_5").is_some());
    from.set(gst::State::Playing);
    until("a stream", || of(&arrived) > 10);
}

#[test]
fn a_sink_waits_for_the_other_end_and_stops_at_once_without_it() {
    init();
    let (to, address) = receiver("", "! fakesink");
    drop(to);
    let from = Running::new(&format!("{STREAM} ! whimbrelsink name=w address={address}")).play();
    until("an attempt", || from.stat::<String>("last-error").is_some() || of_sent(&from) > 0);
    from.set(gst::State::Null);
    assert!(from.error().is_none());
}

fn of_sent(from: &Running) -> u64 {
    from.stat::<gst::Structure>("sent").and_then(|it| it.get("sent").ok()).unwrap_or(0)
}

#[test]
fn pads_come_and_go_while_the_sink_plays() {
    init();
    let (to, address) =
        receiver("", "! fakesink name=end sync=false w.src_3 ! fakesink name=other sync=false async=false");
    let (arrived, other) = (to.count("end", "sink"), to.count("other", "sink"));
    let from = sender(&address, "", STREAM, "");
    from.set(gst::State::Playing);
    until("a stream", || of(&arrived) > 10);
    let source = gst::parse::launch("fakesrc name=t sizetype=fixed sizemax=100 format=time datarate=10000")
        .expect("a source");
    let source = source.downcast::<gst::Bin>().map_or_else(|source| source, |bin| bin.upcast());
    from.0.add(&source).expect("a new element");
    let sink = from.named("w");
    let pad = sink.request_pad_simple("sink_3").expect("a port");
    assert!(sink.request_pad_simple("sink_64").is_none(), "a connection has 64 ports");
    let out = source.static_pad("src").expect("a pad");
    out.link(&pad).expect("any caps");
    source.sync_state_with_parent().expect("a state");
    until("another stream", || of(&other) > 3);
    let _ = source.set_state(gst::State::Null);
    let _ = out.unlink(&pad);
    sink.release_request_pad(&pad);
    let _ = from.0.remove(&source);
    let before = of(&arrived);
    until("a stream", || of(&arrived) > before + 10);
}

#[test]
fn no_object_is_left_when_a_program_ends() {
    init();
    let plugins = plugin_folder();
    let launch = |arguments: String| {
        let mut command = Command::new("gst-launch-1.0");
        command.args(["-q"]).args(arguments.split_whitespace());
        command.env("GST_TRACERS", "leaks").env("GST_DEBUG", "GST_TRACER:7");
        command.env("GST_PLUGIN_PATH", plugins.path()).stderr(Stdio::piped()).stdout(Stdio::null());
        command.spawn().expect("gstreamer1.0-tools")
    };
    // A port that was free just now.
    let (probe, address) = receiver("", "! fakesink");
    drop(probe);
    let to = launch(format!("whimbrelsrc one-off=true address={address} ! fakesink sync=false"));
    let from = launch(format!("{STREAM} num-buffers=200 ! whimbrelsink address={address}"));
    for (name, program) in [("sink", from), ("source", to)] {
        let done = program.wait_with_output().expect("a program");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{name}: {said}");
        // The tracer describes its records before.
        let left: Vec<_> =
            said.lines().filter(|line| line.contains("object-alive, type-name=(string)")).collect();
        let left: Vec<_> = left.into_iter().filter(|line| !line.contains("%s")).collect();
        assert!(said.contains("object-alive.class") && left.is_empty(), "{name}: {left:#?}");
    }
}
