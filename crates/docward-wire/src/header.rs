//! The sixteen bytes before every message.

use crate::Fault;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `OP_REPLY`: the answer to `OP_QUERY`.
    Reply,
    /// `OP_QUERY`: only the first hello of a connection still uses it.
    Query,
    /// `OP_COMPRESSED`: another message inside.
    Compressed,
    /// `OP_MSG`: everything else.
    Msg,
    /// Operations of servers that are long gone, and nonsense.
    Other(i32),
}

impl Op {
    fn of(code: i32) -> Self {
        match code {
            1 => Self::Reply,
            2004 => Self::Query,
            2012 => Self::Compressed,
            2013 => Self::Msg,
            other => Self::Other(other),
        }
    }

    /// The number on the wire.
    pub fn code(self) -> i32 {
        match self {
            Self::Reply => 1,
            Self::Query => 2004,
            Self::Compressed => 2012,
            Self::Msg => 2013,
            Self::Other(code) => code,
        }
    }
}

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the whole message, these sixteen included.
    pub length: usize,
    /// The sender's number for the message.
    pub request_id: i32,
    /// The number of the message that this one answers.
    pub response_to: i32,
    /// What it is.
    pub op: Op,
}

impl Header {
    /// Bytes of a header.
    pub const SIZE: usize = 16;
    /// The longest message that servers take.
    pub const MOST: usize = 48_000_000;

    /// Reads a header; `most` is the longest message that is accepted now.
    pub fn parse(bytes: &[u8; Self::SIZE], most: usize) -> Result<Self, Fault> {
        let length = int(bytes, 0);
        match usize::try_from(length) {
            Ok(long) if (Self::SIZE..=most).contains(&long) => Ok(Self {
                length: long,
                request_id: int(bytes, 4),
                response_to: int(bytes, 8),
                op: Op::of(int(bytes, 12)),
            }),
            _ => Err(Fault::Length { length: i64::from(length), most }),
        }
    }

    /// The header of a frame that is there as a whole.
    pub fn of_frame(frame: &[u8]) -> Result<Self, Fault> {
        let head: &[u8; Self::SIZE] = frame.first_chunk().ok_or(Fault::Truncated("a header"))?;
        let header = Self::parse(head, frame.len().max(Self::SIZE))?;
        if header.length == frame.len() { Ok(header) } else { Err(Fault::Truncated("a message")) }
    }

    /// The sixteen bytes.
    pub fn bytes(&self) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        let length = i32::try_from(self.length).unwrap_or(i32::MAX);
        let numbers = [length, self.request_id, self.response_to, self.op.code()];
        for (place, number) in out.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        out
    }
}

fn int(bytes: &[u8; Header::SIZE], at: usize) -> i32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    i32::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_are_written() {
        let header = Header { length: 57, request_id: -3, response_to: 9, op: Op::Msg };
        assert_eq!(Header::parse(&header.bytes(), Header::MOST), Ok(header));
        let other = Header { op: Op::Other(2002), ..header };
        assert_eq!(Header::parse(&other.bytes(), Header::MOST), Ok(other));
    }

    #[test]
    fn impossible_lengths_are_refused() {
        for (length, most) in [(15, 100), (-1, 100), (i32::MIN, 100), (101, 100), (i32::MAX, 100)] {
            let mut bytes = [0; Header::SIZE];
            bytes[..4].copy_from_slice(&length.to_le_bytes());
            let expected = Fault::Length { length: i64::from(length), most };
            assert_eq!(Header::parse(&bytes, most), Err(expected), "{length}");
        }
    }

    #[test]
    fn a_frame_is_as_long_as_its_header_says() {
        let header = Header { length: 20, request_id: 1, response_to: 0, op: Op::Msg };
        let mut frame = header.bytes().to_vec();
        frame.extend([0; 4]);
        assert_eq!(Header::of_frame(&frame), Ok(header));
        frame.pop();
        assert!(Header::of_frame(&frame).is_err());
        assert!(Header::of_frame(&frame[..3]).is_err());
    }
}
