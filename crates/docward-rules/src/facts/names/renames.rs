//! New names for collections, and whether they are available: two collections cannot have the same
//! name.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Evidence, Namespace, ProfileName, Settings, ThresholdSetting};

use crate::facts::{
    deployment::server,
    names::{
        self,
        naming::concept,
        suffix::{Tail, time_tail},
    },
    text,
};

/// The name in the house style: its characters, its prefix, and its form of a time suffix.
/// `tbl_log-2024-03` gives `t_log_202403`. All rules propose this name, so that no proposal breaks
/// another rule.
pub fn house_name(name: &str, prefix: &str) -> String {
    let bare = without_other_prefix(name);
    let dated = match time_tail(bare) {
        Tail::Odd(odd) => odd.proposal,
        _ => None,
    };
    names::prefixed(dated.as_deref().unwrap_or(bare), prefix)
}

/// `tbl_user` and `tb_user` have the prefix of another house, which is removed.
fn without_other_prefix(name: &str) -> &str {
    ["tbl_", "tb_", "table_", "coll_", "col_"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(name)
}

/// The required prefix of collections, as configured for N006.
pub fn house_prefix(settings: &Settings, namespace: &Namespace) -> String {
    match settings.threshold_at("N006", "prefix", Some(&namespace.to_string())) {
        Some(ThresholdSetting::Text(prefix)) => prefix.clone(),
        _ if settings.profile == ProfileName::Neutral => String::new(),
        _ => "t_".to_owned(),
    }
}

/// The name without a prefix that is reserved for the server, unless the name is the server's own.
pub fn without_system(name: &str) -> Option<&str> {
    name.strip_prefix("system.")
        .filter(|rest| !rest.is_empty() && !server::is_known_system_name(name))
}

/// Collections by the words of their proposed names. Two spellings of one name are not suitable for
/// two collections.
#[derive(Debug)]
pub struct Candidates(BTreeMap<Namespace, BTreeSet<String>>);

/// The words of a name, in the database.
fn words_of(database: &str, name: &str) -> Namespace {
    Namespace::new(database, concept(name))
}

impl Candidates {
    /// Collects the proposals of the rules that rename collections.
    pub fn of(evidence: &Evidence, prefix: &str) -> Self {
        let mut all: BTreeMap<Namespace, BTreeSet<String>> = BTreeMap::new();
        for collection in evidence.collections.iter().filter(|c| c.kind.is_business()) {
            let Namespace { database, collection: name } = &collection.namespace;
            let bare = without_system(name).unwrap_or(name);
            let target = words_of(database, &house_name(bare, prefix));
            all.entry(target).or_default().insert(name.clone());
        }
        Self(all)
    }

    /// Like [`obstacle`], but also considers other collections that would get the same name.
    pub fn obstacle(&self, evidence: &Evidence, from: &Namespace, to: &str) -> Option<String> {
        let target = words_of(&from.database, to);
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

/// The reason why a collection cannot simply be renamed, and the alternative; `None` if it can.
/// `rivals` are others that would get the same name.
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
            "{} would also become `{to}`, or another spelling of it: merge them into it, or choose different names",
            text::list(rivals, 3)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_03_1_dm_03_5_a_proposed_name_breaks_no_other_rule() {
        for (name, proposal) in [
            ("tbl_visit_log-may24", "t_visit_log_202405"),
            ("OrderDetail", "t_order_detail"),
            ("t_log-2024-03", "t_log_202403"),
            ("tbl_user", "t_user"),
        ] {
            assert_eq!(house_name(name, "t_"), proposal, "{name}");
            assert_eq!(house_name(proposal, "t_"), proposal);
        }
    }
}
