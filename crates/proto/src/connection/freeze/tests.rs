use super::super::tests::concern::{START, events, parts, runs_for};
use super::super::{Role, State};
use super::*;
use crate::Config;
use crate::config::FreezeConfig;

const RTT: Duration = Duration::from_millis(50);

fn open(freeze: FreezeConfig) -> (Freezing, Context, Effects) {
    let (cx, fx) = parts(Role::Server, State::Open, Config { freeze, ..Config::default() });
    (Freezing::new(), cx, fx)
}

#[test]
fn a_local_freeze_lasts_until_the_application_ends_it_or_its_limit() {
    let limit = Duration::from_secs(7);
    let (mut freezing, cx, mut fx) =
        open(FreezeConfig { local_limit: Some(limit), ..FreezeConfig::default() });
    assert_eq!(freezing.freeze(START, &cx, &mut fx, FreezeScope::Both), FreezeChange::Frozen);
    assert!(freezing.is_frozen() && freezing.is_quiet());
    assert_eq!(runs_for(&fx, Timer::LocalFreeze), limit);
    assert_eq!(freezing.freeze(START, &cx, &mut fx, FreezeScope::Local), FreezeChange::None);
    assert_eq!(events(&mut fx), [Event::Frozen { by_peer: false }]);
    assert!(!fx.outbound.is_ack_requested(), "without agreement nothing is announced to the peer");

    assert_eq!(freezing.unfreeze(START, &cx, &mut fx, FreezeScope::Remote), FreezeChange::None);
    assert_eq!(freezing.unfreeze(START, &cx, &mut fx, FreezeScope::Local), FreezeChange::Unfrozen);
    assert!(!fx.timers.is_running(Timer::LocalFreeze));
    assert_eq!(events(&mut fx), [Event::Unfrozen { by: UnfreezeCause::Local }]);

    assert_eq!(freezing.freeze(START, &cx, &mut fx, FreezeScope::Local), FreezeChange::Frozen);
    assert_eq!(freezing.end_local(&mut fx), FreezeChange::Unfrozen);
    assert_eq!(events(&mut fx).last(), Some(&Event::Unfrozen { by: UnfreezeCause::Limit }));
}

#[test]
fn data_stay_frozen_while_either_end_requires_it() {
    let (mut freezing, cx, mut fx) = open(FreezeConfig::default());
    assert_eq!(freezing.freeze_by_peer(START, &cx, &mut fx), FreezeChange::Frozen);
    assert_eq!(freezing.freeze(START, &cx, &mut fx, FreezeScope::Local), FreezeChange::None);
    // The limit of the local freeze passes: this end may verify the peer's again.
    assert_eq!(freezing.end_local(&mut fx), FreezeChange::QuietEnded);
    assert!(freezing.is_frozen() && !freezing.is_quiet());
    assert_eq!(freezing.end_by_peer(&mut fx, UnfreezeCause::Peer), FreezeChange::Unfrozen);
    assert_eq!(events(&mut fx), [Event::Unfrozen { by: UnfreezeCause::Peer }]);

    assert_eq!(freezing.freeze(START, &cx, &mut fx, FreezeScope::Local), FreezeChange::Frozen);
    assert_eq!(freezing.freeze_by_peer(START, &cx, &mut fx), FreezeChange::None);
    assert_eq!(freezing.end_by_peer(&mut fx, UnfreezeCause::Peer), FreezeChange::None);
    assert!(freezing.is_frozen());
}

#[test]
fn an_unfreeze_is_announced_three_times_and_then_until_it_is_acknowledged() {
    let (mut freezing, cx, mut fx) = open(FreezeConfig::default());
    let first = cx.sequence.numbers.gss().next();
    freezing.announce(START, &cx, &mut fx, Announcement::Unfreeze(first));
    let mut pauses = Vec::new();
    for _ in 0..4 {
        assert!(fx.outbound.is_ack_requested());
        fx.outbound.on_ack_sent();
        pauses.push(runs_for(&fx, Timer::RepeatFreeze));
        freezing.repeat_announcement(START, &cx, &mut fx);
    }
    assert_eq!(pauses, [RTT / SPACING, RTT / SPACING, MIN_VERIFY_AFTER, MIN_VERIFY_AFTER]);
    freezing.on_acked(&mut fx, first.previous());
    assert!(fx.timers.is_running(Timer::RepeatFreeze), "an older packet was acknowledged");
    freezing.on_acked(&mut fx, first);
    assert!(!fx.timers.is_running(Timer::RepeatFreeze));
    assert_eq!(freezing.encoded_len(PacketType::Ack), 0);
}

#[test]
fn a_freeze_by_the_peer_is_verified_by_syncs() {
    let (mut freezing, cx, mut fx) = open(FreezeConfig::default());
    freezing.plain = SeqNo::new(4711);
    assert_eq!(freezing.freeze_by_peer(START, &cx, &mut fx), FreezeChange::Frozen);
    assert_eq!(runs_for(&fx, Timer::VerifyFreeze), MIN_VERIFY_AFTER);
    freezing.verify(START, &mut fx);
    assert_eq!(fx.outbound.syncs().take(), Some((PacketType::Sync, SeqNo::new(4711))));
    assert_eq!(runs_for(&fx, Timer::VerifyFreeze), MIN_VERIFY_AFTER * 2);
    // A local freeze requires silence.
    assert_eq!(freezing.freeze(START, &cx, &mut fx, FreezeScope::Local), FreezeChange::None);
    freezing.verify(START, &mut fx);
    assert_eq!(fx.outbound.syncs().take(), None);
}
