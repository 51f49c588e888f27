//! Distinguishes Docward's own operations from those of clients, by the application name it sends
//! when it connects. Logs, the profiler, running operations and query statistics all contain that
//! name.

/// Docward's application name.
const NAME: &str = "docward";

/// The maximum length of a name on servers, in bytes.
const LONGEST: usize = 128;

/// The application name to connect with: Docward's own, followed by the one in the connection
/// string.
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

/// Returns whether an application is Docward, whose operations are not part of the workload of
/// clients.
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
