//! Contents of payloads, made by hand from the payload formats.

use super::*;

const NOTHING: Content = Content { has_parameters: false, begins_keyframe: false, is_disposable: false };
const PARAMETERS: Content = Content { has_parameters: true, ..NOTHING };
const KEY: Content = Content { begins_keyframe: true, ..NOTHING };
const BOTH: Content = Content { has_parameters: true, ..KEY };
const DISPOSABLE: Content = Content { is_disposable: true, ..NOTHING };

fn check(codec: Codec, cases: &[(&[u8], Content)]) {
    for (payload, expected) in cases {
        assert_eq!(codec.content(payload), *expected, "{codec:?} {payload:02x?}");
    }
}

#[test]
fn codecs_have_names() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_name(codec.name()), Some(codec));
    }
    assert_eq!(Codec::from_name("vp9"), None);
}

#[test]
fn units_of_h264() {
    check(
        Codec::H264,
        &[
            // SPS, PPS, IDR slice, P slice, B slice without references.
            (&[0x67, 0x42], PARAMETERS),
            (&[0x68, 0xce], PARAMETERS),
            (&[0x65, 0x88], KEY),
            (&[0x41, 0x9a], NOTHING),
            (&[0x01, 0x9e], DISPOSABLE),
            // An access unit delimiter and an SEI message have no reference and belong to frames that may
            // have.
            (&[0x09, 0x10], NOTHING),
            (&[0x06, 0x05], NOTHING),
            // STAP-A: SEI and SPS; SPS, PPS and IDR; two slices without references; one with; delimiter and
            // slice without.
            (&[0x78, 0, 1, 0x06, 0, 2, 0x67, 0x42], PARAMETERS),
            (&[0x78, 0, 1, 0x67, 0, 1, 0x68, 0, 2, 0x65, 0x88], BOTH),
            (&[0x18, 0, 1, 0x01, 0, 1, 0x01], DISPOSABLE),
            (&[0x78, 0, 1, 0x01, 0, 1, 0x41], NOTHING),
            (&[0x18, 0, 1, 0x09, 0, 1, 0x01], DISPOSABLE),
            // Truncated, empty, and of an empty unit.
            (&[0x78, 0, 9, 0x67], NOTHING),
            (&[0x78], NOTHING),
            (&[0x78, 0, 0, 0, 1, 0x67], PARAMETERS),
            // FU-A: first and later fragment of an IDR slice, of a slice without references, of an SPS.
            (&[0x7c, 0x85, 0x88], KEY),
            (&[0x7c, 0x05, 0x88], NOTHING),
            (&[0x1c, 0x81, 0x9e], DISPOSABLE),
            (&[0x7c, 0x07], PARAMETERS),
            (&[0x7c], NOTHING),
            (&[], NOTHING),
        ],
    );
}

#[test]
fn units_of_h265() {
    check(
        Codec::H265,
        &[
            // VPS, SPS, PPS, IDR_W_RADL, CRA, TRAIL_R, TRAIL_N, access unit delimiter.
            (&[0x40, 0x01], PARAMETERS),
            (&[0x42, 0x01], PARAMETERS),
            (&[0x44, 0x01], PARAMETERS),
            (&[0x26, 0x01], KEY),
            (&[0x2a, 0x01], KEY),
            (&[0x02, 0x01], NOTHING),
            (&[0x00, 0x01], DISPOSABLE),
            (&[0x46, 0x01], NOTHING),
            // AP: VPS and SPS; PPS and IDR; delimiter and TRAIL_N; TRAIL_N and TRAIL_R.
            (&[0x60, 0x01, 0, 2, 0x40, 0x01, 0, 2, 0x42, 0x01], PARAMETERS),
            (&[0x60, 0x01, 0, 2, 0x44, 0x01, 0, 2, 0x26, 0x01], BOTH),
            (&[0x60, 0x01, 0, 2, 0x46, 0x01, 0, 2, 0x00, 0x01], DISPOSABLE),
            (&[0x60, 0x01, 0, 2, 0x00, 0x01, 0, 2, 0x02, 0x01], NOTHING),
            // FU: of TRAIL_N, first and later fragment of IDR_N_LP; truncated.
            (&[0x62, 0x01, 0x80, 0xff], DISPOSABLE),
            (&[0x62, 0x01, 0x94], KEY),
            (&[0x62, 0x01, 0x14], NOTHING),
            (&[0x62, 0x01], NOTHING),
            (&[0x40], NOTHING),
        ],
    );
}

#[test]
fn descriptors_of_vp8() {
    check(
        Codec::Vp8,
        &[
            // The beginning of a key frame, of another one, of another partition of it, a later packet, one
            // without references.
            (&[0x10, 0x50, 0x2c], KEY),
            (&[0x10, 0x51], NOTHING),
            (&[0x11, 0x50], NOTHING),
            (&[0x00, 0x50], NOTHING),
            (&[0x30, 0x51], DISPOSABLE),
            (&[0x20, 0x50], DISPOSABLE),
            // Extended: picture number of one byte, of two, TL0PICIDX and temporal layer too; nothing but
            // flags.
            (&[0x90, 0x80, 0x11, 0x50], KEY),
            (&[0x90, 0x80, 0x91, 0x11, 0x50], KEY),
            (&[0x90, 0x80, 0x91, 0x11, 0x51], NOTHING),
            (&[0x90, 0xe0, 0x91, 0x11, 0x07, 0x40, 0x50], KEY),
            (&[0x90, 0xd0, 0x11, 0x07, 0x01, 0x50], KEY),
            (&[0x90, 0x00, 0x50], KEY),
            (&[0x90, 0x80, 0x91, 0x11], NOTHING),
            (&[0x90, 0x80], NOTHING),
            (&[0x90], NOTHING),
            (&[], NOTHING),
        ],
    );
}

#[test]
fn elements_of_av1() {
    check(
        Codec::Av1,
        &[
            // N with a sequence header and a frame, two elements; the same with lengths for all.
            (&[0x28, 3, 0x08, 0, 0, 0x30, 0x10], BOTH),
            (&[0x08, 3, 0x08, 0, 0, 2, 0x30, 0x10], BOTH),
            // One frame; one that continues the packet before, whose first byte looks like a sequence header.
            (&[0x10, 0x30, 0x10], NOTHING),
            (&[0x90, 0x08, 0x10], NOTHING),
            // A sequence header after a continued element; as the third element; with an extension header.
            (&[0xa0, 1, 0x30, 0x08, 0], PARAMETERS),
            (&[0x30, 1, 0x12, 2, 0x30, 0, 0x08, 0], PARAMETERS),
            (&[0x10, 0x0c, 0x20, 0], PARAMETERS),
            // Lengths beyond the packet, of two bytes, without an end; an empty element; nothing.
            (&[0x20, 9, 0x08], NOTHING),
            (&[0x20, 0x81, 0x00, 0x30, 0x08], PARAMETERS),
            (&[0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x08], NOTHING),
            (&[0x00, 0, 1, 0x08], PARAMETERS),
            (&[0x10], NOTHING),
            (&[], NOTHING),
        ],
    );
}
