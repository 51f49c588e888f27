//! DM-04.1, DM-04.2, DM-04.4, DM-04.5: names of fields as models in source code declare them.

use std::collections::{BTreeMap, BTreeSet};

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
    /// structs, Spring Data) and reports, once for each model, names that are written otherwise than most names
    /// beside them (`created_at` among `userName` and `orderItems`) or that mix two styles (`Create_Time`). Each
    /// document within a document is judged by itself: objects of other systems come with names of their own.
    /// Names that begin with an underscore or are long are information; underscores that three or more models
    /// have are a habit of the project and told once. One-word names fit either style; names that object
    /// mappers write are left out.
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
    clauses: ["DM-04.1", "DM-04.2", "DM-04.4", "DM-04.5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [MAX_LENGTH],
    check: Deployment(check),
}

threshold!(
    MAX_LENGTH,
    "max-length",
    Int(40),
    "characters",
    "DM-04.4, GC-24: no figure in source",
    "longest field name"
);

/// Names of the prevailing style that make it one.
const PREVAILING: usize = 2;

/// Models with names that begin with an underscore that make it a habit of the project.
const HABIT: usize = 3;

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
    Style(String),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let longest = cx.count(&MAX_LENGTH);
    // By file, model and document within it: each has a style of its own, what others send comes in theirs.
    let mut models: BTreeMap<(&str, &str), Documents<'_>> = BTreeMap::new();
    for (field, leaf) in
        code::fields(evidence, |_, field, leaf| !field.generated && !is_framework(leaf))
    {
        let file = field.place.location.file.as_str();
        let above = field.path.rsplit_once('.').map_or("", |(above, _)| above);
        let documents = models.entry((file, &field.model)).or_default();
        documents.entry(above).or_default().push((field, leaf));
    }
    let all: Vec<Vec<Odd<'_>>> =
        models.values().map(|documents| odd_names(documents, longest)).collect();
    let begins = |odd: &&Odd<'_>| matches!(odd.fault, Fault::Underscore);
    let is_habit = all.iter().filter(|odd| odd.iter().any(|odd| begins(&odd))).count() >= HABIT;
    if is_habit {
        let names: Vec<&Odd<'_>> = all.iter().flatten().filter(begins).collect();
        habit(evidence, &names, cx);
    }
    for mut odd in all {
        if is_habit {
            odd.retain(|odd| !begins(&odd));
        }
        report(evidence, &odd, cx);
    }
}

/// The odd names of a model, each once.
fn odd_names<'a>(documents: &Documents<'a>, longest: u64) -> Vec<Odd<'a>> {
    let mut out: Vec<Odd<'a>> = Vec::new();
    for fields in documents.values() {
        let prevailing = prevailing(fields);
        for (field, leaf) in fields {
            if out.iter().any(|known| known.leaf == *leaf) {
                continue;
            }
            if let Some(fault) = oddity(leaf, prevailing, longest) {
                out.push(Odd { field, leaf, fault });
            }
        }
    }
    out.sort_by(|a, b| a.field.place.location.cmp(&b.field.place.location));
    out
}

fn report(evidence: &Evidence, odd: &[Odd<'_>], cx: &mut Cx<'_>) {
    let Some(first) = odd.first() else { return };
    let listed: Vec<String> = odd
        .iter()
        .take(5)
        .map(|odd| {
            let why = match &odd.fault {
                Fault::Underscore => "begins with an underscore".to_owned(),
                Fault::Long(length) => format!("has {length} characters"),
                Fault::Style(why) => why.clone(),
            };
            format!("`{}` {why}", odd.leaf)
        })
        .collect();
    let more = odd.len() - listed.len();
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    let names: Vec<&str> = odd.iter().map(|odd| odd.leaf).collect();
    let model = &first.field.model;
    // A model that documents are only read into follows them; how long is too long nobody has laid down.
    let is_style = odd.iter().any(|odd| matches!(odd.fault, Fault::Style(_)));
    let is_own = odd.iter().any(|odd| !odd.field.only_read);
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
        .severity(if is_style && is_own { Severity::Warn } else { Severity::Info }),
    );
}

/// A way of writing that the whole project has is told once.
fn habit(evidence: &Evidence, odd: &[&Odd<'_>], cx: &mut Cx<'_>) {
    let Some(first) = odd.iter().min_by_key(|odd| &odd.field.place.location) else { return };
    let models: BTreeSet<(&str, &str)> = odd
        .iter()
        .map(|odd| (odd.field.place.location.file.as_str(), odd.field.model.as_str()))
        .collect();
    let names: BTreeSet<&str> = odd.iter().map(|odd| odd.leaf).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let what = format!(
        "{} models have names that begin with an underscore, such as `{}` of `{}`",
        models.len(),
        first.leaf,
        first.field.model
    );
    cx.report(
        code::draft(
            evidence,
            &first.field.place,
            "underscores",
            what,
            WHY,
            "leave the underscore to `_id` in what is new",
        )
        .data("names", text::list(&names, 20))
        .severity(Severity::Info),
    );
}

const WHY: &str = "MongoDB knows no field names: a query that spells one otherwise finds nothing and says nothing";

/// The style most names of a model have, when there is one.
fn prevailing(fields: &[(&DeclaredField, &str)]) -> Option<Style> {
    let names: BTreeSet<&str> = fields.iter().map(|(_, leaf)| *leaf).collect();
    let count = |wanted: Style| names.iter().filter(|name| style(name) == wanted).count();
    let (camel, snake) = (count(Style::Camel), count(Style::Snake));
    match camel.cmp(&snake) {
        std::cmp::Ordering::Greater if camel >= PREVAILING => Some(Style::Camel),
        std::cmp::Ordering::Less if snake >= PREVAILING => Some(Style::Snake),
        _ => None,
    }
}

/// What is wrong with a name; the least of what can be said about it.
fn oddity(name: &str, prevailing: Option<Style>, longest: u64) -> Option<Fault> {
    let bare = name.trim_start_matches('_');
    if bare.len() < name.len() && !bare.is_empty() {
        return Some(Fault::Underscore);
    }
    let written = style(name);
    if written == Style::Mixed {
        let wanted = in_style(name, prevailing.unwrap_or(Style::Camel));
        return Some(Fault::Style(format!("mixes two styles (`{wanted}`)")));
    }
    if name.chars().count() as u64 > longest {
        return Some(Fault::Long(name.chars().count()));
    }
    let other = prevailing.filter(|prevailing| {
        !matches!(written, Style::Neutral | Style::Other) && written != *prevailing
    })?;
    // `URL`, `ID`: known by everybody as they are.
    if is_known_abbreviation(name) || words(name).iter().all(|word| is_known_abbreviation(word)) {
        return None;
    }
    let why = format!("is not {} like the others (`{}`)", other.name(), in_style(name, other));
    Some(Fault::Style(why))
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

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
        let said = mongoose(&format!(
            "{own}subscription: {{cancel_at: Date, billing_cycle: String, trial_end: Date}}"
        ));
        assert!(said.is_empty(), "another system's object: {said:?}");
        let said = mongoose(&format!(
            "{own}subscription: {{cancel_at: Date, billing_cycle: String, trialEnd: Date}}"
        ));
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
                "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{user_name: String, order_items: [String]}}, {{timestamps: {timestamps}}});\nmodule.exports = mongoose.model('Order', s);\n"
            );
            check("N022", &body).len()
        };
        assert_eq!(model("true"), 0);
        assert_eq!(model("{createdAt: 'created_at', updatedAt: 'updated_at'}"), 0);
        // This one somebody chose.
        assert_eq!(model("{createdAt: 'createTime'}"), 1);
    }
}
