//! Applies the proposals of an audit to a copy of each data set and audits again. Prints a table by rule.
//!
//!     cargo xtask converge [--write FILE] [FOLDER...]
//!
//! Each subfolder of a folder is a data set. The example shop is always one. `--write` replaces the
//! table in a page.
#![expect(clippy::print_stdout, reason = "it is there to print a table")]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use docward_testkit::{Launch, Outcome, Row, Trace, converge, repository};

const BEGIN: &str = "<!-- measured: begin -->\n";
const END: &str = "<!-- measured: end -->";

fn main() {
    let docward = std::env::var_os("DOCWARD_BIN").map(PathBuf::from);
    let docward = docward.unwrap_or_else(|| repository().join("target/debug/docward"));
    let mut arguments = std::env::args().skip(1);
    let (mut page, mut rows, mut sets) = (None, BTreeMap::<String, Row>::new(), 1);
    let shop = repository().join("examples/shop");
    let config = shop.join("docward.toml").display().to_string();
    add(&mut rows, &run(&docward, &shop, &["--config", &config]));
    while let Some(argument) = arguments.next() {
        if argument == "--write" {
            page = arguments.next();
            continue;
        }
        for folder in subfolders(Path::new(&argument)) {
            sets += 1;
            add(&mut rows, &run(&docward, &folder, &[]));
        }
    }
    let table = table(&rows, sets);
    print!("{table}");
    if let Some(page) = page {
        let text = fs::read_to_string(&page).expect("the page can be read");
        let (head, rest) = text.split_once(BEGIN).expect("the page has the first mark");
        let (_, tail) = rest.split_once(END).expect("the page has the second mark");
        fs::write(&page, format!("{head}{BEGIN}{table}{END}{tail}")).expect("the page is writable");
    }
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    all.retain(|path| path.is_dir());
    all.sort();
    all
}

fn run(docward: &Path, folder: &Path, options: &[&str]) -> Trace {
    let name = folder.file_name().expect("a folder has a name").to_string_lossy();
    println!("{name}");
    let servers = Launch::standalone().start();
    for refused in servers.load_data_set(folder) {
        println!("  not loaded  {}: {}", refused.namespace, refused.why);
    }
    let trace = converge(&servers, docward, options);
    for proposal in &trace.proposals {
        let (rule, place) = (&proposal.rule, &proposal.place);
        match &proposal.outcome {
            Outcome::Left => println!("  left    {rule} {place}: {}", proposal.command),
            Outcome::Failed(why) => {
                println!("  failed  {rule} {place}: {why}: {}", proposal.command);
            }
            Outcome::Gone | Outcome::NotRun => {}
        }
    }
    for (rule, place, what) in &trace.new {
        println!("  new     {rule} {place}: {what}");
    }
    for (rule, place, value) in &trace.lost {
        println!("  lost    {rule} {place}: {value}");
    }
    trace
}

fn add(rows: &mut BTreeMap<String, Row>, trace: &Trace) {
    for (rule, figures) in trace.rows() {
        *rows.entry(rule).or_default() += figures;
    }
}

fn table(rows: &BTreeMap<String, Row>, sets: usize) -> String {
    let mut out = format!("\n{sets} data sets.\n\n");
    out.push_str("| rule | proposed | applied | gone | left | failed | new | values lost |\n");
    out.push_str("|---|---:|---:|---:|---:|---:|---:|---:|\n");
    let mut total = Row::default();
    let mut line = |name: &str, row: &Row| {
        let Row { proposed, applied, gone, left, failed, new, lost } = row;
        let _ = writeln!(
            out,
            "| {name} | {proposed} | {applied} | {gone} | {left} | {failed} | {new} | {lost} |"
        );
    };
    for (rule, row) in rows {
        line(rule, row);
        total += *row;
    }
    line("all", &total);
    out.push('\n');
    out
}
