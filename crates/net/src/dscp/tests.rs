use super::*;

#[test]
fn codepoints_are_numbers_or_names() {
    for (text, number) in [
        ("0", 0),
        ("46", 46),
        ("0x2e", 46),
        ("EF", 46),
        ("ef", 46),
        ("AF41", 34),
        ("AF13", 14),
        ("CS5", 40),
        ("LE", 1),
        ("VA", 44),
        ("DF", 0),
    ] {
        assert_eq!(text.parse::<Dscp>().map(Dscp::value), Ok(number), "{text}");
    }
    for wrong in ["", "64", "-1", "AF44", "AF51", "CS8", "gold", "0x40", "0x"] {
        assert!(wrong.parse::<Dscp>().unwrap_err().contains("expected a number from 0 to 63"), "{wrong}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_codepoint_leaves_the_ecn_bits_to_the_protocol() {
    use whimbrel_wire::Ecn;

    let ef: Dscp = "EF".parse().unwrap();
    assert_eq!([Ecn::NotEct, Ecn::Ect0, Ecn::Ce].map(|ecn| ef.traffic_class(ecn)), [0xb8, 0xba, 0xbb]);
    assert_eq!(Dscp::DEFAULT.traffic_class(Ecn::Ect0), Ecn::Ect0.bits());
}
