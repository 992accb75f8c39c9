//! Files of positions.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::mobility::Position;

use super::{Track, parse_csv, parse_sumo};

const ROAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fcd-export xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
    <timestep time="0.00">
        <vehicle id="first" x="10.00" y="4.80" angle="90.00" speed="0.00"/>
    </timestep>
    <timestep time="1.00">
        <vehicle id="first" x="12.00" y="4.80" speed="2.00"/>
        <vehicle id="second" x="0.00" y="1.60" speed="10.00"/>
    </timestep>
    <timestep time="2.00">
        <vehicle id="second" x="10.00" y="1.60" speed="10.00"/>
    </timestep>
    <timestep time="3.00">
        <vehicle id="first" x="16.00" y="4.80" speed="2.00"/>
    </timestep>
</fcd-export>
"#;

fn at(seconds: u64) -> Instant {
    Instant::from_secs(seconds)
}

fn names(tracks: &[Track]) -> Vec<&str> {
    tracks.iter().map(|track| track.name.as_str()).collect()
}

/// A vehicle is there from its first time step on, for the length of the step of its last one, and not where
/// a step leaves it out.
#[test]
fn vehicles_of_sumo_are_absent_where_a_time_step_leaves_them_out() {
    let tracks = parse_sumo(ROAD).unwrap();
    assert_eq!(names(&tracks), ["first", "second"]);
    assert_eq!(tracks[0].absences, [(at(2), at(3)), (at(4), Instant::FAR_FUTURE)]);
    assert_eq!(tracks[1].absences, [(at(0), at(1)), (at(3), Instant::FAR_FUTURE)]);
    assert_eq!(tracks[1].path.position(Instant::from_millis(1_500)), Position::new(5.0, 1.6));
}

#[test]
fn rows_of_a_table_are_positions_between_which_a_node_moves() {
    let text = "time,node,x,y,z\n0,a,0,0,1.5\n0,b,5,5,1.5\n10,a,100,0,1.5\n60,a,100,50,1.5\n";
    let tracks = parse_csv(text, None).unwrap();
    assert_eq!(names(&tracks), ["a", "b"]);
    assert_eq!(tracks[0].path.position(at(5)), Position::new(50.0, 0.0));
    assert_eq!(tracks[0].absences, [(at(60), Instant::FAR_FUTURE)]);
    let tracks = parse_csv(text, Some(Duration::from_secs(20))).unwrap();
    assert_eq!(tracks[0].absences, [(at(10), at(60)), (at(60), Instant::FAR_FUTURE)]);
}

#[test]
fn errors_name_the_line_and_the_value() {
    let table = |text: &str| parse_csv(text, None).unwrap_err().to_string();
    assert!(
        table("time,node,x\n").starts_with("line 1: time,node,x: expected the columns"),
        "{}",
        table("time,node,x\n")
    );
    assert_eq!(table("time,node,x,y\n0,a,1,2\n1,a,east,2\n"), "line 3: east: expected a finite number");
    assert_eq!(table("time,node,x,y\n0,a,1,NaN\n"), "line 2: NaN: expected a finite number");
    let earlier = table("time,node,x,y\n5,a,1,2\n5,a,1,3\n");
    assert!(earlier.starts_with("line 3: a at 5s: expected a later time"), "{earlier}");
    let far = table("time,node,x,y\n0,a,-1e308,0\n1,a,1e308,0\n");
    assert_eq!(far, "line 3: a at 1s: expected a place within reach at the speed of light");
    assert!(table("time,node,x,y\n-1,a,1,2\n").starts_with("line 2: -1: expected a time"));
    assert!(table("time,node,x,y\n1,,1,2\n").starts_with("line 2: a node without a name"));
    assert!(table("time,node,x,y\n1,a,1\n").starts_with("line 2: a row: expected as many columns"));
    let road = |from: &str, to: &str| parse_sumo(&ROAD.replacen(from, to, 1)).unwrap_err().to_string();
    assert_eq!(road("x=\"12.00\"", "x=\"far\""), "line 7: far: expected a finite number");
    assert_eq!(road("id=\"second\"", "name=\"second\""), "line 8: vehicle: expected an attribute `id`");
    assert!(road("time=\"2.00\"", "time=\"1.00\"").starts_with("line 10: 1s: expected a later time"));
    assert!(road("</timestep>", "</timestop>").starts_with("line 5: "));
    assert!(road("fcd-export ", "fcd ").starts_with("line "));
    assert!(parse_sumo("<routes></routes>").unwrap_err().to_string().contains("fcd-export"));
}
