//! The SDP elements of the FEC Framework (RFC 6364, RFC 5956) that a reader of captures needs.

use core::fmt;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use whimbrel_repair::fecframe::ADUI_HEADER;
use whimbrel_repair::rlc::Code;

/// The most repair flows: each takes memory of its own.
const MOST_SESSIONS: usize = 16;

/// A source and the repair flow that protects it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// The source flows.
    pub sources: Vec<Place>,
    /// The repair flow.
    pub repair: Place,
    /// The code.
    pub code: Code,
    /// E: bytes of a symbol.
    pub symbol_size: u16,
}

/// Destination of a flow's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// `None`: to any address.
    pub address: Option<IpAddr>,
    /// UDP port.
    pub port: u16,
}

impl Place {
    /// `true` if packets to that address belong to the flow.
    #[must_use]
    pub fn is(self, to: SocketAddr) -> bool {
        self.port == to.port() && self.address.is_none_or(|address| address == to.ip())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => SocketAddr::new(address, self.port).fmt(f),
            None => write!(f, "port {}", self.port),
        }
    }
}

/// Error in a text for a source with a repair flow.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct SdpError {
    /// Its line, from 1.
    pub line: usize,
    /// Error, and expected value.
    pub reason: String,
}

/// A media description.
#[derive(Default)]
struct Media {
    port: u16,
    address: Option<IpAddr>,
    name: Option<String>,
    is_source: bool,
    code: Option<(Code, u16)>,
}

impl Media {
    fn place(&self) -> Place {
        Place { address: self.address.filter(|address| !address.is_unspecified()), port: self.port }
    }
}

/// Reads the sources and repair flows of an SDP file. Without `a=group:FEC-FR`, its only repair flow protects
/// all sources.
///
/// # Errors
/// If a line is invalid, a group names no media description, or there is no source with a repair flow or more
/// than 16.
pub fn parse(text: &str) -> Result<Vec<Session>, SdpError> {
    let mut session_address = None;
    let mut media: Vec<Media> = Vec::new();
    let mut groups: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut last = 0;
    for (line, content) in (1..).zip(text.lines().map(str::trim_end)) {
        last = line;
        let fail = |reason: String| SdpError { line, reason };
        let Some((kind, value)) = content.split_once('=') else {
            if content.is_empty() {
                continue;
            }
            return Err(fail(format!("{content:?}: expected a line of SDP, such as v=0")));
        };
        match kind {
            "m" => media.push(Media { port: port(value).map_err(fail)?, ..Media::default() }),
            "c" => {
                let of = media.last_mut().map_or(&mut session_address, |media| &mut media.address);
                *of = Some(address(value).map_err(fail)?);
            }
            "a" => {
                let (name, value) = value.split_once(':').unwrap_or((value, ""));
                match (name, media.last_mut()) {
                    ("group", None) => {
                        if let Some(names) = value.trim().strip_prefix("FEC-FR") {
                            groups.push((line, names.split_whitespace().collect()));
                        }
                    }
                    ("mid", Some(media)) => media.name = Some(value.trim().to_owned()),
                    ("fec-source-flow", Some(media)) => {
                        check_tag(value).map_err(fail)?;
                        media.is_source = true;
                    }
                    ("fec-repair-flow", Some(media)) => media.code = Some(code(value).map_err(fail)?),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    for media in &mut media {
        media.address = media.address.or(session_address);
    }
    let sessions = if groups.is_empty() { ungrouped(&media) } else { grouped(&media, &groups)? };
    if sessions.len() > MOST_SESSIONS {
        let reason = format!("{} repair flows: expected at most {MOST_SESSIONS}", sessions.len());
        return Err(SdpError { line: last, reason });
    }
    if sessions.is_empty() {
        let reason = "expected media descriptions with a=fec-source-flow and a=fec-repair-flow (RFC 6364)";
        return Err(SdpError { line: last, reason: reason.to_owned() });
    }
    Ok(sessions)
}

fn ungrouped(media: &[Media]) -> Vec<Session> {
    let mut repairs = media.iter().filter(|media| media.code.is_some());
    match (repairs.next(), repairs.next()) {
        (Some(repair), None) => session(media.iter(), repair).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn grouped(media: &[Media], groups: &[(usize, Vec<&str>)]) -> Result<Vec<Session>, SdpError> {
    let by_name: BTreeMap<&str, &Media> =
        media.iter().filter_map(|media| Some((media.name.as_deref()?, media))).collect();
    let mut sessions = Vec::new();
    for (line, names) in groups {
        let mut of = Vec::new();
        for name in names {
            let Some(&media) = by_name.get(name) else {
                let reason = format!("a=group:FEC-FR: no media description has a=mid:{name}");
                return Err(SdpError { line: *line, reason });
            };
            of.push(media);
        }
        // Several repair flows of a group protect the same sources.
        let repairs = of.iter().filter(|media| media.code.is_some());
        sessions.extend(repairs.filter_map(|repair| session(of.iter().copied(), repair)));
    }
    Ok(sessions)
}

fn session<'a>(media: impl Iterator<Item = &'a Media>, repair: &Media) -> Option<Session> {
    let sources: Vec<_> = media.filter(|media| media.is_source).map(Media::place).collect();
    let (code, symbol_size) = repair.code?;
    (!sources.is_empty()).then(|| Session { sources, repair: repair.place(), code, symbol_size })
}

/// `m=<media> <port>[/<ports>] <protocol> <format> ...`
fn port(value: &str) -> Result<u16, String> {
    let text = value.split_whitespace().nth(1).unwrap_or_default();
    let port = text.split('/').next().unwrap_or_default();
    port.parse().map_err(|_| format!("m={value}: expected a media type and a port, such as m=video 30000"))
}

/// `c=IN IP4 <address>[/<TTL>]`
fn address(value: &str) -> Result<IpAddr, String> {
    let text = value.split_whitespace().nth(2).unwrap_or_default();
    let address = text.split('/').next().unwrap_or_default();
    address.parse().map_err(|_| format!("c={value}: expected an address, such as c=IN IP4 192.0.2.1"))
}

/// The parameters of an attribute: `name=value`, separated by semicolons.
fn parameters(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split(';').filter_map(|one| one.trim().split_once('='))
}

/// RFC 8681, Section 4.1.2: the number at the end of a source packet has four bytes.
fn check_tag(value: &str) -> Result<(), String> {
    match parameters(value).find(|(name, _)| *name == "tag-len") {
        Some((_, length)) if length != "4" => {
            Err(format!("a=fec-source-flow: tag-len {length}: expected 4, as RFC 8681 has"))
        }
        _ => Ok(()),
    }
}

/// The code and the symbol size of `encoding-id=10; ss-fssi=E:1400,WSR:191`.
fn code(value: &str) -> Result<(Code, u16), String> {
    let (mut encoding, mut size) = (None, None);
    for (name, value) in parameters(value) {
        match name {
            "encoding-id" => {
                let code = value.parse().ok().and_then(Code::from_encoding_id);
                encoding = Some(code.ok_or_else(|| {
                    format!("a=fec-repair-flow: encoding-id {value}: expected 10 or 9, those of RFC 8681")
                })?);
            }
            "fssi" | "ss-fssi" => {
                let text = value.split(',').find_map(|one| one.trim().strip_prefix("E:"));
                let least = ADUI_HEADER as u16;
                let number = text.and_then(|text| text.parse().ok()).filter(|&size: &u16| size > least);
                size = Some(number.ok_or_else(|| {
                    format!("a=fec-repair-flow: fssi {value}: expected bytes of a symbol from 4 on, such as E:1400")
                })?);
            }
            _ => {}
        }
    }
    match (encoding, size) {
        (Some(code), Some(size)) => Ok((code, size)),
        _ => Err(format!(
            "a=fec-repair-flow:{value}: expected encoding-id and ss-fssi, such as encoding-id=10; ss-fssi=E:1400,WSR:191"
        )),
    }
}

#[cfg(test)]
mod tests;
