//! A pad of the source: what arrives at a port of the connection.

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use whimbrel_relay::Embedded;

use super::inlet::Inlet;

glib::wrapper! {
    /// The source of one stream.
    pub(super) struct Port(ObjectSubclass<imp::Port>)
        @extends gst_base::PushSrc, gst_base::BaseSrc, gst::Element, gst::Object;
}

impl Port {
    /// The source of the streams at a port of the connection.
    pub(super) fn new(program: Embedded, number: u8) -> Self {
        let port: Self = glib::Object::builder().property("name", format!("port{number}")).build();
        // The value is set once, here.
        let _ = port.imp().set.set((program, number));
        port
    }

    /// Its pad.
    pub(super) fn pad(&self) -> Option<gst::Pad> {
        self.static_pad("src")
    }

    /// Its queue.
    pub(super) fn inlet(&self) -> &Inlet {
        &self.imp().inlet
    }

    /// A datagram has arrived; `false`: it is lost.
    pub(super) fn deliver(&self, datagram: &[u8]) -> bool {
        self.inlet().push(datagram, self.current_running_time())
    }

    /// Sets the latency, and the caps of the stream, if they are known.
    pub(super) fn configure(&self, latency: gst::ClockTime, caps: Option<gst::Caps>) {
        *self.imp().configured() = (latency, caps);
    }
}

mod imp {
    use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

    use gst_base::prelude::*;
    use gst_base::subclass::base_src::CreateSuccess;
    use gst_base::subclass::prelude::*;

    use super::*;
    use crate::key_frames;

    type Configured = (gst::ClockTime, Option<gst::Caps>);

    #[derive(Debug, Default)]
    pub(in crate::source) struct Port {
        pub(super) set: OnceLock<(Embedded, u8)>,
        pub(super) inlet: Inlet,
        configured: Mutex<Configured>,
    }

    impl Port {
        pub(super) fn configured(&self) -> MutexGuard<'_, Configured> {
            self.configured.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// The caps of the stream: those that are set, or the first that the elements behind take.
        fn stream_caps(&self) -> Option<gst::Caps> {
            let set = self.configured().1.clone();
            set.or_else(|| {
                let mut wanted = self.obj().pad()?.peer_query_caps(None);
                if wanted.is_any() || wanted.is_empty() {
                    return None;
                }
                wanted.truncate();
                wanted.fixate();
                Some(wanted)
            })
        }
    }

    #[glib::object_subclass]
    impl ObjectSubclass for Port {
        const NAME: &'static str = "WhimbrelSourcePort";
        type Type = super::Port;
        type ParentType = gst_base::PushSrc;
    }

    impl ObjectImpl for Port {
        fn constructed(&self) {
            self.parent_constructed();
            let obj = self.obj();
            obj.set_live(true);
            obj.set_format(gst::Format::Time);
        }
    }
    impl GstObjectImpl for Port {}

    impl ElementImpl for Port {
        fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
            static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
                gst::subclass::ElementMetadata::new(
                    "Whimbrel source's port",
                    "Source/Network",
                    "Has the stream of a port of a Whimbrel connection",
                    "The Whimbrel developers",
                )
            });
            Some(&METADATA)
        }

        fn pad_templates() -> &'static [gst::PadTemplate] {
            static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
                let any = gst::Caps::new_any();
                let (source, always) = (gst::PadDirection::Src, gst::PadPresence::Always);
                gst::PadTemplate::new("src", source, always, &any).into_iter().collect()
            });
            &TEMPLATES
        }
    }

    impl BaseSrcImpl for Port {
        fn start(&self) -> Result<(), gst::ErrorMessage> {
            self.inlet.clear();
            Ok(())
        }

        fn stop(&self) -> Result<(), gst::ErrorMessage> {
            self.inlet.clear();
            Ok(())
        }

        fn is_seekable(&self) -> bool {
            false
        }

        fn unlock(&self) -> Result<(), gst::ErrorMessage> {
            self.inlet.set_flushing(true);
            Ok(())
        }

        fn unlock_stop(&self) -> Result<(), gst::ErrorMessage> {
            self.inlet.set_flushing(false);
            Ok(())
        }

        fn negotiate(&self) -> Result<(), gst::LoggableError> {
            match self.stream_caps() {
                Some(caps) => self.obj().set_caps(&caps).map_err(Into::into),
                None => Ok(()),
            }
        }

        fn query(&self, query: &mut gst::QueryRef) -> bool {
            // A repaired datagram is as late as the latency permits.
            if let gst::QueryViewMut::Latency(query) = query.view_mut() {
                query.set(true, self.configured().0, gst::ClockTime::NONE);
                return true;
            }
            BaseSrcImplExt::parent_query(self, query)
        }

        fn event(&self, event: &gst::Event) -> bool {
            // A decoder asks for a key frame: the other end's encoder learns it.
            if key_frames::is_request(event)
                && let Some((program, number)) = self.set.get()
            {
                if let Some(source) = self.inlet.source() {
                    program.send(*number, key_frames::picture_loss(source).into());
                }
                return true;
            }
            self.parent_event(event)
        }
    }

    impl PushSrcImpl for Port {
        fn create(&self, _: Option<&mut gst::BufferRef>) -> Result<CreateSuccess, gst::FlowError> {
            let mut buffers = self.inlet.pop()?;
            match (buffers.len(), buffers.pop()) {
                (1, Some(buffer)) => Ok(CreateSuccess::NewBuffer(buffer)),
                (_, last) => {
                    buffers.extend(last);
                    Ok(CreateSuccess::NewBufferList(buffers.into_iter().collect()))
                }
            }
        }
    }
}
