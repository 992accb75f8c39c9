//! The command line.

use std::net::SocketAddr;

use clap::{Args, Parser};
use zenoh::config::EndPoint;
use zenoh::key_expr::OwnedKeyExpr;

const EXAMPLE: &str = "\
Examples:
  At the vehicle:
  whimbrel relay client GROUND --from 127.0.0.1:5600,stream=newest:cbor:key --secret-file S
  whimbrel-zenoh --relay 127.0.0.1:5600 --connect tcp/127.0.0.1:7447 --key 'vehicle/**'

  At the ground:
  whimbrel relay server --to 127.0.0.1:5700,stream=newest:cbor:key --secret-file S
  whimbrel-zenoh --bind 127.0.0.1:5700 --connect tcp/127.0.0.1:7447 --key 'ground/**'

Only one bridge may connect two networks: samples would go round between several.";

/// Carry samples of Zenoh over whimbrel relay: of each key, only the newest waits
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLE)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) end: End,

    /// Send the samples whose keys match this key expression; may be repeated. Without one, only receive
    #[arg(long = "key", value_name = "EXPRESSION", value_parser = key_expression)]
    pub(crate) keys: Vec<OwnedKeyExpr>,

    /// Connect to Zenoh here, such as tcp/192.0.2.7:7447; may be repeated. With --connect or --listen,
    /// there is no multicast scouting, and no other listener
    #[arg(long, value_name = "ENDPOINT", value_parser = endpoint)]
    pub(crate) connect: Vec<EndPoint>,

    /// Listen for Zenoh here, such as tcp/127.0.0.1:7447; may be repeated
    #[arg(long, value_name = "ENDPOINT", value_parser = endpoint)]
    pub(crate) listen: Vec<EndPoint>,
}

/// The end of the relay at which the bridge is.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct End {
    /// Exchange datagrams with this port of the relay: a --from of the client
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) relay: Option<SocketAddr>,

    /// Take datagrams at this port, a --to of the server, and answer to the sender of the newest. A
    /// loopback address takes them from this host only
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) bind: Option<SocketAddr>,
}

fn key_expression(text: &str) -> Result<OwnedKeyExpr, String> {
    // Zenoh's error names files of its source.
    OwnedKeyExpr::autocanonize(text.to_owned())
        .map_err(|_| "expected a key expression of Zenoh, such as vehicle/**".to_owned())
}

fn endpoint(text: &str) -> Result<EndPoint, String> {
    let is_carried = text.starts_with("tcp/") || text.starts_with("udp/");
    let endpoint = text.parse().ok().filter(|_| is_carried);
    endpoint.ok_or_else(|| "expected tcp/ADDRESS:PORT or udp/ADDRESS:PORT".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(["whimbrel-zenoh"].into_iter().chain(arguments.split(' ')))
    }

    #[test]
    fn the_examples_are_valid() {
        let lines = EXAMPLE.lines().filter_map(|line| line.trim().strip_prefix("whimbrel-zenoh "));
        let parsed: Vec<_> = lines.map(|line| parse(&line.replace('\'', "")).expect(line)).collect();
        assert_eq!(parsed.len(), 2);
        assert!(parsed[0].end.relay.is_some() && parsed[1].end.bind.is_some());
    }

    #[test]
    fn exactly_one_end_and_valid_values_are_needed() {
        for wrong in [
            "--key a",
            "--relay 127.0.0.1:1 --bind 127.0.0.1:2",
            "--relay 127.0.0.1",
            "--bind 127.0.0.1:1 --key a//b",
            "--bind 127.0.0.1:1 --connect 127.0.0.1:7447",
            "--bind 127.0.0.1:1 --listen ws/127.0.0.1:7447",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
