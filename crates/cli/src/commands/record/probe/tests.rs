use super::*;

#[test]
fn headers_survive_the_way_and_nothing_else_is_one() {
    for kind in [Kind::Hello, Kind::Probe(Class::Load), Kind::Probe(Class::Train), Kind::Echo(Class::Load)] {
        let header = Header { kind, token: u64::MAX - 1, number: 7 << 40, sent_us: 3 };
        let mut bytes = [0xff; PING];
        header.write(&mut bytes);
        assert_eq!(Header::read(&bytes), Some(header));
        // A probe must be longer than its echo.
        let is_probe = matches!(kind, Kind::Probe(_));
        assert_eq!(Header::read(&bytes[..ECHO]), Some(header).filter(|_| !is_probe));
        for length in 0..HEADER {
            assert_eq!(Header::read(&bytes[..length]), None);
        }
        for (position, wrong) in [(0, b'w'), (4, 3), (5, 3)] {
            let mut other = bytes;
            other[position] = wrong;
            assert_eq!(Header::read(&other), None, "byte {position}");
        }
    }
}
