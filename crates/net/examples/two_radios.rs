//! A connection over two local addresses, such as those of a Wi-Fi and a mobile network, that survives the loss of one.
//!
//! ```sh
//! cargo run -p whimbrel-net --example two_radios
//! ```

use whimbrel_net::multipath::{MultipathConfig, MultipathHost, MultipathOptions, SubflowStage};
use whimbrel_net::{Bytes, Config, Listener};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The server needs one address; other clients may connect to it over one path.
    let listener = Listener::bind("127.0.0.1:0".parse()?, 5001, Config::default()).await?;
    let several = listener.multipath(MultipathOptions::default())?;
    several.listen(5001, Config::default(), MultipathConfig::default())?;

    // An address of each radio. All of 127.0.0.0/8 is this host.
    let radios = ["127.0.0.1:0".parse()?, "127.0.0.2:0".parse()?];
    let host = MultipathHost::bind(&radios)?;
    let settings = MultipathConfig::default();
    let client = host.connect(listener.local(), 5001, Config::default(), settings).await?;
    let server = several.accept().await?;
    let paths = || {
        let subflows = client.snapshot().map(|snapshot| snapshot.subflows).unwrap_or_default();
        subflows.iter().filter(|subflow| subflow.stage == SubflowStage::Established).count()
    };
    while paths() < 2 {
        client.event().await?;
    }

    client.send(Bytes::from_static(b"over either radio")).await?;
    println!("{:?} with {} paths", server.recv().await?.payload, paths());
    // The first radio is gone.
    host.remove_local(host.local_addrs()[0]);
    client.send(Bytes::from_static(b"over the other one")).await?;
    println!("{:?} with {} path", server.recv().await?.payload, paths());
    client.close().await?;
    Ok(())
}
