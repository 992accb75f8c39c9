//! Heap memory of a socket.

use std::net::SocketAddr;
use std::sync::mpsc;

use allocation_counter::measure;
use bytes::Bytes;
use whimbrel_net::{Config, Listener, Role, Setup, SharedSecret, Socket};

const PORT: u16 = 5001;
const SOCKETS: i64 = 20;
/// For one client, in bytes: in the clear, and secured.
const LIMIT: i64 = 30_000;
const SECURED_LIMIT: i64 = 50_000;

/// A server on a thread of its own, as only this thread's memory is counted.
fn serve(setup: Setup) -> SocketAddr {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let any = "127.0.0.1:0".parse().expect("an address");
            let listener = Listener::bind(any, PORT, setup).await.expect("loopback");
            sender.send(listener.local()).expect("the test waits");
            let mut sockets = Vec::new();
            while let Ok(socket) = listener.accept().await {
                let received = socket.recv().await.expect("a datagram");
                socket.send(received.payload).await.expect("open");
                sockets.push(socket);
            }
        });
    });
    receiver.recv().expect("a server")
}

/// Bytes of a client that has exchanged datagrams.
fn bytes_of_a_client(client: &Setup, server: Setup) -> i64 {
    let server = serve(server);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let connect = || {
        runtime.block_on(async {
            let client = Socket::connect(server, PORT, client.clone()).await.expect("a handshake");
            client.send(Bytes::from_static(&[7; 1000])).await.expect("open");
            assert_eq!(client.recv().await.expect("an answer").payload.len(), 1000);
            client
        })
    };
    // Shared state is allocated afterwards.
    let first = connect();
    let mut sockets = Vec::with_capacity(SOCKETS as usize);
    let info = measure(|| sockets.extend((0..SOCKETS).map(|_| connect())));
    drop((first, sockets));
    info.bytes_current / SOCKETS
}

#[test]
fn a_client_socket_takes_less_than_30_kilobytes() {
    let each = bytes_of_a_client(&Config::default().into(), Config::default().into());
    println!("{each} bytes for each client socket");
    assert!((1_000..LIMIT).contains(&each), "{each} bytes for each client socket");
}

#[test]
fn a_secured_client_socket_takes_less_than_50_kilobytes() {
    let secret = SharedSecret::new(b"some secret of many bytes").expect("long enough");
    let setup = |role| Setup::secured(Config::default(), secret.security(role));
    let each = bytes_of_a_client(&setup(Role::Client), setup(Role::Server));
    println!("{each} bytes for each secured client socket");
    assert!((1_000..SECURED_LIMIT).contains(&each), "{each} bytes for each secured client socket");
}
