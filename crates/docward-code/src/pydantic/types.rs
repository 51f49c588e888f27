//! Interprets annotations as types.
//!
//! `float` accepts only `double`, because Pydantic converts integers to floats before PyMongo
//! writes them. `int` accepts `int` and `long`. PyMongo cannot write some types by itself
//! (`Decimal`, `date`, sets, `UUID` without a representation). These are read as Beanie writes
//! them.

use bson::Bson;

use crate::{
    Place,
    draft::{Draft, join},
    pattern,
    shape::{Items, Limit, Shape, whole},
};

use super::{Reader, expr::Expr};

/// The maximum number of names that are followed in a row.
const MAX_HOPS: usize = 8;

impl Reader<'_> {
    pub(super) fn kind(&self, draft: &mut Draft, kind: &Expr, path: &str, place: Place) -> Shape {
        draft.deeper(path, place, |draft| self.kind_inside(draft, kind, path, place, 0))
    }

    fn kind_inside(
        &self,
        draft: &mut Draft,
        kind: &Expr,
        path: &str,
        place: Place,
        hops: usize,
    ) -> Shape {
        match kind {
            Expr::Name(_) => self.named(draft, kind, path, place, hops),
            Expr::Literal(Bson::Null) => Shape::of(&["null"]),
            // A forward reference: the name of a class that is declared further down.
            Expr::Literal(Bson::String(text)) if hops < MAX_HOPS => match Expr::quoted(text) {
                Some(inner) => self.kind_inside(draft, &inner, path, place, hops + 1),
                None => self.foreign(draft, kind, path, place),
            },
            Expr::Either(all) => {
                Shape::either(all.iter().map(|one| self.kind(draft, one, path, place)).collect())
            }
            Expr::Index(base, arguments) => {
                self.generic(draft, base.name(), arguments, kind, path, place)
            }
            Expr::Call(function, plain, named) => match function.name() {
                "Indexed" => match plain.first() {
                    Some(inner) => self.kind(draft, inner, path, place),
                    None => Shape::default(),
                },
                "Link" => Shape::db_ref(),
                "NewType" => match plain.get(1) {
                    Some(inner) => self.kind(draft, inner, path, place),
                    None => Shape::default(),
                },
                name => {
                    let inner =
                        plain.first().map(|one| self.kind(draft, one, &format!("{path}[]"), place));
                    let item = named.iter().find(|(key, _)| key == "item_type").map(|(_, one)| one);
                    let inner = inner.or_else(|| {
                        item.map(|one| self.kind(draft, one, &format!("{path}[]"), place))
                    });
                    let mut shape = match name {
                        "constr" => Shape::of(&["string"]),
                        "conint" => Shape::of(&["int", "long"]),
                        "confloat" => Shape::of(&["double"]),
                        "condecimal" => Shape::of(&["decimal"]),
                        "conbytes" => Shape::of(&["binData"]),
                        "condate" => Shape::of(&["date"]),
                        "conlist" => Shape::array(inner.unwrap_or_default()),
                        "conset" | "confrozenset" => {
                            Shape { unique_items: true, ..Shape::array(inner.unwrap_or_default()) }
                        }
                        _ => return self.foreign(draft, kind, path, place),
                    };
                    self.constrain(draft, &mut shape, named, path, place);
                    shape
                }
            },
            _ => self.foreign(draft, kind, path, place),
        }
    }

    fn named(
        &self,
        draft: &mut Draft,
        kind: &Expr,
        path: &str,
        place: Place,
        hops: usize,
    ) -> Shape {
        let name = kind.name();
        // Files often declare this type themselves, as a string with validators.
        if matches!(name, "ObjectId" | "PydanticObjectId" | "PyObjectId" | "BeanieObjectId") {
            return Shape::of(&["objectId"]);
        }
        if let Some(class) = self.module.class(name) {
            // A class that extends a plain type is stored as that type.
            let plain = ["str", "int", "float", "bytes", "ObjectId"];
            let base = class.bases.iter().find(|base| plain.contains(&base.name()));
            return match base {
                _ if self.is_enum(class) => self.enumeration(draft, class, path, place),
                Some(base) if hops < MAX_HOPS => {
                    draft.loosened(path, name, "decided by code", place);
                    self.kind_inside(draft, base, path, place, hops + 1)
                }
                _ if class.fields.is_empty() && class.bases.is_empty() => {
                    self.foreign(draft, kind, path, place)
                }
                _ => self.class(draft, class, path, place, false),
            };
        }
        if let Some(alias) = self.module.aliases.get(name)
            && hops < MAX_HOPS
        {
            return self.kind_inside(draft, alias, path, place, hops + 1);
        }
        let zero = || Limit::including(Bson::Int32(0));
        let beyond = || Limit::excluding(Bson::Int32(0));
        let int = Shape::of(&["int", "long"]);
        let float = Shape::of(&["double"]);
        match name {
            "str" | "StrictStr" | "SecretStr" | "AnyStr" => Shape::of(&["string"]),
            "int" | "StrictInt" => int,
            "PositiveInt" => Shape { minimum: beyond(), ..int },
            "NonNegativeInt" => Shape { minimum: zero(), ..int },
            "NegativeInt" => Shape { maximum: beyond(), ..int },
            "NonPositiveInt" => Shape { maximum: zero(), ..int },
            "float" | "StrictFloat" | "FiniteFloat" | "timedelta" => float,
            "PositiveFloat" => Shape { minimum: beyond(), ..float },
            "NonNegativeFloat" => Shape { minimum: zero(), ..float },
            "NegativeFloat" => Shape { maximum: beyond(), ..float },
            "NonPositiveFloat" => Shape { maximum: zero(), ..float },
            "bool" | "StrictBool" => Shape::of(&["bool"]),
            "Decimal" | "Decimal128" | "DecimalAnnotation" => Shape::of(&["decimal"]),
            "datetime" | "AwareDatetime" | "NaiveDatetime" | "date" => Shape::of(&["date"]),
            "PastDatetime" | "FutureDatetime" | "PastDate" | "FutureDate" => {
                draft.loosened(path, name, "a schema cannot use the current time", place);
                Shape::of(&["date"])
            }
            "bytes" | "StrictBytes" | "SecretBytes" | "Binary" => Shape::of(&["binData"]),
            "UUID" | "UUID1" | "UUID3" | "UUID4" | "UUID5" | "UUID7" => Shape::of(&["binData"]),
            "EmailStr" => {
                draft.loosened(path, name, pattern::EMAIL_WHY, place);
                Shape { patterns: vec![pattern::EMAIL.to_owned()], ..Shape::of(&["string"]) }
            }
            "AnyUrl" | "AnyHttpUrl" | "HttpUrl" | "FileUrl" | "MongoDsn" | "PostgresDsn"
            | "RedisDsn" | "NameEmail" | "IPvAnyAddress" | "IPv4Address" | "IPv6Address"
            | "Path" | "FilePath" | "DirectoryPath" => {
                draft.loosened(path, name, "its form is checked by code", place);
                Shape::of(&["string"])
            }
            "Any" | "object" | "Json" => Shape::default(),
            "dict" | "Dict" | "Mapping" | "OrderedDict" => Shape::object(),
            "list" | "List" | "Sequence" | "tuple" | "Tuple" => Shape::of(&["array"]),
            "set" | "Set" | "frozenset" | "FrozenSet" => {
                Shape { unique_items: true, ..Shape::of(&["array"]) }
            }
            "None" | "NoneType" => Shape::of(&["null"]),
            "DBRef" => Shape::db_ref(),
            _ => self.foreign(draft, kind, path, place),
        }
    }

    fn generic(
        &self,
        draft: &mut Draft,
        name: &str,
        arguments: &[Expr],
        whole_kind: &Expr,
        path: &str,
        place: Place,
    ) -> Shape {
        let element = format!("{path}[]");
        let first = arguments.first();
        match name {
            "Optional" => match first {
                Some(inner) => self.kind(draft, inner, path, place).or_null(),
                None => Shape::default(),
            },
            "Union" => Shape::either(
                arguments.iter().map(|one| self.kind(draft, one, path, place)).collect(),
            ),
            "Literal" => {
                let values: Option<Vec<Bson>> =
                    arguments.iter().map(|one| self.value_of(one)).collect();
                match values {
                    Some(values) => Shape::one_of_values(values),
                    None => self.foreign(draft, whole_kind, path, place),
                }
            }
            "Annotated" => {
                let mut shape = match first {
                    Some(inner) => self.kind(draft, inner, path, place),
                    None => return Shape::default(),
                };
                for extra in arguments.iter().skip(1) {
                    self.annotate(draft, &mut shape, extra, path, place);
                }
                shape
            }
            "list" | "List" | "Sequence" | "Iterable" | "Collection" | "deque" | "Deque" => {
                let inner = first.map(|one| self.kind(draft, one, &element, place));
                Shape::array(inner.unwrap_or_default())
            }
            "set" | "Set" | "frozenset" | "FrozenSet" | "AbstractSet" => {
                let inner = first.map(|one| self.kind(draft, one, &element, place));
                Shape { unique_items: true, ..Shape::array(inner.unwrap_or_default()) }
            }
            "tuple" | "Tuple" => match arguments {
                [one, Expr::Ellipsis] => Shape::array(self.kind(draft, one, &element, place)),
                all => {
                    let shapes: Vec<Shape> =
                        all.iter().map(|one| self.kind(draft, one, &element, place)).collect();
                    let length = shapes.len() as u64;
                    let mut shape = Shape::of(&["array"]);
                    shape.min_items = Some(length);
                    if !shapes.is_empty() {
                        shape.items = Items::Exactly(shapes);
                    }
                    shape
                }
            },
            "dict" | "Dict" | "Mapping" | "MutableMapping" | "OrderedDict" | "DefaultDict" => {
                let inner =
                    arguments.get(1).map(|one| self.kind(draft, one, &join(path, "*"), place));
                Shape::map(inner.unwrap_or_default())
            }
            "Final" | "Required" | "NotRequired" => match first {
                Some(inner) => self.kind(draft, inner, path, place),
                None => Shape::default(),
            },
            "Link" => {
                let what = whole_kind.shown();
                draft.noted(path, what, "a DBRef; its target is not looked up", place);
                Shape::db_ref()
            }
            "Type" | "type" => Shape::of(&["string"]),
            "Json" => Shape::default(),
            name => match self.module.class(name) {
                Some(class) => self.class(draft, class, path, place, false),
                None => self.foreign(draft, whole_kind, path, place),
            },
        }
    }

    /// Returns the value of a literal or of a member of an enumeration.
    fn value_of(&self, one: &Expr) -> Option<Bson> {
        match one {
            Expr::Literal(value) => Some(value.clone()),
            Expr::Name(name) => {
                let (class, member) = name.rsplit_once('.')?;
                let class = self.module.class(class.rsplit('.').next()?)?;
                self.members(class)
                    .into_iter()
                    .find(|(name, _)| name == member)
                    .and_then(|(_, v)| v)
            }
            _ => None,
        }
    }

    /// Returns the members of an enumeration. The value is `None` if it is not a literal.
    fn members(&self, class: &super::class::Class) -> Vec<(String, Option<Bson>)> {
        let texts = class.bases.iter().any(|base| base.name() == "StrEnum");
        let mut next = 1;
        let members = class.members.iter().filter(|(name, _)| !name.starts_with('_'));
        members
            .map(|(name, value)| {
                let value = match value {
                    Expr::Literal(value) => Some(value.clone()),
                    Expr::Call(function, ..) if function.name() == "auto" => {
                        Some(if texts { name.to_lowercase().into() } else { whole(next) })
                    }
                    _ => None,
                };
                if let Some(Bson::Int32(n)) = value {
                    next = i64::from(n) + 1;
                }
                (name.clone(), value)
            })
            .collect()
    }

    fn enumeration(
        &self,
        draft: &mut Draft,
        class: &super::class::Class,
        path: &str,
        place: Place,
    ) -> Shape {
        let values: Option<Vec<Bson>> =
            self.members(class).into_iter().map(|(_, value)| value).collect();
        match values.filter(|values| !values.is_empty()) {
            Some(values) => Shape::one_of_values(values),
            None => {
                draft.loosened(path, &class.name, "its values are computed", place);
                Shape::default()
            }
        }
    }

    fn foreign(&self, draft: &mut Draft, kind: &Expr, path: &str, place: Place) -> Shape {
        let why = "a type that is not declared in this file";
        draft.loosened(path, kind.shown(), why, place);
        Shape::default()
    }

    /// Applies the metadata next to a type in `Annotated[…]`.
    fn annotate(
        &self,
        draft: &mut Draft,
        shape: &mut Shape,
        extra: &Expr,
        path: &str,
        place: Place,
    ) {
        let Expr::Call(function, plain, named) = extra else { return };
        let short = |key: &str| {
            let value = plain.first().or_else(|| named.first().map(|(_, value)| value));
            value.map(|value| vec![(key.to_owned(), value.clone())]).unwrap_or_default()
        };
        match function.name() {
            "Field" | "StringConstraints" | "Interval" => {
                self.constrain(draft, shape, named, path, place);
            }
            "Gt" => self.constrain(draft, shape, &short("gt"), path, place),
            "Ge" => self.constrain(draft, shape, &short("ge"), path, place),
            "Lt" => self.constrain(draft, shape, &short("lt"), path, place),
            "Le" => self.constrain(draft, shape, &short("le"), path, place),
            "MultipleOf" => self.constrain(draft, shape, &short("multiple_of"), path, place),
            "MinLen" => self.constrain(draft, shape, &short("min_length"), path, place),
            "MaxLen" => self.constrain(draft, shape, &short("max_length"), path, place),
            "Len" => {
                let keys = ["min_length", "max_length"];
                let sizes: Vec<(String, Expr)> =
                    keys.iter().zip(plain).map(|(key, n)| ((*key).to_owned(), n.clone())).collect();
                self.constrain(draft, shape, &sizes, path, place);
                self.constrain(draft, shape, named, path, place);
            }
            name if name.ends_with("Validator") || name == "Predicate" => {
                draft.loosened(path, extra.shown(), "decided by code", place);
            }
            _ => {}
        }
    }

    /// Applies the arguments of `Field(…)`, `constr(…)` and similar calls.
    pub(super) fn constrain(
        &self,
        draft: &mut Draft,
        shape: &mut Shape,
        named: &[(String, Expr)],
        path: &str,
        place: Place,
    ) {
        for (key, value) in named {
            let literal = value.literal();
            let number = literal
                .filter(|n| matches!(n, Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_)))
                .cloned();
            let size = match literal {
                Some(Bson::Int32(n)) => u64::try_from(*n).ok(),
                _ => None,
            };
            let known = match key.as_str() {
                "gt" | "ge" | "lt" | "le" if !shape.is_numeric() && !shape.types.is_empty() => {
                    draft.loosened(
                        path,
                        format!("{key}={}", value.shown()),
                        "the server compares numbers only",
                        place,
                    );
                    true
                }
                "gt" => number.map(|n| shape.minimum = Limit::excluding(n)).is_some(),
                "ge" => number.map(|n| shape.minimum = Limit::including(n)).is_some(),
                "lt" => number.map(|n| shape.maximum = Limit::excluding(n)).is_some(),
                "le" => number.map(|n| shape.maximum = Limit::including(n)).is_some(),
                "multiple_of" => {
                    let above = |n: &Bson| match n {
                        Bson::Int32(n) => *n > 0,
                        Bson::Int64(n) => *n > 0,
                        Bson::Double(n) => *n > 0.0,
                        _ => false,
                    };
                    number.filter(above).map(|n| shape.multiple_of = Some(n)).is_some()
                }
                "min_length" | "min_items" => size.map(|n| shape.set_min_size(n)).is_some(),
                "max_length" | "max_items" => size.map(|n| shape.set_max_size(n)).is_some(),
                "unique_items" => {
                    shape.unique_items |= value.is_true();
                    true
                }
                "pattern" | "regex" => match value.text() {
                    Some(text) => {
                        // `regex` is the older name. It matched only at the start of the string.
                        let pattern = if key == "regex" && !text.starts_with('^') {
                            format!("^(?:{text})")
                        } else {
                            text.to_owned()
                        };
                        match pattern::checked(pattern) {
                            Ok(pattern) => {
                                if pattern::has_classes(&pattern) {
                                    let what = format!("{key}={}", value.shown());
                                    draft.noted(path, what, pattern::ASCII_CLASSES, place);
                                }
                                shape.patterns.push(pattern);
                            }
                            Err(why) => {
                                draft.loosened(path, format!("{key}={}", value.shown()), why, place)
                            }
                        }
                        true
                    }
                    None => false,
                },
                "max_digits" | "decimal_places" => {
                    draft.loosened(
                        path,
                        format!("{key}={}", value.shown()),
                        "the server does not count digits",
                        place,
                    );
                    true
                }
                "title" => {
                    shape.title = value.text().map(str::to_owned);
                    true
                }
                "description" => {
                    shape.description = value.text().map(str::to_owned);
                    true
                }
                _ => true,
            };
            if !known {
                draft.loosened(
                    path,
                    format!("{key}={}", value.shown()),
                    "no value in this file",
                    place,
                );
            }
        }
    }
}
