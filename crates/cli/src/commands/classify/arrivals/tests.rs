use super::*;
use whimbrel_units::Duration;

fn parsed(text: &str, needs_send_times: bool) -> anyhow::Result<Arrivals> {
    parse(
        &mut ReaderBuilder::new().trim(Trim::All).comment(Some(b'#')).from_reader(text.as_bytes()),
        needs_send_times,
        None,
    )
}

#[test]
fn columns_are_found_by_their_names() {
    let found =
        parsed("received, sent, size, sequence\n# a comment\n1.5, 1.25, 100, 7\n1.75,1.5,0,9\n", true)
            .unwrap();
    let [first, second] = found.packets[..] else { panic!() };
    assert_eq!((first.sequence, first.size.as_u64()), (7, 100));
    assert_eq!(second.sent.unwrap() - first.sent.unwrap(), Duration::from_millis(250));
    assert_eq!((found.clock.seconds(first.at), found.clock.seconds(second.at)), (1.5, 1.75));
    assert_eq!(second.at - first.at, Duration::from_millis(250));
    assert_eq!((second.sequence, second.size.as_u64()), (9, 0));
}

#[test]
fn a_sender_clock_that_is_years_ahead_or_behind_does_no_harm() {
    for offset in [-1e8, 1e8] {
        let text = format!("sequence,sent,received\n1,{},0\n2,{},0.01\n", offset, offset + 0.01);
        let found = parsed(&text, true).unwrap();
        let rott = |i: usize| {
            let packet: &PacketArrival = &found.packets[i];
            packet.at.as_nanos().cast_signed() - packet.sent.unwrap().as_nanos().cast_signed()
        };
        // A double holds 1e8 s to about 15 nanoseconds.
        assert!((rott(0) - rott(1)).abs() < 20, "{} {}", rott(0), rott(1));
    }
}

#[test]
fn errors_name_line_column_and_value() {
    let complaint = |text| format!("{:#}", parsed(text, true).unwrap_err());
    assert_eq!(
        complaint("sequence,received\n1,2\n"),
        "this scheme uses trip times; biaz and mbiaz do not: line 1: no column sent; \
         expected sequence, sent, received and found sequence, received"
    );
    assert_eq!(
        complaint("sequence,sent,received\n1,0,x\n"),
        "line 2: received is \"x\", expected a number of seconds"
    );
    assert_eq!(
        complaint("sequence,sent,received\n-1,0,1\n"),
        "line 2: sequence is \"-1\", expected a whole number from 0"
    );
    assert_eq!(
        complaint("sequence,sent,received\n1,0,1\n2,0,0.5\n"),
        "line 3: received is 0.5, before the line above; expected the order of arrival"
    );
    assert!(complaint("sequence,sent,received\n1,0\n").contains("line: 2"));
    assert!(complaint("sequence,sent,received\n1,NaN,1\n").contains("NaN"));
}

#[test]
fn numbers_that_wrap_are_unwrapped_and_too_large_ones_named() {
    let numbers =
        |text: &str| parsed(text, false).unwrap().packets.iter().map(|one| one.sequence).collect::<Vec<_>>();
    let text = "sequence,received\n65534,0\n65535,0.01\n1,0.02\n";
    assert_eq!(numbers(text).windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>(), [1, 2]);
    let mut reader = ReaderBuilder::new().from_reader("sequence,received\n7,0\n70000,1\n".as_bytes());
    let error = parse(&mut reader, false, Some(SequenceBits::new(16))).unwrap_err().to_string();
    assert_eq!(error, "line 3: sequence is 70000, expected a number of 16 bits");
}
