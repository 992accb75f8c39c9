use super::*;

const TEXT: &str = r#"title = "Prüfung" # a comment
[simulation]
duration = "10 s"
[[node]]
name = "a"
[[link]]
name = "radio"
delay = "20 ms"
loss = { model = "bernoulli" }
[[flow]]
name = "video"
transport = "media"
"#;

/// The proposals at the sign `|` of a text, and the text with the first proposal in its place.
fn proposed(text: &str) -> (Vec<String>, String) {
    let (before, after) = text.split_once('|').unwrap();
    let text = format!("{before}{after}");
    let found = completion(&text, units(before), &whimbrel_lab::schema());
    let of_text: Vec<u16> = text.encode_utf16().collect();
    let part = |from: usize, to: usize| String::from_utf16(&of_text[from..to]).unwrap();
    let names: Vec<String> = found.proposals.into_iter().map(|proposal| proposal.text).collect();
    let first = names.first().map_or("", String::as_str);
    let [from, to] = found.span;
    let changed = format!("{}{first}{}{}", part(0, from), found.after, part(to, of_text.len()));
    (names, changed)
}

fn names(text: &str) -> Vec<String> {
    proposed(text).0
}

#[test]
fn keys_of_the_table_are_proposed_that_it_has_not_yet() {
    let of_link = names(&TEXT.replace("delay = \"20 ms\"", "|"));
    for key in ["rate", "delay", "queue", "discipline"] {
        assert!(of_link.iter().any(|name| name == key), "{key}: {of_link:?}");
    }
    // Above and below the place.
    for key in ["name", "loss", "transport", "duration"] {
        assert!(of_link.iter().all(|name| name != key), "{key}: {of_link:?}");
    }
    let (of_simulation, text) = proposed(&TEXT.replace("duration = ", "war| "));
    assert_eq!(of_simulation, ["warm_up"]);
    assert!(text.contains("[simulation]\nwarm_up =  \"10 s\""), "{text}");
    assert_eq!(names("ti|"), ["title"]);
    assert_eq!(names("si|"), [""; 0], "a table is written with its header");
}

#[test]
fn a_word_is_replaced_whole_and_keeps_its_value() {
    let (found, text) = proposed(&TEXT.replace("delay = ", "de|lya = "));
    assert_eq!(found[0], "delay");
    assert!(text.contains("\ndelay = \"20 ms\"\n"), "{text}");
    // A name before it has characters that are two units, or two bytes.
    let (_, text) = proposed(&TEXT.replace("Prüfung", "🛰 Prüfung").replace("20 ms\"\n", "20 ms\"\nra|\n"));
    assert!(text.contains("\nrate = \nloss"), "{text}");
}

#[test]
fn an_inline_table_has_the_keys_of_its_variant() {
    let inside = |place: &str| names(&TEXT.replace("model = \"bernoulli\"", place));
    assert_eq!(inside("model = \"bernoulli\", |"), ["correlation", "rate"]);
    assert_eq!(inside("model = \"bernoulli\", rate = \"4 %\", |"), ["correlation"]);
    let of_another = inside("model = \"gilbert-elliott\", |");
    assert!(of_another.contains(&"good_to_bad".to_owned()), "{of_another:?}");
    assert!(!of_another.contains(&"rate".to_owned()), "{of_another:?}");
    // In the second table of a list, over several lines.
    let points = "{ at = \"0 s\", position = [0, 0] },\n    { | },";
    let text = format!("[[node]]\nmobility = {{ kind = \"waypoints\", points = [\n    {points}\n] }}\n");
    assert_eq!(names(&text), ["at", "position"]);
}

#[test]
fn values_of_an_enumeration_are_proposed() {
    let (found, text) = proposed(&TEXT.replace("\"bernoulli\"", "\"gil|x\""));
    assert_eq!(found, ["\"gilbert-elliott\""]);
    assert!(text.contains("loss = { model = \"gilbert-elliott\" }"), "{text}");
    assert!(names(&TEXT.replace("\"media\"", "|")).contains(&"\"dccp\"".to_owned()));
    assert_eq!(names("[[link]]\ndiscipline = { kind = \"fq|"), ["\"fq-codel\""]);
    assert_eq!(names("[record]\nlosses = t|"), ["true"]);
    let laws = completion("[[flow]]\nccid = ", 16, &whimbrel_lab::schema()).proposals;
    let [first, second] = [&laws[0], &laws[1]].map(|law| (law.text.as_str(), law.about.as_str()));
    assert_eq!((first, second), (("2", "TCP-like (2)"), ("3", "TFRC (3)")));
}

#[test]
fn tables_are_proposed_by_their_headers() {
    assert_eq!(names("[s|"), ["[simulation]", "[sweep]"].map(String::from));
    let (found, text) = proposed(&TEXT.replace("[[node]]", "[[fl|]]"));
    assert_eq!(found, ["[[flow]]"]);
    assert!(text.contains("\n[[flow]]\nname = \"a\""), "{text}");
}

#[test]
fn elsewhere_nothing_is_proposed() {
    for place in
        ["# a com|ment", "# \"qu|oted\"", "duration = \"1|0 s\"", "duration = \"10 s\" |", "[unknown]\na|"]
    {
        assert_eq!(names(&format!("[simulation]\n{place}\n")), [""; 0], "{place}");
    }
}

#[test]
fn a_line_that_is_being_written_leaves_the_next_ones_alone() {
    let open = TEXT.replace("{ model = \"bernoulli\" }", "{ model = \"berno");
    assert_eq!(names(&format!("{open}transp|")), [""; 0], "the flow has its transport");
    assert_eq!(names(&format!("{open}cc|")), ["ccid"]);
}

#[test]
fn no_place_of_a_text_is_a_panic() {
    let schema = whimbrel_lab::schema();
    for text in
        [TEXT, "[", "[[", "=", "a = [{ b = {", "}]}", "a = '", "\"", ",,}", "a.\"b\" = {c=[1,{d=", "é🛰="]
    {
        for place in 0..=units(text) + 2 {
            let found = completion(text, place, &schema);
            assert!(found.span[0] <= found.span[1] && found.span[1] <= units(text), "{text} {place}");
        }
    }
}
