use alloc::string::ToString;

use proptest::prelude::*;

use super::*;

#[test]
fn the_examples_of_the_rfcs_are_parsed() {
    // RFC 4340, Section 8.1.2.
    for text in ["SC:fdpz", "SC=1717858426", "SC=x6664707A", "SC=X6664707a"] {
        assert_eq!(text.parse(), Ok(ServiceCode(1_717_858_426)), "{text}");
    }
    assert_eq!(ServiceCode(1_717_858_426).to_string(), "SC:fdpz");
    // RFC 5762, Section 5.2, prints each in all three forms.
    let rtp = [
        (ServiceCode::RTP_AUDIO, "SC:RTPA", "SC=1381257281", "SC=x52545041"),
        (ServiceCode::RTP_VIDEO, "SC:RTPV", "SC=1381257302", "SC=x52545056"),
        (ServiceCode::RTP_TEXT, "SC:RTPT", "SC=1381257300", "SC=x52545054"),
        (ServiceCode::RTP_OTHER, "SC:RTPO", "SC=1381257295", "SC=x5254504f"),
        (ServiceCode::RTCP, "SC:RTCP", "SC=1381253968", "SC=x52544350"),
    ];
    for (code, letters, decimal, hexadecimal) in rtp {
        assert_eq!(code.to_string(), letters);
        assert!([letters, decimal, hexadecimal].iter().all(|text| text.parse() == Ok(code)));
    }
}

#[test]
fn short_names_end_in_spaces() {
    assert_eq!("SC:a".parse(), Ok(ServiceCode(0x6120_2020)));
    assert_eq!(ServiceCode(0x6120_2020).to_string(), "SC:a");
}

#[test]
fn invalid_service_codes_are_rejected() {
    let wrong = [
        "",
        "42",
        "SC",
        "SC:",
        "SC:fdpzz",
        "SC:a b",
        "SC:\u{e9}",
        "SC:a,b",
        "SC=",
        "SC=x",
        "SC=+1",
        "SC=x+1",
        "SC=-1",
        "SC=4294967295",
        "SC=xffffffff",
        "SC=4294967296",
        "SC=1f",
        "sc:fdpz",
    ];
    for text in wrong {
        assert_eq!(text.parse::<ServiceCode>(), Err(ParseServiceCodeError), "{text}");
    }
    // Codes without a form in letters are formatted as a number: a space before the end, a letter not in the
    // set.
    assert_eq!(ServiceCode(0x2061_6161).to_string(), "SC=543252833");
    assert_eq!(ServiceCode(u32::from_be_bytes(*b"ab,d")).to_string(), "SC=1633823844");
    assert_eq!(ServiceCode(0).to_string(), "SC=0");
}

proptest! {
    #[test]
    fn a_formatted_service_code_is_parsed_unchanged(code in 0..u32::MAX, letters in "[-a-zA-Z0-9_+.*/?@]{1,4}") {
        prop_assert_eq!(ServiceCode(code).to_string().parse(), Ok(ServiceCode(code)));
        let code = ServiceCode::from_letters(&letters).unwrap();
        prop_assert_eq!(code.to_string(), alloc::format!("SC:{letters}"));
    }
}
