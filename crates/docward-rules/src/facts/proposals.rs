//! Names proposed in advice: the child collection of an array, the field that points back, its index.

use docward_model::{
    Collection, Evidence, Field, FieldShape, Namespace, Profile, ProfileName, Settings,
};

use super::names::{self, Style};
use super::{arrays, shell, text, words};

/// Words at the end of an array's name that say "many", not what.
const VAGUE_TAILS: &[&str] = &["list", "lists", "array", "arr", "ids", "id", "set", "refs", "ref"];
/// Nouns that mean nothing without their parent.
const VAGUE: &[&str] = &[
    "item", "entry", "detail", "record", "value", "element", "data", "line", "row", "part", "node",
    "info", "member", "child", "children", "history", "list",
];

/// What the words of a name are about, singular and without the house prefix: `t_user_orders` gives
/// `user order`.
pub fn entity(name: &str) -> Vec<String> {
    let mut all = names::words(name);
    if all.len() > 1 && all[0] == "t" {
        all.remove(0);
    }
    if let Some(last) = all.last_mut() {
        *last = words::singular(last);
    }
    all
}

/// How most fields of a collection are written: snake_case when more are than camelCase.
pub fn field_style(profile: &Profile) -> Style {
    let of = |style: Style| {
        profile
            .fields
            .iter()
            .filter(|f| f.shape == FieldShape::Named && names::style(&f.name) == style)
            .count()
    };
    if of(Style::Snake) > of(Style::Camel) { Style::Snake } else { Style::Camel }
}

/// A field name of these words in the collection's style: `userId` or `user_id`.
pub fn field_name(parts: &[String], tail: &str, style: Style) -> String {
    let mut joined = parts.join("_");
    if !tail.is_empty() {
        joined.push('_');
        joined.push_str(tail);
    }
    names::in_style(&joined, style)
}

/// What an array's elements are called: `posts`, `postIds` and `postList` give `post`.
pub fn noun(array: &str) -> String {
    let mut all = names::words(array);
    while all.len() > 1 && all.last().is_some_and(|w| VAGUE_TAILS.contains(&w.as_str())) {
        all.pop();
    }
    if let Some(last) = all.last_mut() {
        *last = words::singular(last);
    }
    all.join("_")
}

/// A collection for the elements of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its name, `t_post`.
    pub collection: String,
    /// The field that points to the parent, `userId`.
    pub parent_id: String,
    /// The counter left on the parent, `postCount`.
    pub counter: String,
    /// The index to create, `{ userId: 1, date: -1 }`.
    pub index: String,
}

/// Names for moving an array's elements into a collection of their own.
pub fn child(
    evidence: &Evidence,
    settings: &Settings,
    collection: &Collection,
    profile: &Profile,
    array: &Field,
) -> Child {
    let style = field_style(profile);
    let parent = entity(&collection.namespace.collection);
    let noun = noun(array.path.leaf());
    let bare = if VAGUE.contains(&noun.as_str()) {
        format!("{}_{noun}", parent.join("_"))
    } else {
        noun.clone()
    };
    let taken = |name: &str| {
        evidence.collection(&Namespace::new(collection.namespace.database.clone(), name)).is_some()
    };
    let mut name = collection_name(settings, collection, &bare);
    if taken(&name) {
        name = collection_name(settings, collection, &format!("{}_{noun}", parent.join("_")));
    }
    let parent_id = field_name(&parent, "id", style);
    let by_time = arrays::time_child(profile, array).map_or("_id", |time| time.name.as_str());
    Child {
        index: format!("{{ {parent_id}: 1, {by_time}: -1 }}"),
        collection: name,
        parent_id,
        counter: field_name(&[noun], "count", style),
    }
}

/// A collection name of these words, with the house prefix where the house wants one.
pub fn collection_name(settings: &Settings, beside: &Collection, bare: &str) -> String {
    let prefixed =
        settings.profile == ProfileName::Vendor || beside.namespace.collection.starts_with("t_");
    if prefixed { names::collection_proposal(bare, "t_") } else { names::to_snake(bare) }
}

/// `db.getSiblingDB("db_shop").getCollection("t_user")`: every command begins with it.
pub fn handle(namespace: &Namespace) -> String {
    shell::collection(namespace)
}

/// What to do with buckets that nothing closes: `readings` of a day that was busier than thought.
pub fn close_bucket(array: &Field) -> String {
    let each = arrays::value_bytes(array);
    // Half of what fits 100 KB leaves room for elements larger than the mean.
    let fits = super::sizes::array_capacity(super::sizes::RECOMMENDED / 2, each.max(1));
    let cap = [999, 500, 200, 100].into_iter().find(|&n| n <= fits).unwrap_or(50);
    let (now, then) = array.array.as_ref().map_or((0, 0), |a| {
        let then =
            a.lengths.buckets.iter().map(|&(low, high, n)| {
                n * ((low + high.min(a.lengths.max)) / 2).div_ceil(cap).max(1)
            });
        (a.lengths.count, then.sum::<u64>())
    });
    format!(
        "the documents are buckets that nothing closes: guard every push with a counter (`count` below {cap}) so that a full bucket opens the next, about {} buckets instead of {}",
        text::count(then),
        text::count(now),
    )
}

/// Whether a path can be written into a statement as it is.
pub fn is_plain(path: &str) -> bool {
    path.split('.').all(|part| !part.is_empty() && !part.starts_with('$'))
        && !path.contains(['"', '\\', '\n', '*'])
}

/// The statement that copies an array's elements into the child collection; `None` for an array
/// inside another array, which needs thought.
pub fn split_command(
    namespace: &Namespace,
    array: &Field,
    child: &Child,
    objects: bool,
) -> Option<String> {
    let path = array.path.dotted();
    if array.path.in_array() || !is_plain(&path) {
        return None;
    }
    let body = if objects {
        format!("{{$mergeObjects: [\"${path}\", {{{}: \"$_id\"}}]}}", child.parent_id)
    } else {
        format!("{{{}: \"$_id\", value: \"${path}\"}}", child.parent_id)
    };
    Some(format!(
        "{}.aggregate([{{$unwind: \"${path}\"}}, {{$replaceWith: {body}}}, {{$merge: {{into: {:?}}}}}])",
        handle(namespace),
        child.collection
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_lose_their_plural_and_their_tail() {
        for (array, expect) in [
            ("posts", "post"),
            ("postIds", "post"),
            ("log_entry_ids", "log_entry"),
            ("orderList", "order"),
            ("categories", "category"),
            ("auditLog", "audit_log"),
            ("list", "list"),
        ] {
            assert_eq!(noun(array), expect, "{array}");
        }
    }

    #[test]
    fn entities_lose_the_house_prefix() {
        assert_eq!(entity("t_users"), ["user"]);
        assert_eq!(entity("t_order_items"), ["order", "item"]);
        assert_eq!(entity("OrderDetail"), ["order", "detail"]);
        assert_eq!(entity("t"), ["t"]);
    }

    #[test]
    fn field_names_follow_the_style() {
        let user = ["user".to_owned()];
        assert_eq!(field_name(&user, "id", Style::Camel), "userId");
        assert_eq!(field_name(&user, "id", Style::Snake), "user_id");
    }
}
