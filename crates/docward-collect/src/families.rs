//! Families of collection names: one stem, a tail that varies (`t_log_202403`, `t_device_17`).
//!
//! Pure: names and field sets in, families out. What a family means is for rules to say.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Collection, NameFamily, TailForm};

/// Fewer members split by time are no family.
const LEAST_BY_TIME: usize = 3;
/// Fewer numbered members are no family: `address_1` and `address_2` happen.
const LEAST_NUMBERED: usize = 5;
/// Two sets of fields at least this similar (Jaccard) are nearly the same.
const SAME: f64 = 0.8;

/// Finds the families among collections, which are sorted by namespace.
pub(crate) fn find(collections: &[Collection]) -> Vec<NameFamily> {
    let mut stems: BTreeMap<(&str, &str), Vec<Member<'_>>> = BTreeMap::new();
    for collection in collections.iter().filter(|c| c.kind.is_business()) {
        let name = collection.namespace.collection.as_str();
        if let Some((stem, tail)) = split(name) {
            let key = (collection.namespace.database.as_str(), stem);
            stems.entry(key).or_default().push(Member { collection, tail });
        }
    }
    let mut families = Vec::new();
    for ((database, stem), members) in stems {
        for (form, members) in sort_by_form(members) {
            families.push(NameFamily {
                database: database.to_owned(),
                stem: stem.to_owned(),
                form,
                same_shape: same_shape(&members),
                members: members
                    .iter()
                    .map(|member| member.collection.namespace.collection.clone())
                    .collect(),
            });
        }
    }
    families
}

#[derive(Clone, Copy)]
struct Member<'c> {
    collection: &'c Collection,
    tail: Tail,
}

/// What the tail of one name looks like, taken by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// `_2024`: a year, or a number that looks like one.
    Year,
    /// `_202403`, `_20240315`, written as it should be.
    Date,
    /// A time in another form: `_mar24`, `_2024_03`, `$202403`.
    OddDate,
    /// Digits that begin like a date and are none: `_202413`.
    NoDate,
    /// A number or an id.
    Number,
}

/// Shares the names of one stem out among the forms, by what most of them look like.
fn sort_by_form(members: Vec<Member<'_>>) -> Vec<(TailForm, Vec<Member<'_>>)> {
    let count = |tail| members.iter().filter(|member| member.tail == tail).count();
    let dates = count(Tail::Date) + count(Tail::OddDate);
    // Years among other numbers are numbers; so are dates that are none without real ones beside.
    let years_are_dates = count(Tail::Number) <= count(Tail::Year);
    let dates = dates + if years_are_dates { count(Tail::Year) } else { 0 };
    let near_dates_are_odd = dates >= count(Tail::NoDate).max(1);
    let form = |tail| match tail {
        Tail::Date => TailForm::TimeSuffix,
        Tail::Year if years_are_dates => TailForm::TimeSuffix,
        Tail::OddDate => TailForm::OddTimeSuffix,
        Tail::NoDate if near_dates_are_odd => TailForm::OddTimeSuffix,
        Tail::Year | Tail::NoDate | Tail::Number => TailForm::Number,
    };
    let of_form = |wanted: TailForm| -> Vec<_> {
        members.iter().copied().filter(|member| form(member.tail) == wanted).collect()
    };
    let (good, odd) = (of_form(TailForm::TimeSuffix), of_form(TailForm::OddTimeSuffix));
    let numbered = of_form(TailForm::Number);
    let mut forms = Vec::new();
    if good.len() + odd.len() >= LEAST_BY_TIME {
        forms.push((TailForm::TimeSuffix, good));
        forms.push((TailForm::OddTimeSuffix, odd));
    }
    if numbered.len() >= LEAST_NUMBERED {
        forms.push((TailForm::Number, numbered));
    }
    forms.retain(|(_, members)| !members.is_empty());
    forms
}

/// Divides a name into a stem and a tail that looks like a time, a number or an id.
fn split(name: &str) -> Option<(&str, Tail)> {
    // The longest tail that means something wins: `2024_03` before `03`.
    let boundaries = name
        .char_indices()
        .filter(|&(at, c)| at > 0 && is_separator(c))
        .map(|(at, c)| at + c.len_utf8())
        .chain(digits_begin(name));
    boundaries
        .filter(|&at| at < name.len())
        .filter_map(|at| Some((at, tail(&name[at..])?)))
        .min_by_key(|&(at, _)| at)
        .map(|(at, kind)| (&name[..at], suffix(&name[..at], kind)))
}

fn is_separator(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '$' | ':' | '@' | '#')
}

/// Where the digits at the end begin, when letters stand right before them.
fn digits_begin(name: &str) -> Option<usize> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.len() < name.len() && stem.ends_with(char::is_alphabetic)).then_some(stem.len())
}

/// A date is as it should be only after an underscore.
fn suffix(stem: &str, tail: Tail) -> Tail {
    match tail {
        Tail::Date if !stem.ends_with('_') => Tail::OddDate,
        Tail::Year | Tail::NoDate if !stem.ends_with('_') => {
            if stem.ends_with(is_separator) { Tail::OddDate } else { Tail::Number }
        }
        tail => tail,
    }
}

fn tail(text: &str) -> Option<Tail> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(digits(text));
    }
    if is_worded_date(text) {
        return Some(Tail::OddDate);
    }
    is_id(text).then_some(Tail::Number)
}

fn digits(text: &str) -> Tail {
    let number = |from: usize, to: usize| text.get(from..to).and_then(|t| t.parse::<u32>().ok());
    let is_year = number(0, 4).is_some_and(|year| (1970..2100).contains(&year));
    let is_month = || number(4, 6).is_some_and(|month| (1..=12).contains(&month));
    let is_day = || number(6, 8).is_some_and(|day| (1..=31).contains(&day));
    match text.len() {
        4 if is_year => Tail::Year,
        6 if is_year && is_month() => Tail::Date,
        8 if is_year && is_month() && is_day() => Tail::Date,
        10 | 12 | 14 if is_year && is_month() && is_day() => Tail::OddDate,
        6 | 8 if is_year => Tail::NoDate,
        _ => Tail::Number,
    }
}

/// `mar24`, `2024_03`, `2024-03-15`, `2024Q1`, `q1_2024`, `2024w12`, `monday`.
fn is_worded_date(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let pieces = pieces(&text);
    if pieces.is_empty() || pieces.len() > 6 {
        return false;
    }
    let is_year = |piece: &str| {
        matches!(digits(piece), Tail::Year) && piece.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_short = |piece: &str| piece.len() <= 2 && piece.bytes().all(|b| b.is_ascii_digit());
    let is_date = |piece: &str| {
        piece.bytes().all(|byte| byte.is_ascii_digit())
            && matches!(digits(piece), Tail::Date | Tail::NoDate)
    };
    let is_unit = |piece: &str| matches!(piece, "q" | "w" | "h" | "week" | "kw" | "t");
    let all_known = pieces.iter().all(|piece| {
        is_year(piece) || is_short(piece) || is_date(piece) || is_unit(piece) || is_day_or_month(piece)
    });
    let has_year = pieces.iter().any(|piece| is_year(piece) || is_date(piece));
    let has_word = pieces.iter().any(|piece| is_day_or_month(piece));
    all_known && (has_word || (has_year && pieces.len() > 1))
}

/// Runs of letters and runs of digits.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for part in text.split(is_separator).filter(|part| !part.is_empty()) {
        let mut from = 0;
        let bytes = part.as_bytes();
        for at in 1..bytes.len() {
            if bytes[at].is_ascii_digit() != bytes[at - 1].is_ascii_digit() {
                pieces.push(&part[from..at]);
                from = at;
            }
        }
        pieces.push(&part[from..]);
    }
    pieces
}

fn is_day_or_month(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "january", "february", "march", "april", "may", "june", "july", "august", "september",
        "october", "november", "december", "monday", "tuesday", "wednesday", "thursday", "friday",
        "saturday", "sunday",
    ];
    WORDS.iter().any(|full| *full == word || (word.len() == 3 && full.starts_with(word)))
        || word == "sept"
}

/// Hexadecimal ids and UUIDs; a word such as `facade` is none, for want of a digit.
fn is_id(text: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_hexdigit();
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let plain = text.len() >= 8 && text.bytes().all(is_hex);
    let groups = [8, 4, 4, 4, 12];
    let parts: Vec<_> = text.split(['-', '_']).collect();
    let is_uuid = parts.len() == groups.len()
        && parts.iter().zip(groups).all(|(part, len)| part.len() == len && part.bytes().all(is_hex));
    has_digit && (plain || is_uuid)
}

/// Share of the members with documents whose top-level fields are nearly those most have.
fn same_shape(members: &[Member<'_>]) -> Option<f64> {
    let shapes: Vec<BTreeSet<&str>> = members
        .iter()
        .filter_map(|member| member.collection.profile.as_ref())
        .filter(|profile| profile.documents > 0)
        .map(|profile| profile.top_level().map(|field| field.name.as_str()).collect())
        .collect();
    if shapes.is_empty() {
        return None;
    }
    let mut members_with: BTreeMap<&str, usize> = BTreeMap::new();
    for field in shapes.iter().flatten() {
        *members_with.entry(field).or_default() += 1;
    }
    let common: BTreeSet<&str> = members_with
        .into_iter()
        .filter(|&(_, members)| members * 2 > shapes.len())
        .map(|(field, _)| field)
        .collect();
    let same = shapes.iter().filter(|shape| similarity(shape, &common) >= SAME).count();
    Some(same as f64 / shapes.len() as f64)
}

fn similarity(a: &BTreeSet<&str>, b: &BTreeSet<&str>) -> f64 {
    let union = a.union(b).count();
    if union == 0 { 1.0 } else { a.intersection(b).count() as f64 / union as f64 }
}

#[cfg(test)]
mod tests {
    use docward_model::{CollectionKind, Namespace};

    use super::*;

    fn families(names: &[&str]) -> Vec<(String, TailForm, usize)> {
        let mut collections: Vec<_> =
            names.iter().map(|name| Collection::named(Namespace::new("shop", *name))).collect();
        collections.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        find(&collections).into_iter().map(|f| (f.stem, f.form, f.members.len())).collect()
    }

    fn check(names: &[&str], expected: &[(&str, TailForm, usize)]) {
        let expected: Vec<_> =
            expected.iter().map(|&(stem, form, n)| (stem.to_owned(), form, n)).collect();
        assert_eq!(families(names), expected, "{names:?}");
    }

    #[test]
    fn months_days_and_years_are_time_suffixes_dm_03_5() {
        use TailForm::TimeSuffix;
        check(&["t_log_202401", "t_log_202402", "t_log_202403"], &[("t_log_", TimeSuffix, 3)]);
        check(&["t_log_20240101", "t_log_20240102", "t_log_20240103"], &[(
            "t_log_", TimeSuffix, 3,
        )]);
        check(&["t_log_2022", "t_log_2023", "t_log_2024"], &[("t_log_", TimeSuffix, 3)]);
        check(&["t_log_202401", "t_log_202402"], &[]);
    }

    #[test]
    fn other_forms_of_time_are_odd_dm_03_5() {
        use TailForm::{OddTimeSuffix, TimeSuffix};
        for names in [
            ["t_log_jan24", "t_log_feb24", "t_log_mar24"],
            ["t_log_2024_01", "t_log_2024_02", "t_log_2024_03"],
            ["t_log_2024-01-01", "t_log_2024-01-02", "t_log_2024-01-03"],
            ["t_log_2024q1", "t_log_2024q2", "t_log_2024q3"],
            ["t_log_monday", "t_log_tuesday", "t_log_sunday"],
            ["t_log_2024010101", "t_log_2024010102", "t_log_2024010103"],
        ] {
            check(&names, &[("t_log_", OddTimeSuffix, 3)]);
        }
        check(&["t_log$202401", "t_log$202402", "t_log$202403"], &[("t_log$", OddTimeSuffix, 3)]);
        check(&["log202401", "log202402", "log202403"], &[("log", OddTimeSuffix, 3)]);
        // Month 13 stands out among real months.
        check(&["t_log_202411", "t_log_202412", "t_log_202413"], &[
            ("t_log_", TimeSuffix, 2),
            ("t_log_", OddTimeSuffix, 1),
        ]);
    }

    #[test]
    fn numbers_and_ids_are_one_collection_per_entity_dm_12_4() {
        use TailForm::Number;
        let devices: Vec<String> = (1..=6).map(|n| format!("t_device_{n}")).collect();
        let names: Vec<&str> = devices.iter().map(String::as_str).collect();
        check(&names, &[("t_device_", Number, 6)]);
        check(&names[..4], &[]);
        // A device number that looks like a year is a device number.
        check(&["d_7", "d_1998", "d_1999", "d_2000", "d_31", "d_400", "d_5000"], &[("d_", Number, 7)]);
        check(
            &["u_5f1d7f3e9b1e8a0001a2b3c1", "u_5f1d7f3e9b1e8a0001a2b3c2",
              "u_5f1d7f3e9b1e8a0001a2b3c3", "u_5f1d7f3e9b1e8a0001a2b3c4",
              "u_5f1d7f3e9b1e8a0001a2b3c5"],
            &[("u_", Number, 5)],
        );
        check(&["shard0", "shard1", "shard2", "shard3", "shard4"], &[("shard", Number, 5)]);
    }

    #[test]
    fn unrelated_names_are_no_family() {
        check(&["t_order", "t_order_item", "t_user", "t_user_address", "t_facade", "t_may"], &[]);
        check(&["a", "_", "1", "é1", "x_", "$"], &[]);
    }

    #[test]
    fn the_servers_own_and_views_do_not_count() {
        let mut collections: Vec<_> = ["v_202401", "v_202402", "v_202403"]
            .map(|name| Collection::named(Namespace::new("shop", name)))
            .into();
        assert_eq!(find(&collections).len(), 1);
        collections[0].kind = CollectionKind::View;
        assert!(find(&collections).is_empty());
    }
}
