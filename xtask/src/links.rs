//! Links and headings of Markdown pages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::root;

/// Folders whose pages belong to the documentation, from the root of the repository.
const FOLDERS: [&str; 8] = [
    "",
    "docs",
    "docs/commands",
    "docs/rules",
    "docs/tutorials",
    "examples",
    "examples/drift",
    "examples/guard",
];

/// The pages of the repository, from its root.
pub(crate) fn pages() -> Result<BTreeSet<PathBuf>> {
    let mut pages = BTreeSet::new();
    for folder in FOLDERS {
        let entries = fs::read_dir(root().join(folder)).with_context(|| folder.to_owned())?;
        for entry in entries {
            let path = Path::new(folder).join(entry?.file_name());
            if path.extension().is_some_and(|ending| ending == "md") {
                pages.insert(path);
            }
        }
    }
    Ok(pages)
}

/// Every link of a page to a missing file or heading.
pub(crate) fn faults() -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut headings: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let read = |page: &Path| {
        fs::read_to_string(root().join(page)).with_context(|| page.display().to_string())
    };
    for page in pages()? {
        headings.insert(page.clone(), anchors(&read(&page)?));
    }
    for page in headings.keys() {
        for link in targets(&read(page)?) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = resolve(page, file);
            let known = headings.get(&target);
            if !root().join(&target).exists() {
                faults.push(format!("{} links to {link}, which does not exist", page.display()));
            } else if !anchor.is_empty() && known.is_some_and(|known| !known.contains(anchor)) {
                faults.push(format!(
                    "{} links to {link}, but there is no such heading",
                    page.display()
                ));
            }
        }
    }
    Ok(faults)
}

/// The file that a link of a page leads to; an empty link leads to the page itself.
pub(crate) fn resolve(page: &Path, link: &str) -> PathBuf {
    if link.is_empty() {
        return page.to_owned();
    }
    let mut path = page.parent().map(Path::to_path_buf).unwrap_or_default();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

/// Links of a page inside the repository, except those in quoted code.
pub(crate) fn targets(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    map(page, |link| {
        found.insert(link.to_owned());
        link.to_owned()
    });
    found
}

/// The page with other links inside the repository; quoted code stays as it is.
pub(crate) fn map(page: &str, mut change: impl FnMut(&str) -> String) -> String {
    let mut out = String::new();
    let mut fence: Option<&str> = None;
    for line in page.split_inclusive('\n') {
        let start = line.trim_start();
        let ticks = &start[..start.len() - start.trim_start_matches('`').len()];
        if ticks.len() >= 3 && fence.is_none_or(|open| ticks.len() >= open.len()) {
            fence = if fence.is_some() { None } else { Some(ticks) };
        }
        if fence.is_some() {
            out.push_str(line);
            continue;
        }
        let mut parts = line.split("](");
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (target, rest) = part.split_at(part.find(')').unwrap_or(part.len()));
            let is_inside =
                !target.is_empty() && !target.contains("://") && !target.contains([' ', '`', '\n']);
            out.push_str("](");
            out.push_str(&if is_inside { change(target) } else { target.to_owned() });
            out.push_str(rest);
        }
    }
    out
}

/// The anchors of a page's headings, as GitHub and mdBook name them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let text = line.trim_start_matches('#');
        if is_code || text.len() == line.len() || !text.starts_with(' ') {
            continue;
        }
        let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        let slug = text.trim().to_lowercase().chars().filter(is_kept).collect::<String>();
        let slug = slug.replace(' ', "-");
        let repeated = (1..).map(|n| format!("{slug}-{n}"));
        let anchor = std::iter::once(slug.clone()).chain(repeated).find(|a| !found.contains(a));
        found.extend(anchor);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_changed_outside_of_code() {
        let page = "See [a](a.md#x), ![b](p/b.svg) and [`c`](../c.yaml).\n[x](https://x/y.md) [top](#top)\n\
                    ````text\n```\n[no](no.md)\n````\n[d](d.md)\n";
        let found: Vec<String> = targets(page).into_iter().collect();
        assert_eq!(found, ["#top", "../c.yaml", "a.md#x", "d.md", "p/b.svg"]);
        let other = map(page, |link| link.replace(".md", ".html"));
        assert_eq!(other, page.replace("a.md", "a.html").replace("d.md", "d.html"));
    }

    #[test]
    fn headings_have_anchors() {
        let page = "# The `x` (y): a-b\n## Same\n```sh\n# no heading\n```\n## Same\n#none\n";
        let found: Vec<String> = anchors(page).into_iter().collect();
        assert_eq!(found, ["same", "same-1", "the-x-y-a-b"]);
    }

    #[test]
    fn links_are_resolved_from_their_page() {
        for (page, link, file) in [
            ("docs/a.md", "../b/c.md", "b/c.md"),
            ("docs/a.md", "", "docs/a.md"),
            ("a.md", "./b.md", "b.md"),
        ] {
            assert_eq!(resolve(Path::new(page), link), Path::new(file));
        }
    }
}
