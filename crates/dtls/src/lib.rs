//! DTLS 1.3 (RFC 9147) over DCCP (RFC 5238), sans I/O: encryption and mutual authentication of a connection.
//!
//! [`Layer`] sits between a [`Connection`](whimbrel_proto::Connection) and its application: events of the connection go
//! in, events for the application come out, and datagrams are sent through it. A driver of real sockets and a
//! simulated agent use it alike. [`Session`] is the DTLS connection alone, without DCCP.
//!
//! Time is an argument, as everywhere. With [`Security::seeded`], which [`simulated`] ends have, all that an end draws comes from a
//! seed, so that a simulated connection is repeatable byte by byte.
//!
//! The layer implements these rules of RFC 5238:
//!
//! | section | rule | here |
//! |---|---|---|
//! | 3 | a record is contained in one datagram | a datagram is one record; handshake messages are fragmented |
//! | 3.2 | no DTLS timer before the DCCP handshake is complete | the session is created when the connection opens |
//! | 3.3 | no retransmission of what still waits in the send queue | the session's clock stops meanwhile |
//! | 3.4 | no clear data beside DTLS | datagrams that are no authentic records are discarded |
//! | 3.5 | a record fits the packet size in force | [`Layer::send`] refuses larger datagrams |
//!
//! DCCP's own handshake has already proved the client's address, so the cookie exchange of DTLS, which serves the same
//! purpose, is left out: the handshake takes one round trip and a half.

mod clock;
mod error;
mod fingerprint;
mod identity;
mod identity_key;
mod layer;
mod provider;
mod secret;
mod security;
mod session;
mod simulation;
mod trust;

pub use error::{KeyError, SecurityError};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use identity::Identity;
pub use layer::{Layer, LayerEvent};
pub use secret::SharedSecret;
pub use security::Security;
pub use session::{RECORD_OVERHEAD, Session, SessionEvent};
#[cfg(feature = "simulation")]
pub use simulation::simulated;
pub use trust::{Authorities, Trust};
