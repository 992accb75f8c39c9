//! The sink: a bin with an element for each stream, and the connection.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, anyhow};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use whimbrel_net::Role;
use whimbrel_net::multipath::SchedulerKind;
use whimbrel_relay::address::parse_server;
use whimbrel_relay::{Embedded, Near, Notice, PathSpec, Programs, mechanisms};
use whimbrel_units::Duration;

use super::own::{self, Own};
use super::port::Port;
use super::rate::{Estimate, Others};
use crate::connection::{Connection, now};
use crate::pads::Pads;
use crate::settings::Settings;
use crate::stats::Measured;
use crate::{encoders, key_frames, uri};

pub(crate) static CATEGORY: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("whimbrelsink", gst::DebugColorFlags::empty(), Some("Whimbrel's sink"))
});

const ADDRESS: &str =
    "The listening end, whimbrelsrc or whimbrel relay server, with or without its port (6511): HOST[:PORT]";
/// Its pads.
const PADS: Pads = Pads::SINK;

/// The state of the connection, for all streams.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    measured: Mutex<Measured>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it.
    fn update<T>(&self, change: impl FnOnce(&mut Measured) -> T) -> T {
        let result = change(&mut self.lock());
        self.wake();
        result
    }

    /// Wakes the waiting threads.
    pub(super) fn wake(&self) {
        self.changed.notify_all();
    }

    /// Waits until what was sent has arrived, for that time at most.
    pub(super) fn wait_until_drained(&self, limit: Duration, is_cancelled: impl Fn() -> bool) {
        let end = now() + limit;
        let mut measured = self.lock();
        // Figures from before the last datagram say nothing about it.
        let mut last = measured.figures.as_ref().map(|figures| figures.time_s);
        let mut seen = 0;
        while measured.peer.is_some() && !is_cancelled() {
            let newest = measured.figures.as_ref().map(|figures| figures.time_s);
            if newest != last {
                (last, seen) = (newest, seen + 1);
            }
            let left = end.saturating_since(now());
            if (seen > 1 && measured.is_drained()) || left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(measured, left.into());
            measured = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The implementation of `whimbrelsink`.
#[derive(Debug)]
pub struct Sink {
    settings: Mutex<(Settings, Own)>,
    estimate: Mutex<Estimate>,
    others: Mutex<Others>,
    shared: Arc<Shared>,
    program: Embedded,
    ports: Arc<Mutex<BTreeMap<u8, Port>>>,
    connection: Mutex<Option<Connection>>,
    /// Encoders will be told.
    is_telling: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[glib::object_subclass]
impl ObjectSubclass for Sink {
    const NAME: &'static str = "WhimbrelSink";
    type Type = super::Sink;
    type ParentType = gst::Bin;
    type Interfaces = (gst::URIHandler,);

    fn new() -> Self {
        let ports = Arc::<Mutex<BTreeMap<u8, Port>>>::default();
        let weak = Arc::downgrade(&ports);
        // All that the other end sends here is RTCP.
        let program = Embedded::new(move |number, datagram| {
            let Some(ports) = weak.upgrade() else { return false };
            let port = lock(&ports).get(&number).cloned();
            if let Some(port) = port.as_ref().filter(|_| key_frames::is_asked_for(datagram)) {
                gst::debug!(CATEGORY, obj = port, "a key frame is asked for");
                port.ask_for_key_frame();
            }
            port.is_some()
        });
        Self {
            settings: Mutex::default(),
            estimate: Mutex::default(),
            others: Mutex::default(),
            shared: Arc::default(),
            program,
            ports,
            connection: Mutex::default(),
            is_telling: AtomicBool::new(false),
        }
    }
}

impl ObjectImpl for Sink {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let mut all = Settings::properties(ADDRESS);
            all.extend(own::properties());
            all
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        let mut settings = lock(&self.settings);
        if settings.0.set(pspec.name(), value) {
            return;
        }
        let own = &mut settings.1;
        match pspec.name() {
            "law" => own.law = value.get().unwrap_or_default(),
            "paths" => own.paths = value.get().unwrap_or_default(),
            "scheduler" => own.scheduler = value.get().unwrap_or_default(),
            "freeze-on-link-loss" => own.freezes = value.get().unwrap_or_default(),
            "adapt-encoders" => own.adapts = value.get().unwrap_or_default(),
            "sync" => {
                own.sync = value.get().unwrap_or_default();
                let sync = own.sync;
                drop(settings);
                let ports: Vec<Port> = lock(&self.ports).values().cloned().collect();
                ports.iter().for_each(|port| port.set_property("sync", sync));
            }
            name @ ("min-bitrate" | "max-bitrate") => {
                drop(settings);
                let value = value.get().unwrap_or_default();
                let mut estimate = lock(&self.estimate);
                *(if name == "min-bitrate" { &mut estimate.least } else { &mut estimate.most }) = value;
                let is_news = estimate.is_news();
                drop(estimate);
                if is_news {
                    self.tell();
                }
            }
            _ => {}
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let (settings, own) = lock(&self.settings).clone();
        match pspec.name() {
            "law" => own.law.to_value(),
            "paths" => own.paths.to_value(),
            "scheduler" => own.scheduler.to_value(),
            "freeze-on-link-loss" => own.freezes.to_value(),
            "adapt-encoders" => own.adapts.to_value(),
            "sync" => own.sync.to_value(),
            "estimated-bitrate" => lock(&self.estimate).bitrate().to_value(),
            "min-bitrate" => lock(&self.estimate).least.to_value(),
            "max-bitrate" => lock(&self.estimate).most.to_value(),
            "stats" => self.shared.lock().structure().to_value(),
            name => settings.get(name).unwrap_or_else(|| pspec.default_value().clone()),
        }
    }

    fn constructed(&self) {
        self.parent_constructed();
        PADS.mark(&*self.obj());
        if self.add_port(0).is_none() {
            gst::error!(CATEGORY, imp = self, "the first pad cannot be made");
        }
    }
}

impl GstObjectImpl for Sink {}

impl ElementImpl for Sink {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Whimbrel sink",
                "Sink/Network/RTP",
                "Carries RTP and any other datagrams over one encrypted DCCP connection, with repair and a rate for encoders",
                "The Whimbrel developers",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| PADS.templates());
        &TEMPLATES
    }

    fn request_new_pad(
        &self,
        _template: &gst::PadTemplate,
        name: Option<&str>,
        _caps: Option<&gst::Caps>,
    ) -> Option<gst::Pad> {
        let number = PADS.requested(name, &lock(&self.ports))?;
        self.add_port(number)
    }

    fn release_pad(&self, pad: &gst::Pad) {
        let port = PADS.number_of(pad).and_then(|number| lock(&self.ports).remove(&number));
        if let Some(port) = port {
            PADS.remove(&*self.obj(), &port, pad);
        }
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        if transition == gst::StateChange::ReadyToPaused {
            self.open().map_err(|error| {
                gst::element_imp_error!(self, gst::ResourceError::OpenWrite, ["{error:#}"]);
                gst::StateChangeError
            })?;
        }
        let changed = self.parent_change_state(transition);
        if transition == gst::StateChange::PausedToReady || (changed.is_err() && is_upward(transition)) {
            self.close();
        }
        changed
    }
}

fn is_upward(transition: gst::StateChange) -> bool {
    transition == gst::StateChange::ReadyToPaused
}

impl BinImpl for Sink {}

impl URIHandlerImpl for Sink {
    const URI_TYPE: gst::URIType = gst::URIType::Sink;

    fn protocols() -> &'static [&'static str] {
        &[uri::SCHEME]
    }

    fn uri(&self) -> Option<String> {
        lock(&self.settings).0.uri()
    }

    fn set_uri(&self, uri: &str) -> Result<(), glib::Error> {
        lock(&self.settings).0.set_uri(uri)
    }
}

impl Sink {
    /// Adds a port with its pad; `None` if there is one.
    fn add_port(&self, number: u8) -> Option<gst::Pad> {
        let sync = lock(&self.settings).1.sync;
        let port = Port::new(self.program.clone(), self.shared.clone(), number, sync);
        if let Entry::Vacant(place) = lock(&self.ports).entry(number) {
            place.insert(port.clone());
        } else {
            return None;
        }
        PADS.add(&*self.obj(), &port, &port.pad()?, number)
    }

    /// Opens the connection, and opens it again whenever it is lost.
    fn open(&self) -> anyhow::Result<()> {
        let near = self.near()?;
        let (weak, shared) = (self.obj().downgrade(), self.shared.clone());
        shared.update(|it| *it = Measured::default());
        let ended = weak.clone();
        let connection = Connection::start(
            move |observer, stop| whimbrel_relay::connect(near, observer, stop),
            move |notice| {
                if let Some(sink) = weak.upgrade() {
                    sink.imp().observe(notice);
                }
            },
            move |result| {
                if let (Some(sink), Err(error)) = (ended.upgrade(), result) {
                    gst::element_error!(sink, gst::ResourceError::Write, ["{error:#}"]);
                }
            },
        )?;
        *lock(&self.connection) = Some(connection);
        Ok(())
    }

    fn close(&self) {
        let connection = lock(&self.connection).take();
        drop(connection);
        let stats = self.shared.update(|it| {
            it.peer = None;
            it.structure()
        });
        gst::info!(CATEGORY, imp = self, "{stats}");
    }

    /// The end that the properties describe.
    fn near(&self) -> anyhow::Result<Near> {
        let (settings, own) = lock(&self.settings).clone();
        let address = settings.address.as_deref().context("address: expected HOST or HOST:PORT")?;
        let host = parse_server(address).map_err(|error| anyhow!("address={address}: {error}"))?;
        let paths =
            own.paths.iter().flat_map(|all| all.split(';')).map(str::trim).filter(|it| !it.is_empty());
        let paths: Result<Vec<PathSpec>, _> = paths.map(str::parse).collect();
        let mechanisms = mechanisms();
        let law = mechanisms.parse(&own.law);
        let scheduler = SchedulerKind::from_name(&own.scheduler);
        let mut options = settings.options();
        options.scheduler = scheduler.ok_or_else(|| {
            let names: Vec<_> = SchedulerKind::ALL.iter().map(|each| each.name()).collect();
            anyhow!("scheduler={}: expected {}", own.scheduler, names.join(", "))
        })?;
        Ok(Near {
            options,
            protection: settings.protection(Role::Client, Some(host.host()))?,
            host,
            from: Programs::Embedded(self.program.clone()),
            ccid: law
                .with_context(|| format!("law={}: expected {}", own.law, mechanisms.describe(|_| true)))?,
            freezes: own.freezes,
            follows: false,
            paths: paths.map_err(|error| anyhow!("paths: {error}"))?,
            outages: tokio::sync::broadcast::channel(1).0,
        })
    }

    /// Takes what the connection says, in its thread.
    fn observe(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Connected { peer, .. } => {
                gst::info!(CATEGORY, imp = self, "connected to {peer}");
                self.shared.update(|it| {
                    it.peer = Some(peer.to_string());
                    it.connections += 1;
                });
                // Earlier frames were lost; with a key frame the stream can be decoded at once.
                let ports: Vec<Port> = lock(&self.ports).values().cloned().collect();
                ports.iter().for_each(Port::ask_for_key_frame);
            }
            Notice::Figures(figures) => {
                self.shared.update(|it| it.figures = Some((*figures).clone()));
                if let Some(rate) = figures.encoder_rate_bps
                    && lock(&self.estimate).update(rate)
                {
                    self.tell();
                }
            }
            Notice::Ended(reason) => {
                let had_peer = self.shared.update(|it| {
                    it.last_error = Some((*reason).to_owned());
                    it.peer.take().is_some()
                });
                gst::info!(CATEGORY, imp = self, "{reason}");
                if !had_peer {
                    gst::element_imp_warning!(
                        self,
                        gst::ResourceError::OpenWrite,
                        ["no connection yet: {reason}"]
                    );
                }
            }
            Notice::Warning(text) => gst::warning!(CATEGORY, imp = self, "{text}"),
            Notice::Path(text) => gst::info!(CATEGORY, imp = self, "{text}"),
            _ => {}
        }
    }

    /// Reports the rate to encoders and the application, in another thread: neither delays the connection.
    fn tell(&self) {
        if self.is_telling.swap(true, Ordering::AcqRel) {
            return;
        }
        self.obj().call_async(|sink| {
            let this = sink.imp();
            this.is_telling.store(false, Ordering::Release);
            sink.notify("estimated-bitrate");
            if lock(&this.settings).1.adapts {
                this.adapt();
            }
        });
    }

    /// Sets the rate of the encoders before this element: what other streams leave.
    fn adapt(&self) {
        let ports: Vec<Port> = lock(&self.ports).values().cloned().collect();
        let (mut found, mut others) = (Vec::new(), 0);
        for port in &ports {
            let encoders = port.pad().map(|pad| encoders::before(&pad)).unwrap_or_default();
            if encoders.is_empty() {
                others += port.bytes();
            }
            found.extend(encoders);
        }
        let others = lock(&self.others).update(now(), others);
        let estimate = *lock(&self.estimate);
        let rate = (f64::from(estimate.bitrate()) - others).max(f64::from(estimate.least));
        gst::debug!(CATEGORY, imp = self, "{rate:.0} bit/s for {} encoders", found.len());
        encoders::set_rate(&found, rate);
    }
}
