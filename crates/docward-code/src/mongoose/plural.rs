//! Derives collection names from model names as Mongoose does: lower case, and plural by the first
//! of its rules that matches.

/// Words without a separate plural.
const SAME: [&str; 27] = [
    "advice",
    "cooperation",
    "deer",
    "digestion",
    "energy",
    "equipment",
    "excretion",
    "expertise",
    "fish",
    "health",
    "information",
    "justice",
    "labour",
    "machinery",
    "media",
    "money",
    "moose",
    "news",
    "paper",
    "pollution",
    "rain",
    "rice",
    "series",
    "sewage",
    "sheep",
    "species",
    "status",
];

/// Returns the collection name of a model.
pub(crate) fn collection(model: &str) -> String {
    let name = model.to_lowercase();
    if SAME.contains(&name.as_str()) {
        return name;
    }
    let ends = |ending: &str| name.ends_with(ending);
    let instead = |cut: usize, ending: &str| format!("{}{ending}", &name[..name.len() - cut]);
    let before = |cut: usize| name[..name.len() - cut].chars().next_back();
    if ends("human") {
        instead(0, "s")
    } else if ends("man") {
        instead(2, "en")
    } else if ends("person") {
        instead(4, "ople")
    } else if ends("child") {
        instead(0, "ren")
    } else if name == "ox" {
        instead(0, "en")
    } else if ends("axis") || ends("testis") {
        instead(2, "es")
    } else if ends("octopus") {
        instead(2, "i")
    } else if ["alias", "status", "virus", "bus", "buffalo", "tomato", "potato"]
        .iter()
        .any(|word| ends(word))
    {
        instead(0, "es")
    } else if ends("tum") || ends("ium") {
        instead(2, "a")
    } else if ends("sis") {
        instead(2, "es")
    } else if ends("fe") && before(2).is_some_and(|c| c != 'f') {
        instead(2, "ves")
    } else if ends("lf") || ends("rf") {
        instead(1, "ves")
    } else if ends("y") && (ends("quy") || before(1).is_some_and(|c| !"aeiouy".contains(c))) {
        instead(1, "ies")
    } else if ["x", "ch", "ss", "sh"].iter().any(|ending| ends(ending)) {
        instead(0, "es")
    } else if ends("mouse") || ends("louse") {
        instead(4, "ice")
    } else if ends("quiz") {
        instead(0, "zes")
    } else if name == "goose" {
        "geese".to_owned()
    } else if ends("s") || !name.ends_with(|c: char| c.is_ascii_lowercase()) {
        name
    } else {
        instead(0, "s")
    }
}

#[cfg(test)]
mod tests {
    use super::collection;

    #[test]
    fn collections_are_named_as_the_library_names_them() {
        for (model, expect) in [
            ("User", "users"),
            ("OrderItem", "orderitems"),
            ("Category", "categories"),
            ("Day", "days"),
            ("Box", "boxes"),
            ("Bus", "buses"),
            ("Address", "addresses"),
            ("Branch", "branches"),
            ("Person", "people"),
            ("Child", "children"),
            ("Woman", "women"),
            ("Human", "humans"),
            ("Mouse", "mice"),
            ("Goose", "geese"),
            ("Mongoose", "mongooses"),
            ("Quiz", "quizzes"),
            ("Status", "status"),
            ("OrderStatus", "orderstatuses"),
            ("Wife", "wives"),
            ("Giraffe", "giraffes"),
            ("Leaf", "leafs"),
            ("Shelf", "shelves"),
            ("Potato", "potatoes"),
            ("Hero", "heros"),
            ("Analysis", "analyses"),
            ("Datum", "data"),
            ("Index", "indexes"),
            ("Soliloquy", "soliloquies"),
            ("Virus", "viruses"),
            ("Octopus", "octopi"),
            ("News", "news"),
            ("Settings", "settings"),
            ("Item2", "item2"),
            ("Café", "café"),
            ("Élève", "élèves"),
            ("y", "ys"),
            ("", ""),
        ] {
            assert_eq!(collection(model), expect, "{model}");
        }
    }
}
