//! Reads files about firewalls and security groups: Docward's own short format (TOML or JSON) and
//! the exports of cloud platforms (JSON). It detects the format by the structure. Files in,
//! [`Network`] out.
//!
//! Docward's own format is either read completely or refused with the position of the error. An
//! unreadable rule of an export is reported and left out. The result then records that it is
//! incomplete, because an open port could look closed without that rule. Only incoming connections
//! are relevant here; rules for outgoing ones and protocols without ports (ICMP) are skipped.
//!
//! Read on: `declared` (Docward's own format), `aws`, `azure`, `gcp`, `tencent`, `parts` (addresses
//! and ports).

mod aws;
mod azure;
mod declared;
mod gcp;
mod parts;
mod tencent;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
    path::Path,
};

use docward_model::{Layer, Network, Problem, RuleGroup, Source, SourceKind};
use serde::{Deserialize, de::IgnoredAny};

use crate::trouble::Trouble;

/// The size limit of a file; exports of rules are far smaller.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The result of reading network files.
#[derive(Debug, Default)]
pub struct NetworkFiles {
    /// The rules and addresses, unless no file could be read.
    pub network: Option<Network>,
    /// The files, in the order they were named; each rule counts as a document.
    pub sources: Vec<Source>,
    /// Files and rules that could not be read.
    pub problems: Vec<Problem>,
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    File(Trouble),
    #[error("it is longer than {} MiB; export only the groups of the database", LONGEST >> 20)]
    TooLong,
    #[error("it is not UTF-8 text; export it as JSON again")]
    NoText,
    #[error("not valid JSON: {0}; none of its rules was checked")]
    Syntax(serde_json::Error),
    #[error("{format}: {error}; none of its rules was checked")]
    Json { format: &'static str, error: serde_json::Error },
    #[error("line {line}, column {column}: {message}; none of its rules was checked")]
    Toml { line: usize, column: usize, message: String },
    #[error(
        "not recognised: expected Docward's own keys (rules, public_ip, …: see docs/security.md), \
         `aws ec2 describe-security-groups`, `az network nsg list`, `gcloud compute firewall-rules \
         list --format=json` or Tencent Cloud's DescribeSecurityGroupPolicies"
    )]
    Shape,
    #[error("it has no group of rules; check the region and the filters of the export")]
    NoGroups,
}

/// The content of one file.
#[derive(Debug, Default)]
struct Content {
    network: Network,
    /// The layers of groups in other files, by group id or name.
    layers: BTreeMap<String, Layer>,
}

/// The content of a platform's export.
#[derive(Debug, Default)]
struct Export {
    groups: Vec<RuleGroup>,
    /// Rules that could not be read, with the reason.
    unread: Vec<String>,
}

/// Reads network files. Never fails: files that could not be read are in
/// [`NetworkFiles::problems`].
pub fn read_network_rules(files: &[String]) -> NetworkFiles {
    understand(files.iter().map(|name| (name.as_str(), bytes_of(name))))
}

/// Parses files that are already in memory, with their names.
pub fn parse_network_rules(files: &[(&str, &[u8])]) -> NetworkFiles {
    understand(files.iter().map(|(name, bytes)| (*name, Ok(bytes.to_vec()))))
}

fn understand<'n>(files: impl Iterator<Item = (&'n str, Result<Vec<u8>, Fault>)>) -> NetworkFiles {
    let mut read = NetworkFiles::default();
    let mut layers: Vec<(&str, String, Layer)> = Vec::new();
    let mut unread: Vec<String> = Vec::new();
    // The file of each group, by index.
    let mut origins: Vec<&str> = Vec::new();
    for (name, bytes) in files {
        let mut source = Source {
            kind: SourceKind::NetworkRules,
            name: name.to_owned(),
            documents: 0,
            bytes: 0,
            sampled: false,
            server: None,
        };
        let length = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        match bytes.and_then(|bytes| content(name, &bytes)) {
            Ok(content) => {
                let rules = content.network.groups.iter().flat_map(|group| &group.rules);
                source.documents = rules.filter(|rule| !rule.inherited).count() as u64;
                source.bytes = length;
                for odd in &content.network.unread {
                    let message = format!("{odd}; this rule was not checked, the others were");
                    read.problems.push(Problem { source: name.to_owned(), message });
                }
                origins.extend(content.network.groups.iter().map(|_| name));
                layers.extend(content.layers.into_iter().map(|(group, l)| (name, group, l)));
                join(read.network.get_or_insert_default(), content.network);
            }
            Err(fault) => {
                unread.push(format!("the file {name}"));
                let message = fault.to_string();
                read.problems.push(Problem { source: name.to_owned(), message });
            }
        }
        read.sources.push(source);
    }
    for (file, group, layer) in layers {
        let groups = read.network.iter_mut().flat_map(|network| &mut network.groups);
        let mut named =
            groups.filter(|g| g.name == group || g.id.as_ref() == Some(&group)).peekable();
        if named.peek().is_none() {
            let message = format!(
                "layers: no group in the given files has the id or name `{group}`; it was not \
                 checked"
            );
            read.problems.push(Problem { source: file.to_owned(), message });
            unread.push(format!("the group `{group}`, named under layers"));
        }
        named.for_each(|group| group.layer = Some(layer));
    }
    if let Some(network) = &mut read.network {
        network.unread.extend(unread);
        tell_apart(&mut network.groups, &origins);
    }
    read
}

/// Distinguishes groups with the same name in several files, such as the default network of every
/// project, by adding the file name.
fn tell_apart(groups: &mut [RuleGroup], origins: &[&str]) {
    let mut known = BTreeSet::new();
    for (group, origin) in groups.iter_mut().zip(origins) {
        if !known.insert((group.name.clone(), group.id.clone())) {
            group.name = format!("{} in {origin}", group.name);
        }
    }
}

fn join(all: &mut Network, more: Network) {
    if let Some(addresses) = more.public_addresses {
        all.public_addresses.get_or_insert_default().extend(addresses);
    }
    all.load_balancer_vips.extend(more.load_balancer_vips);
    all.listener_ports.extend(more.listener_ports);
    all.mongodb_ports.extend(more.mongodb_ports);
    all.groups.extend(more.groups);
    all.unread.extend(more.unread);
}

/// Reads a file.
fn bytes_of(name: &str) -> Result<Vec<u8>, Fault> {
    let opened = std::fs::File::open(name).map_err(|error| Fault::File(Trouble::opening(error)))?;
    let mut bytes = Vec::new();
    // Reading one byte more than the limit detects files that are too large, including those
    // without a known length.
    let outcome = opened.take(LONGEST + 1).read_to_end(&mut bytes);
    outcome.map_err(|error| Fault::File(Trouble::Open(error)))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Fault::TooLong);
    }
    Ok(bytes)
}

/// Parses the bytes of a file.
fn content(name: &str, bytes: &[u8]) -> Result<Content, Fault> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Fault::File(Trouble::Utf16));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::NoText)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    parse(text, &stem)
}

/// Parses a text and detects its format from its structure. `stem` names a group if the export does
/// not.
fn parse(text: &str, stem: &str) -> Result<Content, Fault> {
    if text.trim().is_empty() {
        return Err(Fault::File(Trouble::Empty));
    }
    if !looks_like_json(text) {
        return declared::from_toml(text);
    }
    let keys = keys(text).map_err(Fault::Syntax)?;
    let has = |key: &str| keys.iter().any(|k| k == key);
    let Export { groups, unread } = if has("SecurityGroups") {
        aws::groups(text)
    } else if has("securityRules") {
        azure::groups(text)
    } else if has("SecurityGroupPolicySet") || has("Response") {
        tencent::groups(text, stem)
    } else if ["items", "allowed", "denied"].into_iter().any(has) {
        gcp::groups(text)
    } else if keys.iter().any(|key| declared::KEYS.contains(&key.as_str())) {
        return declared::from_json(text);
    } else {
        return Err(Fault::Shape);
    }?;
    if groups.is_empty() && unread.is_empty() {
        return Err(Fault::NoGroups);
    }
    let network = Network { groups, unread, ..Network::default() };
    Ok(Content { network, ..Content::default() })
}

/// Returns whether a text is JSON rather than TOML, in which a table also begins with a bracket.
fn looks_like_json(text: &str) -> bool {
    let text = text.trim_start();
    match text.strip_prefix('[') {
        Some(rest) => rest.trim_start().starts_with(['{', ']']),
        None => text.starts_with('{'),
    }
}

/// The keys of an object, or of the first element of a list.
fn keys(text: &str) -> Result<Vec<String>, serde_json::Error> {
    type Object = BTreeMap<String, IgnoredAny>;
    let object = if text.trim_start().starts_with('[') {
        serde_json::from_str::<Vec<Object>>(text)?.into_iter().next().unwrap_or_default()
    } else {
        serde_json::from_str::<Object>(text)?
    };
    Ok(object.into_keys().collect())
}

/// Parses a text as one format; the error names the format and the position.
fn typed<'t, T: Deserialize<'t>>(text: &'t str, format: &'static str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::Json { format, error })
}

/// One object or a list of them: command-line tools print an object for `show` and a list for
/// `list`.
fn one_or_list<'t, T: Deserialize<'t>>(
    text: &'t str,
    format: &'static str,
) -> Result<Vec<T>, Fault> {
    if text.trim_start().starts_with('[') {
        typed(text, format)
    } else {
        typed(text, format).map(|one| vec![one])
    }
}

/// Sorts rules by precedence: a lower number first, and of two equal ones the deny rule.
fn by_precedence(rules: &mut [(i64, docward_model::AccessRule)]) {
    rules.sort_by_key(|(priority, rule)| (*priority, rule.allows));
}

/// Creates a group of an export.
fn group(name: String, id: Option<String>, rules: Vec<docward_model::AccessRule>) -> RuleGroup {
    RuleGroup { name, id, layer: None, rules }
}

#[cfg(test)]
mod tests {
    use docward_model::{Peer, PortRange};

    use super::*;

    /// Prints the parsed rules as text: `group: rule allow|deny sources ports`.
    pub(super) fn read(text: &str) -> Vec<String> {
        let content = parse(text, "stem").unwrap_or_else(|fault| panic!("{fault}"));
        let peer = |peer: &Peer| match peer {
            Peer::Range(range) => range.to_string(),
            Peer::Named(name) => format!("={name}"),
            Peer::Listed(name) => format!("@{name}"),
        };
        let mut out = Vec::new();
        for group in &content.network.groups {
            for rule in &group.rules {
                let sources: Vec<_> = rule.sources.iter().map(peer).collect();
                let ports: Vec<_> = rule.ports.iter().map(PortRange::to_string).collect();
                let action = if rule.allows { "allow" } else { "deny" };
                let (sources, ports) = (sources.join(","), ports.join(","));
                out.push(format!("{}: {} {action} {sources} {ports}", group.name, rule.name));
            }
        }
        out
    }

    #[test]
    fn what_cannot_be_used_says_where_and_why() {
        for (text, expect) in [
            ("", "is empty"),
            (" \n", "is empty"),
            ("{\"SecurityGroups\": [", "not valid JSON: EOF while parsing"),
            (
                "{\n  \"SecurityGroups\": {}\n}",
                "aws ec2 describe-security-groups: invalid type: map",
            ),
            ("{\"SecurityGroups\": []}", "it has no group of rules"),
            ("[]", "not recognised"),
            ("{\"a\": 1}", "not recognised"),
            ("[1, 2]", "line 1, column 3"),
            ("public_ip = 5", "line 1, column 13: invalid type: integer `5`"),
            ("public_ip = \"1.2.3\"", "`1.2.3` is not an address"),
            ("\nlistener_port = 70000", "line 2, column 17"),
            ("publicip = []", "unknown field `publicip`"),
            ("[[rules]]\nlayer = \"mongo\"", "unknown variant `mongo`"),
            (
                "[[rules]]\nlayer = \"mongodb\"\nsources = [\"10.0.0.0/33\"]\nports = [27017]",
                "line 3, column 11: `10.0.0.0/33` is not an address",
            ),
            ("{\"rules\": [{\"layer\": \"mongodb\", \"sources\": [\"x\"]}]}", "line 1 column"),
            ("not a file of rules", "line 1, column"),
        ] {
            let fault = parse(text, "stem").expect_err(text).to_string();
            assert!(fault.contains(expect), "{text}: {fault}");
            assert!(!fault.contains('\n'), "{fault}");
        }
    }

    fn files(contents: &[(&str, &str)]) -> (tempfile::TempDir, NetworkFiles) {
        let place = tempfile::tempdir().unwrap();
        let paths = contents.iter().map(|(name, text)| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let read = read_network_rules(&paths.collect::<Vec<_>>());
        (place, read)
    }

    const TWO_OF_A_NAME: &str = r#"{"SecurityGroups": [
        {"GroupName": "mongo", "GroupId": "sg-1", "VpcId": "vpc-1"},
        {"GroupName": "mongo", "GroupId": "sg-2", "VpcId": "vpc-2"}]}"#;

    #[test]
    fn se_5_a_name_that_several_groups_have_means_all_of_them() {
        let layers = "[layers]\nmongo = \"mongodb\"";
        let (_place, read) = files(&[("aws.json", TWO_OF_A_NAME), ("layers.toml", layers)]);
        let groups = read.network.unwrap().groups;
        assert_eq!(groups.len(), 2);
        assert!(groups.iter().all(|group| group.layer == Some(Layer::MongoDb)), "{groups:?}");
    }

    #[test]
    fn se_5_groups_of_several_files_are_told_apart() {
        let set = r#"{"SecurityGroupPolicySet": {"Ingress": []}}"#;
        let (_place, read) = files(&[("a/sg.json", set), ("b/sg.json", set)]);
        let groups = read.network.unwrap().groups;
        assert_eq!((groups.len(), groups[0].name.as_str()), (2, "sg"));
        assert!(groups[1].name.starts_with("sg in ") && groups[1].name.ends_with("b/sg.json"));
    }

    #[test]
    fn sc_2_what_could_not_be_read_is_kept_in_mind() {
        let odd = r#"{"SecurityGroups": [{"GroupId": "sg-1", "IpPermissions": [
            {"IpProtocol": "tcp", "IpRanges": [{"CidrIp": "10.0.0.0/64"}]},
            {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}]}]}"#;
        let (_place, read) =
            files(&[("odd.json", odd), ("bad.json", "{"), ("l.toml", "[layers]\nx = \"mongodb\"")]);
        let network = read.network.unwrap();
        assert_eq!((network.groups[0].rules.len(), read.problems.len()), (1, 3));
        assert!(network.unread[0].starts_with("rule 1 of `sg-1`: "), "{:?}", network.unread);
        assert!(network.unread[1].contains("bad.json") && network.unread[2].contains("`x`"));
    }
}
