use std::cell::RefCell;
use std::time::Duration;

use whimbrel_proto::ConnectionError;

use super::*;

fn parsed(text: &str) -> Result<(String, Option<u16>), ParseHostPortError> {
    text.parse().map(|it: HostPort| (it.host, it.port))
}

fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
    texts.iter().map(|text| text.parse().expect("an address")).collect()
}

#[test]
fn a_port_may_follow_a_name_or_an_address() {
    for (text, host, port) in [
        ("camera", "camera", None),
        ("camera.local:5004", "camera.local", Some(5004)),
        (":5004", "", Some(5004)),
        ("192.0.2.7:6511", "192.0.2.7", Some(6511)),
        ("2001:db8::7", "2001:db8::7", None),
        ("fe80::1%eth0", "fe80::1%eth0", None),
        ("[2001:db8::7]", "2001:db8::7", None),
        ("[2001:db8::7]:80", "2001:db8::7", Some(80)),
        ("[fe80::1%eth0]:80", "fe80::1%eth0", Some(80)),
        ("[fe80::1%2]:80", "fe80::1%2", Some(80)),
    ] {
        assert_eq!(parsed(text), Ok((host.to_owned(), port)), "{text}");
    }
    for wrong in [
        "5004",
        "5004:5004",
        "",
        "host:",
        "host:65536",
        "host:http",
        "host:+1",
        "[::1",
        "[::1]80",
        "[host]:80",
        "[fe80::1%]:80",
        "a b",
        "a\x1b[2J:80",
    ] {
        assert!(parsed(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_host_prints_as_it_is_typed() {
    for text in ["camera", "camera:7000", "2001:db8::7", "[2001:db8::7]:80", "[fe80::1%eth0]:80", ":80"] {
        assert_eq!(text.parse::<HostPort>().expect("a host").to_string(), text);
    }
    let scoped: SocketAddr = "[fe80::1%3]:80".parse().expect("an address");
    assert_eq!(HostPort::from(scoped).to_string(), "[fe80::1%3]:80");
}

#[tokio::test]
async fn an_empty_host_is_this_one() {
    let host: HostPort = ":5004".parse().expect("a host");
    assert_eq!(host.resolve(1).await.expect("no name"), addresses(&["[::1]:5004", "127.0.0.1:5004"]));
    assert_eq!(host.resolve_local(1).await.expect("no name"), addresses(&["[::]:5004", "0.0.0.0:5004"]));
}

#[tokio::test]
async fn a_zone_may_be_a_number_or_a_name() {
    // The loopback interface is the first one of every network namespace.
    for (text, index) in [("[fe80::1%1]:80", 1), ("fe80::1%1", 1), ("[fe80::1%lo]:80", 1)] {
        if text.contains("lo") && !cfg!(target_os = "linux") {
            continue;
        }
        let found = text.parse::<HostPort>().expect("a host").resolve(80).await.expect("an interface");
        assert!(
            matches!(found[..], [SocketAddr::V6(v6)] if v6.scope_id() == index && v6.port() == 80),
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn a_name_that_has_no_address_is_named() {
    let host = HostPort::new("no-such-host.invalid", Some(80));
    let error = host.resolve(80).await.expect_err("RFC 6761 reserves it");
    assert_eq!(error.to_string(), "no-such-host.invalid cannot be resolved");
}

#[test]
fn families_take_turns_from_the_first_ones_on() {
    let found = addresses(&["[::2]:1", "[::3]:1", "[::2]:1", "192.0.2.1:1", "[::4]:1", "192.0.2.2:1"]);
    let expected = addresses(&["[::2]:1", "192.0.2.1:1", "[::3]:1", "192.0.2.2:1", "[::4]:1"]);
    assert_eq!(interleaved(found.into_iter()), expected);
}

/// Connects to addresses that succeed or fail after some milliseconds. Returns the result and the start of
/// each attempt.
async fn raced(plan: &[(u64, bool)]) -> (Result<u16, Vec<u16>>, Vec<u64>) {
    let all: Vec<_> = (0..plan.len() as u16).map(|port| SocketAddr::from(([192, 0, 2, 1], port))).collect();
    #[expect(clippy::disallowed_types, reason = "the runtime's clock is stopped")]
    let begin = tokio::time::Instant::now();
    let starts = RefCell::new(Vec::new());
    let result = connect_any(&all, |at| {
        let (after, succeeds) = plan[usize::from(at.port())];
        starts.borrow_mut().push(begin.elapsed().as_millis() as u64);
        async move {
            sleep(Duration::from_millis(after)).await;
            if succeeds { Ok(()) } else { Err(()) }
        }
    });
    let result = result.await;
    let ports = |failures: Vec<(SocketAddr, ())>| failures.iter().map(|(at, ())| at.port()).collect();
    (result.map(|(at, ())| at.port()).map_err(ports), starts.into_inner())
}

#[tokio::test(start_paused = true)]
async fn attempts_are_staggered_and_the_first_that_completes_wins() {
    // The first is silent, the second slow: the third wins.
    assert_eq!(raced(&[(60_000, true), (1000, true), (100, true)]).await, (Ok(2), vec![0, 250, 500]));
    // An answer within 250 ms is the only attempt.
    assert_eq!(raced(&[(249, true), (0, true)]).await, (Ok(0), vec![0]));
    // A slow one still wins if the others fail.
    assert_eq!(raced(&[(2000, true), (10, false)]).await, (Ok(0), vec![0, 250]));
    // After a failure nothing is waited for.
    assert_eq!(raced(&[(10, false), (10, false), (10, true)]).await, (Ok(2), vec![0, 10, 20]));
    assert_eq!(raced(&[(300, false), (10, false)]).await, (Err(vec![1, 0]), vec![0, 250]));
    assert_eq!(raced(&[]).await, (Err(vec![]), vec![]));
}

#[test]
fn an_answer_says_more_than_silence_and_silence_more_than_a_missing_address() {
    let at = SocketAddr::from(([192, 0, 2, 1], 1));
    let unusable = || NetError::io("opening a UDP socket")(io::ErrorKind::AddrNotAvailable.into());
    let silent = || NetError::Connection(ConnectionError::TimedOut);
    let told = most_telling(vec![(at, unusable()), (at, silent())]);
    assert!(matches!(told, NetError::Connection(ConnectionError::TimedOut)), "{told}");
    let answer = NetError::Security(whimbrel_dtls::SecurityError::EndedByPeer);
    let told = most_telling(vec![(at, silent()), (at, unusable()), (at, answer)]);
    assert!(matches!(told, NetError::Security(_)), "{told}");
}
