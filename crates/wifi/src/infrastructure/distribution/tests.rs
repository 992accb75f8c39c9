use super::*;

const STATION: MacAddress = MacAddress::station(9);
const ONE: MacAddress = MacAddress::station(1);
const TWO: MacAddress = MacAddress::station(2);

#[test]
fn a_station_is_at_the_access_point_of_its_last_association() {
    let mut system = DistributionSystem::new();
    assert_eq!(system.locate(STATION), None);
    assert_eq!(system.associate(STATION, ONE), None);
    assert_eq!(system.associate(STATION, ONE), None);
    assert_eq!(system.associate(STATION, TWO), Some(ONE));
    assert_eq!(system.locate(STATION), Some(TWO));
}

#[test]
fn a_late_report_of_the_old_access_point_changes_nothing() {
    let mut system = DistributionSystem::new();
    system.associate(STATION, ONE);
    system.associate(STATION, TWO);
    system.leave(STATION, ONE);
    assert_eq!(system.locate(STATION), Some(TWO));
    system.leave(STATION, TWO);
    assert_eq!(system.locate(STATION), None);
}
