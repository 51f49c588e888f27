//! DM-04.1, DM-04.2, DM-04.3, DM-04.4, DM-04.5: names of fields as models in source code declare them.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Evidence, FieldPath,
    code::{Code, DeclaredField},
};

use super::n013_meaningless_abbreviation::long_form;
use crate::{
    Cx, declare_rule,
    facts::{
        code,
        names::{
            Style, in_style,
            naming::{is_framework, style_of},
        },
        text,
    },
    threshold,
};

declare_rule! {
    /// # Field name in a model
    ///
    /// ## What it checks
    /// Compares the field names that a model declares for one document or nested object. If at least three names,
    /// and three of four, share a style (camelCase or snake_case), Docward reports the others, including mixed
    /// ones (`Create_Time`). Names that begin with `$` or contain `.` or spaces are always reported.
    ///
    /// Abbreviations without a clear meaning are reported as well: those that Docward knows (`UN` for `userName`).
    ///
    /// With `--select pedantic`, Docward also reports mixed names without a dominant style, leading underscores
    /// and long names.
    ///
    /// Exceptions:
    /// - acronyms and constants in capitals (`URL`, `SMTPHost`, `org_UUID`)
    /// - numbers and versions (`title_v2`, `open24_7`)
    /// - names that a library writes (`__v`, `created_at` of timestamps)
    /// - models that nothing imports
    ///
    /// ## Why it matters
    /// Names are cheap to change in a model. Once documents are stored, a query for `createTime` matches no
    /// documents and raises no error if the field is called `create_time`.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    ///
    /// module.exports = mongoose.model('Order', new mongoose.Schema({
    ///   userName: String,
    ///   orderItems: [String],
    ///   payTime: Date,
    ///   Create_Time: Date,
    /// }));
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    ///
    /// module.exports = mongoose.model('Order', new mongoose.Schema({
    ///   userName: String,
    ///   orderItems: [String],
    ///   payTime: Date,
    ///   createTime: Date,
    ///   total: Number,
    ///   trackingURL: String,
    /// }));
    /// ```
    ///
    /// ## How to fix
    /// Rename the field before data is stored. If data exists, rename it there as well, and let clients read both
    /// names during the change.
    ///
    /// ## When to ignore it
    /// The documents come from another system and must stay unchanged.
    N022, "field-name-in-model",
    level: Recommended,
    area: Hygiene,
    severities: [Warn],
    clauses: ["DM-04.1", "DM-04.2", "DM-04.3", "DM-04.4", "DM-04.5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [MAX_LENGTH],
    data: ["names"],
    check: Deployment(check),
}

threshold!(
    MAX_LENGTH,
    "max-length",
    Int(40),
    "characters",
    "DM-04.4, GC-24: our default",
    "maximum length of a field name"
);

const WHY: &str =
    "MongoDB does not check field names: a misspelled one matches no documents and raises no error";

/// The minimum number of names of one style that make it the style of a document.
const PREVAILING: usize = 3;

/// Fields with their names, by the object that they belong to.
type Objects<'e> = BTreeMap<&'e str, Vec<(&'e DeclaredField, &'e str)>>;

/// A name that an exception may cover.
struct Name<'e> {
    code: &'e Code,
    field: &'e DeclaredField,
    name: &'e str,
    /// The style of its sibling names.
    wanted: Option<Style>,
}

impl Name<'_> {
    /// Whether the rest of the name has the style of its sibling names, or is one word.
    fn has_rest(&self, rest: &str) -> bool {
        let style = style_of(rest);
        rest != self.name
            && (style == Style::Neutral || self.wanted.unwrap_or(Style::Camel) == style)
    }
}

/// The reason why a name in another style is not reported.
struct Exception {
    /// The bullet on the page.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares it with the page"))]
    page: &'static str,
    applies: fn(&Name<'_>) -> bool,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        page: "acronyms and constants in capitals (`URL`, `SMTPHost`, `org_UUID`)",
        applies: |name| {
            let is_acronym = || name.name.split('_').all(|part| part.len() <= 5);
            (style_of(name.name) == Style::Screaming
                && is_acronym()
                && long_form(name.name).is_none())
                || without_capitals(name.name).is_some_and(|rest| name.has_rest(&rest))
        },
    },
    Exception {
        page: "numbers and versions (`title_v2`, `open24_7`)",
        applies: |name| name.has_rest(&without_versions(name.name)),
    },
    Exception {
        page: "names that a library writes (`__v`, `created_at` of timestamps)",
        applies: |name| {
            // Drivers write references to documents with these names.
            let is_reference = matches!(name.name, "$ref" | "$id" | "$db");
            is_reference || name.field.generated || is_framework(name.name)
        },
    },
    Exception {
        page: "models that nothing imports",
        applies: |name| name.code.is_idle(&name.field.place.location.file),
    },
];

/// A name at fault.
struct Fault<'e> {
    field: &'e DeclaredField,
    name: &'e str,
    /// The fault, as text after the name.
    what: String,
    /// Whether the document proves it: its other names have a style, or no name may have this form.
    is_proven: bool,
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(code) = &evidence.code else { return };
    let longest = cx.count(&MAX_LENGTH);
    let mut models: BTreeMap<(&str, &str), Objects<'_>> = BTreeMap::new();
    for (field, name) in code::fields(evidence, |_, field, _| !field.generated) {
        let file = field.place.location.file.as_str();
        let object = field.path.rsplit_once('.').map_or("", |(object, _)| object);
        let objects = models.entry((file, &field.model)).or_default();
        objects.entry(object).or_default().push((field, name));
    }
    for objects in models.values() {
        let (proven, likely): (Vec<_>, Vec<_>) =
            faults(code, objects, longest).into_iter().partition(|fault| fault.is_proven);
        report(evidence, &proven, false, cx);
        report(evidence, &likely, true, cx);
    }
}

/// The faulty names of a model, each once.
fn faults<'e>(code: &'e Code, objects: &Objects<'e>, longest: u64) -> Vec<Fault<'e>> {
    let mut found: Vec<Fault<'e>> = Vec::new();
    let mut known = BTreeSet::new();
    for fields in objects.values() {
        let names: BTreeSet<&str> = fields.iter().map(|(_, name)| *name).collect();
        let wanted = prevailing(&names);
        for &(field, name) in fields {
            let Some((what, is_proven)) = fault(name, wanted, longest) else { continue };
            let candidate = Name { code, field, name, wanted };
            let is_exempt = EXCEPTIONS.iter().any(|exception| (exception.applies)(&candidate));
            if !is_exempt && known.insert(name) {
                let is_proven = is_proven && field.is_stored;
                found.push(Fault { field, name, what, is_proven });
            }
        }
    }
    found.sort_by(|a, b| a.field.place.location.cmp(&b.field.place.location));
    found
}

/// The style of at least three names and of three quarters of those with a style.
fn prevailing(names: &BTreeSet<&str>) -> Option<Style> {
    let of = |style: Style| names.iter().filter(|name| style_of(name) == style).count();
    let all = of(Style::Camel) + of(Style::Snake) + of(Style::Pascal);
    [Style::Camel, Style::Snake]
        .into_iter()
        .find(|style| of(*style) >= PREVAILING && of(*style) * 4 >= all * 3)
}

/// Returns the fault of a name, and whether its document proves it.
fn fault(name: &str, wanted: Option<Style>, longest: u64) -> Option<(String, bool)> {
    let is_reserved = |c: char| c == '.' || c.is_whitespace() || c.is_control();
    if name.starts_with('$') || name.contains(is_reserved) {
        return Some(("has characters that are hard to query".to_owned(), true));
    }
    if name.starts_with('_') {
        return Some(("begins with an underscore".to_owned(), false));
    }
    if name.chars().count() as u64 > longest {
        return Some((format!("has {} characters", name.chars().count()), false));
    }
    if let Some(long) = long_form(name) {
        let spelling = in_style(long, wanted.unwrap_or(Style::Camel));
        return Some((
            format!("is an abbreviation without a clear meaning (perhaps `{spelling}`)"),
            true,
        ));
    }
    match (style_of(name), wanted) {
        (Style::Mixed, _) => {
            let spelling = in_style(name, wanted.unwrap_or(Style::Camel));
            Some((format!("mixes two styles (`{spelling}`)"), wanted.is_some()))
        }
        (
            Style::Camel | Style::Snake | Style::Pascal | Style::Screaming | Style::Kebab,
            Some(wanted),
        ) if style_of(name) != wanted => {
            let (style, spelling) = (wanted.name(), in_style(name, wanted));
            Some((format!("is not {style} like the others (`{spelling}`)"), true))
        }
        _ => None,
    }
}

/// A name without acronyms and constants: `docs` of `KYC_docs`, `smtpHost` of `SMTPHost`.
fn without_capitals(name: &str) -> Option<String> {
    let is_constant = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_uppercase())
            && !part.bytes().any(|b| b.is_ascii_lowercase())
    };
    let parts: Vec<&str> = name.split('_').filter(|part| !is_constant(part)).collect();
    let capitals = name.bytes().take_while(u8::is_ascii_uppercase).count();
    if name.contains('_') {
        (!parts.is_empty()).then(|| parts.join("_"))
    } else {
        (capitals > 2 && capitals < name.len())
            .then(|| name[..capitals - 1].to_ascii_lowercase() + &name[capitals - 1..])
    }
}

/// A name without numbers and versions: `title` of `title_v2`.
fn without_versions(name: &str) -> String {
    let is_version = |part: &&str| {
        let digits = part.strip_prefix('v').unwrap_or(part);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    name.split('_').filter(|part| !is_version(part)).collect::<Vec<_>>().join("_")
}

fn report(evidence: &Evidence, faults: &[Fault<'_>], is_pedantic: bool, cx: &mut Cx<'_>) {
    let Some(first) = faults.first() else { return };
    let listed: Vec<String> =
        faults.iter().take(5).map(|fault| format!("`{}` {}", fault.name, fault.what)).collect();
    let more = faults.len() - listed.len();
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    let names: Vec<&str> = faults.iter().map(|fault| fault.name).collect();
    let model = &first.field.model;
    let draft = code::draft(
        evidence,
        &first.field.place,
        &format!("{model} names"),
        format!("in `{model}`, {}{rest}", listed.join(", ")),
        WHY,
        "rename them before documents are stored, or together with the stored documents",
    )
    .paths(faults.iter().map(|fault| FieldPath::new(&fault.field.path)))
    .data("names", text::list(&names, 20))
    .locations(faults.iter().skip(1).map(|fault| fault.field.place.location.clone()));
    cx.report(if is_pedantic { draft.pedantic() } else { draft });
}

#[cfg(test)]
mod tests {
    use super::{EXCEPTIONS, FieldPath};
    use crate::testing::check;

    #[test]
    fn dm_04_1_exceptions_are_on_the_page() {
        let pages: Vec<&str> = EXCEPTIONS.iter().map(|exception| exception.page).collect();
        crate::facts::schema::model_fields::tests::bullets_are("N022", &pages);
    }

    #[test]
    fn dm_04_3_known_abbreviations_of_a_model_are_reported() {
        let model = |name: &str| {
            let head = "source order.js\nconst mongoose = require('mongoose');\n";
            let fields = "orderItems: [String], payTime: Date";
            format!(
                "{head}module.exports = mongoose.model('Order', new mongoose.Schema({{{name}: String, {fields}}}));\n"
            )
        };
        let found = check("N022", &model("UN"));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("perhaps `userName`"), "{}", found[0].what);
        assert_eq!(found[0].paths, [FieldPath::new("UN")]);
        for name in ["ID", "URL", "ip", "qty", "userName"] {
            assert!(check("N022", &model(name)).is_empty(), "{name}");
        }
    }
}
