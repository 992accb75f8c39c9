//! Commands of another program of the same name, for completion and manual pages.
//!
//! The Python package has further commands. It describes them as JSON, so that one generator covers all.

use anyhow::Context;
use clap::{Arg, ArgAction, Command, ValueHint};
use serde::Deserialize;

/// A command.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandSpec {
    name: String,
    #[serde(default)]
    about: String,
    /// Text after the options, such as examples.
    #[serde(default)]
    epilog: String,
    #[serde(default)]
    arguments: Vec<ArgumentSpec>,
    #[serde(default)]
    commands: Vec<CommandSpec>,
}

/// An argument of a command: an option if it has a long or short name, otherwise positional.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgumentSpec {
    /// Identifies it within its command.
    id: String,
    #[serde(default)]
    long: Option<String>,
    #[serde(default)]
    short: Option<char>,
    #[serde(default)]
    help: String,
    /// Placeholder of the value; `None` for a switch.
    #[serde(default)]
    value_name: Option<String>,
    /// The possible values; any if empty.
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    is_path: bool,
    #[serde(default)]
    is_required: bool,
    #[serde(default)]
    is_repeated: bool,
}

/// Adds the commands that `json` describes, a list, to `root`; one that exists is replaced.
///
/// # Errors
/// The text is no such description.
pub(crate) fn extended(root: Command, json: &str) -> anyhow::Result<Command> {
    let specs: Vec<CommandSpec> = serde_json::from_str(json).context("--commands")?;
    Ok(specs.into_iter().fold(root, |root, spec| root.subcommand(spec.into_command())))
}

impl CommandSpec {
    fn into_command(self) -> Command {
        let command = Command::new(self.name).about(self.about).after_help(self.epilog);
        let command = command.args(self.arguments.into_iter().map(ArgumentSpec::into_arg));
        self.commands.into_iter().fold(command, |command, spec| command.subcommand(spec.into_command()))
    }
}

impl ArgumentSpec {
    fn into_arg(self) -> Arg {
        let is_positional = self.long.is_none() && self.short.is_none();
        let mut arg = Arg::new(self.id).help(self.help).required(self.is_required);
        if let Some(long) = self.long {
            arg = arg.long(long);
        }
        if let Some(short) = self.short {
            arg = arg.short(short);
        }
        let Some(value_name) = self.value_name else { return arg.action(ArgAction::SetTrue) };
        arg = arg.value_name(value_name);
        arg = arg.action(if self.is_repeated { ArgAction::Append } else { ArgAction::Set });
        if is_positional && self.is_repeated {
            arg = arg.num_args(usize::from(self.is_required)..);
        }
        if self.is_path {
            arg = arg.value_hint(ValueHint::AnyPath);
        }
        if self.values.is_empty() { arg } else { arg.value_parser(self.values) }
    }
}
