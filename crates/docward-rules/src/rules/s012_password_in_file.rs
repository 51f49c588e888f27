//! SC-7: passwords in files.

use docward_model::{Evidence, Password};

use crate::{Cx, declare_rule, facts::deployment::clients::clients};

declare_rule! {
    /// # Password in a file
    ///
    /// ## What it checks
    /// Reports connection strings with a password that Docward read from a file (`connect check --file`).
    /// Placeholders (`<password>`, `${VAR}`, `*****`) are not reported. A string on the command line is not
    /// checked, because its origin is unknown. `docward lint` checks strings in source code.
    ///
    /// Docward neither stores nor prints the password.
    ///
    /// ## Why it matters
    /// Files are copied, backed up and committed. It is unknown who has read the password, and all copies must be
    /// found when it changes.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// file mongodb://order:Abcdef1!xyzw@10.0.0.5/db_order
    /// ```
    /// ```jsonl,clean
    /// file mongodb://order:${PASSWORD}@10.0.0.5/db_order
    /// uri mongodb://order:Abcdef1!xyzw@10.0.0.5/db_order
    /// ```
    ///
    /// ## How to fix
    /// Read the password from the environment or a secret store, and change it.
    ///
    /// ## When to ignore it
    /// The file was created from a secret store for this check and is deleted afterwards.
    S012, "password-in-file",
    level: Prohibited,
    area: Security,
    clauses: ["SC-7"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        let uri = client.uri;
        let Some(place) = uri.places.password.clone().filter(|_| uri.is_from_file) else {
            continue;
        };
        if !matches!(uri.password, Password::Given(_)) || uri.site.is_some() {
            continue;
        }
        let user = uri.user.as_deref().unwrap_or_default();
        cx.report(client.draft(
            Some(place),
            format!("a file contains the password of `{user}` for {}", uri.label()),
            "files are copied, backed up and committed, so others may know the password",
            "read the password from the environment or a secret store, and change it",
        ));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn sc_7_passwords_are_not_kept_in_files() {
        let found = check("S012", "file mongodb://order:Zebra%40Zoo1@10.0.0.5");
        assert_eq!(found.len(), 1);
        assert!(!format!("{found:?}").contains("Zebra"));
        assert!(check("S012", "file mongodb://order:<password>@10.0.0.5").is_empty());
        assert!(check("S012", "file mongodb://order@10.0.0.5").is_empty());
        assert!(check("S012", "uri mongodb://order:Zebra%40Zoo1@10.0.0.5").is_empty());
    }
}
