//! Numbers as people read them: three or four digits, a unit that fits.

/// Microseconds, or milliseconds where there are many.
pub(crate) fn micros(micros: f64) -> String {
    let (value, unit) = time_parts(micros);
    format!("{value} {unit}")
}

/// The same as number and unit.
pub(crate) fn time_parts(micros: f64) -> (String, &'static str) {
    if micros < 10_000.0 {
        (digits(micros), "µs")
    } else if micros < 10_000_000.0 {
        (digits(micros / 1e3), "ms")
    } else {
        (digits(micros / 1e6), "s")
    }
}

/// Three significant digits without an exponent; whole numbers above a thousand are grouped.
pub(crate) fn digits(value: f64) -> String {
    let size = value.abs();
    if size >= 999.5 {
        grouped(value.round() as i64)
    } else if size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Thousands apart.
pub(crate) fn grouped(value: i64) -> String {
    let plain = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in plain.chars().enumerate() {
        if at > 0 && (plain.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    if value < 0 {
        format!("−{text}")
    } else {
        text
    }
}

/// Bytes with a binary unit.
pub(crate) fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let value = if unit == 0 {
        format!("{value:.0}")
    } else {
        digits(value)
    };
    format!("{value} {}", UNITS[unit])
}

/// A share as percent, with one digit where it is small.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() < 9.95 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// A gain or loss, with its sign.
pub(crate) fn signed_percent(share: f64) -> String {
    let text = percent(share.abs());
    if text == "0.0 %" {
        "±0 %".to_owned()
    } else if share < 0.0 {
        format!("−{text}")
    } else {
        format!("+{text}")
    }
}

/// An error, in two digits and a power of ten.
pub(crate) fn error(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else {
        format!("{value:.1e}")
    }
}

/// A word with its number: `1 tile`, `3 tiles`.
pub(crate) fn count(count: u64, one: &str, many: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!(
            "{} {many}",
            grouped(i64::try_from(count).unwrap_or(i64::MAX))
        )
    }
}

/// Names in a sentence.
pub(crate) fn listing(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// Text that is safe as the name of an anchor.
pub(crate) fn slug(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect::<String>()
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let read = [0.0, 0.123, 9.996, 12.34, 123.4, 999.6, 12345.6].map(digits);
        assert_eq!(
            read,
            [
                "0.00",
                "0.12",
                "10.0",
                "12.3",
                "123",
                "1\u{202f}000",
                "12\u{202f}346"
            ]
        );
        assert_eq!(micros(5177.0), "5\u{202f}177 µs");
        assert_eq!(micros(34_000.0), "34.0 ms");
        assert_eq!(bytes(2_555_904.0), "2.44 MiB");
        assert_eq!(grouped(-1234), "−1\u{202f}234");
    }

    #[test]
    fn gains_have_a_sign() {
        assert_eq!(signed_percent(0.0312), "+3.1 %");
        assert_eq!(signed_percent(-0.25), "−25 %");
        assert_eq!(signed_percent(0.0001), "±0 %");
    }
}
