//! A connection over two local addresses, for example of a Wi-Fi and a mobile network, that survives the loss
//! of one.
//!
//! ```sh
//! cargo run -p whimbrel-net --example two_radios
//! ```

use whimbrel_net::multipath::{MultipathConfig, SubflowStage};
use whimbrel_net::{Bytes, Config, Host, HostOptions, Listener, Setup};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The server needs one address; other clients may connect to it over one path.
    let setup = Setup::from(Config::default()).over_paths([], MultipathConfig::default());
    let listener = Listener::bind("127.0.0.1:0".parse()?, 5001, setup.clone()).await?;

    // An address of each radio. All of 127.0.0.0/8 is this host.
    let radios = ["127.0.0.1:0".parse()?, "127.0.0.2:0".parse()?];
    let host = Host::without_address(HostOptions::default())?;
    for radio in radios {
        host.add_local(radio)?;
    }
    let client = host.connect(listener.local(), 5001, setup).await?;
    let server = listener.accept().await?;
    let paths = || {
        let subflows = client.paths().map(|snapshot| snapshot.subflows).unwrap_or_default();
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
