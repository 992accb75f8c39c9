//! The numbers of a session, and its socket.

use std::collections::BTreeSet;

use str0m::change::SdpAnswer;
use str0m::media::{Direction, MediaKind};

use super::*;

#[test]
fn numbers_go_on_after_16_bits_and_between_sources() {
    let mut numbers = Numbers::default();
    let mut place = |source, number, time| numbers.place(source, number, time);
    let first = place(1, 65_534, 50_000).expect("the first");
    assert_eq!(place(1, 65_533, 49_000), None, "a packet from before the first");
    assert_eq!(place(1, 0, 53_000), Some((first.0 + 2, first.1 + 3_000)));
    assert_eq!(place(1, 65_535, 53_000), Some((first.0 + 1, first.1 + 3_000)), "a late one");
    assert_eq!((place(1, 65_535, 53_000), place(1, 0, 53_000)), (None, None), "each once");
    // Another source, whose numbers are lower, then the first one anew.
    assert_eq!(place(2, 100, 9), Some((first.0 + 3, first.1 + 6_000)));
    assert_eq!(place(2, 99, 9), None);
    assert_eq!(place(1, 40_000, 9), Some((first.0 + 4, first.1 + 9_000)));
    assert_eq!(
        place(1, 20_000, 9).map(|(number, _)| number),
        Some(first.0 + 5),
        "an encoder that began anew"
    );
}

/// An offer to receive H.264, as a browser makes it.
pub(in super::super) const OFFER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 102\r\nc=IN IP4 0.0.0.0\r\n\
    a=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\na=fingerprint:sha-256 \
    AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99\r\na=setup:actpass\r\n\
    a=mid:0\r\na=recvonly\r\na=rtcp-mux\r\na=rtpmap:102 H264/90000\r\na=fmtp:102 packetization-mode=1\r\n";

#[tokio::test]
async fn who_does_not_know_the_password_gets_no_answer() {
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let screen = screen(local);
    let session = Session::answer(OFFER, local, Codec::H264).expect("an answer");
    let (at, name) = (session.at, session.name.clone());
    let (_packets, taken) = mpsc::channel(1);
    let running = tokio::spawn(async move { session.run(&screen, taken).await });
    let stranger = UdpSocket::bind(local).await.expect("loopback");
    // A request of STUN with the right name and a wrong proof, one without any, and no STUN at all.
    let mut named = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    named.extend([7; 12]);
    let bare = named.clone();
    let user = format!("{name}:abcd");
    named.extend([0, 6]);
    named.extend((user.len() as u16).to_be_bytes());
    named.extend(user.as_bytes());
    named.resize(named.len().next_multiple_of(4), 0);
    named.extend([0, 8, 0, 20]);
    named.extend([1; 20]);
    named[3] = (named.len() - 20) as u8;
    for datagram in [named, bare, vec![22; 200], vec![0x80; 60], vec![0]] {
        stranger.send_to(&datagram, at).await.expect("loopback");
    }
    let mut buffer = [0; 2048];
    let answer = tokio::time::timeout(Duration::from_millis(300), stranger.recv_from(&mut buffer)).await;
    assert!(answer.is_err(), "{answer:?}");
    assert!(!running.is_finished());
    running.abort();
}

fn screen(local: SocketAddr) -> Screen {
    let options = crate::Options { http: Some(local), ..crate::Options::default() };
    Screen::of(&options).expect("a page")
}

/// A browser that receives video: what it offers, and its end of the session.
struct Browser {
    rtc: Rtc,
    socket: UdpSocket,
    at: SocketAddr,
    /// The sizes of the payloads that have come.
    sizes: BTreeSet<usize>,
}

impl Browser {
    /// With a session that answers it.
    async fn with_session() -> (Self, Session) {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let socket = UdpSocket::bind(local).await.expect("loopback");
        let at = socket.local_addr().expect("bound");
        let mut rtc = RtcConfig::new().set_rtp_mode(true).clear_codecs().enable_h264(true).build(now());
        rtc.add_local_candidate(Candidate::host(at, "udp").expect("a host"));
        let mut changes = rtc.sdp_api();
        changes.add_media(MediaKind::Video, Direction::RecvOnly, None, None, None);
        let (offer, pending) = changes.apply().expect("an offer");
        let session = Session::answer(&offer.to_sdp_string(), local, Codec::H264).expect("an answer");
        let answer = SdpAnswer::from_sdp_string(&session.answer).expect("SDP");
        rtc.sdp_api().accept_answer(pending, answer).expect("an answer to its offer");
        (Self { rtc, socket, at, sizes: BTreeSet::new() }, session)
    }

    /// Takes part until `end`.
    async fn run_until(&mut self, end: Instant) {
        let mut buffer = vec![0; LONGEST];
        while now() < end {
            let due = loop {
                match self.rtc.poll_output().expect("a session") {
                    Output::Timeout(due) => break due,
                    Output::Transmit(it) => drop(self.socket.try_send_to(&it.contents, it.destination)),
                    Output::Event(Event::RtpPacket(packet)) => _ = self.sizes.insert(packet.payload.len()),
                    Output::Event(_) => {}
                }
            };
            let input = tokio::select! {
                () = sleep_until(due.min(end)) => Input::Timeout(now()),
                received = self.socket.recv_from(&mut buffer) => {
                    let (size, source) = received.expect("loopback");
                    let contents = buffer[..size].try_into().expect("a datagram of WebRTC");
                    Input::Receive(now(), Receive { proto: Protocol::Udp, source, destination: self.at, contents })
                }
            };
            self.rtc.handle_input(input).expect("a session");
        }
    }
}

/// RTP of a network with jumbo frames, or of loopback.
#[tokio::test]
async fn packets_that_are_too_long_for_a_browser_end_no_session() {
    let (mut browser, session) = Browser::with_session().await;
    let (packets, taken) = mpsc::channel(64);
    let screen = screen(session.at);
    let running = tokio::spawn(async move { session.run(&screen, taken).await });
    let mut number = 0_u16;
    let end = now() + Duration::from_secs(60);
    while !browser.sizes.contains(&100) && now() < end {
        for size in [LONGEST_PAYLOAD + 1, 2_500, 60_000, LONGEST_PAYLOAD, 100] {
            let mut packet = vec![0x80, 96];
            packet.extend(number.to_be_bytes());
            packet.extend([0, 0, 0, 0, 0, 0, 0, 9, 0x65]);
            packet.resize(12 + size, 1);
            number += 1;
            let _ = packets.try_send(packet.into());
        }
        browser.run_until(now() + Duration::from_millis(50)).await;
        assert!(!running.is_finished());
    }
    assert_eq!(browser.sizes, BTreeSet::from([100, LONGEST_PAYLOAD]));
    running.abort();
}

/// An interface that has a link-local address: the address, with its zone.
fn link_local() -> Option<SocketAddr> {
    let all = std::fs::read_to_string("/proc/net/if_inet6").ok()?;
    let line = all.lines().find(|line| line.starts_with("fe80"))?;
    let mut fields = line.split_whitespace();
    let bits = u128::from_str_radix(fields.next()?, 16).ok()?;
    let zone = u32::from_str_radix(fields.next()?, 16).ok()?;
    Some(std::net::SocketAddrV6::new(bits.into(), 0, 0, zone).into())
}

#[tokio::test]
async fn a_session_at_a_link_local_address_has_its_zone() {
    let Some(local) = link_local() else { return println!("skipped: no interface has a link-local address") };
    let session = Session::answer(OFFER, local, Codec::H264).expect("an answer");
    assert!(session.answer.contains(&format!(" {} ", local.ip())), "{}", session.answer);
    assert!(Session::answer(OFFER, SocketAddr::new(local.ip(), 0), Codec::H264).is_err());
}
