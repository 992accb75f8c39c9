//! `whimbrel man`: manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, Command};
use clap_mangen::Man;

use crate::command_tree::extended;
use crate::exit::Failure;
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel man | man -l -\n  whimbrel man perf client | man -l -\n  \
                  whimbrel man --out ~/.local/share/man/man1      # then: man whimbrel-perf-client")]
pub(crate) struct ManArgs {
    /// The command to describe, such as `perf client`; the overview if none is given.
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Vec<String>,
    /// Write the pages of all commands into this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Further commands, as JSON: the Python package's.
    #[arg(long, hide = true, value_name = "JSON", default_value = "[]")]
    commands: String,
}

/// Runs the verb.
pub(crate) fn run(args: &ManArgs, root: Command) -> Result<(), Failure> {
    // Without `whimbrel help COMMAND`, whose subcommands repeat all others.
    let mut root = extended(root, &args.commands)?.disable_help_subcommand(true);
    root.build();
    if let Some(directory) = &args.out {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        clap_mangen::generate_to(root, directory).with_context(|| directory.display().to_string())?;
        return Ok(());
    }
    let mut page = Vec::new();
    let mut chosen = &root;
    for name in &args.command {
        chosen = chosen.find_subcommand(name).ok_or_else(|| {
            let known: Vec<&str> = chosen.get_subcommands().map(Command::get_name).collect();
            anyhow!("no command {name:?}: expected one of {}", known.join(", "))
        })?;
    }
    Man::new(chosen.clone()).render(&mut page)?;
    print::line(String::from_utf8(page)?.trim_end())?;
    Ok(())
}
