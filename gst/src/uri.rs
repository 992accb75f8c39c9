//! Addresses as URIs: `whimbrel://HOST:PORT`, with `?latency=` in milliseconds.

use gst::glib;

/// The scheme.
pub(crate) const SCHEME: &str = "whimbrel";

/// The contents of a URI. A URI is not trusted, so it never names files with keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Uri {
    pub(crate) address: String,
    pub(crate) latency_ms: Option<u32>,
}

impl Uri {
    /// Reads a URI.
    ///
    /// # Errors
    /// The URI has another scheme, or an unknown part.
    pub(crate) fn parse(uri: &str) -> Result<Self, glib::Error> {
        let wrong =
            |expected: &str| glib::Error::new(gst::URIError::BadUri, &format!("{uri}: expected {expected}"));
        let rest = uri.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix("://"));
        let rest = rest.ok_or_else(|| wrong("whimbrel://HOST:PORT"))?;
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        let address = address.trim_end_matches('/');
        if address.is_empty() || address.contains(['/', '#', '@']) {
            return Err(wrong("whimbrel://HOST:PORT"));
        }
        let mut latency_ms = None;
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("latency", value)) => {
                    latency_ms = Some(value.parse().map_err(|_| wrong("latency= in milliseconds"))?);
                }
                _ => return Err(wrong("?latency= alone")),
            }
        }
        Ok(Self { address: address.to_owned(), latency_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_an_address_and_a_latency() {
        let read = |text: &str| Uri::parse(text).ok().map(|it| (it.address, it.latency_ms));
        assert_eq!(read("whimbrel://192.0.2.7:6511"), Some(("192.0.2.7:6511".into(), None)));
        assert_eq!(read("whimbrel://[2001:db8::7]/?latency=80"), Some(("[2001:db8::7]".into(), Some(80))));
        for wrong in [
            "udp://192.0.2.7:6511",
            "whimbrel://",
            "whimbrel:192.0.2.7",
            "whimbrel://user@host:1",
            "whimbrel://host:1?latency=x",
            "whimbrel://host:1?secret-file=/etc/passwd",
        ] {
            assert!(Uri::parse(wrong).is_err(), "{wrong}");
        }
    }
}
