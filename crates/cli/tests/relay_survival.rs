//! An encrypted relay on a path that breaks, and between ends that do.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_types, reason = "it measures real time")]

use std::fs::File;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::ends;
use crate::hostile_path;
use crate::processes;
use ends::{Carried, End, socket};
use hostile_path::{HostilePath, all, at_most};
use processes::{signal, whimbrel};

fn seconds(n: f64) -> Duration {
    Duration::from_secs_f64(n)
}

#[test]
fn a_killed_sender_takes_the_place_of_its_old_connection() {
    let carried = Carried::listen();
    let (near, port) = carried.connect(carried.at);
    carried.until_seen(port, 700);
    signal(&near.child, Signal::KILL);
    drop(near);
    let began = Instant::now();
    let (_near, port) = carried.connect(carried.at);
    carried.until_seen(port, 700);
    let took = began.elapsed();
    println!("a killed sender is back after {took:?}");
    assert!(took < seconds(4.0), "{took:?}");
    let status = carried.status();
    assert_eq!(
        (&status["established"], status["connections"].as_array().map(Vec::len)),
        (&2.into(), Some(1))
    );
}

#[test]
fn a_killed_viewer_is_connected_to_again() {
    let carried = Carried::listen();
    let (near, port) = carried.connect(carried.at);
    carried.until_seen(port, 700);
    let to = carried.viewer.local_addr().expect("bound").to_string();
    signal(&carried.far.child, Signal::KILL);
    thread::sleep(seconds(0.1));
    let began = Instant::now();
    let at = carried.at.to_string();
    let _far =
        End::start(&["relay", "server", "--bind", &at, "--to", &to, "--secret-file", &carried.secret()]);
    carried.until_seen(port, 700);
    let took = began.elapsed();
    println!("a killed viewer is back after {took:?}");
    // The kernel or the new process refuses the old connection at its next packet.
    assert!(took < seconds(6.0), "{took:?}");
    assert!(!near.event("ended").is_empty());
}

#[test]
fn a_nat_may_change_the_address_in_the_middle_of_the_stream() {
    let carried = Carried::listen();
    let path = HostilePath::to(carried.at);
    let (_near, port) = carried.connect(path.at);
    carried.until_seen(port, 700);
    let mut longest = Duration::ZERO;
    for _ in 0..5 {
        path.rebind();
        longest = longest.max(carried.until_seen(port, 700));
        thread::sleep(seconds(0.1));
    }
    println!("after a change of the address datagrams arrive within {longest:?}");
    assert!(longest < seconds(2.0), "{longest:?}");
    assert_eq!(carried.established(), 1);
}

#[test]
fn the_stream_goes_on_in_smaller_packets_when_the_path_eats_large_ones() {
    let carried = Carried::listen();
    let path = HostilePath::to(carried.at);
    let (_near, port) = carried.connect(path.at);
    carried.until_seen(port, 1300);
    path.obey(at_most(1000));
    // Large ones are what shows that the path has changed: the encoder has not noticed yet.
    let sending = thread::spawn({
        let camera = carried.camera.try_clone().expect("a descriptor");
        move || {
            for _ in 0..400 {
                let _ = camera.send_to(&[0; 1300], port);
                thread::sleep(Duration::from_millis(10));
            }
        }
    });
    let took = carried.until_seen(port, 400);
    println!("on a path of 1000 bytes instead of 1500 small datagrams arrive after {took:?}");
    assert!(took < seconds(10.0), "{took:?}");
    sending.join().expect("no panic");
    let again = carried.until_seen(port, 800);
    println!("datagrams of 800 bytes arrive after {again:?} more");
    path.obey(all);
    assert_eq!(carried.established(), 1);
}

#[test]
fn a_path_that_never_carries_large_packets_is_connected_over() {
    let carried = Carried::listen();
    let path = HostilePath::to(carried.at);
    path.obey(at_most(900));
    let began = Instant::now();
    let (_near, port) = carried.connect(path.at);
    let opened = began.elapsed();
    let took = carried.until_seen(port, 600);
    println!("on a path of 900 bytes it connects in {opened:?}, and data follow after {took:?}");
    assert!(opened < seconds(3.0) && took < seconds(3.0), "{opened:?} {took:?}");
}

/// MPEG-TS in UDP (1316 bytes) over the smallest IPv6 path, RTP of 1400 bytes over a VPN's path, and a
/// message of ROS 2.
#[test]
fn datagrams_that_are_larger_than_the_path_arrive_whole() {
    let carried = Carried::listen_with(&["--latency", "0"]);
    let path = HostilePath::to(carried.at);
    path.obey(at_most(1280));
    let (near, port) = carried.connect(path.at);
    carried.until_seen(port, 700);
    let mut buffer = vec![0; 9000];
    let mut pass = |size: usize, seed: u8| {
        let data: Vec<_> = (0..size).map(|byte| (byte as u8).wrapping_mul(3) ^ seed).collect();
        carried.drain();
        // The rate of the beginning may make the datagram wait for too long: it is sent again.
        for _ in 0..50 {
            carried.camera.send_to(&data, port).expect("loopback");
            for _ in 0..10 {
                if carried.viewer.recv(&mut buffer).is_ok_and(|seen| buffer[..seen] == data) {
                    return;
                }
            }
        }
        panic!("{size} bytes do not arrive");
    };
    for (seed, size) in (0..).zip([1316, 1400, 8000, 1316]) {
        pass(size, seed);
    }
    // A datagram of which parts are lost is one lost datagram.
    let mut parts = 0;
    path.obey(move |up, packet| {
        parts += u32::from(up && packet.len() > 1000);
        if (up && packet.len() > 1000 && parts % 2 == 0) || packet.len() + 28 > 1280 {
            Vec::new()
        } else {
            vec![packet.to_vec()]
        }
    });
    carried.drain();
    carried.camera.send_to(&[7; 8000], port).expect("loopback");
    let patience = Instant::now() + seconds(20.0);
    while carried.status()["connections"][0]["from_peer"]["lost"]["path"] == 0 {
        assert!(Instant::now() < patience, "{}", carried.status());
        thread::sleep(seconds(0.1));
    }
    assert!(carried.viewer.recv(&mut buffer).is_err(), "a part is not delivered");
    drop(near);
}

/// Stops an end for a while, and returns the time until datagrams arrive again.
fn suspend(carried: &Carried, end: &End, port: std::net::SocketAddr, time: Duration) -> Duration {
    signal(&end.child, Signal::STOP);
    thread::sleep(time);
    signal(&end.child, Signal::CONT);
    carried.until_seen(port, 700)
}

#[test]
fn a_suspended_end_goes_on_where_it_was() {
    let carried = Carried::listen();
    let (near, port) = carried.connect(carried.at);
    carried.until_seen(port, 700);
    for end in [&near, &carried.far] {
        let took = suspend(&carried, end, port, seconds(2.0));
        println!("after a suspension of 2 s datagrams arrive within {took:?}");
        assert!(took < seconds(2.0), "{took:?}");
    }
    assert_eq!(carried.established(), 1);
}

/// After a suspension for longer than the idle limit of 30 s the other end has closed the connection.
fn connects_again_after_a_long_suspension_of(end: impl for<'a> Fn(&'a Carried, &'a End) -> &'a End) {
    let carried = Carried::listen();
    let (near, port) = carried.connect(carried.at);
    carried.until_seen(port, 700);
    let took = suspend(&carried, end(&carried, &near), port, seconds(33.0));
    println!("after a suspension of 33 s datagrams arrive within {took:?}");
    assert!(took < seconds(5.0), "{took:?}");
    assert_eq!(carried.established(), 2);
}

#[test]
fn a_connecting_end_that_was_suspended_for_longer_than_the_idle_limit_connects_again() {
    connects_again_after_a_long_suspension_of(|_, near| near);
}

#[test]
fn a_listening_end_that_was_suspended_for_longer_than_the_idle_limit_is_connected_to_again() {
    connects_again_after_a_long_suspension_of(|carried, _| &carried.far);
}

/// A pair all of whose output goes where `output` says carries datagrams after it has written more than a
/// pipe holds (64 KiB).
fn carries_on_with_output_to(output: impl Fn() -> Stdio) {
    let carried = Carried::listen();
    let viewer = carried.viewer.local_addr().expect("bound").to_string();
    let free = || socket().local_addr().expect("bound").to_string();
    let (at, from, secret) = (free(), free(), carried.secret());
    let start = |arguments: &[&str]| {
        let mut command = whimbrel(arguments);
        command.args(["--secret-file", &secret, "--json", "--interval", "0.01"]);
        command.stdout(output()).stderr(output()).spawn().expect("it starts")
    };
    let mut far = start(&["relay", "server", "--bind", &at, "--to", &viewer]);
    let mut near = start(&["relay", "client", &at, "--from", &from]);
    carried.until_seen(from.parse().expect("an address"), 500);
    // 90 lines of more than 700 bytes fill a pipe.
    thread::sleep(seconds(2.5));
    carried.until_seen(from.parse().expect("an address"), 501);
    for child in [&mut near, &mut far] {
        assert!(child.try_wait().expect("a child").is_none(), "it has ended");
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[test]
fn a_full_disk_for_the_log_does_not_end_a_relay() {
    carries_on_with_output_to(|| File::options().write(true).open("/dev/full").expect("it exists").into());
}

#[test]
fn a_log_that_nobody_reads_does_not_stop_a_relay() {
    carries_on_with_output_to(Stdio::piped);
}

#[test]
fn freezes_and_losses_during_the_handshake_delay_it() {
    let carried = Carried::listen();
    let path = HostilePath::to(carried.at);
    // One packet in six is lost, and two are overtaken by the next.
    let (mut count, mut held) = (0u32, [None::<Vec<u8>>, None]);
    path.obey(move |up, packet| {
        count += 1;
        let held = &mut held[usize::from(up)];
        match count % 6 {
            0 => Vec::new(),
            2 | 4 if held.is_none() => {
                *held = Some(packet.to_vec());
                Vec::new()
            }
            _ => std::iter::once(packet.to_vec()).chain(held.take()).collect(),
        }
    });
    let began = Instant::now();
    let (near, port) = carried.connect(path.at);
    println!("with a sixth of the packets lost and others reordered it connects in {:?}", began.elapsed());
    assert!(began.elapsed() < seconds(15.0));
    path.obey(all);
    carried.until_seen(port, 700);
    drop(near);

    // A handover in the middle of the handshake: the path is silent for two seconds.
    let path = HostilePath::to(carried.at);
    let mut count = 0;
    let mut silent_until = None;
    path.obey(move |_, packet| {
        count += 1;
        if count == 4 {
            silent_until = Some(Instant::now() + Duration::from_secs(2));
        }
        if silent_until.is_some_and(|until| Instant::now() < until) {
            Vec::new()
        } else {
            vec![packet.to_vec()]
        }
    });
    let began = Instant::now();
    let (_near, port) = carried.connect(path.at);
    println!("with a silence of 2 s in the middle of the handshake it connects in {:?}", began.elapsed());
    assert!((seconds(2.0)..seconds(8.0)).contains(&began.elapsed()), "{:?}", began.elapsed());
    carried.until_seen(port, 700);
}
