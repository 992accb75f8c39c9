//! Options that secure connections.

use super::*;

const KEY: &str = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

#[test]
fn a_server_has_one_name_however_it_is_written() {
    assert_eq!(known_hosts::name("Example.ORG", 6511), "example.org:6511");
    assert_eq!(known_hosts::name("2001:db8::1", 7), "[2001:db8::1]:7");
}

#[test]
fn known_hosts_are_lines_of_name_and_key() {
    let known = KnownHosts::parse(&format!("# servers\n\nexample.org:6511 {KEY}\n")).expect("valid");
    assert_eq!(known.of("example.org:6511").map(|key| key.to_string()).as_deref(), Some(KEY));
    assert_eq!(known.of("example.org:6512"), None);
    for (wrong, expected) in [("example.org:6511", "line 1: expected a server"), ("\na:1 b", "line 2")] {
        let error = KnownHosts::parse(wrong).expect_err("malformed");
        assert!(format!("{error:#}").contains(expected), "{error:#}");
    }
}

#[test]
fn data_to_another_host_are_secured_unless_plaintext_is_asked_for() {
    // No test of this process sets the variables that name files.
    let none = ClientSecurityArgs::default();
    let Err(Failure::Usage(message)) = none.client("192.0.2.1", 6511, false) else { panic!("it is allowed") };
    assert!(message.contains("192.0.2.1") && message.contains("--insecure-plaintext"), "{message}");
    let local = none.client("127.0.0.1", 6511, true).expect("nobody can listen");
    assert!(local.security.is_none());
    let mut insecure = ClientSecurityArgs::default();
    insecure.both.insecure_plaintext = true;
    assert!(insecure.client("192.0.2.1", 6511, false).expect("asked for").security.is_none());
}
