//! Findings about groups of network rules that allow too much, on either layer.

use docward_model::{AccessRule, Draft, RuleGroup, Seen, Subject, Unit};

use crate::facts::{
    deployment::network::{Admission, Opening, group_key, group_text, ports_text},
    text,
};

/// The texts of messages about the groups of one layer.
pub struct Words {
    /// A group in a sentence: `` the group `sg` in front of MongoDB ``.
    pub place: fn(&str) -> String,
    /// The intended ports: `port 27017`.
    pub meant: String,
    /// When everyone is admitted.
    pub everyone: Advice,
    /// When further ports are open.
    pub further: Advice,
}

/// The parts of a finding that do not depend on the addresses.
pub struct Advice {
    /// Why it matters.
    pub why: &'static str,
    /// The text of the fix.
    pub todo: String,
    /// The clauses it breaks.
    pub clauses: &'static [&'static str],
}

/// Rules that a finding has already named. Rules of a wider group also occur in others, and are
/// reported once.
#[derive(Default)]
pub struct Told<'a>(Vec<&'a AccessRule>);

impl<'a> Told<'a> {
    fn has(&self, rule: &AccessRule) -> bool {
        let is_copy = |other: &&&AccessRule| {
            (rule.inherited || other.inherited)
                && (&rule.name, &rule.sources, &rule.ports)
                    == (&other.name, &other.sources, &other.ports)
        };
        self.0.iter().find(is_copy).is_some()
    }
}

/// Reports a group that allows all addresses, by rules that were not reported yet.
pub fn everyone<'a>(
    group: &RuleGroup,
    openings: &[Opening<'a>],
    words: &Words,
    told: &mut Told<'a>,
) -> Option<Draft> {
    let is_new = |opening: &&Opening<'a>| !opening.rules.iter().all(|rule| told.has(rule));
    let open: Vec<&Opening<'a>> = openings.iter().filter(is_new).collect();
    if open.is_empty() {
        return None;
    }
    let by: Vec<String> = open.iter().map(ToString::to_string).collect();
    let rules: Vec<&AccessRule> = open.iter().flat_map(|o| o.rules.iter().copied()).collect();
    let what = format!(
        "{} allows all addresses with {}",
        (words.place)(&group_text(group)),
        text::phrases(&by, 3)
    );
    let found = draft(group, what, &words.everyone, &rules, "everyone");
    told.0.extend(open.iter().flat_map(|opening| &opening.rules));
    Some(found)
}

/// Reports a group that opens more than the intended ports, by rules that do not allow all
/// addresses and were not reported yet.
pub fn further_ports<'a>(
    group: &RuleGroup,
    admissions: &[Admission<'a>],
    openings: &[Opening<'a>],
    meant: &[u16],
    words: &Words,
    told: &mut Told<'a>,
) -> Option<Draft> {
    let is_open = |rule: &AccessRule| {
        openings.iter().flat_map(|opening| &opening.rules).any(|other| std::ptr::eq(*other, rule))
    };
    let (rules, by): (Vec<&'a AccessRule>, Vec<String>) = admissions
        .iter()
        .filter(|a| !a.rule.built_in && !is_open(a.rule) && !told.has(a.rule))
        .map(|a| (a.rule, a.beyond(meant)))
        .filter(|(_, ports)| !ports.is_empty())
        .map(|(rule, ports)| (rule, format!("`{}` ({})", rule.name, ports_text(&ports))))
        .unzip();
    if rules.is_empty() {
        return None;
    }
    let what = format!(
        "{} opens more than {} with {}",
        (words.place)(&group_text(group)),
        words.meant,
        text::phrases(&by, 3)
    );
    let found = draft(group, what, &words.further, &rules, "ports");
    told.0.extend(rules);
    Some(found)
}

fn draft(
    group: &RuleGroup,
    what: String,
    advice: &Advice,
    rules: &[&AccessRule],
    kind: &str,
) -> Draft {
    let seen = Seen::all(group.rules.len() as u64, Unit::NetworkRules);
    let mut names: Vec<&str> = Vec::new();
    for rule in rules {
        if !names.contains(&rule.name.as_str()) {
            names.push(&rule.name);
        }
    }
    Draft::new(Subject::Deployment, what, advice.why, advice.todo.as_str(), seen)
        .clauses(advice.clauses)
        .data("group", group.name.as_str())
        .data("rules", names)
        .key(format!("{}.{kind}", group_key(group)))
}
