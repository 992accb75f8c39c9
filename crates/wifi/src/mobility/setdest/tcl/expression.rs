//! Arithmetic of Tcl's `expr`.

use alloc::format;
use alloc::string::{String, ToString};

use super::{DEEPEST, Malformed};

/// A number. Integers are divided without a remainder, as in Tcl.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Number {
    Integer(i64),
    Real(f64),
}

impl Number {
    fn real(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}

/// The value of an expression, as a text.
pub(super) fn evaluate(text: &str) -> Result<String, Malformed> {
    let mut parser = Parser { rest: text.trim_start(), depth: 0 };
    let value = parser.sum()?;
    match (parser.rest.is_empty(), value) {
        (false, _) => Err(Malformed),
        (true, Number::Integer(value)) => Ok(value.to_string()),
        // Tcl distinguishes 5.0 from 5.
        (true, Number::Real(value)) => Ok(format!("{value:?}")),
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
}

impl Parser<'_> {
    fn take(&mut self, operator: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(operator) else { return false };
        self.rest = rest.trim_start();
        true
    }

    fn sum(&mut self) -> Result<Number, Malformed> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value = combine(value, self.product()?, i64::checked_add, |a, b| a + b)?;
            } else if self.take('-') {
                value = combine(value, self.product()?, i64::checked_sub, |a, b| a - b)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<Number, Malformed> {
        let mut value = self.factor()?;
        loop {
            if self.take('*') {
                value = combine(value, self.factor()?, i64::checked_mul, |a, b| a * b)?;
            } else if self.take('/') {
                value = combine(value, self.factor()?, floor_quotient, |a, b| a / b)?;
            } else if self.take('%') {
                let integers =
                    |a: i64, b: i64| floor_quotient(a, b)?.checked_mul(b).and_then(|c| a.checked_sub(c));
                value = match (value, self.factor()?) {
                    (Number::Integer(a), Number::Integer(b)) => {
                        integers(a, b).map(Number::Integer).ok_or(Malformed)?
                    }
                    _ => return Err(Malformed),
                };
            } else {
                return Ok(value);
            }
        }
    }

    fn factor(&mut self) -> Result<Number, Malformed> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Malformed);
        }
        let value = if self.take('-') {
            match self.factor()? {
                Number::Integer(value) => value.checked_neg().map(Number::Integer).ok_or(Malformed)?,
                Number::Real(value) => Number::Real(-value),
            }
        } else if self.take('+') {
            self.factor()?
        } else if self.take('(') {
            let value = self.sum()?;
            if !self.take(')') {
                return Err(Malformed);
            }
            value
        } else {
            self.atom()?
        };
        self.depth -= 1;
        Ok(value)
    }

    /// A number, or a function of one.
    fn atom(&mut self) -> Result<Number, Malformed> {
        let length = |is_part: fn(char) -> bool| self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let name = length(|c| c.is_ascii_alphabetic());
        if name > 0 {
            let (name, rest) = self.rest.split_at(name);
            let function: fn(f64) -> f64 = match name {
                "sqrt" => libm::sqrt,
                "sin" => libm::sin,
                "cos" => libm::cos,
                "double" => |value| value,
                "int" | "round" | "abs" => |value| value,
                _ => return Err(Malformed),
            };
            self.rest = rest.trim_start();
            if !self.rest.starts_with('(') {
                return Err(Malformed);
            }
            let argument = self.factor()?;
            return Ok(match (name, argument) {
                ("int", value) => Number::Integer(value.real() as i64),
                ("round", value) => Number::Integer(libm::round(value.real()) as i64),
                ("abs", Number::Integer(value)) => Number::Integer(value.checked_abs().ok_or(Malformed)?),
                ("abs", Number::Real(value)) => Number::Real(libm::fabs(value)),
                _ => Number::Real(function(argument.real())),
            });
        }
        let mut end = length(|c| c.is_ascii_digit() || c == '.');
        // An exponent has a sign.
        if let Some(exponent) = self.rest[end..].strip_prefix(['e', 'E']) {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let sign = exponent.len() - digits.len();
            let count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            if count > 0 {
                end += 1 + sign + count;
            }
        }
        let (number, rest) = self.rest.split_at(end);
        let value = match number.parse() {
            Ok(value) => Number::Integer(value),
            Err(_) => Number::Real(number.parse().map_err(|_| Malformed)?),
        };
        self.rest = rest.trim_start();
        Ok(value)
    }
}

/// The quotient of integers, rounded down.
fn floor_quotient(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn combine(
    a: Number,
    b: Number,
    integers: impl Fn(i64, i64) -> Option<i64>,
    reals: impl Fn(f64, f64) -> f64,
) -> Result<Number, Malformed> {
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => integers(a, b).map(Number::Integer).ok_or(Malformed),
        _ => Ok(Number::Real(reals(a.real(), b.real()))),
    }
}
