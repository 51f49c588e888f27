//! The site: its table of contents, and the build with mdBook.
//!
//! Pages link to files at their place in the repository, so that links work there too. The build copies the pages, and
//! the files they link to, into one folder with `docs/` at the top. mdBook reads that folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{links, root};

const SUMMARY: &str = "docs/SUMMARY.md";
/// Lists of generated pages: the folder, and the line after which its list begins.
const LISTS: [(&str, &str); 2] =
    [("commands", "(commands/README.md)"), ("rules", "(rules/README.md)")];

/// Writes the table of contents into a folder, with fresh lists of commands and rules.
pub(crate) fn write_summary(docs: &Path) -> Result<()> {
    let mut text = fs::read_to_string(root().join(SUMMARY)).context(SUMMARY)?;
    for (folder, start) in LISTS {
        text = with_list(&text, start, &list(docs, folder)?)?;
    }
    fs::write(docs.join("SUMMARY.md"), text).context(SUMMARY)
}

/// The text in which the lines below an entry are replaced.
fn with_list(text: &str, start: &str, list: &str) -> Result<String> {
    let at = text.find(start).with_context(|| format!("{SUMMARY} has no entry {start}"))?;
    let head = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
    let old = text[head..].split_inclusive('\n').take_while(|line| line.starts_with("  "));
    let tail = head + old.map(str::len).sum::<usize>();
    Ok(format!("{}{list}{}", &text[..head], &text[tail..]))
}

/// The pages of a folder as a list in the order of its overview, with rules below their family.
fn list(docs: &Path, folder: &str) -> Result<String> {
    let read =
        |name: &str| fs::read_to_string(docs.join(folder).join(name)).context(name.to_owned());
    let overview = read("README.md")?;
    let mut out = String::new();
    for line in overview.lines() {
        // A family's heading is followed by its rules; its own page is named after its letter.
        let family = line.strip_prefix("## ").and_then(|title| title.split_once(": "));
        if let Some((letter, _)) = family {
            out += &format!("  - [{}]({folder}/{letter}.md)\n", &line[3..]);
        }
        let page =
            line.strip_prefix("| [").and_then(|row| row.split("](").nth(1)?.split(')').next());
        let Some(page) = page else { continue };
        let text = read(page)?;
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).context("no title")?;
        match title.split_once(": ") {
            Some((name, meaning)) => {
                let code = name.split(' ').next().unwrap_or_default();
                out += &format!("    - [{code} {meaning}]({folder}/{page})\n");
            }
            None => {
                let name = title.trim_start_matches("docward ");
                let indent = 2 * name.split(' ').count();
                out += &format!("{:indent$}- [{name}]({folder}/{page})\n", "");
            }
        }
    }
    Ok(out)
}

/// Pages that the table of contents leaves out, names twice, or names although they do not exist.
pub(crate) fn faults() -> Result<Vec<String>> {
    let summary = fs::read_to_string(root().join(SUMMARY)).context(SUMMARY)?;
    let mut named = BTreeMap::new();
    links::map(&summary, |link| {
        *named.entry(links::resolve(Path::new(SUMMARY), link)).or_insert(0) += 1;
        link.to_owned()
    });
    let mut faults = Vec::new();
    for page in links::pages()? {
        if page.starts_with("docs") && page != Path::new(SUMMARY) && !named.contains_key(&page) {
            faults.push(format!("{SUMMARY} leaves out {}", page.display()));
        }
    }
    for (page, times) in named.iter().filter(|(_, times)| **times > 1) {
        faults.push(format!("{SUMMARY} names {} {times} times", page.display()));
    }
    Ok(faults)
}

/// Builds `target/site` and checks it.
pub(crate) fn run() -> Result<()> {
    let faults = faults()?;
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    let (source, site) = (root().join("target/site-source"), root().join("target/site"));
    for folder in [&source, &site] {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
    }
    stage(&source)?;
    let built =
        Command::new(mdbook()?).arg("build").arg(&source).arg("--dest-dir").arg(&site).status();
    ensure!(built.context("running mdBook")?.success(), "mdBook could not build the site");
    short_addresses(&site)?;
    let (pages, faults) = broken(&site)?;
    if !faults.is_empty() {
        bail!("{}\n{} links are broken", faults.join("\n"), faults.len());
    }
    println!("site: {pages} pages in {}, all links lead somewhere", site.display());
    Ok(())
}

/// The path of mdBook, which `scripts/mdbook.py` installs.
fn mdbook() -> Result<PathBuf> {
    let output = Command::new("python3")
        .arg(root().join("scripts/mdbook.py"))
        .stderr(Stdio::inherit())
        .output()
        .context("running scripts/mdbook.py")?;
    ensure!(output.status.success(), "the site needs mdBook");
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Returns the place of a repository file on the site. mdBook does not follow links to a
/// `README.md`.
fn place(file: &Path) -> PathBuf {
    let place = file.strip_prefix("docs").unwrap_or(file);
    if place.ends_with("README.md") { place.with_file_name("index.md") } else { place.to_owned() }
}

/// Copies `docs/`, and the files that its pages link to, into a folder.
fn stage(source: &Path) -> Result<()> {
    let mut waiting: Vec<PathBuf> = vec![
        PathBuf::from(SUMMARY),
        PathBuf::from("docs/book.toml"),
        PathBuf::from("docs/site.css"),
    ];
    let mut seen: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
    while let Some(file) = waiting.pop() {
        let from = root().join(&file);
        let to = source.join(place(&file));
        ensure!(from.is_file(), "{} is not a file, but the site links to it", file.display());
        fs::create_dir_all(to.parent().unwrap_or(source))?;
        if file.extension().is_none_or(|ending| ending != "md") {
            fs::copy(&from, &to).with_context(|| file.display().to_string())?;
            continue;
        }
        let page = links::map(&fs::read_to_string(&from)?, |link| {
            let (path, anchor) = link.split_once('#').map_or((link, None), |(p, a)| (p, Some(a)));
            if path.is_empty() {
                return link.to_owned();
            }
            let target = links::resolve(&file, path);
            let here = place(&file);
            let address = relative(here.parent().unwrap_or(Path::new("")), &place(&target));
            if target != Path::new("README.md") && seen.insert(target.clone()) {
                waiting.push(target);
            }
            anchor.map_or(address.clone(), |anchor| format!("{address}#{anchor}"))
        });
        fs::write(&to, page).with_context(|| to.display().to_string())?;
    }
    Ok(())
}

/// The path from a folder to a file, both below the same root.
fn relative(folder: &Path, file: &Path) -> String {
    let shared = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), folder.components().count() - shared);
    let down =
        file.components().skip(shared).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// Makes `/rules/D008` an address of the page `/rules/D008.html` on every server: reports link to the short one.
fn short_addresses(site: &Path) -> Result<()> {
    let pages: Vec<PathBuf> = files(&site.join("rules"))?;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "html"))
    {
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = page.with_extension("");
        fs::create_dir_all(&folder)?;
        let text = format!(
            "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=../{name}\">\
             <link rel=\"canonical\" href=\"../{name}\"><title>{name}</title><a href=\"../{name}\">{name}</a>\n"
        );
        fs::write(folder.join("index.html"), text)?;
    }
    Ok(())
}

/// All files below a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() { all.extend(files(&path)?) } else { all.push(path) }
    }
    all.sort();
    Ok(all)
}

/// The number of pages, and every link of a page to a missing file or anchor of the site.
fn broken(site: &Path) -> Result<(usize, Vec<String>)> {
    let mut texts = BTreeMap::new();
    for file in
        files(site)?.into_iter().filter(|f| f.extension().is_some_and(|ending| ending == "html"))
    {
        let text = fs::read_to_string(&file)?;
        texts.insert(file.strip_prefix(site)?.to_owned(), text);
    }
    let anchors: BTreeMap<&PathBuf, BTreeSet<String>> =
        texts.iter().map(|(page, text)| (page, values(text, &["id", "name"]))).collect();
    let mut faults = Vec::new();
    for (page, text) in &texts {
        for link in values(text, &["href", "src"]) {
            if link.contains(':') || link.starts_with("//") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let mut target = match path.strip_prefix('/') {
                Some(path) => PathBuf::from(path),
                None => links::resolve(page, path),
            };
            if site.join(&target).is_dir() {
                target.push("index.html");
            }
            let known = anchors.get(&target);
            if !site.join(&target).is_file() {
                faults.push(format!("{}: {link} does not exist", page.display()));
            } else if !anchor.is_empty() && known.is_some_and(|known| !known.contains(anchor)) {
                faults.push(format!("{}: {link} has no such place", page.display()));
            }
        }
    }
    Ok((texts.len(), faults))
}

/// The values of attributes in a page.
fn values(page: &str, names: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in names {
        for rest in page.split(&format!(" {name}=\"")).skip(1) {
            let value = rest.split('"').next().unwrap_or_default();
            found.insert(value.replace("&amp;", "&").replace("%20", " "));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_replaced_below_its_entry() {
        let text = "- [R](rules/README.md)\n  - [A](a.md)\n    - [B](b.md)\n- [C](c.md)\n";
        let fresh = with_list(text, "(rules/README.md)", "  - [X](x.md)\n").expect("an entry");
        assert_eq!(fresh, "- [R](rules/README.md)\n  - [X](x.md)\n- [C](c.md)\n");
        assert!(with_list("", "(rules/README.md)", "").is_err());
    }

    #[test]
    fn paths_are_relative_to_the_page() {
        for (folder, file, expect) in [
            ("rules", "rules/a.md", "a.md"),
            ("rules", "b/c.md", "../b/c.md"),
            ("", "b/c.md", "b/c.md"),
        ] {
            assert_eq!(relative(Path::new(folder), Path::new(file)), expect);
        }
    }

    #[test]
    fn broken_links_of_the_site_are_found() {
        let site = std::env::temp_dir().join(format!("docward-site-{}", std::process::id()));
        fs::create_dir_all(site.join("rules")).expect("a folder");
        let page = "<h1 id=\"top\"></h1><a href=\"rules/index.html#here\"></a><a href=\"rules/\"></a><a href=\"#top\"></a>\
                    <a href=\"https://example.org/x\"></a><a href=\"gone.html\"></a><a href=\"rules/index.html#gone\"></a>";
        fs::write(site.join("index.html"), page).expect("a page");
        fs::write(site.join("rules/index.html"), "<p id=\"here\">").expect("a page");
        let (pages, faults) = broken(&site).expect("readable");
        fs::remove_dir_all(&site).expect("removed");
        assert_eq!(pages, 2);
        assert_eq!(
            faults,
            [
                "index.html: gone.html does not exist",
                "index.html: rules/index.html#gone has no such place"
            ]
        );
    }
}
