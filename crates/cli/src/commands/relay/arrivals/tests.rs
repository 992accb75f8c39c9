//! Tests of the queue of local datagrams.

use tokio::time::timeout;

use super::*;

fn datagram(n: u32) -> Arrived {
    let source = SocketAddr::from(([127, 0, 0, 1], 1));
    Arrived { port: 0, number: None, source, payload: Bytes::copy_from_slice(&n.to_be_bytes()) }
}

#[tokio::test]
async fn a_burst_is_limited_and_its_memory_is_returned() {
    let arrivals = Arrivals::default();
    for n in 0..ARRIVING as u32 + 10 {
        arrivals.push(datagram(n));
    }
    assert_eq!(arrivals.lost(), 10);
    for n in 0..ARRIVING as u32 {
        assert_eq!(arrivals.next().await.payload[..], n.to_be_bytes());
    }
    assert!(timeout(Duration::from_millis(5), arrivals.next()).await.is_err());
    arrivals.shrink();
    assert!(arrivals.lock().datagrams.capacity() <= KEPT);
}

#[tokio::test]
async fn a_socket_is_read_on_after_a_report_of_the_network() {
    // A socket that has sent to a closed port gets an error with the next call, as it does of a missing route.
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback").local_addr().expect("bound");
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("loopback"));
    socket.connect(closed).await.expect("an address");
    let arrivals = Arc::new(Arrivals::default());
    let reader = tokio::spawn(Arrivals::read(arrivals.clone(), socket.clone(), 3, Some(4)));
    for _ in 0..3 {
        let _ = socket.send(b"x").await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let program = UdpSocket::bind(closed).await.expect("it is free");
    program.send_to(b"answer", socket.local_addr().expect("bound")).await.expect("loopback");
    let arrived = timeout(Duration::from_secs(5), arrivals.next()).await.expect("the reader goes on");
    assert_eq!((arrived.port, arrived.number, &arrived.payload[..]), (3, Some(4), &b"answer"[..]));
    reader.abort();
}
