//! DCCP as IP protocol 33 instead of inside UDP, for either end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use anyhow::{Context, bail};
use whimbrel_net::{Dscp, Host, HostOptions, Listener, Setup};

use super::DCCP_PORT;

/// DCCP without UDP encapsulation.
#[derive(Clone, Debug, Default)]
pub struct Native {
    /// By a raw socket (Linux; needs root or CAP_NET_RAW).
    pub raw: bool,
    /// As a host of its own behind a TUN device (Linux; needs root or CAP_NET_ADMIN, or a device made for the
    /// user).
    pub tun: Option<Tun>,
}

/// A TUN device and the addresses behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tun {
    /// Its name.
    pub name: String,
    /// The addresses of the host behind it.
    pub addresses: Vec<IpAddr>,
}

/// A text that is not a device and its addresses.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{0:?} is not a device and its addresses: expected for example tun0,10.0.0.2 or tun0,10.0.0.2,fd00::2"
)]
pub struct ParseTunError(String);

/// `tun0,10.0.0.2` or `tun0,10.0.0.2,fd00::2`.
impl FromStr for Tun {
    type Err = ParseTunError;

    fn from_str(text: &str) -> Result<Self, ParseTunError> {
        let mut parts = text.split(',');
        let name = parts.next().filter(|name| !name.is_empty() && name.len() < 16);
        let addresses: Result<Vec<IpAddr>, _> = parts.map(str::parse).collect();
        match (name, addresses) {
            (Some(name), Ok(addresses)) if !addresses.is_empty() => Ok(Self { name: name.into(), addresses }),
            _ => Err(ParseTunError(text.to_owned())),
        }
    }
}

impl Native {
    /// `true` if UDP encapsulation is not used.
    pub fn is_wanted(&self) -> bool {
        self.raw || self.tun.is_some()
    }

    /// A client's host: behind the device, or at `known`, or else at the address that the system selects
    /// towards `destination`.
    pub(crate) async fn client(
        &self,
        destination: IpAddr,
        known: Option<IpAddr>,
        dscp: Dscp,
    ) -> anyhow::Result<Host> {
        Ok(match &self.tun {
            Some(tun) => open(tun, dscp).await?,
            None => raw(known.unwrap_or(any(destination)), dscp).await?,
        })
    }

    /// A server's listeners, and their addresses if these are not the host's own.
    pub(crate) async fn server(
        &self,
        bound: IpAddr,
        setup: &Setup,
        dscp: Dscp,
    ) -> anyhow::Result<(Vec<Listener>, Vec<IpAddr>)> {
        if let Some(tun) = &self.tun {
            return Ok((
                vec![open(tun, dscp).await?.listen(DCCP_PORT, setup.clone())?],
                tun.addresses.clone(),
            ));
        }
        let mut listeners = Vec::new();
        if self.raw {
            listeners.push(raw(bound, dscp).await?.listen(DCCP_PORT, setup.clone())?);
            if bound.is_ipv6() && bound.is_unspecified() {
                // A raw socket serves one family, where the TCP port serves both.
                let v4 = raw(Ipv4Addr::UNSPECIFIED.into(), dscp).await?;
                listeners.push(v4.listen(DCCP_PORT, setup.clone())?);
            }
        }
        Ok((listeners, Vec::new()))
    }

    /// The server's address for a client: one of `named`, or the address of the TCP connection.
    pub(crate) fn destination(&self, named: &[IpAddr], server: IpAddr) -> anyhow::Result<IpAddr> {
        let mine = |v4: bool| match &self.tun {
            Some(tun) => tun.addresses.iter().any(|address| address.is_ipv4() == v4),
            None => server.is_ipv4() == v4,
        };
        let all = if named.is_empty() { &[server] } else { named };
        match all.iter().find(|address| mine(address.is_ipv4())) {
            Some(address) => Ok(*address),
            None => bail!("the server is at {} only, which is not of this end's IP version", list(all)),
        }
    }
}

async fn raw(local: IpAddr, dscp: Dscp) -> anyhow::Result<Host> {
    Host::raw_with(local, HostOptions::default().dscp(dscp)).await.map_err(Into::into)
}

fn any(like: IpAddr) -> IpAddr {
    if like.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

async fn open(tun: &Tun, dscp: Dscp) -> anyhow::Result<Host> {
    let options = HostOptions::default().dscp(dscp);
    let host = Host::tun_with(&tun.name, &tun.addresses, options).await;
    host.with_context(|| format!("{} with {}", tun.name, list(&tun.addresses)))
}

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_name_and_addresses() {
        let tun = "tun0,10.0.0.2,fd00::2".parse::<Tun>().expect("a device");
        assert_eq!((tun.name.as_str(), tun.addresses.len()), ("tun0", 2));
        for wrong in ["tun0", "", ",10.0.0.2", "tun0,host", "a-name-that-is-too-long,10.0.0.2"] {
            assert!(wrong.parse::<Tun>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_servers_address_of_this_ends_family_is_used() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let raw = Native { raw: true, tun: None };
        assert_eq!(raw.destination(&[], ip("192.0.2.1")).expect("there"), ip("192.0.2.1"));
        let both = [ip("10.0.0.2"), ip("fd00::2")];
        assert_eq!(raw.destination(&both, ip("2001:db8::1")).expect("there"), ip("fd00::2"));
        let v6 = Native { raw: false, tun: "tun0,fd00::3".parse().ok() };
        assert_eq!(v6.destination(&both, ip("192.0.2.1")).expect("there"), ip("fd00::2"));
        let error = v6.destination(&[], ip("192.0.2.1")).expect_err("no IPv6");
        assert!(error.to_string().contains("192.0.2.1"), "{error}");
    }
}
