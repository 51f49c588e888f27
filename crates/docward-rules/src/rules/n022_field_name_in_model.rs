//! DM-04.1, DM-04.2, DM-04.4, DM-04.5: names of fields as models in source code declare them.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Evidence, code::DeclaredField};

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
    /// structs, Spring Data) and reports, once for each model, names that are written otherwise than most of its
    /// names (`created_at` among `userName` and `orderItems`), that mix two styles (`Create_Time`), that begin
    /// with an underscore, or that are too long. One-word names fit either style; names that object mappers
    /// write are left out.
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

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let longest = cx.count(&MAX_LENGTH);
    let mut models: BTreeMap<(&str, &str), Vec<(&DeclaredField, &str)>> = BTreeMap::new();
    for (field, leaf) in code::fields(evidence, |_, _, leaf| !is_framework(leaf)) {
        let file = field.place.location.file.as_str();
        models.entry((file, &field.model)).or_default().push((field, leaf));
    }
    for fields in models.values() {
        let prevailing = prevailing(fields);
        let mut odd: Vec<(&DeclaredField, &str, String)> = Vec::new();
        for (field, leaf) in fields {
            if odd.iter().any(|(_, known, _)| known == leaf) {
                continue;
            }
            if let Some(why) = oddity(leaf, prevailing, longest) {
                odd.push((field, leaf, why));
            }
        }
        let Some((first, ..)) = odd.first() else { continue };
        let listed: Vec<String> =
            odd.iter().take(5).map(|(_, leaf, why)| format!("`{leaf}` {why}")).collect();
        let more = odd.len() - listed.len();
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        let names: Vec<&str> = odd.iter().map(|(_, leaf, _)| *leaf).collect();
        let what = format!("in `{}`, {}{rest}", first.model, listed.join(", "));
        cx.report(
            code::draft(
                evidence,
                &first.place,
                &format!("{} names", first.model),
                what,
                "MongoDB knows no field names: a query that spells one otherwise finds nothing and says nothing",
                "rename them while it is cheap: before documents are stored, or together with them",
            )
            .data("names", text::list(&names, 20)),
        );
    }
}

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
fn oddity(name: &str, prevailing: Option<Style>, longest: u64) -> Option<String> {
    let bare = name.trim_start_matches('_');
    if bare.len() < name.len() && !bare.is_empty() {
        return Some("begins with an underscore".to_owned());
    }
    let written = style(name);
    if written == Style::Mixed {
        let wanted = in_style(name, prevailing.unwrap_or(Style::Camel));
        return Some(format!("mixes two styles (`{wanted}`)"));
    }
    if name.chars().count() as u64 > longest {
        return Some(format!("has {} characters", name.chars().count()));
    }
    let other = prevailing.filter(|prevailing| {
        !matches!(written, Style::Neutral | Style::Other) && written != *prevailing
    })?;
    // `URL`, `ID`: known by everybody as they are.
    if is_known_abbreviation(name) || words(name).iter().all(|word| is_known_abbreviation(word)) {
        return None;
    }
    Some(format!("is not {} like the others (`{}`)", other.name(), in_style(name, other)))
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
    fn dm_04_1_names_of_frameworks_and_acronyms_are_left_alone() {
        assert_eq!(
            mongoose(
                "userName: String, orderItems: [String], URL: String, __v: Number, _class: String"
            )
            .len(),
            0
        );
    }
}
