//! The HTML report in a real browser: it loads from disk without a complaint, filters, expands, copies,
//! follows links, is dark when asked, and is no wider than the window. Pictures of it are kept in
//! `target/page` for people to look at.

use std::path::{Path, PathBuf};

use assert_cmd::cargo::cargo_bin_cmd;
use bson::{Bson, doc, oid::ObjectId};
use docward_testkit::{Browser, repository};
use serde_json::json;

/// A report of the sinful shop that comes with the repository.
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

/// A report of many collections, each with the same faults.
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

/// Keeps a picture where people can look at it.
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

fn found(browser: &Browser) -> String {
    browser.value("document.getElementById('found').textContent").as_str().unwrap_or("").to_owned()
}

/// Nothing sticks out to the right.
fn fits(browser: &Browser) -> bool {
    browser.value("document.documentElement.scrollWidth <= window.innerWidth") == json!(true)
}

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
    assert_eq!(shown(&browser), 50, "{all}");
    browser.click("[name=severity][value=warn]");
    browser.click("[name=severity][value=info]");
    // What is typed and clicked takes effect a little later.
    browser.until(&format!(
        "{SHOWN} > 0 && {SHOWN} === document.querySelectorAll('#list .badge.bad').length"
    ));
    assert!(shown(&browser) < 50, "{}", found(&browser));
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
    browser.click("#list .finding [data-rule]");
    browser.until("document.querySelector('dialog[open] h4')?.textContent.startsWith('T001')");

    // A link to a finding opens it, whatever was filtered.
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

    // A collection has fields, pictures with the limits, and indexes.
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

    // Letters stand out from what is behind them (4.5 : 1), in both schemes.
    for scheme in ["dark", "light"] {
        browser.value(&format!("(document.documentElement.dataset.theme = '{scheme}')"));
        browser.open(&page, "#collection=db_shop.t_user");
        browser.value(&format!("(document.documentElement.dataset.theme = '{scheme}')"));
        assert_eq!(browser.value(FAINT), json!([]), "{scheme}");
    }

    for (width, name) in [(1280, "wide"), (400, "narrow")] {
        browser.resize(width, 900);
        for fragment in ["", "#collection=db_shop.t_user", "#findings?rule=D008"] {
            browser.open(&page, fragment);
            browser.value(
                "document.querySelectorAll('details').forEach(d => { d.open = true; }) ?? null",
            );
            assert!(fits(&browser), "{width} pixels {fragment}");
        }
        keep(&browser, &format!("shop-{name}"));
    }

    // With keys alone: the first thing reached is the way past the head, then links, then filters.
    browser.resize(1280, 900);
    browser.open(&page, "");
    browser.type_into("body", "\u{e004}");
    browser.until("document.activeElement.className === 'skip'");
    browser.value("document.querySelector('#list .finding summary').focus() ?? null");
    browser.type_into("#list .finding summary", "\u{e007}");
    browser.until("document.querySelector('#list .finding')?.open");

    // On paper everything is there and open, and afterwards as it was.
    browser.click("#whole");
    browser.until("document.documentElement.dataset.whole === 'yes'");
    let all: u64 = found(&browser).trim_end_matches(" findings").parse().expect("a number");
    assert_eq!(shown(&browser), all);
    browser.until("document.querySelectorAll('#collection-list .fields').length > 100");
    browser.value("dispatchEvent(new Event('beforeprint'))");
    browser.until("[...document.querySelectorAll('#list details')].every(d => d.open)");
    browser.value("dispatchEvent(new Event('afterprint'))");
    browser.until("document.querySelectorAll('#list details[open]').length === 0");
    // Links that were cut short, and names that are the beginnings of others.
    for fragment in ["#collection=%", "#finding=none", "#findings?ns=%E2%80%AE"] {
        browser.open(&page, fragment);
    }
    browser.open(&page, "#findings?ns=db_shop.t_user");
    let others = "[...document.querySelectorAll('#list .place')].filter(p => p.textContent.includes('t_user_')).length";
    assert_eq!(number(&browser, others), 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_map_shows_what_is_a_copy_and_nothing_that_only_bears_its_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = std::fs::read_to_string(shop(directory.path())).expect("a page");
    let start = text.find("<section id=\"map\"").expect("a map");
    let map = &text[start..start + text[start..].find("</section>").expect("it ends")];
    assert!(map.contains("class=\"edge copied\""), "copies have arrows");
    assert!(map.contains("<td>copy</td>"), "and rows");
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
    let told = of(&browser, "findings-on-paper");
    assert!(told.contains("findings 1 to 50 of 1") && told.contains("are left out"), "{told}");
    let told = of(&browser, "collections-on-paper");
    assert!(told.contains("collections 1 to 50 of ") && told.contains("Prepare"), "{told}");
    // A sheet is about 700 pixels wide: the map is drawn as wide as there is room.
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
    assert!(text.contains("In the baseline") && text.contains("accepted for now, not mended"));
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

/// Letters in pictures of a collection that are smaller than this cannot be read.
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

/// Texts whose contrast with their background is too weak, with the figure.
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
            "document.getElementById('findings-on-paper').textContent.includes('1 to 50 of')"
        ),
        json!(true)
    );
    let count: u64 =
        all.chars().filter(char::is_ascii_digit).collect::<String>().parse().expect("a number");
    assert!(count >= 10_000, "{all}");
    // What is not on the page is not in the page: that is why it stays quick.
    assert_eq!(shown(&browser), 50);
    assert!(number(&browser, "document.querySelectorAll('*').length") < 8_000);
    keep(&browser, "many-summary");
    browser.type_into("[name=ns]", "db_team19.Orders1999");
    browser.until(&format!("{SHOWN} > 2 && {SHOWN} < 50"));
    browser.click("#filter button[type=reset]");
    browser.until(&format!("{SHOWN} === 50"));
    browser.click("#findings-pager button:last-child");
    browser.until("document.getElementById('findings-pager').textContent.includes('Page 2')");
    browser.open(&page, "#collection=db_team19.Orders1999");
    browser.until("document.querySelectorAll('.collection[open] .fields tbody tr').length > 5");
    keep(&browser, "many-collection");
    assert!(fits(&browser));
}
