use super::super::outbound::Urgent;
use super::super::tests::concern::{START, events, parts, runs_for};
use super::*;
use crate::Config;
use crate::config::TimerConfig;

const RTT: Duration = Duration::from_millis(50);

fn reset_owed(fx: &mut Effects) -> Option<(ResetCode, SeqNo)> {
    match fx.outbound.take_urgent(false) {
        Some(Urgent::Reset(reset, ack)) => Some((reset.code, ack)),
        _ => None,
    }
}

#[test]
fn a_request_to_close_waits_only_where_there_is_something_to_finish() {
    let limit = Duration::from_secs(3);
    let config = || Config {
        timers: TimerConfig { close: Some(limit), ..TimerConfig::default() },
        ..Config::default()
    };
    for state in [State::Closed, State::Listen, State::Invited, State::Listen1] {
        let (cx, mut fx) = parts(Role::Server, state, config());
        let ending = Closing::default().request(START, &cx, &mut fx);
        assert_eq!(ending, Some(Ending::Silent(ConnectionError::ClosedLocally)), "{state}");
        assert!(!fx.outbound.is_urgent());
    }
    // Nothing was received, and nothing is queued: the attempt is discarded.
    let (cx, mut fx) = parts(Role::Client, State::Request, config());
    let ending = Closing::default().request(START, &cx, &mut fx);
    assert_eq!(ending, Some(Ending::AfterReset(ConnectionError::ClosedLocally)));
    assert_eq!(reset_owed(&mut fx), Some((ResetCode::Aborted, SeqNo::ZERO)));

    let (cx, mut fx) = parts(Role::Client, State::Open, config());
    let mut closing = Closing::default();
    assert_eq!(closing.request(START, &cx, &mut fx), None);
    assert!(closing.is_requested() && !closing.is_over());
    assert_eq!(runs_for(&fx, Timer::GiveUpClosing), limit);
}

#[test]
fn a_server_asks_its_client_to_close_if_configured() {
    for (role, asks, state) in [
        (Role::Server, true, State::CloseReq),
        (Role::Server, false, State::Closing),
        (Role::Client, true, State::Closing),
    ] {
        let config = Config { server_sends_close_request: asks, ..Config::default() };
        let (cx, mut fx) = parts(role, State::Open, config);
        fx.timers.set(Timer::Idle, START);
        let mut closing = Closing::default();
        assert_eq!(closing.start(&cx, &mut fx), state);
        assert!(!fx.timers.is_running(Timer::Idle));
        assert!(matches!(fx.outbound.take_urgent(false), Some(Urgent::Close)));
        for factor in [2, 4, 8] {
            closing.on_close_sent(START, &mut fx);
            assert_eq!(runs_for(&fx, Timer::Close), RTT * factor);
        }
    }
}

#[test]
fn an_abort_sends_no_reset_to_an_address_that_may_be_forged() {
    let error = ConnectionError::TimedOut;
    let (cx, mut fx) = parts(Role::Server, State::Respond, Config::default());
    let closing = Closing::default();
    assert_eq!(closing.abort(&cx, &mut fx, false, error), Some(Ending::Silent(error)));
    assert!(!fx.outbound.is_urgent());
    assert_eq!(closing.abort(&cx, &mut fx, true, error), Some(Ending::AfterReset(error)));
    assert_eq!(reset_owed(&mut fx), Some((ResetCode::Aborted, SeqNo::new(5000))));
}

#[test]
fn a_reset_gives_the_reason_of_one_that_came_out_of_sequence_shortly_before() {
    let (cx, mut fx) = parts(Role::Client, State::Open, Config::default());
    let timewait = START + cx.config.timers.msl * TIMEWAIT_IN_MSL;
    let (first, second) = (Reset::new(ResetCode::TooBusy), Reset::new(ResetCode::NoConnection));
    let mut closing = Closing::default();
    for (age, reason) in [(RTT * 2, first), (RTT * 2 + Duration::from_nanos(1), second)] {
        closing.suspect(START, first);
        let ending = closing.on_reset(START + age, &cx, &mut fx, second, &Payload::EMPTY);
        assert_eq!(ending, Ending::TimeWait(ConnectionError::Reset(reason), timewait + age));
    }
    // If this end was closing, a peer without the connection has closed it as well.
    let (cx, mut fx) = parts(Role::Client, State::Closing, Config::default());
    let closing = Closing { by_peer: true, ..Closing::default() };
    let ending = closing.on_reset(START, &cx, &mut fx, second, &Payload::EMPTY);
    assert_eq!(ending, Ending::TimeWait(ConnectionError::ClosedByPeer, timewait));
}

#[test]
fn only_a_silent_ending_is_drained_at_once() {
    let error = ConnectionError::ClosedLocally;
    for (ending, drained) in [
        (Ending::Silent(error), true),
        (Ending::AfterReset(error), false),
        (Ending::TimeWait(error, START + RTT), false),
    ] {
        let (_, mut fx) = parts(Role::Client, State::Closed, Config::default());
        let mut closing = Closing::default();
        closing.finish(&mut fx, ending);
        assert!(closing.is_over());
        assert_eq!(closing.is_drained(), drained);
        assert_eq!(events(&mut fx).len(), 1 + usize::from(drained));
        assert_eq!(fx.timers.is_running(Timer::TimeWait), matches!(ending, Ending::TimeWait(..)));
    }
}
