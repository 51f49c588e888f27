//! DM-04.1, DM-04.2, DM-04.4, DM-04.5: names of fields as models in source code declare them.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use docward_model::{Evidence, Severity, code::DeclaredField};

use crate::{
    Cx, declare_rule,
    facts::{
        code,
        names::{Style, in_style, style, words},
        naming::{is_framework, is_known_abbreviation},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Field name in a model
    ///
    /// ## What it checks
    /// Reads the fields that models in source code declare (Mongoose, NestJS, Prisma, Pydantic and Beanie, Go
    /// structs, Spring Data) and reports, once for each model, names that are written otherwise than the names
    /// beside them (`created_at` among `userName`, `orderItems` and `payTime`: three of four at least) or that mix
    /// two styles (`Create_Time`). Each document within a document is judged by itself: objects of other systems
    /// come with names of their own. Where the project as a whole writes as the name does, the name is not odd, and
    /// where it has no style of its own it is information, also of a name that mixes two. So are names that begin with an underscore or are long.
    /// What three or more models have, an underscore, the same odd name or a prefix before names of another style
    /// (`cart_userId`, `order_itemCount`), or `Create_Time` where nearly all names are written like that, is a habit of the project and told once.
    /// One-word names fit either style unless they begin with a capital, and so do acronyms (`URL`, `URLID`, also those that a name
    /// begins with, `SMTPHost`, `KYC_docs`), constants behind a word (`org_UUID`, `to_IN_REVIEW`) and figures (`open24_7`); names that object mappers write are left out, and models in files that no other takes in.
    ///
    /// ## Why it matters
    /// A model is where names are cheap to change. Once documents are stored with them, a query for
    /// `createTime` where the data says `create_time` finds nothing and says nothing.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// const schema = new mongoose.Schema({userName: String, orderItems: [String], Create_Time: Date});
    /// module.exports = mongoose.model('Order', schema);
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const schema = new mongoose.Schema({userName: String, orderItems: [String], createTime: Date, total: Number});
    /// module.exports = mongoose.model('Order', schema);
    /// ```
    ///
    /// ## How to fix
    /// Rename the field before it is stored. For data that exists rename it there too, and let clients read both
    /// names meanwhile.
    ///
    /// ## When to ignore it
    /// The documents come from another system and have to stay as they are.
    N022, "field-name-in-model",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-04.1", "DM-04.2", "DM-04.4", "DM-04.5"],
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
    "longest field name"
);

/// Names of the prevailing style that make it one.
const PREVAILING: usize = 3;

/// Models with the same odd name, or with names that begin with an underscore, that make it a habit of the project.
const HABIT: usize = 3;

/// Names from which on a project has a style, or none.
const MANY_NAMES: usize = 8;

/// The fields of a model with the last parts of their paths, by the document within it that they belong to.
type Documents<'a> = BTreeMap<&'a str, Vec<(&'a DeclaredField, &'a str)>>;

/// A name that is not as others are.
struct Odd<'a> {
    field: &'a DeclaredField,
    leaf: &'a str,
    fault: Fault,
}

/// What is wrong with a name.
enum Fault {
    /// It begins with an underscore.
    Underscore,
    /// It has so many characters.
    Long(usize),
    /// It is written otherwise than others, or in two ways at once; in words.
    Style {
        why: String,
        /// Whether the project has a style that it breaks.
        is_broken: bool,
        /// Whether the name has two styles in itself, among names that have none in common.
        mixes: bool,
    },
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let longest = cx.count(&MAX_LENGTH);
    // By file, model and document within it: each has a style of its own, what others send comes in theirs.
    let mut models: BTreeMap<(&str, &str), Documents<'_>> = BTreeMap::new();
    for (field, leaf) in code::fields(evidence, |found, field, leaf| {
        !field.generated && !is_framework(leaf) && !found.is_idle(&field.place.location.file)
    }) {
        let file = field.place.location.file.as_str();
        let above = field.path.rsplit_once('.').map_or("", |(above, _)| above);
        let documents = models.entry((file, &field.model)).or_default();
        documents.entry(above).or_default().push((field, leaf));
    }
    let names: BTreeSet<(&str, &str, &str)> = models
        .iter()
        .flat_map(|((file, model), documents)| {
            documents.values().flatten().map(move |(_, leaf)| (*file, *model, *leaf))
        })
        .collect();
    let project = prevailing(names.iter().map(|(_, _, leaf)| *leaf));
    let styled = names.iter().filter(|(_, _, leaf)| !matches!(style(leaf), Style::Neutral));
    let has_style = project.is_some() || styled.count() < MANY_NAMES;
    let mut all: Vec<Vec<Odd<'_>>> =
        models.values().map(|documents| odd_names(documents, project, longest)).collect();
    underscores(evidence, &mut all, cx);
    titles(evidence, &names, &mut all, cx);
    // Where a project has no style, a name that mixes two breaks none.
    for fault in all.iter_mut().flatten().map(|odd| &mut odd.fault) {
        if let Fault::Style { is_broken, mixes: true, .. } = fault {
            *is_broken &= has_style;
        }
    }
    same_names(evidence, &names, &mut all, cx);
    for odd in all {
        report(evidence, &odd, cx);
    }
}

/// Takes out names that begin with an underscore where that is a habit, and tells them once.
fn underscores(evidence: &Evidence, all: &mut [Vec<Odd<'_>>], cx: &mut Cx<'_>) {
    let begins = |odd: &&Odd<'_>| matches!(odd.fault, Fault::Underscore);
    let count = all.iter().filter(|odd| odd.iter().any(|odd| begins(&odd))).count();
    if count < HABIT {
        return;
    }
    let names: Vec<&Odd<'_>> = all.iter().flatten().filter(begins).collect();
    let said = "have names that begin with an underscore, such as";
    habit(
        evidence,
        &names,
        count,
        "underscores",
        said,
        "leave the underscore to `_id` in what is new",
        cx,
    );
    all.iter_mut().for_each(|odd| odd.retain(|odd| !begins(&odd)));
}

/// Takes out names in the style of titles (`Create_Time`) where the whole project writes so, and tells them once.
fn titles(
    evidence: &Evidence,
    names: &BTreeSet<(&str, &str, &str)>,
    all: &mut [Vec<Odd<'_>>],
    cx: &mut Cx<'_>,
) {
    let written: Vec<&(&str, &str, &str)> =
        names.iter().filter(|(_, _, leaf)| is_title(leaf)).collect();
    let others = names.iter().filter(|(_, _, leaf)| {
        !is_title(leaf) && matches!(style(leaf), Style::Camel | Style::Snake)
    });
    let models: BTreeSet<(&str, &str)> =
        written.iter().map(|(file, model, _)| (*file, *model)).collect();
    if models.len() < HABIT || written.len() < 3 * others.count() {
        return;
    }
    let is_told = |odd: &&Odd<'_>| matches!(odd.fault, Fault::Style { .. }) && is_title(odd.leaf);
    let found: Vec<&Odd<'_>> = all.iter().flatten().filter(is_told).collect();
    habit(
        evidence,
        &found,
        models.len(),
        "titles",
        "have names with a capital behind each underscore, such as",
        "choose one way of writing for what is new",
        cx,
    );
    all.iter_mut().for_each(|odd| odd.retain(|odd| !is_told(&odd)));
}

/// Whether each word of a name begins with a capital, with underscores between: `Create_Time`.
fn is_title(name: &str) -> bool {
    name.contains('_')
        && name.split('_').all(|word| {
            word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
                && !word.chars().skip(1).any(|c| c.is_ascii_uppercase())
        })
}

/// Takes out odd names that several models have, and tells each once. References that end in `_id` are one habit.
fn same_names(
    evidence: &Evidence,
    names: &BTreeSet<(&str, &str, &str)>,
    all: &mut [Vec<Odd<'_>>],
    cx: &mut Cx<'_>,
) {
    let is_style = |odd: &&Odd<'_>| matches!(odd.fault, Fault::Style { .. });
    let mut models: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for (file, model, leaf) in names {
        models.entry(alike(leaf)).or_default().insert((file, model));
    }
    let odd: BTreeSet<&str> =
        all.iter().flatten().filter(is_style).map(|odd| alike(odd.leaf)).collect();
    let habits: Vec<&str> = odd
        .into_iter()
        .filter(|habit| models.get(habit).is_some_and(|models| models.len() >= HABIT))
        .collect();
    for name in &habits {
        let same = |odd: &&Odd<'_>| is_style(odd) && alike(odd.leaf) == *name;
        let found: Vec<&Odd<'_>> = all.iter().flatten().filter(same).collect();
        let why = found.first().map(|odd| odd.fault.text()).unwrap_or_default();
        let said = format!("have a name that {why}, such as");
        let count = models.get(name).map_or(0, BTreeSet::len);
        habit(
            evidence,
            &found,
            count,
            name,
            &said,
            "choose one way of writing it for what is new",
            cx,
        );
    }
    let is_told = |odd: &Odd<'_>| is_style(&odd) && habits.contains(&alike(odd.leaf));
    all.iter_mut().for_each(|odd| odd.retain(|odd| !is_told(odd)));
}

/// What names have in common that are written out of one habit.
fn alike(leaf: &str) -> &str {
    // `cart_userId`: a prefix, and a name of another style behind it.
    if let Some((prefix, rest)) = leaf.split_once('_')
        && !prefix.is_empty()
        && prefix.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && !rest.contains('_')
        && style(rest) == Style::Camel
    {
        return "prefix_camelCase";
    }
    const REFERENCES: [&str; 4] = ["_id", "_ids", "_ref", "_refs"];
    REFERENCES.into_iter().find(|end| leaf.len() > end.len() && leaf.ends_with(end)).unwrap_or(leaf)
}

impl Fault {
    /// In words, behind the name.
    fn text(&self) -> String {
        match self {
            Self::Underscore => "begins with an underscore".to_owned(),
            Self::Long(length) => format!("has {length} characters"),
            Self::Style { why, .. } => why.clone(),
        }
    }
}

/// The odd names of a model, each once.
fn odd_names<'a>(documents: &Documents<'a>, project: Option<Style>, longest: u64) -> Vec<Odd<'a>> {
    let mut out: Vec<Odd<'a>> = Vec::new();
    for fields in documents.values() {
        let names: BTreeSet<&str> = fields.iter().map(|(_, leaf)| *leaf).collect();
        let prevailing = prevailing(names.iter().copied());
        for (field, leaf) in fields {
            if out.iter().any(|known| known.leaf == *leaf) {
                continue;
            }
            if let Some(fault) = oddity(leaf, prevailing, project, longest) {
                out.push(Odd { field, leaf, fault });
            }
        }
    }
    out.sort_by(|a, b| a.field.place.location.cmp(&b.field.place.location));
    out
}

fn report(evidence: &Evidence, odd: &[Odd<'_>], cx: &mut Cx<'_>) {
    let Some(first) = odd.first() else { return };
    let listed: Vec<String> =
        odd.iter().take(5).map(|odd| format!("`{}` {}", odd.leaf, odd.fault.text())).collect();
    let more = odd.len() - listed.len();
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    let names: Vec<&str> = odd.iter().map(|odd| odd.leaf).collect();
    let model = &first.field.model;
    // A model that documents are only read into follows them; how long is too long nobody has laid down.
    let is_style = odd.iter().any(|odd| matches!(odd.fault, Fault::Style { is_broken: true, .. }));
    let is_own = odd.iter().any(|odd| !odd.field.only_read)
        && !code::is_never_run(evidence, &first.field.place);
    cx.report(
        code::draft(
            evidence,
            &first.field.place,
            &format!("{model} names"),
            format!("in `{model}`, {}{rest}", listed.join(", ")),
            WHY,
            "rename them while it is cheap: before documents are stored, or together with them",
        )
        .data("names", text::list(&names, 20))
        .locations(odd.iter().skip(1).map(|odd| odd.field.place.location.clone()))
        .severity(if is_style && is_own { Severity::Warn } else { Severity::Info }),
    );
}

/// A way of writing that the whole project has is told once.
fn habit(
    evidence: &Evidence,
    odd: &[&Odd<'_>],
    models: usize,
    about: &str,
    said: &str,
    todo: &'static str,
    cx: &mut Cx<'_>,
) {
    let Some(first) = odd.iter().min_by_key(|odd| &odd.field.place.location) else { return };
    let names: BTreeSet<&str> = odd.iter().map(|odd| odd.leaf).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut places: Vec<_> = odd.iter().map(|odd| odd.field.place.location.clone()).collect();
    places.sort();
    let what = format!("{models} models {said} `{}` of `{}`", first.leaf, first.field.model);
    cx.report(
        code::draft(evidence, &first.field.place, about, what, WHY, todo)
            .data("names", text::list(&names, 20))
            .locations(places)
            .severity(Severity::Info),
    );
}

const WHY: &str =
    "MongoDB does not check field names: a misspelled one matches no documents and raises no error";

/// The style that names have, when three of four of those that show one have it.
fn prevailing<'n>(names: impl Iterator<Item = &'n str>) -> Option<Style> {
    let (mut camel, mut snake, mut pascal) = (0, 0, 0);
    for name in names {
        match style(name) {
            Style::Camel => camel += 1,
            Style::Snake => snake += 1,
            Style::Pascal if !begins_with_acronym(name) => pascal += 1,
            _ => {}
        }
    }
    // Names with a capital first are odd among others as long as they are few.
    let prevails = |one: usize| one >= PREVAILING && one * 4 >= (camel + snake) * 3 && one > pascal;
    if prevails(camel) {
        Some(Style::Camel)
    } else if prevails(snake) {
        Some(Style::Snake)
    } else {
        None
    }
}

/// A name whose end is a code, an acronym or a constant (`org_UUID`, `score_E1`, `to_IN_REVIEW`) as if that were of
/// words.
fn without_code(name: &str) -> Cow<'_, str> {
    let is_code = |code: &str| {
        code.starts_with(|c: char| c.is_ascii_uppercase())
            && code.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    // `KYC_docs`: an acronym first.
    if let Some((first, rest)) = name.split_once('_')
        && first.len() > 1
        && is_code(first)
        && !rest.is_empty()
        && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    {
        return name.to_ascii_lowercase().into();
    }
    let at = name.match_indices('_').map(|(at, _)| at).find(|at| is_code(&name[at + 1..]));
    match at.map(|at| name.split_at(at)) {
        Some((rest, code)) if rest.contains(|c: char| c.is_ascii_lowercase()) => {
            format!("{rest}{}", code.to_ascii_lowercase()).into()
        }
        _ => name.into(),
    }
}

/// Whether a name is a constant of somebody: `RANKED_SOLO_5x5`.
fn is_constant(name: &str) -> bool {
    let chars: Vec<char> = name.chars().collect();
    let is_figure =
        |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit);
    let has_times = chars
        .iter()
        .enumerate()
        .any(|(at, c)| *c == 'x' && is_figure(at.checked_sub(1)) && is_figure(Some(at + 1)));
    has_times
        && chars
            .iter()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '_' | 'x'))
}

/// Whether a name begins with an acronym or a proper name in capitals, which camelCase has no way of its own for:
/// `SMTPHost`.
fn begins_with_acronym(name: &str) -> bool {
    let capitals = name.chars().take_while(char::is_ascii_uppercase).count();
    capitals > 2 && capitals < name.len() && !name.contains(['_', '-'])
}

/// A name without underscores between figures, which tell them apart and no words: `open24_7`.
fn without_figures(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let is_figure =
        |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit);
    let between = |at: usize| is_figure(at.checked_sub(1)) && is_figure(Some(at + 1));
    chars.iter().enumerate().filter(|(at, c)| **c != '_' || !between(*at)).map(|(_, c)| c).collect()
}

/// Whether a name is an acronym that everybody knows and one behind it: `URLID`; or a short one and an underscore
/// between: `IB_ID`.
fn is_two_acronyms(name: &str) -> bool {
    ["ID", "URL", "UUID"].iter().any(|end| {
        name.strip_suffix(end).is_some_and(|first| match first.strip_suffix('_') {
            Some(first) => first.len() <= 4 && !first.contains('_'),
            None => is_known_abbreviation(&first.to_ascii_lowercase()),
        })
    })
}

/// A name without the number of its version: `title_v2`.
fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((first, version))
            if !first.is_empty()
                && !version.is_empty()
                && version.chars().all(|c| c.is_ascii_digit()) =>
        {
            first
        }
        _ => name,
    }
}

/// What is wrong with a name; the least of what can be said about it.
fn oddity(
    name: &str,
    prevailing: Option<Style>,
    project: Option<Style>,
    longest: u64,
) -> Option<Fault> {
    let bare = name.trim_start_matches('_');
    if bare.len() < name.len() && !bare.is_empty() {
        return Some(Fault::Underscore);
    }
    if is_constant(name) {
        return None;
    }
    let written = style(&without_figures(&without_code(without_version(name))));
    if written == Style::Mixed {
        let wanted = in_style(name, prevailing.or(project).unwrap_or(Style::Camel));
        let why = format!("mixes two styles (`{wanted}`)");
        return Some(Fault::Style { why, is_broken: true, mixes: prevailing.is_none() });
    }
    if name.chars().count() as u64 > longest {
        return Some(Fault::Long(name.chars().count()));
    }
    // What the whole project writes in is not odd in one document of it.
    let other = prevailing.filter(|prevailing| {
        !matches!(written, Style::Neutral | Style::Other)
            && written != *prevailing
            && project != Some(written)
    })?;
    // `URL`, `ID`: known by everybody as they are; `HOD`: known to those who write it.
    let is_acronym = written == Style::Screaming && (name.len() <= 4 || is_two_acronyms(name));
    if is_acronym
        || (begins_with_acronym(name) && other == Style::Camel)
        || is_known_abbreviation(name)
        || words(name).iter().all(|word| is_known_abbreviation(word))
    {
        return None;
    }
    let why = format!("is not {} like the others (`{}`)", other.name(), in_style(name, other));
    Some(Fault::Style { why, is_broken: project == Some(other), mixes: false })
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_04_1_capitals_count_and_figures_and_proper_names_do_not() {
        let found = |names: &str| {
            let fields = names.split(' ').map(|name| format!("{name}: String"));
            let fields = fields.collect::<Vec<_>>().join(", ");
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('A', new mongoose.Schema({{{fields}}}));"
            );
            check("N022", &text).len()
        };
        let camel = "userName orderItems payTime";
        assert_eq!(found(&format!("{camel} MeetingDate")), 1);
        assert_eq!(found(&format!("{camel} MeetingDate Subject Place Time")), 0);
        assert_eq!(found(&format!("{camel} HDBankUid")), 0);
        assert_eq!(found(&format!("{camel} isOpen24_7")), 0);
        assert_eq!(found(&format!("{camel} isOpen_now")), 1);
    }

    #[test]
    fn dm_04_1_a_prefix_before_every_name_is_one_habit() {
        let models = |count: usize| {
            let all = (0..count).map(|n| {
                format!("source m{n}.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('M{n}', new mongoose.Schema({{userName: String, orderItems: [String], payTime: Date, m{n}_userId: String}}));\n")
            });
            check("N022", &all.collect::<String>())
        };
        assert_eq!(models(2).len(), 2);
        let found = models(4);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, docward_model::Severity::Info);
        assert!(found[0].what.starts_with("4 models"), "{found:?}");
    }

    #[test]
    fn dm_04_1_titles_all_over_the_project_are_one_habit() {
        let models = |names: &str| {
            let all = (0..3).map(|n| {
                format!("source m{n}.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('M{n}', new mongoose.Schema({{{names}}}));\n")
            });
            check("N022", &all.collect::<String>())
        };
        let found = models("Pet_Name: String, Pet_Kind: String, Owner_Id: String, Age: Number");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, docward_model::Severity::Info);
        assert!(found[0].what.starts_with("3 models have names with a capital"), "{found:?}");
    }

    #[test]
    fn dm_04_1_a_mixed_name_breaks_no_style_where_there_is_none() {
        let worst = |names: &str| {
            let fields = names.split(' ').map(|name| format!("{name}: String"));
            let fields = fields.collect::<Vec<_>>().join(", ");
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('A', new mongoose.Schema({{{fields}}}));"
            );
            check("N022", &text).iter().map(|found| found.severity).max()
        };
        use docward_model::Severity::{Info, Warn};
        let none = "share_parsed user_like UserLike FileName fileName PageCount totalSum pay_time";
        assert_eq!(worst(&format!("{none} Payment_status")), Some(Info));
        assert_eq!(worst("fileName pageCount totalSum Payment_status"), Some(Warn));
    }

    #[test]
    fn dm_04_1_codes_at_the_end_are_no_style() {
        let found = |name: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('A', new mongoose.Schema({{user_name: String, order_items: [String], pay_time: Date, {name}: String}}));"
            );
            check("N022", &text).len()
        };
        assert_eq!([found("org_UUID"), found("score_E1"), found("Create_Time")], [0, 0, 1]);
        assert_eq!([found("to_IN_REVIEW"), found("URLID"), found("Create_TIME")], [0, 0, 1]);
        assert_eq!([found("CUSTOMER"), found("TOTAL_SUM")], [1, 1]);
        assert_eq!([found("TEAM_SOLO_5x5"), found("TEAM_SOLO_xy")], [0, 1]);
    }

    fn mongoose(fields: &str) -> Vec<String> {
        let body = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{{fields}}});\nmodule.exports = mongoose.model('Order', s);\n"
        );
        check("N022", &body).into_iter().map(|found| found.what).collect()
    }

    #[test]
    fn dm_04_1_the_other_style_is_told_once_for_a_model() {
        let said =
            mongoose("userName: String, orderItems: [String], create_time: Date, pay_time: Date");
        assert_eq!(said.len(), 0, "two of each: nobody can say which is odd: {said:?}");
        let said =
            mongoose("userName: String, orderItems: [String], payTime: Date, create_time: Date");
        assert_eq!(said.len(), 1);
        assert!(
            said[0].contains("`create_time` is not camelCase like the others (`createTime`)"),
            "{said:?}"
        );
    }

    #[test]
    fn dm_04_2_two_styles_in_one_name() {
        let said = mongoose("Create_Time: Date, total: Number");
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("mixes two styles"), "{said:?}");
    }

    #[test]
    fn dm_04_4_dm_04_5_long_names_and_underscores() {
        let long = "theUniqueIdentifierOfTheCustomerWhoPlacedTheOrder";
        let said = mongoose(&format!("{long}: String, _total: Number, customerId: String"));
        assert_eq!(said.len(), 1);
        assert!(
            said[0].contains("49 characters") && said[0].contains("`_total` begins"),
            "{said:?}"
        );
    }

    #[test]
    fn dm_04_1_documents_within_are_judged_by_themselves() {
        let own = "userName: String, orderItems: [String], ";
        let snake = "cancel_at: Date, billing_cycle: String, trial_end: Date";
        let said = mongoose(&format!("{own}subscription: {{{snake}}}"));
        assert!(said.is_empty(), "another system's object: {said:?}");
        let said = mongoose(&format!("{own}subscription: {{{snake}, trialEnd: Date}}"));
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("`trialEnd` is not snake_case"), "{said:?}");
    }

    #[test]
    fn dm_04_4_dm_04_5_length_and_underscores_are_information() {
        use docward_model::Severity::{Info, Warn};
        let model = |name: &str, fields: &str| {
            format!("const {name} = mongoose.model('{name}', new mongoose.Schema({{{fields}}}));\n")
        };
        let found = |models: &[String]| {
            let body =
                format!("source a.js\nconst mongoose = require('mongoose');\n{}", models.concat());
            let found = check("N022", &body);
            found.into_iter().map(|finding| (finding.severity, finding.what)).collect::<Vec<_>>()
        };
        let long = "theUniqueIdentifierOfTheCustomerWhoPlacedTheOrder";
        let only = found(&[model("A", &format!("{long}: String"))]);
        assert_eq!(only.iter().map(|(severity, _)| *severity).collect::<Vec<_>>(), [Info]);
        assert_eq!(found(&[model("A", "_userId: String, name: String")])[0].0, Info);
        // With a style of its own wrong, it is a warning; a habit is told once for all.
        assert_eq!(found(&[model("A", "_userId: String, Create_Time: Date")])[0].0, Warn);
        let names = ["A", "B", "C"];
        let habit = found(&names.map(|name| model(name, "_userId: String, _teamId: String")));
        assert_eq!(habit.len(), 1, "{habit:?}");
        assert!(habit[0].1.starts_with("3 models have names"), "{habit:?}");
        assert_eq!(found(&["A", "B"].map(|name| model(name, "_userId: String"))).len(), 2);
    }

    #[test]
    fn dm_04_1_the_style_of_the_project_decides() {
        use docward_model::Severity::{Info, Warn};
        let model = |name: &str, fields: &str| {
            format!("mongoose.model('{name}', new mongoose.Schema({{{fields}}}));\n")
        };
        let found = |models: &[String]| {
            let body =
                format!("source a.js\nconst mongoose = require('mongoose');\n{}", models.concat());
            let found = check("N022", &body);
            found.into_iter().map(|finding| (finding.severity, finding.what)).collect::<Vec<_>>()
        };
        let mixed =
            model("A", "userName: String, orderItems: Number, payTime: Date, id_project: String");
        assert_eq!(found(std::slice::from_ref(&mixed))[0].0, Warn);
        let snake = "first_name: String, last_name: String, zip_code: String, street_name: String, \
                     house_number: String, phone_number: String, mail_address: String, user_role: String, \
                     is_active: Boolean";
        assert!(
            found(&[mixed.clone(), model("B", snake)]).is_empty(),
            "the project writes snake_case"
        );
        let half = "first_name: String, last_name: String, zip_code: String";
        assert_eq!(found(&[mixed, model("B", half)])[0].0, Info, "the project has no style");
        let names = ["A", "B", "C"];
        let camel = "userName: String, orderItems: Number, payTime: Date, unique_id: String";
        let habit = found(&names.map(|name| model(name, camel)));
        assert_eq!(habit.len(), 1, "{habit:?}");
        assert_eq!(habit[0].0, Info);
        assert!(habit[0].1.starts_with("3 models have a name that is not camelCase"), "{habit:?}");
        let refs = [("A", "user_id"), ("B", "team_id"), ("C", "order_id")]
            .map(|(name, id)| model(name, &camel.replace("unique_id", id)));
        assert_eq!(found(&refs).len(), 1, "{:?}", found(&refs));
        assert_eq!(found(&refs[..2]).len(), 2);
    }

    #[test]
    fn dm_04_1_output_of_compilers_and_structs_of_api_clients_are_not_judged() {
        let odd = "userName: String, orderItems: [String], payTime: Date, create_time: Date";
        let model = format!(
            "const mongoose = require('mongoose');\nconst s = new mongoose.Schema({{{odd}}});\nmodule.exports = mongoose.model('Order', s);\n"
        );
        let count = |file: &str, text: &str| check("N022", &format!("source {file}\n{text}")).len();
        assert_eq!(count("lib/order.js", &model), 1);
        assert_eq!(count("lib/order.1.js", &model), 0, "a copy that nobody uses");
        assert_eq!(
            count(
                "lib/order.js",
                &format!(
                    "\"use strict\";\nObject.defineProperty(exports, \"__esModule\", {{ value: true }});\n{model}"
                )
            ),
            0
        );
        assert_eq!(
            count("lib/order.js", &format!("{model}//# sourceMappingURL=order.js.map\n")),
            0
        );
        let go = "package types\ntype Run struct {\n ID primitive.ObjectID `bson:\"_id\" json:\"id\"`\n RunName string `bson:\"runName\"`\n StartedAt string `bson:\"startedAt\"`\n LastError string `bson:\"lastError\"`\n Exit string `bson:\"exit_code\"`\n}\nfunc f() Run { return Run{RunName: \"a\"} }\n";
        assert_eq!(count("api/types/types.go", go), 1);
        assert_eq!(count("cli/types/types.go", go), 0);
    }

    #[test]
    fn dm_04_1_names_of_frameworks_and_acronyms_are_left_alone() {
        assert_eq!(
            mongoose(
                "userName: String, orderItems: [String], URL: String, __v: Number, _class: String"
            )
            .len(),
            0
        );
    }

    #[test]
    fn dm_04_1_names_that_the_framework_chooses_are_left_out() {
        let model = |timestamps: &str| {
            let body = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{user_name: String, order_items: [String], pay_time: Date}}, {{timestamps: {timestamps}}});\nmodule.exports = mongoose.model('Order', s);\n"
            );
            check("N022", &body).len()
        };
        assert_eq!(model("true"), 0);
        assert_eq!(model("{createdAt: 'created_at', updatedAt: 'updated_at'}"), 0);
        // This one somebody chose.
        assert_eq!(model("{createdAt: 'createTime'}"), 1);
    }

    #[test]
    fn dm_04_2_acronyms_that_a_name_begins_with() {
        let count = |name: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Owner', new mongoose.Schema({{first_name: String, last_name: String, phone_number: String, {name}: String}}));"
            );
            check("N022", &text).len()
        };
        assert_eq!(count("KYC_docs"), 0);
        assert_eq!(count("Kyc_docs"), 1);
    }

    #[test]
    fn dm_04_1_versions_and_acronyms_behind_acronyms() {
        let count = |name: &str| {
            mongoose(&format!(
                "userName: String, orderItems: [String], payTime: Date, {name}: String"
            ))
            .len()
        };
        assert_eq!(count("title_v2"), 0);
        assert_eq!(count("IB_ID"), 0);
        assert_eq!(count("title_text"), 1);
    }
}
