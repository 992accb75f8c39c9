//! Streams of all kinds arrive as they were sent.

use std::fs;

use gst::prelude::*;
use tempfile::TempDir;

use crate::support::{Running, has, init, of, receiver, sender, until};

/// Time that a datagram has: what a test machine does at the same time is not to lose one.
const PATIENT: &str = "latency=5000";
const PICTURES: &str = "videotestsrc num-buffers=40 ! video/x-raw,width=160,height=120,framerate=25/1";

/// Sends pictures through an encoder and a payloader; returns how many were decoded.
fn decoded(encoder: &str, payloader: &str, decoder: &str) -> usize {
    let (to, address) =
        receiver(&format!("one-off=true {PATIENT}"), &format!("! {decoder} ! fakesink name=end"));
    let pictures = to.count("end", "sink");
    let from = sender(&address, PATIENT, &format!("{PICTURES} ! {encoder} ! {payloader}"), "");
    from.set(gst::State::Playing);
    from.wait();
    drop(from);
    to.wait();
    of(&pictures)
}

#[test]
fn pictures_of_h264_arrive() {
    if has(&["x264enc", "rtph264pay", "avdec_h264", "h264parse"]) {
        let encoder = "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=10";
        let payloader = "rtph264pay config-interval=-1 mtu=1200";
        assert_eq!(decoded(encoder, payloader, "rtph264depay ! h264parse ! avdec_h264"), 40);
    }
}

#[test]
fn pictures_of_h265_arrive() {
    if has(&["x265enc", "rtph265pay", "avdec_h265", "h265parse"]) {
        let encoder = "x265enc tune=zerolatency speed-preset=ultrafast key-int-max=10";
        let payloader = "rtph265pay config-interval=-1 mtu=1200";
        assert_eq!(decoded(encoder, payloader, "rtph265depay ! h265parse ! avdec_h265"), 40);
    }
}

#[test]
fn pictures_of_vp8_arrive() {
    if has(&["vp8enc", "rtpvp8pay", "vp8dec"]) {
        let encoder = "vp8enc deadline=1 keyframe-max-dist=10";
        assert_eq!(decoded(encoder, "rtpvp8pay mtu=1200", "rtpvp8depay ! vp8dec"), 40);
    }
}

/// With the payload format of AV1 from gst-plugins-rs if it is installed; otherwise with GStreamer's own
/// format, which takes any stream.
#[test]
fn pictures_of_av1_arrive() {
    if !has(&["av1enc", "av1dec", "rtpgstpay", "rtpgstdepay"]) {
        return;
    }
    let is_installed = |name| gst::ElementFactory::find(name).is_some();
    let encoder = "av1enc usage-profile=realtime cpu-used=8 keyframe-max-dist=10 ! av1parse";
    let [payloader, depayloader] = if is_installed("rtpav1pay") && is_installed("rtpav1depay") {
        ["rtpav1pay mtu=1200", "rtpav1depay ! av1parse ! av1dec"]
    } else {
        ["rtpgstpay mtu=1200 config-interval=1", "rtpgstdepay ! av1parse ! av1dec"]
    };
    assert_eq!(decoded(encoder, payloader, depayloader), 40);
}

#[test]
fn video_and_speech_share_a_connection() {
    if !has(&["vp8enc", "rtpvp8pay", "vp8dec", "opusenc", "rtpopuspay", "opusdec"]) {
        return;
    }
    let rest = "! rtpvp8depay ! vp8dec ! fakesink name=pictures w.src_1 ! rtpopusdepay ! opusdec ! fakesink name=sound";
    let (to, address) = receiver(&format!("one-off=true {PATIENT}"), rest);
    let (pictures, sound) = (to.count("pictures", "sink"), to.count("sound", "sink"));
    let video = format!("{PICTURES} ! vp8enc deadline=1 ! rtpvp8pay mtu=1200");
    let audio = "audiotestsrc num-buffers=80 samplesperbuffer=960 ! audio/x-raw,rate=48000 ! opusenc ! rtpopuspay ! w.sink_1";
    let from = sender(&address, PATIENT, &video, audio);
    from.set(gst::State::Playing);
    from.wait();
    let connections = from.stat::<u64>("connections");
    drop(from);
    to.wait();
    // The last packet of Opus may be shorter than 20 ms, or missing.
    assert!(of(&pictures) == 40 && (79..=82).contains(&of(&sound)), "{} and {}", of(&pictures), of(&sound));
    assert_eq!((connections, to.stat("connections")), (Some(1), Some(1u64)));
}

#[test]
fn metadata_of_klv_arrive() {
    if !has(&["rtpklvpay", "rtpklvdepay"]) {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let (sent, received) = (folder.path().join("sent"), folder.path().join("received"));
    // A universal key of SMPTE 336M, and 4000 bytes.
    let mut unit = vec![0x06, 0x0e, 0x2b, 0x34, 2, 11, 1, 1, 14, 1, 3, 1, 1, 0, 0, 0, 0x82, 0x0f, 0xa0];
    unit.extend((0..4000u32).map(|n| (n * 7) as u8));
    fs::write(&sent, &unit).expect("room");
    let rest = format!("! rtpklvdepay ! filesink location={}", received.display());
    let (to, address) = receiver(&format!("one-off=true {PATIENT}"), &rest);
    let before = format!(
        "filesrc location={} blocksize=65536 ! meta/x-klv,parsed=true ! rtpklvpay mtu=1200",
        sent.display()
    );
    let from = sender(&address, PATIENT, &before, "");
    from.set(gst::State::Playing);
    from.wait();
    drop(from);
    to.wait();
    assert_eq!(fs::read(received).expect("a file"), unit);
}

#[test]
fn a_transport_stream_arrives_byte_by_byte_without_rtp() {
    if !has(&["x264enc", "mpegtsmux"]) {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let (sent, received) = (folder.path().join("sent"), folder.path().join("received"));
    let rest = format!("! filesink location={}", received.display());
    let (to, address) = receiver(&format!("one-off=true {PATIENT}"), &rest);
    let before = format!(
        "{PICTURES} ! x264enc tune=zerolatency speed-preset=ultrafast ! mpegtsmux alignment=7 ! tee name=t ! queue ! filesink \
         location={} t. ! queue",
        sent.display()
    );
    let from = sender(&address, PATIENT, &before, "");
    from.set(gst::State::Playing);
    from.wait();
    drop(from);
    to.wait();
    let (sent, received) = (fs::read(sent).expect("a file"), fs::read(received).expect("a file"));
    assert!(sent.len() > 10_000 && sent == received, "{} and {} bytes", sent.len(), received.len());
}

/// A pad that pushes what a test makes into the sink.
fn feed(from: &Running) -> gst::Pad {
    let pad = gst::Pad::builder(gst::PadDirection::Src).name("feed").build();
    pad.set_active(true).expect("a new pad");
    pad.link(&from.named("w").static_pad("sink").expect("a pad")).expect("any caps");
    pad.push_event(gst::event::StreamStart::new("test"));
    pad.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    pad
}

#[test]
fn buffer_lists_and_streams_after_a_flush_arrive() {
    init();
    let (to, address) = receiver(PATIENT, "! fakesink name=end sync=false");
    let arrived = to.count("end", "sink");
    let from = Running::new(&format!("whimbrelsink name=w address={address} sync=false {PATIENT}")).play();
    from.connected();
    let pad = feed(&from);
    let buffer = |text: String| gst::Buffer::from_slice(text.into_bytes());
    pad.push_list((0..10).map(|n| buffer(format!("{n} of a list"))).collect()).expect("a sink");
    until("a list", || of(&arrived) == 10);
    pad.push_event(gst::event::FlushStart::new());
    assert_eq!(pad.push(buffer("lost".into())), Err(gst::FlowError::Flushing));
    pad.push_event(gst::event::FlushStop::new(true));
    pad.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    pad.push(buffer("after it".into())).expect("a sink");
    until("a datagram", || of(&arrived) == 11);
    // The largest datagram of UDP is divided, and joined again.
    pad.push(gst::Buffer::from_slice(vec![7; 65_000])).expect("a sink");
    until("a large datagram", || of(&arrived) == 12);
}
