//! Tests the interpretation of valid files, key by key.

use docward_config::{Config, FailOn};
use docward_model::{
    CoreSource, DeclaredTopology, LimitScope, Location, Namespace, ProfileName, ServiceClass,
    Severity, ThresholdSetting,
};

use crate::{guide, rules};

/// Parses a file that must have no problems.
fn config(text: &str) -> Config {
    let (config, problems) = docward_config::parse(text, "docward.toml", &rules::all());
    assert_eq!(problems, [], "{text}");
    config
}

fn location(line: u32, column: u32) -> Location {
    Location { file: "docward.toml".into(), line, column }
}

#[test]
fn an_empty_file_is_the_default() {
    for text in ["", "\n\n", "# nothing\n", "\u{feff}", "[rules]\n[collections]\n[deployment]\n"] {
        let config = config(text);
        assert_eq!((config.settings.profile, config.profile), (ProfileName::Neutral, None));
        assert!(config.fail_on.is_none());
        assert!(config.settings.select.is_empty() && config.settings.rules.is_empty());
        assert!(matches!(config.settings.core, CoreSource::Inferred));
    }
}

#[test]
fn a_suppression_is_narrowed_to_files() {
    let entry = |file: &str| {
        format!("[[suppress]]\nrule = 'D020'\n{file}\nreason = 'x'\nexpires = 'never'\n")
    };
    let of = |text: &str| docward_config::parse(text, "docward.toml", &rules::all());
    let read = config(&entry("file = 'src/legacy/**'")).settings.suppressions;
    assert_eq!(read[0].files.as_ref().map(|glob| glob.as_str()), Some("src/legacy/**"));
    // A value that cannot be read must not extend the entry to everything.
    for broken in ["file = 3", "file = 'src/{a'", "file = ''"] {
        let (config, problems) = of(&entry(broken));
        assert!(config.settings.suppressions.is_empty() && problems.len() == 1, "{broken}");
    }
}

#[test]
fn every_key_arrives() {
    let Config { settings, fail_on, .. } = config(&guide::complete_example());
    assert_eq!(settings.profile, ProfileName::Vendor);
    assert_eq!(settings.select, ["D", "N", "V", "money-as-double"]);
    assert_eq!(settings.ignore, ["N008"]);
    assert_eq!(fail_on, Some(FailOn::AtLeast(Severity::Error)));

    let d008 = &settings.rules["D008"];
    assert_eq!((d008.severity, d008.enabled), (Some(Severity::Warn), Some(true)));
    assert_eq!(d008.thresholds["max-elements"], ThresholdSetting::Int(200));
    assert_eq!(d008.thresholds["min-correlation"], ThresholdSetting::Float(0.7));
    // A table under a rule's name is stored under its code.
    assert_eq!(
        settings.rules["N011"].thresholds["prefer"],
        ThresholdSetting::Text("snake_case".into())
    );
    assert_eq!(
        settings.rules["N013"].thresholds["allow"],
        ThresholdSetting::Words(vec!["sku".into(), "vat".into()])
    );

    assert_eq!(settings.overrides.len(), 2);
    assert_eq!(settings.overrides[0].pattern.as_str(), "db_shop.t_log_*");
    assert_eq!(settings.overrides[0].ignore, ["V001", "N"]);
    assert_eq!(settings.overrides[0].select, ["N006"]);
    let at = |ns: &str| settings.threshold_at("D008", "max-elements", Some(ns)).cloned();
    assert_eq!(at("db_shop.t_log_2024"), Some(ThresholdSetting::Int(5000)));
    assert_eq!(at("db_shop.t_order"), Some(ThresholdSetting::Int(200)));
    assert_eq!(settings.severity_at(&rules::D008, Some("db_shop.t_log_x")), Some(Severity::Info));
    assert!(settings.overrides[1].rules.is_empty());
    assert_eq!(settings.overrides[1].ignore, ["N", "T002"]);

    let CoreSource::Declared(core) = &settings.core else { panic!("core is declared") };
    assert!(core[0].matches("db_shop.t_order_item") && core[1].matches("db_shop.t_user"));
    assert_eq!(settings.array_cap(&Namespace::new("db_shop", "t_user"), "recentLogins"), Some(10));
    let (pattern, path) = &settings.mirrors[0];
    assert_eq!((pattern.as_str(), path.as_str()), ("db_shop.t_order", "customer.name"));

    assert_eq!(settings.shard_keys[0].namespace, Namespace::new("db_shop", "t_order"));
    assert_eq!(
        settings.shard_keys[0].fields,
        [("customerId".to_owned(), false), ("createdAt".to_owned(), false)]
    );
    assert_eq!(settings.shard_keys[1].fields, [("device.id".to_owned(), true)]);
    assert_eq!(settings.server_version, Some((6, 0)));
    assert_eq!(settings.shards, Some(4));

    let deployment = &settings.deployment;
    assert_eq!(deployment.topology, Some(DeclaredTopology::Sharded));
    assert_eq!((deployment.routers, deployment.members), (Some(8), Some(3)));
    assert_eq!(deployment.connection_limit, Some(3000));
    assert_eq!(deployment.limit_scope, Some(LimitScope::Total));
    assert_eq!((deployment.client_ips, deployment.routers_change_often), (Some(20), Some(false)));
    let order = &settings.services[0];
    assert_eq!((order.name.as_str(), order.class), ("order", Some(ServiceClass::Core)));
    assert_eq!((order.peak_qps, order.latency_ms), (Some(1000.0), Some(20.0)));
    assert_eq!((order.clients(), order.stale_reads_ms, order.pool), (48, Some(0), Some(30)));
    assert!(order.code[0].matches("services/order/src/main.py"));
}

#[test]
fn words_of_fail_on() {
    use Severity::{Error, Info, Warn};
    for (word, value, fails) in [
        ("error", FailOn::AtLeast(Error), [true, false, false]),
        ("warning", FailOn::AtLeast(Warn), [true, true, false]),
        ("note", FailOn::AtLeast(Info), [true, true, true]),
        ("never", FailOn::Never, [false, false, false]),
    ] {
        assert_eq!(config(&format!("fail-on = '{word}'")).fail_on, Some(value));
        assert_eq!((FailOn::parse(word), value.name()), (Some(value), word));
        let failing = |severity| value.least().is_some_and(|least| severity >= least);
        assert_eq!([Error, Warn, Info].map(failing), fails, "{word}");
    }
    // Names of earlier versions.
    assert_eq!(config("fail-on = 'warn'").fail_on, Some(FailOn::AtLeast(Warn)));
    assert_eq!(config("fail-on = 'info'").fail_on, Some(FailOn::AtLeast(Info)));
    assert_eq!(FailOn::parse("Error"), None);
}

#[test]
fn profiles_and_severities() {
    assert_eq!(config("profile = 'vendor'").settings.profile, ProfileName::Vendor);
    assert_eq!(config("profile = 'neutral'").settings.profile, ProfileName::Neutral);
    for severity in [Severity::Error, Severity::Warn, Severity::Info] {
        let config = config(&format!("[rules.D008]\nseverity = '{severity}'"));
        assert_eq!(config.settings.rules["D008"].severity, Some(severity));
    }
}

#[test]
fn every_type_of_threshold() {
    for (table, expect) in [
        ("D008.max-elements = 0", ThresholdSetting::Int(0)),
        ("D008.min-correlation = -1", ThresholdSetting::Float(-1.0)),
        ("D008.min-correlation = 0.25", ThresholdSetting::Float(0.25)),
        ("N008.require-module = true", ThresholdSetting::Flag(true)),
        ("N006.prefix = ''", ThresholdSetting::Text(String::new())),
        ("N013.allow = ['a']", ThresholdSetting::Words(vec!["a".into()])),
        ("T002.min-double-share = 1", ThresholdSetting::Float(1.0)),
        // Times before 1970 are valid.
        ("T012.earliest = -86_400", ThresholdSetting::Int(-86_400)),
    ] {
        let (path, _) = table.split_once(" = ").unwrap();
        let (code, key) = path.split_once('.').unwrap();
        let config = config(&format!("profile = 'vendor'\n[rules]\n{table}"));
        assert_eq!(config.settings.rules[code].thresholds[key], expect, "{table}");
    }
}

#[test]
fn toml_has_many_ways_to_write_one_thing() {
    let expect = config("[rules.D008]\nmax-elements = 7").settings.rules["D008"].thresholds.clone();
    for text in [
        "rules.D008.max-elements = 7",
        "rules = { D008 = { max-elements = 7 } }",
        "[rules]\nD008 = { max-elements = 7 }",
        "[rules]\nD008.max-elements = 7",
        "[rules.unbounded-array]\nmax-elements = 7",
        "[rules.d008]\nmax-elements = 0x7",
        "[rules.'D008']\n\"max-elements\" = 7\r\n",
    ] {
        assert_eq!(config(text).settings.rules["D008"].thresholds, expect, "{text}");
    }
    let inline = config(
        "namespaces = [{ match = 'a.*', ignore = ['D'], rules = { D008 = { severity = 'info' } } }]\n\
         [collections]\nbounded = [{ match = 'a.b', path = 'c', max = 1 }]\n\
         mirrors = [{ match = 'a.b', path = 'c[].d' }]\n\
         shard-keys = [{ namespace = 'a.b', key = { _id = 'hashed' } }]\n",
    );
    assert_eq!(inline.settings.overrides[0].ignore, ["D"]);
    assert_eq!(inline.settings.bounded_arrays.len(), 1);
    assert_eq!(inline.settings.mirrors[0].1, "c[].d");
    assert_eq!(inline.settings.shard_keys[0].fields, [("_id".to_owned(), true)]);
}

#[test]
fn shard_keys_keep_their_order() {
    let config = config(
        "[[collections.shard-keys]]\nnamespace = 'a.b.c'\n[collections.shard-keys.key]\nz = 1\na = 1\n\"m.n\" = 'hashed'\n",
    );
    let key = &config.settings.shard_keys[0];
    assert_eq!(key.namespace, Namespace::new("a", "b.c"));
    let fields: Vec<_> = key.fields.iter().map(|(name, hashed)| (name.as_str(), *hashed)).collect();
    assert_eq!(fields, [("z", false), ("a", false), ("m.n", true)]);
}

#[test]
fn versions_and_patterns() {
    for (word, expect) in [("6.0", (6, 0)), ("4.10", (4, 10)), ("7.0.14", (7, 0))] {
        let config = config(&format!("deployment.server-version = '{word}'"));
        assert_eq!(config.settings.server_version, Some(expect));
    }
    let config = config("collections.core = ['*', 'a?b', '{x,y}', '[ab]']\n");
    assert!(matches!(config.settings.core, CoreSource::Declared(core) if core.len() == 4));
    let config = self::config("collections.core = []\n");
    assert!(matches!(config.settings.core, CoreSource::Declared(core) if core.is_empty()));
}

#[test]
fn settings_know_where_they_came_from() {
    let config = config(
        "[rules.unbounded-array]\n  max-elements = 200\nseverity = 'warn'\nenabled = true\n\
         [[namespaces]]\nmatch = 'a.*'\nrules.D008.max-elements = 5\n\
         [[namespaces]]\nmatch = '*.b'\nrules.D008 = { max-elements = 6 }\n",
    );
    let origin = |key: &str, ns: Option<&str>| config.origin("D008", key, ns).cloned();
    assert_eq!(origin("max-elements", None), Some(location(2, 3)));
    assert_eq!(origin("max-elements", Some("x.y")), Some(location(2, 3)));
    assert_eq!(origin("max-elements", Some("a.x")), Some(location(7, 12)));
    assert_eq!(origin("max-elements", Some("a.b")), Some(location(10, 16)), "later ones win");
    assert_eq!(origin("severity", Some("a.b")), Some(location(3, 1)));
    assert_eq!(origin("enabled", None), Some(location(4, 1)));
    assert_eq!(origin("min-correlation", None), None);
    assert_eq!(config.origin("D009", "max-elements", None), None);
}

#[test]
fn the_rest_of_a_faulty_file_still_counts() {
    let text = "profile = 'neutral'\nselect = ['D', 3]\nfail-on = 'x'\nshards = 3\n\
                [rules.D008]\nmax-elements = 'many'\nmin-correlation = 0.9\nseverity = 'loud'\n\
                [rules.N013]\nallow = ['a', 1, 'b']\n\
                [[namespaces]]\nmatch = '['\n[[namespaces]]\nmatch = 'a.*'\nignore = ['T']\n\
                [collections]\ncore = ['a.b', 'a[']\n\
                [deployment]\nshards = 2\nserver-version = 'six'\n";
    let (config, problems) = docward_config::parse(text, "docward.toml", &rules::all());
    assert_eq!(problems.len(), 9, "{problems:#?}");
    assert!(problems.iter().all(|problem| problem.fatal));
    let settings = &config.settings;
    assert_eq!(settings.profile, ProfileName::Neutral);
    assert_eq!(settings.select, ["D"]);
    assert_eq!(settings.rules["D008"].thresholds.len(), 1);
    assert_eq!(
        settings.rules["N013"].thresholds["allow"],
        ThresholdSetting::Words(vec!["a".into(), "b".into()])
    );
    assert_eq!(settings.overrides.len(), 1);
    assert!(matches!(&settings.core, CoreSource::Declared(core) if core.len() == 1));
    assert_eq!((settings.shards, settings.server_version), (Some(2), None));
}

#[test]
fn an_unknown_selection_does_not_select_everything() {
    let (config, problems) = docward_config::parse("select = ['D999']", "f", &rules::all());
    assert_eq!(problems.len(), 1);
    assert!(!config.settings.is_on(&rules::D008));
}

#[test]
fn of_two_tables_for_one_rule_the_first_counts() {
    let text = "[rules.D008]\nmax-elements = 1\n[rules.unbounded-array]\nmax-elements = 2\n";
    let (config, _) = docward_config::parse(text, "docward.toml", &rules::all());
    assert_eq!(config.settings.rules["D008"].thresholds["max-elements"], ThresholdSetting::Int(1));
    assert_eq!(config.origin("D008", "max-elements", None), Some(&location(2, 1)));
}

#[test]
fn the_last_entry_that_speaks_of_a_rule_decides() {
    let Config { settings, .. } = config(
        "[[namespaces]]\nmatch = 'a.*'\nignore = ['D', 'T002']\n\
         [[namespaces]]\nmatch = 'a.b*'\nselect = ['D008']\nrules.T002.enabled = true\n\
         [[namespaces]]\nmatch = 'a.b2'\nignore = ['all']\nselect = ['D009']\n",
    );
    let ignored = |code: &str, namespace: &str| {
        let rule = rules::all().into_iter().find(|rule| rule.code == code).unwrap();
        settings.is_ignored_at(rule, namespace)
    };
    for (code, namespace, expected) in [
        ("D008", "a.x", true),
        ("D008", "a.b1", false),
        ("D009", "a.b1", true),
        ("T002", "a.b1", false),
        ("D008", "a.b2", true),
        ("D009", "a.b2", false),
        ("D008", "c.d", false),
    ] {
        assert_eq!(ignored(code, namespace), expected, "{code} at {namespace}");
    }
}
