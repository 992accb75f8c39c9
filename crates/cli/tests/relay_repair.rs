//! Repair by `whimbrel relay`, the built program, on a path that a test controls.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use whimbrel_rtp::{FullIntraRequest, PictureLoss};

use crate::hostile_path::{HostilePath, all};
use crate::relays::{Relay, get, secret, socket};

/// SSRC of the video, and the time between two frames.
const STREAM: u32 = 9;
const FRAME: Duration = Duration::from_millis(20);

/// A camera: frames of H.264 of one packet each.
struct Camera {
    socket: UdpSocket,
    port: std::net::SocketAddr,
    frame: u16,
    /// The next frame is a key frame.
    starts: bool,
    losses: usize,
    requests: Vec<u8>,
}

impl Camera {
    /// Sends a frame, and takes the messages to the encoder; `answers`: a request is answered by a key frame.
    fn frame(&mut self, answers: bool) {
        let [high, low] = self.frame.to_be_bytes();
        // A slice of an IDR picture, or of another one.
        let unit = if std::mem::take(&mut self.starts) { [0x65, 0x88] } else { [0x41, 0x9a] };
        let mut packet = vec![0x80, 0x80 | 96, high, low, 0, high, low, 0, 0, 0, 0, STREAM as u8];
        packet.extend(unit);
        packet.resize(400, 0);
        self.socket.send_to(&packet, self.port).expect("loopback");
        self.frame += 1;
        thread::sleep(FRAME);
        let mut buffer = [0; 2048];
        while let Ok(size) = self.socket.recv(&mut buffer) {
            match (PictureLoss::decode(&buffer[..size]), FullIntraRequest::decode(&buffer[..size])) {
                (Ok(loss), _) => {
                    assert_eq!((loss.media, size), (STREAM, 12));
                    self.losses += 1;
                }
                (_, Ok(request)) => {
                    let [(STREAM, number)] = request.streams[..] else { panic!("{request:?}") };
                    self.requests.push(number);
                }
                _ => panic!("nothing else is sent here: {:?}", &buffer[..size]),
            }
            self.starts = answers;
        }
    }
    fn frames(&mut self, count: usize, answers: bool) {
        (0..count).for_each(|_| self.frame(answers));
    }
    /// Sends frames until that holds.
    fn until(&mut self, answers: bool, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..1000 {
            if holds(self) {
                return;
            }
            self.frame(answers);
        }
        panic!("{what}: {} losses, {:?}", self.losses, self.requests);
    }
}

#[test]
fn an_encoder_is_asked_for_a_key_frame_when_a_frame_cannot_be_repaired() {
    let folder = TempDir::new().expect("a folder");
    let secret = secret(&folder);
    let viewer = socket();
    let to = viewer.local_addr().expect("bound").to_string();
    let options = ["--latency", "200ms", "--video", "h264", "--secret-file", &secret];
    let listen = ["relay", "listen", "--bind", "127.0.0.1:0", "--to", &to];
    let mut far = Relay::start(&[&listen[..], &options].concat());
    let path = HostilePath::to(far.address("at UDP "));
    let at = path.at.to_string();
    let connect = ["relay", "connect", &at, "--from", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    let mut near = Relay::start(&[&connect[..], &options].concat());
    let port = near.address("at UDP ");
    let http = near.address("http://");
    near.event("connected");
    let socket = socket();
    socket.set_nonblocking(true).expect("a socket");
    let mut camera = Camera { socket, port, frame: 0, starts: true, losses: 0, requests: Vec::new() };
    // Repair restores single losses, so the relay requests no key frame.
    let mut packets = 0;
    path.obey(move |forth, packet| {
        packets += u32::from(forth && packet.len() > 400);
        if forth && packet.len() > 400 && packets % 10 == 0 { Vec::new() } else { all(forth, packet) }
    });
    camera.frames(50, true);
    assert_eq!((camera.losses, camera.requests.len()), (0, 0));
    // An outage of more than the latency: some frames cannot be repaired. The encoder answers.
    path.obey(|forth, packet| if forth && packet.len() > 400 { Vec::new() } else { all(forth, packet) });
    camera.frames(25, true);
    path.obey(all);
    camera.until(true, "a request", |camera| camera.losses > 0);
    let losses = camera.losses;
    camera.frames(25, true);
    assert!(camera.requests.is_empty(), "it has answered");
    // An encoder that does not answer is asked by the other message as well, a few times.
    let asked = camera.losses;
    path.obey(|forth, packet| if forth && packet.len() > 400 { Vec::new() } else { all(forth, packet) });
    camera.frames(25, false);
    path.obey(all);
    camera.until(false, "requests", |camera| camera.losses > asked && camera.requests.len() == 2);
    camera.frames(25, false);
    assert_eq!(camera.requests.len(), 2, "no more");
    assert_eq!(camera.requests[0], camera.requests[1], "a repetition");
    let rate: serde_json::Value = serde_json::from_str(&get(http, "/rate").1).expect("JSON");
    let expected = camera.losses + camera.requests.len();
    assert_eq!(rate["repair"]["key_frames_asked"], expected, "{rate}");
    println!("{losses} and {} losses", camera.losses - asked);
}
