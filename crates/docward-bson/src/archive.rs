//! Decodes the format of `mongodump --archive`: many collections in one stream.
//!
//! An archive is a magic number followed by blocks. A block is a header document, any number of
//! body documents and the terminator `ff ff ff ff`. The first block is the prelude: facts about the
//! archive, then one document per collection with its metadata. Every further block contains
//! documents of one collection; blocks of different collections may alternate. A block whose header
//! says `EOF` ends a collection and contains the checksum of all its documents.
//!
//! Not included: decompression, and the interpretation of metadata (`docward-collect`).

use bson::RawDocument;

use crate::dump::{self, Next};

/// The first four bytes of an archive.
pub const MAGIC: [u8; 4] = 0x8199_e26d_u32.to_le_bytes();

/// The terminator of a block, read as the length of a document.
const TERMINATOR: i32 = -1;

/// Facts about the archive as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Version of the format; the only one so far is `0.1`.
    pub format_version: String,
    /// Version of the dumped server.
    pub server_version: String,
    /// Version of `mongodump`.
    pub tool_version: String,
}

/// A collection in the prelude.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionEntry {
    /// The database; empty for the oplog.
    pub database: String,
    /// The collection.
    pub collection: String,
    /// The content of `*.metadata.json` in a dump directory; empty if there is none.
    pub metadata: String,
    /// `timeseries`, `view` or empty.
    pub kind: String,
}

/// The header of a block of documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockHeader {
    /// The database; empty for the oplog.
    pub database: String,
    /// The collection.
    pub collection: String,
    /// `Some` ends the collection: the checksum of all its documents.
    pub end: Option<u64>,
}

/// A piece of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item<'b> {
    /// Facts about the archive; the first item.
    Header(Header),
    /// A collection in the prelude.
    Collection(CollectionEntry),
    /// A block begins.
    Block(BlockHeader),
    /// Whole documents of the current block.
    Documents {
        /// The documents, contiguous.
        bytes: &'b [u8],
        /// The number of documents.
        documents: u64,
    },
    /// The current block (or the prelude) ends.
    BlockEnd,
    /// More input is needed.
    NeedMore {
        /// The number of bytes, counted from the unconsumed rest, that must be available before the
        /// next call can succeed. If the stream ends instead, and `between_blocks` is false, it is
        /// truncated.
        needed: usize,
    },
    /// The archive cannot be read any further.
    Broken(Broken),
}

/// The reason why an archive cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It does not begin with the magic number.
    #[error("not a mongodump archive: the first four bytes are not its magic number")]
    Magic,
    /// Four bytes that are neither the length of a document nor the terminator.
    #[error("{length} is neither the length of a document nor the end of a block")]
    Length {
        /// The four bytes as a number.
        length: i32,
    },
    /// A block without a header.
    #[error("a block without a header")]
    MissingHeader,
    /// A header that is not a document, or has no names.
    #[error("a header that names no collection")]
    UnreadableHeader,
}

/// Reads an archive piece by piece.
#[derive(Debug, Default)]
pub struct Decoder {
    place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Magic,
    PreludeHeader,
    Prelude,
    BlockHeader,
    Block,
    Broken(Broken),
}

impl Decoder {
    /// Creates a decoder for the start of an archive.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether the stream may end here.
    pub fn between_blocks(&self) -> bool {
        self.place == Place::BlockHeader
    }

    /// Returns whether the prelude is still being read.
    pub fn in_prelude(&self) -> bool {
        matches!(self.place, Place::Magic | Place::PreludeHeader | Place::Prelude)
    }

    /// Consumes the next item at the front of `input`; returns the number of bytes consumed.
    ///
    /// Returns as many documents of a block at a time as are available.
    pub fn step<'b>(&mut self, input: &'b [u8]) -> (usize, Item<'b>) {
        if let Place::Broken(why) = self.place {
            return (0, Item::Broken(why));
        }
        if self.place == Place::Magic {
            return match input.first_chunk::<4>() {
                None => (0, Item::NeedMore { needed: 4 }),
                Some(&MAGIC) => {
                    self.place = Place::PreludeHeader;
                    let (consumed, item) = self.step(&input[4..]);
                    (consumed + 4, item)
                }
                Some(_) => self.broken(Broken::Magic),
            };
        }
        let limit = if self.place == Place::Block { u64::MAX } else { 1 };
        let hop = dump::hop(input, limit);
        if hop.documents == 0 {
            return match hop.next {
                Next::End | Next::Limit => (0, Item::NeedMore { needed: 4 }),
                Next::Partial { needed } => (0, Item::NeedMore { needed }),
                Next::BadLength { length: TERMINATOR } => self.end_of_block(),
                Next::BadLength { length } => self.broken(Broken::Length { length }),
            };
        }
        let bytes = &input[..hop.bytes];
        let item = match self.place {
            Place::Block => Item::Documents { bytes, documents: hop.documents },
            Place::PreludeHeader => {
                self.place = Place::Prelude;
                Item::Header(Header::read(bytes))
            }
            Place::Prelude => Item::Collection(CollectionEntry::read(bytes)),
            _ => match BlockHeader::read(bytes) {
                Some(header) => {
                    self.place = Place::Block;
                    Item::Block(header)
                }
                None => return self.broken(Broken::UnreadableHeader),
            },
        };
        (hop.bytes, item)
    }

    fn end_of_block<'b>(&mut self) -> (usize, Item<'b>) {
        match self.place {
            Place::Prelude | Place::Block => {
                self.place = Place::BlockHeader;
                (4, Item::BlockEnd)
            }
            _ => self.broken(Broken::MissingHeader),
        }
    }

    fn broken<'b>(&mut self, why: Broken) -> (usize, Item<'b>) {
        self.place = Place::Broken(why);
        (0, Item::Broken(why))
    }
}

impl Header {
    fn read(bytes: &[u8]) -> Self {
        Self {
            format_version: text(bytes, "version").unwrap_or_default(),
            server_version: text(bytes, "server_version").unwrap_or_default(),
            tool_version: text(bytes, "tool_version").unwrap_or_default(),
        }
    }
}

impl CollectionEntry {
    fn read(bytes: &[u8]) -> Self {
        Self {
            database: text(bytes, "db").unwrap_or_default(),
            collection: text(bytes, "collection").unwrap_or_default(),
            metadata: text(bytes, "metadata").unwrap_or_default(),
            kind: text(bytes, "type").unwrap_or_default(),
        }
    }
}

impl BlockHeader {
    fn read(bytes: &[u8]) -> Option<Self> {
        let document = RawDocument::from_bytes(bytes).ok()?;
        let end = if document.get_bool("EOF").unwrap_or(false) {
            Some(document.get_i64("CRC").unwrap_or_default() as u64)
        } else {
            None
        };
        let collection = text(bytes, "collection").filter(|name| !name.is_empty())?;
        Some(Self { database: text(bytes, "db").unwrap_or_default(), collection, end })
    }
}

fn text(document: &[u8], key: &str) -> Option<String> {
    let text = RawDocument::from_bytes(document).ok()?.get_str(key).ok()?;
    Some(text.to_owned())
}

/// The checksum of a collection's documents: CRC-64 with the ECMA polynomial, bits reflected.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crc64(u64);

/// `TABLES[k][b]` is the effect of byte `b` followed by `k` further bytes.
static TABLES: [[u64; 256]; 8] = crc_tables();

const fn crc_tables() -> [[u64; 256]; 8] {
    const POLYNOMIAL: u64 = 0xc96c_5795_d787_0f42;
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut behind = 1;
    while behind < 8 {
        byte = 0;
        while byte < 256 {
            let crc = tables[behind - 1][byte];
            tables[behind][byte] = (crc >> 8) ^ tables[0][(crc & 0xff) as usize];
            byte += 1;
        }
        behind += 1;
    }
    tables
}

impl Crc64 {
    /// The checksum of an empty input.
    pub fn new() -> Self {
        Self(0)
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let mut crc = !self.0;
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let mut eight = [0; 8];
            eight.copy_from_slice(word);
            let x = (crc ^ u64::from_le_bytes(eight)).to_le_bytes();
            crc = TABLES[7][usize::from(x[0])]
                ^ TABLES[6][usize::from(x[1])]
                ^ TABLES[5][usize::from(x[2])]
                ^ TABLES[4][usize::from(x[3])]
                ^ TABLES[3][usize::from(x[4])]
                ^ TABLES[2][usize::from(x[5])]
                ^ TABLES[1][usize::from(x[6])]
                ^ TABLES[0][usize::from(x[7])];
        }
        for &byte in words.remainder() {
            crc = (crc >> 8) ^ TABLES[0][usize::from(crc as u8 ^ byte)];
        }
        self.0 = !crc;
    }

    /// The checksum of all bytes added.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use bson::{Document, doc};

    use super::*;

    fn bytes(document: &Document) -> Vec<u8> {
        document.to_vec().unwrap()
    }

    const END: [u8; 4] = [0xff; 4];

    /// Two collections, blocks alternating.
    fn archive() -> Vec<u8> {
        let mut crc = Crc64::new();
        let documents = [doc! { "_id": 1 }, doc! { "_id": 2, "a": "x" }, doc! { "_id": 3 }];
        crc.update(&bytes(&documents[0]));
        crc.update(&bytes(&documents[2]));
        [
            MAGIC.to_vec(),
            bytes(&doc! { "concurrent_collections": 4, "version": "0.1",
            "server_version": "6.0.5", "tool_version": "100.9.0" }),
            bytes(&doc! { "db": "shop", "collection": "a", "metadata": "{}", "size": 0,
            "type": "collection" }),
            END.to_vec(),
            bytes(&doc! { "db": "shop", "collection": "a", "EOF": false, "CRC": 0_i64 }),
            bytes(&documents[0]),
            END.to_vec(),
            bytes(&doc! { "db": "shop", "collection": "b", "EOF": false, "CRC": 0_i64 }),
            bytes(&documents[1]),
            END.to_vec(),
            bytes(&doc! { "db": "shop", "collection": "a", "EOF": false, "CRC": 0_i64 }),
            bytes(&documents[2]),
            END.to_vec(),
            bytes(&doc! { "db": "shop", "collection": "a", "EOF": true,
            "CRC": crc.value() as i64 }),
            END.to_vec(),
        ]
        .concat()
    }

    /// Decodes with at most `piece` new bytes at a time; returns the items, and whether the end was
    /// clean.
    fn decode(input: &[u8], piece: usize) -> (Vec<String>, bool) {
        let (mut decoder, mut found) = (Decoder::new(), Vec::new());
        let mut crc = Crc64::new();
        let mut current = String::new();
        let (mut from, mut to) = (0, 0);
        loop {
            let (consumed, item) = decoder.step(&input[from..to]);
            from += consumed;
            match item {
                Item::NeedMore { .. } if to == input.len() => {
                    return (found, decoder.between_blocks() && from == to);
                }
                Item::NeedMore { .. } => to = (to + piece).min(input.len()),
                Item::Header(header) => found.push(format!("server {}", header.server_version)),
                Item::Collection(entry) => found.push(format!("has {}", entry.collection)),
                Item::Block(BlockHeader { collection, end, .. }) => {
                    if let Some(end) = end {
                        assert_eq!(end, crc.value());
                        found.push(format!("end {collection}"));
                    }
                    current = collection;
                }
                Item::Documents { bytes, documents } => {
                    if current == "a" {
                        crc.update(bytes);
                    }
                    for _ in 0..documents {
                        found.push(current.clone());
                    }
                }
                Item::BlockEnd => {}
                Item::Broken(why) => {
                    found.push(why.to_string());
                    return (found, false);
                }
            }
        }
    }

    #[test]
    fn reads_alternating_blocks_in_pieces_of_any_size() {
        let input = archive();
        let expected = ["server 6.0.5", "has a", "a", "b", "a", "end a"].map(str::to_owned);
        for piece in 1..input.len() {
            assert_eq!(decode(&input, piece), (expected.to_vec(), true), "piece {piece}");
        }
    }

    #[test]
    fn a_cut_archive_is_never_taken_for_a_whole_one() {
        let input = archive();
        let block_ends: Vec<_> =
            (4..=input.len()).filter(|&end| input[end - 4..end] == END).collect();
        for cut in 0..input.len() {
            assert_eq!(decode(&input[..cut], 64).1, block_ends.contains(&cut), "cut {cut}");
        }
    }

    #[test]
    fn damage_is_named() {
        let last = |input: &[u8]| decode(input, 1 << 20).0.pop().unwrap_or_default();
        assert!(last(b"not an archive").contains("magic number"));
        let mut twice = archive();
        twice.extend(END);
        assert!(last(&twice).contains("without a header"));
        let mut length = archive();
        length.extend(3_i32.to_le_bytes());
        assert!(last(&length).contains("3 is neither"));
        let mut nameless = archive();
        nameless.extend(bytes(&doc! { "db": "shop" }));
        assert!(last(&nameless).contains("names no collection"));
    }

    #[test]
    fn checksum_is_the_published_one() {
        let mut crc = Crc64::new();
        crc.update(b"123456789");
        assert_eq!(crc.value(), 0x995d_c9bb_df19_39fa);
        let all: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let mut whole = Crc64::new();
        whole.update(&all);
        for cut in [0, 1, 7, 8, 500, 999, 1000] {
            let mut halves = Crc64::new();
            halves.update(&all[..cut]);
            halves.update(&all[cut..]);
            assert_eq!(halves.value(), whole.value(), "cut at {cut}");
        }
    }
}
