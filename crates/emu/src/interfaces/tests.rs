//! Names and orders of interfaces.

use whimbrel_lab::Document;

use super::*;

/// A plan with these nodes.
fn plan(names: &[&str]) -> Plan {
    let nodes: String = names.iter().map(|name| format!("[[node]]\nname = \"{name}\"\n")).collect();
    let text = format!(
        "[simulation]\nduration = \"1 s\"\n{nodes}[[link]]\nbetween = [\"{0}\", \"{1}\"]\nrate = \"1 Mbit/s\"\n\
         [[flow]]\nname = \"f\"\nfrom = \"{0}\"\nto = \"{1}\"\ntransport = \"tcp\"\n",
        names[0], names[1]
    );
    Document::from_toml(&text).and_then(|document| document.plan()).expect("a plan")
}

#[test]
fn a_hosts_first_interface_makes_its_namespace_and_has_the_first_position() {
    let plan = plan(&["server", "wifi", "cell"]);
    let hosts = [Host { ends: vec![1, 2] }];
    assert_eq!(Host::interface(&hosts, &plan, 0), (DEVICE.to_owned(), 0, None));
    assert_eq!(Host::interface(&hosts, &plan, 1), ("wifi".to_owned(), 0, None));
    assert_eq!(Host::interface(&hosts, &plan, 2), ("cell".to_owned(), 1, Some(1)));
    assert!(is_member(&hosts, 2) && !is_member(&hosts, 0));
}

#[test]
fn interfaces_that_the_kernel_would_refuse_are_refused_by_name() {
    let plan = plan(&["server", "a name", "an_interface_with_a_long_name", "wifi", "lo"]);
    let check = |ends: &[usize]| check_hosts(&[Host { ends: ends.to_vec() }], &plan, &[0, 1, 2, 3, 4]);
    assert_eq!(check(&[0, 3]), Ok(()));
    for node in [1, 2, 4] {
        let refused = check(&[node]).expect_err("it is no name of an interface");
        assert!(refused.contains(&plan.nodes[node]) && refused.contains("15 bytes"), "{refused}");
    }
}

#[test]
fn a_node_is_one_interface_of_one_host_and_an_end() {
    let plan = plan(&["server", "wifi", "cell"]);
    let check = |hosts: &[Host], ends: &[usize]| check_hosts(hosts, &plan, ends);
    let hosts = [Host { ends: vec![1, 2] }, Host { ends: vec![2] }];
    assert!(check(&hosts, &[0, 1, 2]).is_err_and(|text| text.contains("\"cell\" is named twice")));
    assert!(check(&hosts[..1], &[0, 1]).is_err_and(|text| text.contains("not among the ends")));
    assert!(check(&hosts[..1], &[0, 2, 1]).is_err_and(|text| text.contains("order")));
}
