use super::{draw, three_stations};

/// Every instant follows from the lengths: RTS 352, CTS 304, data of 1536 bytes 1310, acknowledgement 304 us;
/// DIFS 50, SIFS 10, propagation 1 us. The RTS reserves 3 SIFS, CTS, data and acknowledgement, the CTS 2
/// SIFS, data and acknowledgement, the data frame SIFS and acknowledgement. Station 2 receives the CTS at 818
/// us and neither RTS nor data.
#[test]
fn the_exchange_of_three_stations_is_the_one_drawn() {
    let drawn = draw(&three_stations());
    let expected = "\
station 0 =====RTS======             ========================DATA========================
station 1               ====CTS=====                                                     =====ACK=====
station 2                           ...............................NAV................................

  150 to   502 us  station 0  RTS    352 us, reserves 1948
  513 to   817 us  station 1  CTS    304 us, reserves 1634
  818 to  2452 us  station 2  NAV   1634 us
  828 to  2138 us  station 0  DATA  1310 us, reserves 314
 2149 to  2453 us  station 1  ACK    304 us, reserves 0
";
    assert_eq!(drawn, expected, "{drawn}");
}
