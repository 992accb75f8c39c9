//! The server's name or address on the command line, with or without a port.

use std::fmt;
use std::net::Ipv6Addr;

/// The server's name or address, and its port if one is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// Name or address, without brackets.
    pub(crate) host: String,
    /// The port after the colon.
    pub(crate) port: Option<u16>,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.port, self.host.contains(':')) {
            (None, _) => f.write_str(&self.host),
            (Some(port), true) => write!(f, "[{}]:{port}", self.host),
            (Some(port), false) => write!(f, "{}:{port}", self.host),
        }
    }
}

/// Reads `host`, `host:6511`, `192.0.2.7:6511`, `2001:db8::7` or `[2001:db8::7]:6511`.
pub(crate) fn parse_target(text: &str) -> Result<Target, String> {
    let wrong = || {
        format!(
            "{text:?} is not a server: expected a name or address, such as host, host:6511 or [2001:db8::7]:6511"
        )
    };
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        // Brackets enclose IPv6 addresses (RFC 3986, Section 3.2.2).
        Some(Some((address, rest))) => {
            let address: Ipv6Addr = address.parse().map_err(|_| wrong())?;
            let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or_else(wrong)?) };
            (address.to_string(), port)
        }
        Some(None) => return Err(wrong()),
        // More than one colon without brackets: an IPv6 address, perhaps with a zone.
        None if text.matches(':').count() > 1 => (text.to_owned(), None),
        None => match text.split_once(':') {
            Some((host, port)) => (host.to_owned(), Some(port)),
            None => (text.to_owned(), None),
        },
    };
    let port =
        port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(wrong)).transpose()?;
    if host.is_empty() || host.contains(char::is_whitespace) {
        Err(wrong())
    } else {
        Ok(Target { host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_may_follow_the_server() {
        let parsed = |text: &str| parse_target(text).map(|target| (target.host, target.port));
        assert_eq!(parsed("camera"), Ok(("camera".into(), None)));
        assert_eq!(parsed("camera.example:7000"), Ok(("camera.example".into(), Some(7000))));
        assert_eq!(parsed("192.0.2.7:6511"), Ok(("192.0.2.7".into(), Some(6511))));
        assert_eq!(parsed("2001:db8::7"), Ok(("2001:db8::7".into(), None)));
        assert_eq!(parsed("fe80::1%eth0"), Ok(("fe80::1%eth0".into(), None)));
        assert_eq!(parsed("[2001:db8::7]"), Ok(("2001:db8::7".into(), None)));
        assert_eq!(parsed("[2001:db8::7]:80"), Ok(("2001:db8::7".into(), Some(80))));
        for wrong in
            ["", ":80", "host:", "host:0", "host:65536", "host:http", "[::1", "[::1]80", "[host]:80", "a b"]
        {
            assert!(parsed(wrong).unwrap_err().contains("is not a server"), "{wrong}");
        }
    }

    #[test]
    fn a_target_prints_as_it_is_typed() {
        for text in ["camera", "camera:7000", "2001:db8::7", "[2001:db8::7]:80"] {
            assert_eq!(parse_target(text).unwrap().to_string(), text);
        }
    }
}
