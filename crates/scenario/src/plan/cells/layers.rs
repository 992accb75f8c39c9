//! The link layer of a cell, from its keys.

use whimbrel_cell::amc::SelectionRule;
use whimbrel_cell::cell::{BlockSizes, CellConfig};
use whimbrel_cell::duplex::{Duplex, Pattern, SpecialSlot};
use whimbrel_cell::numerology::InvalidCarrier;
use whimbrel_cell::preset::slots;
use whimbrel_cell::queue::Ramp;
use whimbrel_cell::radio::Hertz;
use whimbrel_cell::rlc::Mode;
use whimbrel_cell::rrc::RrcConfig;
use whimbrel_cell::scheduler::{Newcomer, Policy};
use whimbrel_cell::uplink::{ConfiguredGrant, Occasions};
use whimbrel_cell::{Numerology, ResourceBlocks, Standard};
use whimbrel_units::{ByteCount, Duration};

use super::super::quoted;
use super::above_zero;
use crate::cell::{Amc, Cell, Idle, Preset, RlcMode, Scheduler};
use crate::error::ScenarioError;
use crate::quantity::Time;

/// Downlink and gap of a special slot.
const SPECIAL: SpecialSlot = SpecialSlot { down: 10, gap: 2 };
/// The name of a carrier in each direction.
const FREQUENCY_DIVISION: &str = "FDD";

impl Preset {
    const fn standard(self) -> Standard {
        if matches!(self, Self::Lte) { Standard::Lte } else { Standard::Nr }
    }

    /// Carrier in GHz, bandwidth in MHz, spacing in kHz, pattern.
    const fn carrier(self) -> (f64, f64, f64, &'static str) {
        match self {
            Self::Lte => (2.0, 10.0, 15.0, FREQUENCY_DIVISION),
            Self::Nr => (2.1, 20.0, 15.0, FREQUENCY_DIVISION),
            Self::NrFr1Tdd => (3.5, 40.0, 30.0, "DDDSU"),
        }
    }
}

/// The link layer and the frequency of the carrier.
pub(super) fn plan(key: &str, cell: &Cell) -> Result<(CellConfig, Hertz), ScenarioError> {
    let (carrier, bandwidth, spacing, pattern) = cell.preset.carrier();
    let carrier = cell.carrier.map_or(carrier * 1e9, |carrier| carrier.0);
    if !(0.4e9..=7.125e9).contains(&carrier) {
        let found = quoted(&format!("{carrier} Hz"));
        return Err(ScenarioError::invalid(format!("{key}.carrier"), found, "\"0.4 GHz\" to \"7.125 GHz\""));
    }
    let standard = cell.preset.standard();
    let kilohertz = cell.subcarrier_spacing.map_or(spacing, |spacing| spacing.0 / 1e3);
    let wrong = |name: &str, found: f64, unit: &str, error: InvalidCarrier| {
        let found = quoted(&format!("{found} {unit}"));
        ScenarioError::invalid(format!("{key}.{name}"), found, known(standard, error))
    };
    let whole = if kilohertz.fract() == 0.0 { kilohertz as u32 } else { 0 };
    let numerology = Numerology::from_spacing(standard, whole)
        .map_err(|error| wrong("subcarrier_spacing", kilohertz, "kHz", error))?;
    let megahertz = cell.bandwidth.map_or(bandwidth, |bandwidth| bandwidth.0 / 1e6);
    let blocks = ResourceBlocks::of_carrier(standard, numerology, megahertz)
        .map_err(|error| wrong("bandwidth", megahertz, "MHz", error))?;
    let duplex = duplex(key, cell, pattern)?;
    let mut config = match standard {
        Standard::Lte => CellConfig::lte(blocks),
        Standard::Nr => CellConfig::nr(numerology, blocks, duplex),
    };
    if let Some(layers) = cell.layers {
        set_layers(key, &mut config, layers)?;
    }
    schedulers(key, cell, &mut config)?;
    if cell.amc == Amc::Ns3 {
        config.outer_loop = None;
        config.adaptation.iter_mut().for_each(|adaptation| adaptation.rule = SelectionRule::Ns3);
    }
    if let Some(transmissions) = cell.transmissions {
        if !(1..=8).contains(&transmissions) {
            let key = format!("{key}.transmissions");
            return Err(ScenarioError::invalid(key, transmissions, "1 to 8 transmissions"));
        }
        config.harq.transmissions = transmissions;
    }
    bearer(key, cell, &mut config)?;
    uplink(key, cell, &mut config)?;
    config.rrc = idle(key, &cell.idle, config.rrc)?;
    config.load = cell.load.map_or(0.0, |share| share.0);
    Ok((config, Hertz(carrier)))
}

/// Valid carriers, in place of one that does not exist.
fn known(standard: Standard, error: InvalidCarrier) -> String {
    match error {
        InvalidCarrier::Bandwidth { numerology, .. } => {
            let has = |megahertz: &f64| ResourceBlocks::of_carrier(standard, numerology, *megahertz).is_ok();
            let all = [1.4, 3.0, 5.0, 10.0, 15.0, 20.0, 40.0, 50.0, 60.0, 80.0, 90.0, 100.0];
            let names: Vec<String> = all.iter().filter(|mega| has(mega)).map(f64::to_string).collect();
            format!("a bandwidth of {} MHz ({error})", names.join(", "))
        }
        _ if standard == Standard::Lte => format!("\"15 kHz\" ({error})"),
        _ => format!("\"15 kHz\", \"30 kHz\" or \"60 kHz\" ({error})"),
    }
}

fn duplex(key: &str, cell: &Cell, default: &str) -> Result<Duplex, ScenarioError> {
    let letters = cell.pattern.as_deref().unwrap_or(default);
    if letters == FREQUENCY_DIVISION {
        return Ok(Duplex::Frequency);
    }
    let key = format!("{key}.pattern");
    if cell.preset == Preset::Lte {
        let expected = "\"FDD\": time division exists with the presets of NR";
        return Err(ScenarioError::invalid(key, quoted(letters), expected));
    }
    Pattern::new(letters, SPECIAL).map(Duplex::Time).map_err(|error| {
        let expected = format!("letters D, S and U such as \"DDDSU\", or \"FDD\" ({error})");
        ScenarioError::invalid(key, quoted(letters), expected)
    })
}

fn set_layers(key: &str, config: &mut CellConfig, wanted: u32) -> Result<(), ScenarioError> {
    let key = format!("{key}.layers");
    let BlockSizes::Nr { layers, .. } = &mut config.sizes[0] else {
        return Err(ScenarioError::invalid(key, wanted, "no `layers`: LTE has one here"));
    };
    if !(1..=4).contains(&wanted) {
        return Err(ScenarioError::invalid(key, wanted, "1 to 4 layers"));
    }
    *layers = wanted;
    Ok(())
}

fn schedulers(key: &str, cell: &Cell, config: &mut CellConfig) -> Result<(), ScenarioError> {
    let key = format!("{key}.pf_time");
    if cell.pf_time.is_some_and(|slots| slots < 1) {
        return Err(ScenarioError::invalid(key, 0, "at least 1 slot"));
    }
    let memory = cell.pf_time.map_or(100.0, f64::from);
    let proportional = Policy::ProportionalFair { memory, newcomer: Newcomer::Mean };
    let policy = match cell.scheduler {
        Some(Scheduler::RoundRobin | Scheduler::MaxRate) if cell.pf_time.is_some() => {
            let expected = "no `pf_time`: `scheduler` is not \"pf\"";
            return Err(ScenarioError::invalid(key, memory, expected));
        }
        None => {
            config.down = proportional;
            return Ok(());
        }
        Some(Scheduler::Pf) => proportional,
        Some(Scheduler::RoundRobin) => Policy::RoundRobin { least: 1 },
        Some(Scheduler::MaxRate) => Policy::MaximumRate,
    };
    (config.down, config.up) = (policy, policy);
    Ok(())
}

fn bearer(key: &str, cell: &Cell, config: &mut CellConfig) -> Result<(), ScenarioError> {
    let bearer = &mut config.bearer;
    bearer.reassembly = above_zero(&format!("{key}.rlc.reassembly"), cell.rlc.reassembly, bearer.reassembly)?;
    if let Mode::Acknowledged { poll_retransmit, status_prohibit, .. } = &mut bearer.mode {
        let poll = format!("{key}.rlc.poll_retransmit");
        *poll_retransmit = above_zero(&poll, cell.rlc.poll_retransmit, *poll_retransmit)?;
        *status_prohibit = cell.rlc.status_prohibit.map_or(*status_prohibit, |time| time.0);
    }
    if cell.rlc.mode == RlcMode::Um {
        let given =
            [("status_prohibit", cell.rlc.status_prohibit), ("poll_retransmit", cell.rlc.poll_retransmit)];
        if let Some((name, Some(time))) = given.into_iter().find(|(_, time)| time.is_some()) {
            let expected = "no such timer: `mode` is \"um\", which has no statuses";
            let found = quoted(&time.0.to_string());
            return Err(ScenarioError::invalid(format!("{key}.rlc.{name}"), found, expected));
        }
        bearer.mode = Mode::Unacknowledged;
        // PDCP does not wait for losses of UM.
        bearer.reordering = bearer.reordering.map(|_| Duration::ZERO);
    }
    if let Some(limit) = cell.queue.limit {
        if limit.0 < ByteCount::new(1_500) {
            let found = quoted(&format!("{} B", limit.0.as_u64()));
            return Err(ScenarioError::invalid(format!("{key}.queue.limit"), found, "at least \"1500 B\""));
        }
        bearer.queue.limit = limit.0;
    }
    if cell.queue.discard.is_some() {
        let discard = above_zero(&format!("{key}.queue.discard"), cell.queue.discard, Duration::ZERO)?;
        bearer.queue.discard = Some(discard);
    }
    if let Some(marks) = cell.queue.marks {
        if marks.to <= marks.from {
            let key = format!("{key}.queue.marks.to");
            let expected = format!("a time above `from`, {}", marks.from.0);
            return Err(ScenarioError::invalid(key, quoted(&marks.to.0.to_string()), expected));
        }
        bearer.queue.marks = Some(Ramp { free: marks.from.0, full: marks.to.0 });
    }
    Ok(())
}

fn uplink(key: &str, cell: &Cell, config: &mut CellConfig) -> Result<(), ScenarioError> {
    let numerology = config.numerology;
    let slot = numerology.slot();
    let whole = |name: &str, time: Time| {
        let is_whole = !time.0.is_zero() && time.0.as_nanos().is_multiple_of(slot.as_nanos());
        is_whole.then(|| slots(time.0, numerology)).ok_or_else(|| {
            let expected = format!("a multiple of a slot, {slot}");
            ScenarioError::invalid(format!("{key}.{name}"), quoted(&time.0.to_string()), expected)
        })
    };
    if let Some(period) = cell.sr_period {
        config.uplink.requests.period = whole("sr_period", period)?;
    }
    if let Some(grant) = cell.configured_grant {
        let period = whole("configured_grant.period", grant.period)?;
        if grant.size.0 < ByteCount::new(16) {
            let found = quoted(&format!("{} B", grant.size.0.as_u64()));
            let key = format!("{key}.configured_grant.size");
            return Err(ScenarioError::invalid(key, found, "at least \"16 B\""));
        }
        let occasions = Occasions { period, offset: 0 };
        config.uplink.configured = Some(ConfiguredGrant { occasions, size: grant.size.0 });
    }
    Ok(())
}

fn idle(key: &str, times: &Idle, usual: Option<RrcConfig>) -> Result<Option<RrcConfig>, ScenarioError> {
    let Some(mut rrc) = usual.filter(|_| !times.always_on) else {
        let is_alone = *times == Idle { always_on: true, ..Idle::default() };
        return if is_alone {
            Ok(None)
        } else {
            let expected = "no times: terminals that are always on have none";
            Err(ScenarioError::invalid(format!("{key}.idle.always_on"), true, expected))
        };
    };
    let time =
        |name: &str, time: Option<Time>, default| above_zero(&format!("{key}.idle.{name}"), time, default);
    rrc.drx.cycle = time("cycle", times.cycle, rrc.drx.cycle)?;
    rrc.drx.on = time("on", times.on, rrc.drx.on)?;
    rrc.drx.inactivity = time("sleep_after", times.sleep_after, rrc.drx.inactivity)?;
    rrc.inactivity = time("release_after", times.release_after, rrc.inactivity)?;
    rrc.promotion = times.promotion.map_or(rrc.promotion, |time| time.0);
    rrc.paging = time("paging", times.paging, rrc.paging)?;
    if rrc.drx.on > rrc.drx.cycle {
        let expected = format!("at most the cycle, {}", rrc.drx.cycle);
        let found = quoted(&rrc.drx.on.to_string());
        return Err(ScenarioError::invalid(format!("{key}.idle.on"), found, expected));
    }
    Ok(Some(rrc))
}
