//! A data channel of str0m with repair, between two peers without sockets.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use str0m::channel::ChannelId;
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcConfig};
use whimbrel_repair::receiver::{Receiver, ReceiverConfig};
use whimbrel_repair::sender::{Mark, Sender, SenderConfig};

use crate::str0m_repair::{End, Repaired, channel};

/// A datagram on its way: arrival, the peer that it is for, addresses and content.
type Flying = (Instant, usize, SocketAddr, SocketAddr, Vec<u8>);

/// Two peers and the path between them, which loses a part of the long packets.
struct Pair {
    now: Instant,
    peers: [Rtc; 2],
    due: [Instant; 2],
    flying: Vec<Flying>,
    long: u64,
    lost: u64,
}

impl Pair {
    const DELAY: Duration = Duration::from_millis(20);

    fn new() -> (Self, [ChannelId; 2]) {
        let now = Instant::now();
        let provider = str0m::crypto::from_feature_flags();
        let mut peers =
            [0, 1].map(|_| RtcConfig::new().set_crypto_provider(provider.clone().into()).build(now));
        let addresses = [[1, 1, 1, 1], [2, 2, 2, 2]].map(|host| SocketAddr::from((host, 1000)));
        let candidates = addresses.map(|address| Candidate::host(address, "udp").expect("an address"));
        let keys = [0, 1].map(|peer: usize| peers[peer].direct_api().local_dtls_fingerprint().clone());
        let names = [0, 1].map(|peer: usize| peers[peer].direct_api().local_ice_credentials());
        let mut ids = Vec::new();
        for (peer, rtc) in peers.iter_mut().enumerate() {
            rtc.add_local_candidate(candidates[peer].clone());
            rtc.add_remote_candidate(candidates[1 - peer].clone());
            let mut api = rtc.direct_api();
            api.set_remote_fingerprint(keys[1 - peer].clone());
            api.set_remote_ice_credentials(names[1 - peer].clone());
            api.set_ice_controlling(peer == 0);
            api.start_dtls(peer == 0).expect("once");
            api.start_sctp(peer == 0);
            let negotiated = str0m::channel::ChannelConfig { negotiated: Some(1), ..channel() };
            ids.push(api.create_data_channel(negotiated));
        }
        let pair = Self { now, peers, due: [now; 2], flying: Vec::new(), long: 0, lost: 0 };
        (pair, [ids[0], ids[1]])
    }

    /// Takes all outputs of a peer; returns the data of its channel.
    fn outputs(&mut self, peer: usize) -> Vec<Vec<u8>> {
        let mut data = Vec::new();
        loop {
            match self.peers[peer].poll_output().expect("it lives") {
                Output::Timeout(at) => {
                    self.due[peer] = at;
                    return data;
                }
                Output::Transmit(sent) => {
                    let is_long = sent.contents.len() > 700;
                    self.long += u64::from(is_long && peer == 0);
                    if is_long && peer == 0 && self.long % 25 == 0 {
                        self.lost += 1;
                        continue;
                    }
                    let content = sent.contents.to_vec();
                    self.flying.push((
                        self.now + Self::DELAY,
                        1 - peer,
                        sent.source,
                        sent.destination,
                        content,
                    ));
                }
                Output::Event(Event::ChannelData(received)) => data.push(received.data),
                Output::Event(_) => {}
            }
        }
    }

    /// Advances the clock by a millisecond.
    fn step(&mut self) {
        self.now += Duration::from_millis(1);
        let (arrived, flying) = std::mem::take(&mut self.flying).into_iter().partition(|it| it.0 <= self.now);
        self.flying = flying;
        let arrived: Vec<Flying> = arrived;
        for (_, peer, source, destination, content) in arrived {
            let contents = content.as_slice().try_into().expect("a datagram");
            let receive = Receive { proto: Protocol::Udp, source, destination, contents };
            self.peers[peer].handle_input(Input::Receive(self.now, receive)).expect("it is accepted");
        }
        for peer in 0..2 {
            if self.due[peer] <= self.now {
                self.peers[peer].handle_input(Input::Timeout(self.now)).expect("it lives");
            }
        }
    }
}

#[test]
fn a_data_channel_is_repaired_in_order() {
    let (mut pair, ids) = Pair::new();
    let (start, latency) = (pair.now, whimbrel_units::Duration::from_millis(400));
    let sender = Sender::new(SenderConfig::new(1_000, latency));
    let receiver = Receiver::new(ReceiverConfig::new(1_000, latency));
    let ends = [End::Sender(sender), End::Receiver(receiver)];
    let mut peer = 0;
    let mut ends = ends.map(|end| {
        peer += 1;
        Repaired { end, channel: ids[peer - 1], start }
    });
    let (mut sent, mut delivered, mut frame) = (0_u32, 0_u32, Vec::new());
    for millisecond in 0..10_000 {
        pair.step();
        let at = whimbrel_units::Instant::ZERO + pair.now.duration_since(start).into();
        let is_open = ids.iter().zip(&mut pair.peers).all(|(id, rtc)| rtc.channel(*id).is_some());
        if is_open && millisecond % 10 == 0 && sent < 200 {
            let End::Sender(sender) = &mut ends[0].end else { unreachable!("the first end") };
            sender.send(at, &sent.to_be_bytes().repeat(200), Mark::SINGLE).expect("room");
            sent += 1;
        }
        for peer in 0..2 {
            for data in pair.outputs(peer) {
                ends[peer].handle_data(pair.now, &data);
            }
            ends[peer].drive(pair.now, &mut pair.peers[peer]).expect("it lives");
            pair.outputs(peer);
        }
        let End::Receiver(receiver) = &mut ends[1].end else { unreachable!("the second end") };
        while receiver.poll_delivery(at, &mut frame).is_some() {
            assert_eq!(frame, delivered.to_be_bytes().repeat(200));
            delivered += 1;
        }
    }
    assert_eq!((sent, delivered), (200, 200));
    assert!(pair.lost > 5, "{} lost", pair.lost);
}
