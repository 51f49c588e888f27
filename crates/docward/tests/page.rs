//! Tests the HTML report in a real browser. It loads from disk without errors, filters, expands,
//! copies, follows links, supports a dark scheme, and fits the window. The tests save screenshots
//! in `target/page`.

use std::path::{Path, PathBuf};

use assert_cmd::cargo::cargo_bin_cmd;
use bson::{Bson, doc, oid::ObjectId};
use docward_testkit::{Browser, repository};
use serde_json::json;

use crate::common::chosen_first;

/// Writes a report on the faulty example shop of the repository.
fn shop(directory: &Path) -> PathBuf {
    let file = directory.join("shop.html");
    cargo_bin_cmd!("docward")
        .current_dir(repository())
        .args(["audit", "examples/shop", "--format", "html", "--fail-on", "never", "--output"])
        .arg(&file)
        .assert()
        .code(0);
    file
}

/// Writes a report on many collections with the same faults.
fn many(directory: &Path, collections: usize) -> PathBuf {
    let dump = directory.join("dump");
    for n in 0..collections {
        let database = dump.join(format!("db_team{:02}", n / 100));
        std::fs::create_dir_all(&database).expect("a directory");
        let documents: Vec<u8> = (0..30)
            .flat_map(|i| {
                let mixed = if i % 3 == 0 { Bson::Int32(i) } else { Bson::String(format!("x{i}")) };
                let document = doc! {
                    "_id": ObjectId::new(),
                    "UserName": format!("user {i} of {n}"),
                    "total_price": f64::from(i) * 9.99,
                    "createdAt": format!("2024-03-{:02} 10:30:00", i % 28 + 1),
                    "mixed": mixed,
                    "a": { "b": { "c": { "d": { "e": i } } } },
                };
                bson::serialize_to_vec(&document).expect("BSON")
            })
            .collect();
        let file = database.join(format!("Orders{n:04}.bson"));
        std::fs::write(file, documents).expect("a collection");
    }
    let file = directory.join("many.html");
    cargo_bin_cmd!("docward")
        .args(["audit", "--format", "html", "--fail-on", "never", "--no-progress", "--output"])
        .arg(&file)
        .arg(&dump)
        .assert()
        .code(0);
    file
}

/// Saves a screenshot.
fn keep(browser: &Browser, name: &str) {
    let directory = repository().join("target/page");
    std::fs::create_dir_all(&directory).expect("a directory");
    browser.screenshot(&directory.join(format!("{name}.png")));
}

fn number(browser: &Browser, expression: &str) -> u64 {
    let value = browser.value(expression);
    value.as_u64().unwrap_or_else(|| panic!("{expression} is {value}"))
}

/// Findings on the page.
const SHOWN: &str = "document.querySelectorAll('#list .finding').length";

fn shown(browser: &Browser) -> u64 {
    number(browser, SHOWN)
}

/// `156 findings in 62 rules` is 156.
fn first_number(text: &str) -> u64 {
    let digits: String =
        text.chars().take_while(|c| *c != ' ').filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("{text} begins with a number"))
}

fn found(browser: &Browser) -> String {
    browser.value("document.getElementById('found').textContent").as_str().unwrap_or("").to_owned()
}

/// Whether nothing extends beyond the right edge.
fn fits(browser: &Browser) -> bool {
    let fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";
    browser.value(fits) == json!(true)
}

/// Table cells that are cut off at the right edge of their box. Only the map scrolls, and says so.
const CUT: &str = "[...document.querySelectorAll('.scroll')].filter(box => box.checkVisibility()).flatMap(box => {
  const right = box.getBoundingClientRect().right + 1;
  return [...box.querySelectorAll('td, th')].filter(c => c.checkVisibility() && c.getBoundingClientRect().right > right).map(c => `${box.ariaLabel}: ${c.textContent}`);
}).concat([...document.querySelectorAll('.scroll.wide')].filter(box => box.scrollWidth > box.clientWidth + 1 && !box.previousElementSibling.checkVisibility()).map(() => 'no hint'))";

#[test]
fn the_page_of_the_shop_works() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = shop(directory.path());
    let text = std::fs::read_to_string(&page).expect("a page");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let allowed = ["url(#head)"];
        let rest = allowed.iter().fold(text.clone(), |text, known| text.replace(known, ""));
        assert!(!rest.contains(outside), "the page asks for `{outside}`");
    }
    let Some(browser) = Browser::start(1280, 1000) else { return };
    browser.prefer("light");
    browser.open(&page, "");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(
        number(&browser, "performance.getEntriesByType('resource').length"),
        0,
        "nothing is asked for from outside"
    );
    keep(&browser, "shop-summary");

    // Filters.
    let all = found(&browser);
    browser.click("[name=severity][value=warning]");
    browser.click("[name=severity][value=note]");
    // Input takes effect after a short delay.
    browser.until(&format!(
        "{SHOWN} > 0 && {SHOWN} === document.querySelectorAll('#list summary .badge.bad:first-child').length"
    ));
    browser.until("location.hash.includes('severity=error')");
    browser.click("button[type=reset]");
    browser.until(&format!("document.getElementById('found').textContent === {}", json!(all)));
    browser.type_into("[name=q]", "followers grow");
    browser.until(&format!("{SHOWN} > 0 && {SHOWN} < 5"));
    assert!(
        browser
            .value("document.querySelector('#list .place').textContent")
            .to_string()
            .contains("followers")
    );
    // Links of earlier versions use other words.
    browser.open(&page, "#findings?severity=warn");
    assert_eq!(
        browser
            .value("[...document.querySelectorAll('[name=severity]:checked')].map(b => b.value)"),
        json!(["warning"])
    );

    // Expands, and copies the command.
    browser.open(&page, "#findings?rule=T001");
    browser.click("#list .finding summary");
    browser.until("document.querySelector('#list .finding')?.open");
    let command =
        browser.value("document.querySelector('#list .finding .command code').textContent");
    browser.allow_clipboard();
    browser.click("#list .finding [data-copy]");
    browser.until("document.querySelector('#list .finding [data-copy]').textContent === 'Copied'");
    browser.value("navigator.clipboard.readText().then(text => { window.copied = text; }) && null");
    browser.until(&format!("window.copied === {command}"));
    keep(&browser, "shop-finding");
    browser.click("#list .group [data-rule]");
    browser.until("document.querySelector('dialog[open] h4')?.textContent.startsWith('T001')");

    // A link to a finding opens it, even if a filter would hide it.
    browser.open(&page, "#findings?rule=N009");
    let link = browser.value("document.querySelector('#list .permalink').getAttribute('href')");
    let link = link.as_str().expect("a link").to_owned();
    browser.open(&page, &link);
    browser.until("document.querySelector('#list .finding.here')?.open");
    assert!(
        browser
            .value("document.querySelector('.finding.here').textContent")
            .to_string()
            .contains("N009")
    );

    // A collection has fields, charts with the limits, and indexes.
    browser.open(&page, "#collection=db_shop.t_user");
    browser.until("document.querySelectorAll('.collection[open] .fields tbody tr').length > 3");
    for (what, least) in [
        (".collection[open] .chart", 3),
        (".collection[open] svg .limit", 2),
        (".collection[open] svg .dot", 30),
        (".collection[open] .t-string", 1),
    ] {
        let n = number(&browser, &format!("document.querySelectorAll('{what}').length"));
        assert!(n >= least, "{what}: {n}");
    }
    let fields = "document.querySelector('.collection[open] .fields').textContent";
    let fields = browser.value(fields).to_string();
    assert!(fields.contains("100 % of objects in posts"), "shares say of what: {fields}");
    keep(&browser, "shop-collection");
    browser.open(&page, "#map");
    browser.value("document.getElementById('map').scrollIntoView() ?? null");
    assert!(number(&browser, "document.querySelectorAll('.map .node').length") > 3);
    assert!(number(&browser, "document.querySelectorAll('.map .edge').length") > 3);
    keep(&browser, "shop-map");
    browser.value("document.getElementById('checklist').scrollIntoView() ?? null");
    keep(&browser, "shop-checklist");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_page_is_dark_narrow_and_usable_with_keys() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = shop(directory.path());
    let Some(browser) = Browser::start(1280, 1000) else { return };
    let background = "getComputedStyle(document.body).backgroundColor";
    browser.prefer("light");
    browser.open(&page, "");
    assert_eq!(browser.value(background), json!("rgb(255, 255, 255)"));
    browser.prefer("dark");
    browser.open(&page, "");
    let dark = browser.value(background);
    assert_ne!(dark, json!("rgb(255, 255, 255)"));
    keep(&browser, "shop-dark");
    browser.click("#theme");
    assert_eq!(browser.value(background), json!("rgb(255, 255, 255)"), "the button turns it");
    browser.click("#theme");
    assert_eq!(browser.value(background), dark);

    // Text has a contrast of at least 4.5 : 1 with its background, in both schemes.
    for scheme in ["dark", "light"] {
        browser.value(&format!("(document.documentElement.dataset.theme = '{scheme}')"));
        browser.open(&page, "#collection=db_shop.t_user");
        browser.value(&format!("(document.documentElement.dataset.theme = '{scheme}')"));
        assert_eq!(browser.value(FAINT), json!([]), "{scheme}");
    }

    for (width, name) in [(1280, "wide"), (400, "narrow")] {
        browser.resize(width, 900);
        for fragment in ["", "#collection=db_shop.t_user", "#findings?rule=D008", "#map"] {
            browser.open(&page, fragment);
            browser.value(
                "document.querySelectorAll('details').forEach(d => { d.open = true; }) ?? null",
            );
            assert!(fits(&browser), "{width} pixels {fragment}");
            assert_eq!(browser.value(CUT), json!([]), "{width} pixels {fragment}");
        }
        keep(&browser, &format!("shop-{name}"));
    }

    // With the keyboard, the link that skips the head comes first, then links, then filters.
    browser.resize(1280, 900);
    browser.open(&page, "");
    browser.type_into("body", "\u{e004}");
    browser.until("document.activeElement.className === 'skip'");
    browser.value("document.querySelector('#list .finding summary').focus() ?? null");
    browser.type_into("#list .finding summary", "\u{e007}");
    browser.until("document.querySelector('#list .finding')?.open");

    // The printed page shows everything expanded. Afterwards the page is as before.
    browser.click("#whole");
    browser.until("document.documentElement.dataset.whole === 'yes'");
    assert_eq!(shown(&browser), first_number(&found(&browser)));
    browser.until("document.querySelectorAll('#collection-list .fields').length > 100");
    browser.value("dispatchEvent(new Event('beforeprint'))");
    browser.until("[...document.querySelectorAll('#list details')].every(d => d.open)");
    browser.value("dispatchEvent(new Event('afterprint'))");
    browser.until("document.querySelectorAll('#list details[open]').length === 0");
    // Truncated links, and names that are prefixes of others.
    for fragment in ["#collection=%", "#finding=none", "#findings?ns=%E2%80%AE"] {
        browser.open(&page, fragment);
    }
    browser.open(&page, "#findings?ns=db_shop.t_user");
    let others = "[...document.querySelectorAll('#list .place')].filter(p => p.textContent.includes('t_user_')).length";
    assert_eq!(number(&browser, others), 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Returns the page of another command, and its JSON report.
fn pages(directory: &Path, arguments: &[&str]) -> (PathBuf, serde_json::Value) {
    let run = |format: &str, file: &Path| {
        let mut command = cargo_bin_cmd!("docward");
        command.current_dir(repository()).args(arguments);
        command.args(["--format", format, "--fail-on", "never", "--output"]).arg(file);
        command.assert().code(0);
    };
    let (page, json) = (directory.join("page.html"), directory.join("report.json"));
    run("html", &page);
    run("json", &json);
    let text = std::fs::read_to_string(json).expect("a report");
    (page, serde_json::from_str(&text).expect("JSON"))
}

#[test]
fn the_page_begins_with_facts_a_verdict_and_what_to_fix_first() {
    let directory = tempfile::tempdir().expect("a directory");
    let (page, json) = pages(directory.path(), &["audit", "examples/shop"]);
    let Some(browser) = Browser::start(1280, 1000) else { return };
    browser.open(&page, "");
    let facts = browser.value("document.querySelector('.facts').innerText");
    let facts = facts.as_str().unwrap_or_default();
    for part in
        ["UTC", "documents", "collections", "read in full", " s\n", "docward audit examples/shop"]
    {
        assert!(facts.contains(part), "{part} in {facts}");
    }
    // Every area has a state. None is green unless one of its rules has run.
    let states = browser.value(
        "[...document.querySelectorAll('.area')].map(a => [a.dataset.area, a.className.split(' ')[1], a.innerText])",
    );
    let states = states.as_array().cloned().unwrap_or_default();
    assert_eq!(states.len(), 6);
    for state in &states {
        let of = |severity: &str| {
            let findings = json["findings"].as_array().into_iter().flatten();
            findings.filter(|f| f["area"] == state[0] && f["severity"] == severity).count()
        };
        let expect = match (of("error"), of("warn")) {
            (1.., _) => "bad",
            (0, 1..) => "poor",
            (0, 0) if state[2].as_str().is_some_and(|text| text.contains("Pass")) => "good",
            _ => "none",
        };
        assert_eq!(state[1], expect, "{state}");
    }
    // "Fix first" has the rules of the first screen, and its links lead to them.
    let first = chosen_first(&json);
    let links = browser
        .value("[...document.querySelectorAll('.fix-first a')].map(a => a.getAttribute('href'))");
    let links = links.as_array().cloned().unwrap_or_default();
    assert_eq!(links.len(), 5);
    for (link, (rule, severity)) in links.iter().zip(first) {
        let link = link.as_str().unwrap_or_default();
        let word = if severity == "warn" { "warning" } else { "error" };
        assert_eq!(link, format!("#findings?rule={rule}&severity={word}"));
        browser.open(&page, "");
        browser.click(&format!(".fix-first a[href='{link}']"));
        let of_rule = json["findings"].as_array().into_iter().flatten();
        let n = of_rule
            .filter(|f| f["rule"] == rule.as_str() && f["severity"] == severity.as_str())
            .count();
        browser.until(&format!(
            "document.getElementById('found').textContent.startsWith('{n} of ') && document.querySelectorAll('#list .group').length === 1"
        ));
    }
    // Rules that need more input are counted, with a hint how to provide it.
    let missing = browser.value("document.querySelector('.inputs').innerText");
    let missing = missing.as_str().unwrap_or_default();
    assert!(missing.contains("need code: --code PATH"), "{missing}");
    // Recognised patterns do not count as notes.
    let is_pattern = |f: &&serde_json::Value| f["rule"] == "R020";
    let patterns = json["findings"].as_array().into_iter().flatten().filter(is_pattern).count();
    browser.open(&page, "#patterns");
    browser
        .until(&format!("document.querySelectorAll('#patterns[open] li').length === {patterns}"));
    let notes = json["summary"]["info"].as_u64().unwrap_or(0) - patterns as u64;
    let told = browser.value("document.querySelector('.verdict').innerText");
    assert!(told.to_string().contains(&format!("{notes} notes")), "{told}");
    assert_eq!(browser.value("document.querySelector('[name=rule] [value=R020]')"), json!(null));
}

#[test]
fn findings_are_grouped_by_rule_or_by_collection_and_sorted() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = shop(directory.path());
    let Some(browser) = Browser::start(1280, 1000) else { return };
    browser.open(&page, "#findings?rule=D008");
    let reasons = "[...document.querySelectorAll('.group > .why')].length";
    assert_eq!(number(&browser, reasons), 1, "the reason is told once");
    let headings = "[...document.querySelectorAll('.group h3')].map(h => h.textContent)";
    assert!(browser.value(headings)[0].as_str().is_some_and(|text| text.starts_with("D008 ")));
    browser.click("#list .finding summary");
    browser.until("document.querySelector('#list .finding')?.open");
    assert_eq!(
        browser.value("document.querySelector('#list .finding .same')?.checkVisibility() ?? false"),
        json!(false)
    );
    let text = browser.value("document.querySelector('#list .finding').innerText").to_string();
    assert!(!text.contains("reaches1MbOn") && !text.contains("guarded"), "{text}");

    browser.open(&page, "#findings?group=place&sort=name");
    let sorted = "(names => names.length > 5 && names.every((n, i) => i === 0 || names[i - 1] <= n))([...document.querySelectorAll('.group h3')].map(h => h.textContent))";
    assert_eq!(browser.value(sorted), json!(true), "{}", browser.value(headings));
    assert!(
        number(&browser, "document.querySelectorAll('.group h3 a[href^=\"#collection=\"]').length")
            > 5
    );
    let of_rule = "document.querySelector('#list .of-rule').checkVisibility()";
    assert_eq!(browser.value(of_rule), json!(true), "the rule is named with each finding");
    browser.open(&page, "");
    browser.value("(document.querySelector('[name=group]').value = 'place', document.getElementById('filter').dispatchEvent(new Event('input')), null)");
    browser.until("location.hash.includes('group=place')");
    browser.open(&page, "#findings?sort=severity");
    let worst = "[...document.querySelectorAll('#list .group')].map(g => ['bad', 'poor', 'note'].findIndex(c => g.querySelector(`.tally .${c}`)))";
    let worst: Vec<u64> = serde_json::from_value(browser.value(worst)).expect("numbers");
    assert!(worst.is_sorted(), "{worst:?}");
}

#[test]
fn commands_over_several_lines_are_the_commands_of_the_report() {
    let directory = tempfile::tempdir().expect("a directory");
    let (page, json) = pages(directory.path(), &["audit", "examples/shop"]);
    let Some(browser) = Browser::start(1280, 1000) else { return };
    browser.open(&page, "");
    browser.click("#whole");
    browser.until("document.documentElement.dataset.whole === 'yes'");
    // Outside strings, only white space differs.
    let bare = |command: &str| {
        let mut quote = None;
        let mut is_escaped = false;
        let keep = |c: &char| {
            match quote {
                Some(open) if *c == open && !is_escaped => quote = None,
                None if *c == '"' || *c == '\'' => quote = Some(*c),
                _ => {}
            }
            is_escaped = *c == '\\' && !is_escaped;
            quote.is_some() || !c.is_whitespace()
        };
        command.chars().filter(keep).collect::<String>()
    };
    let shown = "[...document.querySelectorAll('#list .finding')].filter(f => f.querySelector('.command')).map(f => [f.id, f.querySelector('.command code').textContent, f.querySelector('.risk').textContent])";
    let shown: Vec<[String; 3]> = serde_json::from_value(browser.value(shown)).expect("texts");
    assert!(shown.len() > 60, "{}", shown.len());
    let mut broken = 0;
    for [id, command, risk] in &shown {
        let fingerprint = id.trim_start_matches("finding-");
        let finding = json["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|f| f["fingerprint"] == fingerprint);
        let fix = &finding.expect("a finding of the report")["fix"];
        assert_eq!(bare(command), bare(fix["command"].as_str().unwrap_or_default()));
        broken += usize::from(command.contains('\n'));
        let expect = match fix["safety"].as_str() {
            Some("safe") => "No stored data changes",
            Some("guarded") => "Changes data; can be undone",
            _ => "Decide first",
        };
        assert_eq!(risk, expect);
    }
    assert!(broken > 30, "{broken}");
}

#[test]
fn labels_of_the_map_do_not_lie_on_each_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = shop(directory.path());
    let Some(browser) = Browser::start(1280, 1000) else { return };
    browser.open(&page, "#map");
    let touching = "(labels => labels.flatMap((a, i) => labels.slice(i + 1).filter(b => a.r.x < b.r.right && b.r.x < a.r.right && a.r.y < b.r.bottom && b.r.y < a.r.bottom).map(b => `${a.t} / ${b.t}`)))([...document.querySelectorAll('.map .edge-label')].map(t => ({ t: t.textContent, r: t.getBoundingClientRect() })))";
    assert!(number(&browser, "document.querySelectorAll('.map .edge-label').length") > 10);
    assert_eq!(browser.value(touching), json!([]));
    // Boxes have the colour of their worst finding and link to their collections.
    assert!(number(&browser, "document.querySelectorAll('.map a .node.bad').length") > 0);
    browser.click(".map a[href='#collection=db_shop.t_order']");
    browser.until(
        "document.querySelector('.collection[open] summary b')?.textContent === 'db_shop.t_order'",
    );
}

#[test]
fn a_page_about_code_is_about_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let code = directory.path().join("app");
    std::fs::create_dir_all(&code).expect("a directory");
    std::fs::write(
        code.join("users.js"),
        "const { MongoClient } = require('mongodb');\nconst client = new MongoClient('mongodb://app:secret@db1/shop?retryWrites=false');\n",
    )
    .expect("a file");
    let page = directory.path().join("lint.html");
    cargo_bin_cmd!("docward")
        .current_dir(directory.path())
        .args(["lint", "app", "--format", "html", "--fail-on", "never", "--output"])
        .arg(&page)
        .assert()
        .code(0);
    let Some(browser) = Browser::start(1280, 1000) else { return };
    browser.open(&page, "#findings?group=place");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let form = browser.value("document.getElementById('filter').innerText").to_string();
    assert!(
        form.contains("File") && !form.contains("Namespace") && !form.contains("Collection"),
        "{form}"
    );
    let groups =
        browser.value("[...document.querySelectorAll('.group h3')].map(h => h.textContent)");
    assert_eq!(groups, json!(["app/users.js"]));
    assert_eq!(browser.value("document.querySelector('.kind').textContent"), json!("Docward lint"));
    let facts = browser.value("document.querySelector('.facts').innerText").to_string();
    assert!(!facts.contains("0 documents") && facts.contains("1 file"), "{facts}");
    let areas = "[...document.querySelectorAll('.area')].length";
    assert!(number(&browser, areas) > 4, "each area has its tile");
    keep(&browser, "lint");
}

#[test]
fn a_clean_source_has_no_red() {
    let directory = tempfile::tempdir().expect("a directory");
    let (page, json) = pages(directory.path(), &["audit", "examples/shop-clean"]);
    let Some(browser) = Browser::start(1280, 1000) else { return };
    browser.open(&page, "");
    assert_eq!(json["summary"]["error"], 0);
    let red = "[...document.querySelectorAll('main *')].filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && getComputedStyle(e).color === 'rgb(180, 35, 24)').map(e => e.textContent)";
    browser.value("(document.documentElement.dataset.theme = 'light')");
    assert_eq!(browser.value(red), json!([]));
    let text = browser.value("document.querySelector('main').innerText");
    let text = text.as_str().unwrap_or_default();
    for wrong in ["1 notes", "1 collections", "1 warnings", "1 documents", "1 rules"] {
        assert!(!text.split('\n').any(|line| line.starts_with(wrong)), "{wrong}");
    }
    keep(&browser, "clean");
}

#[test]
fn the_map_shows_what_is_a_copy_and_nothing_that_only_bears_its_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = std::fs::read_to_string(shop(directory.path())).expect("a page");
    let start = text.find("<section id=\"map\"").expect("a map");
    let map = &text[start..start + text[start..].find("</section>").expect("it ends")];
    assert!(map.contains("class=\"edge copied\""), "copies have arrows");
    assert!(map.contains("<td data-label=\"Kind\">copy</td>"), "and rows");
    for name in ["status copies status", "createTime copies createTime"] {
        assert!(!map.contains(name), "{name}");
    }
    let label = "items[].productId N:M";
    assert!(map.contains(label), "an order has many products, and they have many orders");
}

#[test]
fn the_paper_says_what_is_not_on_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = shop(directory.path());
    let Some(browser) = Browser::start(1280, 1000) else { return };
    let of = |browser: &Browser, id: &str| {
        let text = browser.value(&format!(
            "(e => e.checkVisibility() ? e.innerText : '')(document.getElementById('{id}'))"
        ));
        text.as_str().unwrap_or_default().to_owned()
    };
    browser.open(&page, "");
    assert_eq!(of(&browser, "findings-on-paper"), "", "not on the screen");
    browser.show_as("print");
    let after = "getComputedStyle(document.getElementById('summary')).breakAfter";
    assert_eq!(browser.value(after), json!("page"), "the summary is a page of its own");
    let told = of(&browser, "findings-on-paper");
    assert!(told.contains(" findings; ") && told.contains("are left out"), "{told}");
    let told = of(&browser, "collections-on-paper");
    assert!(told.contains("25 of ") && told.contains("Prepare"), "{told}");
    // A printed page is about 700 pixels wide. The map uses the available width.
    browser.resize(700, 1000);
    browser.value("dispatchEvent(new Event('beforeprint'))");
    assert!(fits(&browser), "in print");
    let cut = "document.querySelector('.map').getBoundingClientRect().right > innerWidth";
    assert_eq!(browser.value(cut), json!(false));
    browser.show_as("screen");
    browser.click("#whole");
    browser.until("document.documentElement.dataset.whole === 'yes'");
    browser.show_as("print");
    assert_eq!(of(&browser, "findings-on-paper") + &of(&browser, "collections-on-paper"), "");
    assert_eq!(
        browser.value("document.getElementById('whole').textContent"),
        json!("Ready to print")
    );
}

#[test]
fn a_baseline_and_a_selection_leave_forecasts_and_health_as_they_are() {
    let directory = tempfile::tempdir().expect("a directory");
    let baseline = directory.path().join("base.json");
    let page = |name: &str, more: &[&str]| {
        let file = directory.path().join(name);
        cargo_bin_cmd!("docward")
            .current_dir(repository())
            .args(["audit", "examples/shop", "--format", "html", "--fail-on", "never", "--output"])
            .arg(&file)
            .args(more)
            .assert()
            .code(0);
        file
    };
    let base = baseline.display().to_string();
    let known = page("known.html", &["--baseline", &base, "--write-baseline"]);
    let named = page("named.html", &["--select", "N"]);
    let text = std::fs::read_to_string(&known).expect("a page");
    assert!(text.contains("In the baseline") && text.contains("accepted, not fixed"));
    let Some(browser) = Browser::start(1280, 1000) else { return };
    for page in [known, named] {
        browser.open(&page, "#collection=db_shop.t_user");
        browser.until("document.querySelectorAll('.collection[open] .chart').length > 2");
        let captions = "[...document.querySelectorAll('.collection[open] figcaption')].map(c => c.textContent).join()";
        let captions = browser.value(captions).as_str().unwrap_or_default().to_owned();
        for part in [", reaches ", " a day, reaches ", "counted from the newest document of 20"] {
            assert!(captions.contains(part), "{part} in {captions}");
        }
    }
}

/// Letters in charts that are too small to read.
const SMALL: &str = "[...document.querySelectorAll('.collection[open] .chart text')].map(t => t.getScreenCTM().a * parseFloat(getComputedStyle(t).fontSize)).filter(size => size < 10)";

#[test]
fn letters_in_pictures_can_be_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = shop(directory.path());
    let Some(browser) = Browser::start(1280, 1000) else { return };
    for width in [1280, 800, 400] {
        browser.resize(width, 900);
        browser.open(&page, "#collection=db_shop.t_user");
        browser.until("document.querySelectorAll('.collection[open] .chart text').length > 5");
        assert_eq!(browser.value(SMALL), json!([]), "{width} pixels");
    }
}

/// Texts with too little contrast, each with its contrast ratio.
const FAINT: &str = "(() => {
  const numbers = (c) => (c.match(/[0-9.]+/g) || []).map(Number);
  const light = (c) => { const [r, g, b] = numbers(c).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; const n = numbers(c); if (n.length === 3 || n[3] === 1) return c; } return 'rgb(255,255,255)'; };
  const faint = new Set();
  for (const e of document.querySelectorAll('body *:not(script):not(option)')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility()) continue;
    const svg = e.ownerSVGElement;
    const own = getComputedStyle(e)[svg ? 'fill' : 'color'];
    const [a, b] = [light(own), light(behind(svg ? svg.parentElement : e))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) faint.add(`${e.tagName}.${e.className.baseVal ?? e.className} ${contrast.toFixed(1)}`);
  }
  return [...faint];
})()";

#[test]
fn ten_thousand_findings_in_two_thousand_collections_stay_usable() {
    let directory = tempfile::tempdir().expect("a directory");
    let page = many(directory.path(), 2000);
    let bytes = std::fs::metadata(&page).expect("a page").len();
    assert!(bytes < 20_000_000, "{bytes} bytes");
    let Some(browser) = Browser::start(1280, 1000) else { return };
    browser.open(&page, "");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let all = found(&browser);
    assert_eq!(
        browser.value(
            "document.getElementById('findings-on-paper').textContent.includes(' are left out')"
        ),
        json!(true)
    );
    assert!(first_number(&all) >= 10_000, "{all}");
    // Findings that are not shown are not in the DOM, which keeps the page fast.
    assert!(shown(&browser) <= 75, "{}", shown(&browser));
    assert!(number(&browser, "document.querySelectorAll('*').length") < 8_000);
    keep(&browser, "many-summary");
    browser.type_into("[name=ns]", "db_team19.Orders1999");
    browser.until("document.getElementById('found').textContent.includes(' of ')");
    browser.until("[...document.querySelectorAll('#list .place')].every(p => p.textContent.startsWith('db_team19.Orders1999'))");
    browser.click("#filter button[type=reset]");
    browser.until(&format!("document.getElementById('found').textContent === {}", json!(all)));
    // A rule with thousands of findings shows a few, and more on request.
    browser.click("#list .more");
    browser.until(&format!("{SHOWN} > 100"));
    browser.open(&page, "#findings?group=place");
    assert!(number(&browser, "document.querySelectorAll('#list .group').length") == 25);
    browser.click("#findings-pager button:last-child");
    browser
        .until("/Page (\\d+) of \\1/.test(document.getElementById('findings-pager').textContent)");
    browser.open(&page, "#collection=db_team19.Orders1999");
    browser.until("document.querySelectorAll('.collection[open] .fields tbody tr').length > 5");
    keep(&browser, "many-collection");
    assert!(fits(&browser));
}
