//! DM-07.1: arrays and objects that are stored as text.

use docward_model::{Collection, Draft, Field, Profile, Subject, TextForms};

use crate::facts::{
    grouping,
    names::{self, meaning},
    text,
    values::classes,
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Structure in string
    ///
    /// ## What it checks
    /// Examines up to 128 different strings of a field. Reports:
    /// - objects and arrays in JSON, if at least 90 % of the strings are such
    /// - lists with separators (`Drama, Comedy`), if most strings are such and the name is a plural or says a list
    ///   (`genres`, `tag`, `cast`)
    ///
    /// ## Exceptions
    /// Not reported:
    /// - addresses, places, names and coordinates, which contain commas
    /// - payloads, requests and responses, which are kept as they were sent
    /// - a list with an array of nearly the same name beside it
    ///
    /// ## Why it matters
    /// MongoDB cannot index, query or update what is inside a string. A query for one element needs a regular
    /// expression that reads every document, and `Art` also matches `Martial Arts`.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x10 {"genres": "Drama, Comedy $i"}
    /// ```
    /// Use an array:
    /// ```jsonl,clean
    /// x10 {"genres": ["Drama", "Comedy $i"]}
    /// ```
    ///
    /// ## How to fix
    /// Store an array or an object. Convert lists with `$split` and `$trim`. Convert JSON in the program that reads
    /// it, because the server has no function for that before version 8.
    ///
    /// ## When to ignore it
    /// No query and no program looks inside the text.
    T017, "structure-in-string",
    level: Recommended,
    area: Correctness,
    clauses: ["DM-07.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_TEXTS],
    data: ["examined", "json", "lists"],
    check: Collection(check),
}

threshold!(
    MIN_TEXTS,
    "min-texts",
    Int(5),
    "different strings",
    "our default",
    "minimum number of different strings in the field"
);

/// Names of lists that are not plurals.
const LISTS: &[&str] = &[
    "genre",
    "tag",
    "cast",
    "category",
    "keyword",
    "ingredient",
    "actor",
    "writer",
    "director",
    "language",
    "country",
    "skill",
    "hobby",
    "amenity",
    "topic",
    "label",
];
/// Names of texts in which commas do not separate elements of a list.
const NO_LIST: &[&str] = &[
    "address",
    "location",
    "place",
    "city",
    "street",
    "coordinate",
    "name",
    "title",
    "note",
    "comment",
    "detail",
    "direction",
    "instruction",
    "hour",
    "term",
    "canvas",
    "lyric",
    "word",
];
/// Names of texts that are stored as another program sent them.
const AS_SENT: &[&str] = &[
    "payload", "raw", "request", "response", "body", "message", "event", "log", "json", "original",
    "backup",
];

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let min = cx.count(&MIN_TEXTS).max(1);
    let drafts = profile
        .fields
        .iter()
        .filter(|field| classes::is_only(field, classes::Class::Text))
        .filter_map(|field| {
            let forms = field.text.as_ref()?.forms;
            (forms.examined >= min).then(|| structure(collection, profile, field, forms))?
        })
        .collect();
    grouping::report(cx, &collection.namespace, drafts, "hold arrays and objects as text");
}

fn structure(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    forms: TextForms,
) -> Option<Draft> {
    let says = |all: &[&str]| {
        let is_in = |word: &String| all.contains(&meaning::singular(word).as_str());
        names::words(field.path.leaf()).iter().any(is_in)
    };
    let (found, what, noun) = if forms.json * 10 >= forms.examined * 9 && !says(AS_SENT) {
        (forms.json, "JSON", "an object or an array")
    } else if forms.lists * 2 > forms.examined && names_a_list(field.path.leaf()) && !says(NO_LIST)
    {
        (forms.lists, "lists", "an array of strings")
    } else {
        return None;
    };
    let has_array = classes::siblings(profile, field).iter().any(|other| {
        other.array.is_some()
            && names::normalised(&other.name).contains(&names::normalised(&field.name))
    });
    if has_array {
        return None;
    }
    let path = &field.path;
    let draft = Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "`{path}` holds {what} as text ({} of {} examined strings)",
            text::count(found),
            text::count(forms.examined)
        ),
        "MongoDB cannot index, query or update what is inside a string",
        format!("store `{}` as {noun}", path.dotted()),
        profile.seen_in(field, field.count),
    )
    .data("examined", forms.examined)
    .data("json", forms.json)
    .data("lists", forms.lists)
    .examples(field.examples.iter().cloned());
    Some(draft)
}

/// Whether the last word of a name is a plural or denotes a list.
fn names_a_list(name: &str) -> bool {
    names::words(name)
        .last()
        .is_some_and(|last| meaning::singular(last) != *last || LISTS.contains(&last.as_str()))
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_07_1_lists_and_json_in_strings_are_reported() {
        for (body, what) in [
            (r#"x40 {"genres": "Drama, Comedy $i"}"#, "lists"),
            (r#"x40 {"cast": "Ann Lee, Bob $i, Cy Orr"}"#, "lists"),
            (r#"x40 {"settings": "{\"theme\": $i}"}"#, "JSON"),
            (r#"x40 {"points": "[{\"x\": $i}]"}"#, "JSON"),
        ] {
            let found = check("T017", body);
            assert_eq!(found.len(), 1, "{body}");
            assert!(found[0].what.contains(what), "{}", found[0].what);
        }
    }

    #[test]
    fn dm_07_1_prose_places_and_what_was_sent_pass() {
        for body in [
            r#"x40 {"city": "Berlin $i, Germany"}"#,
            r#"x40 {"addresses": "Main Street $i, Springfield"}"#,
            r#"x40 {"fullName": "Lee, Ann $i"}"#,
            r#"x40 {"remarks": "It was late on day $i, and there was nobody at home to open the door."}"#,
            r#"x40 {"genres": "Drama $i"}
x40 {"genres": "Comedy $i"}
x40 {"genres": "Drama, Crime $i"}"#,
            r#"x40 {"payload": "{\"theme\": $i}"}"#,
            r#"x40 {"genres": "Drama, Comedy $i", "genresList": ["Drama"]}"#,
        ] {
            assert!(check("T017", body).is_empty(), "{body}");
        }
    }
}
