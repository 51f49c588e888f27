use super::*;

#[test]
fn what_only_idle_methods_call_never_runs() {
    let method = |file: &str, name: &str| Method {
        file: file.to_owned(),
        name: name.to_owned(),
        lines: (1, 9),
    };
    let mut code = Code {
        methods: BTreeSet::from([method("a.ts", "add"), method("b.ts", "pay")]),
        mentions: Some(Mentioned::default()),
        ..Code::default()
    };
    let place = Place {
        location: Location { file: "a.ts".to_owned(), line: 2, column: 1 },
        function: Some("add".to_owned()),
    };
    let mut named = |name: &str, by: Option<&str>| {
        let all = code.mentions.get_or_insert_default();
        all.methods.entry(name.to_owned()).or_default().insert(by.map(str::to_owned));
        code.is_never_run(&place)
    };
    assert!(named("add", Some("add")));
    assert!(named("add", Some("pay")));
    assert!(named("pay", Some("add")));
    assert!(!named("pay", None));
}
