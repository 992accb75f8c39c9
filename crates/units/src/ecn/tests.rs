use super::*;

#[test]
fn codepoints_have_the_bits_of_rfc_3168() {
    // RFC 3168, Section 5, Figure 1.
    for (bits, codepoint) in [(0b00, Ecn::NotEct), (0b01, Ecn::Ect1), (0b10, Ecn::Ect0), (0b11, Ecn::Ce)] {
        assert_eq!(Ecn::from_bits(bits), codepoint);
        assert_eq!(Ecn::from_bits(0b1011_1000 | bits), codepoint, "the DSCP does not matter");
        assert_eq!(codepoint.bits(), bits);
        assert_eq!(codepoint.is_capable(), bits != 0);
    }
}
