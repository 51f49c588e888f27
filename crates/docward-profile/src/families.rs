//! Collections whose names differ only in the suffix: split by time, or one per entity (DM-03.5,
//! DM-12.4).

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Collection, NameFamily, Profile, TailForm};

/// The minimum number of members of a family.
const TIME_MEMBERS: usize = 2;
const NUMBER_MEMBERS: usize = 5;

/// Finds families of collection names.
pub fn families(collections: &[Collection]) -> Vec<NameFamily> {
    let mut groups: BTreeMap<(String, String, bool), Vec<&Collection>> = BTreeMap::new();
    for collection in collections.iter().filter(|c| c.kind.is_business()) {
        if let Some((stem, form)) = tail(&collection.namespace.collection) {
            let key = (collection.namespace.database.clone(), stem, form == TailForm::Number);
            groups.entry(key).or_default().push(collection);
        }
    }
    rejoin_years(&mut groups);
    let mut out = Vec::new();
    for ((database, stem, _), members) in groups {
        let mut names: Vec<String> =
            members.iter().map(|c| c.namespace.collection.clone()).collect();
        names.sort();
        let forms: BTreeSet<u8> =
            names.iter().filter_map(|n| tail(n)).map(|(_, f)| f as u8).collect();
        let form = if forms.contains(&(TailForm::Number as u8)) {
            TailForm::Number
        } else if forms.contains(&(TailForm::OddTimeSuffix as u8)) {
            TailForm::OddTimeSuffix
        } else {
            TailForm::TimeSuffix
        };
        let least = if form == TailForm::Number { NUMBER_MEMBERS } else { TIME_MEMBERS };
        if names.len() >= least {
            let same_shape = same_shape(&members);
            out.push(NameFamily { database, stem, form, members: names, same_shape });
        }
    }
    out
}

/// `t_device_1990` among `t_device_1` to `t_device_5000` is the device with that number: if plain
/// numbers outnumber the years of a stem, its apparent years count as numbers.
fn rejoin_years(groups: &mut BTreeMap<(String, String, bool), Vec<&Collection>>) {
    let stems: Vec<_> = groups.keys().filter(|(.., number)| *number).cloned().collect();
    for (database, stem, _) in stems {
        let timed = (database.clone(), stem.clone(), false);
        let Some(periods) = groups.remove(&timed) else { continue };
        let (years, longer): (Vec<_>, Vec<_>) =
            periods.into_iter().partition(|c| c.namespace.collection.len() == stem.len() + 4);
        let numbers = groups.entry((database, stem, true)).or_default();
        if numbers.len() > years.len() {
            numbers.extend(years);
            if !longer.is_empty() {
                groups.insert(timed, longer);
            }
        } else {
            groups.insert(timed, years.into_iter().chain(longer).collect());
        }
    }
}

/// The stem of a name with a varying suffix, and the form of the suffix.
fn tail(name: &str) -> Option<(String, TailForm)> {
    let digits = name.chars().rev().take_while(char::is_ascii_digit).count();
    if digits > 0 {
        let (stem, tail) = name.split_at(name.len() - digits);
        // A stem that ends in a letter (`t_address2`) is an ordinary name with a number, unless
        // there are many of them.
        let bare = stem.trim_end_matches(['_', '-', '.', '$']);
        if bare.is_empty() {
            return None;
        }
        let form = match (is_period(tail), stem.ends_with('_')) {
            (true, true) => TailForm::TimeSuffix,
            (true, false) => TailForm::OddTimeSuffix,
            (false, _) if tail.len() >= 6 && tail.starts_with("20") && looks_like_period(tail) => {
                TailForm::OddTimeSuffix
            }
            (false, _) => TailForm::Number,
        };
        return Some((stem.to_owned(), form));
    }
    // Suffixes such as `t_device_65f3a2b8c1d2e3f4a5b6c7d8` and UUIDs.
    let at = name.rfind(['_', '-', '.'])?;
    let tail = &name[at + 1..];
    let hex = tail.len() >= 8
        && tail.chars().all(|c| c.is_ascii_hexdigit())
        && tail.chars().any(|c| c.is_ascii_digit());
    hex.then(|| (name[..=at].to_owned(), TailForm::Number))
}

/// `2024`, `202403`, `20240315`.
fn is_period(tail: &str) -> bool {
    let year = tail.get(..4).and_then(|y| y.parse::<u32>().ok());
    let part = |at: usize| tail.get(at..at + 2).and_then(|p| p.parse::<u32>().ok());
    let year_ok = year.is_some_and(|y| (1990..=2099).contains(&y));
    let month_ok = part(4).is_some_and(|m| (1..=12).contains(&m));
    let day_ok = part(6).is_some_and(|d| (1..=31).contains(&d));
    match tail.len() {
        4 => year_ok,
        6 => year_ok && month_ok,
        8 => year_ok && month_ok && day_ok,
        _ => false,
    }
}

/// A year followed by an invalid month: `202413`.
fn looks_like_period(tail: &str) -> bool {
    matches!(tail.len(), 6 | 8)
        && tail
            .get(..4)
            .and_then(|y| y.parse::<u32>().ok())
            .is_some_and(|y| (1990..=2099).contains(&y))
}

/// The share of members whose top-level fields are nearly those of the largest member.
fn same_shape(members: &[&Collection]) -> Option<f64> {
    let fields =
        |p: &Profile| -> BTreeSet<String> { p.top_level().map(|f| f.name.clone()).collect() };
    let profiles: Vec<&Profile> =
        members.iter().filter_map(|c| c.profile.as_ref()).filter(|p| p.documents > 0).collect();
    let largest = profiles.iter().max_by_key(|p| p.documents)?;
    let model = fields(largest);
    let alike = profiles
        .iter()
        .filter(|p| {
            let own = fields(p);
            let common = own.intersection(&model).count();
            let all = own.union(&model).count();
            all > 0 && common * 10 >= all * 8
        })
        .count();
    Some(alike as f64 / profiles.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_03_5_tails_are_told_apart() {
        for (name, stem, form) in [
            ("t_log_202403", "t_log_", TailForm::TimeSuffix),
            ("t_log_2024", "t_log_", TailForm::TimeSuffix),
            ("t_log_20240315", "t_log_", TailForm::TimeSuffix),
            ("t_log_202413", "t_log_", TailForm::OddTimeSuffix),
            ("t_log$202403", "t_log$", TailForm::OddTimeSuffix),
            ("t_device_17", "t_device_", TailForm::Number),
        ] {
            assert_eq!(tail(name), Some((stem.to_owned(), form)), "{name}");
        }
        assert_eq!(tail("t_order"), None);
        assert_eq!(tail("2024"), None);
    }
}
