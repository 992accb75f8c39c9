//! A path in user space between two ends of a relay, whose packets a test may drop, change, repeat and forge.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::Duration;

/// Returns the packets that are passed on instead of a packet; `true` for those towards the listening end.
pub(crate) type Law = Box<dyn FnMut(bool, &[u8]) -> Vec<Vec<u8>> + Send>;

/// A running path; it ends when dropped.
pub(crate) struct HostilePath {
    /// The address for the connecting end.
    pub(crate) at: SocketAddr,
    law: Arc<Mutex<Law>>,
    out: Arc<RwLock<UdpSocket>>,
    far: SocketAddr,
    stop: Arc<AtomicBool>,
}

/// A socket whose reads end after a short time.
fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.set_read_timeout(Some(Duration::from_millis(10))).expect("a time");
    socket
}

/// Passes all packets.
pub(crate) fn all(_: bool, packet: &[u8]) -> Vec<Vec<u8>> {
    vec![packet.to_vec()]
}

/// Drops packets that are longer, with IPv4's header and UDP's.
pub(crate) fn at_most(size: usize) -> impl FnMut(bool, &[u8]) -> Vec<Vec<u8>> + Send {
    move |_, packet| if packet.len() + 28 > size { Vec::new() } else { vec![packet.to_vec()] }
}

impl HostilePath {
    pub(crate) fn to(far: SocketAddr) -> Self {
        let (near, out) = (Arc::new(socket()), Arc::new(RwLock::new(socket())));
        let law: Arc<Mutex<Law>> = Arc::new(Mutex::new(Box::new(all)));
        let (stop, client) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let at = near.local_addr().expect("bound");
        let path = Self { at, law: law.clone(), out: out.clone(), far, stop: stop.clone() };
        let (near_, out_, law_, stop_, client_) =
            (near.clone(), out.clone(), law.clone(), stop.clone(), client.clone());
        thread::spawn(move || {
            let mut buffer = [0; 2048];
            while !stop_.load(Ordering::Relaxed) {
                let Ok((size, source)) = near_.recv_from(&mut buffer) else { continue };
                *client_.lock().expect("no panic") = Some(source);
                let passed = (law_.lock().expect("no panic"))(true, &buffer[..size]);
                for packet in passed {
                    let _ = out_.read().expect("no panic").send_to(&packet, far);
                }
            }
        });
        thread::spawn(move || {
            let mut buffer = [0; 2048];
            while !stop.load(Ordering::Relaxed) {
                let current = out.read().expect("no panic").try_clone().expect("a descriptor");
                let Ok((size, _)) = current.recv_from(&mut buffer) else { continue };
                let passed = (law.lock().expect("no panic"))(false, &buffer[..size]);
                let Some(client) = *client.lock().expect("no panic") else { continue };
                for packet in passed {
                    let _ = near.send_to(&packet, client);
                }
            }
        });
        path
    }

    /// Sends a packet to the listening end with the address of the connecting one.
    pub(crate) fn inject(&self, packet: &[u8]) {
        let _ = self.out.read().expect("no panic").send_to(packet, self.far);
    }

    /// The law from now on.
    pub(crate) fn obey(&self, law: impl FnMut(bool, &[u8]) -> Vec<Vec<u8>> + Send + 'static) {
        *self.law.lock().expect("no panic") = Box::new(law);
    }

    /// Changes the address from which packets reach the listening end, as a NAT does that has lost its
    /// mapping.
    pub(crate) fn rebind(&self) {
        *self.out.write().expect("no panic") = socket();
    }
}

impl Drop for HostilePath {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
