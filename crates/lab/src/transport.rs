//! The transports of the laboratory.
//!
//! A transport is a module with a [`Transport`]: the scenario keys that it has, and the two ends of a flow. A
//! line in the table below makes it known to scenarios, runner, records and captures. A program may add
//! transports of its own to a document ([`Transports::with`]).

pub mod dccp;
pub mod explicit;
pub mod media;
pub mod mp_dccp;
pub mod tcp;
pub mod udp;

mod content;
mod end;
mod flow;
mod layers;
pub mod repair;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;
use whimbrel_netsim::medium::Observation;
use whimbrel_netsim::{
    Agent, Ecn, LinkId, LossCause, NodeId, Packet, PassingPacket, RoutingRequest, Shim, StationId,
    StoredPacket, UnroutedPacket,
};
use whimbrel_scenario::transport::Settings;
use whimbrel_scenario::{Note, ScenarioError, TransportKind, TransportPlan, decode};
use whimbrel_units::Instant;

pub use content::{Content, IpHeaders};
pub use end::{FlowEnd, SenderEstimate};
pub use flow::{FlowSetup, FrameParts};
pub use layers::Encryption;
pub use repair::{Repair, RepairKind};

use crate::payload::Envelope;

transports! {
    // transport: the content of its packets; its ends
    dccp::Dccp: Dccp(whimbrel_wire::Packet); Dccp(dccp::DccpAgent);
    tcp::Tcp: Tcp(tcp::TcpContent); TcpSender(tcp::TcpSenderAgent), TcpReceiver(tcp::TcpReceiverAgent);
    udp::Udp: Udp(udp::UdpContent); UdpSource(udp::UdpSource), UdpSink(udp::UdpSink);
    media::Media: Media(media::MediaContent); MediaSender(media::MediaSender), MediaReceiver(media::MediaReceiver);
    mp_dccp::MpDccp: Annotated(dccp::AnnotatedPacket); MpDccp(dccp::DccpAgent<mp_dccp::Several>);
    explicit::Xcp: Explicit(explicit::ExplicitContent); ExplicitSender(explicit::ExplicitSender), ExplicitReceiver(explicit::ExplicitReceiver);
}

/// A transport: what scenarios say of it.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// The value of `transport` in scenarios.
    const NAME: &'static str;
    /// A sentence for the schema.
    const DESCRIPTION: &'static str;
    /// The keys of a flow that only this transport has: the keys of [`Keys`](Self::Keys).
    const KEYS: &'static [&'static str];
    /// `true` if the ends take [commands](whimbrel_scenario::signals::Command).
    const TAKES_COMMANDS: bool = false;

    /// The keys of a flow that only this transport has, as fields.
    type Keys: DeserializeOwned + JsonSchema;

    /// Configures the transport for a flow whose table has the key `key`.
    ///
    /// # Errors
    /// Names the key at fault.
    fn configure(&self, key: &str, keys: Self::Keys) -> Result<Box<dyn FlowTransport>, ScenarioError>;

    /// Notes on keys without effect in a flow's table.
    fn notes(&self, key: &str, flow: &Settings) -> Vec<Note> {
        let _ = (key, flow);
        Vec::new()
    }
}

/// A transport configured for a flow.
pub trait FlowTransport: CloneBox + Any + fmt::Debug + Send + Sync {
    /// The scheme's short name in records: `ccid3`, `tcp-sack`, `udp`.
    fn scheme(&self) -> String;

    /// `true` if the transport delivers packets as they were sent; `false` if it delivers a stream of bytes,
    /// whose losses it retransmits.
    fn delivers_packets(&self) -> bool {
        true
    }

    /// Bytes of all headers of a data packet, without options that are not in every packet.
    fn headers(&self) -> u32;

    /// The sending and the receiving end.
    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2];

    /// Sets the parameters that depend on the traffic: the application data in a full packet, and `greedy`
    /// for unlimited data.
    ///
    /// # Errors
    /// Names the key at fault; `key` is the key of the flow's table.
    fn fit(&mut self, key: &str, payload: u32, greedy: bool) -> Result<(), ScenarioError> {
        let _ = (key, payload, greedy);
        Ok(())
    }

    /// The name of the loss classifier in records.
    fn classifier(&self) -> &'static str {
        "none"
    }

    /// `true` if the receiver answers: then a path has to lead back, and bulk data is possible.
    fn has_feedback(&self) -> bool {
        true
    }

    /// `true` if runs with different seeds may differ in more than initial sequence numbers.
    fn is_random(&self) -> bool {
        false
    }

    /// `true` if all neighbours of the sender receive the packets.
    fn is_broadcast(&self) -> bool {
        false
    }

    /// The name of the flow of broadcasts that the receiver receives as well. This flow sends nothing.
    fn joins(&self) -> Option<&str> {
        None
    }

    /// `true` if packets travel in UDP datagrams.
    fn is_encapsulated(&self) -> bool {
        false
    }

    /// `true` if the ends observe stations: the sending end the 802.11 stations of its node, and both the
    /// terminals of their paths.
    fn observes_station(&self) -> bool {
        false
    }

    /// `true` if records show which frames were in time.
    fn records_frames(&self) -> bool {
        false
    }

    /// `true` if records show the freeze states of senders.
    fn records_freezing(&self) -> bool {
        false
    }

    /// `true` if records show the receiver's reorder buffer.
    fn records_reordering(&self) -> bool {
        false
    }
}

/// Cloning of a boxed [`FlowTransport`]; implemented for all that are `Clone`.
pub trait CloneBox {
    /// A copy in a box.
    fn clone_box(&self) -> Box<dyn FlowTransport>;
}

impl<T: FlowTransport + Clone> CloneBox for T {
    fn clone_box(&self) -> Box<dyn FlowTransport> {
        Box::new(self.clone())
    }
}

/// The transport of a flow of a plan.
pub struct Configured {
    flow: Box<dyn FlowTransport>,
    takes_commands: bool,
}

impl Configured {
    /// A transport whose ends take no commands.
    pub(crate) fn new(flow: impl FlowTransport) -> Self {
        Self { flow: Box::new(flow), takes_commands: false }
    }

    /// The transport, if it is of that type.
    pub fn get<T: FlowTransport>(&self) -> Option<&T> {
        let flow: &dyn Any = &*self.flow;
        flow.downcast_ref()
    }

    /// The same, to be changed.
    pub fn get_mut<T: FlowTransport>(&mut self) -> Option<&mut T> {
        let flow: &mut dyn Any = &mut *self.flow;
        flow.downcast_mut()
    }
}

impl Clone for Configured {
    fn clone(&self) -> Self {
        Self { flow: (*self.flow).clone_box(), takes_commands: self.takes_commands }
    }
}

impl fmt::Debug for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.flow.fmt(f)
    }
}

impl std::ops::Deref for Configured {
    type Target = dyn FlowTransport;

    fn deref(&self) -> &Self::Target {
        &*self.flow
    }
}

impl TransportPlan for Configured {
    fn headers(&self) -> u32 {
        self.flow.headers()
    }

    fn fit(&mut self, key: &str, payload: u32, greedy: bool) -> Result<(), ScenarioError> {
        self.flow.fit(key, payload, greedy)
    }

    fn has_feedback(&self) -> bool {
        self.flow.has_feedback()
    }

    fn delivers_packets(&self) -> bool {
        self.flow.delivers_packets()
    }

    fn takes_commands(&self) -> bool {
        self.takes_commands
    }

    fn is_random(&self) -> bool {
        self.flow.is_random()
    }

    fn is_broadcast(&self) -> bool {
        self.flow.is_broadcast()
    }

    fn joins(&self) -> Option<&str> {
        self.flow.joins()
    }
}

type Kind = dyn TransportKind<Configured> + Send + Sync;

/// The transports that scenarios may name: by default, the laboratory's.
#[derive(Clone)]
pub struct Transports(Vec<Arc<Kind>>);

impl Transports {
    /// The same and another one. One of the same name as an earlier one is not found.
    #[must_use]
    pub fn with(mut self, transport: impl Transport) -> Self {
        self.0.push(Arc::new(Entry(transport)));
        self
    }
}

impl Default for Transports {
    fn default() -> Self {
        table().with(explicit::Rcp).with(explicit::Abc)
    }
}

impl fmt::Debug for Transports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|kind| kind.name())).finish()
    }
}

impl whimbrel_scenario::Transports for Transports {
    type Plan = Configured;

    fn kinds(&self) -> Vec<&dyn TransportKind<Configured>> {
        self.0.iter().map(|kind| &**kind as &dyn TransportKind<Configured>).collect()
    }
}

/// A transport as the scenario's crate sees it.
struct Entry<T>(T);

impl<T: Transport> TransportKind<Configured> for Entry<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> &str {
        T::DESCRIPTION
    }

    fn keys(&self) -> &[&str] {
        T::KEYS
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        T::Keys::json_schema(generator)
    }

    fn check(&self, settings: &Settings) -> Result<(), ScenarioError> {
        decode::<T::Keys>(&Value::Object(settings.clone())).map(drop)
    }

    fn plan(&self, key: &str, settings: &Settings) -> Result<Configured, ScenarioError> {
        let keys = decode(&Value::Object(settings.clone())).map_err(|error| error.within(key))?;
        Ok(Configured { flow: self.0.configure(key, keys)?, takes_commands: T::TAKES_COMMANDS })
    }

    fn takes_commands(&self) -> bool {
        T::TAKES_COMMANDS
    }

    fn notes(&self, key: &str, flow: &Settings) -> Vec<Note> {
        self.0.notes(key, flow)
    }
}
