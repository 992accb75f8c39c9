//! Hosts as users write them, and the connection to the first of their addresses that answers.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::str::FromStr;
use std::task::Poll;
use std::time::Duration;

use thiserror::Error;
use tokio::time::sleep;

use crate::NetError;

/// Time between the starts of two attempts (RFC 8305, Section 8: Connection Attempt Delay).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// A host's name or address, and a port if one is given: `camera.local:5004`, `192.0.2.7:6511`,
/// `2001:db8::7`, `[2001:db8::7]:6511`, `[fe80::1%eth0]:6511` or, for the host itself, `:5004`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HostPort {
    host: String,
    port: Option<u16>,
}

/// The text is no host with a port.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "{text:?}: expected a name or address and a port, such as host:6511, 192.0.2.7:6511 or [2001:db8::7]:6511"
)]
pub struct ParseHostPortError {
    text: String,
}

impl HostPort {
    /// A host's name or address, which may have a zone, without brackets. The empty one is this host.
    pub fn new(host: impl Into<String>, port: Option<u16>) -> Self {
        Self { host: host.into(), port }
    }

    /// The name or address, without brackets; empty for this host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, if one was given.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The same with that port if none was given.
    #[must_use]
    pub fn or_port(&self, port: u16) -> Self {
        Self { host: self.host.clone(), port: self.port.or(Some(port)) }
    }

    /// The addresses to send to or to connect to, in the order in which to try them: both families take turns
    /// (RFC 8305, Section 4). An empty host is this host's loopback addresses.
    ///
    /// # Errors
    /// The name cannot be resolved.
    pub async fn resolve(&self, default_port: u16) -> Result<Vec<SocketAddr>, NetError> {
        let loopback = [IpAddr::from(Ipv6Addr::LOCALHOST), Ipv4Addr::LOCALHOST.into()];
        self.look_up(default_port, &loopback).await
    }

    /// The addresses of this host to bind sockets to. An empty host stands for all addresses: first of both
    /// families, then of IPv4, for a host without IPv6.
    ///
    /// # Errors
    /// The name cannot be resolved.
    pub async fn resolve_local(&self, default_port: u16) -> Result<Vec<SocketAddr>, NetError> {
        let any = [IpAddr::from(Ipv6Addr::UNSPECIFIED), Ipv4Addr::UNSPECIFIED.into()];
        self.look_up(default_port, &any).await
    }

    async fn look_up(&self, default_port: u16, this_host: &[IpAddr]) -> Result<Vec<SocketAddr>, NetError> {
        let port = self.port.unwrap_or(default_port);
        if self.host.is_empty() {
            return Ok(this_host.iter().map(|address| SocketAddr::new(*address, port)).collect());
        }
        let unresolved = |source| NetError::Name { name: self.host.clone(), source };
        let found = tokio::net::lookup_host((self.host.as_str(), port)).await.map_err(unresolved)?;
        let addresses = interleaved(found);
        if addresses.is_empty() {
            return Err(unresolved(io::Error::new(io::ErrorKind::NotFound, "it has no address")));
        }
        Ok(addresses)
    }
}

impl From<SocketAddr> for HostPort {
    fn from(address: SocketAddr) -> Self {
        let host = match address {
            SocketAddr::V6(v6) if v6.scope_id() != 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
            _ => address.ip().to_string(),
        };
        Self { host, port: Some(address.port()) }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.port, self.host.contains(':')) {
            (None, _) => f.write_str(&self.host),
            (Some(port), true) => write!(f, "[{}]:{port}", self.host),
            (Some(port), false) => write!(f, "{}:{port}", self.host),
        }
    }
}

impl FromStr for HostPort {
    type Err = ParseHostPortError;

    fn from_str(text: &str) -> Result<Self, ParseHostPortError> {
        let wrong = || ParseHostPortError { text: text.to_owned() };
        let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
            // Brackets enclose IPv6 addresses (RFC 3986, Section 3.2.2).
            Some(Some((address, rest))) => {
                let (number, zone) = address.split_once('%').unwrap_or((address, "0"));
                let number: Ipv6Addr = number.parse().map_err(|_| wrong())?;
                let host =
                    if address.contains('%') { format!("{number}%{zone}") } else { number.to_string() };
                let port =
                    if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or_else(wrong)?) };
                (host, port)
            }
            Some(None) => return Err(wrong()),
            // More than one colon without brackets: an IPv6 address, perhaps with a zone.
            None if text.matches(':').count() > 1 => (text.to_owned(), None),
            None => match text.split_once(':') {
                Some((host, port)) => (host.to_owned(), Some(port)),
                None => (text.to_owned(), None),
            },
        };
        let has_port = port.is_some();
        let number = |port: &str| port.parse().ok().filter(|_| port.bytes().all(|it| it.is_ascii_digit()));
        let port = port.map(|port| number(port).ok_or_else(wrong)).transpose()?;
        let is_wrong = |it: char| it.is_whitespace() || it.is_control() || "[]@/".contains(it);
        // Not a port alone, although the system's resolver takes a number for an IPv4 address.
        let is_number = !host.is_empty() && host.bytes().all(|it| it.is_ascii_digit());
        if (host.is_empty() && !has_port) || is_number || host.contains(is_wrong) || host.ends_with('%') {
            return Err(wrong());
        }
        Ok(Self { host, port })
    }
}

/// The addresses with the families in turn, from the first one's on, each once.
fn interleaved(found: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let (mut first, mut second) = (VecDeque::new(), VecDeque::new());
    for address in found {
        let is_firsts = first.front().is_none_or(|known: &SocketAddr| known.is_ipv4() == address.is_ipv4());
        let family = if is_firsts { &mut first } else { &mut second };
        if !family.contains(&address) {
            family.push_back(address);
        }
    }
    let mut all = Vec::with_capacity(first.len() + second.len());
    while !(first.is_empty() && second.is_empty()) {
        all.extend(first.pop_front());
        all.extend(second.pop_front());
    }
    all
}

/// Connects to the first of the addresses that answers (RFC 8305, Section 5): an attempt begins 250 ms after
/// the previous one, or when that one has failed; the first that succeeds ends the others.
///
/// # Errors
/// The failure of each address, if all have failed.
pub async fn connect_any<T, E, F>(
    addresses: &[SocketAddr],
    mut attempt: impl FnMut(SocketAddr) -> F,
) -> Result<(SocketAddr, T), Vec<(SocketAddr, E)>>
where
    F: Future<Output = Result<T, E>>,
{
    let mut rest = addresses.iter().copied();
    let mut running: Vec<(SocketAddr, Pin<Box<F>>)> = Vec::new();
    let mut failures = Vec::new();
    loop {
        if let Some(address) = rest.next() {
            running.push((address, Box::pin(attempt(address))));
        } else if running.is_empty() {
            return Err(failures);
        }
        let has_more = rest.len() > 0;
        let mut delay = pin!(sleep(ATTEMPT_DELAY));
        // The end of an attempt, or `None` when the next one is due.
        let ended = poll_fn(|context| {
            for (index, (address, attempt)) in running.iter_mut().enumerate() {
                if let Poll::Ready(result) = attempt.as_mut().poll(context) {
                    return Poll::Ready(Some((index, *address, result)));
                }
            }
            if has_more { delay.as_mut().poll(context).map(|()| None) } else { Poll::Pending }
        });
        match ended.await {
            Some((_, address, Ok(connected))) => return Ok((address, connected)),
            Some((index, address, Err(error))) => {
                drop(running.remove(index));
                failures.push((address, error));
            }
            None => {}
        }
    }
}

/// The error that says most about the host: an answer of its rather than silence, and silence rather than an
/// address that this host cannot reach.
pub(crate) fn most_telling(failures: Vec<(SocketAddr, NetError)>) -> NetError {
    use whimbrel_proto::ConnectionError;
    let rank = |error: &NetError| match error {
        NetError::Security(_) | NetError::Connection(ConnectionError::Reset(_)) => 0,
        NetError::Connection(_) => 1,
        _ => 2,
    };
    let errors = failures.into_iter().map(|(_, error)| error);
    errors.min_by_key(rank).unwrap_or(NetError::Connection(ConnectionError::TimedOut))
}

#[cfg(test)]
mod tests;
