//! DTLS 1.3 (RFC 9147) over DCCP (RFC 5238), sans I/O: encryption and mutual authentication of a connection.
//!
//! [`Layer`] sits between a [`Connection`](whimbrel_proto::Connection) and its application: events of the
//! connection go in, events for the application come out, and datagrams are sent through it. A driver of real
//! sockets and a simulated agent use it alike. [`Session`] is the DTLS connection alone, without DCCP.
//!
//! Time is an argument, as everywhere. With [`Security::seeded`], which [`simulated`] ends have, all that an
//! end draws comes from a seed, so that a simulated connection is repeatable byte by byte.
//!
//! The layer implements these rules of RFC 5238:
//!
//! | section | rule | here |
//! |---|---|---|
//! | 3 | a record is contained in one datagram | a datagram is one record; handshakes are fragmented |
//! | 3.2 | no DTLS timer before the DCCP handshake is complete | the session begins with the connection |
//! | 3.3 | no retransmission of what still waits in the send queue | the session's clock stops meanwhile |
//! | 3.4 | no clear data next to DTLS | datagrams that are no authentic records are discarded |
//! | 3.5 | a record fits the packet size in force | [`Layer::send`] refuses larger datagrams |
//!
//! DCCP's own handshake has already proved the client's address, so the cookie exchange of DTLS, which serves
//! the same purpose, is left out: the handshake takes one round trip and a half.
//!
//! # Design
//!
//! - `dtls` is a layer between a `Connection` and its application: events in, events out, and a `send` that
//!   encrypts. In `net` it sits between the endpoint and the mailboxes, below the sockets' methods, so that
//!   everything that a socket can do works on a secured connection as well, also if the application does not
//!   receive.
//! - The handshake comes from a library (dimpl), whose instants are made from ours in `clock.rs`. Its
//!   cryptography is AWS-LC's, as a handshake costs a fifth of what it costs with the RustCrypto crates, at a
//!   similar build time. The library's interface to it is implemented in `provider`. Sessions share a private
//!   key (`identity_key`) and configurations, as the library tests all cryptography with each new one.
//! - Records of established sessions are protected here (`protection`), with the secrets that the provider
//!   sees (`observer`), and the library's memory is released. It would move each record through several
//!   buffers and keep the handshake's state. Both ends are tested against the library, in either role. There
//!   is one cipher suite, the one that TLS requires of everyone. Keys are expanded for good only after some
//!   use, as an idle connection needs none.
//! - DTLS 1.2 and its pre-shared keys are left out: they have no forward secrecy, and its cipher costs ten
//!   times as much. A shared secret derives the key pairs of both ends instead. A client's `connect` waits
//!   until the server has acknowledged its last flight: a server acknowledges it after it has checked the
//!   client's certificate, so that a refused client gets an error, not a connection that ends at once.
//! - A session's clock stands still while one of its records waits in the send queue (RFC 5238, Section 3.3).

mod clock;
mod error;
mod fingerprint;
mod identity;
mod identity_key;
mod layer;
mod observer;
mod protection;
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
pub use protection::RECORD_OVERHEAD;
pub use secret::SharedSecret;
pub use security::Security;
pub use session::{Session, SessionEvent};
#[cfg(feature = "simulation")]
pub use simulation::simulated;
pub use trust::{Authorities, Trust};
