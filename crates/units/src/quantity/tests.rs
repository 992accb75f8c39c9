use proptest::prelude::*;

use super::*;

#[test]
fn a_quantity_is_a_number_and_its_unit_with_or_without_a_space() {
    assert_eq!(time("10 ms"), Some(Duration::from_millis(10)));
    assert_eq!(time(" 1.5e1ms "), Some(Duration::from_millis(15)));
    assert_eq!(time("2 min"), Some(Duration::from_secs(120)));
    assert_eq!([rate("2M"), rate("2 Mbit/s")], [Some(DataRate::from_megabits_per_second(2.0)); 2]);
    assert_eq!(rate("250kB/s"), rate("2_000 kbit/s"));
    assert_eq!([size("1.5 KiB"), size("64kB")], [Some(ByteCount::new(1536)), Some(ByteCount::new(64_000))]);
    assert_eq!([share("1%"), share("0.01"), share("100 %")], [Some(0.01), Some(0.01), Some(1.0)]);
}

#[test]
fn other_names_of_a_unit_are_accepted_if_they_have_one_meaning() {
    let two = Some(DataRate::from_megabits_per_second(2.0));
    for same in ["2Mbps", "2 mbit", "2Mbit", "2MBIT/S", "0.002 Gbps", "2000kbps", "2e6bps", "2000 Kbit/s"] {
        let is_of_bytes = same.contains('B');
        assert_eq!(rate(same), two.filter(|_| !is_of_bytes), "{same}");
    }
    for same in ["1500 msec", "1.5 sec", "1.5seconds", "1500000\u{b5}s"] {
        assert_eq!(time(same), Some(Duration::from_millis(1500)), "{same}");
    }
    assert_eq!([size("2 bytes"), size("2 Bytes")], [Some(ByteCount::new(2)); 2]);
    assert_eq!(meant("2mb/s", RATE_UNITS), Some(("2", "Mbit/s")));
    assert_eq!(meant("2 MBps", RATE_UNITS), Some(("2", "MB/s")));
    assert_eq!([meant("fast", RATE_UNITS), meant("1 MB", RATE_UNITS)], [None; 2]);
}

#[test]
fn other_text_is_no_quantity() {
    for wrong in
        ["", "s", "10", "-1 s", "-0 s", "inf s", "NaN s", "10 kbit/s", "1 S", "1 e s", "1 s s", "\u{b5}"]
    {
        assert_eq!(time(wrong), None, "{wrong}");
    }
    for wrong in ["", "10", "M", "1 MBps", "1 mb/s", "1m", "-1k", "infM"] {
        assert_eq!(rate(wrong), None, "{wrong}");
    }
    for wrong in ["1", "0.5 B", "1e30 GB", "18446744073709551616 B", "1k"] {
        assert_eq!(size(wrong), None, "{wrong}");
    }
    for wrong in ["101 %", "1.01", "-1%", "%", ""] {
        assert_eq!(share(wrong), None, "{wrong}");
    }
    let long = "1".repeat(LONGEST_NUMBER + 1);
    assert_eq!(split(&long), None);
}

proptest! {
    #[test]
    fn reading_any_text_does_not_panic(text in "\\PC{0,80}") {
        let _ = (time(&text), rate(&text), size(&text), share(&text));
    }
}
