//! The token without which a page that other hosts can reach shows nothing.

use std::fmt::{self, Write as _};

use anyhow::Context;
use hyper::header::AUTHORIZATION;
use hyper::{HeaderMap, Uri};
use subtle::ConstantTimeEq;

/// The name in the query of a URL.
const NAME: &str = "token";
/// Random bytes.
const SIZE: usize = 16;
/// The characters of a token that somebody chose.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;

/// A token: hexadecimal digits, or what somebody chose.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let mut bytes = [0; SIZE];
        getrandom::fill(&mut bytes).context("random numbers for the token of the page")?;
        let mut text = String::with_capacity(2 * SIZE);
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// The one that somebody chose: 16 to 256 letters, digits and `-._~+/=`, which URLs and bearer tokens
    /// (RFC 6750) have as they are.
    ///
    /// # Errors
    /// The token is shorter or longer, or has other characters.
    pub fn chosen(text: &str) -> anyhow::Result<Self> {
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-._~+/=".contains(&it);
        if !LENGTHS.contains(&text.len()) || !text.bytes().all(is_plain) {
            let (least, most) = (LENGTHS.start(), LENGTHS.end());
            anyhow::bail!("expected a token of {least} to {most} letters, digits and - . _ ~ + / =");
        }
        Ok(Self(text.to_owned()))
    }

    /// The query of a URL that shows it.
    pub(crate) fn query(&self) -> String {
        format!("?{NAME}={}", self.0)
    }

    /// `true` if a request shows it: in the query, or as a bearer token (RFC 6750). The comparison takes the
    /// same time wherever they differ.
    pub(crate) fn is_shown(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let query = uri.query().unwrap_or_default().split('&');
        let query = query.filter_map(|part| part.strip_prefix(NAME)?.strip_prefix('='));
        let bearer = headers.get(AUTHORIZATION).and_then(|header| header.to_str().ok());
        let bearer = bearer.and_then(|header| header.strip_prefix("Bearer "));
        query.chain(bearer).any(|shown| shown.as_bytes().ct_eq(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_in_the_query_or_the_header() {
        let token = Token::new().expect("random numbers");
        assert_ne!(token, Token::new().expect("random numbers"));
        assert_eq!(token.0.len(), 32);
        let shows = |uri: &str, bearer: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.extend(bearer.map(|text| (AUTHORIZATION, text.parse().expect("a value"))));
            token.is_shown(&uri.parse().expect("a path"), &headers)
        };
        assert!(shows(&format!("/events{}", token.query()), None));
        assert!(shows(&format!("/?a=b&{}", &token.query()[1..]), None));
        assert!(shows("/rate", Some(&format!("Bearer {}", token.0))));
        for uri in ["/", "/?token", "/?token=", "/?token=0", &format!("/?token={}0", token.0)] {
            assert!(!shows(uri, None), "{uri}");
        }
        assert!(!shows("/", Some(&token.0)) && !shows("/", Some("Bearer ")));
        let shows_itself = |token: &Token| {
            token.is_shown(&format!("/{}", token.query()).parse().expect("a path"), &HeaderMap::new())
        };
        assert!(Token::chosen("0123456789-._~+/=").is_ok_and(|token| shows_itself(&token)));
        for bad in ["", "0123456789abcde", "0123456789abcde&", "0123456789abcdeé", &"a".repeat(257)] {
            assert!(Token::chosen(bad).is_err(), "{bad}");
        }
        assert!(!format!("{token:?}").contains(&token.0));
    }
}
