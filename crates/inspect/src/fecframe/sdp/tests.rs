use super::*;

/// The example of RFC 6364, Section 6.1, with the code of RFC 8681.
const EXAMPLE: &str = "v=0
o=ali 1122334455 1122334466 IN IP4 fec.example.com
s=FEC Framework Examples
t=0 0
a=group:FEC-FR S1 R1
m=video 30000 RTP/AVP 100
c=IN IP4 233.252.0.1/127
a=rtpmap:100 MP2T/90000
a=fec-source-flow: id=0
a=mid:S1
m=application 30000 UDP/FEC
c=IN IP4 233.252.0.2/127
a=fec-repair-flow: encoding-id=10; ss-fssi=E:1400,WSR:191
a=repair-window:150ms
a=mid:R1
";

fn place(address: &str, port: u16) -> Place {
    Place { address: Some(address.parse().expect("an address")), port }
}

#[test]
fn a_source_and_its_repair_flow_are_found() {
    let expected = Session {
        sources: vec![place("233.252.0.1", 30_000)],
        repair: place("233.252.0.2", 30_000),
        code: Code::Gf256,
        symbol_size: 1400,
    };
    assert_eq!(parse(EXAMPLE).as_deref(), Ok(&[expected.clone()][..]));
    assert_eq!(parse(&EXAMPLE.replace('\n', "\r\n")).as_deref(), Ok(&[expected.clone()][..]));
    // A single repair flow needs no group.
    let ungrouped = EXAMPLE.replace("a=group:FEC-FR S1 R1\n", "");
    assert_eq!(parse(&ungrouped), Ok(vec![expected]));
}

#[test]
fn a_flow_without_an_address_of_its_own_has_that_of_the_session() {
    let text =
        EXAMPLE.replace("t=0 0\n", "c=IN IP6 2001:db8::1\nt=0 0\n").replace("c=IN IP4 233.252.0.2/127\n", "");
    let sessions = parse(&text).expect("a description");
    assert_eq!(sessions[0].repair, place("2001:db8::1", 30_000));
    assert_eq!(sessions[0].sources, [place("233.252.0.1", 30_000)]);
    let anywhere = parse(&text.replace("2001:db8::1", "::")).expect("a description")[0].repair;
    assert_eq!(anywhere, Place { address: None, port: 30_000 });
    assert!(anywhere.is("192.0.2.7:30000".parse().expect("an address")));
    assert!(!anywhere.is("192.0.2.7:30001".parse().expect("an address")));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let changed = |from: &str, to: &str| {
        assert!(EXAMPLE.contains(from), "{from}");
        parse(&EXAMPLE.replace(from, to)).expect_err(to).to_string()
    };
    for (from, to, expected) in [
        ("encoding-id=10", "encoding-id=6", "line 13: a=fec-repair-flow: encoding-id 6: expected 10 or 9"),
        (
            "E:1400",
            "E:3",
            "line 13: a=fec-repair-flow: fssi E:3,WSR:191: expected bytes of a symbol from 4 on",
        ),
        (
            "; ss-fssi=E:1400,WSR:191",
            "",
            "line 13: a=fec-repair-flow: encoding-id=10: expected encoding-id and ss-fssi",
        ),
        ("id=0", "id=0; tag-len=6", "line 9: a=fec-source-flow: tag-len 6: expected 4"),
        ("S1 R1", "S1 R2", "line 5: a=group:FEC-FR: no media description has a=mid:R2"),
        ("m=video 30000", "m=video x", "line 6: m=video x RTP/AVP 100: expected a media type and a port"),
        ("233.252.0.1/127", "somewhere", "line 7: c=IN IP4 somewhere: expected an address"),
        ("a=fec-source-flow: id=0\n", "", "line 14: expected media descriptions with a=fec-source-flow"),
        ("t=0 0\n", &"a=group:FEC-FR S1 R1\n".repeat(16), "line 30: 17 repair flows: expected at most 16"),
        ("t=0 0", "hello", "line 4: \"hello\": expected a line of SDP"),
    ] {
        let found = changed(from, to);
        assert!(found.starts_with(expected), "{found}");
    }
}
