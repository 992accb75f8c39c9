use super::*;

const SAMPLE: [u8; 16] = *b"sixteen bytes ab";

fn library() -> &'static dyn SupportedDtls13CipherSuite {
    let mut suites = default_provider().dtls13_cipher_suites.iter();
    *suites.find(|suite| suite.suite() == Aes128Gcm.suite()).expect("it has the suite")
}

/// Ciphertext of a record, which the other deciphers.
fn seal(cipher: &mut dyn Cipher, n: u8) -> Vec<u8> {
    let mut record = Buf::new();
    record.extend_from_slice(b"some data");
    cipher.encrypt(&mut record, aad(), Nonce([n; 12])).expect("it is encrypted");
    record.into_vec()
}

fn aad() -> Aad {
    let mut aad = Aad(Default::default());
    aad.0.extend([0x2f, 0, 1, 0, 25]);
    aad
}

#[test]
fn records_are_those_of_the_library() {
    let key = [7; KEY];
    let (mut ours, mut theirs) =
        (Aes128Gcm.create_cipher(&key).expect("a key"), library().create_cipher(&key).expect("a key"));
    for n in 0..3 {
        let record = seal(&mut *ours, n);
        assert_eq!(record, seal(&mut *theirs, n));
        let mut opened = record.clone();
        let mut room = TmpBuf::new(&mut opened);
        ours.decrypt(&mut room, aad(), Nonce([n; 12])).expect("it is authentic");
        assert_eq!(room.as_ref(), b"some data");
    }
    assert!(Aes128Gcm.create_cipher(&key[1..]).is_err());
}

#[test]
fn forged_records_are_refused() {
    let mut cipher = Aes128Gcm.create_cipher(&[7; KEY]).expect("a key");
    for n in 0..2 {
        let mut record = seal(&mut *cipher, n);
        record[0] ^= 1;
        assert!(cipher.decrypt(&mut TmpBuf::new(&mut record), aad(), Nonce([n; 12])).is_err());
        assert!(cipher.decrypt(&mut TmpBuf::new(&mut [0; TAG - 1]), aad(), Nonce([n; 12])).is_err());
    }
}

#[test]
fn masks_of_record_numbers_are_those_of_the_library() {
    for n in 0..8 {
        assert_eq!(Aes128Gcm.encrypt_sn(&[n; KEY], &SAMPLE), library().encrypt_sn(&[n; KEY], &SAMPLE));
    }
}
