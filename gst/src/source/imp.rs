//! The source: a bin with an element for each stream, and the end that listens.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use whimbrel_net::{Role, Scheme};
use whimbrel_relay::address::parse_own;
use whimbrel_relay::{Embedded, Far, MAX_PORTS, Notice, Programs};

use super::port::Port;
use crate::connection::Connection;
use crate::settings::Settings;
use crate::stats::Measured;
use crate::uri;

static CATEGORY: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("whimbrelsrc", gst::DebugColorFlags::empty(), Some("Whimbrel's source"))
});

const ADDRESS: &str = "Address and port to listen at; port 0: any free one, which stats has. Without one: port 6511 of all addresses, and \
                       without keys of this host alone";
/// The name of the pad of the first port.
const FIRST: &str = "src";
/// The names of the others.
const OTHERS: &str = "src_%u";

/// The properties of this end alone.
#[derive(Clone, Debug, Default)]
struct Own {
    caps: Option<gst::Caps>,
    scheme: Option<String>,
    one_off: bool,
}

/// The implementation of `whimbrelsrc`.
#[derive(Debug)]
pub struct Source {
    settings: Mutex<(Settings, Own)>,
    measured: Mutex<Measured>,
    program: Embedded,
    ports: Arc<Mutex<BTreeMap<u8, Port>>>,
    connection: Mutex<Option<Connection>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[glib::object_subclass]
impl ObjectSubclass for Source {
    const NAME: &'static str = "WhimbrelSource";
    type Type = super::Source;
    type ParentType = gst::Bin;
    type Interfaces = (gst::URIHandler,);

    fn new() -> Self {
        let ports = Arc::<Mutex<BTreeMap<u8, Port>>>::default();
        let weak = Arc::downgrade(&ports);
        let program = Embedded::new(move |number, datagram| {
            let Some(ports) = weak.upgrade() else { return false };
            let port = lock(&ports).get(&number).cloned();
            port.is_some_and(|port| port.deliver(datagram))
        });
        Self {
            settings: Mutex::default(),
            measured: Mutex::default(),
            program,
            ports,
            connection: Mutex::default(),
        }
    }
}

impl ObjectImpl for Source {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let mut all = Settings::properties(ADDRESS);
            all.extend([
                glib::ParamSpecBoxed::builder::<gst::Caps>("caps")
                    .nick("Caps")
                    .blurb("The caps of the pad src; without them, the first that the next elements take")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecString::builder("loss-scheme")
                    .nick("Loss scheme")
                    .blurb(
                        "Distinguishes losses on a radio from congestion losses: biaz, mbiaz, spike, zigzag, zbs, zbs2, zbs3 or \
                         inherent. Without one: spike with repair, none without",
                    )
                    .mutable_ready()
                    .build(),
                glib::ParamSpecBoolean::builder("one-off")
                    .nick("One-off")
                    .blurb("End the streams when the first connection has ended, instead of waiting for the next one")
                    .mutable_ready()
                    .build(),
            ]);
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
            "caps" => own.caps = value.get().unwrap_or_default(),
            "loss-scheme" => own.scheme = value.get().unwrap_or_default(),
            "one-off" => own.one_off = value.get().unwrap_or_default(),
            _ => {}
        }
    }
    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let (settings, own) = lock(&self.settings).clone();
        match pspec.name() {
            "caps" => own.caps.to_value(),
            "loss-scheme" => own.scheme.to_value(),
            "one-off" => own.one_off.to_value(),
            "stats" => lock(&self.measured).structure().to_value(),
            name => settings.get(name).unwrap_or_else(|| pspec.default_value().clone()),
        }
    }
    fn constructed(&self) {
        self.parent_constructed();
        let obj = self.obj();
        obj.set_suppressed_flags(gst::ElementFlags::SINK | gst::ElementFlags::SOURCE);
        obj.set_element_flags(gst::ElementFlags::SOURCE);
        if self.add_port(0, FIRST).is_none() {
            gst::error!(CATEGORY, imp = self, "the first pad cannot be made");
        }
    }
}

impl GstObjectImpl for Source {}

impl ElementImpl for Source {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Whimbrel source",
                "Source/Network/RTP",
                "Has RTP and any other datagrams of one encrypted DCCP connection, repaired and in order within its latency",
                "The Whimbrel developers",
            )
        });
        Some(&METADATA)
    }
    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let any = gst::Caps::new_any();
            let source = gst::PadDirection::Src;
            let first = gst::PadTemplate::new(FIRST, source, gst::PadPresence::Always, &any);
            let others = gst::PadTemplate::new(OTHERS, source, gst::PadPresence::Request, &any);
            [first, others].into_iter().flatten().collect()
        });
        &TEMPLATES
    }

    fn request_new_pad(
        &self,
        _template: &gst::PadTemplate,
        name: Option<&str>,
        _caps: Option<&gst::Caps>,
    ) -> Option<gst::Pad> {
        let number = match name.and_then(|name| name.strip_prefix("src_")) {
            Some(number) => number.parse().ok().filter(|number| usize::from(*number) < MAX_PORTS)?,
            None => {
                let ports = lock(&self.ports);
                (0..MAX_PORTS as u8).find(|number| !ports.contains_key(number))?
            }
        };
        self.add_port(number, &format!("src_{number}"))
    }
    fn release_pad(&self, pad: &gst::Pad) {
        let number = pad.name().strip_prefix("src_").and_then(|number| number.parse().ok());
        let Some(port) = number.and_then(|number: u8| lock(&self.ports).remove(&number)) else { return };
        let _ = port.set_state(gst::State::Null);
        let _ = pad.set_active(false);
        let _ = self.obj().remove_pad(pad);
        let _ = self.obj().remove(&port);
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        let is_start = transition == gst::StateChange::ReadyToPaused;
        if is_start {
            self.configure_ports();
        }
        let changed = self.parent_change_state(transition);
        if is_start && changed.is_ok() {
            // The queues of the pads are ready by now.
            self.open().map_err(|error| {
                gst::element_imp_error!(self, gst::ResourceError::OpenRead, ["{error:#}"]);
                gst::StateChangeError
            })?;
        }
        if transition == gst::StateChange::PausedToReady {
            self.close();
        }
        changed
    }
}

impl BinImpl for Source {}

impl URIHandlerImpl for Source {
    const URI_TYPE: gst::URIType = gst::URIType::Src;

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

impl Source {
    fn ports(&self) -> Vec<Port> {
        lock(&self.ports).values().cloned().collect()
    }
    /// Adds the pad of a port, and its element; `None` if there is one.
    fn add_port(&self, number: u8, name: &str) -> Option<gst::Pad> {
        let obj = self.obj();
        let port = Port::new(self.program.clone(), number);
        {
            let mut ports = lock(&self.ports);
            if ports.contains_key(&number) {
                return None;
            }
            ports.insert(number, port.clone());
        }
        self.configure_ports();
        let template = if name == FIRST { FIRST } else { OTHERS };
        let template = obj.pad_template(template)?;
        obj.add(&port).ok()?;
        let pad = gst::GhostPad::builder_from_template_with_target(&template, &port.pad()?).ok()?;
        let pad = pad.name(name).build();
        let _ = pad.set_active(true);
        obj.add_pad(&pad).ok()?;
        let _ = port.sync_state_with_parent();
        Some(pad.upcast())
    }
    /// Tells the elements of the pads what the properties say.
    fn configure_ports(&self) {
        let (settings, own) = lock(&self.settings).clone();
        let latency = gst::ClockTime::from_mseconds(settings.latency_ms.into());
        for (number, port) in lock(&self.ports).iter() {
            port.configure(latency, own.caps.clone().filter(|_| *number == 0));
        }
    }

    /// Listens.
    fn open(&self) -> anyhow::Result<()> {
        let far = self.far()?;
        *lock(&self.measured) = Measured::default();
        let (weak, ended) = (self.obj().downgrade(), self.obj().downgrade());
        let connection = Connection::start(
            move |observer, stop| whimbrel_relay::listen(far, observer, stop),
            move |notice| {
                if let Some(source) = weak.upgrade() {
                    source.imp().observe(notice);
                }
            },
            move |result| {
                let Some(source) = ended.upgrade() else { return };
                if let Err(error) = result {
                    gst::element_error!(source, gst::ResourceError::Read, ["{error:#}"]);
                }
                source.imp().ports().iter().for_each(|port| port.inlet().end());
            },
        )?;
        *lock(&self.connection) = Some(connection);
        Ok(())
    }
    fn close(&self) {
        let connection = lock(&self.connection).take();
        drop(connection);
        let mut measured = lock(&self.measured);
        measured.peer = None;
        gst::info!(CATEGORY, imp = self, "{}", measured.structure());
    }

    /// The end that the properties describe.
    fn far(&self) -> anyhow::Result<Far> {
        let (settings, own) = lock(&self.settings).clone();
        let bind = settings
            .address
            .as_deref()
            .map(|address| parse_own(address).map_err(|error| anyhow!("address={address}: {error}")));
        let scheme = own
            .scheme
            .as_deref()
            .map(|scheme| scheme.parse::<Scheme>().map_err(|error| anyhow!("loss-scheme={scheme}: {error}")));
        Ok(Far {
            options: settings.options(),
            to: Programs::Embedded(self.program.clone()),
            bind: bind.transpose()?,
            socket: None,
            lda: scheme.transpose()?,
            reorder: None,
            // A pad has one stream: that of the newest connection.
            max_peers: 1,
            one_off: own.one_off,
            protection: settings.protection(Role::Server, None)?,
        })
    }

    /// Takes what the connection says, in its thread.
    fn observe(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Listening { at, .. } => {
                gst::info!(CATEGORY, imp = self, "listening at UDP {at}");
                lock(&self.measured).listening = Some(at.to_string());
            }
            Notice::Connected { peer, .. } => {
                gst::info!(CATEGORY, imp = self, "{peer} has connected");
                let mut measured = lock(&self.measured);
                measured.peer = Some(peer.to_string());
                measured.connections += 1;
                drop(measured);
                self.ports().iter().for_each(|port| port.inlet().begin());
            }
            Notice::Figures(figures) => lock(&self.measured).figures = Some((*figures).clone()),
            Notice::Ended(reason) => {
                gst::info!(CATEGORY, imp = self, "{reason}");
                let mut measured = lock(&self.measured);
                measured.peer = None;
                measured.last_error = Some((*reason).to_owned());
            }
            Notice::Warning(text) => gst::warning!(CATEGORY, imp = self, "{text}"),
            Notice::Path(text) => gst::info!(CATEGORY, imp = self, "{text}"),
            _ => {}
        }
    }
}
