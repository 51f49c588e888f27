//! Splits names into words (ALG-7). Rules interpret the words.

/// The words of a name in lower case: split at case boundaries, underscores, hyphens, dots and
/// symbols; digits stay with the word before them.
pub fn split(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (i, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            continue;
        }
        let before = i.checked_sub(1).map(|j| chars[j]);
        let after = chars.get(i + 1).copied();
        // `orderID`, `HTMLText`: a run of capitals is one word, but its last letter starts the next
        // word if a lower-case letter follows.
        let boundary = c.is_uppercase()
            && before.is_some_and(|b| {
                b.is_lowercase()
                    || b.is_numeric()
                    || (b.is_uppercase() && after.is_some_and(char::is_lowercase))
            });
        if boundary && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.extend(c.to_lowercase());
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Irregular plurals that are common in data models; the last few have the same singular and
/// plural.
const IRREGULAR: &[(&str, &str)] = &[
    ("alias", "aliases"),
    ("analysis", "analyses"),
    ("axis", "axes"),
    ("bonus", "bonuses"),
    ("bus", "buses"),
    ("cache", "caches"),
    ("child", "children"),
    ("cookie", "cookies"),
    ("crisis", "crises"),
    ("diagnosis", "diagnoses"),
    ("foot", "feet"),
    ("gas", "gases"),
    ("half", "halves"),
    ("headache", "headaches"),
    ("hero", "heroes"),
    ("index", "indices"),
    ("leaf", "leaves"),
    ("lens", "lenses"),
    ("man", "men"),
    ("matrix", "matrices"),
    ("menu", "menus"),
    ("mouse", "mice"),
    ("movie", "movies"),
    ("person", "people"),
    ("potato", "potatoes"),
    ("quiz", "quizzes"),
    ("shelf", "shelves"),
    ("status", "statuses"),
    ("tomato", "tomatoes"),
    ("tooth", "teeth"),
    ("vertex", "vertices"),
    ("virus", "viruses"),
    ("wolf", "wolves"),
    ("woman", "women"),
    ("zombie", "zombies"),
    ("news", "news"),
    ("series", "series"),
    ("species", "species"),
];

/// The singular of `orders`, `categories`, `addresses`; accurate enough to compare and propose
/// names.
pub fn singular(word: &str) -> String {
    if let Some((one, _)) = IRREGULAR.iter().find(|(_, many)| *many == word) {
        return (*one).to_owned();
    }
    // `grandchildren`, `salespeople`.
    for (one, many) in [("child", "children"), ("person", "people")] {
        if let Some(stem) = word.strip_suffix(many) {
            return format!("{stem}{one}");
        }
    }
    if let Some(stem) = word.strip_suffix("ies")
        && stem.len() > 1
    {
        return format!("{stem}y");
    }
    for tail in ["sses", "shes", "ches", "xes"] {
        if word.ends_with(tail) {
            return word[..word.len() - 2].to_owned();
        }
    }
    let is_one = ["ss", "us", "is"].iter().any(|tail| word.ends_with(tail));
    if word.ends_with('s') && !is_one && word.len() > 2 {
        return word[..word.len() - 1].to_owned();
    }
    word.to_owned()
}

/// The plural of `order`, `entry`, `box`; accurate enough to propose names.
pub fn plural(word: &str) -> String {
    if let Some((_, many)) = IRREGULAR.iter().find(|(one, _)| *one == word) {
        return (*many).to_owned();
    }
    let before = word.chars().rev().nth(1);
    if let Some(stem) = word.strip_suffix('y')
        && before.is_some_and(|c| !"aeiou".contains(c))
    {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "z", "sh", "ch"].iter().any(|tail| word.ends_with(tail));
    format!("{word}{}", if hisses { "es" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_split_at_every_boundary() {
        for (name, expect) in [
            ("createTime", "create time"),
            ("Create_Time", "create time"),
            ("HTMLText", "html text"),
            ("orderID", "order id"),
            ("UN", "un"),
            ("t_log_202403", "t log 202403"),
            ("db.user.center", "db user center"),
            ("line2Text", "line2 text"),
            ("", ""),
        ] {
            assert_eq!(split(name).join(" "), expect, "{name}");
        }
    }

    #[test]
    fn plurals_are_made() {
        for (one, many) in [
            ("order", "orders"),
            ("entry", "entries"),
            ("box", "boxes"),
            ("day", "days"),
            ("person", "people"),
        ] {
            assert_eq!(plural(one), many);
            assert_eq!(singular(many), one);
        }
    }

    #[test]
    fn plurals_lose_their_ending() {
        for (many, one) in [
            ("orders", "order"),
            ("categories", "category"),
            ("addresses", "address"),
            ("boxes", "box"),
            ("status", "status"),
            ("address", "address"),
            ("as", "as"),
            ("diagnosis", "diagnosis"),
            ("diagnoses", "diagnosis"),
            ("children", "child"),
            ("series", "series"),
            ("movies", "movie"),
            ("caches", "cache"),
            ("branches", "branch"),
            ("quizzes", "quiz"),
            ("menus", "menu"),
            ("grandchildren", "grandchild"),
        ] {
            assert_eq!(singular(many), one);
        }
    }
}
