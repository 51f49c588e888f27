//! Writes the gallery of the models in `examples/models`: `docs/design-gallery.md` and
//! `docs/pictures/`, from the output of `docward design`. The claims of the page are checked
//! against the design first.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use docward_model::text;
use serde_json::Value;

use crate::{codegen::cites, docs, root, source};

/// A model, and the reason why it is in the gallery.
pub(crate) struct Model {
    /// The name of its file, without the extension.
    pub(crate) name: &'static str,
    /// A one-line description.
    pub(crate) shows: &'static str,
    cases: &'static [Case],
}

/// A story or a clause of the rule book that a model reproduces.
struct Case {
    id: &'static str,
    /// The rule book's statement.
    tells: &'static str,
    /// The expected result of the design.
    expect: Expect,
    /// A replacement in the file: the old text and the new text.
    instead: Option<(&'static str, &'static str)>,
}

enum Expect {
    /// A relationship and its verdict.
    Verdict(&'static str, &'static str),
    /// A relationship or an entity, and a pattern of it.
    Pattern(&'static str, &'static str),
    /// A relationship that needs a transaction.
    Transaction(&'static str),
    /// A collection and its shard key.
    ShardKey(&'static str, &'static str),
}

use Expect::{Pattern, ShardKey, Transaction, Verdict};

const fn case(id: &'static str, tells: &'static str, expect: Expect) -> Case {
    Case { id, tells, expect, instead: None }
}

/// Every model, the simplest first.
pub(crate) const MODELS: [Model; 7] = [
    Model {
        name: "shop",
        shows: "items in their order, customer's name copied, newest five reviews with count and average, a capped audit log",
        cases: &[
            case(
                "ST-07",
                "orders and their items in two collections took 800 ms at the peak; embedded, one query",
                Verdict("order.items", "embed"),
            ),
            case(
                "ST-26",
                "every page of an order fetched the customer for a name and an email",
                Pattern("customer.orders", "extended-reference"),
            ),
            case(
                "ST-28",
                "a page shows five of 2,847 reviews, their number and their average",
                Pattern("product.reviews", "subset"),
            ),
            case(
                "ST-22",
                "the log of an order grew for as long as the order lived; the newest hundred are enough",
                Pattern("order.auditLog", "capped-array"),
            ),
        ],
    },
    Model {
        name: "blog",
        shows: "tags embedded and comments referenced with a preview, in one run; likes counted",
        cases: &[
            case(
                "ST-19",
                "thousands of comments of a post, of which a page shows three and their number",
                Verdict("post.comments", "hybrid"),
            ),
            case(
                "ER-X.1",
                "the same rows give the tags of that post another home",
                Verdict("post.tags", "embed"),
            ),
            case(
                "ST-27",
                "likes were counted at every view of a post",
                Pattern("post.likes", "computed"),
            ),
            case(
                "ST-05",
                "posts in an array of their author, until the document reached 16 MB",
                Verdict("author.posts", "reference"),
            ),
        ],
    },
    Model {
        name: "iot",
        shows: "readings as a time series, or hourly buckets before 5.0; device logs",
        cases: &[
            case(
                "ST-08",
                "a device held all its readings: hundreds of thousands after a year, and writes stopped",
                Pattern("reading", "time-series"),
            ),
            Case {
                id: "ST-23",
                tells: "a reading a minute is 525,600 documents a year, or 8,760 hours",
                expect: Pattern("reading", "bucket"),
                instead: Some(("server: \"7.0\"", "server: \"4.4\"")),
            },
        ],
    },
    Model {
        name: "chat",
        shows: "messages in buckets",
        cases: &[case(
            "ST-21",
            "a room held all its messages; a document for each room and day does not grow",
            Pattern("message", "bucket"),
        )],
    },
    Model {
        name: "social",
        shows: "followers as a junction, never an array",
        cases: &[
            case(
                "ST-20",
                "an account with 500,000 followers in an array is a document of almost 10 MB",
                Pattern("user.followees", "junction"),
            ),
            case(
                "ER-T.6",
                "many to many, of which one side stays short, is a list of ids on that side",
                Pattern("user.courses", "child-ids-in-parent"),
            ),
        ],
    },
    Model {
        name: "catalogue",
        shows: "kinds in one collection, attributes, bestsellers with pages, ratings, a tree of categories",
        cases: &[
            case(
                "ST-25",
                "most titles have a few purchasers, a bestseller has 2,500: pages of 1,000",
                Pattern("book.purchasers", "outlier"),
            ),
            case(
                "ST-35",
                "a page shows the average of 843 ratings",
                Pattern("movie.ratings", "computed"),
            ),
            case(
                "PT-poly.1",
                "cars, trucks and motorcycles are read together and have fields of their own",
                Pattern("vehicle", "polymorphic"),
            ),
        ],
    },
    Model {
        name: "bank",
        shows: "balances that must be current, a transaction on record, zones, versions, an archive",
        cases: &[
            case(
                "ER-F.5",
                "what must be current is read where it is, and never copied",
                Verdict("payment.account", "reference"),
            ),
            case(
                "CK-10",
                "what spans two documents needs a transaction that is written down",
                Transaction("account.entries"),
            ),
            case(
                "ER-M.6",
                "ten years of statements have an end, and are too large for one document",
                Verdict("account.statements", "reference"),
            ),
            case(
                "SK-11",
                "documents stay in their region: the zone's field leads the key",
                ShardKey("t_account", "{ region: 1, customerId: 1 }"),
            ),
        ],
    },
];

/// The file of a model, from the root of the repository.
fn path(name: &str) -> String {
    format!("examples/models/{name}.yaml")
}

/// Rows for a table of the models, with links from the folder `examples`.
pub(crate) fn rows() -> String {
    let row = |model: &Model| {
        format!(
            "| [`models/{0}.yaml`](models/{0}.yaml) | {1} | {2} |\n",
            model.name,
            model.shows,
            ids(model)
        )
    };
    MODELS.iter().map(row).collect()
}

fn ids(model: &Model) -> String {
    model.cases.iter().map(|case| case.id).collect::<Vec<_>>().join(", ")
}

/// Writes the page and its pictures below the folder of the documentation.
pub(crate) fn generate(folder: &Path) -> Result<()> {
    let pictures = folder.join("pictures");
    fs::create_dir_all(&pictures).context("making docs/pictures")?;
    let scratch = Scratch::new()?;
    let tests = source::test_names()?;
    let mut page = String::from(HEAD);
    for model in &MODELS {
        page += &format!("| [{0}](#{0}) | {1} | {2} |\n", model.name, model.shows, ids(model));
    }
    for model in &MODELS {
        let design = designed(&path(model.name))?;
        draw(model.name, &scratch.0, &pictures)?;
        page += &section(model, &design)?;
        page += "\n| story or clause | what the rule book tells | what the design says |\n|---|---|---|\n";
        for case in model.cases {
            if !tests.iter().any(|test| cites(test, case.id)) {
                bail!(
                    "{}: {} is in the gallery, and no test is named after it",
                    model.name,
                    case.id
                );
            }
            let said = held(model.name, case, &design, &scratch.0)?;
            page += &format!("| {} | {} | {said} |\n", case.id, case.tells);
        }
    }
    fs::write(folder.join("design-gallery.md"), page).context("writing the gallery")
}

const HEAD: &str = "\
<!-- Generated by `cargo xtask docs` from examples/models and what `docward design` says of them. -->
# A gallery of designs

Seven models and what [`docward design`](design.md) makes of them. *Before* are the entities and relationships of the
file; `1:N` is one to many. *After* are the collections. A box lists what the design embeds in a document: lists with
their greatest length, copies, counts and ids. An arrow is a reference, and a dashed one has copies beside it.
Figures are those of the default output; `--format html` shows every vote, cost and growth. The example of hot shard
keys (ST-24) consists of data instead of a model: see [the examples](../examples/README.md).

| model | what it shows | stories and clauses |
|---|---|---|
";

/// A temporary directory.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let made = std::env::temp_dir().join(format!("docward-gallery-{}", std::process::id()));
        fs::create_dir_all(&made).context("making a scratch folder")?;
        Ok(Self(made))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn designed(file: &str) -> Result<Value> {
    let json = docs::docward(&["design", file, "--format", "json", "--profile", "vendor"])?;
    serde_json::from_str(&json).with_context(|| format!("the design of {file} is JSON"))
}

/// The pictures of a model, as `--emit` writes them.
fn draw(name: &str, scratch: &Path, pictures: &Path) -> Result<()> {
    let made = scratch.join(name);
    let to = made.display().to_string();
    docs::docward(&["design", &path(name), "--brief", "--profile", "vendor", "--emit", &to])?;
    for side in ["before", "after"] {
        let from = made.join(format!("{side}.svg"));
        fs::copy(&from, pictures.join(format!("{name}-{side}.svg")))
            .with_context(|| format!("copying {}", from.display()))?;
    }
    Ok(())
}

fn section(model: &Model, design: &Value) -> Result<String> {
    let name = model.name;
    let file = path(name);
    let yaml = fs::read_to_string(root().join(&file)).with_context(|| file.clone())?;
    let decisions = array(design, "decisions");
    let entities = array(design, "entities").len() as u64;
    let collections: Vec<&str> =
        array(design, "collections").iter().map(|c| string(c, "name")).collect();
    let mut out = format!("\n## {name}\n\n{}\n\n", introduction(&yaml));
    out += &format!(
        "The model is [{file}](../{file}).\n\n```sh\ndocward design {file}\ndocward design {file} --brief --emit {name}/\n```\n\n"
    );
    out += &format!(
        "Before: {} and {}.\n\n![The entities of {name} and how they belong together](pictures/{name}-before.svg)\n\n",
        text::plural(entities, "entity").replace("entitys", "entities"),
        text::plural(decisions.len() as u64, "relationship")
    );
    out += &format!(
        "After: {}.\n\n![The collections of {name} and what lives in them](pictures/{name}-after.svg)\n\n",
        text::plural(collections.len() as u64, "collection")
    );
    out += "| relationship | verdict | because | figures |\n|---|---|---|---|\n";
    for decision in decisions {
        out += &format!(
            "| `{}` | **{}**{} | {} ({}) | {} |\n",
            string(decision, "relationship"),
            string(decision, "verdict"),
            becomes(decision),
            cell(string(decision, "how")),
            strings(decision, "decidedBy").join(", "),
            figures(decision).join("; ")
        );
    }
    let advised: Vec<String> = array(design, "entities")
        .iter()
        .filter(|entity| !array(entity, "patterns").is_empty())
        .map(|entity| format!("`{}` ({})", string(entity, "name"), words(entity).join("; ")))
        .collect();
    if !advised.is_empty() {
        out += &format!("\nPatterns of single entities: {}.\n", cell(&advised.join(", ")));
    }
    if let Some(pools) = design["pools"].as_object() {
        let formula = pools.get("formula").and_then(Value::as_str).unwrap_or_default();
        out += &format!("\nPools: `maxPoolSize` {}: {formula}.\n", pools["maxPoolSize"]);
    }
    Ok(out)
}

/// The comment at the beginning of a model.
fn introduction(yaml: &str) -> String {
    let lines = yaml.lines().map_while(|line| line.strip_prefix("# "));
    lines.collect::<Vec<_>>().join("\n")
}

/// The patterns of a relationship, after the verdict; the pattern for embedding itself is left out.
fn becomes(decision: &Value) -> String {
    let words = words(decision);
    words
        .iter()
        .filter(|pattern| *pattern != "embedded")
        .map(|pattern| format!("<br>{}", cell(pattern)))
        .collect()
}

fn words(of: &Value) -> Vec<String> {
    array(of, "patterns").iter().map(|pattern| string(pattern, "text").to_owned()).collect()
}

/// Dates more than this many years ahead do not influence the decision.
const FORESEEN: f64 = 100.0;

/// The basis of the decision: number and size of children, reads, and the cost of the other
/// alternative.
fn figures(decision: &Value) -> Vec<String> {
    let facts = &decision["facts"];
    let children = &facts["children"];
    let count = |key: &str| text::count(children[key].as_u64().unwrap_or(0));
    let mut out = Vec::new();
    if children["max"].as_u64() > Some(1) {
        let (p50, p99, max) = (count("p50"), count("p99"), count("max"));
        out.push(format!("{p50} / {p99} / {max} for a parent (p50 / p99 / max)"));
    }
    if let Some(bytes) = facts["projectedBytesP99"].as_u64() {
        let size = text::bytes(bytes);
        out.push(match string(decision, "verdict") {
            "embed" => format!("a parent has {size} at p99"),
            _ => format!("if embedded, a parent would have {size} at p99"),
        });
    }
    let ways = array(decision, "alternatives");
    let mut crossed = ways.iter().flat_map(|way| array(way, "crossings"));
    if let Some(full) =
        crossed.rfind(|c| c["tier"] == "16 MB" && c["years"].as_f64().is_some_and(|y| y < FORESEEN))
    {
        let when = match (full["years"].as_f64(), full["date"].as_str()) {
            (Some(0.0), _) => "already".to_owned(),
            (_, Some(date)) => format!("in {date}"),
            (Some(years), None) => format!("in {years:.1} years"),
            (None, None) => String::new(),
        };
        out.push(format!("16 MB {when}"));
    }
    out.extend(difference(ways));
    out
}

/// The operation with the largest saving of the chosen alternative over the next one: documents,
/// which are round trips or seeks, before bytes.
fn difference(ways: &[Value]) -> Option<String> {
    /// The number of bytes that cost as much as a document.
    const DOCUMENT: f64 = 4096.0;
    let chosen = ways.iter().find(|way| way["chosen"] == true)?;
    let other = ways.iter().find(|way| way["chosen"] != true)?;
    let figure = |operation: &Value, key: &str| operation[key].as_f64().unwrap_or(0.0);
    let saved = |mine: &Value, theirs: &Value| {
        let less = |key| figure(theirs, key) - figure(mine, key);
        (less("documents") * DOCUMENT + less("bytes")) * figure(mine, "perSecond")
    };
    let (mine, theirs) = array(chosen, "operations")
        .iter()
        .zip(array(other, "operations"))
        .filter(|(mine, theirs)| saved(mine, theirs) > 0.0)
        .max_by(|(a, b), (c, d)| saved(a, b).total_cmp(&saved(c, d)))?;
    let cost = |operation: &Value| {
        let documents = figure(operation, "documents");
        let shown = if documents.fract() == 0.0 {
            text::count(documents as u64)
        } else {
            format!("{documents:.1}")
        };
        let noun = if shown == "1" { "document" } else { "documents" };
        format!("{shown} {noun}, {}", text::bytes(figure(operation, "bytes") as u64))
    };
    let way = match string(other, "way") {
        "embed" => "embedded",
        "reference" => "referenced",
        _ => "as a hybrid",
    };
    let (chosen, other) = (cost(mine), cost(theirs));
    (chosen != other).then(|| format!("`{}`: {chosen} ({way}: {other})", string(mine, "name")))
}

/// The design's result for a case; an error if it differs from the page's claim.
fn held(name: &str, case: &Case, design: &Value, scratch: &Path) -> Result<String> {
    let other;
    let (design, with) = match case.instead {
        None => (design, String::new()),
        Some((from, to)) => {
            let yaml = fs::read_to_string(root().join(path(name)))?;
            if !yaml.contains(from) {
                bail!("{name}: no `{from}` to write `{to}` for ({})", case.id);
            }
            let file = scratch.join(format!("{name}-{}.yaml", case.id));
            fs::write(&file, yaml.replace(from, to))?;
            other = designed(&file.display().to_string())?;
            (&other, format!(", with `{to}`"))
        }
    };
    let of = |name: &str| {
        let all = array(design, "decisions").iter().map(|d| (string(d, "relationship"), d));
        let entities = array(design, "entities").iter().map(|e| (string(e, "name"), e));
        all.chain(entities).find(|(found, _)| *found == name).map(|(_, value)| value)
    };
    let said = match &case.expect {
        Verdict(at, verdict) => of(at)
            .filter(|decision| string(decision, "verdict") == *verdict)
            .map(|_| format!("`{at}` **{verdict}**")),
        Pattern(at, pattern) => of(at)
            .and_then(|found| {
                array(found, "patterns").iter().find(|p| string(p, "name") == *pattern)
            })
            .map(|found| format!("`{at}` {}", cell(string(found, "text")))),
        Transaction(at) => of(at)
            .filter(|decision| decision["needsTransaction"] == true)
            .map(|_| format!("`{at}` needs a transaction, and the model says so")),
        ShardKey(at, key) => array(design, "shardKeys")
            .iter()
            .find(|plan| string(plan, "collection") == *at && string(&plan["best"], "key") == *key)
            .map(|plan| format!("`{at}` `{key}`, zones {}", strings(plan, "zones").join(" and "))),
    };
    match said {
        Some(said) => Ok(format!("{said}{with}")),
        None => bail!("{name}: {} is in the gallery, and the design says something else", case.id),
    }
}

fn array<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn string<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn strings<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    array(value, key).iter().filter_map(Value::as_str).collect()
}

/// Text that does not end a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_gallery_has_every_model() {
        let listed: BTreeSet<String> = MODELS.iter().map(|m| format!("{}.yaml", m.name)).collect();
        let found: BTreeSet<String> = fs::read_dir(root().join("examples/models"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(listed, found);
    }

    #[test]
    fn every_case_has_a_test_of_its_own() {
        let tests = source::test_names().unwrap_or_default();
        for model in &MODELS {
            assert!(
                !introduction(
                    &fs::read_to_string(root().join(path(model.name))).unwrap_or_default()
                )
                .is_empty()
            );
            for case in model.cases {
                assert!(
                    tests.iter().any(|test| cites(test, case.id)),
                    "{} {}",
                    model.name,
                    case.id
                );
            }
        }
    }

    #[test]
    fn a_case_that_the_design_does_not_tell_is_refused() {
        let design = serde_json::json!({
            "decisions": [{"relationship": "order.items", "verdict": "reference", "patterns": []}],
        });
        let told = case("ST-07", "", Verdict("order.items", "embed"));
        assert!(held("shop", &told, &design, Path::new("")).is_err());
        let told = case("ST-07", "", Verdict("order.items", "reference"));
        assert!(
            held("shop", &told, &design, Path::new(""))
                .is_ok_and(|s| s == "`order.items` **reference**")
        );
    }
}
