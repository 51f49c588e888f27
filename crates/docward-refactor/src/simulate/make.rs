//! Documents of declared shapes and sizes. The same seed gives the same bytes, and a child is the same
//! whichever way it is stored.

use docward_design::{Origin, Planned, Predictor, Way, quantile};
use docward_model::{BsonType, Spread};
use mongodb::bson::{Bson, RawDocumentBuf, oid::ObjectId};

/// Random numbers that a seed decides (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below another.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }
}

fn mixed(seed: u64, with: u64) -> u64 {
    Rng(seed ^ with.wrapping_mul(0x9E37_79B9_7F4A_7C15)).next()
}

/// Lengths that are as likely as each other.
const STEPS: u32 = 400;

fn steps(spread: Spread) -> Vec<usize> {
    let at = |i| quantile::at(spread, (f64::from(i) + 0.5) / f64::from(STEPS), quantile::RAREST);
    (0..STEPS).map(|i| at(i).round() as usize).collect()
}

/// A field that values can be made for.
#[derive(Clone, Debug)]
pub(super) struct Field {
    name: String,
    kind: BsonType,
    is_id: bool,
    /// The same in every shape that has a field of this name.
    salt: u64,
    lengths: Vec<usize>,
    items: Vec<usize>,
    element: Option<BsonType>,
    values: Vec<String>,
    fields: Vec<Self>,
}

impl Field {
    fn new(planned: &Planned) -> Self {
        let salt = planned.name.bytes().fold(7_u64, |salt, byte| mixed(salt, u64::from(byte)));
        Self {
            name: planned.name.clone(),
            kind: planned.kind,
            is_id: planned.origin == Origin::Id,
            salt,
            lengths: steps(quantile::lengths(planned.bytes)),
            items: planned.items.map(steps).unwrap_or_default(),
            element: planned.element,
            values: planned.values.clone(),
            fields: planned.fields.iter().map(Self::new).collect(),
        }
    }
}

/// Which document is made.
#[derive(Clone, Copy, Debug)]
struct Which {
    id: ObjectId,
    seed: u64,
    /// Later documents have later dates.
    serial: u64,
}

/// Makes parents and children of one way.
pub(super) struct Maker<'p> {
    way: &'p Predictor,
    seed: u64,
    parent: Vec<Field>,
    child: Vec<Field>,
    preview: Vec<Field>,
    copies: Vec<Field>,
    text: Vec<u8>,
}

/// Words of a text; their letters are as frequent as in texts, so that compression finds what it would.
const WORDS: [&str; 24] = [
    "delivered",
    "in",
    "good",
    "order",
    "and",
    "the",
    "colour",
    "is",
    "as",
    "shown",
    "would",
    "buy",
    "again",
    "packaging",
    "was",
    "damaged",
    "but",
    "service",
    "answered",
    "within",
    "a",
    "day",
    "thanks",
    "recommended",
];

impl<'p> Maker<'p> {
    pub(super) fn new(way: &'p Predictor, seed: u64) -> Self {
        let fields = |planned: &[Planned]| planned.iter().map(Field::new).collect::<Vec<_>>();
        let mut rng = Rng::new(seed);
        let mut text = Vec::new();
        while text.len() < 1 << 18 {
            text.extend(WORDS[rng.below(WORDS.len() as u64) as usize].bytes());
            // Numbers among the words keep it from being compressed away.
            if rng.below(4) == 0 {
                text.extend(format!(" {}", rng.below(100_000)).bytes());
            }
            text.push(b' ');
        }
        Self {
            way,
            seed,
            parent: fields(&way.parent),
            child: fields(&way.child),
            preview: way.preview.as_ref().map(|(_, _, kept)| fields(kept)).unwrap_or_default(),
            copies: way.copies.as_ref().map(|copies| fields(&copies.fields)).unwrap_or_default(),
            text,
        }
    }

    pub(super) fn parent_id(&self, parent: u64) -> ObjectId {
        let mut bytes = [0_u8; 12];
        bytes[0] = 0x60;
        bytes[4..].copy_from_slice(&parent.to_be_bytes());
        ObjectId::from_bytes(bytes)
    }

    pub(super) fn child_id(&self, parent: u64, child: u64) -> ObjectId {
        let mut bytes = [0_u8; 12];
        bytes[0] = 0x61;
        bytes[1..6].copy_from_slice(&parent.to_be_bytes()[3..]);
        bytes[6..].copy_from_slice(&child.to_be_bytes()[2..]);
        ObjectId::from_bytes(bytes)
    }

    fn which_child(&self, parent: u64, child: u64) -> Which {
        let seed = mixed(mixed(self.seed, parent + 1), child + 1);
        Which { id: self.child_id(parent, child), seed, serial: child }
    }

    /// A parent with the children `from..to`; how many of them fit below `most` bytes.
    pub(super) fn parent(
        &self,
        parent: u64,
        from: u64,
        to: u64,
        most: usize,
    ) -> (RawDocumentBuf, u64) {
        let mut out = Vec::new();
        let start = begin(&mut out);
        let which =
            Which { id: self.parent_id(parent), seed: mixed(self.seed, parent), serial: parent };
        self.fields(&mut out, &self.parent, which);
        let mut held = to - from;
        if self.way.way == Way::Embed {
            held = 0;
            named(&mut out, 0x04, &self.way.role);
            let array = begin(&mut out);
            for child in from..to {
                let before = out.len();
                named(&mut out, 0x03, &held.to_string());
                self.document(&mut out, &self.child, self.which_child(parent, child));
                if out.len() > most {
                    out.truncate(before);
                    break;
                }
                held += 1;
            }
            end(&mut out, array);
        } else if let Some((name, newest, _)) = &self.way.preview {
            named(&mut out, 0x04, name);
            let array = begin(&mut out);
            for (i, child) in (to.saturating_sub(*newest).max(from)..to).enumerate() {
                named(&mut out, 0x03, &i.to_string());
                self.document(&mut out, &self.preview, self.which_child(parent, child));
            }
            end(&mut out, array);
        }
        if let Some(name) = &self.way.count {
            named(&mut out, 0x12, name);
            out.extend((to - from).to_le_bytes());
        }
        for (_, name, kind) in &self.way.sums {
            named(&mut out, tag(*kind), name);
            self.number(&mut out, *kind, (to - from) * 3);
        }
        end(&mut out, start);
        (raw(out), held)
    }

    /// A child as it is inside a parent.
    pub(super) fn element(&self, parent: u64, child: u64) -> RawDocumentBuf {
        let mut out = Vec::new();
        self.document(&mut out, &self.child, self.which_child(parent, child));
        raw(out)
    }

    /// What a parent keeps of a new child.
    pub(super) fn shown(&self, parent: u64, child: u64) -> RawDocumentBuf {
        let mut out = Vec::new();
        self.document(&mut out, &self.preview, self.which_child(parent, child));
        raw(out)
    }

    /// A child by itself.
    pub(super) fn child(&self, parent: u64, child: u64) -> RawDocumentBuf {
        let mut out = Vec::new();
        let start = begin(&mut out);
        self.fields(&mut out, &self.child, self.which_child(parent, child));
        named(&mut out, 0x07, &self.way.parent_id);
        out.extend(self.parent_id(parent).bytes());
        if let Some(copies) = &self.way.copies {
            named(&mut out, 0x03, &copies.name);
            let which =
                Which { id: self.parent_id(parent), seed: mixed(self.seed, parent), serial: 0 };
            self.document(&mut out, &self.copies, which);
        }
        end(&mut out, start);
        raw(out)
    }

    /// A new value for a field of parents or children that can be set: the first of those asked for that
    /// there is, else the first of all.
    pub(super) fn change(
        &self,
        of_parent: bool,
        wanted: &[&str],
        seed: u64,
    ) -> Option<(String, Bson)> {
        let fields = if of_parent { &self.parent } else { &self.child };
        let by = self.way.newest_by.as_deref();
        let may = |field: &&Field| !field.is_id && (of_parent || Some(field.name.as_str()) != by);
        let field = fields
            .iter()
            .filter(may)
            .find(|field| wanted.contains(&field.name.as_str()))
            .or_else(|| fields.iter().find(may))?;
        let mut out = Vec::new();
        let start = begin(&mut out);
        self.field(
            &mut out,
            field,
            Which { id: ObjectId::from_bytes([0; 12]), seed, serial: seed % 1000 },
        );
        end(&mut out, start);
        let document = mongodb::bson::Document::try_from(raw(out).as_ref()).ok()?;
        document.into_iter().next()
    }

    fn document(&self, out: &mut Vec<u8>, fields: &[Field], which: Which) {
        let start = begin(out);
        self.fields(out, fields, which);
        end(out, start);
    }

    fn fields(&self, out: &mut Vec<u8>, fields: &[Field], which: Which) {
        for field in fields {
            self.field(out, field, which);
        }
    }

    fn field(&self, out: &mut Vec<u8>, field: &Field, which: Which) {
        named(out, tag(field.kind), &field.name);
        if field.is_id {
            out.extend(which.id.bytes());
            return;
        }
        let mut rng = Rng::new(which.seed ^ field.salt);
        match field.kind {
            BsonType::String if !field.values.is_empty() => {
                let chosen = rng.below(field.values.len() as u64) as usize;
                string(out, field.values[chosen].as_bytes());
            }
            BsonType::Object => {
                let inside = Which { seed: rng.next(), ..which };
                self.document(out, &field.fields, inside);
            }
            BsonType::Array => {
                let array = begin(out);
                let number = drawn(&field.items, &mut rng);
                for i in 0..number {
                    let inside = Which { seed: rng.next(), serial: i as u64, ..which };
                    match field.element {
                        Some(kind) => {
                            named(out, tag(kind), &i.to_string());
                            self.scalar(out, kind, &field.lengths, inside);
                        }
                        None => {
                            named(out, 0x03, &i.to_string());
                            self.document(out, &field.fields, inside);
                        }
                    }
                }
                end(out, array);
            }
            kind => self.scalar(out, kind, &field.lengths, Which { seed: rng.next(), ..which }),
        }
    }

    fn scalar(&self, out: &mut Vec<u8>, kind: BsonType, lengths: &[usize], which: Which) {
        let mut rng = Rng::new(which.seed);
        match kind {
            BsonType::String => {
                string(out, self.words(drawn(lengths, &mut rng), &mut rng).as_slice())
            }
            BsonType::BinData => {
                let length = drawn(lengths, &mut rng);
                out.extend((length as i32).to_le_bytes());
                out.push(0);
                out.extend((0..length).map(|_| rng.next() as u8));
            }
            BsonType::ObjectId => {
                let (a, b) = (rng.next().to_be_bytes(), rng.next().to_be_bytes());
                out.extend(a.iter().chain(&b[..4]));
            }
            BsonType::Bool => out.push(rng.below(2) as u8),
            // A minute after the one before, from the beginning of 2024.
            BsonType::Date => {
                out.extend((1_704_067_200_000 + which.serial as i64 * 60_000).to_le_bytes());
            }
            BsonType::Timestamp => out.extend(which.serial.to_le_bytes()),
            BsonType::Object | BsonType::Array => {
                let start = begin(out);
                end(out, start);
            }
            kind => self.number(out, kind, rng.below(100_000)),
        }
    }

    fn number(&self, out: &mut Vec<u8>, kind: BsonType, value: u64) {
        match kind {
            BsonType::Int => out.extend((value as i32).to_le_bytes()),
            BsonType::Long => out.extend(value.to_le_bytes()),
            BsonType::Double => out.extend((value as f64).to_le_bytes()),
            BsonType::Decimal => {
                // The coefficient below, an exponent of zero above.
                out.extend(value.to_le_bytes());
                out.extend(0x3040_0000_0000_0000_u64.to_le_bytes());
            }
            _ => {}
        }
    }

    fn words(&self, length: usize, rng: &mut Rng) -> Vec<u8> {
        let from = rng.below(self.text.len() as u64) as usize;
        self.text.iter().cycle().skip(from).take(length).copied().collect()
    }
}

fn drawn(from: &[usize], rng: &mut Rng) -> usize {
    from.get(rng.below(from.len() as u64) as usize).copied().unwrap_or(0)
}

fn begin(out: &mut Vec<u8>) -> usize {
    out.extend([0; 4]);
    out.len() - 4
}

fn end(out: &mut Vec<u8>, start: usize) {
    out.push(0);
    let length = (out.len() - start) as i32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn named(out: &mut Vec<u8>, tag: u8, name: &str) {
    out.push(tag);
    out.extend(name.bytes());
    out.push(0);
}

fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as i32 + 1).to_le_bytes());
    out.extend(bytes);
    out.push(0);
}

fn raw(bytes: Vec<u8>) -> RawDocumentBuf {
    RawDocumentBuf::from_bytes(bytes).unwrap_or_default()
}

/// The byte in front of an element. Types that models have no use for are stored as nulls.
fn tag(kind: BsonType) -> u8 {
    match kind {
        BsonType::Double => 0x01,
        BsonType::String => 0x02,
        BsonType::Object => 0x03,
        BsonType::Array => 0x04,
        BsonType::BinData => 0x05,
        BsonType::ObjectId => 0x07,
        BsonType::Bool => 0x08,
        BsonType::Date => 0x09,
        BsonType::Int => 0x10,
        BsonType::Timestamp => 0x11,
        BsonType::Long => 0x12,
        BsonType::Decimal => 0x13,
        _ => 0x0A,
    }
}
