//! `OP_MSG`: a body and optional document sequences.

use crate::{Document, Fault, Header, Op};

/// A byte range of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
}

impl Span {
    /// Returns the bytes of the range, or no bytes if the frame is too short.
    pub fn of(self, frame: &[u8]) -> &[u8] {
        frame.get(self.start..self.end).unwrap_or_default()
    }
}

/// The flags of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    /// The message ends with a checksum.
    pub const CHECKSUM: u32 = 1;
    /// In a request: the client expects no reply. In a reply: another reply follows.
    pub const MORE_TO_COME: u32 = 1 << 1;
    /// The client accepts several replies to one request.
    pub const EXHAUST_ALLOWED: u32 = 1 << 16;
    /// Receivers must reject messages with unknown flags among these bits.
    const REQUIRED: u32 = 0xFFFF;

    /// Whether a flag is set.
    pub fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }
}

/// A document sequence. It replaces an array field of the body with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The offset of the section, which begins with the kind byte.
    pub start: usize,
    /// The name, without the final zero byte.
    pub name: Span,
    /// The concatenated documents.
    pub documents: Span,
}

/// The positions of the parts of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The flags.
    pub flags: Flags,
    /// The body, a document.
    pub body: Span,
    /// The document sequences.
    pub sequences: Vec<Sequence>,
    /// The offset after the last section. A checksum may follow.
    pub end: usize,
}

/// The offset of the flags in a frame.
const FLAGS_AT: usize = Header::SIZE;
const SECTIONS_AT: usize = FLAGS_AT + 4;
const CHECKSUM_SIZE: usize = 4;
/// This is more document sequences than any command has. The limit keeps the comparison of their
/// names cheap.
const MAX_SEQUENCES: usize = 8;

impl Message {
    /// Parses a complete frame. Checks the lengths of the documents, but not their contents.
    pub fn parse(frame: &[u8]) -> Result<Self, Fault> {
        let flags = frame.get(FLAGS_AT..SECTIONS_AT).and_then(<[u8]>::first_chunk);
        let flags = Flags(u32::from_le_bytes(*flags.ok_or(Fault::Truncated("flags"))?));
        let unknown = flags.0 & Flags::REQUIRED & !(Flags::CHECKSUM | Flags::MORE_TO_COME);
        if unknown != 0 {
            return Err(Fault::Flags(unknown));
        }
        let end = if flags.has(Flags::CHECKSUM) {
            let end = frame.len().checked_sub(CHECKSUM_SIZE).filter(|end| *end >= SECTIONS_AT);
            let end = end.ok_or(Fault::Truncated("a checksum"))?;
            if crc32c::crc32c(&frame[..end]).to_le_bytes() != frame[end..] {
                return Err(Fault::Checksum);
            }
            end
        } else {
            frame.len()
        };
        let (mut body, mut bodies) = (Span::default(), 0);
        let mut sequences: Vec<Sequence> = Vec::new();
        let mut at = SECTIONS_AT;
        while at < end {
            let start = at;
            at += 1;
            match frame[start] {
                0 => {
                    let document = Document::prefix(&frame[at..end])?;
                    body = Span { start: at, end: at + document.bytes().len() };
                    bodies += 1;
                    at = body.end;
                }
                1 => {
                    let sequence = sequence(frame, start, end)?;
                    let name = sequence.name.of(frame);
                    if sequences.iter().any(|other| other.name.of(frame) == name) {
                        return Err(Fault::Twice);
                    }
                    at = sequence.documents.end;
                    sequences.push(sequence);
                    if sequences.len() > MAX_SEQUENCES {
                        return Err(Fault::Sequences);
                    }
                }
                kind => return Err(Fault::Section(kind)),
            }
        }
        if bodies != 1 {
            return Err(Fault::Bodies(bodies));
        }
        Ok(Self { flags, body, sequences, end })
    }

    /// Returns the body.
    pub fn body<'f>(&self, frame: &'f [u8]) -> Result<Document<'f>, Fault> {
        Document::new(self.body.of(frame))
    }

    /// Sets the flags of a frame and drops its checksum. Returns the new length; the caller truncates the frame.
    pub fn set_flags(&mut self, frame: &mut [u8], flags: Flags) -> usize {
        self.flags = Flags(flags.0 & !Flags::CHECKSUM);
        if let Some(place) = frame.get_mut(FLAGS_AT..SECTIONS_AT) {
            place.copy_from_slice(&self.flags.0.to_le_bytes());
        }
        set_length(frame, self.end);
        self.end
    }
}

fn set_length(frame: &mut [u8], length: usize) {
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    if let Some(place) = frame.get_mut(..4) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

fn sequence(frame: &[u8], start: usize, end: usize) -> Result<Sequence, Fault> {
    let cut = || Fault::Truncated("a sequence of documents");
    let at = start + 1;
    let size = frame.get(at..end).and_then(<[u8]>::first_chunk).ok_or_else(cut)?;
    let size = usize::try_from(i32::from_le_bytes(*size)).map_err(|_| cut())?;
    let last = at.checked_add(size).filter(|last| *last <= end).ok_or_else(cut)?;
    let rest = frame.get(at + 4..last).ok_or_else(cut)?;
    let name = rest.iter().position(|byte| *byte == 0).ok_or_else(cut)?;
    let name = Span { start: at + 4, end: at + 4 + name };
    let documents = Span { start: name.end + 1, end: last };
    let mut next = documents.start;
    while next < last {
        next += Document::prefix(&frame[next..last])?.bytes().len();
    }
    Ok(Sequence { start, name, documents })
}

/// Encodes a message that consists of a body.
pub fn message(request_id: i32, response_to: i32, flags: Flags, body: &[u8]) -> Vec<u8> {
    let length = SECTIONS_AT + 1 + body.len();
    let header = Header { length, request_id, response_to, op: Op::Msg };
    let mut frame = Vec::with_capacity(length);
    frame.extend(header.bytes());
    frame.extend(flags.0.to_le_bytes());
    frame.push(0);
    frame.extend_from_slice(body);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    fn with_sequence(name: &str, documents: &[bson::RawDocumentBuf]) -> Vec<u8> {
        let body = rawdoc! { "insert": "t_order", "$db": "db_shop" };
        let mut frame = message(7, 0, Flags::default(), body.as_bytes());
        let mut section: Vec<u8> = name.as_bytes().to_vec();
        section.push(0);
        documents.iter().for_each(|document| section.extend_from_slice(document.as_bytes()));
        frame.push(1);
        frame.extend(i32::try_from(section.len() + 4).unwrap().to_le_bytes());
        frame.extend(section);
        let length = frame.len();
        set_length(&mut frame, length);
        frame
    }

    #[test]
    fn px_1_many_sequences_are_refused_before_their_names_are_compared() {
        let mut frame = with_sequence("documents", &[]);
        for number in 0..200_000_u32 {
            frame.push(1);
            frame.extend(9_i32.to_le_bytes());
            frame.extend(number.to_be_bytes().map(|byte| byte % 127 + 1));
            frame.push(0);
        }
        let length = frame.len();
        set_length(&mut frame, length);
        assert_eq!(Message::parse(&frame).unwrap_err(), Fault::Sequences);
    }

    #[test]
    fn body_and_sequences_are_found() {
        let documents = [rawdoc! { "_id": 1 }, rawdoc! { "_id": 2 }];
        let frame = with_sequence("documents", &documents);
        let message = Message::parse(&frame).unwrap();
        let body = message.body(&frame).unwrap();
        assert_eq!(body.get("$db").unwrap().unwrap().text(), Some("db_shop"));
        let [sequence] = message.sequences[..] else { panic!("one sequence") };
        assert_eq!(sequence.name.of(&frame), b"documents");
        assert_eq!(sequence.documents.of(&frame).len(), 28);
        assert_eq!(Header::of_frame(&frame).unwrap().op, Op::Msg);
    }

    #[test]
    fn a_sequence_may_stand_before_the_body() {
        let frame = with_sequence("documents", &[rawdoc! { "_id": 1 }]);
        let message = Message::parse(&frame).unwrap();
        let sequence = message.sequences[0];
        let mut turned = frame[..SECTIONS_AT].to_vec();
        turned.extend(&frame[sequence.start..]);
        turned.extend(&frame[SECTIONS_AT..sequence.start]);
        let again = Message::parse(&turned).unwrap();
        assert_eq!(again.body.of(&turned), message.body.of(&frame));
    }

    #[test]
    fn checksums_are_compared_and_taken_away() {
        let mut frame = message(1, 0, Flags(Flags::CHECKSUM), rawdoc! { "ping": 1 }.as_bytes());
        let length = i32::try_from(frame.len() + 4).unwrap();
        frame[..4].copy_from_slice(&length.to_le_bytes());
        let sum = crc32c::crc32c(&frame);
        frame.extend(sum.to_le_bytes());
        let mut message = Message::parse(&frame).unwrap();
        let mut plain = frame.clone();
        let length = message.set_flags(&mut plain, Flags::default());
        plain.truncate(length);
        assert_eq!(plain.len(), frame.len() - 4);
        assert_eq!(Header::of_frame(&plain).unwrap().length, plain.len());
        assert_eq!(Message::parse(&plain).unwrap().flags, Flags(0));
        *frame.last_mut().unwrap() ^= 1;
        assert_eq!(Message::parse(&frame), Err(Fault::Checksum));
    }

    #[test]
    fn what_breaks_the_rules_of_sections_is_refused() {
        let ping = rawdoc! { "ping": 1 };
        let good = message(1, 0, Flags::default(), ping.as_bytes());
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = good.clone();
            change(&mut frame);
            Message::parse(&frame)
        };
        assert_eq!(changed(&|f| f[FLAGS_AT] = 4), Err(Fault::Flags(4)));
        assert!(changed(&|f| f[FLAGS_AT + 3] = 0x80).is_ok(), "the upper half is optional");
        assert_eq!(changed(&|f| f[SECTIONS_AT] = 2), Err(Fault::Section(2)));
        assert_eq!(changed(&|f| f.truncate(SECTIONS_AT)), Err(Fault::Bodies(0)));
        let twice = changed(&|f| {
            f.push(0);
            f.extend(ping.as_bytes());
        });
        assert_eq!(twice, Err(Fault::Bodies(2)));
        assert!(matches!(changed(&|f| f.push(0)), Err(Fault::Document(_))));
        assert_eq!(changed(&|f| f.truncate(18)), Err(Fault::Truncated("flags")));
        let same = with_sequence("documents", &[]);
        let mut double = same.clone();
        double.extend(&same[Message::parse(&same).unwrap().sequences[0].start..]);
        assert_eq!(Message::parse(&double), Err(Fault::Twice));
        let mut long = with_sequence("documents", &[ping]);
        let size = Message::parse(&long).unwrap().sequences[0].start + 1;
        long[size] += 1;
        assert_eq!(Message::parse(&long), Err(Fault::Truncated("a sequence of documents")));
    }
}
