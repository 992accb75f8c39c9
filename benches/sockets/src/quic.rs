//! QUIC DATAGRAM (RFC 9221) by quinn, AES-GCM by ring, set up for this path: no MTU search, so that its
//! black-hole detection cannot take a burst of losses for a smaller MTU, and large socket buffers.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, mpsc};

use bytes::Bytes;
use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use crate::{ROUND_LIMIT, SIZE, runtime};

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config.min_mtu(1400).initial_mtu(1400).mtu_discovery_config(None);
    config.datagram_receive_buffer_size(Some(16 << 20)).datagram_send_buffer_size(1 << 20);
    Arc::new(config)
}

/// Sends `datagrams` as fast as QUIC's congestion control (Cubic) allows; returns how many arrived.
pub fn run(datagrams: u64) -> anyhow::Result<u64> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (ready, readies) = mpsc::channel::<(SocketAddr, CertificateDer<'static>)>();
    let receiving = std::thread::spawn(move || -> anyhow::Result<u64> {
        runtime()?.block_on(async move {
            let identity = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
            let certificate = CertificateDer::from(identity.cert);
            let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
            let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
            config.transport_config(transport());
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            let endpoint =
                Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime))?;
            ready.send((endpoint.local_addr()?, certificate))?;
            let connection = endpoint.accept().await.ok_or_else(|| anyhow::anyhow!("no client"))?.await?;
            let mut delivered = 0;
            while connection.read_datagram().await.is_ok() {
                delivered += 1;
            }
            Ok(delivered)
        })
    });
    let (server, certificate) = readies.recv()?;
    runtime()?.block_on(async move {
        let send = async {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(certificate)?;
            let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
            config.transport_config(transport());
            let mut endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
            endpoint.set_default_client_config(config);
            let connection = endpoint.connect(server, "localhost")?.await?;
            let payload = Bytes::from(vec![0; SIZE]);
            for _ in 0..datagrams {
                connection.send_datagram_wait(payload.clone()).await?;
            }
            // Queued datagrams get a moment to leave; a closing frame would overtake them.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            connection.close(0u32.into(), b"");
            endpoint.wait_idle().await;
            anyhow::Ok(())
        };
        tokio::time::timeout(ROUND_LIMIT, send).await?
    })?;
    receiving.join().map_err(|_| anyhow::anyhow!("the receiver panicked"))?
}
