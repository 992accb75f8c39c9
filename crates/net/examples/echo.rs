//! A server that sends back what it receives, and a client that measures the round trips.
//!
//! ```sh
//! cargo run -p whimbrel-net --example echo
//! ```

use whimbrel_net::{Bytes, Config, Listener, NetError, Socket};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = Listener::bind("127.0.0.1:0".parse()?, 5001, Config::default()).await?;
    let server = listener.local();
    tokio::spawn(async move {
        while let Ok(socket) = listener.accept().await {
            // Each client has a task of its own; an error, such as `ClosedByPeer`, ends it.
            tokio::spawn(async move {
                while let Ok(datagram) = socket.recv().await {
                    socket.send(datagram.payload).await?;
                }
                Ok::<(), NetError>(())
            });
        }
    });

    let client = Socket::connect(server, 5001, Config::default()).await?;
    for number in 0..5_u8 {
        let sent = client.now();
        client.send(Bytes::from(vec![number; 100])).await?;
        let echo = client.recv().await?;
        assert_eq!(echo.payload, vec![number; 100]);
        println!("datagram {number} came back after {:?}", client.now() - sent);
    }
    client.close().await?;
    Ok(())
}
