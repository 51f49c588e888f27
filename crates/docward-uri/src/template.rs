//! Connection strings of which source code contains only parts:
//! `f"mongodb://{user}:{pw}@{host}/{db}?w=1"`. The known parts are parsed, and a hole is never a
//! mistake.

use crate::{ConnectionString, Fault, hole::HOLE_CHARACTER, parse::parse_text};

/// A piece of a connection string in source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Literal text.
    Text(&'t str),
    /// A computed part.
    Hole,
}

/// Parses a connection string of which only parts are known. Positions refer to pieces
/// ([`ConnectionString::at`]).
pub fn parse_template(pieces: &[Piece<'_>]) -> Result<ConnectionString, Fault> {
    let mut text = String::new();
    let mut cuts = Vec::with_capacity(pieces.len());
    for (number, piece) in pieces.iter().enumerate() {
        cuts.push((text.len(), number));
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Hole => text.push(HOLE_CHARACTER),
        }
    }
    parse_text(text, cuts)
}

#[cfg(test)]
mod tests {
    use docward_model::{OptionValue, Password, Purpose};

    use super::*;
    use crate::{At, HOLE};

    /// Parses a text in which `{}` is a hole.
    fn template(text: &str) -> ConnectionString {
        let mut pieces = Vec::new();
        for (number, piece) in text.split("{}").enumerate() {
            if number > 0 {
                pieces.push(Piece::Hole);
            }
            pieces.push(Piece::Text(piece));
        }
        parse_template(&pieces).unwrap_or_else(|fault| panic!("{fault} in {text}"))
    }

    #[test]
    fn sdk_all_1_what_can_be_known_is_read_and_the_rest_is_not_guessed() {
        let parsed = template("mongodb://{}:{}@{}/{}?retryWrites=false&maxPoolSize={}&w=majority");
        let client = parsed.client(Purpose::Client);
        assert!(client.is_partial && !client.options_are_known, "{client:?}");
        assert_eq!(client.hosts, [HOLE]);
        assert_eq!((client.user.as_deref(), client.database), (Some(HOLE), None));
        assert_eq!(client.password, Password::Placeholder);
        let value = |name: &str| {
            client.options.iter().find(|option| option.name == name).map(|o| o.value.clone())
        };
        assert_eq!(value("retryWrites"), Some(OptionValue::Bool(false)));
        assert_eq!(value("maxPoolSize"), Some(OptionValue::Unknown));
        assert_eq!(value("w"), Some(OptionValue::Text("majority".to_owned())));
    }

    #[test]
    fn holes_are_never_mistakes() {
        for text in [
            "mongodb://{}",
            "mongodb://{}/",
            "mongodb://{}:{}/",
            "mongodb://{}@{}",
            "mongodb://{}:27017/db",
            "mongodb://a,{}/?{}",
            "mongodb://a/?{}",
            "mongodb://a/?w={}{}",
            "mongodb://a/?{}=1",
            "mongodb://a{}",
            "mongodb+srv://{}:{}@{}:{}/{}",
            "mongodb+srv://{}.example.net,{}/",
            "mongodb{}://a/",
            "mongodb://u:p{}w@h",
            "mongodb://[{}]:27017",
            "mongodb://h:27{}7/db{}",
            "mongodb://a,b/?directConnection={}&loadBalanced=true{}",
        ] {
            let parsed = template(text);
            assert!(parsed.is_partial && parsed.notes.is_empty(), "{text}: {:?}", parsed.notes);
        }
    }

    #[test]
    fn holes_in_login_and_values_hide_no_options() {
        for text in ["mongodb://{}:{}@a,b/db", "mongodb://{}:{}@a,b/{}?w=1", "mongodb://a/?w={}"] {
            assert!(template(text).options_are_known, "{text}");
        }
        for text in
            ["mongodb://{}:{}@a/{}", "mongodb://a/?{}", "mongodb://{}", "mongodb://a/?w=1{}"]
        {
            assert!(!template(text).options_are_known, "{text}");
        }
    }

    #[test]
    fn places_are_told_by_piece() {
        let parsed = template("mongodb://{}@h1,h2/?w=1");
        assert_eq!(parsed.at(parsed.hosts[1].span.start), At { piece: 2, offset: 4 });
        assert_eq!(parsed.at(parsed.options[0].value.span.start), At { piece: 2, offset: 10 });
        assert_eq!(parsed.at(0), At { piece: 0, offset: 0 });
    }
}
