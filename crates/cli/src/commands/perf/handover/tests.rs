use clap::Parser;
use whimbrel_net::{Config, Restart};

use super::*;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    handover: HandoverArgs,
    #[arg(long)]
    udp: bool,
    #[arg(long)]
    tcp: bool,
}

fn config(options: &[&str]) -> Result<Config, clap::Error> {
    let command = Command::try_parse_from([&["perf"], options].concat())?;
    Ok(command.handover.handovers().configure(Config::default()))
}

#[test]
fn the_restart_after_a_freeze_can_be_chosen() {
    assert_eq!(config(&[]).unwrap().freeze.restart, Restart::Following);
    for (rule, restart) in [
        ("following", Restart::Following),
        ("loss-rate", Restart::LossRate),
        ("authors-code", Restart::AuthorsCode),
        ("careful-resume", Restart::CarefulResume),
    ] {
        assert_eq!(config(&["--restart", rule]).unwrap().freeze.restart, restart);
    }
    assert!(config(&["--restart", "following", "--udp"]).is_err());
}

#[test]
fn the_restored_rate_can_be_limited_to_a_share_or_a_rate() {
    let limit = |text| config(&["--restore-at-most", text]).map(|config| config.freeze.restore_at_most);
    assert_eq!(config(&[]).unwrap().freeze.restore_at_most, RestoreLimit::None);
    assert_eq!(limit("50%").unwrap(), RestoreLimit::Fraction(0.5));
    assert_eq!(limit("500k").unwrap(), RestoreLimit::Rate(DataRate::from_kilobits_per_second(500.0)));
    for wrong in ["0%", "101%", "half", "0"] {
        let error = limit(wrong).unwrap_err().to_string();
        assert!(error.contains("such as 50%"), "{wrong}: {error}");
    }
}
