use std::net::SocketAddr;

use super::*;

fn screen() -> Screen {
    let options = Options { http: Some(SocketAddr::from(([127, 0, 0, 1], 0))), ..Options::default() };
    Screen::of(&options).expect("a page")
}

/// A viewer without a session.
fn watch(screen: &Screen) -> (mpsc::Receiver<Bytes>, oneshot::Receiver<()>) {
    let (packets, taken) = mpsc::channel(QUEUE);
    let (end, ended) = oneshot::channel();
    screen.lock().viewers.push(Viewer { name: "one".into(), packets, _end: end });
    screen.0.count.store(1, Ordering::Relaxed);
    (taken, ended)
}

/// A packet of H.264 whose NAL unit has that type: 5 is of a key frame, 1 of another one.
fn packet(source: u8, kind: u8) -> Bytes {
    Bytes::from(vec![0x80, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, source, 0x60 | kind, 0x88, 0])
}

fn flow(number: u8) -> Flow {
    Flow { port: 0, number }
}

#[tokio::test]
async fn requests_for_key_frames_are_few_and_none_is_forgotten() {
    let screen = screen();
    let _viewer = watch(&screen);
    let (mut shown, mut other) =
        (Viewing::new(Some(screen.clone()), 1), Viewing::new(Some(screen.clone()), 2));
    let at = Instant::from_millis;
    assert_eq!(shown.messages(at(0)), [], "there is no video");
    // Without a key frame any stream may be the video, but not all streams of a peer.
    (0..9).for_each(|number| shown.pass(at(0), flow(number), &packet(number, 1)));
    shown.request().await;
    assert_eq!(shown.messages(at(1)).len(), MAX_CANDIDATES);
    assert_eq!(shown.messages(at(600)), [], "nobody has asked again");
    shown.pass(at(600), flow(3), &packet(9, 5));
    screen.ask();
    shown.request().await;
    let messages = shown.messages(at(601));
    let [(to, message)] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!((*to, &message[..2], &message[8..]), (flow(3), &[0x81, 206][..], &[0, 0, 0, 9][..]));
    screen.ask();
    shown.request().await;
    assert_eq!((shown.messages(at(700)), shown.messages(at(1100))), (Vec::new(), Vec::new()), "too soon");
    assert_eq!(shown.messages(at(1101)).len(), 1);
    assert_eq!(other.messages(at(1101)), []);
}

#[test]
fn a_viewer_that_takes_nothing_holds_a_bounded_number_of_packets() {
    let screen = screen();
    let (mut taken, _end) = watch(&screen);
    let shown = Viewing::new(Some(screen), 1);
    (0..2000).for_each(|time| shown.pass(Instant::from_millis(time), flow(0), &packet(9, 5)));
    assert_eq!((0..2000).filter(|_| taken.try_recv().is_ok()).count(), QUEUE);
}

#[test]
fn the_newest_video_is_shown_from_a_key_frame_on() {
    let screen = screen();
    let (mut taken, _end) = watch(&screen);
    let [old, new] = [1, 2].map(|connection| Viewing::new(Some(screen.clone()), connection));
    let mut shows = |viewing: &Viewing, time, flow, packet: Bytes| {
        viewing.pass(Instant::from_millis(time), flow, &packet);
        taken.try_recv().is_ok_and(|shown| shown == packet)
    };
    assert!(!shows(&old, 0, flow(0), packet(1, 1)), "nothing can be decoded before a key frame");
    assert!(shows(&old, 1, flow(0), packet(1, 5)));
    assert!(shows(&old, 2, flow(0), packet(1, 1)));
    // Another video of the same connection waits until the first one is silent.
    assert!(!shows(&old, 3, flow(1), packet(2, 5)));
    assert!(!shows(&new, 4, flow(0), packet(3, 1)));
    assert!(shows(&new, 5, flow(0), packet(3, 5)));
    assert!(!shows(&old, 6, flow(0), packet(1, 5)), "a newer one is there");
    assert!(shows(&new, 1006, flow(1), packet(4, 5)));
    assert!(!shows(&new, 1007, flow(0), Bytes::from_static(&[0x80, 96, 0])), "no packet of RTP");
    drop(new);
    assert!(!shows(&old, 1008, flow(0), packet(1, 1)), "nothing can be decoded before a key frame");
    assert!(shows(&old, 1009, flow(0), packet(1, 5)), "the newer one has ended");
}

/// Offers that come faster than sessions end are refused before anything is made for them.
#[tokio::test]
async fn sessions_are_counted_before_they_are_made() {
    let screen = screen();
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let offer = |body: &str| {
        let asked = Asked { removes: None, body: body.into(), at: local, from: local.ip() };
        screen.change(&asked)
    };
    // Invalid offers hold no place.
    for _ in 0..3 * MAX_SESSIONS {
        assert!(matches!(offer("v=1"), Changed::Refused(StatusCode::BAD_REQUEST, _)));
    }
    let mut made = 0;
    while let Changed::Created(..) = offer(viewer::tests::OFFER) {
        made += 1;
    }
    assert_eq!(made, MAX_SESSIONS);
    assert!(matches!(offer(viewer::tests::OFFER), Changed::Refused(StatusCode::SERVICE_UNAVAILABLE, _)));
    // Sessions without a place end as soon as they run.
    while screen.0.sessions.load(Ordering::Relaxed) > MAX_VIEWERS {
        tokio::task::yield_now().await;
    }
    assert!(matches!(offer(viewer::tests::OFFER), Changed::Created(..)));
}
