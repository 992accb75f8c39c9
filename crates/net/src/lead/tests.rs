use super::*;

#[test]
fn a_lead_is_parsed_in_all_its_forms() {
    let ms = |n| Lead::Time(Duration::from_millis(n));
    for (text, expected) in [
        ("1rtt", Lead::RoundTrips(1.0)),
        ("2.5rtt", Lead::RoundTrips(2.5)),
        ("200ms", ms(200)),
        ("0.2s", ms(200)),
        ("0s", ms(0)),
    ] {
        assert_eq!(text.parse(), Ok(expected), "{text}");
        assert_eq!(expected.to_string().parse(), Ok(expected), "{text}");
    }
    for wrong in ["", "1", "rtt", "-1rtt", "NaNrtt", "infs", "1 fortnight", "200"] {
        assert!(wrong.parse::<Lead>().unwrap_err().contains("expected"), "{wrong}");
    }
}

#[test]
fn the_freeze_comes_that_long_before_the_outage() {
    let (at, rtt) = (Instant::from_millis, Some(Duration::from_millis(80)));
    let outage = at(1000);
    assert_eq!(Lead::RoundTrips(1.0).before(outage, rtt), at(920));
    assert_eq!(Lead::RoundTrips(2.5).before(outage, rtt), at(800));
    assert_eq!(Lead::Time(Duration::from_millis(200)).before(outage, rtt), at(800));
    assert_eq!(Lead::default().before(outage, None), outage);
    // An outage that is nearer than that freezes at once: no clock runs before its epoch.
    assert_eq!(Lead::RoundTrips(100.0).before(outage, rtt), Instant::ZERO);
}
