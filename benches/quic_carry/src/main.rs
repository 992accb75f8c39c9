//! QUIC DATAGRAM (RFC 9221) in place of `whimbrel relay`, for comparisons on the same path.
//!
//! ```text
//! quic_carry receive 0.0.0.0:7000 --to 127.0.0.1:5006 --certificate cert.der
//! quic_carry send 10.0.0.1:7000 --from 127.0.0.1:5004 --certificate cert.der
//! ```
//!
//! The sender connects and moves; datagrams pass in both directions, each as one DATAGRAM
//! frame, without retransmission. `receive` writes its certificate, `send` trusts it. `send` follows the
//! route to the other end (`whimbrel_net::LinkMonitor`): at a new address it rebinds its socket, and QUIC
//! migrates (RFC 9000, Section 9). The congestion control is quinn's default, CUBIC. `--buffer BYTES` bounds
//! the queue in front of the congestion control at each end: a new datagram then replaces the oldest. The
//! bound takes the place of `carry`'s deadline, which quinn does not have.

use std::fs;
use std::net::{SocketAddr, UdpSocket as StdSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use bytes::Bytes;
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, SendDatagramError, ServerConfig, TokioRuntime, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::net::UdpSocket;
use tokio::time::timeout;
use whimbrel_net::{LinkEvent, LinkMonitor};

/// The name in the certificate.
const NAME: &str = "quic-carry";
/// Time limit for the handshake.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// The largest UDP datagram.
const LARGEST: usize = 1 << 16;

/// The command line.
struct Options {
    address: SocketAddr,
    /// `--from` of the sender, `--to` of the receiver.
    program: SocketAddr,
    certificate: PathBuf,
    buffer: usize,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let address = words.next().context("expected ADDRESS:PORT")?;
        let address = address.parse().with_context(|| format!("{address}: expected ADDRESS:PORT"))?;
        let (mut program, mut certificate, mut buffer) = (None, None, 64_000);
        while let Some(key) = words.next() {
            let value = words.next().with_context(|| format!("{key}: expected a value"))?;
            let wrong = || format!("{key} {value}");
            match key.as_str() {
                "--from" | "--to" => program = Some(value.parse().with_context(wrong)?),
                "--certificate" => certificate = Some(PathBuf::from(value)),
                "--buffer" => buffer = value.parse().with_context(wrong)?,
                _ => bail!("{key}: expected --from, --to, --certificate or --buffer"),
            }
        }
        Ok(Self {
            address,
            program: program.context("expected --from or --to ADDRESS:PORT")?,
            certificate: certificate.context("expected --certificate FILE")?,
            buffer,
        })
    }

    fn transport(&self) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        // A datagram of 1200 bytes with its headers fits into the minimum MTU of IPv6, so no path MTU
        // discovery is needed.
        config.min_mtu(1280 - 48 + 20).initial_mtu(1280 - 48 + 20).mtu_discovery_config(None);
        config.datagram_send_buffer_size(self.buffer).datagram_receive_buffer_size(Some(1 << 20));
        Arc::new(config)
    }
}

/// Forwards between a connection and a UDP socket until the connection ends.
async fn forward(connection: &Connection, udp: &UdpSocket, mut target: Option<SocketAddr>, fixed: bool) -> anyhow::Result<()> {
    let mut buffer = vec![0; LARGEST];
    loop {
        tokio::select! {
            arrived = udp.recv_from(&mut buffer) => {
                // An ICMP message about an earlier datagram: its receiver is not running yet.
                let Ok((size, source)) = arrived else { continue };
                if !fixed {
                    target = Some(source);
                }
                match connection.send_datagram(Bytes::copy_from_slice(&buffer[..size])) {
                    Ok(()) | Err(SendDatagramError::ConnectionLost(_)) => {}
                    Err(error) => bail!("a datagram of {size} bytes: {error}"),
                }
            }
            received = connection.read_datagram() => match received {
                Ok(datagram) => if let Some(target) = target {
                    let _ = udp.send_to(&datagram, target).await;
                },
                Err(error) => {
                    eprintln!("quic_carry: {error}");
                    return Ok(());
                }
            },
        }
    }
}

async fn receive(options: &Options) -> anyhow::Result<()> {
    let identity = rcgen::generate_simple_self_signed(vec![NAME.into()])?;
    let certificate = CertificateDer::from(identity.cert);
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    config.transport_config(options.transport());
    let socket = StdSocket::bind(options.address)?;
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime))?;
    let udp = UdpSocket::bind("127.0.0.1:0").await?;
    write_whole(&options.certificate, &certificate)?;
    eprintln!("quic_carry: listening at {}", options.address);
    let connection = endpoint.accept().await.context("no client")?.await?;
    forward(&connection, &udp, Some(options.program), true).await?;
    let stats = connection.stats();
    println!(
        "{}",
        serde_json::json!({ "sent_datagrams": stats.frame_tx.datagram, "lost_packets": stats.path.lost_packets })
    );
    Ok(())
}

/// The other end must not read a part of the file.
fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let part = path.with_extension("part");
    fs::write(&part, bytes).and_then(|()| fs::rename(&part, path)).with_context(|| path.display().to_string())
}

async fn send(options: &Options) -> anyhow::Result<()> {
    let udp = UdpSocket::bind(options.program).await?;
    let certificate = async {
        loop {
            match fs::read(&options.certificate) {
                Ok(bytes) => return bytes,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let certificate = timeout(ANSWER_TIME, certificate).await.context("no certificate")?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(certificate))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(options.transport());
    let mut endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    endpoint.set_default_client_config(config);
    let connection = timeout(ANSWER_TIME, endpoint.connect(options.address, NAME)?).await.context("no answer")??;
    let mut monitor = LinkMonitor::open(options.address.ip(), None)?;
    let moving = async {
        loop {
            if monitor.next().await? == LinkEvent::AddressChanged {
                endpoint.rebind(StdSocket::bind("0.0.0.0:0")?)?;
            }
        }
    };
    tokio::select! {
        over = forward(&connection, &udp, None, false) => over?,
        failed = moving => return failed,
        _ = tokio::signal::ctrl_c() => {}
    }
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut words = std::env::args().skip(1);
    let role = words.next().ok_or_else(|| anyhow!("expected send or receive"))?;
    let options = Options::read(words)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match role.as_str() {
        "send" => runtime.block_on(send(&options)),
        "receive" => runtime.block_on(receive(&options)),
        _ => bail!("{role}: expected send or receive"),
    }
}
