//! How Docward's own operations are told from those of clients: by the name it gives itself when it
//! connects. Logs, the profiler, running operations and query statistics all hold that name.

/// What Docward calls itself.
const NAME: &str = "docward";

/// The longest name a server takes, in bytes.
const LONGEST: usize = 128;

/// The name to connect with: Docward's own, before the one that the connection string asks for.
pub fn own_name(asked_for: Option<&str>) -> String {
    match asked_for.map(str::trim).filter(|name| !name.is_empty()) {
        None => NAME.to_owned(),
        Some(name) if is_own(name) => name.to_owned(),
        Some(name) => {
            let mut whole = format!("{NAME} {name}");
            while whole.len() > LONGEST {
                whole.pop();
            }
            whole
        }
    }
}

/// Whether an application is Docward: what it does is no evidence of what clients do.
pub fn is_own(application: &str) -> bool {
    application.strip_prefix(NAME).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_given_is_known_again() {
        let long = "ä".repeat(100);
        for asked in [None, Some(""), Some("shop"), Some("docward"), Some(long.as_str())] {
            let name = own_name(asked);
            assert!(is_own(&name) && name.len() <= LONGEST, "{name}");
        }
        assert_eq!(own_name(Some("shop")), "docward shop");
        assert_eq!(own_name(None), "docward");
    }

    #[test]
    fn others_are_not_taken_for_docward() {
        for name in ["", "shop", "docwards", "docward-guard", "my docward"] {
            assert!(!is_own(name), "{name}");
        }
    }
}
