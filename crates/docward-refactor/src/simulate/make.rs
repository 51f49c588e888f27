//! Documents of declared shapes and sizes. The same seed gives the same bytes, and a child is the same
//! whichever way it is stored.

use docward_design::{Figure, Kinds, Link, Origin, Planned, Predictor, Way, quantile};
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

pub(super) fn mixed(seed: u64, with: u64) -> u64 {
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
    pub(super) name: String,
    pub(super) kind: BsonType,
    is_id: bool,
    /// The same in every shape that has a field of this name.
    salt: u64,
    lengths: Vec<usize>,
    items: Vec<usize>,
    element: Option<BsonType>,
    values: Vec<String>,
    fields: Vec<Self>,
    kinds: Option<Kinds>,
}

impl Field {
    pub(super) fn new(planned: &Planned) -> Self {
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
            kinds: planned.kinds.clone(),
        }
    }

    /// Whether the document of a seed is of a kind that has it; all kinds are as frequent as each other.
    fn is_of(&self, seed: u64) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| {
            let kind = mixed(seed, 5) % kinds.all.max(1) as u64;
            kinds.of.contains(&(kind as usize))
        })
    }
}

/// Which document is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Which {
    pub(super) id: ObjectId,
    pub(super) seed: u64,
    /// Later documents have later dates.
    pub(super) serial: u64,
}

/// The beginning of 2024, in seconds.
pub(super) const BEGIN: i64 = 1_704_067_200;

/// An id as a driver of one of four processes makes it: the second, the process, a counter.
pub(super) fn made_id(second: u64, counter: u64, process: u64) -> ObjectId {
    let process = mixed(7, process % 4).to_be_bytes();
    let mut bytes = [0_u8; 12];
    bytes[..4].copy_from_slice(&(BEGIN as u32).wrapping_add(second as u32).to_be_bytes());
    bytes[4..9].copy_from_slice(&process[..5]);
    bytes[9..].copy_from_slice(&(counter as u32).to_be_bytes()[1..]);
    ObjectId::from_bytes(bytes)
}

/// Writes values of fields.
pub(super) struct Pen {
    text: Vec<u8>,
}

/// Makes parents and children of one way.
pub(super) struct Maker<'p> {
    pub(super) way: &'p Predictor,
    pub(super) seed: u64,
    pub(super) pen: Pen,
    pub(super) parent: Vec<Field>,
    pub(super) child: Vec<Field>,
    /// What a parent shows of its newest children, without the id.
    preview: Vec<Field>,
    copies: Vec<Field>,
    /// What a parent holds of a child that it lists, without the id.
    listed: Vec<Field>,
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

/// What a child adds to a figure. All add the same, so a mean is what each of them has.
pub(super) fn adds(figure: &Figure) -> u64 {
    match figure {
        Figure::Count | Figure::Given => 1,
        Figure::Sum(_) | Figure::Average => 3,
    }
}

/// The fields that values are made for.
pub(super) fn fields(planned: &[Planned]) -> Vec<Field> {
    planned.iter().map(Field::new).collect()
}

impl<'p> Maker<'p> {
    pub(super) fn new(way: &'p Predictor, seed: u64) -> Self {
        // The id is written by itself.
        let behind = |list: &'p Planned| list.fields.get(1..).unwrap_or_default();
        let listed = match way.held.as_slice() {
            [list] => behind(list),
            [_, copies, ..] => copies.fields.as_slice(),
            [] => &[],
        };
        Self {
            way,
            seed,
            pen: Pen::new(seed),
            parent: fields(&way.parent),
            child: fields(&way.child),
            preview: way.preview.as_ref().map(|list| fields(behind(list))).unwrap_or_default(),
            copies: way.copies.as_ref().map(|copies| fields(&copies.fields)).unwrap_or_default(),
            listed: fields(listed),
        }
    }

    /// A parent comes every minute.
    pub(super) fn parent_id(&self, parent: u64) -> ObjectId {
        made_id(parent * 60, parent, mixed(1, parent))
    }

    /// A parent gets a child every minute.
    pub(super) fn child_id(&self, parent: u64, child: u64) -> ObjectId {
        made_id(child * 60 + parent % 60, parent, mixed(parent, child))
    }

    pub(super) fn which_child(&self, parent: u64, child: u64) -> Which {
        let seed = mixed(mixed(self.seed, parent + 1), child + 1);
        Which { id: self.child_id(parent, child), seed, serial: child }
    }

    pub(super) fn which_parent(&self, parent: u64) -> Which {
        Which { id: self.parent_id(parent), seed: mixed(self.seed, parent), serial: parent }
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
        self.pen.fields(&mut out, &self.parent, self.which_parent(parent));
        let mut held = to - from;
        if self.way.way == Way::Embed && self.way.single {
            if to > from {
                named(&mut out, 0x03, &self.way.role);
                self.pen.document(&mut out, &self.child, self.which_child(parent, to - 1));
            }
        } else if self.way.way == Way::Embed {
            held = 0;
            named(&mut out, 0x04, &self.way.role);
            let array = begin(&mut out);
            for child in from..to {
                let before = out.len();
                named(&mut out, 0x03, &held.to_string());
                self.pen.document(&mut out, &self.child, self.which_child(parent, child));
                if out.len() > most {
                    out.truncate(before);
                    break;
                }
                held += 1;
            }
            end(&mut out, array);
        } else {
            let children: Vec<Which> = if self.way.held.is_empty() {
                Vec::new()
            } else {
                (from..to).map(|child| self.which_child(parent, child)).collect()
            };
            self.list(&mut out, &children);
            if let Some(list) = &self.way.preview {
                named(&mut out, 0x04, &list.name);
                let array = begin(&mut out);
                let newest = to.saturating_sub(self.way.shown()).max(from);
                for (i, child) in (newest..to).enumerate() {
                    named(&mut out, 0x03, &i.to_string());
                    let child = self.which_child(parent, child);
                    self.with_id(&mut out, list, &self.preview, child);
                }
                end(&mut out, array);
            }
        }
        self.figures(&mut out, to - from);
        end(&mut out, start);
        (raw(out), held)
    }

    /// What a parent with so many children counts and sums.
    pub(super) fn figures(&self, out: &mut Vec<u8>, children: u64) {
        for (figure, field) in &self.way.figures {
            if figure.is_there(children) {
                named(out, tag(field.kind), &field.name);
                let times = if *figure == Figure::Average { 1 } else { children };
                number(out, field.kind, times * adds(figure));
            }
        }
    }

    /// An element of a list: the id, and fields behind it.
    fn with_id(&self, out: &mut Vec<u8>, list: &Planned, fields: &[Field], child: Which) {
        let element = begin(out);
        if let Some(id) = list.fields.first() {
            named(out, 0x07, &id.name);
            out.extend(child.id.bytes());
        }
        self.pen.fields(out, fields, child);
        end(out, element);
    }

    /// What a parent holds of the children that it lists.
    pub(super) fn list(&self, out: &mut Vec<u8>, children: &[Which]) {
        let Some(first) = self.way.held.first() else { return };
        if first.kind != BsonType::Array {
            let Some(one) = children.first() else { return };
            named(out, 0x07, &first.name);
            out.extend(one.id.bytes());
            if let Some(copies) = self.way.held.get(1) {
                named(out, 0x03, &copies.name);
                self.pen.document(out, &self.listed, *one);
            }
            return;
        }
        named(out, 0x04, &first.name);
        let array = begin(out);
        for (i, child) in children.iter().enumerate() {
            if first.fields.is_empty() {
                named(out, 0x07, &i.to_string());
                out.extend(child.id.bytes());
            } else {
                named(out, 0x03, &i.to_string());
                self.with_id(out, first, &self.listed, *child);
            }
        }
        end(out, array);
    }

    /// What is pushed to a parent that lists its children, or set in one that has a single child.
    pub(super) fn listing(&self, child: Which) -> Vec<(String, Bson)> {
        let mut out = Vec::new();
        let start = begin(&mut out);
        self.list(&mut out, &[child]);
        end(&mut out, start);
        let document = mongodb::bson::Document::try_from(raw(out).as_ref()).unwrap_or_default();
        let each = document.into_iter().map(|(name, value)| match value {
            Bson::Array(mut list) => (name, list.pop().unwrap_or(Bson::Null)),
            value => (name, value),
        });
        each.collect()
    }

    /// The path at which a parent that lists its children has their ids.
    pub(super) fn listed_path(&self) -> String {
        match self.way.held.first() {
            Some(list) => match list.fields.first() {
                Some(id) => format!("{}.{}", list.name, id.name),
                None => list.name.clone(),
            },
            None => String::new(),
        }
    }

    /// A child as it is inside a parent.
    pub(super) fn element(&self, parent: u64, child: u64) -> RawDocumentBuf {
        self.pen.made(&self.child, self.which_child(parent, child))
    }

    /// What a parent keeps of a new child.
    pub(super) fn shown(&self, parent: u64, child: u64) -> RawDocumentBuf {
        let mut out = Vec::new();
        if let Some(list) = &self.way.preview {
            self.with_id(&mut out, list, &self.preview, self.which_child(parent, child));
        }
        raw(out)
    }

    /// A child by itself.
    pub(super) fn child(&self, parent: u64, child: u64) -> RawDocumentBuf {
        let mut out = Vec::new();
        let start = begin(&mut out);
        self.pen.fields(&mut out, &self.child, self.which_child(parent, child));
        if self.way.link == Link::ParentId {
            named(&mut out, 0x07, &self.way.parent_id);
            out.extend(self.parent_id(parent).bytes());
        }
        if let Some(copies) = &self.way.copies {
            named(&mut out, 0x03, &copies.name);
            let which =
                Which { id: self.parent_id(parent), seed: mixed(self.seed, parent), serial: 0 };
            self.pen.document(&mut out, &self.copies, which);
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
        self.pen.value(field, seed)
    }
}

impl Pen {
    pub(super) fn new(seed: u64) -> Self {
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
        Self { text }
    }

    /// A field with a new value.
    pub(super) fn value(&self, field: &Field, seed: u64) -> Option<(String, Bson)> {
        let which = Which { id: ObjectId::from_bytes([0; 12]), seed, serial: seed % 1000 };
        let mut out = Vec::new();
        let start = begin(&mut out);
        self.field(&mut out, field, which);
        end(&mut out, start);
        mongodb::bson::Document::try_from(raw(out).as_ref()).ok()?.into_iter().next()
    }

    /// A document of these fields.
    pub(super) fn made(&self, fields: &[Field], which: Which) -> RawDocumentBuf {
        let mut out = Vec::new();
        self.document(&mut out, fields, which);
        raw(out)
    }

    pub(super) fn document(&self, out: &mut Vec<u8>, fields: &[Field], which: Which) {
        let start = begin(out);
        self.fields(out, fields, which);
        end(out, start);
    }

    pub(super) fn fields(&self, out: &mut Vec<u8>, fields: &[Field], which: Which) {
        for field in fields.iter().filter(|field| field.is_of(which.seed)) {
            self.field(out, field, which);
        }
    }

    pub(super) fn field(&self, out: &mut Vec<u8>, field: &Field, which: Which) {
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
                out.extend((BEGIN * 1000 + which.serial as i64 * 60_000).to_le_bytes());
            }
            BsonType::Timestamp => out.extend(which.serial.to_le_bytes()),
            BsonType::Object | BsonType::Array => {
                let start = begin(out);
                end(out, start);
            }
            kind => number(out, kind, rng.below(100_000)),
        }
    }

    fn words(&self, length: usize, rng: &mut Rng) -> Vec<u8> {
        let from = rng.below(self.text.len() as u64) as usize;
        self.text.iter().cycle().skip(from).take(length).copied().collect()
    }
}

fn number(out: &mut Vec<u8>, kind: BsonType, value: u64) {
    match kind {
        BsonType::Int => out.extend((value as i32).to_le_bytes()),
        BsonType::Long => out.extend(value.to_le_bytes()),
        // Two places behind the point, as measured and counted things have.
        BsonType::Double => out.extend((value as f64 / 100.0).to_le_bytes()),
        BsonType::Decimal => {
            // The coefficient below, an exponent of zero above.
            out.extend(value.to_le_bytes());
            out.extend(0x3040_0000_0000_0000_u64.to_le_bytes());
        }
        _ => {}
    }
}

fn drawn(from: &[usize], rng: &mut Rng) -> usize {
    from.get(rng.below(from.len() as u64) as usize).copied().unwrap_or(0)
}

pub(super) fn begin(out: &mut Vec<u8>) -> usize {
    out.extend([0; 4]);
    out.len() - 4
}

pub(super) fn end(out: &mut Vec<u8>, start: usize) {
    out.push(0);
    let length = (out.len() - start) as i32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

pub(super) fn named(out: &mut Vec<u8>, tag: u8, name: &str) {
    out.push(tag);
    out.extend(name.bytes());
    out.push(0);
}

fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as i32 + 1).to_le_bytes());
    out.extend(bytes);
    out.push(0);
}

pub(super) fn raw(bytes: Vec<u8>) -> RawDocumentBuf {
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
