//! The field GF(2^8) of RFC 8681, Section 3.7.1: bytes, with XOR for addition and products modulo x^8 + x^4 +
//! x^3 + x^2 + 1 (0x11D).

/// The low byte of the polynomial.
const POLYNOMIAL: u8 = 0x1d;

/// Powers of 2, twice, so that the sum of two logarithms is an index; and the logarithms.
const TABLES: ([u8; 510], [u8; 256]) = {
    let (mut powers, mut logarithms) = ([0; 510], [0; 256]);
    let (mut power, mut value) = (0, 1_u8);
    while power < 255 {
        powers[power] = value;
        powers[power + 255] = value;
        logarithms[value as usize] = power as u8;
        value = (value << 1) ^ if value & 0x80 != 0 { POLYNOMIAL } else { 0 };
        power += 1;
    }
    (powers, logarithms)
};

/// The product of two elements.
#[must_use]
pub const fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    TABLES.0[TABLES.1[a as usize] as usize + TABLES.1[b as usize] as usize]
}

/// The element whose product with `a` is one.
///
/// # Panics
/// If `a` is zero, which has no inverse.
#[must_use]
pub const fn inverse(a: u8) -> u8 {
    assert!(a != 0, "zero has no inverse");
    TABLES.0[255 - TABLES.1[a as usize] as usize]
}

/// The products of each element with the sixteen low and with the sixteen high halves of a byte: the tables
/// of the kernel.
pub(crate) static HALVES: [[[u8; 16]; 2]; 256] = {
    let mut table = [[[0; 16]; 2]; 256];
    let mut factor = 0;
    while factor < 256 {
        let mut half = 0;
        while half < 16 {
            table[factor][0][half] = multiply(factor as u8, half as u8);
            table[factor][1][half] = multiply(factor as u8, (half as u8) << 4);
            half += 1;
        }
        factor += 1;
    }
    table
};

#[cfg(test)]
mod tests;
