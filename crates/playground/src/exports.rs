//! The functions that the page calls.
//!
//! The caller asks for room for an argument with [`input`], writes it there, and calls a function. Functions
//! that return the length of a result leave it at [`output`] until the next call.

#![allow(unsafe_code, reason = "names of exported functions; no function here is unsafe")]

use std::cell::RefCell;
use std::panic;
use std::sync::{Mutex, PoisonError};

use serde_json::json;

use crate::session::Session;

/// The message of the panic that ended the instance.
static PROBLEM: Mutex<String> = Mutex::new(String::new());

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
    static INPUT: RefCell<Vec<u8>> = RefCell::default();
    static OUTPUT: RefCell<Vec<u8>> = RefCell::default();
}

/// Leaves a result for the caller; returns its length.
fn leave(result: impl Into<Vec<u8>>) -> usize {
    let result = result.into();
    let length = result.len();
    OUTPUT.set(result);
    length
}

/// Calls `work` with the session and the argument; returns the length of the result.
fn answer<R: Into<Vec<u8>>>(work: impl FnOnce(&mut Session, &[u8]) -> R) -> usize {
    leave(SESSION.with_borrow_mut(|session| INPUT.with_borrow(|input| work(session, input))))
}

/// The argument as text. The page sends UTF-8.
fn text(input: &[u8]) -> &str {
    std::str::from_utf8(input).unwrap_or_default()
}

/// Prepares an instance: the message of a panic is kept.
#[unsafe(no_mangle)]
pub extern "C" fn prepare() {
    panic::set_hook(Box::new(|problem| {
        *PROBLEM.lock().unwrap_or_else(PoisonError::into_inner) = problem.to_string();
    }));
}

/// The message of the panic that ended the instance.
#[unsafe(no_mangle)]
pub extern "C" fn problem() -> usize {
    leave(PROBLEM.lock().unwrap_or_else(PoisonError::into_inner).as_str())
}

/// The place of an argument of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(length, 0);
        input.as_mut_ptr()
    })
}

/// The place of the last result.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// Adds a file that scenarios may name. The argument is its path, of `name` bytes, and its content.
#[unsafe(no_mangle)]
pub extern "C" fn add_file(name: usize) {
    SESSION.with_borrow_mut(|session| {
        INPUT.with_borrow(|input| {
            if let Some((name, content)) = input.split_at_checked(name) {
                session.add_file(text(name), content);
            }
        });
    });
}

/// Checks a scenario, the argument: its title, its seed and what can be changed in it, or an error, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn check() -> usize {
    answer(|session, input| session.check(text(input)).to_string())
}

/// Proposals for a place, in UTF-16 code units, of a scenario, the argument, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn complete(place: usize) -> usize {
    answer(|session, input| json!(session.complete(text(input), place)).to_string())
}

/// Starts a run of a scenario, the argument. Returns as [`check`] does.
#[unsafe(no_mangle)]
pub extern "C" fn start(seed: u64, frames: usize, captures: bool) -> usize {
    answer(|session, input| session.start(text(input), seed, frames, captures).to_string())
}

/// Advances the run by so many looks of its observer. Returns `true` if it has ended.
#[unsafe(no_mangle)]
pub extern "C" fn advance(looks: u32) -> bool {
    SESSION.with_borrow_mut(|session| session.advance(looks))
}

/// The simulated time in seconds.
#[unsafe(no_mangle)]
pub extern "C" fn now() -> f64 {
    SESSION.with_borrow(Session::now)
}

/// The next event of the live page, as JSON; nothing if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn event() -> usize {
    answer(|session, _| session.event())
}

/// The packets that were captured since the last call, as a piece of a pcapng file.
#[unsafe(no_mangle)]
pub extern "C" fn capture() -> usize {
    answer(|session, _| session.capture())
}

/// The page that replays the run, as `whimbrel run --watch` writes it.
#[unsafe(no_mangle)]
pub extern "C" fn page() -> usize {
    answer(|session, _| session.page())
}

/// Ends the run. The result is its record, as `whimbrel run --json` prints it.
#[unsafe(no_mangle)]
pub extern "C" fn record() -> usize {
    answer(|session, _| session.record())
}

/// The page that takes events.
#[unsafe(no_mangle)]
pub extern "C" fn live_page() -> usize {
    answer(|_, _| whimbrel_live::live_page())
}
