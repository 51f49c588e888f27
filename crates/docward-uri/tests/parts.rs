//! Tests how the parts of a connection string are handled, passwords in particular.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use docward_model::UriChange;
use docward_model::{ClientUri, NoteKind, OptionValue, Password, Purpose};
use docward_uri::{FaultKind, Note, Secret, parse};
use proptest::prelude::*;

fn uri(text: &str) -> ClientUri {
    parse(text).unwrap_or_else(|fault| panic!("{fault} in {text}")).client(Purpose::Client)
}

fn fault(text: &str) -> Option<FaultKind> {
    parse(text).err().map(|fault| fault.kind)
}

#[test]
fn the_parts_are_found() {
    let parsed = uri(
        "mongodb://ap%70:Abcdef1!xyzw@10.0.0.1:27017,[fd00::1]:27018/db_shop?tls=TRUE&appName=a%20b",
    );
    assert_eq!(parsed.hosts, ["10.0.0.1:27017", "[fd00::1]:27018"]);
    assert_eq!(parsed.user.as_deref(), Some("app"));
    assert_eq!(
        (parsed.database.as_deref(), parsed.auth_source.as_str()),
        (Some("db_shop"), "db_shop")
    );
    assert_eq!((parsed.tls, parsed.app_name.as_deref()), (true, Some("a b")));
    assert!(matches!(parsed.password, Password::Given(_)));
    let plain = uri("mongodb://h");
    assert_eq!((plain.tls, plain.user, plain.password), (false, None, Password::Absent));
    assert_eq!(plain.auth_source, "admin");
    assert!(uri("mongodb+srv://cluster.example.net").tls);
    assert!(!uri("mongodb+srv://cluster.example.net/?ssl=false").tls);
    assert_eq!(uri("mongodb://h/?tls=true&tlsInsecure=true").unchecked, ["tlsInsecure"]);
    assert_eq!(uri("mongodb://h/?authSource=admin").auth_source, "admin");
}

#[test]
fn se_8_se_9_logins_kept_elsewhere_are_looked_up_in_external() {
    let source = |rest: &str| uri(&format!("mongodb://u@h/{rest}")).auth_source;
    for mechanism in ["MONGODB-X509", "MONGODB-AWS", "MONGODB-OIDC", "GSSAPI", "gssapi"] {
        assert_eq!(source(&format!("?authMechanism={mechanism}")), "$external", "{mechanism}");
        assert_eq!(source(&format!("db?authMechanism={mechanism}")), "$external", "{mechanism}");
    }
    assert_eq!(source("?authMechanism=PLAIN"), "$external");
    assert_eq!(source("db?authMechanism=PLAIN"), "db", "as drivers do");
    assert_eq!(source("db?authMechanism=SCRAM-SHA-256"), "db");
    assert_eq!(source("?authSource=x&authMechanism=GSSAPI"), "x", "what is said counts");
}

#[test]
fn rp_6_tag_sets_keep_their_order() {
    let parsed = uri(
        "mongodb://h/?replicaSet=rs0&readPreference=secondary&readPreferenceTags=dc:ny,rack:1&readPreferenceTags=dc%3Ala&readPreferenceTags=",
    );
    assert_eq!(parsed.replica_set.as_deref(), Some("rs0"));
    assert_eq!(parsed.read_preference.as_deref(), Some("secondary"));
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        parsed.read_tags,
        [vec![pair("dc", "ny"), pair("rack", "1")], vec![pair("dc", "la")], Vec::new()]
    );
    assert!(parsed.notes.is_empty(), "{:?}", parsed.notes);
}

#[test]
fn nothing_of_a_password_becomes_something_else() {
    for text in [
        "mongodb://app:pa/ss@host/db",
        "mongodb://app:pa?ss@host/db",
        "mongodb://app:pa#ss@host/db",
        "mongodb://app:p@a/ss@host/db",
        "mongodb://app:pa:ss@host/db",
        "mongodb://app:pa%ss@host/db",
    ] {
        assert_eq!(fault(text), Some(FaultKind::Unescaped), "{text}");
    }
    let parsed = uri("mongodb://app:S3cret!Horse-Battery@host");
    assert!(!format!("{parsed:?}{}", parsed.label()).contains("S3cret"));
    assert_eq!(fault("mongodb://"), Some(FaultKind::NoHost));
    for cut in ["mongodb://app:secret", "mongodb://app:secret,host", "mongodb://h:70000"] {
        assert_eq!(fault(cut), Some(FaultKind::Port), "{cut}");
    }
    assert_eq!(uri("mongodb://%2Ftmp%2Fmongodb-27017.sock").hosts, ["/tmp/mongodb-27017.sock"]);
    assert_eq!(fault("postgres://h"), Some(FaultKind::Scheme));
}

#[test]
fn sc_7_se_6_placeholders_are_no_passwords() {
    for text in [
        "${PASSWORD}",
        "${PASSWORD:-a/b}",
        "$(cat secret)",
        "$MONGO_PWD",
        "*****",
        "xxxxx",
        "{{ password }}",
        "{password}",
        "%s",
        "%PASSWORD%",
        "[pwd]",
        "REDACTED",
    ] {
        let parsed = uri(&format!("mongodb://app:{text}@host"));
        assert_eq!(parsed.password, Password::Placeholder, "{text}");
    }
    for text in ["<password>", "%3Cdb_password%3E"] {
        let parsed = uri(&format!("mongodb://app:{text}@host"));
        assert_eq!(parsed.password, Password::Unfilled, "{text}");
    }
    for text in ["password", "$ecret", "xx", "a*****"] {
        let parsed = uri(&format!("mongodb://app:{text}@host"));
        assert!(matches!(parsed.password, Password::Given(_)), "{text}");
    }
    assert_eq!(uri("mongodb://app:@host").password, Password::Empty);
    assert_eq!(uri("mongodb://app@host").password, Password::Absent);
    let keys = uri("mongodb://key:secret@host/?authMechanism=MONGODB-AWS");
    assert_eq!(keys.password, Password::Absent);
}

#[test]
fn sn_28_cm_1_4_cm_2_3_strings_of_the_console_are_read() {
    let srv = "mongodb+srv://mongouser:*****@abc.tencentmdb.com/test?replicaSet=cmgo-abc_0&authSource=admin&ssl=false";
    let parsed = uri(srv);
    assert!(parsed.srv && !parsed.tls);
    assert_eq!(parsed.replica_set.as_deref(), Some("cmgo-abc_0"));
    assert_eq!(parsed.password, Password::Placeholder);
    assert_eq!(parsed.database.as_deref(), Some("test"));
    assert!(parsed.notes.is_empty(), "{:?}", parsed.notes);
    let reads = uri(&format!("{srv}&readPreference=secondaryPreferred"));
    assert_eq!(reads.read_preference.as_deref(), Some("secondaryPreferred"));
    let tagged = uri(
        "mongodb://mongouser:*****@10.0.0.100:27017/test?authSource=admin&readPreference=secondaryPreferred&readPreferenceTags=role-cmgo:primary-secondary-group",
    );
    let pair = ("role-cmgo".to_owned(), "primary-secondary-group".to_owned());
    assert_eq!(tagged.read_tags, [vec![pair]]);
    assert!(tagged.notes.is_empty(), "{:?}", tagged.notes);
}

#[test]
fn cm_3_1_one_address_with_three_ports_is_three_hosts() {
    let parsed = uri("mongodb://10.0.0.100:27017,10.0.0.100:27018,10.0.0.100:27019/");
    assert_eq!(parsed.hosts.len(), 3);
    assert!(parsed.notes.is_empty());
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    for options in [
        "directConnection=true&loadBalanced=true",
        "loadBalanced=true&replicaSet=rs0",
        "srvMaxHosts=2",
        "srvServiceName=db",
        "tlsInsecure=true&tlsAllowInvalidCertificates=true",
        "tlsInsecure=true&tlsAllowInvalidHostnames=false",
        "tlsAllowInvalidCertificates=true&tlsDisableOCSPEndpointCheck=true",
        "tls=true&ssl=false",
        "readPreference=secondary&maxStalenessSeconds=89",
        "readPreference=primary&maxStalenessSeconds=120",
        "readPreference=primary&readPreferenceTags=dc:ny",
        "w=-1",
        "w=0&journal=true",
        "authSource=",
        "authMechanism=GSSAPI&authSource=db",
    ] {
        let parsed = parse(&format!("mongodb://h/?{options}")).unwrap();
        assert!(!parsed.is_accepted(), "{options}: {:?}", parsed.notes);
    }
    for options in [
        "tls=true&ssl=true",
        "readPreference=secondary&maxStalenessSeconds=90",
        "readPreference=secondary&maxStalenessSeconds=-1",
        "readPreference=primary&readPreferenceTags=",
        "w=0&journal=false",
        "authMechanism=GSSAPI&authSource=$external",
        "loadBalanced=true",
    ] {
        let parsed = parse(&format!("mongodb://h/?{options}")).unwrap();
        assert!(parsed.is_accepted() && !parsed.has_warnings(), "{options}: {:?}", parsed.notes);
    }
    for (text, kind) in [
        ("mongodb+srv://a.example.net,b.example.net", FaultKind::SrvHosts),
        ("mongodb+srv://a.example.net:27017", FaultKind::SrvPort),
        ("mongodb://h/?w", FaultKind::OptionWithoutValue),
        ("mongodb://a,,b", FaultKind::EmptyHost),
    ] {
        assert_eq!(fault(text), Some(kind), "{text}");
    }
    assert!(!parse("mongodb+srv://10.0.0.1/").unwrap().is_accepted());
    assert!(
        !parse("mongodb+srv://a.example.net/?srvMaxHosts=2&replicaSet=x").unwrap().is_accepted()
    );
}

#[test]
fn misspelled_and_old_options_are_noted_with_their_places() {
    let text =
        "mongodb://h/?maxPolSize=5&wtimeout=5&useNewUrlParser=true&timeoutMS=9&socketTimeoutMS=8";
    let parsed = parse(text).unwrap();
    let notes: Vec<(NoteKind, &str, &str)> = parsed
        .notes
        .iter()
        .map(|note| (note.kind, &text[note.span.start..note.span.end], note.todo.as_str()))
        .collect();
    assert_eq!(notes[0], (NoteKind::Unknown, "maxPolSize", "write maxPoolSize"));
    assert_eq!((notes[1].0, notes[1].1), (NoteKind::Deprecated, "wtimeout"));
    assert!(notes.iter().any(|note| note.0 == NoteKind::NoEffect && note.1.starts_with("socket")));
    assert!(
        notes
            .iter()
            .any(|note| note.1 == "useNewUrlParser" && note.2.contains("no longer has an effect"))
    );
}

#[test]
fn sc_7_secret_options_do_not_reach_rules() {
    let parsed = uri(
        "mongodb://h/?tls=true&tlsCertificateKeyFile=a&tlsCertificateKeyFilePassword=S3cret&authMechanismProperties=AWS_SESSION_TOKEN:S3cret",
    );
    assert!(!format!("{parsed:?}").contains("S3cret"));
    let hidden = parsed.option("tlsCertificateKeyFilePassword").unwrap();
    assert_eq!(hidden.value, OptionValue::Unknown);
}

#[test]
fn sc_7_values_that_may_be_a_piece_of_a_password_go_no_further() {
    // Drivers read these as options, but they may have been meant as a password with a slash.
    for option in ["appName", "maxPoolSize", "authSource", "compressors", "passwd"] {
        let text = format!("mongodb://ann:12/x?{option}=S3cret@host");
        let parsed = parse(&text).unwrap();
        let told = format!("{:?}{}", parsed.client(Purpose::Client), parsed.redacted());
        assert!(!told.contains("S3cret"), "{text} -> {told}");
    }
    let encoded = uri("mongodb://h/?appName=a%40b");
    assert_eq!(encoded.app_name.as_deref(), Some("a@b"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_every_span_fits(text in "\\PC{0,60}", tail in "[a-z=&?/@:,%0-9\\[\\]]{0,60}") {
        for text in [text.clone(), format!("mongodb://{text}"), format!("mongodb+srv://{tail}{text}"), format!("mongodb://{tail}")] {
            docward_uri::redact(&text);
            match parse(&text) {
                Ok(parsed) => {
                    let spans = parsed.hosts.iter().map(|host| host.span)
                        .chain(parsed.options.iter().map(|option| option.span()))
                        .chain(parsed.notes.iter().map(|note| note.span));
                    for span in spans {
                        prop_assert!(text.get(span.start..span.end).is_some(), "{text} {span:?}");
                    }
                    prop_assert!(*parsed.rewrite(&[]).reveal() == Secret::new(text.trim()), "{text}");
                }
                Err(fault) => prop_assert!(text.get(fault.span.start..fault.span.end).is_some()),
            }
        }
    }

    #[test]
    fn sc_7_redacting_never_shows_the_password(
        user in "[a-z/%.+]{0,5}",
        colon in prop::sample::select(vec![":", "%3A", "%3a"]),
        before in secret_salt(),
        after in secret_salt(),
        host in "[a-z]{1,6}",
        tail in prop::sample::select(vec!["", "/", "/db", "?w=1", "/db?w=1;journal=true&appName=x"]),
        around in prop::sample::select(vec![("", ""), ("cannot reach ", ": refused")]),
    ) {
        let mut password = format!("{before}Zq9{after}");
        if !around.0.is_empty() {
            // In a sentence a space or a quote ends the string.
            password = password.replace([' ', '"'], "");
        }
        let text = format!("{}mongodb://{user}{colon}{password}@{host}{tail}{}", around.0, around.1);
        let shown = docward_uri::redact(&text);
        prop_assert!(!shown.contains("Zq9"), "{text} -> {shown}");
    }

    #[test]
    fn sc_7_what_goes_on_never_holds_the_password(
        user in "[a-z%.+]{0,5}",
        colon in prop::sample::select(vec![":", "%3A", "%3a"]),
        salt in secret_salt(),
        host in "[a-z]{1,6}",
    ) {
        let text = format!("mongodb://{user}{colon}Zq9{salt}Zq9@{host}/db?w=1");
        if let Ok(parsed) = parse(&text) {
            let client = parsed.client(Purpose::Client);
            let rewritten = parsed.rewrite(&[UriChange::remove("w")]);
            let told = format!(
                "{client:?}{:?}{}{}",
                parsed.password,
                parsed.redacted(),
                rewritten.masked()
            );
            prop_assert!(!told.contains("Zq9"), "{text} -> {told}");
        }
    }
}

/// Passwords that are hard to find: with all separators, and parts that look like options.
fn secret_salt() -> impl Strategy<Value = String> {
    let pieces =
        ["@", "/", "?", "#", ":", "%", "%3A", ";", "&", "=", ",", " ", "\"", "[", "]", "12"];
    let words = ["appName=", "w=1", "authSource=admin", "é", "x"];
    let all: Vec<&str> = pieces.into_iter().chain(words).collect();
    prop::collection::vec(prop::sample::select(all), 0..6).prop_map(|pieces| pieces.concat())
}

#[test]
fn proxies_need_a_host_and_user_and_password_together() {
    let kinds = |rest: &str| -> Vec<(NoteKind, String)> {
        let parsed = parse(&format!("mongodb://h/?{rest}")).unwrap();
        parsed.notes.into_iter().map(|note| (note.kind, note.option)).collect()
    };
    let refused = |name: &str| (NoteKind::Refused, name.to_owned());
    for (rest, expected) in [
        ("proxyPort=1080", vec![refused("proxyPort")]),
        ("proxyUsername=a", vec![refused("proxyUsername")]),
        ("proxyPassword=b", vec![refused("proxyPassword")]),
        (
            "proxyPort=1080&proxyUsername=a&proxyPassword=b",
            vec![refused("proxyPort"), refused("proxyUsername"), refused("proxyPassword")],
        ),
        ("proxyHost=p&proxyUsername=a", vec![refused("proxyUsername")]),
        ("proxyHost=p&proxyPassword=b", vec![refused("proxyPassword")]),
        ("proxyHost=p&proxyHost=q", vec![refused("proxyHost")]),
        ("proxyHost=p&proxyPort=1&proxyPort=2", vec![refused("proxyPort")]),
        ("proxyHost=p", vec![]),
        ("proxyHost=p&proxyPort=1080", vec![]),
        ("proxyHost=p&proxyPort=1080&proxyUsername=a&proxyPassword=b", vec![]),
    ] {
        assert_eq!(kinds(rest), expected, "{rest}");
    }
    // The drivers' cases accept single options with a DNS name.
    let srv = parse("mongodb+srv://h.example.net/?proxyPort=1080").unwrap();
    assert!(srv.is_accepted() && !srv.has_warnings(), "{:?}", srv.notes);
    assert_eq!(srv.notes[0].kind, NoteKind::NoEffect);
    let wrong = parse("mongodb+srv://h.example.net/?proxyPort=-1").unwrap();
    assert!(wrong.is_accepted() && wrong.has_warnings(), "{:?}", wrong.notes);
}

#[test]
fn cn_01_fixes_remove_the_notes_that_propose_them() {
    for rest in [
        "a,b/?readPreference=secondry",
        "a/?maxPolSize=5",
        "a/?maxPolSize=5&maxPoolSize=6",
        "a/?maxPolSize=5&maxPoolSiz=6",
        "a/?safe=true",
        "a/?safe=true&w=1",
        "a/?fsync=true",
        "a/?useNewUrlParser=true&w=1",
        "a/?w=-1",
        "a/?w=0&journal=true",
        "a/?appName=100%",
        "a/?ssl_ca_certs=ca.pem",
        "a,b/?directConnection=true",
        "a/?srvMaxHosts=2",
        "a/?tlsInsecure=true&tlsAllowInvalidCertificates=true&tlsAllowInvalidHostnames=true",
        "a/?readPreference=secondary&maxStalenessSeconds=10",
        "a/?readPreference=primary&maxStalenessSeconds=120",
        "a/?readPreference=primary&readPreferenceTags=dc:ny",
        "u@a/?authSource=",
        "u@a/?authMechanism=MONGODB-X509&authSource=admin",
        "u:p@a/?authMechanism=MONGODB-X509",
        "u:p@a/?authMechanism=MONGODB-CR",
        "u:p@a/?authMechanism=PLAIN",
        "u@a/?authMechanism=MONGODB-X509&tls=false",
        "a/?timeoutMS=1&socketTimeoutMS=2&wTimeoutMS=3",
    ] {
        let parsed = parse(&format!("mongodb://{rest}")).unwrap();
        let fixable: Vec<&Note> = parsed.notes.iter().filter(|n| !n.fix.is_empty()).collect();
        assert!(!fixable.is_empty(), "{rest}: {:?}", parsed.notes);
        let changes: Vec<UriChange> =
            fixable.iter().flat_map(|note| note.fix.iter().cloned()).collect();
        let fixed = parsed.rewrite(&changes);
        let again = parse(fixed.reveal().reveal()).unwrap();
        for note in fixable {
            let is_same = |other: &&Note| (other.kind, &other.option) == (note.kind, &note.option);
            let left = again.notes.iter().find(is_same);
            assert_eq!(left, None, "{rest} -> {}", fixed.masked());
        }
    }
}
