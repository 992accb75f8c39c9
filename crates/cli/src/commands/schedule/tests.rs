use super::*;
use whimbrel_lab::traffic::Schedule;

fn piece(milliseconds: u64, size: u32, kind: Option<char>) -> Piece {
    Piece { at: Duration::from_millis(milliseconds), size, kind }
}

#[test]
fn a_frame_is_divided_into_datagrams_that_sum_to_it() {
    for (size, largest, parts) in
        [(1, 1200, 1), (1200, 1200, 1), (1201, 1200, 2), (3000, 1000, 3), (10_001, 40, 251)]
    {
        let sizes: Vec<u32> = divided(size, largest).collect();
        assert_eq!(sizes.iter().sum::<u32>(), size);
        assert!(sizes.len() <= parts && sizes.iter().all(|each| (1..=largest).contains(each)), "{sizes:?}");
    }
    assert_eq!(divided(0, 1200).count(), 0);
}

#[test]
fn what_is_written_reads_as_a_schedule() {
    let video = csv(&[piece(0, 3000, Some('I')), piece(40, 100, Some('P'))], 1200);
    assert_eq!(video.lines().nth(1), Some("0.000000000,1000,0,I"));
    let schedule = Schedule::parse_video(&video).expect("a schedule");
    assert_eq!(schedule.entries().len(), 4);
    assert_eq!((schedule.entries()[3].frame, schedule.entries()[3].size), (1, 100));
    let trace = csv(&[piece(0, 200, None), piece(20, 60, None)], 1400);
    assert_eq!(Schedule::parse_trace(&trace).expect("a schedule").largest(), 200);
}

const HEAD: &str = "#software: Lavf\n#tb 0: 1/1000\n#media_type 0: video\n";

fn frames(lines: &str) -> anyhow::Result<Vec<Piece>> {
    media::frames(format!("{HEAD}{lines}").as_bytes())
}

#[test]
fn frames_have_their_decoding_time_and_their_type() {
    let read = frames(
        "0, -80, 0, 40, 5000, 0x1, S=1, 8, 0x2\n0, -40, 160, 40, 900, 0x1, F=0x0\n0, 0, 80, 40, 300, 0x1, F=0x0\n\
         0, 40, 200, 40, 700, 0x1, F=0x0\n0, 40, 240, 40, 0, 0x1, F=0x0\n",
    );
    let expected = [(0, 5000, 'I'), (40, 900, 'P'), (80, 300, 'B'), (120, 700, 'P')];
    assert_eq!(read.unwrap(), expected.map(|(at, size, kind)| piece(at, size, Some(kind))));
}

#[test]
fn unexpected_output_of_the_reader_is_an_error() {
    for wrong in [
        "0, 1, 2\n",
        "0, x, 0, 40, 5000, 0x1\n",
        "0, 0, 0, 40, -1, 0x1\n",
        "0, 0, 0, 40, 999999999, 0x1\n",
        "0, 0, 0, 40, 10, 0x1, F=0xzz\n",
        "0, 0, 0, 40, 10, 0x1\n0, 9223372036854775807, 0, 40, 10, 0x1\n",
    ] {
        assert!(frames(wrong).is_err(), "{wrong}");
    }
    assert!(media::frames("#tb 0: 1/0\n".as_bytes()).is_err());
    assert!(media::frames("0, 0, 0, 40, 10, 0x1\n".as_bytes()).is_err());
    assert_eq!(frames("").unwrap(), []);
    // Times that run backwards stay at the latest.
    let back = frames("0, 80, 0, 40, 1, 0x1\n0, 40, 0, 40, 1, 0x1\n").unwrap();
    assert_eq!(back[1].at, Duration::ZERO);
}
