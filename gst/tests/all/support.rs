//! Helpers that the tests share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

use gst::prelude::*;

/// The longest time for which a test waits for something that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Makes the elements known.
pub(crate) fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        gst::init().expect("GStreamer");
        gstwhimbrel::plugin_register_static().expect("the elements");
    });
}

/// `true` if these elements are installed. Otherwise prints the reason or, with `REQUIRE_ALL=1`, fails the
/// test.
pub(crate) fn has(elements: &[&str]) -> bool {
    init();
    let missing: Vec<_> = elements.iter().filter(|name| gst::ElementFactory::find(name).is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    let text = format!(
        "without {missing:?}. Install: sudo apt-get install gstreamer1.0-plugins-{{base,good,bad,ugly}} gstreamer1.0-libav"
    );
    assert!(std::env::var("REQUIRE_ALL").as_deref() != Ok("1"), "{text}");
    eprintln!("skipped: {text}");
    false
}

/// Waits until that holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let clock = whimbrel_net::Clock::start();
    let end = clock.now() + PATIENCE.into();
    while !holds() {
        assert!(clock.now() < end, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A pipeline, which ends when dropped.
pub(crate) struct Running(pub(crate) gst::Pipeline);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.set_state(gst::State::Null);
    }
}

impl Running {
    /// A pipeline with an element of ours, which has the name `w`.
    pub(crate) fn new(text: &str) -> Self {
        init();
        let pipeline = gst::parse::launch(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        Self(pipeline.downcast().unwrap_or_else(|element| {
            // An element alone.
            let pipeline = gst::Pipeline::new();
            pipeline.add(&element).expect("a new element");
            pipeline
        }))
    }

    /// The element with that name.
    pub(crate) fn named(&self, name: &str) -> gst::Element {
        self.0.by_name(name).unwrap_or_else(|| panic!("no element has the name {name}"))
    }

    pub(crate) fn set(&self, state: gst::State) {
        if self.0.set_state(state).is_err() {
            panic!("{state:?}: {:?}", self.error());
        }
    }

    /// Plays.
    pub(crate) fn play(self) -> Self {
        self.set(gst::State::Playing);
        self
    }

    /// The first error on the bus.
    pub(crate) fn error(&self) -> Option<String> {
        let bus = self.0.bus().expect("a bus");
        let message = bus.pop_filtered(&[gst::MessageType::Error])?;
        let gst::MessageView::Error(error) = message.view() else { return None };
        Some(format!("{} ({:?})", error.error(), error.debug()))
    }

    /// Waits for the end of its streams.
    pub(crate) fn wait(&self) {
        let bus = self.0.bus().expect("a bus");
        let types = [gst::MessageType::Eos, gst::MessageType::Error];
        let limit = gst::ClockTime::try_from(PATIENCE).expect("short");
        let message = bus.timed_pop_filtered(limit, &types).expect("the end of the stream");
        assert_eq!(message.type_(), gst::MessageType::Eos, "{message:?}");
    }

    /// A field of the element's `stats`.
    pub(crate) fn stat<T: for<'a> gst::glib::value::FromValue<'a> + 'static>(
        &self,
        field: &str,
    ) -> Option<T> {
        self.named("w").property::<gst::Structure>("stats").get(field).ok()
    }

    /// Waits until there is a connection.
    pub(crate) fn connected(&self) {
        until("a connection", || self.stat("connected") == Some(true));
    }

    /// Counts the buffers that pass the pad of an element.
    pub(crate) fn count(&self, element: &str, pad: &str) -> Arc<AtomicUsize> {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let pad = self.named(element).static_pad(pad).expect("a pad");
        let types = gst::PadProbeType::BUFFER | gst::PadProbeType::BUFFER_LIST;
        pad.add_probe(types, move |_, info| {
            let buffers = match &info.data {
                Some(gst::PadProbeData::BufferList(list)) => list.len(),
                _ => 1,
            };
            counted.fetch_add(buffers, Ordering::Relaxed);
            gst::PadProbeReturn::Ok
        });
        count
    }

    /// Counts the requests for key frames that an element gets at its source pad.
    pub(crate) fn requests(&self, element: &str) -> Arc<AtomicUsize> {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let pad = self.named(element).static_pad("src").expect("a pad");
        pad.add_probe(gst::PadProbeType::EVENT_UPSTREAM, move |_, info| {
            if let Some(gst::PadProbeData::Event(event)) = &info.data
                && event.structure().is_some_and(|it| it.name() == "GstForceKeyUnit")
            {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            gst::PadProbeReturn::Ok
        });
        count
    }
}

/// The count now.
pub(crate) fn of(count: &AtomicUsize) -> usize {
    count.load(Ordering::Relaxed)
}

/// A receiver that listens at any free port, and its address. In `rest`, the source has the name `w`.
pub(crate) fn receiver(options: &str, rest: &str) -> (Running, String) {
    let receiver = Running::new(&format!("whimbrelsrc name=w address=127.0.0.1:0 {options} {rest}")).play();
    until("a port", || receiver.stat::<String>("listening").is_some());
    let address = receiver.stat("listening").expect("a port");
    (receiver, address)
}

/// A sender to that address, connected and about to play.
pub(crate) fn sender(address: &str, options: &str, before: &str, rest: &str) -> Running {
    let text = format!("{before} ! whimbrelsink name=w address={address} {options} {rest}");
    let sender = Running::new(&text);
    sender.set(gst::State::Paused);
    sender.connected();
    sender
}
