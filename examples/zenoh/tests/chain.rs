//! Two networks with bridges and relays between them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::networks::Network;
use crate::programs::Program;

/// Programs that run.
pub(crate) struct Chain {
    pub(crate) ground: Program,
    pub(crate) vehicle: Program,
    _relays: [Program; 2],
    _folder: TempDir,
}

impl Chain {
    /// Carries samples of `key` between the networks; `path` leads to the relay at its argument.
    pub(crate) fn start(
        whimbrel: &Path,
        networks: [&Network; 2],
        key: &str,
        path: impl FnOnce(SocketAddr) -> SocketAddr,
    ) -> Self {
        let folder = TempDir::new().expect("a folder");
        let secret = folder.path().join("secret");
        let secret = secret.to_str().expect("text");
        let made =
            Command::new(whimbrel).args(["key", "secret", "--file", secret]).output().expect("it runs");
        assert!(made.status.success(), "{made:?}");

        let [vehicle, ground] = networks.map(|network| network.endpoint.as_str());
        let mut ground = Program::bridge(&["--bind", "127.0.0.1:0", "--connect", ground, "--key", key]);
        let to = format!("{},stream=newest:cbor:key", ground.address());
        let server = ["relay", "server", "--bind", "127.0.0.1:0", "--to", &to, "--secret-file", secret];
        let mut server = Program::start(whimbrel, &server);
        let at = path(server.address()).to_string();
        let from = "127.0.0.1:0,stream=newest:cbor:key";
        let mut client =
            Program::start(whimbrel, &["relay", "client", &at, "--from", from, "--secret-file", secret]);
        client.line("connected with");
        let relay = client.address().to_string();
        let vehicle = Program::bridge(&["--relay", &relay, "--connect", vehicle, "--key", key]);
        Self { ground, vehicle, _relays: [server, client], _folder: folder }
    }
}
