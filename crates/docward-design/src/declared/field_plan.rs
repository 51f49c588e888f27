//! The fields of planned documents: their contents, their origin, and their size in bytes (ALG-2).

use docward_model::{BsonType, DesignModel, Entity, EntityField, Spread};

use crate::declared::{quantile, size};

/// A field of a planned document.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The name.
    pub name: String,
    /// The type.
    pub kind: BsonType,
    /// The origin.
    pub origin: Origin,
    /// The size of a variable-length value in bytes: typical and 99th percentile.
    pub bytes: (u64, u64),
    /// The fields of an object, or of the objects in an array.
    pub fields: Vec<Planned>,
    /// The type of array elements that are not objects.
    pub element: Option<BsonType>,
    /// The number of elements of an array.
    pub items: Option<Spread>,
    /// The number of embedded objects in a document: none or one.
    pub there: Option<Spread>,
    /// Whether every document has it.
    pub required: bool,
    /// Whether it may be null.
    pub nullable: bool,
    /// The values of an enumeration.
    pub values: Vec<String>,
    /// The kinds of its entity that have the field. `None` if all have it.
    pub kinds: Option<Kinds>,
}

/// Some of the kinds of an entity. A document has exactly one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// The indexes of these kinds.
    pub of: Vec<usize>,
    /// The number of all kinds.
    pub all: usize,
}

/// The origin of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The document's own id.
    Id,
    /// The model declares it.
    Own,
    /// The id of another entity's document.
    Reference(String),
    /// A copy of a field of another entity: `customer.name`.
    Copy(String),
    /// Children embedded by a relationship.
    Embedded(String),
    /// The newest children of a relationship.
    Preview(String),
    /// A count or sum over a relationship.
    Computed(String),
    /// A pattern adds it: flags, counters, periods.
    Pattern(&'static str),
}

impl Origin {
    /// Returns the entity that is embedded or previewed.
    pub(crate) fn child<'m>(&self, model: &'m DesignModel) -> Option<&'m Entity> {
        match self {
            Self::Embedded(name) | Self::Preview(name) => {
                model.entity(&model.relationship(name)?.child)
            }
            _ => None,
        }
    }

    /// Returns a note on the field for readers.
    pub fn note(&self) -> Option<String> {
        Some(match self {
            Self::Id | Self::Own => return None,
            Self::Reference(entity) => format!("id of `{entity}`"),
            Self::Copy(path) => format!("copy of `{path}`"),
            Self::Embedded(name) => format!("`{name}`, embedded"),
            Self::Preview(name) => format!("newest of `{name}`"),
            Self::Computed(name) => format!("summary of `{name}`"),
            Self::Pattern(name) => format!("{name} pattern"),
        })
    }
}

/// The documents that a size applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Rank {
    Typical,
    /// The mean of many documents. Totals over many operations are multiples of it.
    Mean,
    P99,
    Max,
}

impl Rank {
    /// Returns how far a large sum is from the mean, for values with this deviation.
    fn far(self, deviation: f64) -> u64 {
        // Assumes normally distributed sums: one in a hundred, and one in thirty thousand.
        let times = match self {
            Self::Typical | Self::Mean => 0.0,
            Self::P99 => 2.33,
            Self::Max => 4.0,
        };
        (times * deviation).round() as u64
    }
}

/// The size of documents in bytes at each rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Ranked {
    typical: u64,
    mean: u64,
    p99: u64,
    max: u64,
    /// The standard deviation of the mean sizes of kinds.
    deviation: f64,
}

impl Ranked {
    /// Returns the sizes of a document with these fields.
    pub(crate) fn of(fields: &[Planned]) -> Self {
        let of = |rank| document_bytes(fields, rank);
        Self {
            typical: of(Rank::Typical),
            mean: of(Rank::Mean),
            p99: of(Rank::P99),
            max: of(Rank::Max),
            deviation: deviation(fields),
        }
    }

    pub(crate) fn at(self, rank: Rank) -> u64 {
        match rank {
            Rank::Typical => self.typical,
            Rank::Mean => self.mean,
            Rank::P99 => self.p99,
            Rank::Max => self.max,
        }
    }

    /// Returns the size in bytes of an array with this number of elements.
    pub(crate) fn array(self, rank: Rank, count: u64) -> u64 {
        match rank {
            Rank::P99 | Rank::Max => {
                size::mixed_array(count, self.mean, self.at(rank), rank.far(self.deviation))
            }
            rank => size::array(count, self.at(rank)),
        }
    }

    /// Applies a change to all sizes.
    pub(crate) fn map(self, change: impl Fn(u64) -> u64) -> Self {
        Self {
            typical: change(self.typical),
            mean: change(self.mean),
            p99: change(self.p99),
            max: change(self.max),
            deviation: self.deviation,
        }
    }
}

impl Planned {
    pub(crate) fn new(name: impl Into<String>, kind: BsonType, origin: Origin) -> Self {
        Self {
            name: name.into(),
            kind,
            origin,
            bytes: (0, 0),
            fields: Vec::new(),
            element: None,
            items: None,
            there: None,
            required: true,
            nullable: false,
            values: Vec::new(),
            kinds: None,
        }
    }

    /// Returns the share of documents whose kind has the field. All kinds are assumed to be equally
    /// frequent, because the model does not say.
    pub(crate) fn share(&self) -> f64 {
        self.kinds.as_ref().map_or(1.0, |kinds| kinds.of.len() as f64 / kinds.all.max(1) as f64)
    }

    /// Returns the share of documents at a rank that have the field. A declared field counts as
    /// present. An embedded object is present as often as the model states.
    pub(crate) fn presence(&self, rank: Rank) -> f64 {
        let Some(there) = self.there else { return 1.0 };
        match rank {
            Rank::Typical => there.p50.min(1) as f64,
            Rank::Mean => quantile::mean(there).min(1.0),
            Rank::P99 => there.p99.min(1) as f64,
            Rank::Max => there.max.min(1) as f64,
        }
    }

    /// Returns the size in bytes of the field in a document at a rank, including its name.
    fn element_bytes(&self, rank: Rank) -> u64 {
        let bytes = size::element(&self.name, self.value_bytes(rank));
        match self.presence(rank) {
            1.0 => bytes,
            share => (share * bytes as f64).round() as u64,
        }
    }

    pub(crate) fn object(name: impl Into<String>, origin: Origin, fields: Vec<Self>) -> Self {
        Self { fields, ..Self::new(name, BsonType::Object, origin) }
    }

    pub(crate) fn list(
        name: impl Into<String>,
        origin: Origin,
        fields: Vec<Self>,
        items: Spread,
    ) -> Self {
        Self { fields, items: Some(items), ..Self::new(name, BsonType::Array, origin) }
    }

    pub(crate) fn ids(name: impl Into<String>, origin: Origin, items: Spread) -> Self {
        Self {
            element: Some(BsonType::ObjectId),
            items: Some(items),
            ..Self::new(name, BsonType::Array, origin)
        }
    }

    /// Returns the size in bytes of a string or of binary data.
    fn own_bytes(&self, rank: Rank) -> u64 {
        match rank {
            Rank::Typical => self.bytes.0,
            Rank::Mean => quantile::mean(quantile::lengths(self.bytes)).round() as u64,
            Rank::P99 | Rank::Max => self.bytes.1,
        }
    }

    /// Returns the size of the value in bytes (ALG-2).
    pub fn value_bytes(&self, rank: Rank) -> u64 {
        let own = self.own_bytes(rank);
        match self.kind {
            // All listed values are assumed to be equally frequent.
            BsonType::String if rank == Rank::Mean && !self.values.is_empty() => {
                let all: usize = self.values.iter().map(String::len).sum();
                5 + (all / self.values.len()) as u64
            }
            BsonType::String => own.saturating_add(5),
            BsonType::BinData => own.saturating_add(5),
            BsonType::Object => document_bytes(&self.fields, rank),
            BsonType::Array => {
                let items = self.items.unwrap_or(Spread::always(0));
                let of_one = |rank| match self.element {
                    Some(kind) => scalar_bytes(kind, self.own_bytes(rank)),
                    None => document_bytes(&self.fields, rank),
                };
                let far = rank.far(deviation(&self.fields));
                let large = |count| size::mixed_array(count, of_one(Rank::Mean), of_one(rank), far);
                match rank {
                    Rank::Typical => size::array(items.p50, of_one(rank)),
                    Rank::Mean => size::mean_array(quantile::mean(items), of_one(rank)) as u64,
                    Rank::P99 => large(items.p99),
                    Rank::Max => large(items.max),
                }
            }
            kind => scalar_bytes(kind, own),
        }
    }
}

/// Returns the top-level field of a path, and the field at its end.
pub(crate) fn at_path<'f>(fields: &'f [Planned], path: &str) -> Option<(&'f Planned, &'f Planned)> {
    let mut parts = path.split('.');
    let first = parts.next()?;
    let top = fields.iter().find(|field| field.name == first)?;
    let leaf = parts.try_fold(top, |field, part| field.fields.iter().find(|f| f.name == part))?;
    Some((top, leaf))
}

fn scalar_bytes(kind: BsonType, own: u64) -> u64 {
    match kind {
        BsonType::Double | BsonType::Date | BsonType::Long | BsonType::Timestamp => 8,
        BsonType::Int => 4,
        BsonType::Decimal => 16,
        BsonType::ObjectId => 12,
        BsonType::Bool => 1,
        BsonType::String | BsonType::BinData => own.saturating_add(5),
        BsonType::Object | BsonType::Array => size::DOCUMENT_OVERHEAD,
        _ => 0,
    }
}

/// Returns the size in bytes of a document with these fields. Optional fields count as present. A
/// document has one kind: the typical size uses the mean of the kinds, and the maximum uses the
/// largest.
pub fn document_bytes(fields: &[Planned], rank: Rank) -> u64 {
    let bytes = |field: &Planned| field.element_bytes(rank);
    let of_all = fields.iter().filter(|field| field.kinds.is_none());
    let inside = of_all.map(bytes).fold(size::DOCUMENT_OVERHEAD, u64::saturating_add);
    let of_kinds = || fields.iter().filter_map(|field| Some((field, field.kinds.as_ref()?)));
    let Some(all) = of_kinds().map(|(_, kinds)| kinds.all).max() else { return inside };
    inside.saturating_add(match rank {
        Rank::Typical | Rank::Mean => {
            let shares = of_kinds().map(|(field, _)| field.share() * bytes(field) as f64);
            shares.sum::<f64>().round() as u64
        }
        Rank::P99 | Rank::Max => by_kind(fields, all, rank).into_iter().max().unwrap_or(0),
    })
}

/// Returns how many bytes each kind adds to a document.
fn by_kind(fields: &[Planned], all: usize, rank: Rank) -> Vec<u64> {
    let mut each = vec![0_u64; all];
    for field in fields {
        let bytes = field.element_bytes(rank);
        for kind in field.kinds.iter().flat_map(|kinds| &kinds.of) {
            each[*kind] = each[*kind].saturating_add(bytes);
        }
    }
    each
}

/// Returns the standard deviation of the document size between kinds.
fn deviation(fields: &[Planned]) -> f64 {
    let all = fields.iter().filter_map(|field| Some(field.kinds.as_ref()?.all)).max();
    let Some(all) = all else { return 0.0 };
    let each = by_kind(fields, all, Rank::Mean);
    let mean = each.iter().map(|bytes| *bytes as f64).sum::<f64>() / all.max(1) as f64;
    let squares = each.iter().map(|bytes| (*bytes as f64 - mean).powi(2)).sum::<f64>();
    (squares / all.max(1) as f64).sqrt()
}

/// The assumed number of levels above an entity of a tree, which models do not declare.
pub(crate) const TREE_DEPTH: Spread = Spread { p50: 3, p95: 5, p99: 6, max: 99 };

/// The assumed size of a string in bytes, if it is not declared.
pub(crate) const ASSUMED_STRING: u64 = 32;

/// The assumed size of binary data in bytes, if it is not declared.
pub(crate) const ASSUMED_BINARY: u64 = 256;

/// Returns a declared field as it is stored.
pub(crate) fn own(field: &EntityField) -> Planned {
    let longest = field.values.iter().map(|value| value.len() as u64).max();
    let bytes = field.bytes.or(longest.map(|longest| (longest, longest)));
    let assumed = match field.kind {
        BsonType::BinData => ASSUMED_BINARY,
        _ => ASSUMED_STRING,
    };
    Planned {
        bytes: bytes.unwrap_or((assumed, assumed)),
        fields: field.fields.iter().map(own).collect(),
        element: match (field.kind, field.fields.is_empty()) {
            (BsonType::Array, true) => Some(field.element.unwrap_or(BsonType::String)),
            _ => None,
        },
        items: field.items,
        required: field.required,
        nullable: field.nullable,
        values: field.values.clone(),
        ..Planned::new(field.name.clone(), field.kind, Origin::Own)
    }
}

/// Adds the fields of the variants of an entity. Not every document has them.
pub(crate) fn add_kinds(entity: &Entity, fields: &mut Vec<Planned>) {
    let all = entity.variants.len();
    for (kind, variant) in entity.variants.iter().enumerate() {
        for field in &variant.fields {
            match fields.iter_mut().find(|have| have.name == field.name) {
                Some(have) => {
                    if let Some(kinds) = &mut have.kinds {
                        kinds.of.push(kind);
                    }
                }
                None => {
                    let kinds = Some(Kinds { of: vec![kind], all });
                    fields.push(Planned { required: false, kinds, ..own(field) });
                }
            }
        }
    }
}

/// Returns the declared fields of an entity, including those of its kinds.
pub(crate) fn declared(entity: &Entity) -> Vec<Planned> {
    let mut fields = entity.fields.iter().map(own).collect();
    add_kinds(entity, &mut fields);
    fields
}

/// Returns a field that distinguishes the kinds of an entity, if no declared field does.
pub(crate) fn kind_field(entity: &Entity) -> Option<Planned> {
    let name = discriminator(entity);
    if entity.variants.is_empty() || entity.field(&name).is_some() {
        return None;
    }
    let values: Vec<String> = entity.variants.iter().map(|variant| variant.name.clone()).collect();
    let longest = values.iter().map(|name| name.len() as u64).max().unwrap_or(8);
    let origin = Origin::Pattern("polymorphic");
    let bytes = (longest, longest);
    Some(Planned { values, bytes, ..Planned::new(name, BsonType::String, origin) })
}

/// Returns the fields of a child in a preview: all or the named ones, and the sort field (GC-36).
/// If fields of some kinds are included, so is the field that distinguishes the kinds (PT-poly.1).
pub(crate) fn previewed(child: &Entity, by: &str, fields: &[String]) -> Vec<Planned> {
    let mut all: Vec<Planned> = kind_field(child).into_iter().collect();
    all.extend(declared(child));
    let named = |name: &str| fields.is_empty() || name == by || fields.iter().any(|f| f == name);
    let of_kinds = all.iter().any(|field| field.kinds.is_some() && named(&field.name));
    let kind = (of_kinds && !child.variants.is_empty()).then(|| discriminator(child));
    all.retain(|field| named(&field.name) || kind.as_ref() == Some(&field.name));
    all
}

/// Whether a bucket stores minimum, maximum and sum of a field. If the field may be missing or
/// null, sum and count would not give the mean.
pub(crate) fn has_statistics(field: &Planned) -> bool {
    is_number(field.kind) && field.required && !field.nullable
}

pub(crate) fn is_number(kind: BsonType) -> bool {
    matches!(kind, BsonType::Int | BsonType::Long | BsonType::Double | BsonType::Decimal)
}

/// Returns the name of the field that distinguishes the kinds of an entity: one whose values are
/// the kinds, or `type`.
pub(crate) fn discriminator(entity: &Entity) -> String {
    entity
        .fields
        .iter()
        .find(|field| {
            !field.values.is_empty()
                && entity.variants.iter().all(|variant| field.values.contains(&variant.name))
        })
        .map_or_else(|| "type".to_owned(), |field| field.name.clone())
}
