//! What an audit should find, for tests (`expected.toml`) and for readers (`README.md`).

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

use super::dump::{Case, Dump};

const HEAD: &str = "\
# What `docward audit` should say of the example dumps, with the vendor profile and the docward.toml
# beside the dump: for each namespace exactly these rules at warning and above, and for namespaces
# that are not listed none. Written by `cargo xtask examples`.

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
            table.insert("rules", value(case.rules.iter().copied().collect::<Array>()));
            table.insert("wrong", value(case.wrong));
            cases.push(table);
        }
    }
    let mut document = DocumentMut::new();
    document.insert("case", Item::ArrayOfTables(cases));
    format!("{HEAD}{document}")
}

/// The page for readers: `README.in.md` with one row per case of the sinful shop.
pub(super) fn readme(dumps: &[Dump]) -> String {
    let row = |case: &Case| {
        let rules = if case.rules.is_empty() { "-".to_owned() } else { case.rules.join(" ") };
        format!("| {} | `{}` | {} | {} |\n", case.story, case.namespace, rules, case.wrong)
    };
    let mut cases: Vec<&Case> =
        dumps.iter().filter(|d| d.name == "shop").flat_map(Dump::all_cases).collect();
    cases.sort_by_key(|case| (!case.story.starts_with("ST-"), case.story));
    let rows: String = cases.into_iter().map(row).collect();
    include_str!("README.in.md").replace("{cases}\n", &rows)
}
