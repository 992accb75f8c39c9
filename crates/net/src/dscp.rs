//! The Differentiated Services field of sent packets.

use std::fmt;
use std::str::FromStr;

#[cfg(test)]
mod tests;

/// A Differentiated Services codepoint (RFC 2474): the upper six bits of the IPv4 TOS byte and of the IPv6
/// traffic class. The lower two bits carry ECN and stay with the protocol.
///
/// Parses from a number from 0 to 63, also as `0x2e`, or from a name: `CS0` to `CS7` (RFC 2474), `AF11` to
/// `AF43` (RFC 2597), `EF` (RFC 3246), `VA` (RFC 5865), `LE` (RFC 8622) and `DF`, the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dscp(u8);

impl Dscp {
    /// The default forwarding, 0.
    pub const DEFAULT: Self = Self(0);

    /// The codepoint with that number; `None` above 63.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 64 { Some(Self(number)) } else { None }
    }

    /// Its number.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// `true` for the default forwarding.
    pub const fn is_default(self) -> bool {
        self.0 == 0
    }

    /// The TOS byte or traffic class of a packet.
    #[cfg(target_os = "linux")]
    pub(crate) fn traffic_class(self, ecn: whimbrel_wire::Ecn) -> u8 {
        self.0 << 2 | ecn.bits()
    }
}

/// Named codepoints other than the CS and AF classes.
const NAMES: &[(&str, u8)] = &[("DF", 0), ("BE", 0), ("LE", 1), ("VA", 44), ("EF", 46)];

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let hexadecimal = text.strip_prefix("0x").map(|digits| u8::from_str_radix(digits, 16));
        let number = match hexadecimal.unwrap_or_else(|| text.parse()) {
            Ok(number) => Some(number),
            Err(_) => named(&text.to_ascii_uppercase()),
        };
        number.and_then(Self::new).ok_or_else(|| {
            format!(
                "{text:?} is no DSCP: expected a number from 0 to 63 or a name such as EF, AF41, CS5 or LE"
            )
        })
    }
}

fn named(name: &str) -> Option<u8> {
    if let Some((_, number)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some(*number);
    }
    match *name.as_bytes() {
        [b'C', b'S', class @ b'0'..=b'7'] => Some((class - b'0') << 3),
        [b'A', b'F', class @ b'1'..=b'4', precedence @ b'1'..=b'3'] => {
            Some((class - b'0') << 3 | (precedence - b'0') << 1)
        }
        _ => None,
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
