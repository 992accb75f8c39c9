use std::time::Duration;

use super::Signal;

fn is_readable(signal: &Signal) -> bool {
    signal.wait(Some(Duration::ZERO)).unwrap()
}

#[test]
fn the_descriptor_is_readable_while_the_flag_is_set() {
    let signal = Signal::new().unwrap();
    assert!(!is_readable(&signal));
    signal.set();
    signal.set();
    assert!(is_readable(&signal));
    signal.clear();
    assert!(!is_readable(&signal));
    signal.clear();
    signal.set();
    assert!(is_readable(&signal));
}

#[test]
fn a_final_flag_cannot_be_cleared() {
    let signal = Signal::new().unwrap();
    signal.set_finally();
    // As by a reader that looked just before.
    signal.clear();
    assert!(is_readable(&signal));
    signal.set();
    signal.clear();
    assert!(is_readable(&signal));
}
