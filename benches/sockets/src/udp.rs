//! Plain sockets: one system call per datagram, no congestion control.

use std::net::UdpSocket;
use std::time::Duration;

use crate::SIZE;

/// Sends `datagrams` in windows that the receive buffer holds; returns how many arrived.
pub fn run(datagrams: u64) -> anyhow::Result<u64> {
    const WINDOW: u64 = 64;
    let receiver = UdpSocket::bind("127.0.0.1:0")?;
    receiver.set_read_timeout(Some(Duration::from_millis(500)))?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    receiver.connect(sender.local_addr()?)?;
    let receiving = std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        let mut delivered = 0;
        while delivered < datagrams && receiver.recv(&mut buffer).is_ok() {
            delivered += 1;
            if delivered % WINDOW == 0 {
                // Credit for the next window.
                let _ = receiver.send(&[0]);
            }
        }
        delivered
    });
    let payload = [0; SIZE];
    let mut credit = [0; 1];
    sender.set_read_timeout(Some(Duration::from_millis(500)))?;
    for n in 0..datagrams {
        if n >= 2 * WINDOW && n % WINDOW == 0 && sender.recv(&mut credit).is_err() {
            break;
        }
        sender.send(&payload)?;
    }
    Ok(receiving.join().unwrap_or(0))
}
