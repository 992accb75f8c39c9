use super::*;

fn two() -> (Recording, SeriesId, TrackId) {
    let mut recording = Recording::new("two");
    let track = recording.track("connection", "near");
    let sent = recording.series(track, Panel::Rate, "sent");
    (recording, sent, track)
}

#[test]
fn additions_are_what_the_whole_has_more() {
    let (mut recording, sent, track) = two();
    recording.push(0.5, &[(sent, 1_234_567.0)]);
    let known = recording.position;
    recording.push(1.0, &[]);
    recording.push(1.5, &[(sent, 0.0123456)]);
    recording.mark(1.2, track, "handover");
    recording.mark_span(1.3, 1.35, track, "no cell");
    recording.say(1.5, track, "the link is down");
    recording.table("Paths", &["path"], vec![vec!["wlan0".into()]]);
    let more = recording.since(known).expect("the same series");
    assert_eq!(more["rows"], json!([[1.0, null], [1.5, 0.012346]]));
    let marks = json!([{ "t": 1.2, "track": 0, "text": "handover" },
        { "t": 1.3, "until": 1.35, "track": 0, "text": "no cell" }]);
    assert_eq!(more["marks"], marks);
    assert_eq!(more["sentences"][0]["text"], "the link is down");
    assert_eq!(more["tables"][0]["rows"], json!([["wlan0"]]));
    let all = recording.json();
    assert_eq!(all["series"][0]["values"], json!([1_234_600, null, 0.012346]));
    assert_eq!(all["times"], json!([0.5, 1.0, 1.5]));
    let nothing = recording.since(recording.position).expect("the same series");
    assert_eq!(nothing, json!({ "rows": [], "marks": [], "sentences": [] }));
}

#[test]
fn a_new_series_has_holes_before_and_needs_the_whole() {
    let (mut recording, sent, track) = two();
    recording.push(0.5, &[(sent, 1.0)]);
    let known = recording.position;
    let other = recording.series(track, Panel::Rate, "delivered");
    recording.push(1.0, &[(sent, 2.0), (other, 3.0)]);
    assert_eq!(recording.since(known), None);
    assert_eq!(recording.json()["series"][1]["values"], json!([null, 3]));
    assert_eq!(recording.series(track, Panel::Rate, "sent"), sent);
}

#[test]
fn a_long_time_and_many_connections_take_bounded_memory() {
    let (mut recording, sent, _) = two();
    let known = recording.position;
    for n in 0..2 * MAX_SAMPLES {
        recording.push(n as f64, &[(sent, n as f64)]);
    }
    assert_eq!(recording.times.len(), MAX_SAMPLES);
    assert_eq!(recording.series[0].values.front(), Some(&(MAX_SAMPLES as f32)));
    assert_eq!(recording.since(known), None, "more came than is kept");
    for n in 0..10 * MAX_TRACKS {
        let track = recording.track("connection", format!("peer {n}"));
        recording.series(track, Panel::Rate, "sent");
        recording.say(0.0, track, &format!("sentence {n}"));
        recording.mark(0.0, track, "connected");
        recording.end(track);
    }
    assert_eq!((recording.tracks.len(), recording.series.len()), (MAX_TRACKS, MAX_TRACKS));
    assert!(recording.marks.len() <= MAX_TRACKS && recording.sentences.len() <= MAX_TRACKS);
    let last = recording.tracks.iter().filter(|track| track.name == format!("peer {}", 10 * MAX_TRACKS - 1));
    assert_eq!(last.count(), 1);
}

#[test]
fn a_sentence_that_stays_is_one() {
    let (mut recording, _, track) = two();
    for n in 0..10 {
        recording.say(f64::from(n), track, if n < 5 { "nothing is sent" } else { "everything arrives" });
    }
    let said: Vec<f64> = recording.sentences.iter().map(|sentence| sentence.t).collect();
    assert_eq!(said, [0.0, 5.0]);
}
