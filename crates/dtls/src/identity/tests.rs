//! Private keys and certificates of this end.

use super::*;

#[test]
fn a_key_is_the_same_after_it_was_stored() {
    let identity = Identity::generate().expect("a key");
    let stored = identity.to_pem();
    assert!(stored.starts_with("-----BEGIN PRIVATE KEY-----"), "{}", stored.as_str());
    let again = Identity::from_pem(&stored).expect("the same");
    assert_eq!(again.fingerprint(), identity.fingerprint());
    assert_ne!(Identity::generate().expect("another").fingerprint(), identity.fingerprint());
    assert!(!format!("{identity:?}").contains("PRIVATE"));
}

/// Keys by other programs: `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`, and P-384; the
/// fingerprints are by `openssl pkey -pubout -outform DER | openssl dgst -sha256 -binary | base64`.
#[test]
fn keys_of_openssl_are_read() {
    for (pem, fingerprint) in [
        (include_str!("tests/p256.pem"), "SHA256:wCIiwx3AOXAh+jt1lLomqCdD2JdSb6HkjL83im6ihE4"),
        (include_str!("tests/p384.pem"), "SHA256:7S34VVMiWhE2JJNZQEHxzaRNCZhImxXAUSDMYUu/Prg"),
    ] {
        assert_eq!(Identity::from_pem(pem).expect("a key").fingerprint().to_string(), fingerprint);
    }
    let rsa = Identity::from_pem(include_str!("tests/rsa.pem")).expect_err("RSA");
    assert_eq!(rsa, KeyError::Unsupported);
    assert!(matches!(Identity::from_pem("no key"), Err(KeyError::Malformed(_))));
}
