//! A pad of the sink: what arrives is sent at a port of the connection.

use std::sync::Arc;

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use whimbrel_relay::Embedded;

use super::imp::Shared;

glib::wrapper! {
    /// The sink of one stream.
    pub(super) struct Port(ObjectSubclass<imp::Port>) @extends gst_base::BaseSink, gst::Element, gst::Object;
}

impl Port {
    /// The sink of the streams at a port of the connection.
    pub(super) fn new(program: Embedded, shared: Arc<Shared>, number: u8, sync: bool) -> Self {
        let port: Self = glib::Object::builder().property("name", format!("port{number}")).build();
        port.set_property("sync", sync);
        // A stream with little data, such as positions, does not keep the pipeline from playing.
        port.set_property("async", false);
        // The value is set once, here.
        let _ = port.imp().set.set(imp::Set { program, shared, number });
        port
    }

    /// Its pad.
    pub(super) fn pad(&self) -> Option<gst::Pad> {
        self.static_pad("sink")
    }

    /// Bytes so far.
    pub(super) fn bytes(&self) -> u64 {
        self.imp().bytes.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// The other end asks for a key frame.
    pub(super) fn ask_for_key_frame(&self) {
        if let Some(event) = self.imp().next_request() {
            self.call_async(move |port| {
                if let Some(pad) = port.pad() {
                    let _ = pad.push_event(event);
                }
            });
        }
    }
}

mod imp {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

    use bytes::Bytes;
    use gst_base::subclass::prelude::*;
    use whimbrel_relay::Payload;
    use whimbrel_rtp::Codec;
    use whimbrel_units::{Duration, Instant};

    use super::*;
    use crate::connection::now;
    use crate::key_frames;

    /// Time between two requests for key frames: two frames of a camera at 20 frames a second.
    const REQUESTS: Duration = Duration::from_millis(100);
    /// Time, in addition to the latency, for the last datagrams to arrive before the stream ends.
    const DRAIN: Duration = Duration::from_secs(2);

    #[derive(Debug)]
    pub(in crate::sink) struct Set {
        pub(super) program: Embedded,
        pub(super) shared: Arc<Shared>,
        pub(super) number: u8,
    }

    #[derive(Debug, Default)]
    pub(in crate::sink) struct Port {
        pub(super) set: OnceLock<Set>,
        pub(super) bytes: AtomicU64,
        /// The number of requests so far, and the time of the last one.
        requests: Mutex<(u32, Option<Instant>)>,
        is_unlocked: AtomicBool,
    }

    #[glib::object_subclass]
    impl ObjectSubclass for Port {
        const NAME: &'static str = "WhimbrelSinkPort";
        type Type = super::Port;
        type ParentType = gst_base::BaseSink;
    }

    impl ObjectImpl for Port {}
    impl GstObjectImpl for Port {}

    impl ElementImpl for Port {
        fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
            static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
                gst::subclass::ElementMetadata::new(
                    "Whimbrel sink's port",
                    "Sink/Network",
                    "Sends a stream at a port of a Whimbrel connection",
                    "The Whimbrel developers",
                )
            });
            Some(&METADATA)
        }

        fn pad_templates() -> &'static [gst::PadTemplate] {
            static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
                let any = gst::Caps::new_any();
                let (sink, always) = (gst::PadDirection::Sink, gst::PadPresence::Always);
                gst::PadTemplate::new("sink", sink, always, &any).into_iter().collect()
            });
            &TEMPLATES
        }
    }

    impl Port {
        /// The event of a request for a key frame; `None` if one was made just now.
        pub(super) fn next_request(&self) -> Option<gst::Event> {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            let now = now();
            if requests.1.is_some_and(|last| now < last + REQUESTS) {
                return None;
            }
            *requests = (requests.0.wrapping_add(1), Some(now));
            Some(key_frames::request(requests.0))
        }

        fn send(&self, buffer: &gst::BufferRef) -> Result<(), gst::FlowError> {
            let Some(set) = self.set.get() else { return Err(gst::FlowError::Error) };
            let map = buffer.map_readable().map_err(|_| gst::FlowError::Error)?;
            self.bytes.fetch_add(map.len() as u64, Ordering::Relaxed);
            set.program.send(set.number, Bytes::copy_from_slice(&map));
            Ok(())
        }
    }

    impl BaseSinkImpl for Port {
        fn set_caps(&self, caps: &gst::Caps) -> Result<(), gst::LoggableError> {
            if let Some(set) = self.set.get() {
                set.program.announce(set.number, payload(caps));
            }
            self.parent_set_caps(caps)
        }

        fn render(&self, buffer: &gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
            self.send(buffer).map(|()| gst::FlowSuccess::Ok)
        }

        fn render_list(&self, list: &gst::BufferList) -> Result<gst::FlowSuccess, gst::FlowError> {
            list.iter().try_for_each(|buffer| self.send(buffer)).map(|()| gst::FlowSuccess::Ok)
        }

        fn event(&self, event: gst::Event) -> bool {
            // An application that stops at the end of the stream is not to lose its last datagrams.
            if event.type_() == gst::EventType::Eos
                && let Some(set) = self.set.get()
            {
                set.shared.wait_until_drained(DRAIN, || self.is_unlocked.load(Ordering::Relaxed));
            }
            self.parent_event(event)
        }

        fn unlock(&self) -> Result<(), gst::ErrorMessage> {
            self.is_unlocked.store(true, Ordering::Relaxed);
            if let Some(set) = self.set.get() {
                set.shared.wake();
            }
            Ok(())
        }

        fn unlock_stop(&self) -> Result<(), gst::ErrorMessage> {
            self.is_unlocked.store(false, Ordering::Relaxed);
            Ok(())
        }
    }

    /// The description of a stream by its caps.
    fn payload(caps: &gst::Caps) -> Payload {
        let Some(structure) = caps.structure(0) else { return Payload::Unknown };
        let is_rtp = structure.name() == "application/x-rtp";
        let codec = || Codec::from_name(&structure.get::<&str>("encoding-name").ok()?.to_ascii_lowercase());
        match is_rtp.then(codec) {
            None if structure.name() == "application/x-srtp" => Payload::Rtp,
            None => Payload::Unknown,
            Some(codec) => codec.map_or(Payload::Rtp, Payload::Video),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn caps_name_the_codec() {
            gst::init().expect("GStreamer");
            for (caps, expected) in [
                ("application/x-rtp,media=video,encoding-name=H264", Payload::Video(Codec::H264)),
                ("application/x-rtp,media=video,encoding-name=VP8", Payload::Video(Codec::Vp8)),
                ("application/x-rtp,media=audio,encoding-name=OPUS", Payload::Rtp),
                ("application/x-rtp", Payload::Rtp),
                ("application/x-srtp,encoding-name=H264", Payload::Rtp),
                ("video/mpegts,systemstream=true", Payload::Unknown),
            ] {
                assert_eq!(payload(&caps.parse().expect("caps")), expected, "{caps}");
            }
        }
    }
}
