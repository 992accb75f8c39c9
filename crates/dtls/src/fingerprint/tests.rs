//! Text form of fingerprints.

use super::*;

/// The digest of the empty string is the first example of FIPS 180; its base64 was computed with coreutils.
const EMPTY: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

#[test]
fn the_text_form_is_that_of_ssh() {
    let of_nothing = Fingerprint::of_public_key(b"");
    assert_eq!(of_nothing.to_string(), EMPTY);
    assert_eq!(of_nothing.as_bytes()[..4], [0xe3, 0xb0, 0xc4, 0x42]);
    assert_eq!(EMPTY.parse(), Ok(of_nothing));
}

#[test]
fn other_texts_are_refused() {
    let long = format!("{EMPTY}A");
    for wrong in
        ["", "SHA256:", "MD5:00", &EMPTY[..EMPTY.len() - 1], &EMPTY[7..], &long, "SHA256:====", "SHA256:é"]
    {
        assert_eq!(wrong.parse::<Fingerprint>(), Err(ParseFingerprintError), "{wrong}");
    }
}
