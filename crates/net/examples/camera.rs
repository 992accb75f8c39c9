//! A camera that sends datagrams with deadlines, and a viewer: the program of `docs/embed.md`.
//!
//! ```sh
//! cargo run -p whimbrel-net --example camera
//! ```

use std::time::Duration;
use whimbrel_net::{Bytes, Config, Listener, NetError, ServiceCode, Socket};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Both ends name the service, and may refuse another one.
    let config = Config::default().service_code(ServiceCode(42));

    // The viewer: a UDP port, here any free one, and DCCP port 5001 behind it.
    let listener = Listener::bind("127.0.0.1:0".parse()?, 5001, config.clone()).await?;
    let server = listener.local();
    let viewer = tokio::spawn(async move {
        let socket = listener.accept().await?;
        let mut received = 0;
        // An error ends the loop: `ClosedByPeer` at the regular end.
        while let Ok(datagram) = socket.recv().await {
            received += datagram.payload.len();
        }
        Ok::<usize, NetError>(received)
    });

    // The camera: 50 datagrams of 1000 bytes in a second.
    let camera = Socket::connect(server, 5001, config).await?;
    for number in 0..50 {
        // Stale after 150 ms: it is then dropped, and an event reports it.
        let deadline = camera.now() + whimbrel_net::Duration::from_millis(150);
        camera.try_send(Bytes::from(vec![number; 1000]), Some(deadline))?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // State of the congestion control, for an adaptive encoder.
    if let Some(snapshot) = camera.snapshot() {
        println!("{:?} allowed, RTT {:?}", snapshot.sender.allowed_rate, snapshot.rtt);
    }
    camera.close().await?;
    println!("{} bytes received", viewer.await??);
    Ok(())
}
