//! Converts a connection string to the form that rules check.

use docward_model::{
    ClientOption, ClientUri, Location, OptionValue, Password, Purpose, Strength, UriNote, UriPlaces,
};

use crate::{
    At, ConnectionString, Typed, UriOption, escape::decoded, hole::has_hole,
    placeholder::is_placeholder, secret::MASK,
};

impl ConnectionString {
    /// The client for rules, without positions.
    pub fn client(&self, purpose: Purpose) -> ClientUri {
        self.made(purpose, None)
    }

    /// Returns the client with the position of every part, in the caller's lines and columns.
    pub fn client_at(&self, purpose: Purpose, place: &dyn Fn(At) -> Location) -> ClientUri {
        self.made(purpose, Some(place))
    }

    fn made(&self, purpose: Purpose, place: Option<&dyn Fn(At) -> Location>) -> ClientUri {
        let at = |offset: usize| place.map(|place| place(self.at(offset)));
        let text = |name: &str| match self.option(name) {
            Some(option) if !self.may_end_a_login(option) => match &option.value.value {
                Typed::Text(text) if !text.is_empty() => Some(text.clone()),
                _ => None,
            },
            _ => None,
        };
        let mut uri = ClientUri {
            purpose,
            srv: self.srv,
            hosts: self.hosts.iter().map(|host| host.value.to_string()).collect(),
            // A name may contain a colon, but the text after it was probably meant as the password.
            user: self.user.as_ref().map(|user| match user.value.split_once(':') {
                Some((name, _)) => format!("{name}:{MASK}"),
                None => user.value.clone(),
            }),
            database: self.database.as_ref().map(|database| database.value.clone()),
            auth_source: text("authSource").unwrap_or_default(),
            mechanism: text("authMechanism"),
            app_name: text("appName"),
            // `mongodb+srv://` implies TLS unless the string says otherwise.
            tls: match self.option("tls").map(|option| &option.value.value) {
                Some(Typed::Bool(tls)) => *tls,
                _ => self.srv,
            },
            unchecked: self.unchecked(),
            replica_set: text("replicaSet"),
            read_preference: text("readPreference"),
            read_tags: self.tag_sets(),
            options: self.client_options(&at),
            notes: self.client_notes(&at),
            places: UriPlaces {
                start: at(self.whole.start),
                user: self.user.as_ref().and_then(|user| at(user.span.start)),
                password: self.password.as_ref().and_then(|password| at(password.span.start)),
                hosts: self.hosts.iter().filter_map(|host| at(host.span.start)).collect(),
                database: self.database.as_ref().and_then(|database| at(database.span.start)),
                end: at(self.whole.end),
            },
            is_partial: self.is_partial,
            options_are_known: self.options_are_known,
            ..ClientUri::default()
        };
        if uri.auth_source.is_empty() {
            uri.auth_source = uri.usual_auth_source();
        }
        uri.password = self.judged_password(uri.mechanism.as_deref());
        uri
    }

    /// Returns whether a value contains an `@`: it may then be a part of a password.
    fn may_end_a_login(&self, option: &UriOption) -> bool {
        self.slice(option.value.span).contains('@')
    }

    /// Options that disable TLS checks, as written.
    fn unchecked(&self) -> Vec<String> {
        let off = ["tlsInsecure", "tlsAllowInvalidCertificates", "tlsAllowInvalidHostnames"];
        self.options
            .iter()
            .filter(|option| {
                off.contains(&option.name()) && option.value.value == Typed::Bool(true)
            })
            .map(|option| option.key.value.clone())
            .collect()
    }

    fn tag_sets(&self) -> Vec<Vec<(String, String)>> {
        let sets = self.options.iter().filter(|option| option.name() == "readPreferenceTags");
        sets.filter_map(|option| match &option.value.value {
            Typed::Pairs(pairs) => Some(pairs.clone()),
            _ => None,
        })
        .collect()
    }

    /// Options under their canonical names; of several with one name the effective one.
    fn client_options(&self, at: &dyn Fn(usize) -> Option<Location>) -> Vec<ClientOption> {
        let counts = |option: &&UriOption| {
            option.name() == "readPreferenceTags"
                || self.option(option.name()).is_some_and(|last| std::ptr::eq(last, *option))
        };
        let known = self.options.iter().filter(|option| option.info.is_some()).filter(counts);
        known
            .map(|option| ClientOption {
                name: option.name().to_owned(),
                written: option.key.value.clone(),
                value: if self.may_end_a_login(option) {
                    OptionValue::Unknown
                } else {
                    option.value.value.for_rules()
                },
                location: at(option.key.span.start),
                may_be_meant: false,
                is_asked_for: false,
            })
            .collect()
    }

    fn client_notes(&self, at: &dyn Fn(usize) -> Option<Location>) -> Vec<UriNote> {
        let notes = self.notes.iter().map(|note| UriNote {
            kind: note.kind,
            option: note.option.clone(),
            what: note.what.clone(),
            todo: note.todo.clone(),
            fix: note.fix.clone(),
            location: at(note.span.start),
        });
        notes.collect()
    }

    /// The facts to keep about a password. Secrets of other mechanisms (keys, tokens) are not
    /// passwords that people choose.
    fn judged_password(&self, mechanism: Option<&str>) -> Password {
        let Some(password) = &self.password else { return Password::Absent };
        let raw = password.value.reveal();
        let plain = decoded(raw);
        if matches!(mechanism, Some("MONGODB-AWS" | "MONGODB-X509" | "MONGODB-OIDC")) {
            Password::Absent
        } else if raw.is_empty() {
            Password::Empty
        } else if plain.starts_with('<') && is_placeholder(&plain) {
            Password::Unfilled
        } else if has_hole(raw) || is_placeholder(raw) || is_placeholder(&plain) {
            Password::Placeholder
        } else {
            Password::Given(Strength::of(&plain))
        }
    }
}
