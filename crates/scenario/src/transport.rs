//! The transports of flows, which a scenario names and whose keys it holds.
//!
//! This crate knows none. A program brings its own as [`Transports`]: the laboratory a table of DCCP, TCP and
//! UDP, an emulator [`NoTransports`].

use std::fmt;

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::{Note, ScenarioError};

/// The keys of a flow that belong to transports, with their values.
pub type Settings = Map<String, Value>;

/// The transports that scenarios may name.
pub trait Transports: Clone + Default + fmt::Debug {
    /// A transport configured for a flow.
    type Plan: TransportPlan;

    /// The transports, in the order in which messages list them.
    fn kinds(&self) -> Vec<&dyn TransportKind<Self::Plan>>;

    /// The transport of that name.
    fn find(&self, name: &str) -> Option<&dyn TransportKind<Self::Plan>> {
        self.kinds().into_iter().find(|kind| kind.name() == name)
    }
}

/// A transport as scenarios see it.
pub trait TransportKind<P> {
    /// The value of `transport`.
    fn name(&self) -> &str;

    /// A sentence for the schema.
    fn description(&self) -> &str;

    /// The keys of a flow that only this transport has.
    fn keys(&self) -> &[&str];

    /// The schema of a table with these keys.
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;

    /// Checks the types of this transport's keys.
    ///
    /// # Errors
    /// Names the key at fault, counted from the flow's table.
    fn check(&self, settings: &Settings) -> Result<(), ScenarioError>;

    /// Configures the transport of a flow whose table has the key `key`. The settings have been checked.
    ///
    /// # Errors
    /// Names the key at fault.
    fn plan(&self, key: &str, settings: &Settings) -> Result<P, ScenarioError>;

    /// `true` if the ends of flows take [commands](crate::signals::Command).
    fn takes_commands(&self) -> bool {
        false
    }

    /// Notes on keys without effect in a flow's table.
    fn notes(&self, key: &str, flow: &Map<String, Value>) -> Vec<Note> {
        let _ = (key, flow);
        Vec::new()
    }
}

/// A transport configured for a flow.
pub trait TransportPlan: Clone + fmt::Debug {
    /// Bytes of all headers of a data packet, without options that are not in every packet.
    fn headers(&self) -> u32;

    /// Sets the parameters that depend on the traffic: the application data in a full packet, and `greedy`
    /// for unlimited data.
    ///
    /// # Errors
    /// Names the key at fault; `key` is the key of the flow's table.
    fn fit(&mut self, key: &str, payload: u32, greedy: bool) -> Result<(), ScenarioError>;

    /// `true` if the receiver answers: then a path has to lead back, and a congestion control can set the
    /// rate of unlimited data.
    fn has_feedback(&self) -> bool;

    /// `true` if the transport delivers packets as they were sent; `false` if it delivers a stream of bytes.
    fn delivers_packets(&self) -> bool;

    /// `true` if the ends take commands.
    fn takes_commands(&self) -> bool;

    /// `true` if runs with different seeds may differ in more than initial sequence numbers.
    fn is_random(&self) -> bool;

    /// `true` if all neighbours of the sender receive the packets.
    fn is_broadcast(&self) -> bool {
        false
    }

    /// The name of the flow of broadcasts that the receiver receives as well. This flow sends nothing.
    fn joins(&self) -> Option<&str> {
        None
    }
}

/// No transport: scenarios have links and no flows (`flow = []`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NoTransports;

/// The transport of no flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoTransport {}

impl Transports for NoTransports {
    type Plan = NoTransport;

    fn kinds(&self) -> Vec<&dyn TransportKind<NoTransport>> {
        Vec::new()
    }
}

impl TransportPlan for NoTransport {
    fn headers(&self) -> u32 {
        match *self {}
    }

    fn fit(&mut self, _: &str, _: u32, _: bool) -> Result<(), ScenarioError> {
        match *self {}
    }

    fn has_feedback(&self) -> bool {
        match *self {}
    }

    fn delivers_packets(&self) -> bool {
        match *self {}
    }

    fn takes_commands(&self) -> bool {
        match *self {}
    }

    fn is_random(&self) -> bool {
        match *self {}
    }
}

/// Decodes the transports' keys of the flows, checks the names of the transports, and takes these keys out of
/// the document: the rest of a flow is the scenario's own.
pub(crate) fn split(transports: &impl Transports, root: &mut Value) -> Vec<Settings> {
    let names: Vec<String> =
        transports.kinds().iter().flat_map(|kind| kind.keys()).map(|&key| key.to_owned()).collect();
    let flows = root.get_mut("flow").and_then(Value::as_array_mut);
    let take = |flow: &mut Value| -> Settings {
        let Some(flow) = flow.as_object_mut() else { return Settings::new() };
        names.iter().filter_map(|name| flow.remove_entry(name)).collect()
    };
    flows.into_iter().flatten().map(take).collect()
}

/// Adds the transports' keys to the keys expected in a flow.
pub(crate) fn explain(transports: &impl Transports, mut error: ScenarioError) -> ScenarioError {
    let of_a_flow = error.key.strip_prefix("flow[").is_some_and(|rest| rest.matches('.').count() == 1);
    if let (true, crate::Problem::UnknownKey { expected }) = (of_a_flow, &mut error.problem) {
        for key in transports.kinds().iter().flat_map(|kind| kind.keys()) {
            // A key that several transports have is named once.
            if !expected.iter().any(|named| named == key) {
                expected.push((*key).to_owned());
            }
        }
    }
    error
}

/// Checks the transport of a flow and the types of all transports' keys in it.
pub(crate) fn check(
    transports: &impl Transports,
    name: &str,
    settings: &Settings,
) -> Result<(), ScenarioError> {
    if transports.find(name).is_none() {
        let names: Vec<String> =
            transports.kinds().iter().map(|kind| format!("\"{}\"", kind.name())).collect();
        return Err(ScenarioError::invalid("transport", Value::from(name), crate::error::one_of(&names)));
    }
    transports.kinds().iter().try_for_each(|kind| kind.check(&own(kind.keys(), settings)))
}

/// The settings with these keys.
fn own(keys: &[&str], settings: &Settings) -> Settings {
    let present = keys.iter().filter_map(|key| settings.get_key_value(*key));
    present.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Configures the transport of a flow. Keys of other transports are refused.
pub(crate) fn plan<T: Transports>(
    transports: &T,
    key: &str,
    name: &str,
    settings: &Settings,
) -> Result<T::Plan, ScenarioError> {
    let kinds = transports.kinds();
    let own = transports.find(name).map_or(&[][..], |kind| kind.keys());
    let foreign = kinds.iter().flat_map(|kind| kind.keys());
    if let Some(foreign) = foreign.into_iter().find(|key| settings.contains_key(**key) && !own.contains(key))
    {
        let have = kinds.iter().filter(|kind| kind.keys().contains(foreign));
        let have: Vec<String> = have.map(|kind| format!("\"{}\"", kind.name())).collect();
        let expected = format!("nothing: only flows with transport = {} have it", have.join(" or "));
        return Err(ScenarioError::invalid(format!("{key}.{foreign}"), "...", expected));
    }
    match transports.find(name) {
        Some(kind) => kind.plan(key, settings),
        None => Err(ScenarioError::invalid(format!("{key}.transport"), Value::from(name), "a transport")),
    }
}
