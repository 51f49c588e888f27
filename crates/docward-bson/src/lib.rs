//! Bytes that hold documents: walking raw BSON, reading Extended JSON and mongosh notation into
//! BSON, and framing dump and archive files. Sans-IO: callers bring the bytes.
//!
//! Not here: opening files (`docward-collect`), statistics (`docward-profile`).

pub mod archive;
pub mod dump;
pub mod json;
pub mod value;
pub mod walk;

/// A decimal's bytes, as text.
pub fn decimal_text(bytes: [u8; 16]) -> String {
    bson::Decimal128::from_bytes(bytes).to_string()
}

/// A date as ISO 8601 text; milliseconds when it lies outside the calendar.
pub fn date_text(milliseconds: i64) -> String {
    // The crate prints later dates as the last moment of 9999, which would be a lie.
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
