//! Options that exclude or require each other. Combinations that drivers refuse are reported as
//! such; combinations without effect are also reported.

use docward_model::{NoteKind, UriChange};

use crate::{ConnectionString, HostKind, Note, Span, Typed, UriOption, hole::has_hole};

/// Adds notes about combinations of options.
pub(crate) fn note_combinations(uri: &mut ConnectionString) {
    let look = Look { uri };
    let mut notes = Vec::new();
    topology(&look, &mut notes);
    tls(&look, &mut notes);
    reads(&look, &mut notes);
    writes(&look, &mut notes);
    login(&look, &mut notes);
    proxy(&look, &mut notes);
    without_effect(&look, &mut notes);
    uri.notes.append(&mut notes);
}

/// Short queries on a connection string.
struct Look<'u> {
    uri: &'u ConnectionString,
}

impl<'u> Look<'u> {
    fn option(&self, name: &str) -> Option<&'u UriOption> {
        self.uri.option(name)
    }

    fn is_true(&self, name: &str) -> Option<&'u UriOption> {
        self.option(name).filter(|option| option.value.value == Typed::Bool(true))
    }

    fn number(&self, name: &str) -> Option<(i64, &'u UriOption)> {
        let option = self.option(name)?;
        match option.value.value {
            Typed::Int(number) => Some((number, option)),
            _ => None,
        }
    }

    fn text(&self, name: &str) -> Option<(&'u str, &'u UriOption)> {
        let option = self.option(name)?;
        match &option.value.value {
            Typed::Text(text) => Some((text, option)),
            _ => None,
        }
    }

    /// The number of hosts, if all of them are known.
    fn hosts(&self) -> Option<usize> {
        let known = self.uri.hosts.iter().all(|host| host.value.kind != HostKind::Unknown);
        known.then_some(self.uri.hosts.len())
    }
}

fn refused(option: &UriOption, what: impl Into<String>, todo: impl Into<String>) -> Note {
    note(NoteKind::Refused, option, what, todo)
}

fn note(
    kind: NoteKind,
    option: &UriOption,
    what: impl Into<String>,
    todo: impl Into<String>,
) -> Note {
    Note {
        kind,
        option: option.name().to_owned(),
        what: what.into(),
        todo: todo.into(),
        fix: Vec::new(),
        span: option.span(),
    }
}

/// A note about an option that drivers refuse, with a fix that removes it.
fn removed(option: &UriOption, what: impl Into<String>) -> Note {
    let name = option.name();
    refused(option, what, format!("remove {name}")).fixed_by([UriChange::remove(name)])
}

fn topology(look: &Look<'_>, notes: &mut Vec<Note>) {
    let several = look.hosts().is_some_and(|hosts| hosts > 1);
    if let Some(direct) = look.is_true("directConnection") {
        if several {
            notes.push(removed(
                direct,
                "directConnection=true uses one host, but the string lists several",
            ));
        } else if look.uri.srv {
            notes.push(removed(
                direct,
                "directConnection=true uses one host, but mongodb+srv:// leads to several",
            ));
        }
    }
    if let Some(balanced) = look.is_true("loadBalanced") {
        if several {
            notes.push(refused(
                balanced,
                "loadBalanced=true requires one host, but the string lists several",
                "keep only the address of the load balancer, or remove loadBalanced",
            ));
        }
        if look.is_true("directConnection").is_some() {
            notes.push(refused(
                balanced,
                "loadBalanced=true and directConnection=true exclude each other",
                "remove one of them",
            ));
        }
        if look.option("replicaSet").is_some() {
            notes.push(refused(
                balanced,
                "loadBalanced=true and replicaSet exclude each other",
                "remove one of them",
            ));
        }
    }
    for name in ["srvMaxHosts", "srvServiceName"] {
        if let Some(option) =
            look.option(name).filter(|_| !look.uri.srv && !has_hole(look.scheme()))
        {
            notes.push(removed(option, format!("{name} works only with mongodb+srv://")));
        }
    }
    if let Some((_, hosts)) = look.number("srvMaxHosts").filter(|(most, _)| *most > 0) {
        for (other, present) in [
            ("replicaSet", look.option("replicaSet").is_some()),
            ("loadBalanced=true", look.is_true("loadBalanced").is_some()),
        ] {
            if present {
                notes.push(removed(hosts, format!("srvMaxHosts and {other} exclude each other")));
            }
        }
    }
    let address =
        |host: &HostKind| matches!(host, HostKind::Ipv4 | HostKind::Ipv6 | HostKind::Socket);
    if look.uri.srv
        && let Some(host) = look.uri.hosts.iter().find(|host| address(&host.value.kind))
    {
        notes.push(Note {
            kind: NoteKind::Refused,
            option: String::new(),
            what: "mongodb+srv:// requires a DNS name, but this is an IP address".to_owned(),
            todo: "use mongodb:// with the addresses of all hosts".to_owned(),
            fix: Vec::new(),
            span: host.span,
        });
    }
}

impl Look<'_> {
    fn scheme(&self) -> &str {
        let span: Span = self.uri.scheme;
        self.uri.text.reveal().get(span.start..span.end).unwrap_or_default()
    }
}

fn tls(look: &Look<'_>, notes: &mut Vec<Note>) {
    let switches: Vec<&UriOption> =
        look.uri.options.iter().filter(|option| option.name() == "tls").collect();
    if let [first, rest @ ..] = switches.as_slice()
        && let Some(other) = rest.iter().find(|other| {
            other.value.value != first.value.value && other.value.value != Typed::Unknown
        })
    {
        notes.push(refused(
            other,
            "`tls` and `ssl` mean the same but have different values",
            "keep one of them",
        ));
    }
    let pairs = [
        ("tlsInsecure", "tlsAllowInvalidCertificates"),
        ("tlsInsecure", "tlsAllowInvalidHostnames"),
        ("tlsInsecure", "tlsDisableCertificateRevocationCheck"),
        ("tlsInsecure", "tlsDisableOCSPEndpointCheck"),
        ("tlsAllowInvalidCertificates", "tlsDisableCertificateRevocationCheck"),
        ("tlsAllowInvalidCertificates", "tlsDisableOCSPEndpointCheck"),
        ("tlsDisableCertificateRevocationCheck", "tlsDisableOCSPEndpointCheck"),
    ];
    for (one, other) in pairs {
        if look.option(one).is_some()
            && let Some(option) = look.option(other)
        {
            let note = refused(
                option,
                format!("{one} and {other} exclude each other, whatever their values"),
                "remove both, so that the certificate is checked",
            );
            notes.push(note.fixed_by([UriChange::remove(one), UriChange::remove(other)]));
        }
    }
}

fn reads(look: &Look<'_>, notes: &mut Vec<Note>) {
    let mode = match look.option("readPreference").map(|option| &option.value.value) {
        None => "primary",
        Some(Typed::Text(mode)) => mode,
        Some(_) => return,
    };
    // Without a read preference in the string, the one that code sets may apply.
    let is_primary = mode == "primary";
    let kind = if look.option("readPreference").is_some() {
        NoteKind::Refused
    } else {
        NoteKind::NeedsSecondaries
    };
    if let Some((seconds, option)) = look.number("maxStalenessSeconds") {
        if (0..90).contains(&seconds) {
            let note = refused(
                option,
                "maxStalenessSeconds is below 90, the minimum that drivers accept",
                "set maxStalenessSeconds=90 or more; -1 means no limit",
            );
            notes.push(note.fixed_by([UriChange::set("maxStalenessSeconds", "90")]));
        } else if is_primary && seconds > 0 {
            let what = "maxStalenessSeconds applies to secondaries, but reads go to the primary";
            notes.push(for_secondaries(kind, option, what));
        }
    }
    let has_tags = |option: &&UriOption| {
        option.name() == "readPreferenceTags"
            && matches!(&option.value.value, Typed::Pairs(pairs) if !pairs.is_empty())
    };
    if is_primary && let Some(option) = look.uri.options.iter().find(has_tags) {
        let what = "readPreferenceTags select members, but reads go to the primary";
        notes.push(for_secondaries(kind, option, what));
    }
}

/// A note about an option that only affects reads from secondaries. If the string names the
/// primary, the fix removes the option; if it names none, code may set the read preference.
fn for_secondaries(kind: NoteKind, option: &UriOption, what: &str) -> Note {
    let name = option.name();
    if kind == NoteKind::Refused {
        return removed(option, what);
    }
    let todo = format!("remove {name}, or set a readPreference that reads from secondaries");
    note(kind, option, what, todo)
}

fn writes(look: &Look<'_>, notes: &mut Vec<Note>) {
    if let (Some((0, _)), Some(journal)) = (look.number("w"), look.is_true("journal")) {
        let note = refused(
            journal,
            "w=0 waits for no reply but journal=true waits for the disk: no driver accepts both",
            "write w=majority",
        );
        notes.push(note.fixed_by([UriChange::set("w", "majority")]));
    }
}

fn login(look: &Look<'_>, notes: &mut Vec<Note>) {
    if let Some((source, option)) = look.text("authSource") {
        if source.is_empty() {
            notes.push(empty_auth_source(look, option));
        }
        let mechanism = look.text("authMechanism").map(|(mechanism, _)| mechanism);
        if let Some(mechanism @ ("MONGODB-X509" | "MONGODB-AWS" | "MONGODB-OIDC" | "GSSAPI")) =
            mechanism
            && !source.is_empty()
            && source != "$external"
        {
            let note = refused(
                option,
                format!("{mechanism} accounts are in $external, not in `{source}`"),
                "write authSource=$external",
            );
            notes.push(note.fixed_by([UriChange::set("authSource", "$external")]));
        }
    }
    let Some((mechanism, option)) = look.text("authMechanism") else { return };
    let has_password =
        look.uri.password.as_ref().is_some_and(|password| !password.value.reveal().is_empty());
    if matches!(mechanism, "MONGODB-X509" | "MONGODB-OIDC") && has_password {
        let note = refused(
            option,
            format!("{mechanism} uses no password, but the string has one"),
            "remove the password",
        );
        notes.push(note.fixed_by([UriChange::RemovePassword]));
    }
    if mechanism == "MONGODB-CR" {
        let note = note(
            NoteKind::Deprecated,
            option,
            "servers from MongoDB 4.0 on do not support MONGODB-CR",
            "remove authMechanism: drivers and servers then use SCRAM",
        );
        notes.push(note.fixed_by([UriChange::remove("authMechanism")]));
    }
    if mechanism == "MONGODB-AWS" && look.uri.user.is_some() && look.uri.password.is_none() {
        notes.push(refused(
            option,
            "MONGODB-AWS requires a key and its secret, but the secret is missing",
            "add the secret, or remove the key, so that the driver reads both from its environment",
        ));
    }
    if mechanism == "PLAIN" && look.is_true("tls").is_none() && !look.uri.srv {
        let note = note(
            NoteKind::Contradiction,
            option,
            "authMechanism=PLAIN sends the password unencrypted, because TLS is not turned on",
            "write tls=true",
        );
        notes.push(note.fixed_by([UriChange::set("tls", "true")]));
    }
    let tls_is_off = look.option("tls").is_some_and(|o| o.value.value == Typed::Bool(false));
    if mechanism == "MONGODB-X509" && tls_is_off {
        let note = note(
            NoteKind::Contradiction,
            option,
            "MONGODB-X509 uses the certificate of a TLS connection, but TLS is turned off",
            "write tls=true",
        );
        notes.push(note.fixed_by([UriChange::set("tls", "true")]));
    }
}

/// A note about an empty `authSource`. The database of the account is only known if the path names
/// none or `admin`.
fn empty_auth_source(look: &Look<'_>, option: &UriOption) -> Note {
    let what = "authSource is empty";
    match look.uri.database.as_ref().map(|database| database.value.as_str()) {
        None | Some("admin") => refused(option, what, "write authSource=admin")
            .fixed_by([UriChange::set("authSource", "admin")]),
        Some(database) => refused(
            option,
            what,
            format!(
                "set authSource={database} or authSource=admin, whichever database has the account"
            ),
        ),
    }
}

/// Notes about a SOCKS5 proxy: all other proxy options need `proxyHost`, and user and password
/// belong together. With `mongodb+srv://` the drivers' tests permit single options, which then have
/// no effect.
fn proxy(look: &Look<'_>, notes: &mut Vec<Note>) {
    const OTHERS: [&str; 3] = ["proxyPort", "proxyUsername", "proxyPassword"];
    let kind = if look.uri.srv { NoteKind::NoEffect } else { NoteKind::Refused };
    if look.uri.is_partial && !look.uri.options_are_known {
        return;
    }
    if look.option("proxyHost").is_none() {
        for option in OTHERS.iter().filter_map(|name| look.option(name)) {
            let name = option.name();
            let todo = format!("add proxyHost, or remove {name}");
            notes.push(note(kind, option, format!("{name} needs proxyHost"), todo));
        }
        return;
    }
    for (one, other) in [("proxyUsername", "proxyPassword"), ("proxyPassword", "proxyUsername")] {
        if let Some(option) = look.option(one).filter(|_| look.option(other).is_none()) {
            let todo = format!("add {other}, or remove {one}");
            notes.push(note(kind, option, format!("{one} needs {other}"), todo));
        }
    }
}

fn without_effect(look: &Look<'_>, notes: &mut Vec<Note>) {
    if let Some(level) = look.option("zlibCompressionLevel") {
        let has_zlib = match look.option("compressors").map(|option| &option.value.value) {
            Some(Typed::Words(words)) => words.iter().any(|word| word.eq_ignore_ascii_case("zlib")),
            Some(_) => true,
            None => false,
        };
        if !has_zlib && !look.uri.is_partial {
            notes.push(note(
                NoteKind::NoEffect,
                level,
                "zlibCompressionLevel has no effect without compressors=zlib",
                "add compressors=zlib, or remove zlibCompressionLevel",
            ));
        }
    }
    if look.option("timeoutMS").is_some() {
        for name in ["wTimeoutMS", "socketTimeoutMS", "waitQueueTimeoutMS"] {
            if let Some(option) = look.option(name) {
                let note = note(
                    NoteKind::NoEffect,
                    option,
                    format!("timeoutMS limits the whole operation, so drivers ignore {name}"),
                    format!("remove {name}"),
                );
                notes.push(note.fixed_by([UriChange::remove(name)]));
            }
        }
    }
    let tls_is_off = look.option("tls").is_some_and(|o| o.value.value == Typed::Bool(false));
    if tls_is_off
        && let Some(option) =
            look.uri.options.iter().find(|o| o.name() != "tls" && o.name().starts_with("tls"))
    {
        notes.push(note(
            NoteKind::Contradiction,
            option,
            format!("{} applies to TLS, which tls=false turns off", option.name()),
            format!("set tls=true, or remove {}", option.name()),
        ));
    }
}
