//! `whimbrel completion`: completion scripts of shells.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::command_tree::extended;
use crate::exit::Failure;
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  source <(whimbrel completion bash)            # in ~/.bashrc\n  \
                  source <(whimbrel completion zsh)             # in ~/.zshrc, after compinit\n  \
                  whimbrel completion fish > ~/.config/fish/completions/whimbrel.fish")]
pub(crate) struct CompletionArgs {
    /// The shell.
    shell: Shell,
    /// Further commands, as JSON: the Python package's.
    #[arg(long, hide = true, value_name = "JSON", default_value = "[]")]
    commands: String,
}

/// Runs the verb.
pub(crate) fn run(args: &CompletionArgs, root: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut extended(root, &args.commands)?, "whimbrel", &mut script);
    print::line(String::from_utf8(script)?.trim_end())?;
    Ok(())
}
