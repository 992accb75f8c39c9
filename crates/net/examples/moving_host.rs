//! A client that changes its address, as a phone does that leaves the Wi-Fi, and keeps its connection.
//!
//! ```sh
//! cargo run -p whimbrel-net --example moving_host
//! ```

use whimbrel_net::{Bytes, Config, Event, Listener, MobilityConfig, PathChange, Socket};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Both ends agree on it when they connect.
    let config = Config::default().mobility(Some(MobilityConfig::default()));
    let listener = Listener::bind("127.0.0.1:0".parse()?, 5001, config.clone()).await?;
    let client = Socket::connect(listener.local(), 5001, config).await?;
    let server = listener.accept().await?;

    client.send(Bytes::from_static(b"from the old address")).await?;
    println!("{:?} from {}", server.recv().await?.payload, server.remote());
    let old = client.local();
    // A program passes None to take the address that the system gives now; `LinkMonitor` reports when.
    client.rebind(Some("127.0.0.1:0".parse()?), PathChange::Keep).await?;
    while client.event().await? != Event::MoveConfirmed {}
    client.send(Bytes::from_static(b"from the new address")).await?;
    println!("{:?} from {}", server.recv().await?.payload, server.remote());
    assert_ne!(client.local(), old);
    assert_eq!(server.remote(), client.local());
    client.close().await?;
    Ok(())
}
