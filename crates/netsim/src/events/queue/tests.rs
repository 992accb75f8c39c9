use std::collections::BTreeMap;

use proptest::prelude::*;
use whimbrel_units::Instant;

use super::{Due, Event, EventQueue};
use crate::{AgentId, LinkId};

fn drain(queue: &mut EventQueue) -> Vec<(u64, Event)> {
    let mut events = Vec::new();
    while let Some(Due { at, event }) = queue.pop(Instant::FAR_FUTURE) {
        events.push((at.as_nanos(), event));
    }
    events
}

#[test]
fn equal_times_come_in_the_order_of_their_insertion_numbers() {
    let mut queue = EventQueue::new();
    let sources: Vec<_> = (0..20).map(|link| queue.add_source(Event::Arrival(LinkId(link)))).collect();
    let numbers: Vec<_> = sources.iter().map(|_| queue.insertion()).collect();
    // Set in another order than numbered.
    for k in [7, 3, 19, 0, 11, 4, 2, 18, 1, 5, 9, 6, 8, 10, 17, 12, 16, 13, 15, 14] {
        queue.set(sources[k], Instant::from_nanos(50), numbers[k]);
    }
    let expected: Vec<_> = (0..20).map(|link| (50, Event::Arrival(LinkId(link)))).collect();
    assert_eq!(drain(&mut queue), expected);
}

#[test]
fn nothing_comes_before_its_time() {
    let mut queue = EventQueue::new();
    let source = queue.add_source(Event::Local);
    let number = queue.insertion();
    queue.set(source, Instant::from_nanos(10), number);
    assert_eq!(queue.pop(Instant::from_nanos(9)), None);
    let due = Due { at: Instant::from_nanos(10), event: Event::Local };
    assert_eq!(queue.pop(Instant::from_nanos(10)), Some(due));
    assert_eq!(queue.pop(Instant::FAR_FUTURE), None);
}

#[test]
fn an_event_set_twice_with_one_key_comes_once() {
    let mut queue = EventQueue::new();
    let source = queue.add_source(Event::Timer(AgentId(0)));
    let (first, second) = (queue.insertion(), queue.insertion());
    queue.set(source, Instant::from_nanos(5), first);
    queue.set(source, Instant::from_nanos(3), second);
    queue.set(source, Instant::from_nanos(5), first);
    assert_eq!(drain(&mut queue), [(5, Event::Timer(AgentId(0)))]);
}

/// An event may be set for a time before one that `pop` has already found, but did not return.
#[test]
fn an_event_before_the_one_found_comes_first() {
    let mut queue = EventQueue::new();
    let [far, near] = [0, 1].map(|agent| queue.add_source(Event::Timer(AgentId(agent))));
    let (first, second) = (queue.insertion(), queue.insertion());
    queue.set(far, Instant::from_nanos(1 << 50), first);
    assert_eq!(queue.pop(Instant::from_nanos(10)), None);
    assert_eq!(queue.next_at(), Some(Instant::from_nanos(1 << 50)));
    queue.set(near, Instant::from_nanos(20), second);
    assert_eq!(drain(&mut queue), [(20, Event::Timer(AgentId(1))), (1 << 50, Event::Timer(AgentId(0)))]);
}

/// The length of a day changes with the events' distance, and the number of lists with the number of sources.
/// Neither may show. Distances go up and down over nine orders of magnitude; times collide.
#[test]
fn the_order_survives_every_change_of_pace() {
    let mut queue = EventQueue::new();
    let mut model = BTreeMap::new();
    let mut sources = Vec::new();
    let (mut state, mut now) = (1u64, 0);
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for round in 0..60_000u64 {
        if sources.len() < 300 && round % 100 == 0 {
            let agent = sources.len() as u32;
            sources.push(queue.add_source(Event::Timer(AgentId(agent))));
        }
        let scale = [0, 30, 10, 24, 4, 36][round as usize / 10_000];
        let idle = random() as usize % sources.len();
        if model.values().all(|source| *source != idle) {
            let (at, number) = (now + ((random() % 64) << scale), queue.insertion());
            queue.set(sources[idle], Instant::from_nanos(at), number);
            model.insert((at, number), idle);
        }
        if round % 16 != 0 {
            let expected =
                model.pop_first().map(|((at, _), source)| (at, Event::Timer(AgentId(source as u32))));
            let found = queue.pop(Instant::FAR_FUTURE).map(|due| (due.at.as_nanos(), due.event));
            assert_eq!(found, expected);
            now = expected.map_or(now, |(at, _)| at);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Set { source: usize, ahead: u64 },
    Clear(usize),
    Pop,
}

/// From the same day to beyond the turn of all lists.
fn ahead() -> impl Strategy<Value = u64> {
    (0..50u64, prop::sample::select(vec![0u32, 0, 14, 20, 30, 38])).prop_map(|(ahead, scale)| ahead << scale)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..40usize, ahead()).prop_map(|(source, ahead)| Step::Set { source, ahead }),
        1 => (0..40usize).prop_map(Step::Clear),
        3 => Just(Step::Pop),
    ];
    prop::collection::vec(step, 0..400)
}

proptest! {
    /// Against a sorted map from which replaced events are really removed.
    #[test]
    fn events_come_as_from_a_sorted_list(steps in steps()) {
        let mut queue = EventQueue::new();
        let sources: Vec<_> = (0..40).map(|agent| queue.add_source(Event::Timer(AgentId(agent)))).collect();
        let mut model = BTreeMap::new();
        let mut keys = [None; 40];
        let mut now = 0;
        for step in steps {
            match step {
                Step::Set { source, ahead } => {
                    let number = queue.insertion();
                    queue.set(sources[source], Instant::from_nanos(now + ahead), number);
                    if let Some(old) = keys[source].replace((now + ahead, number)) {
                        model.remove(&old);
                    }
                    model.insert((now + ahead, number), source);
                }
                Step::Clear(source) => {
                    queue.clear(sources[source]);
                    if let Some(old) = keys[source].take() {
                        model.remove(&old);
                    }
                }
                Step::Pop => {
                    let expected = model.pop_first().map(|((at, _), source)| {
                        keys[source] = None;
                        now = at;
                        Due { at: Instant::from_nanos(at), event: Event::Timer(AgentId(source as u32)) }
                    });
                    prop_assert_eq!(queue.pop(Instant::FAR_FUTURE), expected);
                }
            }
        }
    }
}
