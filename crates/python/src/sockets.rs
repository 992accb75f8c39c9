//! Sockets: the calls that never wait. `whimbrel.aio` waits for their descriptors in its event loop.

mod events;

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use whimbrel_net::multipath::SubflowStage;
use whimbrel_net::polled::{self, Paths, Protection, Runtime};
use whimbrel_net::{
    Authorities, Bytes, Ccid, Config, ConnectionError, ConnectionSnapshot, Fingerprint, FrameRole,
    FreezeScope, HostOptions, HostPort, Identity, KeyError, Mark, MobilityConfig, NetError, OverflowPolicy,
    ParseHostPortError, PathChange, RepairCounts, Role, Security, SendError, ServiceCode, Setup,
    SharedSecret, SocketOptions, Trust,
};

use crate::{detached, errors};
use events::describe;

pyo3::create_exception!(
    _core,
    SocketError,
    pyo3::exceptions::PyException,
    "The end of a connection: its kind (closed, connection, security, not_listening) and a message."
);

fn raised(error: NetError) -> PyErr {
    let message = error.chain();
    let kind = match error {
        NetError::Io { .. } | NetError::Name { .. } => return PyOSError::new_err(message),
        NetError::Config(_) | NetError::Send(SendError::TooLarge { .. }) => {
            return PyValueError::new_err(message);
        }
        NetError::Connection(ConnectionError::ClosedLocally | ConnectionError::ClosedByPeer)
        | NetError::Send(SendError::Closed) => "closed",
        NetError::Security(_) => "security",
        NetError::Send(SendError::PeerNotListening) => "not_listening",
        _ => "connection",
    };
    SocketError::new_err((kind, message))
}

fn key_error(error: KeyError) -> PyErr {
    errors::argument(error.to_string())
}

fn address(text: &str) -> PyResult<HostPort> {
    let host: HostPort =
        text.parse().map_err(|error: ParseHostPortError| errors::argument(error.to_string()))?;
    if host.port().is_none() {
        return Err(errors::argument(format!(
            "{text}: expected a port as well, such as {}",
            host.or_port(6511)
        )));
    }
    Ok(host)
}

/// The thread that drives sockets.
#[pyclass(frozen, weakref)]
pub(crate) struct SocketRuntime(Runtime);

#[pymethods]
impl SocketRuntime {
    #[new]
    fn new() -> PyResult<Self> {
        Runtime::start().map(Self).map_err(raised)
    }
}

/// The protection of connections.
#[pyclass(frozen, name = "Protection")]
pub(crate) struct PyProtection(Protection);

#[pymethods]
impl PyProtection {
    #[staticmethod]
    fn plaintext() -> Self {
        Self(Protection::Plaintext)
    }

    #[staticmethod]
    fn secret(secret: &[u8]) -> PyResult<Self> {
        SharedSecret::new(secret).map(Protection::Secret).map(Self).map_err(key_error)
    }

    /// PEM texts, and fingerprints or authorities with a name.
    #[staticmethod]
    #[pyo3(signature = (key, certificate, fingerprints, authorities, name))]
    fn keys(
        key: &str,
        certificate: Option<&str>,
        fingerprints: Vec<String>,
        authorities: Option<&str>,
        name: Option<&str>,
    ) -> PyResult<Self> {
        let identity = match certificate {
            None => Identity::from_pem(key),
            Some(certificate) => Identity::from_pem_with_certificate(key, certificate),
        };
        let trust = match authorities {
            None => {
                let parsed = fingerprints.iter().map(|text| {
                    let parsed = text.parse::<Fingerprint>();
                    parsed.map_err(|error| errors::argument(format!("{text}: {error}")))
                });
                Trust::Pinned(parsed.collect::<PyResult<_>>()?)
            }
            Some(text) => {
                let authorities = Authorities::from_pem(text).map_err(key_error)?;
                Trust::Authorities(match name {
                    Some(name) => authorities.named(name).map_err(key_error)?,
                    None => authorities,
                })
            }
        };
        Ok(Self(Protection::Keys(Security::new(identity.map_err(key_error)?, trust))))
    }
}

/// A new private key as PEM, and its fingerprint.
#[pyfunction]
pub(crate) fn generate_key() -> PyResult<(String, String)> {
    let identity = Identity::generate().map_err(key_error)?;
    Ok((identity.to_pem().to_string(), identity.fingerprint().to_string()))
}

/// The fingerprint of a private key in PEM.
#[pyfunction]
pub(crate) fn key_fingerprint(key: &str) -> PyResult<String> {
    Ok(Identity::from_pem(key).map_err(key_error)?.fingerprint().to_string())
}

/// The configuration of connections.
#[pyclass(frozen)]
pub(crate) struct SocketConfig {
    config: Config,
    protection: Protection,
    receive_queue: usize,
    latency: Option<Duration>,
    paths: Paths,
}

impl SocketConfig {
    fn setup(&self, role: Role) -> Setup {
        let setup = self.protection.setup(self.config.clone(), role);
        self.paths.setup(setup.with_latency(self.latency.map(Into::into)))
    }
}

#[pymethods]
impl SocketConfig {
    #[new]
    #[pyo3(signature = (protection, service_code, ccid, send_queue, refuse, receive_queue, idle_s, mobile, latency_s, paths, scheduler))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        protection: &PyProtection,
        service_code: u32,
        ccid: u8,
        send_queue: Option<usize>,
        refuse: bool,
        receive_queue: usize,
        idle_s: Option<f64>,
        mobile: bool,
        latency_s: Option<f64>,
        paths: Vec<String>,
        scheduler: Option<&str>,
    ) -> PyResult<Self> {
        let mut config = Config::default()
            .service_code(ServiceCode(service_code))
            .sender_ccids([Ccid(ccid)])
            .receiver_ccids([Ccid(ccid)]);
        if let Some(datagrams) = send_queue {
            config.send_queue = config.send_queue.max_datagrams(datagrams);
        }
        if refuse {
            config.send_queue = config.send_queue.overflow(OverflowPolicy::Refuse);
        }
        config.timers.idle = match idle_s {
            None => None,
            Some(idle) => Some(seconds(idle, "idle_timeout")?.into()),
        };
        if mobile {
            config.freeze = config.freeze.offer(true);
            config.mobility = Some(MobilityConfig::default());
        }
        config.validate().map_err(|error| errors::argument(error.to_string()))?;
        let latency = latency_s.map(|latency| seconds(latency, "latency")).transpose()?;
        let mut over = Paths::default();
        paths.iter().try_for_each(|path| over.add(path)).map_err(raised)?;
        scheduler.map_or(Ok(()), |name| over.set_scheduler(name)).map_err(raised)?;
        Ok(Self { config, protection: protection.0.clone(), receive_queue, latency, paths: over })
    }
}

/// A time of some seconds.
fn seconds(value: f64, name: &str) -> PyResult<Duration> {
    let time = Duration::try_from_secs_f64(value);
    time.map_err(|_| errors::argument(format!("{name} is {value}: expected seconds, 0 or more")))
}

/// Accepts connections.
#[pyclass(frozen)]
pub(crate) struct SocketListener(polled::Listener);

#[pymethods]
impl SocketListener {
    #[new]
    fn new(
        py: Python<'_>,
        runtime: &SocketRuntime,
        local: &str,
        port: u16,
        config: &SocketConfig,
    ) -> PyResult<Self> {
        let local = address(local)?;
        let setup = config.setup(Role::Server);
        let options = HostOptions::default().receive_queue(config.receive_queue);
        let bound = detached::run(py, || polled::Listener::bind(&runtime.0, local, port, setup, options));
        bound.map(Self).map_err(raised)
    }

    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    fn local(&self) -> (String, u16) {
        parts(self.0.local())
    }

    fn try_accept(&self) -> PyResult<Option<Socket>> {
        Ok(self.0.try_accept().map_err(raised)?.map(Socket))
    }
}

fn parts(address: SocketAddr) -> (String, u16) {
    (address.ip().to_string(), address.port())
}

/// A connection.
#[pyclass(frozen)]
pub(crate) struct Socket(polled::Socket);

/// The place of a datagram in a frame: stream, role, whether it is the last, datagrams of the frame.
type Place = (u64, String, bool, Option<u8>);

/// Data, sequence number, time of arrival in seconds, ECN codepoint, path.
type Datagram<'py> = (Bound<'py, PyBytes>, u64, f64, u8, u32);

impl Socket {
    /// `closed` during the handshake, when there is nothing to command.
    fn open(&self) -> PyResult<Arc<whimbrel_net::Socket>> {
        let open = self.0.get().map_err(raised)?;
        open.ok_or_else(|| SocketError::new_err(("connection", "the handshake is not complete")))
    }
}

#[pymethods]
impl Socket {
    #[new]
    fn new(runtime: &SocketRuntime, remote: &str, port: u16, config: &SocketConfig) -> PyResult<Self> {
        let setup = config.setup(Role::Client);
        let options = SocketOptions::default().receive_queue(config.receive_queue);
        polled::Socket::connect(&runtime.0, address(remote)?, port, setup, options).map(Self).map_err(raised)
    }

    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    fn event_fileno(&self) -> i32 {
        self.0.event_fd().as_raw_fd()
    }

    fn is_open(&self) -> PyResult<bool> {
        Ok(self.0.get().map_err(raised)?.is_some())
    }

    fn try_recv<'py>(&self, py: Python<'py>) -> PyResult<Option<Datagram<'py>>> {
        let received = self.0.try_recv().map_err(raised)?;
        Ok(received.map(|received| {
            let payload = PyBytes::new(py, &received.payload);
            let (sequence, path) = (received.sequence.value(), received.subflow.0);
            (payload, sequence, received.arrival.as_secs_f64(), received.ecn.bits(), path)
        }))
    }

    /// The datagram's number; `None` if the queue is full and refuses.
    fn try_send(&self, data: &[u8], lifetime_s: Option<f64>, place: Option<Place>) -> PyResult<Option<u64>> {
        let lifetime = lifetime_s.map(|lifetime| seconds(lifetime, "lifetime")).transpose()?;
        let mark = place.map_or(Ok(Mark::SINGLE), mark)?;
        match self.0.try_send_part(Bytes::copy_from_slice(data), lifetime, mark) {
            Ok(id) => Ok(Some(id.0)),
            Err(NetError::Send(SendError::QueueFull)) => Ok(None),
            Err(error) => Err(raised(error)),
        }
    }

    /// A kind, and its fields.
    fn try_event<'py>(&self, py: Python<'py>) -> PyResult<Option<(&'static str, Bound<'py, PyDict>)>> {
        let Some(event) = self.0.try_event().map_err(raised)? else { return Ok(None) };
        let fields = PyDict::new(py);
        let kind = describe(&event, &fields)?;
        Ok(Some((kind, fields)))
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let socket = self.open()?;
        let Some(snapshot) = socket.snapshot() else { return Ok(None) };
        let fields = measured(py, &snapshot)?;
        let statistics = &snapshot.statistics;
        fields.set_item("queued_datagrams", snapshot.queued_datagrams)?;
        fields.set_item("queued_bytes", snapshot.queued_bytes)?;
        fields.set_item("datagrams_dropped", statistics.datagrams_dropped)?;
        fields.set_item("receive_overflows", socket.receive_overflows())?;
        fields.set_item("kernel_drops", socket.kernel_drops())?;
        fields.set_item("forgeries", socket.forgeries())?;
        fields.set_item("is_frozen", snapshot.freeze.local || snapshot.freeze.by_peer)?;
        Ok(Some(fields))
    }

    /// Counters of repair; `None` if the ends have not agreed on it.
    fn repair<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let socket = self.open()?;
        match socket.repair() {
            Some(counts) => repaired(py, counts).map(Some),
            None if socket.snapshot().is_some() => Ok(None),
            None => Err(SocketError::new_err(("closed", "the connection is over"))),
        }
    }

    /// The paths of a connection over several.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let subflows = self.open()?.paths().map(|paths| paths.subflows).unwrap_or_default();
        let paths = subflows.iter().map(|subflow| {
            let fields = measured(py, &subflow.connection)?;
            fields.set_item("number", subflow.id.0)?;
            fields.set_item("local", parts(subflow.path.local))?;
            fields.set_item("remote", parts(subflow.path.remote))?;
            let state = match (subflow.stage, subflow.is_alive) {
                (SubflowStage::Joining, _) => "joining",
                (SubflowStage::Established, true) => "up",
                (SubflowStage::Established, false) => "failed",
                _ => "ended",
            };
            fields.set_item("state", state)?;
            Ok(fields)
        });
        paths.collect()
    }

    fn local(&self) -> PyResult<(String, u16)> {
        Ok(parts(self.open()?.local()))
    }

    fn remote(&self) -> PyResult<(String, u16)> {
        Ok(parts(self.open()?.remote()))
    }

    fn peer(&self) -> PyResult<Option<String>> {
        Ok(self.open()?.peer().map(|peer| peer.to_string()))
    }

    fn freeze(&self, scope: &str) -> PyResult<()> {
        self.open()?.freeze(freeze_scope(scope)?);
        Ok(())
    }

    fn unfreeze(&self, scope: &str) -> PyResult<()> {
        self.open()?.unfreeze(freeze_scope(scope)?);
        Ok(())
    }

    fn rebind(&self, py: Python<'_>) -> PyResult<()> {
        detached::run(py, || self.0.rebind(None, PathChange::Reset)).map_err(raised)
    }

    fn close(&self) {
        self.0.close();
    }

    fn abort(&self) -> PyResult<()> {
        self.open()?.abort();
        Ok(())
    }
}

/// The measurements that a path has as well.
fn measured<'py>(py: Python<'py>, snapshot: &ConnectionSnapshot) -> PyResult<Bound<'py, PyDict>> {
    let (sender, statistics) = (&snapshot.sender, &snapshot.statistics);
    let fields = PyDict::new(py);
    let rtt = sender.rtt.or(snapshot.rtt);
    fields.set_item("rtt_s", rtt.map(|rtt| rtt.as_secs_f64()))?;
    fields.set_item("allowed_rate", sender.allowed_rate.map(|rate| rate.as_bits_per_second()))?;
    fields.set_item("receive_rate", sender.receive_rate.map(|rate| rate.as_bits_per_second()))?;
    fields.set_item("loss_event_rate", sender.loss_event_rate)?;
    fields.set_item("max_datagram", snapshot.max_datagram)?;
    fields.set_item("datagrams_sent", statistics.datagrams_sent)?;
    fields.set_item("bytes_sent", statistics.bytes_sent)?;
    fields.set_item("datagrams_received", statistics.datagrams_received)?;
    fields.set_item("bytes_received", statistics.bytes_received)?;
    fields.set_item("packets_lost", sender.lost)?;
    fields.set_item("packets_lost_here", snapshot.receiver.lost)?;
    Ok(fields)
}

fn repaired(py: Python<'_>, counts: RepairCounts) -> PyResult<Bound<'_, PyDict>> {
    let RepairCounts { sent, received, budget, .. } = counts;
    let fields = PyDict::new(py);
    fields.set_item("repeats_sent", sent.repeats)?;
    fields.set_item("coded_sent", sent.parity + sent.surplus)?;
    fields.set_item("data_bytes", sent.source_bytes)?;
    fields.set_item("repair_bytes", sent.repair_bytes + received.report_bytes)?;
    fields.set_item("frames_dropped", sent.dropped_frames)?;
    fields.set_item("without_round", sent.without_round)?;
    fields.set_item("out_of_reach", sent.out_of_reach)?;
    fields.set_item("over_share", sent.over_share)?;
    fields.set_item("reports", sent.reports)?;
    fields.set_item("repeated", received.repeated)?;
    fields.set_item("restored", received.restored)?;
    fields.set_item("given_up", received.lost)?;
    fields.set_item("late", received.late)?;
    fields.set_item("hurried", received.hurried)?;
    fields.set_item("budget_s", budget.as_secs_f64())?;
    Ok(fields)
}

fn mark((stream, role, ends_frame, count): Place) -> PyResult<Mark> {
    let role = match role.as_str() {
        "inner" => FrameRole::Inner,
        "start" => FrameRole::Start,
        "disposable" => FrameRole::Disposable,
        _ => {
            let text = format!("role is {role:?}: expected 'start', 'inner' or 'disposable'");
            return Err(errors::argument(text));
        }
    };
    if count == Some(0) {
        return Err(errors::argument("count is 0: expected 1 to 255 datagrams, or None"));
    }
    Ok(Mark { stream, ends_frame, role, count, captured: None })
}

fn freeze_scope(scope: &str) -> PyResult<FreezeScope> {
    match scope {
        "local" => Ok(FreezeScope::Local),
        "remote" => Ok(FreezeScope::Remote),
        "both" => Ok(FreezeScope::Both),
        _ => Err(errors::argument(format!("scope is {scope:?}: expected 'local', 'remote' or 'both'"))),
    }
}
