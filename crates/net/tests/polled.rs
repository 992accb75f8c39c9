//! Sockets with a file descriptor, without an asynchronous runtime of the application.
#![cfg(unix)]

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use whimbrel_net::polled::{Listener, Protection, Runtime, Socket};
use whimbrel_net::{
    Config, ConnectionError, Event, FreezeScope, HostOptions, NetError, OverflowPolicy, Role, SendError,
    SendQueueConfig, SharedSecret, SocketOptions,
};

const PORT: u16 = 5001;
const LONG: Option<Duration> = Some(Duration::from_secs(20));

/// Calls `look` whenever the descriptor is readable.
fn until<T>(socket: &Socket, mut look: impl FnMut(&Socket) -> Option<T>) -> T {
    loop {
        if let Some(found) = look(socket) {
            return found;
        }
        assert!(socket.wait(LONG).expect("a descriptor"), "nothing for 20 s");
    }
}

/// Calls `look` whenever the descriptor of events is readable.
fn until_event<T>(socket: &Socket, mut look: impl FnMut(&Socket) -> Option<T>) -> T {
    loop {
        if let Some(found) = look(socket) {
            return found;
        }
        assert!(socket.wait_event(LONG).expect("a descriptor"), "nothing for 20 s");
    }
}

fn is_readable(socket: impl AsFd) -> bool {
    let mut descriptors = [PollFd::new(&socket, PollFlags::IN)];
    poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("a descriptor") > 0
}

fn pair(runtime: &Runtime, config: Config, protection: &Protection) -> (Socket, Socket) {
    let (any, options) = (SocketAddr::from(([127, 0, 0, 1], 0)), HostOptions::default());
    let setup = protection.setup(config.clone(), Role::Server);
    let listener = Listener::bind(runtime, any, PORT, setup, options).expect("loopback");
    let setup = protection.setup(config, Role::Client);
    let client = Socket::connect(runtime, listener.local(), PORT, setup, SocketOptions::default())
        .expect("a descriptor");
    until(&client, |client| client.get().expect("a handshake"));
    let server = loop {
        match listener.try_accept().expect("listening") {
            Some(server) => break server,
            None => assert!(listener.wait(LONG).expect("a descriptor"), "no client for 20 s"),
        }
    };
    assert!(!is_readable(&listener), "there was one client");
    (client, server)
}

/// Reads everything that is there.
fn drain(socket: &Socket) {
    while socket.try_event().expect("open").is_some() || socket.try_recv().expect("open").is_some() {}
}

/// Reads until the descriptor is quiet: it may be readable once more than there is to read.
fn settle(socket: &Socket) {
    for _ in 0..100 {
        drain(socket);
        std::thread::sleep(Duration::from_millis(2));
        if !is_readable(socket) && !is_readable(socket.event_fd()) {
            return;
        }
    }
    panic!("the descriptor stays readable without anything to read");
}

#[test]
fn the_descriptor_is_readable_exactly_while_there_is_something_to_read() {
    let runtime = Runtime::start().expect("a thread");
    let secret = SharedSecret::new(b"a secret of twenty-six bytes").expect("long enough");
    for protection in [Protection::Plaintext, Protection::Secret(secret)] {
        let (client, server) = pair(&runtime, Config::default(), &protection);
        settle(&client);
        settle(&server);
        for n in 0..100u8 {
            client.try_send(Bytes::from(vec![n; 100]), None).expect("open");
            let received = until(&server, |server| server.try_recv().expect("open"));
            assert_eq!(received.payload[..], [n; 100]);
        }
        settle(&server);
        // Several at once: it stays readable until the last one is read.
        for n in 0..3 {
            client.try_send(Bytes::from(vec![n; 10]), None).expect("open");
        }
        let mut left = 3;
        while left > 0 {
            assert!(server.wait(LONG).expect("a descriptor"));
            left -= u32::from(server.try_recv().expect("open").is_some());
        }
        settle(&server);
        // Unread events do not make the descriptor of datagrams readable.
        server.get().expect("open").expect("open").freeze(FreezeScope::Local);
        assert!(server.wait_event(LONG).expect("a descriptor"));
        assert!(!is_readable(&server));
        server.get().expect("open").expect("open").unfreeze(FreezeScope::Local);
        drop(client);
        let end = until(&server, |server| server.try_recv().err());
        assert!(matches!(end, NetError::Connection(ConnectionError::ClosedByPeer)), "{end}");
        // As at the end of a file.
        assert!(is_readable(&server));
    }
}

#[test]
fn a_full_queue_reports_when_it_has_room() {
    let queue = SendQueueConfig::default().max_datagrams(4).overflow(OverflowPolicy::Refuse);
    let runtime = Runtime::start().expect("a thread");
    let (client, server) = pair(&runtime, Config::default().send_queue(queue), &Protection::Plaintext);
    let socket = client.get().expect("open").expect("open");
    socket.freeze(FreezeScope::Local);
    let refused = (0..10).find_map(|_| client.try_send(Bytes::from_static(b"x"), None).err());
    assert!(matches!(refused, Some(NetError::Send(SendError::QueueFull))), "{refused:?}");
    settle(&client);
    socket.unfreeze(FreezeScope::Local);
    let has_room =
        |client: &Socket| client.try_event().expect("open").filter(|event| *event == Event::SendReady);
    until_event(&client, |client| {
        loop {
            match client.try_event().expect("open") {
                Some(Event::SendReady) => return Some(()),
                Some(_) => {}
                None => return None,
            }
        }
    });
    assert_eq!(has_room(&client), None, "once");
    client.try_send(Bytes::from_static(b"last"), None).expect("there is room");
    until(&server, |server| {
        server.try_recv().expect("open").filter(|received| received.payload[..] == *b"last")
    });
}

#[test]
fn a_failed_handshake_is_reported_by_every_call() {
    let runtime = Runtime::start().expect("a thread");
    let (any, options) = (SocketAddr::from(([127, 0, 0, 1], 0)), HostOptions::default());
    let listener = Listener::bind(&runtime, any, PORT, Config::default(), options).expect("loopback");
    // Another port than the listener's.
    let options = SocketOptions::default();
    let client = Socket::connect(&runtime, listener.local(), PORT + 1, Config::default(), options)
        .expect("a descriptor");
    let error = until(&client, |client| client.get().err());
    assert!(matches!(error, NetError::Connection(ConnectionError::Reset(_))), "{error}");
    assert_eq!(client.try_recv().expect_err("failed").to_string(), error.to_string());
    assert_eq!(client.try_event().expect_err("failed").to_string(), error.to_string());
    assert!(is_readable(&client));
}

#[test]
fn the_thread_ends_after_the_last_connection_is_closed_in_good_order() {
    let runtime = Runtime::start().expect("a thread");
    let (client, server) = pair(&runtime, Config::default(), &Protection::Plaintext);
    assert!(!runtime.clone().shutdown(Duration::from_secs(1)), "there is another handle");
    client.try_send(Bytes::from_static(b"last words"), None).expect("open");
    drop(client);
    let received = until(&server, |server| server.try_recv().expect("not before the datagram"));
    assert_eq!(received.payload[..], *b"last words");
    server.close();
    until(&server, |server| server.try_recv().err());
    drop(server);
    assert!(runtime.shutdown(Duration::from_secs(20)));
}
