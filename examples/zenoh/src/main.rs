//! `whimbrel-zenoh` carries the samples of Zenoh over `whimbrel relay`, each as a datagram.
//!
//! The relay reads the key of each datagram (`stream=newest:cbor:key`): on a bad link, a newer value
//! takes the place of one that still waits.

mod args;
mod bridge;
mod message;
mod network;
mod port;
mod report;
mod waiting;

use std::process::ExitCode;

use clap::Parser;

// Zenoh refuses to run on a runtime with a single thread.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    zenoh::init_log_from_env_or("off");
    match bridge::run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::say(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
