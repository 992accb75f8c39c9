//! The public interface: an application needs no other crate of this workspace, and of other crates `bytes`
//! alone.

use whimbrel_net::{
    BufferSize, Bytes, Ccid, CcidPreference, Config, ConnectionSnapshot, Duration, EndpointConfig, Event,
    FreezeConfig, FreezeSnapshot, Holdings, HostOptions, InitCookies, IntegrityConfig, LatenessSummary,
    LossDetection, MobilityConfig, OverflowPolicy, PathMtuPhase, Payload, ReceiveConfig, Received,
    ReceiverSnapshot, Registry, ReorderSnapshot, ResetCode, Role, SendQueueConfig, SenderSnapshot, SeqNo,
    ServiceCode, SocketOptions, State, Statistics, TfrcConfig, TimerConfig,
};

/// Every configuration is made from its default, by setters or in place: a field more breaks no application.
#[test]
fn configurations_are_built_without_literals() {
    let config = Config::default()
        .service_code(ServiceCode(42))
        .sender_ccids([Ccid::TCP_LIKE, Ccid::TFRC])
        .receiver_ccids(Ccid::TFRC)
        .ccids(Registry::default())
        .send_queue(SendQueueConfig::default().max_datagrams(8).overflow(OverflowPolicy::Refuse))
        .timers(TimerConfig::default().idle(Some(Duration::from_secs(5))))
        .receive(
            ReceiveConfig::default().reorder_size(BufferSize::Fixed(5)).loss_detection(LossDetection::Rack),
        )
        .tfrc(TfrcConfig::default().forgive_late(false))
        .freeze(FreezeConfig::default().offer(true))
        .integrity(IntegrityConfig::default().checksum_coverage(1))
        .mobility(Some(MobilityConfig::default()));
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(*config.sender_ccids, [Ccid::TCP_LIKE, Ccid::TFRC]);
    assert_eq!((config.send_queue.max_datagrams, config.receive.reorder_size), (8, BufferSize::Fixed(5)));
    let mut in_place = Config::default();
    in_place.receiver_ccids = CcidPreference::from_iter([Ccid::TFRC]);
    assert_eq!(in_place.receiver_ccids, config.receiver_ccids);
    assert!(Config::default().sender_ccids([]).validate().is_err());
    let host = HostOptions::default()
        .endpoint(EndpointConfig::default().init_cookies(InitCookies::Always))
        .receive_queue(16);
    assert_eq!((host.endpoint.init_cookies, host.receive_queue), (InitCookies::Always, 16));
    assert_eq!(SocketOptions::default().source_port(Some(7)).source_port, Some(7));
}

/// Names the type of each field through this crate.
#[allow(dead_code, reason = "that it compiles is the test")]
fn what_is_seen(snapshot: ConnectionSnapshot, received: Received, event: Event) -> Option<ResetCode> {
    let _: (State, Role, Ccid) = (snapshot.state, snapshot.role, snapshot.sender_ccid);
    let _: (SenderSnapshot, ReceiverSnapshot) = (snapshot.sender, snapshot.receiver);
    let _: (Option<PathMtuPhase>, FreezeSnapshot) = (snapshot.path_mtu, snapshot.freeze);
    let _: (Option<ReorderSnapshot>, LatenessSummary) = (snapshot.reordering, snapshot.lateness);
    let _: (Holdings, Statistics) = (snapshot.holdings, snapshot.statistics);
    let _: (Bytes, SeqNo) = (received.payload, received.sequence);
    if let Event::Datagram { payload, .. } = event {
        let _: Payload = payload;
    }
    None
}
