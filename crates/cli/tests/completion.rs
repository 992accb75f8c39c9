//! `whimbrel completion` and `whimbrel man`, the built program.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::processes;
use processes::{finish, stderr, stdout, whimbrel};

const COMMANDS: &[&str] = &[
    "inspect",
    "perf",
    "capacity",
    "fit",
    "record",
    "carry",
    "key",
    "relay",
    "pipe",
    "run",
    "emulate",
    "classify",
    "model",
    "schedule",
    "schema",
    "completion",
    "man",
];
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

#[test]
fn each_shell_gets_a_script_with_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = succeed(&["completion", shell, "--commands", FURTHER]);
        for command in COMMANDS.iter().chain(&["sweep"]) {
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
    let schedulers = offered(&script, &["whimbrel", "relay", "connect", "--scheduler", "re"]);
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
    let mut expected: BTreeSet<String> = COMMANDS
        .iter()
        .chain(&[
            "sweep",
            "perf-client",
            "perf-server",
            "carry-send",
            "carry-receive",
            "relay-connect",
            "relay-listen",
            "model-handover",
        ])
        .chain(&["pipe-connect", "pipe-listen"])
        .chain(&["key-generate", "key-show", "key-secret", "key-known", "key-forget"])
        .chain(&[
            "sweep",
            "perf-client",
            "perf-server",
            "carry-send",
            "carry-receive",
            "model-handover",
            "record-server",
        ])
        .map(|name| format!("whimbrel-{name}.1"))
        .collect();
    expected.insert("whimbrel.1".into());
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
