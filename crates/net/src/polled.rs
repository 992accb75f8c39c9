//! Sockets for programs without an asynchronous runtime: nothing waits, and a file descriptor shows when
//! there is something to do.
//!
//! A [`Runtime`] is a thread that drives all sockets. The descriptor of a [`Socket`] is readable, for `poll`,
//! `epoll`, `select` or an event loop of another language, from the time at which there is a datagram or the
//! end of the connection until [`Socket::try_recv`] returns nothing. The descriptor of [`Socket::event_fd`]
//! does the same for events, the descriptor of a [`Listener`] for connections. Descriptors may be readable
//! once without anything to read. Nothing is read from or written to the descriptors themselves.
//!
//! ```
//! use whimbrel_net::polled::{Listener, Runtime, Socket};
//! use whimbrel_net::{Bytes, Config, HostOptions, HostPort, SocketOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::start()?;
//! let here: HostPort = "localhost:0".parse()?;
//! let listener = Listener::bind(&runtime, here, 5001, Config::default(), HostOptions::default())?;
//! let client = Socket::connect(&runtime, listener.local(), 5001, Config::default(), SocketOptions::default())?;
//! while client.get()?.is_none() {
//!     client.wait(None)?; // the handshake
//! }
//! client.try_send(Bytes::from_static(b"hello"), None)?;
//! let server = loop {
//!     match listener.try_accept()? {
//!         Some(server) => break server,
//!         None => listener.wait(None)?,
//!     };
//! };
//! let received = loop {
//!     match server.try_recv()? {
//!         Some(received) => break received,
//!         None => server.wait(None)?,
//!     };
//! };
//! assert_eq!(received.payload[..], *b"hello");
//! # Ok(())
//! # }
//! ```

mod listener;
mod paths;
mod protection;
mod runtime;
mod signal;
mod socket;

pub use listener::Listener;
pub use paths::Paths;
pub use protection::Protection;
pub use runtime::Runtime;
pub use socket::Socket;
