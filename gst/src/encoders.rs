//! The encoders of a pipeline, whose rate follows the connection's rate.

use gst::prelude::*;

/// Elements between an encoder and the sink that are looked at.
const MOST: usize = 32;
/// An encoder exceeds its target for moments: it gets this share of its rate.
const SHARE: f64 = 0.9;

/// The property that sets the rate of an encoder, and its unit in bit/s.
struct Control {
    encoder: &'static str,
    property: &'static str,
    unit: f64,
}

const fn control(encoder: &'static str, property: &'static str, unit: f64) -> Control {
    Control { encoder, property, unit }
}

/// Encoders whose rate can be changed while they run. `av1enc` of GStreamer 1.22 is not one of them: it
/// accepts another target, but keeps its rate.
const CONTROLS: &[Control] = &[
    control("x264enc", "bitrate", 1e3),
    control("x265enc", "bitrate", 1e3),
    control("vp8enc", "target-bitrate", 1.0),
    control("vp9enc", "target-bitrate", 1.0),
    control("openh264enc", "bitrate", 1.0),
    control("vah264enc", "bitrate", 1e3),
    control("vah264lpenc", "bitrate", 1e3),
    control("vah265enc", "bitrate", 1e3),
    control("vaapih264enc", "bitrate", 1e3),
    control("vaapih265enc", "bitrate", 1e3),
    control("nvh264enc", "bitrate", 1e3),
    control("nvh265enc", "bitrate", 1e3),
    control("v4l2h264enc", "extra-controls", 1.0),
    control("v4l2h265enc", "extra-controls", 1.0),
    control("v4l2vp8enc", "extra-controls", 1.0),
];

fn control_of(element: &gst::Element) -> Option<&'static Control> {
    let factory = element.factory()?;
    CONTROLS.iter().find(|control| factory.name() == control.encoder)
}

/// The encoders whose data arrive at a pad, that is, the nearest on each way to it.
pub(crate) fn before(pad: &gst::Pad) -> Vec<gst::Element> {
    let mut found = Vec::new();
    let mut pads = vec![pad.clone()];
    for _ in 0..MOST {
        let Some(pad) = pads.pop() else { break };
        let Some(element) = element_before(&pad) else { continue };
        if control_of(&element).is_none() {
            pads.extend(element.sink_pads());
        } else if !found.contains(&element) {
            found.push(element);
        }
    }
    found
}

/// The element that is linked to a pad, also if it is in another bin.
fn element_before(pad: &gst::Pad) -> Option<gst::Element> {
    let mut peer = pad.peer()?;
    for _ in 0..MOST {
        if let Some(ghost) = peer.downcast_ref::<gst::GhostPad>() {
            // Into a bin.
            peer = ghost.target()?;
        } else if let Some(ghost) = peer.parent().and_downcast::<gst::GhostPad>() {
            // Out of a bin.
            peer = ghost.peer()?;
        } else {
            return peer.parent_element();
        }
    }
    None
}

/// Divides a rate in bit/s among encoders.
pub(crate) fn set_rate(encoders: &[gst::Element], rate: f64) {
    let rate = SHARE * rate / encoders.len().max(1) as f64;
    for encoder in encoders {
        let Some(control) = control_of(encoder) else { continue };
        let value = ((rate / control.unit) as u32).max(1);
        if control.property == "extra-controls" {
            let controls = gst::Structure::builder("controls").field("video_bitrate", value as i32).build();
            encoder.set_property(control.property, controls);
        } else {
            encoder.set_property_from_str(control.property, &value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// An element of the system, if it is installed.
    fn make(factory: &str) -> Option<gst::Element> {
        gst::init().expect("GStreamer");
        gst::ElementFactory::make(factory).build().ok()
    }

    #[test]
    fn encoders_take_the_rate_in_their_units() {
        let mut known = 0;
        for (factory, property, expected) in [
            ("x264enc", "bitrate", 900),
            ("x265enc", "bitrate", 900),
            ("vp8enc", "target-bitrate", 900_000),
            ("vp9enc", "target-bitrate", 900_000),
            ("openh264enc", "bitrate", 900_000),
        ] {
            let Some(encoder) = make(factory) else { continue };
            set_rate(std::slice::from_ref(&encoder), 1e6);
            let value = encoder.property_value(property).transform::<u64>().expect("a number");
            assert_eq!(value.get::<u64>(), Ok(expected), "{factory}");
            known += 1;
        }
        assert!(known > 0, "none of the encoders is installed");
    }

    /// Bytes of the last 50 of 150 pictures of noise, if the rate is set to `rate` after 50.
    fn size_at(encoder: &str, rate: f64) -> Option<u64> {
        let name = encoder.split(' ').next()?;
        make(name)?;
        let text = format!(
            "videotestsrc num-buffers=150 pattern=snow ! video/x-raw,format=I420,width=96,height=64,framerate=25/1 ! {encoder} \
             name=e ! fakesink"
        );
        let pipeline = gst::parse::launch(&text).expect("a pipeline").downcast::<gst::Pipeline>().ok()?;
        let encoder = pipeline.by_name("e")?;
        set_rate(std::slice::from_ref(&encoder), 1e6);
        let (pictures, bytes) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
        let weak = encoder.downgrade();
        let pad = encoder.static_pad("sink")?;
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
            if pictures.fetch_add(1, Ordering::Relaxed) == 50
                && let Some(encoder) = weak.upgrade()
            {
                set_rate(&[encoder], rate);
            }
            gst::PadProbeReturn::Ok
        });
        let (coded, sum) = (AtomicU64::new(0), bytes.clone());
        encoder.static_pad("src")?.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            if coded.fetch_add(1, Ordering::Relaxed) >= 100 {
                let size = info.buffer().map_or(0, |buffer| buffer.size() as u64);
                sum.fetch_add(size, Ordering::Relaxed);
            }
            gst::PadProbeReturn::Ok
        });
        pipeline.set_state(gst::State::Playing).expect("a state");
        let types = [gst::MessageType::Eos, gst::MessageType::Error];
        let message = pipeline.bus()?.timed_pop_filtered(gst::ClockTime::from_seconds(120), &types);
        pipeline.set_state(gst::State::Null).expect("a state");
        assert_eq!(message.map(|message| message.type_()), Some(gst::MessageType::Eos), "{name}");
        Some(bytes.load(Ordering::Relaxed))
    }

    #[test]
    fn encoders_change_their_rate_while_they_run() {
        for encoder in [
            "x264enc tune=zerolatency speed-preset=ultrafast",
            "x265enc tune=zerolatency speed-preset=ultrafast",
            "vp8enc deadline=1 end-usage=cbr",
            "vp9enc deadline=1 cpu-used=8 end-usage=cbr",
            "openh264enc rate-control=bitrate",
        ] {
            let (Some(high), Some(low)) = (size_at(encoder, 1e6), size_at(encoder, 0.25e6)) else { continue };
            println!("{encoder}: {high} and {low} bytes");
            assert!(low < high * 2 / 3, "{encoder}: {high} and {low} bytes");
        }
    }

    #[test]
    fn an_encoder_is_found_behind_other_elements_and_in_a_bin() {
        let Some(encoder) = make("vp8enc") else { panic!("gstreamer1.0-plugins-good is needed") };
        let [first, last] = [0, 1].map(|_| make("identity").expect("gstreamer1.0-plugins-base"));
        let bin = gst::Bin::new();
        bin.add_many([&encoder, &first]).expect("new elements");
        encoder.link(&first).expect("any caps");
        let inside = first.static_pad("src").expect("a pad");
        let ghost = gst::GhostPad::with_target(&inside).expect("a target");
        bin.add_pad(&ghost).expect("a new pad");
        let pipeline = gst::Pipeline::new();
        pipeline.add_many([bin.upcast_ref::<gst::Element>(), &last]).expect("new elements");
        bin.link(&last).expect("any caps");
        let second = make("identity").expect("gstreamer1.0-plugins-base");
        pipeline.add(&second).expect("a new element");
        last.link(&second).expect("any caps");
        assert_eq!(before(&second.static_pad("sink").expect("a pad")), [encoder]);
        // A bin from within: its ghost pad leads out of it.
        let within = gst::Bin::new();
        let inner = make("identity").expect("gstreamer1.0-plugins-base");
        within.add(&inner).expect("a new element");
        let ghost = gst::GhostPad::with_target(&inner.static_pad("sink").expect("a pad")).expect("a target");
        within.add_pad(&ghost).expect("a new pad");
        pipeline.add(&within).expect("a new element");
        second.link(&within).expect("any caps");
        assert_eq!(before(&inner.static_pad("sink").expect("a pad")).len(), 1);
    }
}
