//! A program of this process, whose datagrams reach a relay without sockets: an element of a pipeline, for
//! instance.
//!
//! On the connection nothing differs from the ports of a host, so that the other end may be `whimbrel relay`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use whimbrel_rtp::Codec;

use crate::arrivals::{Arrivals, Arrived};
use crate::edge::address::ProgramAddress;
use crate::edge::carriage::Delivery;
use crate::edge::flow::{Flow, MAX_PORTS};
use crate::edge::flow_kind::Sends;
use crate::{Refused, few};

/// Takes a datagram that arrives for a port; `false`: the program refuses it. It is called by the relay's
/// task, and must not wait.
type Deliver = dyn Fn(u8, &[u8]) -> bool + Send + Sync;

/// The programs of an end.
#[derive(Clone, Debug)]
pub enum Programs {
    /// Programs at UDP ports of this host.
    At(Vec<ProgramAddress>),
    /// This process itself.
    Embedded(Embedded),
}

impl From<Vec<ProgramAddress>> for Programs {
    fn from(places: Vec<ProgramAddress>) -> Self {
        Self::At(places)
    }
}

impl Programs {
    /// The addresses of the host's programs.
    pub(crate) fn places(&self) -> &[ProgramAddress] {
        match self {
            Self::At(places) => places,
            Self::Embedded(_) => &[],
        }
    }

    /// A port is one byte on the connection. `option`: what has set the addresses.
    pub(crate) fn check(&self, option: &str) -> Result<(), Refused> {
        few(option, self.places())
    }
}

/// Payload of a program's datagrams at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Payload {
    /// Nothing: the relay looks whether they are RTP.
    #[default]
    Unknown,
    /// RTP.
    Rtp,
    /// RTP with video of this codec.
    Video(Codec),
}

/// The side of a program in this process. Clones are the same program.
///
/// ```
/// use whimbrel_relay::{Embedded, Payload};
///
/// let program = Embedded::new(|port, datagram| {
///     println!("{} bytes for port {port}", datagram.len());
///     true
/// });
/// program.announce(0, Payload::Rtp);
/// // There is no connection yet: the datagram is lost, and counted.
/// program.send(0, bytes::Bytes::from_static(b"data"));
/// ```
#[derive(Clone)]
pub struct Embedded(Arc<Shared>);

struct Shared {
    /// The datagrams for the newest connection.
    arrivals: Mutex<Arc<Arrivals>>,
    sends: Sends,
    deliver: Box<Deliver>,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").finish_non_exhaustive()
    }
}

impl Embedded {
    /// A program that takes datagrams by `deliver`, with the number of the port. The relay's task calls it,
    /// and goes on when it returns; `false` counts the datagram as undeliverable.
    pub fn new(deliver: impl Fn(u8, &[u8]) -> bool + Send + Sync + 'static) -> Self {
        let shared =
            Shared { arrivals: Mutex::new(unconnected()), sends: Sends::each(), deliver: Box::new(deliver) };
        Self(Arc::new(shared))
    }

    /// Sends a datagram at a port of which [`MAX_PORTS`] exist. It does not wait: without a connection, and
    /// if too many wait, the datagram is lost, and counted.
    pub fn send(&self, port: u8, payload: Bytes) {
        self.newest().push(Arrived { port, payload, ..Arrived::default() });
    }

    /// Says what the datagrams of a port are, from now on.
    pub fn announce(&self, port: u8, payload: Payload) {
        self.0.sends.set(port, payload);
    }

    fn newest(&self) -> Arc<Arrivals> {
        self.0.arrivals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The ports of an end that connects, again and again.
    pub(crate) fn near(&self) -> EmbeddedPorts {
        EmbeddedPorts {
            program: self.clone(),
            arrivals: self.newest(),
            numbers: BTreeMap::new(),
            is_near: true,
        }
    }

    /// The ports of a new connection of an end that listens.
    pub(crate) fn far(&self) -> EmbeddedPorts {
        let arrivals = Arc::<Arrivals>::default();
        *self.0.arrivals.lock().unwrap_or_else(PoisonError::into_inner) = arrivals.clone();
        EmbeddedPorts { program: self.clone(), arrivals, numbers: BTreeMap::new(), is_near: false }
    }
}

/// Arrivals that are lost, as there is no connection.
fn unconnected() -> Arc<Arrivals> {
    let arrivals = Arrivals::default();
    arrivals.set_connected(false);
    Arc::new(arrivals)
}

/// The ports of a connection that a program of this process uses.
#[derive(Debug)]
pub(crate) struct EmbeddedPorts {
    program: Embedded,
    arrivals: Arc<Arrivals>,
    /// The flow of each port in use: the one in which the other end's newest datagram came.
    numbers: BTreeMap<u8, u8>,
    is_near: bool,
}

impl EmbeddedPorts {
    pub(crate) fn is_near(&self) -> bool {
        self.is_near
    }

    pub(crate) fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    pub(crate) fn sends(&self) -> Sends {
        self.program.0.sends.clone()
    }

    pub(crate) fn flows(&self) -> usize {
        self.numbers.len()
    }

    /// The flow of a datagram that the program sends at a port.
    pub(crate) fn flow_of(&mut self, port: u8) -> Flow {
        Flow { port, number: *self.numbers.entry(port).or_default() }
    }

    pub(crate) fn deliver(&mut self, flow: Flow, payload: &[u8]) -> Delivery {
        if usize::from(flow.port) >= MAX_PORTS {
            return Delivery::UnknownFlow;
        }
        self.numbers.insert(flow.port, flow.number);
        if (self.program.0.deliver)(flow.port, payload) { Delivery::Passed } else { Delivery::Undeliverable }
    }
}

#[cfg(test)]
mod tests;
