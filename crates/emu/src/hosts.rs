//! Names and addresses of nodes, as programs see them.

use std::fmt::Write as _;

use whimbrel_lab::Plan;
use whimbrel_lab::emulation::AddressPlan;

/// The lines of a hosts file (hosts(5)) for the ends. The file's own lines follow, so that names resolve to
/// the ends first.
pub(crate) fn hosts_file(plan: &Plan, ends: &[usize], addresses: AddressPlan, own: &str) -> String {
    let mut text = String::new();
    for &node in ends {
        let name = host_name(&plan.nodes[node]);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}\t{name}", addresses.v4(node));
        let _ = writeln!(text, "{}\t{name}", addresses.v6(node));
    }
    text.push_str(own);
    text
}

/// A node's name as a host name: blanks and characters that the file reserves become `-`.
pub(crate) fn host_name(name: &str) -> String {
    name.chars().map(|c| if c.is_whitespace() || c == '#' { '-' } else { c }).collect()
}

/// The variables that programs at `node` find in their environment.
pub(crate) fn environment(
    plan: &Plan,
    ends: &[usize],
    addresses: AddressPlan,
    node: usize,
    level: u8,
) -> Vec<(String, String)> {
    let mut variables = vec![
        ("WHIMBREL_NODE".to_owned(), plan.nodes[node].clone()),
        ("WHIMBREL_ADDRESS".to_owned(), addresses.v4(node).to_string()),
        ("WHIMBREL_ADDRESS6".to_owned(), addresses.v6(node).to_string()),
        (LEVEL.to_owned(), level.to_string()),
    ];
    for &end in ends {
        let name: String = plan.nodes[end]
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
            .collect();
        variables.push((format!("WHIMBREL_ADDRESS_{name}"), addresses.v4(end).to_string()));
        variables.push((format!("WHIMBREL_ADDRESS6_{name}"), addresses.v6(end).to_string()));
    }
    variables
}

/// The variable with the number of emulations around a program.
pub(crate) const LEVEL: &str = "WHIMBREL_LEVEL";

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_lab::Document;

    fn plan() -> Plan {
        let text = r#"
            [simulation]
            duration = "1 s"
            [[node]]
            name = "my camera#1"
            [[node]]
            name = "viewer"
            [[link]]
            between = ["my camera#1", "viewer"]
            rate = "1 Mbit/s"
            delay = "1 ms"
            [[flow]]
            name = "f"
            from = "my camera#1"
            to = "viewer"
            transport = "tcp"
        "#;
        Document::from_toml(text).and_then(|document| document.plan()).expect("a plan")
    }

    #[test]
    fn names_resolve_to_both_addresses_before_the_hosts_own() {
        let text = hosts_file(&plan(), &[0, 1], AddressPlan::new(2), "127.0.0.1 localhost\n");
        let expected = "10.2.0.1\tmy-camera-1\nfd57:4942:524c:2::1\tmy-camera-1\n10.2.0.2\tviewer\n\
                        fd57:4942:524c:2::2\tviewer\n127.0.0.1 localhost\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_environment_names_node_and_addresses() {
        let variables = environment(&plan(), &[0, 1], AddressPlan::new(0), 1, 1);
        let value =
            |name: &str| variables.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        assert_eq!(value("WHIMBREL_NODE"), Some("viewer"));
        assert_eq!(value("WHIMBREL_ADDRESS"), Some("10.0.0.2"));
        assert_eq!(value("WHIMBREL_ADDRESS_MY_CAMERA_1"), Some("10.0.0.1"));
        assert_eq!(value("WHIMBREL_ADDRESS6_VIEWER"), Some("fd57:4942:524c::2"));
        assert_eq!(value("WHIMBREL_LEVEL"), Some("1"));
    }
}
