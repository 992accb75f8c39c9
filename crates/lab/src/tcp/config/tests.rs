use super::*;

#[test]
fn a_plain_agent_of_ns_2_opens_with_a_syn_and_two_segments_of_a_thousand_bytes() {
    let config = TcpConfig::ns2(Variant::Tahoe);
    assert!(config.handshake);
    assert_eq!(config.window.initial.segments(config.segment_size), 2.0);
    assert_eq!((config.segment_size, config.window.limit), (1000, Some(20.0)));
}

#[test]
fn only_sack_has_blocks_and_only_sack_transmits_early_by_rfc() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let sack = variant == Variant::Sack;
        assert_eq!(TcpConfig::rfc(variant).receiver.sack_blocks > 0, sack);
        assert_eq!(TcpConfig::ns2(variant).receiver.sack_blocks > 0, sack);
        assert_eq!(TcpConfig::rfc(variant).recovery.limited_transmit == LimitedTransmit::On, sack);
    }
}

#[test]
fn the_window_of_ns_2_is_also_its_first_threshold() {
    let config = TcpConfig::ns2(Variant::Reno).with_window(64.0);
    assert_eq!((config.window.limit, config.window.initial_threshold), (Some(64.0), Some(64.0)));
}
