//! New names for collections, and whether they are free: two collections cannot have one name.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Evidence, Namespace, ProfileName, Settings, ThresholdSetting};

use super::{
    names, server,
    suffix::{Tail, time_tail},
    text,
};

/// The name with the house prefix instead of another house's: `tbl_user` gives `t_user`.
pub fn with_prefix(name: &str, prefix: &str) -> String {
    names::prefixed(without_other_prefix(name), prefix)
}

/// The name in the characters of the house, a time suffix in its form: `t_log-2024-03` gives
/// `t_log_202403`.
pub fn in_house_letters(name: &str, prefix: &str) -> String {
    let dated = match time_tail(name) {
        Tail::Odd(odd) => odd.proposal,
        _ => None,
    };
    names::prefixed(dated.as_deref().unwrap_or(name), prefix)
}

/// `tbl_user` and `tb_user` carry another house's prefix: it goes.
fn without_other_prefix(name: &str) -> &str {
    ["tbl_", "tb_", "table_", "coll_", "col_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(name)
}

/// The prefix that collections are to have, as configured for N006.
pub fn house_prefix(settings: &Settings, namespace: &Namespace) -> String {
    match settings.threshold_at("N006", "prefix", Some(&namespace.to_string())) {
        Some(ThresholdSetting::Text(prefix)) => prefix.clone(),
        _ if settings.profile == ProfileName::Neutral => String::new(),
        _ => "t_".to_owned(),
    }
}

/// The name without the prefix that belongs to the server, if it is not the server's own.
pub fn without_system(name: &str) -> Option<&str> {
    name.strip_prefix("system.")
        .filter(|rest| !rest.is_empty() && !server::is_known_system_name(name))
}

/// Collections by the names that would be proposed for each.
#[derive(Debug)]
pub struct Candidates(BTreeMap<Namespace, BTreeSet<String>>);

impl Candidates {
    /// What every rule that renames collections would propose.
    pub fn of(evidence: &Evidence, prefix: &str) -> Self {
        let mut all: BTreeMap<Namespace, BTreeSet<String>> = BTreeMap::new();
        for collection in evidence.collections.iter().filter(|c| c.kind.is_business()) {
            let Namespace { database, collection: name } = &collection.namespace;
            let bare = without_system(name).unwrap_or(name);
            for proposal in [with_prefix(bare, prefix), in_house_letters(bare, prefix)] {
                let target = Namespace::new(database.as_str(), proposal);
                all.entry(target).or_default().insert(name.clone());
            }
        }
        Self(all)
    }

    /// As [`obstacle`], with everybody who would get the same name.
    pub fn obstacle(&self, evidence: &Evidence, from: &Namespace, to: &str) -> Option<String> {
        let target = Namespace::new(from.database.as_str(), to);
        let rivals: Vec<&str> = self
            .0
            .get(&target)
            .into_iter()
            .flatten()
            .map(String::as_str)
            .filter(|other| *other != from.collection)
            .collect();
        obstacle(evidence, from, to, &rivals)
    }
}

/// Why a collection cannot just be renamed, and what to do instead; `None` when it can. `rivals` are
/// others that would get the same name.
pub fn obstacle(
    evidence: &Evidence,
    from: &Namespace,
    to: &str,
    rivals: &[&str],
) -> Option<String> {
    if evidence.collection(&Namespace::new(from.database.as_str(), to)).is_some() {
        return Some(format!("`{to}` exists already: merge the two, or choose another name"));
    }
    (!rivals.is_empty()).then(|| {
        format!(
            "{} would also become `{to}`: merge them into it, or choose different names",
            text::list(rivals, 3)
        )
    })
}
