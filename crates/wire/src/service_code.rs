//! Service Codes: the application-level service requested by a client (RFC 4340, Section 8.1.2; RFC 5595).

use core::{error, fmt, str::FromStr};

#[cfg(test)]
mod tests;

/// The application-level service requested by a client.
///
/// Formatted and parsed as text in the three forms of RFC 4340, Section 8.1.2: `SC:RTPV`, `SC=1381257302` and
/// `SC=x52545056` are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default, PartialOrd, Ord)]
pub struct ServiceCode(pub u32);

impl ServiceCode {
    /// The absence of a meaningful Service Code.
    pub const NONE: Self = Self(0);
    /// The invalid value.
    pub const INVALID: Self = Self(u32::MAX);
    /// `SC:DISC`: discard (RFC 4340, Section 19.9).
    pub const DISCARD: Self = Self(u32::from_be_bytes(*b"DISC"));
    /// `SC:RTPA`: an RTP session with audio (RFC 5762, Section 5.2).
    pub const RTP_AUDIO: Self = Self(u32::from_be_bytes(*b"RTPA"));
    /// `SC:RTPV`: an RTP session with video (RFC 5762, Section 5.2).
    pub const RTP_VIDEO: Self = Self(u32::from_be_bytes(*b"RTPV"));
    /// `SC:RTPT`: an RTP session with text (RFC 5762, Section 5.2).
    pub const RTP_TEXT: Self = Self(u32::from_be_bytes(*b"RTPT"));
    /// `SC:RTPO`: an RTP session with anything else (RFC 5762, Section 5.2).
    pub const RTP_OTHER: Self = Self(u32::from_be_bytes(*b"RTPO"));
    /// `SC:RTCP`: RTCP on a separate connection (RFC 5762, Section 5.2).
    pub const RTCP: Self = Self(u32::from_be_bytes(*b"RTCP"));

    /// The code for one to four letters, padded with spaces; `None` if a letter is not allowed in the `SC:`
    /// form.
    pub fn from_letters(letters: &str) -> Option<Self> {
        let letters = letters.as_bytes();
        if !(1..=4).contains(&letters.len()) || !letters.iter().copied().all(is_letter) {
            return None;
        }
        let mut bytes = [b' '; 4];
        bytes[..letters.len()].copy_from_slice(letters);
        Some(Self(u32::from_be_bytes(bytes)))
    }
}

/// Letters, digits and `-_+.*/?@` (RFC 4340, Section 8.1.2).
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_+.*/?@".contains(&byte)
}

impl fmt::Display for ServiceCode {
    /// `SC:abcd` if that form can represent it, else `SC=number`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.to_be_bytes();
        let letters = core::str::from_utf8(&bytes).map_or("", |text| text.trim_end_matches(' '));
        if Self::from_letters(letters) == Some(*self) {
            write!(f, "SC:{letters}")
        } else {
            write!(f, "SC={}", self.0)
        }
    }
}

/// Error for text that is not a Service Code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseServiceCodeError;

impl fmt::Display for ParseServiceCodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a service code as SC:abcd, SC=1717858426 or SC=x6664707A")
    }
}

impl error::Error for ParseServiceCodeError {}

impl FromStr for ServiceCode {
    type Err = ParseServiceCodeError;

    /// Parses one of the three forms. 4294967295 is invalid.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = |digits: &str, radix| {
            // The standard library would accept a sign.
            let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let number = u32::from_str_radix(digits, radix).ok().filter(|_| is_plain)?;
            Some(Self(number)).filter(|code| *code != Self::INVALID)
        };
        let code = if let Some(letters) = text.strip_prefix("SC:") {
            Self::from_letters(letters)
        } else if let Some(number) = text.strip_prefix("SC=") {
            match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => digits(hexadecimal, 16),
                None => digits(number, 10),
            }
        } else {
            None
        };
        code.ok_or(ParseServiceCodeError)
    }
}
