use core::net::SocketAddr;

use super::*;

#[test]
fn the_hash_is_siphash() {
    // The test vector of the SipHash paper, Appendix A: the key is 00 01 .. 0f, the message 00 01 .. 0e,
    // 15 bytes. Whole words cannot make 15 bytes, so this checks 8 bytes (00 .. 07) instead, with the
    // value of the authors' vector file: 62 24 93 9a 79 f5 f5 93.
    let secret = Secret([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908], None);
    assert_eq!(secret.hash_words(&[0x0706_0504_0302_0100]), 0x93f5_f579_9a93_2462);
}

fn tuple(port: u16) -> FourTuple<SocketAddr> {
    FourTuple { address: SocketAddr::from(([10, 0, 0, 1], 6511)), local_port: port, remote_port: 9 }
}

#[test]
fn a_number_space_moves_with_the_clock_and_differs_from_all_others() {
    let secret = Secret::new(1);
    let start = secret.initial_sequence(Instant::ZERO, &tuple(5));
    let later = secret.initial_sequence(Instant::from_millis(4), &tuple(5));
    assert_eq!(later.distance_from(start), 1000, "a tick of 4 microseconds");
    let others = [
        Secret::new(2).initial_sequence(Instant::ZERO, &tuple(5)),
        secret.initial_sequence(Instant::ZERO, &tuple(6)),
        secret.initial_sequence(Instant::ZERO, &FourTuple { remote_port: 8, ..tuple(5) }),
    ];
    for other in others {
        assert!(other.distance_from(start).unsigned_abs() > 1_000_000);
    }
}
