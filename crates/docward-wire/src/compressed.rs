//! `OP_COMPRESSED`: a message that contains another message in compressed form.

use std::io::Read;

use crate::{Fault, Header, Op};

/// A compressor of the wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// No compression.
    Noop,
    /// Snappy: fast, with a low compression ratio.
    Snappy,
    /// zlib, the algorithm of gzip.
    Zlib,
    /// Zstandard: fast, with a high compression ratio.
    Zstd,
}

impl Compressor {
    /// The compressors that `hello` can list, in order of preference.
    pub const NAMED: [Self; 3] = [Self::Zstd, Self::Snappy, Self::Zlib];

    /// Returns the name in `hello`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    fn id(self) -> u8 {
        match self {
            Self::Noop => 0,
            Self::Snappy => 1,
            Self::Zlib => 2,
            Self::Zstd => 3,
        }
    }

    fn of(id: u8) -> Result<Self, Fault> {
        Ok(match id {
            0 => Self::Noop,
            1 => Self::Snappy,
            2 => Self::Zlib,
            3 => Self::Zstd,
            other => return Err(Fault::Compressor(other)),
        })
    }
}

/// The size of everything before the compressed data: header, original opcode, uncompressed size and compressor.
const HEAD: usize = Header::SIZE + 9;

/// The maximum window of a zstd stream, as a power of two in bytes.
const ZSTD_WINDOW: u32 = 26;

const ZSTD_LEVEL: i32 = 3;

/// Decompresses a frame. Returns the frame inside it and the compressor. The result has at most `most` bytes.
pub fn decompress(frame: &[u8], most: usize) -> Result<(Vec<u8>, Compressor), Fault> {
    let header = Header::of_frame(frame)?;
    let head = frame.get(Header::SIZE..HEAD).ok_or(Fault::Truncated("a compressed message"))?;
    let number =
        |at: usize| i32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (code, claimed, compressor) = (number(0), number(4), Compressor::of(head[8])?);
    if code == Op::Compressed.code() {
        return Err(Fault::Compressed);
    }
    let size =
        usize::try_from(claimed).ok().filter(|size| *size <= most.saturating_sub(Header::SIZE));
    let size = size.ok_or(Fault::Length { length: i64::from(claimed), most })?;
    let packed = &frame[HEAD..];
    let length = Header::SIZE + size;
    let op = Header { length, ..header }.bytes();
    let mut out = Vec::new();
    out.extend(op);
    out[12..16].copy_from_slice(&code.to_le_bytes());
    match compressor {
        Compressor::Noop => out.extend_from_slice(packed),
        Compressor::Snappy => {
            if snap::raw::decompress_len(packed).ok() != Some(size) {
                return Err(Fault::Compressed);
            }
            out.resize(length, 0);
            let made = snap::raw::Decoder::new().decompress(packed, &mut out[Header::SIZE..]);
            made.map_err(|_| Fault::Compressed)?;
        }
        Compressor::Zlib => read(flate2::read::ZlibDecoder::new(packed), size, &mut out)?,
        Compressor::Zstd => {
            let mut decoder =
                zstd::stream::read::Decoder::with_buffer(packed).map_err(|_| Fault::Compressed)?;
            decoder.window_log_max(ZSTD_WINDOW).map_err(|_| Fault::Compressed)?;
            read(decoder, size, &mut out)?;
        }
    }
    if out.len() == length { Ok((out, compressor)) } else { Err(Fault::Compressed) }
}

/// Reads at most one byte more than the declared size. The vector grows with the actual data, not with the declaration.
fn read(from: impl Read, size: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let most = u64::try_from(size).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most).read_to_end(out).map(|_| ()).map_err(|_| Fault::Compressed)
}

/// Compresses a frame.
pub fn compress(frame: &[u8], compressor: Compressor) -> Result<Vec<u8>, Fault> {
    let header = Header::of_frame(frame)?;
    let inside = &frame[Header::SIZE..];
    let mut out = vec![0; Header::SIZE];
    out.extend(header.op.code().to_le_bytes());
    out.extend(i32::try_from(inside.len()).unwrap_or(i32::MAX).to_le_bytes());
    out.push(compressor.id());
    match compressor {
        Compressor::Noop => out.extend_from_slice(inside),
        Compressor::Snappy => {
            let start = out.len();
            out.resize(start + snap::raw::max_compress_len(inside.len()), 0);
            let made = snap::raw::Encoder::new().compress(inside, &mut out[start..]);
            out.truncate(start + made.map_err(|_| Fault::Compressed)?);
        }
        Compressor::Zlib => {
            let mut encoder =
                flate2::bufread::ZlibEncoder::new(inside, flate2::Compression::fast());
            encoder.read_to_end(&mut out).map_err(|_| Fault::Compressed)?;
        }
        Compressor::Zstd => {
            let packed = zstd::bulk::compress(inside, ZSTD_LEVEL).map_err(|_| Fault::Compressed)?;
            out.extend(packed);
        }
    }
    let head = Header { length: out.len(), op: Op::Compressed, ..header };
    out[..Header::SIZE].copy_from_slice(&head.bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, message};
    use bson::rawdoc;

    const ALL: [Compressor; 4] =
        [Compressor::Noop, Compressor::Snappy, Compressor::Zlib, Compressor::Zstd];

    fn frame(text: &str) -> Vec<u8> {
        let body = rawdoc! { "insert": "t", "documents": [{ "text": text }] };
        message(9, 4, Flags::default(), body.as_bytes())
    }

    #[test]
    fn what_is_compressed_comes_out_again() {
        for text in ["", "short", &"long ".repeat(50_000)] {
            let frame = frame(text);
            for compressor in ALL {
                let packed = compress(&frame, compressor).unwrap();
                assert_eq!(Header::of_frame(&packed).unwrap().op, Op::Compressed);
                let (again, with) = decompress(&packed, Header::MAX_LENGTH).unwrap();
                assert_eq!((again.as_slice(), with), (frame.as_slice(), compressor));
            }
        }
    }

    #[test]
    fn claims_are_checked_before_and_after() {
        let frame = frame(&"0".repeat(100_000));
        for compressor in ALL {
            let packed = compress(&frame, compressor).unwrap();
            assert!(
                matches!(decompress(&packed, frame.len() - 1), Err(Fault::Length { .. })),
                "{compressor:?}: longer than the maximum"
            );
            for claim in [0, 1, 1000, i32::try_from(frame.len()).unwrap(), i32::MAX, -1] {
                let mut lying = packed.clone();
                lying[20..24].copy_from_slice(&claim.to_le_bytes());
                assert!(decompress(&lying, Header::MAX_LENGTH).is_err(), "{compressor:?} {claim}");
            }
            for cut in [HEAD - 1, HEAD, HEAD + 1, packed.len() - 1] {
                let mut short = packed[..cut].to_vec();
                short[..4].copy_from_slice(&i32::try_from(cut).unwrap().to_le_bytes());
                assert!(decompress(&short, Header::MAX_LENGTH).is_err(), "{compressor:?} {cut}");
            }
        }
    }

    #[test]
    fn nothing_is_compressed_twice_or_by_strangers() {
        let packed = compress(&frame("x"), Compressor::Zstd).unwrap();
        let twice = compress(&packed, Compressor::Noop).unwrap();
        assert_eq!(decompress(&twice, Header::MAX_LENGTH), Err(Fault::Compressed));
        let mut strange = packed;
        strange[24] = 9;
        assert_eq!(decompress(&strange, Header::MAX_LENGTH), Err(Fault::Compressor(9)));
    }
}
