//! Keys of probe frames, of estimates and of the rates of cells.

use super::*;

#[test]
fn probes_and_rates_of_cells_are_checked_with_their_keys() {
    let wifi = |keys: &str| {
        format!(
            "[simulation]\nduration = \"1 s\"\n[[wifi]]\nname = \"air\"\n{keys}\n[[node]]\nname = \"a\"\nwifi = \"air\"\nposition = [0, 0]\n\
             [[node]]\nname = \"b\"\nwifi = \"air\"\nposition = [10, 0]\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = \"tcp\"\n"
        )
    };
    let error = |keys: &str| Document::from_toml(&wifi(keys)).unwrap().plan().unwrap_err().to_string();
    let found = error("probes = {}");
    assert!(found.contains("wifi[0].probes") && found.contains("controller"), "{found}");
    let found = error("probes = { size = \"4 kB\" }\ncontroller = { law = \"xcp-winf\" }");
    assert!(found.contains("wifi[0].probes.size") && found.contains("2304"), "{found}");
    let found = error("controller = { law = \"xcp\", whole_cycle = true }");
    assert!(found.contains("wifi[0].controller.whole_cycle"), "{found}");
    let found = error("controller = { law = \"xcp-winf\", capacity_correction = true }");
    assert!(found.contains("capacity_correction = true: expected false without"), "{found}");
    assert!(
        Document::from_toml(&wifi("probes = {}\ncontroller = { law = \"xcp-winf\" }"))
            .unwrap()
            .plan()
            .is_ok()
    );
    let cell = wifi("").replacen(
        "position = [0, 0]",
        "position = [0, 0]\naccess_point = { ssid = \"n\", rate = \"3 Mbit/s\" }",
        1,
    );
    let cell = cell.replacen("position = [10, 0]", "position = [10, 0]\nclient = { ssid = \"n\" }", 1);
    let found = Document::from_toml(&cell).unwrap().plan().unwrap_err().to_string();
    assert!(found.contains("node[0].access_point.rate") && found.contains("11 Mbit/s"), "{found}");
}
