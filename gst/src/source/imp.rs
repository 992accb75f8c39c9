//! The source: a bin with an element for each stream, and the end that listens.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use anyhow::anyhow;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use whimbrel_net::{Role, Scheme};
use whimbrel_relay::address::parse_own;
use whimbrel_relay::{Embedded, Far, Notice, Programs};

use super::port::Port;
use crate::connection::Connection;
use crate::pads::Pads;
use crate::settings::Settings;
use crate::stats::Measured;
use crate::uri;

static CATEGORY: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("whimbrelsrc", gst::DebugColorFlags::empty(), Some("Whimbrel's source"))
});

const ADDRESS: &str = "Address and port to listen at; port 0: any free one, which stats has. Without one: port 6511 of all addresses, and \
                       without keys of this host alone";
/// Its pads.
const PADS: Pads = Pads::SOURCE;

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
        PADS.mark(&*self.obj());
        if self.add_port(0).is_none() {
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

    /// Adds a port with its pad; `None` if there is one.
    fn add_port(&self, number: u8) -> Option<gst::Pad> {
        let port = Port::new(self.program.clone(), number);
        if let Entry::Vacant(place) = lock(&self.ports).entry(number) {
            place.insert(port.clone());
        } else {
            return None;
        }
        self.configure_ports();
        PADS.add(&*self.obj(), &port, &port.pad()?, number)
    }

    /// Sets the elements of the pads by the properties.
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
            // A pad carries one stream, from the newest connection.
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
