//! The memory that a file of positions can claim.

use std::fmt::Write;

use allocation_counter::measure;
use whimbrel_lab::scenario::positions::{parse_csv, parse_sumo};
use whimbrel_units::Duration;

/// The most bytes that a reader holds at once for each byte of a file.
const BYTES_PER_BYTE: u64 = 32;

/// The files of most memory: rows as short as possible, of one node that is absent after each, and of as many
/// nodes as there are rows.
#[test]
fn a_file_of_positions_claims_at_most_32_times_its_size() {
    const ROWS: u32 = 50_000;
    for has_names in [false, true] {
        let mut table = "time,node,x,y\n".to_owned();
        let mut road = "<fcd-export><timestep time=\"0\">".to_owned();
        for row in 0..ROWS {
            let (time, name) = if has_names { (0, row) } else { (row, 0) };
            writeln!(table, "{time},{name},{},0", row % 2).unwrap();
            write!(road, "<person id=\"{name}\" x=\"{}\" y=\"0\"/>", row % 2).unwrap();
            if !has_names {
                write!(road, "</timestep><timestep time=\"{}\">", row + 1).unwrap();
            }
        }
        road.push_str("</timestep></fcd-export>");
        let gap = Some(Duration::from_nanos(1));
        for (text, claimed) in [
            (&table, measure(|| drop(parse_csv(&table, gap).unwrap())).bytes_max),
            (&road, measure(|| drop(parse_sumo(&road).unwrap())).bytes_max),
        ] {
            let size = text.len() as u64;
            println!("{claimed} B for {size} B: {:.1}", claimed as f64 / size as f64);
            assert!(claimed < BYTES_PER_BYTE * size, "{claimed} B for {size} B");
        }
    }
}
