//! `whimbrel key`: keys and secrets by which the ends of connections authenticate each other.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use whimbrel_net::{Identity, SharedSecret};
use whimbrel_relay::keys::read_key;

use crate::exit::Failure;
use crate::print;
use crate::security::{KnownHosts, default_key, write_private};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel key generate --file key.pem\n  whimbrel key show --file key.pem\n  \
                  whimbrel key secret --file secret.txt\n\n\
                  The fingerprint goes to the other end, as --peer-fingerprint. docs/security.md has complete commands."
)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a private key in a new file, and print the fingerprint of its public key.
    #[command(after_help = "Example:\n  whimbrel key generate --file camera.pem")]
    Generate(FileArgs),
    /// Print the fingerprint of a key.
    #[command(after_help = "Example:\n  whimbrel key show")]
    Show(FileArgs),
    /// Make a random secret, for both ends.
    #[command(after_help = "Example:\n  whimbrel key secret --file relay.secret")]
    Secret(SecretArgs),
    /// List the servers whose keys were trusted on first use.
    #[command(after_help = "Example:\n  whimbrel key known")]
    Known(KnownArgs),
    /// Forget the key of a server.
    #[command(after_help = "Example:\n  whimbrel key forget example.org:6511")]
    Forget(ForgetArgs),
}

#[derive(Debug, Args)]
struct FileArgs {
    /// The file of the private key [default: key.pem in ~/.config/whimbrel]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct SecretArgs {
    /// The new file for it, which only its owner can read; without one, the secret is printed.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct KnownArgs {
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ForgetArgs {
    /// The server and its port, as whimbrel key known prints them.
    #[arg(value_name = "HOST:PORT")]
    server: String,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &KeyArgs) -> Result<(), Failure> {
    match &args.action {
        Action::Generate(args) => {
            let path = args.path()?;
            let identity = Identity::generate().map_err(anyhow::Error::new)?;
            write_private(&path, &identity.to_pem())?;
            print_key(&path, &identity, args.json)
        }
        Action::Show(args) => {
            let path = args.path()?;
            print_key(&path, &read_key(&path)?, args.json)
        }
        Action::Secret(args) => secret(args),
        Action::Known(args) => known(args),
        Action::Forget(args) => {
            if !KnownHosts::forget(&args.server)? {
                return Err(anyhow::anyhow!(
                    "{}: it is not known; whimbrel key known lists those that are",
                    args.server
                )
                .into());
            }
            if args.json {
                print::line(json!({ "forgotten": args.server }))?;
            }
            Ok(())
        }
    }
}

impl FileArgs {
    fn path(&self) -> anyhow::Result<PathBuf> {
        self.file.clone().map_or_else(default_key, Ok)
    }
}

fn print_key(path: &Path, identity: &Identity, json: bool) -> Result<(), Failure> {
    let fingerprint = identity.fingerprint().to_string();
    if json {
        print::line(json!({ "file": path, "fingerprint": fingerprint }))?;
    } else {
        print::line(fingerprint)?;
    }
    Ok(())
}

fn secret(args: &SecretArgs) -> Result<(), Failure> {
    let secret = SharedSecret::generate().map_err(anyhow::Error::new)?;
    match (&args.file, args.json) {
        (Some(path), is_json) => {
            write_private(path, &format!("{}\n", secret.as_str()))?;
            if is_json {
                print::line(json!({ "file": path }))?;
            }
        }
        (None, true) => print::line(json!({ "secret": secret.as_str() }))?,
        (None, false) => print::line(secret.as_str())?,
    }
    Ok(())
}

fn known(args: &KnownArgs) -> Result<(), Failure> {
    let known = KnownHosts::read()?;
    if args.json {
        let entries: Vec<_> = known
            .iter()
            .map(|(name, key)| json!({ "server": name, "fingerprint": key.to_string() }))
            .collect();
        print::line(json!({ "known": entries }))?;
    } else {
        for (name, key) in known.iter() {
            print::line(format_args!("{name} {key}"))?;
        }
    }
    Ok(())
}
