//! Creates a corrected string: only the changes are applied, everything else stays byte for byte.

use docward_model::UriChange;

use crate::{
    ConnectionString, Secret, Span,
    escape::encoded_value,
    hole::{HOLE, HOLE_CHARACTER},
    parse::parse_text,
    secret::{MASK, colon, masked_value, redact},
};

/// A corrected string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    text: Secret,
    masked: String,
}

impl Rewritten {
    /// The string for display, without the password.
    pub fn masked(&self) -> String {
        self.masked.clone()
    }

    /// The string for use, including the password.
    pub fn reveal(&self) -> &Secret {
        &self.text
    }
}

/// A range of the text and its replacement.
struct Edit {
    span: Span,
    text: String,
}

impl ConnectionString {
    /// The column of a byte of the text in [`Self::redacted`], in characters from 0. A position
    /// within a password maps to the beginning of its mask.
    pub fn masked_column(&self, offset: usize) -> usize {
        let mut before = String::new();
        let mut at = self.whole.start;
        let mut masks = self.masks();
        masks.sort_by_key(|mask| mask.span);
        for mask in masks.iter().filter(|mask| mask.span.start < offset) {
            before.push_str(self.slice(Span::new(at, mask.span.start)));
            if offset < mask.span.end {
                return before.chars().count();
            }
            before.push_str(&mask.text);
            at = mask.span.end;
        }
        before.push_str(self.slice(Span::new(at, offset.max(at))));
        before.chars().map(|c| if c == HOLE_CHARACTER { HOLE.chars().count() } else { 1 }).sum()
    }

    /// The edits that mask secrets.
    fn masks(&self) -> Vec<Edit> {
        let mut masks = Vec::new();
        if let Some(user) = &self.user
            && let Some(at) = colon(self.slice(user.span))
        {
            let span = Span::new(user.span.start + at, user.span.end);
            masks.push(Edit { span, text: format!(":{MASK}") });
        }
        if let Some(password) = &self.password
            && !password.value.reveal().is_empty()
        {
            masks.push(Edit { span: password.span, text: MASK.to_owned() });
        }
        for option in &self.options {
            let value = self.slice(option.value.span);
            let masked = masked_value(&option.key.value, value);
            if masked != value {
                masks.push(Edit { span: option.value.span, text: masked });
            }
        }
        masks
    }

    /// The whole text with the password masked; the rest is unchanged.
    pub fn redacted(&self) -> String {
        self.edited(&self.masks()).replace(HOLE_CHARACTER, HOLE)
    }

    /// The corrected string.
    pub fn rewrite(&self, changes: &[UriChange]) -> Rewritten {
        let text = self.edited(&self.edits(changes));
        // Rewritten options keep their values.
        let masked = parse_text(text.clone(), vec![(0, 0)])
            .map_or_else(|_| redact(&text).replace(HOLE_CHARACTER, HOLE), |new| new.redacted());
        Rewritten { text: Secret::new(text), masked }
    }

    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.reveal().get(span.start..span.end).unwrap_or_default()
    }

    fn edited(&self, edits: &[Edit]) -> String {
        let mut edits: Vec<&Edit> = edits.iter().collect();
        edits.sort_by_key(|edit| edit.span);
        let mut out = String::new();
        let mut at = self.whole.start;
        for edit in edits {
            out.push_str(self.slice(Span::new(at, edit.span.start.max(at))));
            out.push_str(&edit.text);
            at = edit.span.end.max(at);
        }
        out.push_str(self.slice(Span::new(at, self.whole.end)));
        out
    }

    fn edits(&self, changes: &[UriChange]) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut path = None;
        // The resulting options: texts in order, `None` for removed ones.
        let mut options: Vec<(Option<String>, String)> = self
            .options
            .iter()
            .map(|option| (Some(self.slice(option.span()).to_owned()), option.name().to_owned()))
            .collect();
        let before: Vec<Option<String>> = options.iter().map(|(text, _)| text.clone()).collect();
        for change in changes {
            match change {
                UriChange::Hosts(hosts) => {
                    edits.push(Edit { span: self.authority, text: hosts.join(",") });
                }
                UriChange::Database(database) => path = Some(database.clone().unwrap_or_default()),
                UriChange::RemovePassword => {
                    let colon = self.user.as_ref().map(|user| user.span.end);
                    if let (Some(start), Some(password)) = (colon, &self.password) {
                        let span = Span::new(start, password.span.end);
                        edits.push(Edit { span, text: String::new() });
                    }
                }
                UriChange::Set { name, value } => {
                    let text = format!("{name}={}", encoded_value(value));
                    let mut same =
                        options.iter_mut().filter(|(text, old)| old == name && text.is_some());
                    match same.next() {
                        Some(first) => {
                            first.0 = Some(text);
                            same.for_each(|other| other.0 = None);
                        }
                        None => options.push((Some(text), name.clone())),
                    }
                }
                UriChange::Rename { written, name } => {
                    for ((text, _), option) in options.iter_mut().zip(&self.options) {
                        if option.key.value == *written && text.is_some() {
                            *text = Some(format!("{name}={}", self.slice(option.value.span)));
                        }
                    }
                }
                UriChange::Remove { name } => {
                    options.iter_mut().filter(|(_, old)| old == name).for_each(|o| o.0 = None);
                }
            }
        }
        let after: Vec<Option<String>> = options.into_iter().map(|(text, _)| text).collect();
        let added = after.len() > before.len();
        // Only old drivers need a slash before options; it is always written.
        let has_path = self.path.start < self.path.end;
        match path {
            Some(name) => edits.push(Edit { span: self.path, text: format!("/{name}") }),
            None if added && !has_path => {
                edits.push(Edit { span: self.path, text: "/".to_owned() });
            }
            None => {}
        }
        if after != before {
            self.edit_options(&before, &after, &mut edits);
        }
        edits
    }

    /// The edits that convert one list of options to another.
    fn edit_options(
        &self,
        before: &[Option<String>],
        after: &[Option<String>],
        edits: &mut Vec<Edit>,
    ) {
        let gone = after.iter().take(before.len()).any(Option::is_none);
        let query = Span::new(self.path.end, self.whole.end);
        if gone {
            // Separators change, so all options are rewritten, each unchanged.
            let kept: Vec<&str> = after.iter().flatten().map(String::as_str).collect();
            let text = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
            edits.push(Edit { span: query, text });
            return;
        }
        for ((old, new), option) in before.iter().zip(after).zip(&self.options) {
            if old != new {
                let text = new.clone().unwrap_or_default();
                edits.push(Edit { span: option.span(), text });
            }
        }
        let added: Vec<&str> = after[before.len()..].iter().flatten().map(String::as_str).collect();
        if added.is_empty() {
            return;
        }
        let written = self.slice(query);
        let joint = match written {
            "" => "?",
            _ if written.ends_with(['?', '&', ';']) => "",
            _ => "&",
        };
        let end = Span::new(self.whole.end, self.whole.end);
        edits.push(Edit { span: end, text: format!("{joint}{}", added.join("&")) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn rewritten(text: &str, changes: &[UriChange]) -> String {
        parse(text).unwrap().rewrite(changes).reveal().reveal().to_owned()
    }

    #[test]
    fn cn_01_what_does_not_change_stays_byte_for_byte() {
        let text = "mongodb://a%70p:S%65cret@H1:27017,h2/db?W=Majority&ssl=TRUE&appName=a%20b&";
        assert_eq!(rewritten(text, &[]), text);
        assert_eq!(
            rewritten(text, &[UriChange::set("authSource", "admin")]),
            format!("{text}authSource=admin")
        );
        assert_eq!(
            rewritten(text, &[UriChange::set("tls", "true"), UriChange::Hosts(vec!["x".into()])]),
            "mongodb://a%70p:S%65cret@x/db?W=Majority&tls=true&appName=a%20b&"
        );
    }

    #[test]
    fn cn_01_options_are_added_changed_and_taken_away() {
        let set = |text: &str| rewritten(text, &[UriChange::set("w", "majority")]);
        assert_eq!(set("mongodb://h"), "mongodb://h/?w=majority");
        assert_eq!(set("mongodb://h/"), "mongodb://h/?w=majority");
        assert_eq!(set("mongodb://h/db"), "mongodb://h/db?w=majority");
        assert_eq!(set("mongodb://h?a=b"), "mongodb://h/?a=b&w=majority");
        assert_eq!(set("mongodb://h/?w=1&x=y&W=2"), "mongodb://h/?w=majority&x=y");
        assert_eq!(
            rewritten("mongodb://h/?a=1&w=1&b=2", &[UriChange::remove("w")]),
            "mongodb://h/?a=1&b=2"
        );
        assert_eq!(rewritten("mongodb://h/db?w=1", &[UriChange::remove("w")]), "mongodb://h/db");
        let rename = UriChange::Rename { written: "maxPolSize".into(), name: "maxPoolSize".into() };
        assert_eq!(rewritten("mongodb://h/?maxPolSize=5", &[rename]), "mongodb://h/?maxPoolSize=5");
        let name = UriChange::set("appName", "a b&c");
        assert_eq!(rewritten("mongodb://h", &[name]), "mongodb://h/?appName=a%20b%26c");
        let database = UriChange::Database(Some("db_shop".into()));
        assert_eq!(rewritten("mongodb://h/admin?w=1", &[database]), "mongodb://h/db_shop?w=1");
    }

    #[test]
    fn sc_7_what_is_printed_has_no_password() {
        let parsed =
            parse(" mongodb://app:S3cret@h/?authMechanismProperties=AWS_SESSION_TOKEN:S3cret&w=1 ")
                .unwrap();
        let rewritten = parsed.rewrite(&[UriChange::set("w", "majority")]);
        assert_eq!(
            rewritten.masked(),
            "mongodb://app:*****@h/?authMechanismProperties=AWS_SESSION_TOKEN:*****&w=majority"
        );
        assert!(!format!("{rewritten:?}{parsed:?}").contains("S3cret"));
        let old = parse("mongodb://h/?w=1&ssl_pem_passphrase=S3cret&x=1").unwrap();
        let name = UriChange::Rename {
            written: "ssl_pem_passphrase".into(),
            name: "tlsCertificateKeyFilePassword".into(),
        };
        for changes in
            [vec![name.clone()], vec![UriChange::remove("w")], vec![name, UriChange::remove("x")]]
        {
            let shown = old.rewrite(&changes).masked();
            assert!(!shown.contains("S3cret") && shown.contains("*****"), "{shown}");
        }
        assert!(!parsed.redacted().contains("S3cret"));
    }

    #[test]
    fn places_in_what_is_printed_do_not_tell_the_length_of_a_password() {
        for password in ["xy", "S3cret-and-long"] {
            let text = format!("mongodb://app:{password}@hü/?w=1");
            let parsed = parse(&text).unwrap();
            let shown = parsed.redacted();
            let column = parsed.masked_column(parsed.options[0].key.span.start);
            assert_eq!(shown.chars().skip(column).collect::<String>(), "w=1");
            let column = parsed.masked_column(parsed.hosts[0].span.start);
            assert!(shown.chars().skip(column).collect::<String>().starts_with("hü/"));
            assert_eq!(parsed.masked_column(15), 14, "within the password");
        }
    }
}
