//! Links to the pages of Docward. Every output takes its links from here, so that one setting decides about all of
//! them.

/// The site with the pages of `docs/`, if one is published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    address: Option<String>,
}

impl Site {
    /// The site at an address of the form `https://…`; `None` for anything else, because links in reports must not
    /// run anything.
    pub fn at(address: &str) -> Option<Self> {
        let address = address.trim().trim_end_matches('/');
        let host = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
        let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '`');
        (!host.is_empty() && host.chars().all(is_plain))
            .then(|| Self { address: Some(address.to_owned()) })
    }

    /// The address of a page, such as `rules/D008`; `None` without a site.
    pub fn page(&self, page: &str) -> Option<String> {
        self.address.as_ref().map(|address| format!("{address}/{page}"))
    }

    /// The address of a rule's page; `None` without a site.
    pub fn rule(&self, code: &str) -> Option<String> {
        self.page(&format!("rules/{code}"))
    }

    /// Returns the address of the help about a rule, or the command that prints it.
    pub fn help(&self, code: &str) -> String {
        self.rule(code).unwrap_or_else(|| format!("docward explain {code}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_site_or_to_the_command() {
        let site = Site::at("https://docs.example.org/docward/").expect("an address");
        assert_eq!(site.help("D008"), "https://docs.example.org/docward/rules/D008");
        assert_eq!(
            site.page("clauses.html").as_deref(),
            Some("https://docs.example.org/docward/clauses.html")
        );
        let none = Site::default();
        assert_eq!(
            (none.rule("D008"), none.help("D008")),
            (None, "docward explain D008".to_owned())
        );
    }

    #[test]
    fn only_addresses_of_sites_are_accepted() {
        for wrong in
            ["", "docs", "javascript:alert(1)", "https://", "https://a b", "http://a\"onclick"]
        {
            assert_eq!(Site::at(wrong), None, "{wrong}");
        }
    }
}
