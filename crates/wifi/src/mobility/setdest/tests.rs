use super::super::{RandomWaypoint, Start};
use super::*;
use crate::SplitMix64;
use proptest::prelude::*;
use std::string::ToString;

/// The paths without the numbers of their nodes.
fn paths(text: &str, area: Option<Area>) -> Vec<Path> {
    parse(text, area).unwrap().into_iter().map(|(_, path)| path).collect()
}

/// The form of ns-2's `setdest` (version 2), with its comments and hop counts.
const FILE: &str = r##"#
# nodes: 2, speed type: 1, min speed: 1.00, max speed: 20.00
#
$node_(0) set X_ 100.0
$node_(0) set Y_ 200.0
$node_(0) set Z_ 0.000000000000
$node_(1) set X_ 400.000000000000
$node_(1) set Y_ 0.000000000000
$node_(1) set Z_ 0.000000000000
$god_ set-dist 0 1 2
$ns_ at 10.000000000000 "$node_(0) setdest 100.0 300.0 10.0"
$ns_ at 12.5 "$god_ set-dist 0 1 16777215"
$ns_ at 30.000000000000 "$node_(0) setdest 100.0 300.0 0.000000000000"
$ns_ at 2.0 "$node_(1) setdest 0.0 0.0 20.0"
"##;

fn at(seconds: f64) -> Instant {
    Instant::from_secs_f64(seconds)
}

#[test]
fn a_file_of_ns2_is_read() {
    let paths = paths(FILE, Some(Area::new(500.0, 500.0)));
    assert_eq!(paths.len(), 2);
    assert_eq!(paths[0].position(at(10.0)), Position::new(100.0, 200.0));
    assert!(paths[0].position(at(15.0)).distance(Position::new(100.0, 250.0)) < 1e-9);
    assert_eq!(paths[0].position(at(20.0)), Position::new(100.0, 300.0));
    assert_eq!(paths[0].position(at(1e4)), Position::new(100.0, 300.0));
    assert_eq!(paths[1].position(at(22.0)), Position::new(0.0, 0.0));
}

#[test]
fn the_output_of_debians_setdest_is_read_without_jumps() {
    // Two nodes of `setdest -v 2 -n 5 -s 1 -m 1 -M 20 -t 50 -P 1 -p 2 -x 500 -y 400`.
    let text = r#"# avg speed: 6.02, pause type: 1, pause: 2.00, max x: 500.00, max y: 400.00
$node_(0) set X_ 159.429311673459
$node_(0) set Y_ 133.770014304706
$node_(0) set Z_ 0.000000000000
$node_(1) set X_ 232.506710654450
$node_(1) set Y_ 271.281340910708
$node_(1) set Z_ 0.000000000000
$ns_ at 0.000000000000 "$node_(0) setdest 375.931125412154 192.727373560726 12.630361291840"
$ns_ at 0.000000000000 "$node_(1) setdest 186.022607538081 236.807800749322 11.624290488160"
$ns_ at 4.978561546179 "$node_(1) setdest 186.022607538081 236.807800749322 0.000000000000"
$ns_ at 6.978561546179 "$node_(1) setdest 333.040077419099 154.345780076441 2.298012234500"
$ns_ at 17.765591627979 "$node_(0) setdest 375.931125412154 192.727373560726 0.000000000000"
$ns_ at 19.765591627979 "$node_(0) setdest 273.948188633943 291.292302913219 4.213640848277"
#
# Destination Unreachables: 4
#"#;
    let paths = paths(text, Some(Area::new(500.0, 400.0)));
    // The tool stops each node where and when it arrives.
    assert!(
        paths[1].position(at(4.978_561_546)).distance(Position::new(186.022_607_538, 236.807_800_749)) < 1e-6
    );
    assert!(
        paths[1].position(at(6.978_561_546)).distance(Position::new(186.022_607_538, 236.807_800_749)) < 1e-6
    );
    assert!(
        paths[0].position(at(17.765_591_627)).distance(Position::new(375.931_125_412, 192.727_373_561))
            < 1e-6
    );
    assert_eq!(paths[0].position(at(1e3)), Position::new(273.948_188_633_943, 291.292_302_913_219));
}

#[test]
fn the_links_of_a_file_change_as_often_as_setdest_itself_counts() {
    // `setdest -v 2 -n 8 -s 1 -m 1 -M 20 -t 100 -P 1 -p 2 -x 900 -y 900` of Debian's ns-2.35, without hop
    // counts. The numbers of changes of links of 250 m within the 100 s stand at its end.
    let text = include_str!("eight_nodes.txt");
    let paths = paths(text, Some(Area::new(900.0, 900.0)));
    let mut changes = [0; 8];
    for a in 0..8 {
        for b in 0..a {
            let is_linked = |now| paths[a].position(now).distance(paths[b].position(now)) <= 250.0;
            let links: Vec<bool> = (0..=10_000).map(|step| is_linked(at(0.01 * f64::from(step)))).collect();
            let count = links.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32;
            changes[a] += count;
            changes[b] += count;
        }
    }
    let counted: Vec<u32> = text
        .lines()
        .filter_map(|line| line.strip_prefix('#')?.split('|').nth(2)?.trim().parse().ok())
        .collect();
    assert_eq!(changes[..], counted);
    assert_eq!(changes.iter().sum::<u32>(), 2 * 30);
}

/// A file of a part of the nodes, such as those on one side of a wired network.
const GAP: &str = "
$node_(0) set X_ 10.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 0
$ns_ at 1.0 \"$node_(0) setdest 12.0 0.0 2.00\"
$node_(3) set X_ 100.0
$node_(3) set Y_ 0.0
$node_(3) set Z_ 0
$ns_ at 1.0 \"$node_(3) setdest 100.0 10.0 0.00\"
$ns_ at 2.0 \"$node_(3) setdest 100.0 10.0 5.00\"
";

#[test]
fn node_numbers_may_have_gaps() {
    let paths = parse(GAP, None).unwrap();
    let numbers: Vec<u32> = paths.iter().map(|&(number, _)| number).collect();
    assert_eq!(numbers, [0, 3]);
    assert_eq!(paths[0].1.position(at(2.0)), Position::new(12.0, 0.0));
    assert_eq!(paths[1].1.position(at(2.0)), Position::new(100.0, 0.0));
    assert_eq!(paths[1].1.position(at(4.0)), Position::new(100.0, 10.0));
}

/// The same movements as `GAP`, as other programs and people write them.
#[test]
fn a_file_is_read_as_tcl_reads_it() {
    for text in [
        // Any order, several commands in a line, comments after them, tabs, carriage returns.
        "$ns_ at 1.0 \"$node_(0) setdest 12.0 0.0 2.00\"\r\n$node_(0) set X_ 10.0; $node_(0) set Y_ 0.0 ;# comment\r\n\
         \t$node_(3)\tset  X_ 100; $node_(3) set Y_ 0;;\n\
         $ns_ at 1 \"$node_(3) setdest 100 10 0\"; $ns_ at 2 \"$node_(3) setdest 100 10 5\"",
        // Quotes, braces, other names, and a line that is continued.
        "$n(0) set X_ \"10.0\"\n$n(0) set Y_ {0}\n$n(3) set X_ 1e2\n$n(3) set Y_ +0.\n\
         $ns at 1.0 {$n(0) setdest 12.0 \\\n 0.0 2.00}\n\
         $ns at 1.0 \\\n  \"$n(3) setdest 100 10 0; $n(3) setdest 100 10 0\"\n\
         $ns at 2.0 \"${n(3)} setdest 100 10 5\"\n$ns initial_node_pos $n(0) 20\n$n(0) random-motion 0",
        // Variables and expressions; integers are divided as integers.
        "set x 10.0\nset far(x) [expr {$x * 10}]\nset last 3\n# a comment that goes on \\\n $node_(7) set X_ 1\n\
         $node_(0) set X_ $x\n$node_(0) set Y_ [expr 7/8]\n\
         $node_($last) set X_ $far(x)\n$node_([expr $last]) set Y_ [expr -(1 - 1)]\n\
         $ns_ at [expr 0.5 + .5] \"$node_(0) setdest [expr $x + 2] 0 [expr sqrt(4)]\"\n\
         $ns_ at 1.0 \"$node_($last) setdest $far(x) $x 0\"\n$ns_ at 2 \"$node_($last) setdest $far(x) $x [expr 11 / 2]\"",
    ] {
        let (expected, read) = (parse(GAP, None).unwrap(), parse(text, None));
        let read = read.unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(read.len(), 2, "{text}");
        for ((number, path), (other, expected)) in read.iter().zip(&expected) {
            assert_eq!(number, other);
            for tenth in 0..60 {
                let now = at(f64::from(tenth) / 10.0);
                assert!(
                    path.position(now).distance(expected.position(now)) < 1e-9,
                    "{number} at {now}: {text}"
                );
            }
        }
    }
}

#[test]
fn variables_that_double_do_not_fill_the_memory() {
    let mut text = std::string::String::from("set a xxxxxxxxxxxxxxxx\n");
    (0..60).for_each(|_| text.push_str("set a $a$a\n"));
    assert!(error(&text).starts_with("line 10: `set a $a$a`"), "{}", error(&text));
    assert!(error(&std::format!("$node_(0) set X_ [expr {}1]", "(".repeat(100_000))).starts_with("line 1: "));
    assert!(error(&std::format!("$node_(0) set X_ {}1", "[expr ".repeat(100_000))).starts_with("line 1: "));
    assert!(error(&"$a(".repeat(100_000)).starts_with("line 1: "));
}

#[test]
fn a_movement_is_given_up_for_the_next() {
    let text = "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n\
                $ns_ at 5.0 \"$node_(0) setdest 50 100 10\"\n\
                $ns_ at 0.0 \"$node_(0) setdest 100 0 10\"\n";
    let path = &paths(text, None)[0];
    assert!(path.position(at(5.0)).distance(Position::new(50.0, 0.0)) < 1e-9);
    assert_eq!(path.position(at(15.0)), Position::new(50.0, 100.0));
}

fn error(text: &str) -> std::string::String {
    parse(text, Some(Area::new(500.0, 500.0))).unwrap_err().to_string()
}

/// `FILE` with one line replaced.
fn with(number: usize, line: &str) -> std::string::String {
    let mut lines: Vec<&str> = FILE.lines().collect();
    lines[number - 1] = line;
    lines.join("\n")
}

#[test]
fn every_error_names_the_line_the_value_and_what_was_expected() {
    for (number, line, parts) in [
        (
            4,
            "$node_(0) set X_ 600.0",
            "line 5: $node_(0): (600, 200) lies outside the map; expected a point in (0, 0) to (500, 500)",
        ),
        (4, "$node_(0) set X_ 1e999", "line 4: X_: `1e999`: expected metres"),
        (4, "$node_(0) set X_ east", "line 4: X_: `east`: expected metres"),
        (4, "$node_(-1) set X_ 5", "line 4: $node_(N): `-1`: expected a node number from 0"),
        (4, "$node_(0) set Q_ 5", "line 4: `$node_(0) set Q_ 5`: expected `$node_(N) set"),
        (4, "$node_(0) set X_", "line 4: `$node_(0) set X_`: expected `$node_(N) set"),
        (4, "exec rm", "line 4: `exec rm`: expected"),
        (6, "$node_(0) set Z_ 3", "line 6: Z_: `$node_(0) set Z_ 3`: expected 0"),
        (
            7,
            "$node_(0) set X_ 5",
            "line 7: $node_(0) set X_: the coordinate is set a second time or during the run",
        ),
        (
            11,
            "$ns_ at 10 \"$node_(0) set X_ 5\"",
            "line 11: $node_(0) set X_: the coordinate is set a second time or during the run",
        ),
        (11, "$ns_ at 10 \"$node_(0) setdest 5 501 1\"", "line 11: $node_(0): (5, 501) lies outside the map"),
        (
            11,
            "$ns_ at 10 \"$node_(0) setdest 5 5 -1\"",
            "line 11: SPEED: `-1`: expected metres per second, 0 to the speed of light",
        ),
        (11, "$ns_ at 10 \"$node_(0) setdest 5 5 1e9\"", "line 11: SPEED: `1e9`: expected"),
        (11, "$ns_ at 10 \"$node_(0) setdest 5 NaN 1\"", "line 11: Y: `NaN`: expected metres"),
        (11, "$ns_ at -1 \"$node_(0) setdest 5 5 1\"", "line 11: TIME: `-1`: expected seconds"),
        (11, "$ns_ at 10 \"$node_(0) setdest 5 5\"", "line 11: `$ns_ at 10"),
        (11, "$ns_ at 10 $node_(0) setdest 5 5 1", "line 11: `$ns_ at 10"),
        (11, "$ns_ at 10", "line 11: `$ns_ at 10`: expected"),
        (7, "# nothing", "line 14: $node_(1) has no initial X_; expected `$node_(1) set X_ VALUE`"),
        (5, "", "line 11: $node_(0) has no initial Y_"),
        (1, "$node_(9) set X_ 1", "line 1: $node_(9) has no initial Y_"),
        (4, "$node_(0) set X_ [exec rm]", "line 4: `$node_(0) set X_ [exec rm]`: expected"),
        (4, "$node_(0) set X_ [expr 1 +]", "line 4: `$node_(0) set X_ [expr 1 +]`: expected"),
        (4, "$node_(0) set X_ [expr 1 / 0]", "line 4: `$node_(0) set X_ [expr 1 / 0]`: expected"),
        (4, "$node_(0) set X_ \"100.0", "line 4: `$node_(0) set X_ \"100.0`: expected"),
        (11, "$ns_ at 10 {$node_(0) halt}", "line 11: `$ns_ at 10 {$node_(0) halt}`: expected"),
    ] {
        let message = error(&with(number, line));
        assert!(message.starts_with(parts), "{message}\nexpected: {parts}");
    }
}

#[test]
fn an_error_repeats_the_beginning_of_a_long_line_only() {
    assert!(error(&"ö".repeat(1_000_000)).len() < 500);
}

#[test]
fn an_enormous_node_number_costs_nothing() {
    let text = "$node_(4294967295) set X_ 1\n$node_(4294967295) set Y_ 2\n";
    let numbers: Vec<u32> = parse(text, None).unwrap().iter().map(|&(number, _)| number).collect();
    assert_eq!(numbers, [4_294_967_295]);
}

#[test]
fn an_empty_file_has_no_nodes() {
    assert_eq!(parse("# empty\n\n", None), Ok(Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Parsing a written file yields the same movement.
    #[test]
    fn a_file_written_is_read_back(seed in any::<u64>(), nodes in 0usize..8, pause in 0u64..10) {
        let model = RandomWaypoint {
            area: Area::new(1_000.0, 700.0),
            speed: (0.5, 30.0),
            pause: (Duration::ZERO, Duration::from_secs(pause)),
            start: Start::Stationary,
        };
        let mut random = SplitMix64::new(seed);
        let paths: Vec<Path> =
            (0..nodes).map(|_| model.path(Instant::from_secs(200), &mut random).unwrap()).collect();
        let read: Vec<Path> =
            parse(&write(&paths), Some(model.area)).unwrap().into_iter().map(|(_, path)| path).collect();
        prop_assert_eq!(read.len(), paths.len());
        for (read, path) in read.iter().zip(&paths) {
            prop_assert_eq!(read.position(Instant::ZERO), path.position(Instant::ZERO));
            for step in 0..2_500u64 {
                let now = Instant::from_millis(step * 100);
                let distance = read.position(now).distance(path.position(now));
                // Arrival times are rounded to the nanosecond: at 30 m/s 30 nm per leg.
                prop_assert!(distance < 1e-6, "{distance} m apart at {now}");
            }
        }
    }

    /// No text makes the reader panic.
    #[test]
    fn any_text_is_read_or_refused(
        lines in prop::collection::vec(
            prop_oneof![
                "[ -~]{0,60}",
                r#"[$\[\]{}"\\();# a-cö]{0,30}"#,
                r#"set [ab] \[expr [-+*/%() 0-9.e]{0,12}\]"#,
                r#"\$node_\([0-9]{1,3}\) set [XYZ]_ -?[0-9.e]{1,6}"#,
                r#"\$ns_ at [0-9.]{1,4} "\$node_\([0-3]\) setdest [0-9.]{1,4} [0-9.]{1,4} [0-9.]{1,4}""#,
            ],
            0..12,
        ),
    ) {
        let _ = parse(&lines.join("\n"), Some(Area::new(100.0, 100.0)));
    }
}
