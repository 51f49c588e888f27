//! Bytes that contain documents: walking raw BSON, parsing Extended JSON and mongosh notation to
//! BSON, and decoding dump and archive files. Sans-IO: callers provide the bytes.
//!
//! Not included: opening files (`docward-collect`), statistics (`docward-profile`).

pub mod archive;
pub mod dump;
pub mod json;
pub mod value;
pub mod walk;

/// Formats the bytes of a decimal.
pub fn decimal_text(bytes: [u8; 16]) -> String {
    bson::Decimal128::from_bytes(bytes).to_string()
}

/// Formats a date as ISO 8601; as milliseconds if it is outside the calendar.
pub fn date_text(milliseconds: i64) -> String {
    // The crate prints later dates as the last moment of 9999, which would be wrong.
    const YEAR_10000: i64 = 253_402_300_800_000;
    if milliseconds >= YEAR_10000 {
        return format!("{milliseconds} ms");
    }
    bson::DateTime::from_millis(milliseconds)
        .try_to_rfc3339_string()
        .unwrap_or_else(|_| format!("{milliseconds} ms"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_read_as_dates() {
        assert_eq!(super::date_text(1_710_498_600_000), "2024-03-15T10:30:00Z");
        assert_eq!(super::date_text(i64::MAX), format!("{} ms", i64::MAX));
    }
}
