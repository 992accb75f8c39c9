//! Trust in certificates.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use whimbrel_proto::Role;

use super::*;
use crate::Identity;

/// A day in 2030.
const TODAY: UnixTime = UnixTime::since_unix_epoch(core::time::Duration::from_secs(1_900_000_000));

/// An authority: its certificate in PEM, and what it issues by.
fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().expect("a key");
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = parameters.self_signed(&key).expect("a certificate");
    (certificate.pem(), Issuer::new(parameters, key))
}

/// A certificate by `issuer` with changes, and its key, in PEM.
fn issue(
    issuer: &Issuer<'static, KeyPair>,
    change: impl FnOnce(&mut CertificateParams),
) -> (String, String, Vec<u8>) {
    let key = KeyPair::generate().expect("a key");
    let mut parameters = CertificateParams::new(["camera.example".to_owned()]).expect("a name");
    change(&mut parameters);
    let certificate = parameters.signed_by(&key, issuer).expect("a certificate");
    (key.serialize_pem(), certificate.pem(), certificate.der().to_vec())
}

#[test]
fn certificates_of_the_authority_are_accepted_for_their_name_use_and_time() {
    let (pem, issuer) = authority("ours");
    let trust = Trust::Authorities(Authorities::from_pem(&pem).expect("an authority"));
    let named = |name: &str| {
        Trust::Authorities(Authorities::from_pem(&pem).and_then(|all| all.named(name)).expect("a name"))
    };
    let (key, certificate, der) = issue(&issuer, |_| {});
    let identity = Identity::from_pem_with_certificate(&key, &certificate).expect("they belong together");
    assert_eq!(trust.check(Role::Client, &der, TODAY), Ok(identity.fingerprint()));
    assert_eq!(named("camera.example").check(Role::Server, &der, TODAY), Ok(identity.fingerprint()));

    let refused = |trust: &Trust, peer, der: &[u8]| match trust.check(peer, der, TODAY) {
        Err(SecurityError::UntrustedCertificate(reason)) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&named("viewer.example"), Role::Server, &der), "it is not for viewer.example");
    let expired = issue(&issuer, |parameters| parameters.not_after = date_time_ymd(2029, 1, 1)).2;
    assert!(
        refused(&trust, Role::Client, &expired).contains("CertExpired"),
        "{}",
        refused(&trust, Role::Client, &expired)
    );
    let for_servers = issue(&issuer, |parameters| {
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    assert!(trust.check(Role::Server, &for_servers.2, TODAY).is_ok());
    refused(&trust, Role::Client, &for_servers.2);
    let elsewhere = issue(&authority("theirs").1, |_| {}).2;
    assert!(refused(&trust, Role::Client, &elsewhere).contains("UnknownIssuer"));
    let alone = Identity::generate().expect("a key").certificate().to_vec();
    assert!(refused(&trust, Role::Client, &alone).contains("UnknownIssuer"));
    assert!(!refused(&trust, Role::Client, b"no certificate").is_empty());
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let (pem, issuer) = authority("ours");
    let (key, certificate, _) = issue(&issuer, |_| {});
    let other = Identity::generate().expect("a key").to_pem();
    assert_eq!(Identity::from_pem_with_certificate(&other, &certificate).err(), Some(KeyError::Mismatch));
    assert!(matches!(Identity::from_pem_with_certificate(&key, "none"), Err(KeyError::Certificate(_))));
    for wrong in ["", "none", &key] {
        assert!(matches!(Authorities::from_pem(wrong), Err(KeyError::Certificate(_))), "{wrong}");
    }
    let authorities = Authorities::from_pem(&pem).expect("an authority");
    assert!(matches!(authorities.named("not a name"), Err(KeyError::Certificate(_))));
}
