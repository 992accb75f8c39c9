use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use super::*;

type Lines = Arc<Mutex<Vec<String>>>;

/// A stream whose reader takes a line for each message of the sender, its lines, and its notes.
fn slow_reader() -> (Background, Sender<io::Result<()>>, Lines, Receiver<String>) {
    let (take, taken) = channel();
    let (note, notes) = channel();
    let seen = Lines::default();
    let written = Arc::clone(&seen);
    let write = move |text: &str| {
        // Without a sender the reader takes everything.
        taken.recv().unwrap_or(Ok(()))?;
        written.lock().expect("no panic").push(text.to_owned());
        Ok(())
    };
    let background = Background::start(write, move |text| note.send(text).expect("the test listens"));
    (background, take, seen, notes)
}

#[test]
fn a_reader_that_does_not_read_stops_nobody_and_the_lost_lines_are_counted() {
    let (background, take, seen, notes) = slow_reader();
    for number in 0..3 * WAITING {
        background.line(number.to_string()).expect("it is open");
    }
    drop(take);
    drop(background);
    let seen = seen.lock().expect("no panic");
    // The thread takes one line out of the queue whenever it wakes, which leaves room for a later one.
    assert!(seen.len() == WAITING || seen.len() == WAITING + 1, "{}", seen.len());
    let numbers: Vec<usize> = seen.iter().map(|text| text.parse().expect("a number")).collect();
    assert!(numbers[..WAITING].iter().copied().eq(0..WAITING), "the oldest wait");
    assert!(numbers.is_sorted_by(|a, b| a < b), "in order");
    let lost = 3 * WAITING - seen.len();
    let notes: Vec<_> = notes.iter().collect();
    assert_eq!(notes, [format!("{lost} lines of the output are lost, because nobody read it")]);
}

#[test]
fn a_full_disk_is_said_once_and_a_closed_pipe_ends_the_output() {
    let (background, take, seen, notes) = slow_reader();
    for outcome in [io::ErrorKind::StorageFull, io::ErrorKind::StorageFull] {
        take.send(Err(outcome.into())).expect("it runs");
    }
    take.send(Ok(())).expect("it runs");
    take.send(Err(io::ErrorKind::BrokenPipe.into())).expect("it runs");
    for text in ["a", "b", "c", "d"] {
        background.line(text.into()).expect("it is open");
    }
    background.end.recv().expect_err("the thread ends");
    assert!(matches!(background.line("e".into()), Err(PrintError::NobodyReads)));
    assert_eq!(*seen.lock().expect("no panic"), ["c"]);
    assert_eq!(notes.iter().count(), 1);
}
