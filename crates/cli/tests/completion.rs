//! `whimbrel completion` and `whimbrel man`, the built program.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::processes;
use processes::{finish, stderr, stdout, whimbrel};

/// A command as the Python package describes one.
const FURTHER: &str = r#"[{"name": "sweep", "about": "Run a sweep.", "epilog": "example:\n  whimbrel sweep a.toml",
    "arguments": [{"id": "scenario", "value_name": "FILE", "is_path": true, "is_required": true},
                  {"id": "quick", "long": "quick", "help": "Run once."},
                  {"id": "kind", "long": "kind", "value_name": "KIND", "values": ["one", "two"]}],
    "commands": []}]"#;

fn run(arguments: &[&str]) -> Output {
    finish(whimbrel(arguments).spawn().expect("it starts"))
}

#[track_caller]
fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    stdout(&output)
}

/// The commands that the help of a command lists.
fn commands(of: &[&str]) -> Vec<String> {
    let help = succeed(&[of, &["--help"]].concat());
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Descriptions may go on in further lines, which are indented by more.
    let named = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    named.filter(|name| !matches!(*name, "" | "help")).map(str::to_owned).collect()
}

#[test]
fn each_shell_gets_a_script_with_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = succeed(&["completion", shell, "--commands", FURTHER]);
        for command in commands(&[]).iter().map(String::as_str).chain(["sweep"]) {
            assert!(script.contains(command), "{shell}: {command}");
        }
        for option in ["freeze-on-link-loss", "service-code", "quick"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
    assert_eq!(run(&["completion", "tcsh"]).status.code(), Some(2));
    let wrong = stderr(&run(&["completion", "bash", "--commands", "{}"]));
    assert!(wrong.contains("whimbrel: --commands: "), "{wrong}");
}

/// The words that bash offers after `line`.
fn offered(script: &str, line: &[&str]) -> BTreeSet<String> {
    let driver = format!(
        "{script}\nCOMP_WORDS=({words}); COMP_CWORD={last}; COMPREPLY=()\n\
         _whimbrel whimbrel {current} {previous}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words = line.join(" "),
        last = line.len() - 1,
        current = line[line.len() - 1],
        previous = line[line.len() - 2],
    );
    let output = Command::new("bash").args(["--norc", "-c", &driver]).output().expect("bash");
    assert!(output.status.success(), "{output:?}");
    stdout(&output).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("skipped: there is no bash");
        return;
    }
    let script = succeed(&["completion", "bash", "--commands", FURTHER]);
    let commands = offered(&script, &["whimbrel", "s"]);
    assert_eq!(commands, ["schedule", "schema", "sweep"].map(String::from).into());
    assert!(offered(&script, &["whimbrel", "perf", "client", "--freeze"]).contains("--freeze-on-silence"));
    let values = offered(&script, &["whimbrel", "perf", "client", "--restart", "c"]);
    assert_eq!(values, ["careful-resume".to_owned()].into());
    let schedulers = offered(&script, &["whimbrel", "relay", "client", "--scheduler", "re"]);
    assert_eq!(schedulers, ["redundant".to_owned()].into());
    assert_eq!(offered(&script, &["whimbrel", "sweep", "--kind", "t"]), ["two".to_owned()].into());
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = TempDir::new().expect("a directory");
    let out = directory.path().join("man1");
    succeed(&["man", "--out", out.to_str().expect("a plain path"), "--commands", FURTHER]);
    let pages: BTreeSet<String> = fs::read_dir(&out)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    let mut expected = BTreeSet::from(["whimbrel.1".to_owned(), "whimbrel-sweep.1".to_owned()]);
    for command in commands(&[]) {
        expected.extend(commands(&[&command]).iter().map(|inner| format!("whimbrel-{command}-{inner}.1")));
        expected.insert(format!("whimbrel-{command}.1"));
    }
    assert_eq!(pages, expected);
    for page in &pages {
        let text = fs::read_to_string(out.join(page)).expect("text");
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}");
    }
    let client = fs::read_to_string(out.join("whimbrel-perf-client.1")).expect("text");
    assert!(client.contains("\\-\\-dscp") && client.contains("Exit code"), "{client}");

    assert_eq!(succeed(&["man", "perf", "client"]).lines().next(), client.lines().next());
    let unknown = run(&["man", "perf", "fly"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("expected one of server, client"), "{unknown:?}");
}
