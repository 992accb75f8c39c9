//! Codes of known keys and nonces.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use whimbrel_wire::option::multipath::{AddAddress, RemoveAddress};

use crate::multipath::Dialect;
use crate::multipath::entropy::Entropy;
use crate::multipath::keys::{Host, Keys, is_equal};

const KEY_A: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
const KEY_B: [u8; 8] = [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18];
const RA: u32 = 0x0123_4567;
const RB: u32 = 0x89ab_cdef;
const NONCE: Option<u32> = Some(0x0a0b_0c0d);

fn hex(code: [u8; 20]) -> String {
    code.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The keys at both hosts.
fn hosts() -> [Keys; 2] {
    [Keys::new(&KEY_A, &KEY_B), Keys::new(&KEY_B, &KEY_A)]
}

#[test]
fn the_codes_of_a_join_cover_both_nonces() {
    let [a, b] = hosts();
    let code_a = a.join_code(Dialect::Rfc9897, Host::Own, RA, RB, 0);
    let code_b = b.join_code(Dialect::Rfc9897, Host::Own, RB, RA, 0);
    assert_eq!(hex(code_a), "2c3a947ca06e1df57632ab9ab9016b656252ba70");
    assert_eq!(hex(code_b), "16825f9fdc50715ec1b63c183f5a18dcab3deb5c");
    assert_eq!(b.join_code(Dialect::Rfc9897, Host::Peer, RA, RB, 0), code_a);
    assert_eq!(a.join_code(Dialect::Rfc9897, Host::Peer, RB, RA, 0), code_b);
}

#[test]
fn the_codes_of_addresses_cover_the_port_or_zero() {
    let [a, b] = hosts();
    let code = |address_id, address: IpAddr, port| {
        let option = AddAddress { address_id, nonce: NONCE, address, port };
        assert_eq!(a.address_code(Host::Own, &option), b.address_code(Host::Peer, &option));
        hex(a.address_code(Host::Own, &option))
    };
    let v4 = Ipv4Addr::new(198, 51, 100, 7).into();
    assert_eq!(code(2, v4, None), "33233e84c0085d4096653731bed15d23ffb60f75");
    assert_eq!(code(2, v4, Some(5009)), "6143796bd4c93e536f57ea81aa5d7bd06356b6b2");
    let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7).into();
    assert_eq!(code(3, v6, None), "9ee0f0ee8f6f55deaced97b24835928c23c256f7");
}

#[test]
fn the_codes_of_removals_cover_the_nonce() {
    let [a, _] = hosts();
    // The formula of Section 3.2.6.
    let removal = RemoveAddress { address_id: 2, nonce: NONCE };
    assert_eq!(hex(a.removal_code(Host::Own, &removal)), "ea069f351f8831b9622767bf686f9b441d350007");
    // Its prose, which is also the form of the drafts.
    let draft = RemoveAddress { address_id: 2, nonce: None };
    assert_eq!(hex(a.removal_code(Host::Own, &draft)), "cc342ca646122040f7137b3343c1155ae220d48c");
}

#[test]
fn the_drafts_have_the_identifier_in_the_place_of_the_own_nonce() {
    let [a, b] = hosts();
    // The identifier of Host B, under both codes.
    let accepting = 0xb1b2_b3b4;
    let code = |keys: &Keys, own, other| keys.join_code(Dialect::Draft2024, Host::Own, own, other, accepting);
    assert_eq!(hex(code(&b, RB, RA)), "9f31ef048aea2f230409bee932adebbed8a4c49c");
    assert_eq!(hex(code(&a, RA, RB)), "921e193ae9ab5cdbdf5918c35c8c74f7e6824b2d");
}

#[test]
fn keys_and_secrets_are_not_printed() {
    let [a, _] = hosts();
    assert_eq!(format!("{a:?} {:?}", Entropy::new([7; 32])), "Keys Entropy");
    assert!(a.is_own_key(&KEY_A) && !a.is_own_key(&KEY_B) && !a.is_own_key(&KEY_A[..7]));
    assert_eq!(&a.peer_key()[..], KEY_B);
    assert!(is_equal(&[], &[]) && !is_equal(&[1], &[]) && !is_equal(&[1, 2], &[1, 3]));
}

#[test]
fn entropy_does_not_repeat() {
    let (mut first, mut second) = (Entropy::new([1; 32]), Entropy::new([2; 32]));
    let mut all: Vec<u64> = (0..100).flat_map(|_| [first.number(), second.number()]).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 200);
}
