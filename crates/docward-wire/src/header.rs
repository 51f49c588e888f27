//! The 16-byte header of every message.

use crate::Fault;

/// The opcode of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `OP_REPLY`: the reply to `OP_QUERY`.
    Reply,
    /// `OP_QUERY`: drivers still use it for the first `hello` of a connection.
    Query,
    /// `OP_COMPRESSED`: contains a compressed message.
    Compressed,
    /// `OP_MSG`: all other commands and replies.
    Msg,
    /// An opcode that was removed from the protocol, or an invalid one.
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

    /// Returns the number of the opcode.
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

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The length of the message in bytes, the header included.
    pub length: usize,
    /// The sender's id for the message.
    pub request_id: i32,
    /// The id of the request that this message answers.
    pub response_to: i32,
    /// The opcode.
    pub op: Op,
}

impl Header {
    /// The size of a header in bytes.
    pub const SIZE: usize = 16;
    /// The maximum message size of MongoDB servers in bytes.
    pub const MAX_LENGTH: usize = 48_000_000;

    /// Parses a header. Fails if the message is longer than `most` bytes.
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

    /// Returns the header of a complete frame. Fails if the declared length is not that of the frame.
    pub fn of_frame(frame: &[u8]) -> Result<Self, Fault> {
        let head: &[u8; Self::SIZE] = frame.first_chunk().ok_or(Fault::Truncated("a header"))?;
        let header = Self::parse(head, frame.len().max(Self::SIZE))?;
        if header.length == frame.len() { Ok(header) } else { Err(Fault::Leftover("a message")) }
    }

    /// Returns the encoded header.
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
        assert_eq!(Header::parse(&header.bytes(), Header::MAX_LENGTH), Ok(header));
        let other = Header { op: Op::Other(2002), ..header };
        assert_eq!(Header::parse(&other.bytes(), Header::MAX_LENGTH), Ok(other));
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
