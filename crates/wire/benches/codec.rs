//! Cost of encoding, decoding and checksumming a packet.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use whimbrel_wire::{
    ChecksumCoverage, DccpOption, Kind, OptionBytes, Options, Packet, Payload, SeqNo,
    checksum::{self, PseudoHeader},
    data_checksum,
};

fn packet(kind: Kind, options: Options, payload: Payload) -> Packet {
    Packet {
        source_port: 5001,
        destination_port: 40123,
        ccval: 3,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(0x1234_5678_9abc),
        kind,
        options,
        payload,
    }
}

fn data() -> Packet {
    packet(Kind::Data, Options::new(), Bytes::from(vec![7; 1200]).into())
}

fn ack() -> Packet {
    let cells = OptionBytes::from_slice(&[0, 192, 3, 64, 5]);
    let options = Options::from_iter([DccpOption::AckVector { nonce: false, cells }]);
    packet(Kind::Ack { ack: SeqNo::new(7_000_000) }, options, Payload::EMPTY)
}

fn encoded(packet: &Packet) -> Bytes {
    let mut out = Vec::new();
    packet.encode(&mut out).unwrap();
    Bytes::copy_from_slice(&out)
}

fn codec(c: &mut Criterion) {
    for (name, packet) in [("data", data()), ("ack", ack())] {
        let bytes = encoded(&packet);
        let mut group = c.benchmark_group(name);
        let mut out = Vec::with_capacity(2000);
        group.bench_function("encode", |b| {
            b.iter(|| {
                out.clear();
                black_box(&packet).encode(&mut out).unwrap();
                black_box(out.as_slice());
            });
        });
        group.bench_function("decode", |b| b.iter(|| Packet::decode(black_box(&bytes)).unwrap()));
        group.bench_function("encode_and_decode", |b| {
            b.iter(|| {
                out.clear();
                black_box(&packet).encode(&mut out).unwrap();
                black_box(out.as_slice());
                Packet::decode(black_box(&bytes)).unwrap()
            });
        });
        group.bench_function("encoded_len", |b| b.iter(|| black_box(&packet).encoded_len()));
    }
}

fn checksums(c: &mut Criterion) {
    let bytes = encoded(&data());
    let pseudo_header = PseudoHeader::v4([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let mut group = c.benchmark_group("checksum");
    group.bench_function("verify_1216", |b| b.iter(|| checksum::verify(black_box(&bytes), &pseudo_header)));
    group.bench_function("crc_32c_1200", |b| b.iter(|| data_checksum(black_box(&bytes[16..]))));
}

criterion_group!(benches, codec, checksums);
criterion_main!(benches);
