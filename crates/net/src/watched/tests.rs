use std::net::UdpSocket;

use super::*;

fn socket() -> WatchedSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.set_nonblocking(true).expect("it does not block");
    WatchedSocket::new(socket).expect("watched")
}

/// Events for which the descriptor wakes this process, by the kernel's list of its event loops.
#[cfg(target_os = "linux")]
fn events(descriptor: RawFd) -> Vec<u32> {
    let mut found = vec![];
    for entry in std::fs::read_dir("/proc/self/fdinfo").expect("Linux").flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        for line in text.lines().filter(|line| line.starts_with("tfd:")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words[1] == descriptor.to_string() {
                found.push(u32::from_str_radix(words[3], 16).expect("a mask"));
            }
        }
    }
    found
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_socket_is_not_watched_for_writing() {
    const EPOLLIN: u32 = 1;
    const EPOLLOUT: u32 = 4;
    let socket = socket();
    let of_reading = events(socket.as_raw_fd());
    assert!(!of_reading.is_empty() && of_reading.iter().all(|events| events & EPOLLIN != 0));
    assert!(of_reading.iter().all(|events| events & EPOLLOUT == 0), "{of_reading:x?}");
    socket.writable().await.expect("room");
    assert_eq!(events(socket.as_raw_fd()), of_reading);
}

#[tokio::test]
async fn a_datagram_makes_it_readable() {
    let (one, other) = (socket(), socket());
    one.writable().await.expect("room");
    one.send_to(b"datagram", other.local_addr().expect("bound")).expect("sent");
    other.readable().await.expect("watched");
    let mut room = [0; 16];
    let (length, from) = other.try_recv_from(&mut room).expect("a datagram");
    assert_eq!((&room[..length], from), (&b"datagram"[..], one.local_addr().expect("bound")));
    let empty = other.try_recv_from(&mut room).expect_err("nothing");
    assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
}
