use super::super::plan::Direction;
use super::super::plan::tests::plan_with;
use super::*;

fn plan() -> Plan {
    plan_with(|plan| (plan.transport, plan.direction) = (Transport::Udp, Direction::Down))
}

async fn socket(at: &str) -> UdpSocket {
    UdpSocket::bind(at).await.expect("a loopback address")
}

#[tokio::test]
async fn both_ends_prove_their_addresses() {
    let plan = plan();
    let here = IpAddr::from([127, 0, 0, 1]);
    let sockets = bind(&plan, (here, 0).into(), Dscp::DEFAULT).await.expect("bound");
    let server = sockets[0].local_addr().expect("an address");
    let client = socket("127.0.0.1:0").await;
    client.connect(server).await.expect("connected");
    let links = [Link::Udp(Arc::new(client))];
    let greeter = Greeter::start(&plan, &links).expect("entropy");
    let proven = gather(sockets, plan.token, here).await.expect("proven");
    assert_eq!(proven.len(), 1);
    greeter.finish().expect("answered");
}

/// The greeting has the control connection's address as its forged source: the answer does not reach the
/// sender.
#[tokio::test]
async fn a_greeting_without_the_nonce_receives_its_own_length_at_most() {
    let plan = plan();
    let here = IpAddr::from([127, 0, 0, 1]);
    let mut sockets = bind(&plan, (here, 0).into(), Dscp::DEFAULT).await.expect("bound");
    let server = sockets[0].local_addr().expect("an address");
    let ours = sockets.remove(0);
    let proving = tokio::spawn(async move { prove(&ours, plan.token, here).await });
    let (victim, third) = (socket("127.0.0.1:0").await, socket("127.0.0.2:0").await);
    let greeting = Head { token: plan.token, stream: 0, kind: Kind::Greeting, sequence: 0, sent: 0 };
    let mut buffer = [0; 2048];
    for guess in 0..50 {
        // A third party is not answered at all: the answer below is the first that arrives.
        third.send_to(&bytes(greeting), server).await.expect("sent");
        victim.send_to(&bytes(Head { sent: guess, ..greeting }), server).await.expect("sent");
        let taken = victim.recv(&mut buffer).await.expect("an answer");
        let answer = Head::read(&buffer[..taken]).expect("a head");
        assert!(taken == Head::LEN && answer.kind == Kind::Answer && answer.sent > 0);
    }
    assert!(third.try_recv(&mut buffer).is_err(), "nothing goes to another host");
    assert!(victim.try_recv(&mut buffer).is_err() && !proving.is_finished());
    // A nonce is good for the address to which it went.
    let nonce = Head::read(&buffer[..Head::LEN]).expect("a head").sent;
    let other = socket("127.0.0.1:0").await;
    other.send_to(&bytes(Head { sent: nonce, ..greeting }), server).await.expect("sent");
    let taken = other.recv(&mut buffer).await.expect("an answer");
    assert!(Head::read(&buffer[..taken]).expect("a head").sent != nonce && !proving.is_finished());
    proving.abort();
}

/// A hostile server names the port of another program at its address.
#[tokio::test]
async fn a_client_sends_nothing_to_a_port_that_does_not_know_its_nonce() {
    let plan = plan();
    let (client, bystander) = (socket("127.0.0.1:0").await, socket("127.0.0.1:0").await);
    let at = client.local_addr().expect("an address");
    client.connect(bystander.local_addr().expect("an address")).await.expect("connected");
    let greeter = Greeter::start(&plan, &[Link::Udp(Arc::new(client))]).expect("entropy");
    let mut buffer = [0; 2048];
    bystander.recv(&mut buffer).await.expect("a greeting");
    let forged = Head { token: plan.token, stream: 0, kind: Kind::Answer, sequence: 0, sent: 1 };
    bystander.send_to(&bytes(forged), at).await.expect("sent");
    bystander.recv(&mut buffer).await.expect("another greeting");
    assert_eq!(Head::read(&buffer).expect("a head").sent, 0);
    assert!(greeter.finish().expect_err("refused").to_string().contains("without an answer"));
}
