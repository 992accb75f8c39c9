//! DCCP over UDP, in the clear and secured by DTLS.

use std::net::SocketAddr;
use std::sync::mpsc;

use bytes::Bytes;
use whimbrel_net::{Ccid, Config, Listener, OverflowPolicy, Role, SendQueueConfig, ServiceCode, Setup, SharedSecret, Socket};

use crate::{ROUND_LIMIT, SIZE, runtime};

fn setup(ccid: u8, role: Role, secured: bool) -> Setup {
    let secret = SharedSecret::new(b"a secret for one host").expect("long enough");
    let config = Config::default().service_code(ServiceCode(1)).sender_ccids([Ccid(ccid)]).receiver_ccids([Ccid(ccid)]).send_queue(SendQueueConfig::default().max_datagrams(256).overflow(OverflowPolicy::Refuse));
    Setup::new(config, secured.then(|| secret.security(role)))
}

/// Sends `datagrams` as fast as the CCID allows; returns how many arrived.
pub fn run(datagrams: u64, ccid: u8, secured: bool) -> anyhow::Result<u64> {
    let (address, addresses) = mpsc::channel::<SocketAddr>();
    let receiving = std::thread::spawn(move || -> anyhow::Result<u64> {
        runtime()?.block_on(async move {
            let listener = Listener::bind("127.0.0.1:0".parse()?, 5001, setup(ccid, Role::Server, secured)).await?;
            address.send(listener.local())?;
            let socket = listener.accept().await?;
            let mut delivered = 0;
            let mut received = Vec::new();
            // The end of the connection ends this loop.
            while let Ok(n) = socket.recv_many(&mut received, 256).await {
                delivered += n as u64;
                received.clear();
            }
            Ok(delivered)
        })
    });
    let server = addresses.recv()?;
    runtime()?.block_on(async move {
        let send = async {
            let socket = Socket::connect(server, 5001, setup(ccid, Role::Client, secured)).await?;
            let payload = Bytes::from(vec![0; SIZE]);
            for _ in 0..datagrams {
                socket.send(payload.clone()).await?;
            }
            socket.close().await?;
            anyhow::Ok(())
        };
        tokio::time::timeout(ROUND_LIMIT, send).await?
    })?;
    receiving.join().map_err(|_| anyhow::anyhow!("the receiver panicked"))?
}
