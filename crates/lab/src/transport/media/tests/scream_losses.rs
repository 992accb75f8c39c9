//! Compares SCReAM with the loss detection of its authors' code and SCReAM with the draft's.
//!
//! `cargo test -p whimbrel-lab --lib scream_losses -- --nocapture` prints the rates of docs/media.md.

use whimbrel_control::media::{RateLimits, Reception, Scream, ScreamConfig, ScreamEcn};

use super::*;
use crate::Plan;

/// Packets of which `detectLoss` judges those that are not older.
const WINDOW: u64 = 512;
/// Most packets behind the window that one pass looks at.
const MOST_PASSED: u64 = 32;
const REORDERING: Duration = Duration::from_millis(30);

/// `detectLoss` of `code/ScreamV2Tx.cpp` (c8f84c3) in front of a law: the law is told of a missing packet
/// when, and if, that function counts it as lost.
#[derive(Clone, Debug)]
struct DetectLoss {
    law: Scream,
    /// With `false`, packets that leave the window count whether or not a pass looks at them.
    passes_over: bool,
    missing: Vec<SentPacket>,
    /// The highest packet acknowledged before.
    highest: Option<SentPacket>,
}

impl DetectLoss {
    fn new(law: Scream, passes_over: bool) -> Self {
        Self { law, passes_over, missing: Vec::new(), highest: None }
    }

    /// A pass up to the acknowledged packet `to`; appends what it counts as lost to `lost`.
    fn pass(&mut self, to: SentPacket, lost: &mut Vec<PacketReport>) {
        let before = self.highest.replace(to).map_or(0, |packet| packet.sequence);
        let window = before.saturating_sub(WINDOW);
        let looked_at = to.sequence.saturating_sub(before).min(MOST_PASSED);
        let passes_over = self.passes_over;
        self.missing.retain(|missing| {
            let frames = to.captured_at.saturating_since(missing.captured_at);
            let is_late = missing.sent_at + REORDERING + frames < to.sent_at;
            let has_left = missing.sequence < window;
            if is_late || has_left && (!passes_over || missing.sequence + looked_at >= window) {
                lost.push(PacketReport { sent: *missing, reception: Reception::Missing });
            }
            !is_late && !has_left
        });
    }
}

impl MediaController for DetectLoss {
    fn name(&self) -> &'static str {
        "SCReAM, authors' loss detection"
    }

    fn ecn(&self) -> Ecn {
        self.law.ecn()
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.law.on_sent(packet);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let (arrived, missing): (Vec<PacketReport>, Vec<PacketReport>) =
            feedback.packets.iter().partition(|packet| packet.arrival().is_some());
        self.missing.extend(missing.iter().map(|packet| packet.sent));
        self.missing.retain(|missing| arrived.iter().all(|packet| packet.sent.sequence != missing.sequence));
        let mut packets = Vec::new();
        for (index, packet) in arrived.iter().enumerate() {
            // A pass at the end of each frame, and of the report.
            let next = arrived.get(index + 1);
            if next.is_none_or(|next| next.sent.captured_at > packet.sent.captured_at) {
                self.pass(packet.sent, &mut packets);
            }
        }
        packets.extend(arrived);
        self.law.on_feedback(&Feedback { packets: &packets, ..*feedback });
    }

    fn next_timer(&self) -> Option<Instant> {
        self.law.next_timer()
    }

    fn on_timer(&mut self, now: Instant) {
        self.law.on_timer(now);
    }

    fn allowance(&self) -> Allowance {
        self.law.allowance()
    }

    fn on_path_change(&mut self, now: Instant) {
        self.law.on_path_change(now);
    }
}

/// The law of a run, made of SCReAM.
type Detection = fn(Scream) -> Box<dyn MediaController>;

const DRAFT: Detection = |law| Box::new(law);
const ALL_COUNTED: Detection = |law| Box::new(DetectLoss::new(law, false));
const CODE: Detection = |law| Box::new(DetectLoss::new(law, true));

/// 6 Mbit/s and a round-trip time of 40 ms; a video from 1 s on, measured from 20 s on.
fn plan(link: &str, frame_rate: u32, rest: &str, detection: Detection) -> Plan {
    let text = format!(
        "simulation = {{ duration = \"60 s\", warm_up = \"20 s\" }}\nnode = [{{ name = \"a\" }}, {{ name = \"b\" }}]\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"6 Mbit/s\"\ndelay = \"20 ms\"\n{link}\n\
         [[link]]\nfrom = \"b\"\nto = \"a\"\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n\
         [[flow]]\nname = \"video\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"media\"\npayload = \"1160 B\"\n\
         start = \"1 s\"\nstart_jitter = \"1 s\"\n\
         media = {{ frame_rate = \"{frame_rate} Hz\", report_interval = \"10 ms\" }}\n{rest}"
    );
    let mut plan = Document::from_toml(&text).unwrap().plan().unwrap_or_else(|error| panic!("{error}"));
    let limits = RateLimits {
        min: DataRate::from_kilobits_per_second(150.0),
        start: DataRate::from_kilobits_per_second(300.0),
        max: DataRate::from_megabits_per_second(20.0),
    };
    let law = Scream::new(ScreamConfig { ecn: ScreamEcn::Off, ..ScreamConfig::new(limits) });
    let flow = plan.flows[0].transport.get_mut::<MediaFlow>().unwrap();
    flow.settings.controller = detection(law);
    plan
}

const RUNS: u64 = 6;

/// The goodput of the flows in Mbit/s, means of some runs.
fn goodput(plan: &Plan) -> Vec<f64> {
    let mut sums = vec![0.0; plan.flows.len()];
    for seed in 1..=RUNS {
        let record = run(plan, seed);
        let flows = record.table("flows").unwrap();
        for (row, sum) in sums.iter_mut().enumerate() {
            *sum += flows.number("goodput_bps", row).unwrap() / 1e6 / RUNS as f64;
        }
    }
    sums
}

#[test]
fn the_authors_code_is_faster_at_random_losses_because_it_passes_over_some() {
    let rate = |loss: &str, frame_rate, detection| {
        let link = format!("queue = \"150 packets\"\nloss = {{ model = \"bernoulli\", rate = \"{loss}\" }}");
        goodput(&plan(&link, frame_rate, "", detection))[0]
    };
    for (loss, frame_rate, gain) in [("1 %", 30, 1.1), ("1 %", 50, 1.15), ("2 %", 50, 1.15)] {
        let [draft, all, code] = [DRAFT, ALL_COUNTED, CODE].map(|law| rate(loss, frame_rate, law));
        println!(
            "{loss} lost, {frame_rate} Hz: {draft:.2} Mbit/s; authors' detection: {code:.2}, {all:.2} if it passes over none"
        );
        assert!((0.94..1.06).contains(&(all / draft)), "{all} and {draft} Mbit/s");
        assert!(code > gain * all, "{code} and {all} Mbit/s");
    }
}

#[test]
fn losses_that_count_512_packets_later_cost_half_of_the_share_behind_fq_codel() {
    let discipline = "queue = \"1000 packets\"\ndiscipline = { kind = \"fq-codel\" }";
    let download = "[[flow]]\nname = \"download\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\n\
                    tcp = { congestion = \"cubic\" }\nstart = \"1 s\"\nstart_jitter = \"1 s\"\n";
    let share = |detection| {
        let goodput = goodput(&plan(discipline, 30, download, detection));
        100.0 * goodput[0] / (goodput[0] + goodput[1])
    };
    let [draft, all, code] = [DRAFT, ALL_COUNTED, CODE].map(share);
    println!(
        "beside TCP CUBIC behind FQ-CoDel: {draft:.0} %; authors' detection: {code:.0} %, {all:.0} % if it passes over none"
    );
    assert!(draft > 45.0 && all < 38.0 && code < 38.0, "{draft}, {all} and {code} %");
}
