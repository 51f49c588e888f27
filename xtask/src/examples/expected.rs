//! Writes the expected findings, for tests (`expected.toml`) and for readers (`README.md`).

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

use super::dump::{Case, Dump};

const HEAD: &str = "\
# What `docward audit` should say of the example dumps, with the vendor profile and the docward.toml
# beside the dump: for each namespace exactly these rules at warning and above, and for namespaces
# that are not listed none. Cases with a `uri` hold when it is given with `--uri`. Written by
# `cargo xtask examples`.

";

/// One table per case, in the order of the dumps.
pub(super) fn toml(dumps: &[Dump]) -> String {
    let mut cases = ArrayOfTables::new();
    for dump in dumps {
        for case in dump.all_cases() {
            let mut table = Table::new();
            table.insert("dump", value(dump.name));
            table.insert("story", value(case.story));
            table.insert("namespace", value(case.namespace.as_str()));
            if let Some(uri) = case.uri {
                table.insert("uri", value(uri));
            }
            table.insert("rules", value(case.rules.iter().copied().collect::<Array>()));
            table.insert("wrong", value(case.wrong));
            cases.push(table);
        }
    }
    let mut document = DocumentMut::new();
    document.insert("case", Item::ArrayOfTables(cases));
    format!("{HEAD}{document}")
}

/// The page for readers: `README.in.md` with one row per model and per case of the faulty shop.
pub(super) fn readme(dumps: &[Dump]) -> String {
    let row = |case: &Case| {
        let rules = if case.rules.is_empty() { "-".to_owned() } else { case.rules.join(" ") };
        let uri = case.uri.map_or_else(String::new, |uri| format!(" with `--uri {uri}`"));
        format!("| {} | `{}`{uri} | {rules} | {} |\n", case.story, case.namespace, case.wrong)
    };
    let mut cases: Vec<&Case> =
        dumps.iter().filter(|d| d.name == "shop").flat_map(Dump::all_cases).collect();
    cases.sort_by_key(|case| (!case.story.starts_with("ST-"), case.story));
    let rows: String = cases.into_iter().map(row).collect();
    include_str!("README.in.md")
        .replace("{models}\n", &crate::gallery::rows())
        .replace("{cases}\n", &rows)
}
