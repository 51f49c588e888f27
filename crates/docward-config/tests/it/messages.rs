//! Tests the exact messages for invalid files.

use docward_config::selector_problem;

use crate::rules;

/// Problems without the file name; notes end with `(note)`.
fn said(text: &str) -> Vec<String> {
    let (_, problems) = docward_config::parse(text, "f", &rules::all());
    let short = |problem: &docward_config::Diagnostic| {
        let text = problem.to_string();
        let text = text.strip_prefix("f:").expect("the file comes first");
        if problem.fatal { text.to_owned() } else { format!("{text} (note)") }
    };
    problems.iter().map(short).collect()
}

#[test]
fn the_form_of_a_message() {
    let text = "\n[rules.D008]\n  max-elemnts = 3\n";
    let (_, problems) = docward_config::parse(text, "a/docward.toml", &rules::all());
    let problem = &problems[0];
    assert_eq!(
        problem.to_string(),
        "a/docward.toml:3:3: unknown threshold `max-elemnts` of D008; did you mean `max-elements`?"
    );
    assert_eq!(problem.message, "unknown threshold `max-elemnts` of D008");
    assert_eq!(problem.hint.as_deref(), Some("did you mean `max-elements`?"));
    assert_eq!((problem.line, problem.column, problem.fatal), (3, 3, true));
}

#[test]
fn messages_start_small_and_end_without_a_stop() {
    for (text, _) in CASES {
        let (_, problems) = docward_config::parse(text, "f", &rules::all());
        for problem in problems {
            for part in [Some(problem.message), problem.hint].into_iter().flatten() {
                let first = part.chars().next().unwrap_or(' ');
                assert!(!part.ends_with('.'), "{part}");
                let code = part.starts_with(|c: char| c.is_ascii_uppercase())
                    && part.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
                assert!(!first.is_uppercase() || code, "{part}");
            }
        }
    }
}

#[test]
fn every_case() {
    let mut wrong = String::new();
    for (text, expect) in CASES {
        let said = said(text);
        if said != *expect {
            wrong += &format!("{text}\n  said   {said:#?}\n  expect {expect:#?}\n\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

const CASES: &[(&str, &[&str])] = &[
    // Unknown keys, one per table.
    ("profil = 'x'", &["1:1: unknown key `profil`; did you mean `profile`?"]),
    ("fail_on = 'warn'", &["1:1: unknown key `fail_on`; did you mean `fail-on`?"]),
    ("failOn = 'warn'", &["1:1: unknown key `failOn`; did you mean `fail-on`?"]),
    (
        "colour = 1",
        &[
            "1:1: unknown key `colour`; known keys: `profile`, `select`, `ignore`, `fail-on`, `baseline`, `rules`, `namespaces`, `collections`, `deployment`, `service`, `guard`, `suppress` and `waive`",
        ],
    ),
    ("[rule.D008]", &["1:2: unknown key `rule`; did you mean `rules`?"]),
    (
        "[[namespaces]]\nmatch = 'a.b'\nignored = ['D']",
        &["3:1: unknown key `ignored` in `[[namespaces]]`; did you mean `ignore`?"],
    ),
    (
        "[collections]\ncores = ['a.*']",
        &["2:1: unknown key `cores` in `[collections]`; did you mean `core`?"],
    ),
    (
        "[[collections.bounded-arrays]]",
        &["1:15: unknown key `bounded-arrays` in `[collections]`; did you mean `bounded`?"],
    ),
    (
        "[[collections.bounded]]\nmatch = 'a.b'\npath = 'c'\nmaximum = 3",
        &[
            "1:1: `[[collections.bounded]]` needs `max`",
            "4:1: unknown key `maximum` in `[[collections.bounded]]`; did you mean `max`?",
        ],
    ),
    (
        "[[collections.mirrors]]\nmatch = 'a.b'\npath = 'c'\nmax = 3",
        &["4:1: unknown key `max` in `[[collections.mirrors]]`; known keys: `match` and `path`"],
    ),
    (
        "[[collections.shard-keys]]\nnamespace = 'a.b'\nkeys = { a = 1 }",
        &[
            "1:1: `[[collections.shard-keys]]` needs `key`",
            "3:1: unknown key `keys` in `[[collections.shard-keys]]`; did you mean `key`?",
        ],
    ),
    (
        "deployment = { shard = 3, serverVersion = '6.0' }",
        &[
            "1:16: unknown key `shard` in `[deployment]`; did you mean `shards`?",
            "1:27: unknown key `serverVersion` in `[deployment]`; did you mean `server-version`?",
        ],
    ),
    // Valid keys in the wrong place.
    ("shards = 3", &["1:1: unknown key `shards`; `shards` belongs under `[deployment]`"]),
    ("core = []", &["1:1: unknown key `core`; `core` belongs under `[collections]`"]),
    (
        "[deployment]\nfail-on = 'warn'",
        &[
            "2:1: unknown key `fail-on` in `[deployment]`; `fail-on` belongs above the first `[section]`",
        ],
    ),
    (
        "[D008]\nseverity = 'warn'",
        &["1:2: unknown key `D008`; settings of a rule belong under `[rules.D008]`"],
    ),
    (
        "max-elements = 3",
        &[
            "1:1: unknown key `max-elements`; `max-elements` is a threshold of D008 and another rule",
        ],
    ),
    ("prefer = 'x'", &["1:1: unknown key `prefer`; `prefer` is a threshold of N011"]),
    (
        "[rules.D009]\nprefer = 'x'",
        &["2:1: unknown threshold `prefer` of D009; `prefer` is a threshold of N011"],
    ),
    (
        "[rules.D009]\nselect = ['D']",
        &["2:1: unknown threshold `select` of D009; `select` belongs above the first `[section]`"],
    ),
    (
        "[rules.D009]\ncolour = 1",
        &[
            "2:1: unknown threshold `colour` of D009; D009 has `max-elements`, `severity` and `enabled`",
        ],
    ),
    // Rules.
    ("[rules.D08]", &["1:8: unknown rule `D08`; did you mean `D008`?"]),
    (
        "[rules.unbound-array]",
        &["1:8: unknown rule `unbound-array`; did you mean `unbounded-array`?"],
    ),
    ("[rules.Z123]", &["1:8: unknown rule `Z123`; `docward rules` lists them all"]),
    ("[rules.D]", &["1:8: unknown rule `D`; settings are for one rule at a time"]),
    ("[rules.all]", &["1:8: unknown rule `all`; settings are for one rule at a time"]),
    ("[rules]\n'' = {}", &["2:1: unknown rule ``; `docward rules` lists them all"]),
    (
        "[[namespaces]]\nmatch = 'a.b'\n[namespaces.rules.D08]\nmax = 1",
        &["3:19: unknown rule `D08`; did you mean `D008`?"],
    ),
    (
        "[rules.D008]\n[rules.unbounded-array]\n",
        &[
            "2:8: `unbounded-array` and `D008` are the same rule, which line 1 already sets; put everything under `[rules.D008]`",
        ],
    ),
    (
        "[rules.unbounded-array]\nmax-elements = 1\n[rules.d008]\nmax-elements = 'x'\n",
        &[
            "3:8: `d008` and `unbounded-array` are the same rule, which line 1 already sets; put everything under `[rules.D008]`",
            "4:16: `max-elements` of D008 must be a whole number, not a string",
        ],
    ),
    ("rules = 3", &["1:1: `rules` must be a table, not a whole number; write `[rules.CODE]`"]),
    (
        "[[rules]]\nD008 = 1",
        &["1:3: `rules` must be a table, not a list of tables; write `[rules.CODE]`"],
    ),
    (
        "[rules]\nD008 = 'warn'\nD009 = 'off'\nN006 = false\nN008 = 3",
        &[
            "2:1: `D008` must be a table, not a string; write `D008 = { severity = 'warn' }`",
            "3:1: `D009` must be a table, not a string; write `D009 = { enabled = false }`",
            "4:1: `N006` must be a table, not a boolean; write `N006 = { enabled = false }`",
            "5:1: `N008` must be a table, not a whole number; write `[rules.N008]` and its settings below",
        ],
    ),
    // Severity and enabled.
    (
        "[rules.D008]\nseverity = 'warnin'\nenabled = 'true'",
        &[
            "2:12: `severity` cannot be `warnin`; did you mean `warning`?",
            "3:11: `enabled` must be `true` or `false`, not a string; write `enabled = true`",
        ],
    ),
    (
        "[rules.D008]\nseverity = 'off'\nenabled = 1",
        &[
            "2:12: `severity` cannot be `off`; `enabled = false` turns a rule off",
            "3:11: `enabled` must be `true` or `false`, not a whole number",
        ],
    ),
    (
        "[rules.D008]\nseverity = 3",
        &["2:12: `severity` must be a string, not a whole number; write `severity = \"3\"`"],
    ),
    (
        "[rules.D008]\nseverity = 'loud'",
        &["2:12: `severity` cannot be `loud`; write `error`, `warning` or `note`"],
    ),
    // Thresholds: types.
    (
        "[rules.D008]\nmax-elements = '200'\nmin-correlation = '0.5'",
        &[
            "2:16: `max-elements` of D008 must be a whole number, not a string; write `max-elements = 200`",
            "3:19: `min-correlation` of D008 must be a number, not a string; write `min-correlation = 0.5`",
        ],
    ),
    (
        "[rules.D008]\nmax-elements = 1.5\nhorizon-years = 1979-05-27",
        &[
            "2:16: `max-elements` of D008 must be a whole number, not a decimal number",
            "3:17: `horizon-years` of D008 must be a whole number, not a date",
        ],
    ),
    (
        "[rules.D008.max-elements]\na = 1",
        &["1:1: `max-elements` of D008 must be a whole number, not a table"],
    ),
    (
        "[rules.N008]\nrequire-module = 'false'\n[rules.N006]\nenabled = true\nprefix = 3\n[rules.N013]\nallow = 'sku'",
        &[
            "2:18: `require-module` of N008 must be `true` or `false`, not a string; write `require-module = false`",
            "5:10: `prefix` of N006 must be a string, not a whole number",
            "7:9: `allow` of N013 must be a list of strings, not a string; write `allow = ['sku']`",
        ],
    ),
    (
        "[rules.N013]\nallow = ['a', 1, ['b']]",
        &[
            "2:15: `allow` of N013 must be a list of strings, not of numbers",
            "2:18: `allow` of N013 must be a list of strings, not of lists",
        ],
    ),
    // Thresholds: ranges.
    (
        "[rules.D008]\nmax-elements = -1\nhorizon-years = -0x0\nmin-correlation = -1.5",
        &[
            "2:16: `max-elements` of D008 counts elements and cannot be negative",
            "3:17: not TOML: integers with a radix cannot be signed, expected nothing",
            "4:19: `min-correlation` of D008 must be between -1 and 1, not -1.5",
        ],
    ),
    (
        "[rules.T002]\nmin-double-share = 80",
        &[
            "2:20: `min-double-share` of T002 must be between 0 and 1, not 80; write 0.8 for 80 percent",
        ],
    ),
    (
        "[rules.T002]\nmin-double-share = -0.1",
        &["2:20: `min-double-share` of T002 must be between 0 and 1, not -0.1"],
    ),
    (
        "[rules.T002]\nmin-double-share = nan\n[rules.D008]\nmin-correlation = -inf",
        &[
            "2:20: `min-double-share` of T002 must be a finite number, not nan",
            "4:19: `min-correlation` of D008 must be a finite number, not -inf",
        ],
    ),
    (
        "[rules.N011]\nprefer = 'camelcase'",
        &["2:10: `prefer` of N011 cannot be `camelcase`; did you mean `camelCase`?"],
    ),
    (
        "[rules.N011]\nprefer = 'PascalCase'",
        &["2:10: `prefer` of N011 cannot be `PascalCase`; write `camelCase` or `snake_case`"],
    ),
    // Top-level words.
    ("profile = 'neutrl'", &["1:11: `profile` cannot be `neutrl`; did you mean `neutral`?"]),
    ("profile = 'x'", &["1:11: `profile` cannot be `x`; write `vendor` or `neutral`"]),
    (
        "profile = true",
        &["1:11: `profile` must be a string, not a boolean; write `profile = \"true\"`"],
    ),
    ("fail-on = 'none'", &["1:11: `fail-on` cannot be `none`; did you mean `note`?"]),
    ("fail-on = ['warn']", &["1:11: `fail-on` must be a string, not a list"]),
    // Selectors.
    (
        "select = ['D08', 'Z', 'unbounded-arrays', 'D']\nignore = ['']",
        &[
            "1:11: unknown rule `D08` in `select`; did you mean `D008`?",
            "1:18: no family of rules is called `Z` in `select`; families are `D`, `N`, `T` and `V`",
            "1:23: unknown rule `unbounded-arrays` in `select`; did you mean `unbounded-array`?",
            "2:11: unknown rule `` in `ignore`; `docward rules` lists them all",
        ],
    ),
    (
        "select = 'D'\nignore = { D = 1 }",
        &[
            "1:10: `select` must be a list of strings, not a string; write `select = ['D']`",
            "2:10: `ignore` must be a list of strings, not a table",
        ],
    ),
    (
        "select = ['D', 3, true, 1979-05-27, [], {}]",
        &[
            "1:16: `select` must be a list of strings, not of numbers",
            "1:19: `select` must be a list of strings, not of booleans",
            "1:25: `select` must be a list of strings, not of dates",
            "1:37: `select` must be a list of strings, not of lists",
            "1:41: `select` must be a list of strings, not of tables",
        ],
    ),
    // Namespaces.
    (
        "[namespaces]\nmatch = 'a.['\nignore = ['D08']",
        &[
            "1:2: `namespaces` must be a list of tables, not a table; write `[[namespaces]]`, with two brackets",
            "2:9: `a.[` is not a pattern: unclosed character class; missing ']'",
            "3:11: unknown rule `D08` in `ignore`; did you mean `D008`?",
        ],
    ),
    (
        "namespaces = 'a.b'",
        &[
            "1:1: `namespaces` must be a list of tables, not a string; write `[[namespaces]]`, with two brackets",
        ],
    ),
    ("namespaces = ['a.b']", &["1:15: `namespaces` must be a list of tables, not of strings"]),
    (
        "[[namespaces]]\nignore = ['D']\n\n  [[namespaces]]\n  match = ''\n  ignore = ['D']",
        &[
            "1:1: `[[namespaces]]` needs `match`",
            "5:11: an empty pattern matches nothing; write `*` for all",
        ],
    ),
    (
        "[[namespaces]]\nmatch = 3\nignore = []",
        &["2:9: `match` must be a string, not a whole number; write `match = \"3\"`"],
    ),
    // Collections.
    (
        "collections = 3",
        &["1:1: `collections` must be a table, not a whole number; write `[collections]`"],
    ),
    (
        "[collections]\ncore = ['t_user', '{a']",
        &[
            "2:9: `t_user` matches no collection: it names no database; write `*.t_user` or `database.t_user`",
            "2:19: `{a` is not a pattern: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
        ],
    ),
    (
        "[[collections.bounded]]\nmatch = 't_user'\npath = 'logins[]'\nmax = 0",
        &[
            "2:9: `t_user` matches no collection: it names no database; write `*.t_user` or `database.t_user`",
            "3:8: `logins[]` means the elements, not the array; write `logins`",
            "4:7: `max` must be 1 or more, not 0",
        ],
    ),
    (
        "[[collections.bounded]]\nmatch = 'a.b'\npath = 'c'\nmax = '10'",
        &["4:7: `max` must be a whole number, not a string; write `max = 10`"],
    ),
    (
        "[[collections.mirrors]]\nmatch = 'a.b'\npath = 'a..b'\n[[collections.mirrors]]\n",
        &[
            "3:8: `a..b` is not a path: a name between two dots is empty; write it as reports do, `items[].price`",
            "4:1: `[[collections.mirrors]]` needs `match`",
            "4:1: `[[collections.mirrors]]` needs `path`",
        ],
    ),
    (
        "[[collections.mirrors]]\nmatch = 'a.b'\npath = '$a'\n[[collections.mirrors]]\nmatch = 'a.b'\npath = ''\n",
        &[
            "3:8: `$a` is not a path: paths do not start with `$`; write it as reports do, `items[].price`",
            "6:8: `` is not a path: it is empty; write it as reports do, `items[].price`",
        ],
    ),
    (
        "[[collections.shard-keys]]\nnamespace = 't_order'\nkey = {}",
        &[
            "2:13: `namespace` must be `database.collection`, not `t_order`",
            "3:7: a shard key needs a field; write `key = { customerId = 1 }`",
        ],
    ),
    (
        "[[collections.shard-keys]]\nnamespace = 'a.*'\nkey = { a = -1, b = 'hash', c = 1.0, d.e = 1 }",
        &[
            "2:13: `namespace` must name one collection, and `a.*` is a pattern",
            "3:13: `a` must be 1 or \"hashed\", not -1; shard keys only ascend",
            "3:21: `b` must be 1 or \"hashed\", not 'hash'",
            "3:33: `c` must be 1 or \"hashed\", not 1.0",
            "3:38: `d` is a table, and a shard key has only fields; quote paths: `\"d.field\" = 1`",
        ],
    ),
    (
        "[[collections.shard-keys]]\nnamespace = 'a.b'\nkey = { 'a[].b' = 1, b = 'hashed', c = 'hashed', '' = 1 }",
        &[
            "3:9: `a[].b` is in an array, which a shard key cannot contain",
            "3:40: a shard key can have only one hashed field",
            "3:50: `` is not a path: it is empty; write it as reports do, `items[].price`",
        ],
    ),
    (
        "[[collections.shard-keys]]\nnamespace = 'a.b'\nkey = 'a'\n[[collections.shard-keys]]\nnamespace = 3\nkey = { a = 1 }",
        &[
            "3:1: `key` must be a table, not a string; write `key = { customerId = 1, createdAt = 1 }`",
            "5:13: `namespace` must be a string, not a whole number; write `namespace = \"3\"`",
        ],
    ),
    (
        "[[collections.shard-keys]]\nnamespace = 'a.b'\nkey = { a = 1 }\n[[collections.shard-keys]]\nnamespace = 'a.b'\nkey = { b = 1 }",
        &["5:13: `a.b` has a shard key already, above; the first entry counts"],
    ),
    // Deployment.
    (
        "[deployment]\nserver-version = 6.0\nshards = 0",
        &[
            "2:18: `server-version` must be a string, not a decimal number; write `server-version = \"6.0\"`",
            "3:10: `shards` must be 2 to 1000, not 0",
        ],
    ),
    (
        "[deployment]\nserver-version = 'six'\nshards = 99999999999",
        &[
            "2:18: `six` is not a server version; write major and minor, `\"6.0\"`",
            "3:10: `shards` must be 2 to 1000, not 99999999999",
        ],
    ),
    ("[deployment]\nshards = 4000000000", &["2:10: `shards` must be 2 to 1000, not 4000000000"]),
    ("[deployment]\nshards = 1", &["2:10: `shards` must be 2 to 1000, not 1"]),
    (
        "[deployment]\nserver-version = '6'",
        &["2:18: `6` is not a server version; write major and minor, `\"6.0\"`"],
    ),
    (
        "deployment = 'x'",
        &["1:1: `deployment` must be a table, not a string; write `[deployment]`"],
    ),
    (
        "[deployment]\ntopology = 'replicaset'\nrouters = 0\nmembers = '3'\nlimit-scope = 'node'\nclient-ip = 4\nconnection-limit = 9999999999",
        &[
            "2:12: `topology` cannot be `replicaset`; did you mean `replica-set`?",
            "3:11: `routers` must be 1 or more, not 0",
            "4:11: `members` must be a whole number, not a string; write `members = 3`",
            "5:15: `limit-scope` cannot be `node`; write `total` or `per-node`",
            "6:1: unknown key `client-ip` in `[deployment]`; did you mean `client-ips`?",
            "7:20: `connection-limit` must be 1000000000 or less, not 9999999999",
        ],
    ),
    (
        "[deployment]\ntopology = 'replica-set'\nrouters = 3",
        &["3:11: `routers` belong to a sharded cluster, not to a replica-set (note)"],
    ),
    // Services.
    (
        "[[service]]\nname = 'order'\nclass = 'cor'\npeakqps = 5\nlatency-ms = 0\nstale-reads-ms = -1\n[[service]]\nclass = 'core'\n[[service]]\nname = 'order'\n[[service]]\nname = ' '",
        &[
            "3:9: `class` cannot be `cor`; did you mean `core`?",
            "4:1: unknown key `peakqps` in `[[service]]`; did you mean `peak-qps`?",
            "5:14: `latency-ms` must be more than 0, not 0",
            "6:18: `stale-reads-ms` must be 0 or more, not -1",
            "7:1: `[[service]]` needs `name`",
            "10:8: the service `order` is declared already, above; the first entry counts",
            "12:8: a service needs a name",
        ],
    ),
    (
        "[[service]]\nname = 'a'\npeak-qps = '5'\ncode = 'src/**'\ninstances = 2.0",
        &[
            "3:12: `peak-qps` must be a number, not a string; write `peak-qps = 5`",
            "4:8: `code` must be a list of strings, not a string; write `code = ['src/**']`",
            "5:13: `instances` must be a whole number, not a decimal number",
        ],
    ),
    (
        "[service]\nname = 'a'",
        &[
            "1:2: `service` must be a list of tables, not a table; write `[[service]]`, with two brackets",
        ],
    ),
    // Columns count characters, and user text never reaches the terminal unescaped.
    (
        "\"é\" = 1\nselect = [\"é\", 'D08']",
        &[
            "1:1: unknown key `é`; known keys: `profile`, `select`, `ignore`, `fail-on`, `baseline`, `rules`, `namespaces`, `collections`, `deployment`, `service`, `guard`, `suppress` and `waive`",
            "2:11: no family of rules is called `é` in `select`; families are `D`, `N`, `T` and `V`",
            "2:16: unknown rule `D08` in `select`; did you mean `D008`?",
        ],
    ),
    ("\u{feff}profil = 1", &["1:1: unknown key `profil`; did you mean `profile`?"]),
    (
        "profile = \"\\u001b[31m\\n\"",
        &["1:11: `profile` cannot be `\\u{1b}[31m\\n`; write `vendor` or `neutral`"],
    ),
    // Syntax errors, together with other problems.
    (
        "profile = vendor\nselect = ['D'\nfail-on = 'warnin'\n[rules.D08]\n",
        &[
            "1:11: not TOML: string values must be quoted, expected literal string; write `\"vendor\"`",
            "2:14: not TOML: unclosed array, expected `]`",
            "3:11: `fail-on` cannot be `warnin`; did you mean `warning`?",
            "4:8: unknown rule `D08`; did you mean `D008`?",
        ],
    ),
    (
        "profile = 'vendor'\nprofile = 'neutral'\n[rules.D008]\n[rules.D008]\n",
        &["2:1: `profile` is set twice", "4:8: `D008` is set twice"],
    ),
    // Valid, but without effect.
    (
        "select = ['D']\n[rules.D008]\nenabled = false\n[rules.T002]\nenabled = true\n[rules.D009]\nenabled = true",
        &[
            "3:1: `enabled = false` has no effect: `select` names D008; add \"D008\" to `ignore` (note)",
            "5:1: `enabled = true` has no effect: `select` does not name T002; add \"T002\" to `select` (note)",
        ],
    ),
    (
        "ignore = ['D']\n[rules.D008]\nenabled = true\n[rules.D009]\nenabled = false",
        &["3:1: `enabled = true` has no effect: `ignore` names D008 (note)"],
    ),
    (
        "profile = 'neutral'\n[rules.N006]\nprefix = 'x_'\n",
        &[
            "2:8: these settings have no effect: the profile `neutral` turns N006 off; `enabled = true` turns it on (note)",
        ],
    ),
    ("profile = 'neutral'\n[rules.N006]\nenabled = true\nprefix = 'x_'\n", &[]),
    (
        "[[namespaces]]\nmatch = 'a.*'\nignore = ['D']\n[[namespaces]]\nmatch = 'a.b'\nselect = ['D008', 'T']\n[namespaces.rules.D009]\nenabled = true",
        &[
            "6:19: \"T\" has no effect here: no earlier entry turns it off; `select` of an entry only reverts `ignore` of earlier entries (note)",
        ],
    ),
    (
        "[[namespaces]]\nmatch = 'a.*'\n[[namespaces]]\nmatch = 'b.*'\n[namespaces.rules.D008]\nenabled = true",
        &[
            "1:1: `[[namespaces]]` changes nothing; add `ignore`, `select` or `[namespaces.rules.CODE]` (note)",
            "6:1: `enabled = true` has no effect here: no earlier entry turns the rule off; remove it, or set it under `[rules.D008]` (note)",
        ],
    ),
    (
        "[rules.N013]\nallow = []",
        &[
            "2:1: `allow` of N013 is empty and changes nothing; the words are added to the default list of the rule (note)",
        ],
    ),
    (
        "[[collections.bounded]]\nmatch = 'a.b'\npath = 'c'\nmax = 1\n[[collections.bounded]]\nmatch = 'a.b'\npath = 'c'\nmax = 2",
        &["5:1: `c` has a limit already, above; the first entry counts (note)"],
    ),
];

#[test]
fn selectors_of_the_command_line_get_the_same_answers() {
    let rules = rules::all();
    for known in ["D", "d", "D008", "d008", "unbounded-array", "all", "ALL"] {
        assert_eq!(selector_problem(known, &rules), None, "{known}");
    }
    let said = |word| selector_problem(word, &rules).map(|(what, hint)| format!("{what}; {hint}"));
    assert_eq!(
        said("unbounded-aray").as_deref(),
        Some("unknown rule `unbounded-aray`; did you mean `unbounded-array`?")
    );
    assert_eq!(
        said("D999").as_deref(),
        Some("unknown rule `D999`; `docward rules` lists them all")
    );
    assert_eq!(
        selector_problem("D", &[]).map(|(_, hint)| hint).as_deref(),
        Some("`docward rules` lists them all")
    );
}
