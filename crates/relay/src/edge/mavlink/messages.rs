//! The messages of MAVLink's dialects `common` and `ardupilotmega` that matter to a queue, by their numbers.
//!
//! A message is a value if a newer one of its component makes it useless. Those that belong to a transaction,
//! and events, are none. Where a component has several instances of a message, such as batteries, a field
//! names the instance: one that the dialect marks so, the address of an aircraft or a ship, or the target of
//! a control.

use super::{Message, Sort};

const fn value(number: u32, checksum: u8, (start, end): (usize, usize)) -> Message {
    Message { number, checksum, sort: Sort::Value { start, end } }
}

const fn single(number: u32, checksum: u8) -> Message {
    value(number, checksum, (0, 0))
}

const fn command(number: u32, checksum: u8) -> Message {
    Message { number, checksum, sort: Sort::Command }
}

const fn bulk(number: u32, checksum: u8) -> Message {
    Message { number, checksum, sort: Sort::Bulk }
}

/// In the order of their numbers. The checksum is the byte that stands for the definition (`CRC_EXTRA`).
#[rustfmt::skip]
pub(super) const MESSAGES: &[Message] = &[
    single(0, 50), // HEARTBEAT
    single(1, 124), // SYS_STATUS
    single(2, 137), // SYSTEM_TIME
    command(4, 237), // PING
    command(5, 217), // CHANGE_OPERATOR_CONTROL
    command(6, 104), // CHANGE_OPERATOR_CONTROL_ACK
    command(11, 89), // SET_MODE
    command(20, 214), // PARAM_REQUEST_READ
    command(21, 159), // PARAM_REQUEST_LIST
    command(22, 220), // PARAM_VALUE
    command(23, 168), // PARAM_SET
    single(24, 24), // GPS_RAW_INT
    single(25, 23), // GPS_STATUS
    single(26, 170), // SCALED_IMU
    value(27, 144, (26, 27)), // RAW_IMU
    single(28, 67), // RAW_PRESSURE
    single(29, 115), // SCALED_PRESSURE
    single(30, 39), // ATTITUDE
    single(31, 246), // ATTITUDE_QUATERNION
    single(32, 185), // LOCAL_POSITION_NED
    single(33, 104), // GLOBAL_POSITION_INT
    value(34, 237, (20, 21)), // RC_CHANNELS_SCALED
    value(35, 244, (20, 21)), // RC_CHANNELS_RAW
    value(36, 222, (20, 21)), // SERVO_OUTPUT_RAW
    command(37, 212), // MISSION_REQUEST_PARTIAL_LIST
    command(38, 9), // MISSION_WRITE_PARTIAL_LIST
    command(39, 254), // MISSION_ITEM
    command(40, 230), // MISSION_REQUEST
    command(41, 28), // MISSION_SET_CURRENT
    single(42, 28), // MISSION_CURRENT
    command(43, 132), // MISSION_REQUEST_LIST
    command(44, 221), // MISSION_COUNT
    command(45, 232), // MISSION_CLEAR_ALL
    command(46, 11), // MISSION_ITEM_REACHED
    command(47, 153), // MISSION_ACK
    command(51, 196), // MISSION_REQUEST_INT
    single(61, 167), // ATTITUDE_QUATERNION_COV
    single(62, 183), // NAV_CONTROLLER_OUTPUT
    single(63, 119), // GLOBAL_POSITION_INT_COV
    single(64, 191), // LOCAL_POSITION_NED_COV
    single(65, 118), // RC_CHANNELS
    command(66, 148), // REQUEST_DATA_STREAM
    value(69, 243, (10, 11)), // MANUAL_CONTROL
    value(70, 124, (16, 18)), // RC_CHANNELS_OVERRIDE
    command(73, 38), // MISSION_ITEM_INT
    single(74, 20), // VFR_HUD
    command(75, 158), // COMMAND_INT
    command(76, 152), // COMMAND_LONG
    command(77, 143), // COMMAND_ACK
    single(83, 22), // ATTITUDE_TARGET
    single(85, 140), // POSITION_TARGET_LOCAL_NED
    single(87, 150), // POSITION_TARGET_GLOBAL_INT
    value(105, 93, (62, 63)), // HIGHRES_IMU
    single(109, 185), // RADIO_STATUS
    bulk(110, 84), // FILE_TRANSFER_PROTOCOL
    single(116, 76), // SCALED_IMU2
    bulk(120, 134), // LOG_DATA
    single(124, 87), // GPS2_RAW
    single(125, 203), // POWER_STATUS
    single(127, 25), // GPS_RTK
    single(128, 226), // GPS2_RTK
    single(129, 46), // SCALED_IMU3
    bulk(131, 223), // ENCAPSULATED_DATA
    value(132, 85, (11, 12)), // DISTANCE_SENSOR
    single(137, 195), // SCALED_PRESSURE2
    single(141, 47), // ALTITUDE
    single(143, 131), // SCALED_PRESSURE3
    value(147, 154, (32, 33)), // BATTERY_STATUS
    command(148, 178), // AUTOPILOT_VERSION
    single(152, 208), // MEMINFO
    single(158, 134), // MOUNT_STATUS
    command(160, 78), // FENCE_POINT
    command(161, 68), // FENCE_FETCH_POINT
    single(162, 189), // FENCE_STATUS
    single(163, 127), // AHRS
    single(165, 21), // HWSTATUS
    single(168, 1), // WIND
    single(173, 83), // RANGEFINDER
    command(175, 138), // RALLY_POINT
    command(176, 234), // RALLY_FETCH_POINT
    single(178, 47), // AHRS2
    single(181, 174), // BATTERY2
    single(182, 229), // AHRS3
    bulk(184, 159), // REMOTE_LOG_DATA_BLOCK
    single(193, 71), // EKF_STATUS_REPORT
    value(194, 98, (24, 25)), // PID_TUNING
    single(225, 208), // EFI_STATUS
    single(226, 207), // RPM
    single(230, 163), // ESTIMATOR_STATUS
    single(231, 105), // WIND_COV
    command(233, 35), // GPS_RTCM_DATA
    single(234, 150), // HIGH_LATENCY
    single(235, 179), // HIGH_LATENCY2
    single(241, 90), // VIBRATION
    single(242, 104), // HOME_POSITION
    command(244, 95), // MESSAGE_INTERVAL
    single(245, 130), // EXTENDED_SYS_STATE
    value(246, 184, (0, 4)), // ADSB_VEHICLE
    value(250, 49, (20, 30)), // DEBUG_VECT
    value(251, 170, (8, 18)), // NAMED_VALUE_FLOAT
    value(252, 44, (8, 18)), // NAMED_VALUE_INT
    command(253, 83), // STATUSTEXT
    value(254, 46, (8, 9)), // DEBUG
    command(257, 131), // BUTTON_CHANGE
    single(265, 26), // MOUNT_ORIENTATION
    bulk(266, 193), // LOGGING_DATA
    bulk(267, 35), // LOGGING_DATA_ACKED
    value(281, 48, (8, 9)), // GIMBAL_MANAGER_STATUS
    single(285, 137), // GIMBAL_DEVICE_ATTITUDE_STATUS
    value(295, 234, (10, 11)), // AIRSPEED
    value(301, 243, (0, 4)), // AIS_VESSEL
    single(310, 28), // UAVCAN_NODE_STATUS
    command(320, 243), // PARAM_EXT_REQUEST_READ
    command(321, 88), // PARAM_EXT_REQUEST_LIST
    command(322, 243), // PARAM_EXT_VALUE
    command(323, 78), // PARAM_EXT_SET
    command(324, 132), // PARAM_EXT_ACK
    value(330, 23, (156, 157)), // OBSTACLE_DISTANCE
    single(335, 225), // ISBD_LINK_STATUS
    value(339, 199, (4, 5)), // RAW_RPM
    single(373, 117), // GENERATOR_STATUS
    single(375, 251), // ACTUATOR_OUTPUT_STATUS
    single(390, 156), // ONBOARD_COMPUTER_STATUS
    single(9000, 113), // WHEEL_DISTANCE
    single(9005, 117), // WINCH_STATUS
    single(11020, 205), // AOA_SSA
    single(11030, 144), // ESC_TELEMETRY_1_TO_4
    single(11031, 133), // ESC_TELEMETRY_5_TO_8
    single(11032, 85), // ESC_TELEMETRY_9_TO_12
    value(11038, 47, (36, 37)), // WATER_DEPTH
    value(11039, 142, (8, 9)), // MCU_STATUS
    single(11040, 132), // ESC_TELEMETRY_13_TO_16
    single(11041, 208), // ESC_TELEMETRY_17_TO_20
    single(11042, 201), // ESC_TELEMETRY_21_TO_24
    single(11043, 193), // ESC_TELEMETRY_25_TO_28
    single(11044, 189), // ESC_TELEMETRY_29_TO_32
    value(12920, 20, (4, 5)), // HYGROMETER_SENSOR
];
