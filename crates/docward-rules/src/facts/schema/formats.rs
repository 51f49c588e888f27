//! Patterns to propose, each with its class of strings. A pattern here accepts every string of its
//! class, which is tested. No other pattern may be proposed (ALG-10, GC-17).

use docward_model::{Field, TextClass, TextProfile, words};

/// A known format of strings.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// The description of such strings, after "all 120".
    pub what: &'static str,
    /// The regular expression in the syntax of PCRE.
    pub pattern: &'static str,
    /// The classes whose strings it accepts.
    pub classes: &'static [TextClass],
}

/// All formats.
pub const FORMATS: &[Format] = &[
    Format {
        name: "email",
        what: "are e-mail addresses",
        pattern: "^[^ \\t\\n\\f\\r@,]+@[A-Za-z0-9.-]+\\.[A-Za-z0-9-]{2,}$",
        classes: &[TextClass::Email],
    },
    Format {
        name: "uuid",
        what: "are UUIDs",
        pattern: "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
        classes: &[TextClass::UuidV4, TextClass::UuidV7, TextClass::Uuid],
    },
    Format {
        name: "objectid",
        what: "are the 24 hexadecimal digits of an ObjectId",
        pattern: "^[0-9A-Fa-f]{24}$",
        classes: &[TextClass::ObjectIdHex],
    },
    Format {
        name: "ulid",
        what: "are ULIDs",
        pattern: "^[0-9A-Za-z]{26}$",
        classes: &[TextClass::Ulid],
    },
    Format {
        name: "url",
        what: "are URLs",
        pattern: "^[A-Za-z][A-Za-z0-9+.-]*://",
        classes: &[TextClass::Url],
    },
];

/// The minimum number of strings for a format.
const LEAST: u64 = 20;

/// The format of every string.
pub fn format_of(text: &TextProfile) -> Option<&'static Format> {
    let total = text.total();
    FORMATS.iter().find(|format| {
        total >= LEAST && text.count(|class| format.classes.contains(&class)) == total
    })
}

/// Telephone numbers have no separate class: digits with separators between them may be anything.
const PHONE: Format = Format {
    name: "phone",
    what: "are telephone numbers",
    pattern: "^[+]?[0-9(][0-9 ()./-]{3,22}[0-9]$",
    classes: &[],
};

/// The format that a name suggests, if the profile does not contradict it.
pub fn format_by_name(name: &str, text: &TextProfile) -> Option<&'static Format> {
    const NAMES: [&str; 6] = ["phone", "telephone", "mobile", "tel", "fax", "cellphone"];
    let is_named = words::split(name).iter().any(|word| NAMES.contains(&word.as_str()));
    let fits = text.total() >= LEAST && text.lengths.min >= 5 && text.lengths.max <= 25;
    (is_named && fits).then_some(&PHONE)
}

/// The share of strings that have a form in common.
const FORM_SHARE: f64 = 0.95;

/// The only form of a field's strings, if a pattern can require it.
pub fn fixed_form(field: &Field) -> Option<&'static str> {
    let text = field.text.as_ref()?;
    let total = text.total() - text.of(TextClass::Empty);
    if total == 0 || text.total() * 2 < field.types.non_null() {
        return None;
    }
    let has =
        |test: &dyn Fn(TextClass) -> bool| text.count(test) as f64 >= FORM_SHARE * total as f64;
    let is = |class: TextClass| has(&move |c| c == class);
    if is(TextClass::Email) {
        Some("e-mail")
    } else if is(TextClass::Url) {
        Some("URL")
    } else if has(&|c| matches!(c, TextClass::UuidV4 | TextClass::UuidV7 | TextClass::Uuid)) {
        Some("UUID")
    } else if is(TextClass::Ulid) {
        Some("ULID")
    } else if is(TextClass::ObjectIdHex) || is(TextClass::HexDigest) {
        Some("hexadecimal")
    } else if has(&|c| c.is_date() || c == TextClass::YearMonth) {
        Some("date")
    } else if has(&|c| matches!(c, TextClass::Integer | TextClass::LeadingZero)) {
        Some("digits")
    } else {
        None
    }
}
