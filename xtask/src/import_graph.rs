//! Imports between the top-level modules of a crate, and the cycles among them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result};

/// Modules of a crate, each with the modules it imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The import cycles between the top-level modules of a crate: each is a list of modules that
/// import one another, directly or indirectly. Test code does not count.
pub(crate) fn cycles_of(src: &Path) -> Result<Vec<Vec<String>>> {
    let lib = src.join("lib.rs");
    let root = if lib.is_file() { lib } else { src.join("main.rs") };
    let mut graph = Graph::new();
    for name in child_modules(&tokens(&read(&root)?)) {
        let mut imports = BTreeSet::new();
        gather_imports(src, &name, &mut imports)?;
        graph.insert(name, imports);
    }
    Ok(cycles(&graph))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// Collects the imports of the module `name` in `folder` and the modules below it.
fn gather_imports(folder: &Path, name: &str, imports: &mut BTreeSet<String>) -> Result<()> {
    let (file, below) = (folder.join(format!("{name}.rs")), folder.join(name));
    let file = if file.is_file() { file } else { below.join("mod.rs") };
    let text = read(&file)?;
    let tokens = tokens(&text);
    imports.extend(imported(&tokens));
    for child in child_modules(&tokens) {
        gather_imports(&below, &child, imports)?;
    }
    Ok(())
}

/// Modules that can reach one another, in groups of at least two.
fn cycles(graph: &Graph) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|name| (name.as_str(), reachable(graph, name))).collect();
    let mut grouped = BTreeSet::new();
    let mut found = Vec::new();
    for (&name, others) in &reached {
        if grouped.contains(name) {
            continue;
        }
        let is_mutual = |other: &&str| *other != name && reached[*other].contains(name);
        let group: BTreeSet<&str> =
            others.iter().copied().filter(is_mutual).chain([name]).collect();
        if group.len() > 1 {
            found.push(group.iter().map(|&module| module.to_owned()).collect());
        }
        grouped.extend(group);
    }
    found
}

/// Modules that `from` imports, directly or indirectly.
fn reachable<'g>(graph: &'g Graph, from: &str) -> BTreeSet<&'g str> {
    let mut found = BTreeSet::new();
    let mut left: Vec<&str> = vec![from];
    while let Some(name) = left.pop() {
        for (import, _) in
            graph.get(name).into_iter().flatten().filter_map(|i| graph.get_key_value(i))
        {
            if found.insert(import.as_str()) {
                left.push(import);
            }
        }
    }
    found
}

/// The first names after `crate::`, in `use` trees and in inline paths.
fn imported(tokens: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| **token == "crate") {
        // `$crate` occurs in macros, which other crates also expand.
        let is_macro = at > 0 && tokens[at - 1] == "$";
        if is_macro || tokens.get(at + 1) != Some(&"::") {
            continue;
        }
        let rest = &tokens[at + 2..];
        if rest.first() != Some(&"{") {
            found.extend(rest.first().map(|&name| name.to_owned()));
            continue;
        }
        let mut depth = 0;
        for pair in rest.windows(2) {
            match pair[0] {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            if depth == 1 && matches!(pair[0], "{" | ",") && pair[1] != "}" {
                found.insert(pair[1].to_owned());
            }
        }
    }
    found
}

/// The modules that a file declares and that have their own files.
fn child_modules(tokens: &[&str]) -> Vec<String> {
    let declared = tokens.windows(3).filter(|three| three[0] == "mod" && three[2] == ";");
    declared.map(|three| three[1].to_owned()).collect()
}

/// The tokens of a file without comments, literals and test code. `::` is one token.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, behind) = rest.split_at(length);
        rest = match token {
            "/" if behind.starts_with('/') => after(behind, "\n"),
            "/" if behind.starts_with('*') => after(behind, "*/"),
            "\"" => after_text(behind),
            "r" | "br" if behind.starts_with(['"', '#']) => after_raw_text(behind),
            "'" => after_character(behind),
            _ => {
                if !first.is_whitespace() {
                    found.push(token);
                }
                behind
            }
        };
    }
    without_tests(&found)
}

fn after<'t>(text: &'t str, end: &str) -> &'t str {
    text.split_once(end).map_or("", |(_, behind)| behind)
}

/// The text after a string literal, of which the opening quote has been read.
fn after_text(text: &str) -> &str {
    let mut escaped = false;
    let end = text.find(|c| {
        let is_end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end
    });
    end.map_or("", |end| &text[end + 1..])
}

/// The text after `r"…"` or `r#"…"#`, of which the `r` has been read. A raw identifier such as
/// `r#type` stays.
fn after_raw_text(text: &str) -> &str {
    let inner = text.trim_start_matches('#');
    let hashes = &text[..text.len() - inner.len()];
    match inner.strip_prefix('"') {
        Some(inner) => after(inner, &format!("\"{hashes}")),
        None => inner,
    }
}

/// The text after a character literal, of which the opening quote has been read. A lifetime has no
/// closing quote.
fn after_character(text: &str) -> &str {
    if let Some(escaped) = text.strip_prefix('\\') {
        let code = escaped.chars().next().map_or(0, char::len_utf8);
        return after(&escaped[code..], "'");
    }
    let mut characters = text.chars();
    characters.next();
    characters.as_str().strip_prefix('\'').unwrap_or(text)
}

/// Removes items marked `#[cfg(test)]`.
fn without_tests<'t>(tokens: &[&'t str]) -> Vec<&'t str> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].starts_with(&MARK) {
            at += MARK.len();
            at += item_length(&tokens[at..]);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// The number of tokens in the first item: it ends with a `;` or with its closing `}`.
fn item_length(tokens: &[&str]) -> usize {
    let mut depth = 0;
    let end = tokens.iter().position(|token| {
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        depth <= 0 && matches!(*token, ";" | "}")
    });
    end.map_or(tokens.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_in_use_trees_and_inline_paths() {
        for (text, expect) in [
            ("use crate::a::B;", "a"),
            ("use crate::{\n    B,\n    a::{self, C, d::{E, F}},\n    g,\n};", "B a g"),
            ("pub(crate) use crate::a;", "a"),
            ("use {crate::a::B, std::fmt};", "a"),
            ("fn f() { crate::a::g(crate::b::H) }", "a b"),
            ("// crate::a::B\n/* crate::b */ /// [`crate::c`]\nuse std::fmt;", ""),
            (r##"const A: &str = "\"crate::a"; const B: &str = r#"" crate::b"#;"##, ""),
            ("fn f<'a>(c: &'a str) { c == '\"' || c == '\\'' ; crate::a::g() }", "a"),
            ("macro_rules! m { () => { $crate::a::B } }", ""),
            ("use std::fmt;\n#[cfg(test)]\nmod tests { use crate::a; }\nuse crate::b;", "b"),
            ("#[cfg(test)]\npub(crate) mod tests { fn f() { { crate::a::g() } } }", ""),
            ("#[cfg(test)]\nuse crate::a::B;\nfn f() { crate::b::g() }", "b"),
            ("#[cfg(test)]\nfn f(x: [u8; 2]) { crate::a::g() }\nuse crate::b;", "b"),
        ] {
            let found: Vec<String> = imported(&tokens(text)).into_iter().collect();
            assert_eq!(found.join(" "), expect, "{text}");
        }
    }

    #[test]
    fn modules_of_tests_are_left_out() {
        let text = "mod a;\npub mod b;\n#[cfg(test)]\nmod testing;\nmod c { }\npub(crate) mod d;";
        assert_eq!(child_modules(&tokens(text)), ["a", "b", "d"]);
    }

    #[test]
    fn modules_that_import_one_another_are_a_cycle() {
        for (edges, expect) in [
            (&[("a", "b"), ("b", "c"), ("a", "c")][..], ""),
            (&[("a", "b"), ("b", "a"), ("c", "a")], "a,b"),
            (&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "d")], "a,b,c d,e"),
            (&[("a", "a"), ("a", "Item"), ("b", "a")], ""),
        ] {
            let mut graph: Graph =
                ["a", "b", "c", "d", "e"].map(|name| (name.to_owned(), BTreeSet::new())).into();
            for (from, to) in edges {
                graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
            }
            let found: Vec<String> = cycles(&graph).iter().map(|group| group.join(",")).collect();
            assert_eq!(found.join(" "), expect, "{edges:?}");
        }
    }
}
