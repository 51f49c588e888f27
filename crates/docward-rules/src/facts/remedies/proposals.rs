//! Names proposed in advice: the child collection of an array, the field that points back, its index.

use docward_model::{
    BsonType, Collection, DirectionKind, Evidence, Field, FieldShape, IndexKey, Namespace,
    NewIndex, Profile, ProfileName, Settings, Step,
};

use crate::facts::names::{self, Style};
use crate::facts::{growth::arrays, names::meaning, remedies::shell, text, values::sizes};

/// Words at the end of an array's name that only denote the plural.
const VAGUE_TAILS: &[&str] = &["list", "lists", "array", "arr", "ids", "id", "set", "refs", "ref"];
/// Nouns that have no meaning without their parent.
const VAGUE: &[&str] = &[
    "item", "entry", "detail", "record", "value", "element", "data", "line", "row", "part", "node",
    "info", "member", "child", "children", "history", "list",
];

/// Returns the words of a name, singular and without the prefix: `t_user_orders` gives `user order`.
pub fn entity(name: &str) -> Vec<String> {
    let mut all = names::words(name);
    if all.len() > 1 && all[0] == "t" {
        all.remove(0);
    }
    if let Some(last) = all.last_mut() {
        *last = meaning::singular(last);
    }
    all
}

/// The style of most fields of a collection: snake_case if it is more frequent than camelCase.
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

/// Returns the noun for an array's elements: `posts`, `postIds` and `postList` give `post`.
pub fn noun(array: &str) -> String {
    let mut all = names::words(array);
    while all.len() > 1 && all.last().is_some_and(|w| VAGUE_TAILS.contains(&w.as_str())) {
        all.pop();
    }
    if let Some(last) = all.last_mut() {
        *last = meaning::singular(last);
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
    /// The keys of that index.
    pub keys: [IndexKey; 2],
    /// The field that keeps an element's own `_id`, if elements have one: `postId`.
    pub own_id: Option<String>,
}

impl Child {
    /// Describes how the copying statement treats `_id`, for advice.
    pub fn ids(&self) -> String {
        let kept = self
            .own_id
            .as_ref()
            .map(|name| format!(", and keep their present `_id` as `{name}`"))
            .unwrap_or_default();
        format!(
            "give elements the `_id` {{{}, no}}, so that a repeated copy adds no duplicates{kept}",
            self.parent_id
        )
    }

    /// The size in bytes of a document in the child collection: an element, its parent and its `_id`.
    pub fn document_bytes(&self, profile: &Profile, array: &Field) -> u64 {
        let is_object =
            profile.element(array).is_some_and(|element| element.is_only(BsonType::Object));
        let parent = sizes::element_bytes(&self.parent_id, sizes::OBJECT_ID);
        let id = sizes::element_bytes("_id", 5 + parent + sizes::element_bytes("no", 8));
        let value = arrays::value_bytes(array);
        // An object becomes the document; anything else becomes a field of one.
        let element = if is_object { value } else { 5 + sizes::element_bytes("value", value) };
        element + parent + id
    }
}

/// Names for moving an array's elements to a separate collection.
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
    let parent_id = field_name(&parent, "id", style);
    let has = |name: &str| {
        profile
            .element(array)
            .is_some_and(|element| profile.children(element).any(|f| f.name == name))
    };
    // An element may use the same name for another person: the author of a comment on a user.
    let parent_id = if has(&parent_id) {
        names::in_style(&format!("parent_{}_id", parent.join("_")), style)
    } else {
        parent_id
    };
    let own_id = has("_id").then(|| {
        [
            field_name(std::slice::from_ref(&noun), "id", style),
            field_name(std::slice::from_ref(&noun), "old_id", style),
        ]
        .into_iter()
        .find(|name| !has(name) && *name != parent_id)
        .unwrap_or_else(|| "elementId".to_owned())
    });
    let name = child_name(evidence, settings, collection, array, &bare, &noun);
    let by_time = arrays::time_child(profile, array).map_or("_id", |time| time.name.as_str());
    let newest = IndexKey { path: by_time.to_owned(), kind: DirectionKind::Descending };
    Child {
        keys: [IndexKey::ascending(parent_id.as_str()), newest],
        index: format!("{{ {parent_id}: 1, {}: -1 }}", shell::key(by_time)),
        collection: name,
        parent_id,
        counter: field_name(&[noun], "count", style),
        own_id,
    }
}

/// The first name that no collection has and that is not proposed for another array: `t_note`, `t_user_note`,
/// `t_user_profile_note`, and then numbers.
fn child_name(
    evidence: &Evidence,
    settings: &Settings,
    collection: &Collection,
    array: &Field,
    bare: &str,
    noun: &str,
) -> String {
    let database = &collection.namespace.database;
    let taken = |name: &str| evidence.collection(&Namespace::new(database.clone(), name)).is_some();
    // Another reported array with this noun would be moved to the same collection.
    let rival = |other: &Collection| {
        other.profile.as_ref().is_some_and(|profile| {
            let limits = arrays::Limits::of(settings, &other.namespace);
            profile.fields.iter().any(|f| {
                f.array.is_some()
                    && (other.namespace != collection.namespace || f.path != array.path)
                    && self::noun(f.path.leaf()) == noun
                    && arrays::owner(settings, evidence, other, profile, f, &limits).is_some()
            })
        })
    };
    let parent = entity(&collection.namespace.collection).join("_");
    let whole = array.path.dotted();
    let inside = whole.rsplit_once('.').map_or("", |(above, _)| above).replace('.', "_");
    let first = collection_name(settings, collection, bare);
    let second = collection_name(settings, collection, &format!("{parent}_{noun}"));
    let twice_here = rival(collection);
    let elsewhere = || {
        evidence.collections.iter().any(|c| {
            c.namespace.database == *database && c.namespace != collection.namespace && rival(c)
        })
    };
    if !taken(&first) && !twice_here && (first == second || !elsewhere()) {
        return first;
    }
    if !taken(&second) && !twice_here {
        return second;
    }
    let third = if twice_here && !inside.is_empty() {
        collection_name(settings, collection, &format!("{parent}_{inside}_{noun}"))
    } else {
        second
    };
    if !taken(&third) {
        return third;
    }
    (2..1000).map(|n| format!("{third}_{n}")).find(|name| !taken(name)).unwrap_or(third)
}

/// A collection name of these words, with the house prefix if the house uses one.
pub fn collection_name(settings: &Settings, beside: &Collection, bare: &str) -> String {
    let prefixed =
        settings.profile == ProfileName::Vendor || beside.namespace.collection.starts_with("t_");
    if prefixed { names::prefixed(bare, "t_") } else { names::to_snake(bare) }
}

/// Returns the advice for buckets without a size limit: `readings` of a day with unexpectedly many.
pub fn close_bucket(array: &Field) -> String {
    let each = arrays::value_bytes(array);
    // Half of the elements that fit 100 KB leaves room for elements larger than the mean.
    let fits = sizes::array_capacity(sizes::RECOMMENDED / 2, each.max(1));
    let cap = [999, 500, 200, 100].into_iter().find(|&n| n <= fits).unwrap_or(50);
    let (now, then) = array.array.as_ref().map_or((0, 0), |a| {
        let then =
            a.lengths.buckets.iter().map(|&(low, high, n)| {
                n * ((low + high.min(a.lengths.max)) / 2).div_ceil(cap).max(1)
            });
        (a.lengths.count, then.sum::<u64>())
    });
    format!(
        "the documents are buckets without a size limit: filter every push by a counter (`count` below {cap}), so that a full bucket starts the next one (about {} buckets instead of {})",
        text::count(then),
        text::count(now),
    )
}

/// Whether a statement can contain a path without quoting.
pub fn is_plain(path: &str) -> bool {
    path.split('.').all(|part| !part.is_empty() && !part.starts_with('$'))
        && !path.contains(['"', '\\', '\n', '*'])
}

/// The steps that copy an array's elements to the child collection and create its index; `None` for an array inside
/// another array, which needs a decision.
pub fn split(
    namespace: &Namespace,
    profile: &Profile,
    array: &Field,
    child: &Child,
) -> Option<[Step; 2]> {
    if array.path.in_array() || !is_plain(&array.path.dotted()) {
        return None;
    }
    let elements_are_objects = profile.element(array).is_some_and(|e| e.is_only(BsonType::Object));
    let copy = Step::SplitArray {
        namespace: namespace.clone(),
        path: array.path.clone(),
        into: child.collection.clone(),
        parent_id: child.parent_id.clone(),
        own_id: child.own_id.clone(),
        elements_are_objects,
    };
    let namespace = Namespace::new(namespace.database.as_str(), child.collection.as_str());
    let index = NewIndex { keys: child.keys.to_vec(), ..NewIndex::default() };
    Some([copy, Step::CreateIndex { namespace, index }])
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
