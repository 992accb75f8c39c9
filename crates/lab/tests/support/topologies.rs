//! Texts of the topologies that several tests share.

#![allow(unused_macros, reason = "not every test needs all of them")]

/// Nodes of these names.
macro_rules! nodes {
    ($($name:literal)+) => { concat!($("[[node]]\nname = \"", $name, "\"\n"),+) };
}

/// Nodes `a` and `b`, and a link with these keys between them.
macro_rules! pair {
    ($link:literal) => { concat!(nodes!("a" "b"), "[[link]]\nbetween = [\"a\", \"b\"]\n", $link) };
}

/// Nodes `a`, `b` and `c`: a link of 1 Mbit/s, then one of 1 Gbit/s named `netem`, with these further keys.
macro_rules! over_netem {
    ($first:literal, $second:literal) => {
        concat!(
            nodes!("a" "b" "c"),
            "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\nqueue = \"50 packets\"\n",
            $first,
            "[[link]]\nname = \"netem\"\nbetween = [\"b\", \"c\"]\nrate = \"1 Gbit/s\"\n",
            $second
        )
    };
}

/// `$count` sources `s0`, `s1`, ... and sinks `d0`, `d1`, ... on both sides of a link named `bottleneck` with
/// these keys.
macro_rules! dumbbell {
    ($count:literal, $bottleneck:literal) => {
        concat!(
            nodes!("r1" "r2"),
            "[[node]]\nname = \"s{i}\"\ncount = ", $count, "\n",
            "[[node]]\nname = \"d{i}\"\ncount = ", $count, "\n",
            "[[link]]\nname = \"bottleneck\"\nbetween = [\"r1\", \"r2\"]\n", $bottleneck,
            "[[link]]\nbetween = [\"s{i}\", \"r1\"]\nrate = \"100 Mbit/s\"\ndelay = \"2 ms\"\ncount = ", $count, "\n",
            "[[link]]\nbetween = [\"r2\", \"d{i}\"]\nrate = \"100 Mbit/s\"\ndelay = \"2 ms\"\ncount = ", $count, "\n",
        )
    };
}
