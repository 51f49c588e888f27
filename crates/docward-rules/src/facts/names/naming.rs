//! Field names that people chose: the names of a profile to check, the style of each, and the names that are spellings
//! of one concept. The naming rules N011 to N016 share this, so that only one rule reports each name. Spellings of one
//! concept belong to N016, then two styles in one name to N012, then abbreviations to N013, and the rest to N011.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use docward_model::{
    BsonType, Draft, Field, FieldChange, FieldPath, FieldShape, Namespace, Profile, Rename, Safety,
    Step, TextClass,
};

use crate::facts::names::{Style, initials, origin, style, words};

/// Names that MongoDB, an object mapper or a wire standard defines, and that users do not choose.
pub const FRAMEWORK: &[&str] = &[
    "_id",
    // Mongoose: version key and discriminator.
    "__v",
    "__t",
    // Spring Data; .NET driver; MongoEngine; Mongoid.
    "_class",
    "_t",
    "_v",
    "_cls",
    "_types",
    "_type",
    "_keywords",
    // Parse Server.
    "_rperm",
    "_wperm",
    "_acl",
    "_hashed_password",
    "_session_token",
    "_created_at",
    "_updated_at",
    "_expiresAt",
    "_email_verify_token",
    "_email_verify_token_expires_at",
    "_perishable_token",
    "_perishable_token_expires_at",
    "_failed_login_count",
    "_account_lockout_expires_at",
    "_password_changed_at",
    "_password_history",
    "_auth_data_anonymous",
    "_tombstone",
    "_metadata",
    "_client_permissions",
    // Eve and other REST layers; HAL; OData.
    "_etag",
    "_created",
    "_updated",
    "_deleted",
    "_version",
    "_latest_version",
    "_links",
    "_embedded",
    // Unchanged documents of CouchDB and Elasticsearch.
    "_rev",
    "_attachments",
    "_source",
    "_index",
    "_score",
    // Realm and Device Sync.
    "_partition",
    // Queryable Encryption.
    "__safeContent__",
];

/// Prefixes of such names.
pub const FRAMEWORK_PREFIXES: &[&str] = &["_p_", "_auth_data_", "_airbyte_"];

/// Abbreviations that readers of documents know. English two-letter words, units, codes, formats, ids, and
/// abbreviations of common trades.
pub const ABBREVIATIONS: &[&str] = &[
    // Words, and names that occur in every document.
    "id", "ip", "to", "no", "ts", "tz", "db", "os", "pc", "ui", "ux", "tv", "ai", "ml", "ok", "by",
    "at", "in", "on", "of", "or", "as", "is", "it", "if", "be", "do", "go", "up", "my", "me", "we",
    "an", "so", "he", "hi", "lo", "am", "pm", "ad", "vs", "cv", "hq", "po", "pk", "fk", "sk", "op",
    "ns", "ua", "qa", "pr", "mr", "ms", "dr", "jr", "sr", "st", "rx", "tx", "ac", "dc", "ev", "sn",
    "eq", "ne", "gt", "lt", "px", "em", "md", "js", "ph", "dn", "ou", "bg", "fg", "io", "vm", "qr",
    "nr", "yr", "mo", "wk", "pi", "ra", "az", "xp", "uv", "co",
    "dj", // Axes, sizes, colours, pairs.
    "a", "b", "d", "g", "h", "i", "j", "k", "l", "n", "r", "t", "v", "w", "x", "y", "z", "dx",
    "dy", "dz", "vx", "vy", "vz", "cx", "cy", "ry", // Units.
    "kg", "mg", "cm", "km", "mm", "nm", "gb", "mb", "kb", "tb", "hz", "us", "dl", "oz", "lb", "ft",
    "yd", "mi", "kw", "wh", "mv", "ma", "pa", "hp", "cc", "bp", "hr", "rr", "rh", "gp", "mp",
    "mpg", "mph", "kph", "rpm", "kwh", "psi", "bpm", "fps", "dpi", "ppi", "lbs", "sqm", "hrs",
    // Languages and countries.
    "en", "de", "fr", "es", "zh", "cn", "jp", "ja", "ko", "kr", "ru", "pt", "nl", "pl", "sv", "da",
    "fi", "tr", "ar", "vi", "th", "cs", "el", "hu", "ro", "uk", "br", "ca", "au", "mx", "eu",
    "usa", // Currencies.
    "usd", "eur", "gbp", "cny", "jpy", "inr", "aud", "cad", "chf", "sek", "krw", "hkd", "sgd",
    // Identifiers and codes.
    "url", "uri", "api", "sku", "upc", "ean", "gtin", "isbn", "issn", "doi", "ssn", "vat", "dob",
    "zip", "iso", "uid", "gid", "pid", "oid", "uuid", "guid", "ids", "iban", "bic", "cvv", "cvc",
    "mcc", "mnc", "imei", "imsi", "vin", "ein", "tin", "abn", "cpf", "gst", "hsn", "plu", "pin",
    "otp", "sso", "jwt", "mac", "tld", "bin", "npi", "ndc", "icd", "cpt", "mrn", "who",
    // Places and times.
    "gps", "utm", "geo", "loc", "lat", "lng", "lon", "alt", "utc", "gmt", "eta", "etd", "std",
    // Computing.
    "md5", "sha", "crc", "rgb", "hex", "svg", "png", "jpg", "pdf", "csv", "xml", "css", "html",
    "json", "sql", "dns", "ssl", "tls", "tcp", "udp", "ftp", "ssh", "ttl", "cpu", "gpu", "ram",
    "ssd", "hdd", "usb", "lan", "wan", "vpn", "ios", "sms", "mms", "rss", "cdn", "sdk", "http",
    // Figures.
    "src", "dst", "ref", "seq", "num", "pos", "len", "cnt", "min", "max", "avg", "sum", "qty",
    "pct", "mrp", "msrp", "abv", "ibu", // Business, medicine, sports.
    "seo", "crm", "erp", "kpi", "roi", "cpc", "cpm", "ctr", "gmv", "ltv", "arr", "mrr", "eps",
    "pnl", "gdp", "ceo", "cfo", "cto", "vip", "faq", "nps", "llc", "dba", "bmi", "ecg", "ekg",
    "mri", "dna", "rna", "hiv", "ldl", "hdl", "cbc", "wbc", "rbc", "hgb", "era", "rbi", "nba",
    "nfl", "mlb", "nhl", "fgm", "ftm", "pts",
];

/// Whether a framework or standard defines the name.
pub fn is_framework(name: &str) -> bool {
    FRAMEWORK.contains(&name) || FRAMEWORK_PREFIXES.iter().any(|p| name.starts_with(p))
}

/// Whether the name is an abbreviation that every reader knows, in either case.
pub fn is_known_abbreviation(name: &str) -> bool {
    ABBREVIATIONS.contains(&name.to_lowercase().as_str())
}

/// A field with a name that a person chose.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its index in [`Profile::fields`].
    pub at: usize,
    /// The field.
    pub field: &'a Field,
    /// The style of the name.
    pub style: Style,
}

impl<'a> Named<'a> {
    /// The name.
    pub fn name(&self) -> &'a str {
        &self.field.name
    }
}

/// The fields of a profile whose names people chose.
///
/// Excluded are keys that are data and everything below them, fields of frameworks, stored operators (`$ref`), bare
/// numbers, and rows that the server wrote.
pub fn named(profile: &Profile) -> Vec<Named<'_>> {
    if crate::facts::deployment::server::holds_server_rows(profile) {
        return Vec::new();
    }
    let mut data = vec![false; profile.fields.len()];
    let mut out = Vec::new();
    for (at, field) in profile.fields.iter().enumerate() {
        // Parents come before children, so the mark of the parent is known here.
        let below = field.parent.is_some_and(|p| data[p]);
        data[at] = below || field.shape == FieldShape::AnyKey || holds_data_keys(profile, field);
        if field.shape != FieldShape::Named
            || below
            || field.name.starts_with('$')
            || !field.name.chars().any(char::is_alphabetic)
            || is_framework(&field.name)
            || origin::is_qualified(&field.name)
        {
            continue;
        }
        out.push(Named { at, field, style: style_of(&field.name) });
    }
    out
}

/// Whether the keys of this object are data.
///
/// They are data if the profile folded them, if the name denotes HTTP headers, or if they are codes of languages,
/// currencies, countries or sizes. A set of attributes of which each document has a few also counts.
pub fn holds_data_keys(profile: &Profile, field: &Field) -> bool {
    if field.dynamic.is_some()
        || matches!(field.name.as_str(), "headers" | "httpHeaders" | "http_headers")
    {
        return true;
    }
    let children: Vec<_> =
        profile.children(field).filter(|c| c.shape == FieldShape::Named).collect();
    let names: Vec<&str> = children.iter().map(|c| c.name.as_str()).collect();
    if is_code_map(&names) || origin::are_headers(&names) || is_map(profile, field) {
        return true;
    }
    let mean = children.iter().map(|c| c.presence()).sum::<f64>() / children.len().max(1) as f64;
    children.len() >= MIN_KEYS && mean < 0.2
}

/// Fewer keys may be optional fields.
const MIN_KEYS: usize = 8;

fn names_in<'p>(profile: &'p Profile, object: &'p Field) -> BTreeSet<&'p str> {
    profile.children(object).map(|f| f.name.as_str()).collect()
}

/// Whether an object maps words to values of one kind: many keys, none in all objects, and values that look alike.
/// If the values are objects, they must have the same fields. Otherwise the keys must be written in a way that field names are not:
/// with spaces, signs or capitals in front.
pub fn is_map(profile: &Profile, field: &Field) -> bool {
    let keys: Vec<&Field> =
        profile.children(field).filter(|c| c.shape == FieldShape::Named).collect();
    if keys.len() < MIN_KEYS || keys.iter().any(|key| key.presence() > 0.95) {
        return false;
    }
    let kind = keys[0].types.dominant();
    if kind.is_none() || keys.iter().any(|key| key.types.dominant() != kind) {
        return false;
    }
    if kind == Some(BsonType::Object) {
        let first = names_in(profile, keys[0]);
        let alike = |key: &&&Field| {
            let own = names_in(profile, key);
            own.intersection(&first).count() * 5 >= own.union(&first).count() * 4
        };
        return first.len() > 1 && keys.iter().filter(alike).count() * 10 >= keys.len() * 9;
    }
    let is_odd = |key: &&&Field| {
        key.name.starts_with(char::is_uppercase) || style_of(&key.name) == Style::Other
    };
    keys.iter().filter(is_odd).count() * 4 >= keys.len() * 3
        && style_of(&field.name) != Style::Pascal
}

/// Languages by their two letters (ISO 639-1), those in use for user interfaces.
const LANGUAGES: &[&str] = &[
    "af", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "es", "et",
    "eu", "fa", "fi", "fr", "ga", "gl", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja",
    "ka", "kk", "km", "kn", "ko", "ky", "lo", "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my", "nb",
    "ne", "nl", "nn", "no", "pa", "pl", "ps", "pt", "ro", "ru", "si", "sk", "sl", "sq", "sr", "sv",
    "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "uz", "vi", "zh", "zu",
];

/// Currencies (ISO 4217), the traded ones.
const CURRENCIES: &[&str] = &[
    "AED", "ARS", "AUD", "BDT", "BGN", "BHD", "BRL", "BTC", "CAD", "CHF", "CLP", "CNH", "CNY",
    "COP", "CZK", "DKK", "EGP", "ETH", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS", "INR", "ISK",
    "JOD", "JPY", "KES", "KRW", "KWD", "KZT", "LKR", "MAD", "MOP", "MXN", "MYR", "NGN", "NOK",
    "NZD", "OMR", "PEN", "PHP", "PKR", "PLN", "QAR", "RMB", "RON", "RSD", "RUB", "SAR", "SEK",
    "SGD", "THB", "TND", "TRY", "TWD", "UAH", "USD", "USDT", "UYU", "VND", "ZAR",
];

/// Countries by their two letters (ISO 3166-1).
const COUNTRIES: &[&str] = &[
    "AE", "AF", "AL", "AM", "AO", "AR", "AT", "AU", "AZ", "BA", "BD", "BE", "BG", "BH", "BO", "BR",
    "BY", "CA", "CH", "CI", "CL", "CM", "CN", "CO", "CR", "CU", "CY", "CZ", "DE", "DK", "DO", "DZ",
    "EC", "EE", "EG", "ES", "ET", "EU", "FI", "FR", "GB", "GE", "GH", "GR", "GT", "HK", "HN", "HR",
    "HU", "ID", "IE", "IL", "IN", "IQ", "IR", "IS", "IT", "JM", "JO", "JP", "KE", "KG", "KH", "KR",
    "KW", "KZ", "LA", "LB", "LI", "LK", "LT", "LU", "LV", "LY", "MA", "MC", "MD", "ME", "MK", "MM",
    "MN", "MO", "MT", "MX", "MY", "MZ", "NG", "NI", "NL", "NO", "NP", "NZ", "OM", "PA", "PE", "PH",
    "PK", "PL", "PR", "PT", "PY", "QA", "RO", "RS", "RU", "RW", "SA", "SD", "SE", "SG", "SI", "SK",
    "SN", "SV", "SY", "TH", "TN", "TR", "TW", "TZ", "UA", "UG", "UK", "US", "UY", "UZ", "VE", "VN",
    "YE", "ZA", "ZM", "ZW",
];

/// Sizes of clothes.
const SIZES: &[&str] =
    &["XXS", "XS", "S", "M", "L", "XL", "XXL", "XXXL", "2XL", "3XL", "4XL", "5XL", "2XS", "3XS"];

/// `en`, `de_DE`, `pt-BR`, `zh-Hans`, `zh-Hant-TW`, `es-419`.
fn is_locale(name: &str) -> bool {
    let mut parts = name.split(['_', '-']);
    let language = parts.next().unwrap_or_default();
    LANGUAGES.contains(&language)
        && parts.all(|part| {
            let letters = part.chars().all(|c| c.is_ascii_alphabetic());
            COUNTRIES.contains(&part.to_ascii_uppercase().as_str())
                || (part.len() == 4 && letters)
                || (part.len() == 3 && part.chars().all(|c| c.is_ascii_digit()))
        })
}

/// Whether the names of one object are codes of one kind: at least two thirds of them, and at least two. Such an object
/// maps a language, currency, country or size to a value, and its keys are not names.
fn is_code_map(names: &[&str]) -> bool {
    let kinds: [&dyn Fn(&str) -> bool; 4] = [
        &is_locale,
        &|name| CURRENCIES.contains(&name),
        &|name| COUNTRIES.contains(&name),
        &|name| SIZES.contains(&name),
    ];
    // `{id, no}` are words before they are Indonesian and Norwegian.
    let words = ["id", "is", "it", "my", "no", "he", "be", "ID", "IS", "IT", "MY", "NO", "BE"];
    kinds.iter().any(|is| {
        let codes = names.iter().filter(|name| is(name)).count();
        let sure = names.iter().any(|name| is(name) && !words.contains(name));
        sure && codes >= 2 && codes * 3 >= names.len() * 2
    })
}

/// Returns the style of a field name, in more detail than [`style`]. Letters outside ASCII count as letters. A name
/// without capitals except a locale or unit after an underscore (`name_EN`, `title_zh_CN`) is snake_case.
pub fn style_of(name: &str) -> Style {
    let plain: String = name
        .chars()
        .map(|c| match c {
            c if c.is_ascii() || !c.is_alphanumeric() => c,
            c if c.is_uppercase() => 'A',
            _ => 'a',
        })
        .collect();
    let found = style(&plain);
    if found == Style::Mixed && !plain.contains('-') {
        let mut parts: Vec<_> = plain.split('_').collect();
        while parts.last().is_some_and(|p| {
            (1..=3).contains(&p.len()) && p.chars().all(|c| c.is_ascii_uppercase())
        }) {
            parts.pop();
        }
        let base = parts.concat();
        if !base.is_empty() && !base.chars().any(|c| c.is_ascii_uppercase()) {
            return Style::Snake;
        }
    }
    found
}

/// The words joined, so that equal texts are spellings of one concept. Digits of two words are kept
/// apart: `line_1_2` is not `line12`.
pub fn concept(name: &str) -> String {
    let mut out = String::new();
    for word in words(name) {
        if out.ends_with(|c: char| c.is_numeric()) && word.starts_with(|c: char| c.is_numeric()) {
            out.push('_');
        }
        out.push_str(&word);
    }
    out
}

/// camelCase or snake_case, whichever is more frequent among the names; `None` if neither occurs. Each name counts
/// once, in all its places; a tie goes to `prefer`.
pub fn dominant_style(names: &[Named<'_>], prefer: Style) -> Option<Style> {
    let of = |style: Style| {
        let unique: BTreeSet<_> =
            names.iter().filter(|n| n.style == style).map(Named::name).collect();
        unique.len()
    };
    let (camel, snake) = (of(Style::Camel), of(Style::Snake));
    match camel.cmp(&snake) {
        std::cmp::Ordering::Greater => Some(Style::Camel),
        std::cmp::Ordering::Less => Some(Style::Snake),
        std::cmp::Ordering::Equal if camel == 0 => None,
        std::cmp::Ordering::Equal => Some(prefer),
    }
}

/// Fields of one object whose names are spellings of one concept.
#[derive(Clone, Debug)]
pub struct Spellings {
    /// Indexes in [`Profile::fields`], most frequent first.
    pub members: Vec<usize>,
    /// The number of documents (or objects) with more than one of them: exact, a lower bound, or unknown.
    pub overlap: Overlap,
}

/// Whether the spellings of one concept occur in the same documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// Exactly this many hold more than one.
    Exactly(u64),
    /// At least this many do.
    AtLeast(u64),
    /// The profile does not show this.
    Unknown,
}

/// Every concept that one object of the profile spells in more than one way.
pub fn spellings(profile: &Profile) -> Vec<Spellings> {
    let names = named(profile);
    let mut siblings: BTreeMap<Option<usize>, Vec<Named<'_>>> = BTreeMap::new();
    for name in names {
        siblings.entry(name.field.parent).or_default().push(name);
    }
    let mut out = Vec::new();
    for group in siblings.values() {
        let mut concepts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for name in group {
            let concept = concept(name.name());
            // `x` and `X` are often different things.
            if concept.chars().count() > 1 {
                concepts.entry(concept).or_default().push(name.at);
            }
        }
        attach_abbreviations(profile, group, &mut concepts);
        for (_, mut members) in concepts {
            if members.len() > 1 && !are_two_concepts(profile, &members) {
                let key = |at: usize| (Reverse(profile.fields[at].count), &profile.fields[at].name);
                members.sort_by(|&a, &b| key(a).cmp(&key(b)));
                let overlap = overlap(profile, &members);
                out.push(Spellings { members, overlap });
            }
        }
    }
    out.sort_by_key(|s| s.members.iter().copied().min());
    out
}

/// Whether two fields with nearly the same name contain different things: every object has both, and their values have
/// different types, forms or lengths.
fn are_two_concepts(profile: &Profile, members: &[usize]) -> bool {
    let [a, b] = members else { return false };
    let (a, b) = (&profile.fields[*a], &profile.fields[*b]);
    let always = |field: &Field| field.count == field.parents && field.parents >= MIN_BOTH;
    if !always(a) || !always(b) {
        return false;
    }
    let lengths = |field: &Field| field.text.as_ref().map(|t| (t.lengths.min, t.lengths.max));
    let apart = match (lengths(a), lengths(b)) {
        (Some(a), Some(b)) => a.1 < b.0 || b.1 < a.0,
        _ => false,
    };
    let form = |field: &Field| {
        let text = field.text.as_ref()?;
        TextClass::ALL.into_iter().find(|&class| text.of(class) == text.total())
    };
    let forms_differ = a.text.is_some() && b.text.is_some() && form(a) != form(b);
    a.types.dominant() != b.types.dominant() || apart || forms_differ
}

/// Fewer objects prove nothing.
const MIN_BOTH: u64 = 5;

/// Joins an abbreviation to the concept with those initials, such as `CT` next to `createTime`.
///
/// Exactly one sibling concept must fit, and the types must agree. Also, either that concept already has two spellings,
/// or no document has both fields.
fn attach_abbreviations(
    profile: &Profile,
    group: &[Named<'_>],
    concepts: &mut BTreeMap<String, Vec<usize>>,
) {
    for short in group.iter().filter(|n| is_capital_abbreviation(n.name(), 4)) {
        let letters = short.name().to_lowercase();
        let fitting: Vec<String> = concepts
            .iter()
            .filter(|(_, members)| {
                members.iter().any(|&at| {
                    let name = &profile.fields[at].name;
                    words(name).len() > 1 && initials(name) == letters
                })
            })
            .map(|(concept, _)| concept.clone())
            .collect();
        let [concept] = fitting.as_slice() else { continue };
        let members = &concepts[concept];
        let same_type = members
            .iter()
            .all(|&at| profile.fields[at].types.dominant() == short.field.types.dominant());
        let disjoint = || {
            let pair: Vec<_> = members.iter().copied().chain([short.at]).collect();
            match overlap(profile, &pair) {
                Overlap::Exactly(n) => n == 0,
                Overlap::AtLeast(_) => false,
                Overlap::Unknown => true,
            }
        };
        if same_type && (members.len() > 1 || disjoint()) {
            let own = self::concept(short.name());
            if concepts.get(&own).is_some_and(|m| m.len() == 1) {
                concepts.remove(&own);
            }
            concepts.entry(concept.clone()).or_default().push(short.at);
        }
    }
}

/// Two to `longest` capital letters and nothing else.
pub fn is_capital_abbreviation(name: &str, longest: usize) -> bool {
    (2..=longest).contains(&name.len()) && name.chars().all(|c| c.is_ascii_uppercase())
}

fn overlap(profile: &Profile, members: &[usize]) -> Overlap {
    let Some(&first) = members.first() else { return Overlap::Unknown };
    let field = &profile.fields[first];
    if field.parent.is_none() && !profile.shapes.is_empty() {
        let both = profile
            .shapes
            .iter()
            .filter(|s| members.iter().filter(|at| s.fields.contains(at)).count() > 1)
            .map(|s| s.documents)
            .sum();
        if profile.other_shapes == 0 {
            return Overlap::Exactly(both);
        }
        if both > 0 {
            return Overlap::AtLeast(both);
        }
    }
    let total: u64 = members.iter().map(|&at| profile.fields[at].count).sum();
    if total > field.parents { Overlap::AtLeast(total - field.parents) } else { Overlap::Unknown }
}

/// Indexes of all fields that N016 reports as spellings of one concept.
pub fn spelled_twice(profile: &Profile) -> BTreeSet<usize> {
    spellings(profile).into_iter().flat_map(|s| s.members).collect()
}

/// Renames a field within its object; `None` if no statement can name the field.
pub fn rename(field: &Field, name: &str) -> Option<Rename> {
    let path = field.path.as_str();
    let stem = path.strip_suffix(field.name.as_str())?;
    let to = FieldPath::new(format!("{stem}{name}"));
    let can_be_written = !path.contains(['$', '*']);
    can_be_written.then(|| Rename { from: field.path.clone(), to })
}

/// Adds the renaming of fields to a finding. `moved` are the fields to rename; `reachable` are those that one
/// step can do of that.
pub fn renaming<'a>(
    mut draft: Draft,
    namespace: &Namespace,
    mut reachable: Vec<Rename>,
    moved: impl IntoIterator<Item = &'a FieldPath>,
) -> Draft {
    // Below a field that is itself renamed, the old path is valid only before; fields of one object stay together.
    let object = |one: &Rename| one.from.as_str().rsplit_once('.').map(|(at, _)| at.to_owned());
    reachable.sort_by_key(|one| (Reverse(one.from.as_str().matches('.').count()), object(one)));
    let reached: BTreeSet<FieldPath> = reachable.iter().map(|one| one.from.clone()).collect();
    let others = moved.into_iter().filter(|path| !reached.contains(path));
    draft.changes.extend(others.map(FieldChange::remove));
    if reachable.is_empty() {
        return draft;
    }
    let step = Step::RenameFields {
        namespace: namespace.clone(),
        renames: reachable,
        only_where_free: false,
    };
    draft.plan(Some("RF-11"), Safety::Guarded, [step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_04_2_styles_of_fields() {
        for (name, expect) in [
            ("Create_Time", Style::Mixed),
            ("createTime_utc", Style::Mixed),
            ("Miles_per_Gallon", Style::Mixed),
            ("user_Name", Style::Mixed),
            ("name_EN", Style::Snake),
            ("title_zh_CN", Style::Snake),
            ("prénom", Style::Neutral),
            ("订单号", Style::Neutral),
            ("First Name", Style::Other),
            ("createTime", Style::Camel),
        ] {
            assert_eq!(style_of(name), expect, "{name}");
        }
    }

    #[test]
    fn dm_04_6_concepts_join_words() {
        assert_eq!(concept("Create_Time"), concept("createTime"));
        assert_eq!(concept("e_mail"), concept("email"));
        assert_ne!(concept("line_1_2"), concept("line12"));
        assert_ne!(concept("street1"), concept("street2"));
    }

    #[test]
    fn dm_04_3_samples_are_not_known_words() {
        for name in ["UN", "oi", "CT"] {
            assert!(!is_known_abbreviation(name), "{name}");
        }
        for name in ["id", "qty", "ip", "ts", "URL", "ZIP"] {
            assert!(is_known_abbreviation(name), "{name}");
        }
    }

    #[test]
    fn dm_04_1_codes_as_keys_make_a_map() {
        for codes in [
            &["en", "de_DE", "pt-BR"][..],
            &["zh-CN", "zh-Hant-TW", "default"],
            &["USD", "EUR"],
            &["XS", "S", "M", "L", "XL"],
            &["US", "CN", "DE"],
        ] {
            assert!(is_code_map(codes), "{codes:?}");
        }
        for names in [
            &["en"][..],
            &["id", "name", "price"],
            &["UN", "CT", "oi"],
            &["id", "userName", "my"],
            &["id", "no"],
            &["USD", "rate", "date"],
        ] {
            assert!(!is_code_map(names), "{names:?}");
        }
    }
}
