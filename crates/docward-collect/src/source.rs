//! Source code and settings: finds files, scans and reads them, in parallel.
//!
//! Most files of a project are not related to MongoDB; those cost a read and a search for names of
//! models and functions. The others are read three times: for declarations that other files need
//! (constants, models), for the effects of their functions on other files, and for their facts.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hasher as _},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use aho_corasick::AhoCorasick;
use docward_model::{ClientUri, Code, Problem, code::Mentioned};
use docward_source::{self as source, Allowed, FileKind, Known, Scanned};
use ignore::WalkBuilder;

/// Longer files are data, not code.
const MAX_FILE: u64 = 4 << 20;
/// Directories that contain third-party code or generated code.
const SKIPPED: [&str; 17] = [
    "node_modules",
    "bower_components",
    "vendor",
    "dist",
    "build",
    "target",
    ".git",
    ".venv",
    "venv",
    "__pycache__",
    "site-packages",
    ".next",
    ".nuxt",
    "third_party",
    "coverage",
    ".tox",
    // Copies that editors keep of every file.
    ".history",
];

/// The files to read.
#[derive(Clone, Debug, Default)]
pub struct SourceRequest {
    /// Files and directories.
    pub paths: Vec<PathBuf>,
    /// True to include tests.
    pub tests: bool,
    /// Number of threads; 0 for as many as there are cores.
    pub threads: usize,
}

/// The facts from source files.
#[derive(Debug, Default)]
pub struct SourceSeen {
    /// Clients and connection strings.
    pub clients: Vec<ClientUri>,
    /// Everything else.
    pub code: Code,
    /// Suppression comments, by file.
    pub allowed: Vec<(String, Allowed)>,
    /// Files that could not be read.
    pub problems: Vec<Problem>,
    /// Files that are part of tests and were left out.
    pub tests_left_out: u64,
    /// The number of bytes scanned.
    pub bytes: u64,
}

/// A file to read.
struct File {
    path: PathBuf,
    /// Its name in reports.
    name: String,
    kind: FileKind,
}

/// Reads all files. `stop` is called between files; the result contains the files read until it
/// returns true.
pub fn read_source(request: &SourceRequest, stop: &(dyn Fn() -> bool + Sync)) -> SourceSeen {
    let mut seen = SourceSeen::default();
    seen.code.roots = roots(&request.paths);
    let mut files = list(request, &mut seen);
    // Two paths may refer to one file in different spellings.
    let mut known = BTreeSet::new();
    files.retain(|file| known.insert(seen.code.within_project(&file.name)));
    seen.code.files = files.len() as u64;
    seen.code.paths = known;
    let threads = match request.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    // First pass: which files are relevant, and which names do they declare?
    let first = each(&files, threads, stop, |_, file| look(file));
    let mut known = Known::default();
    let mut mattering = vec![false; files.len()];
    let mut same: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
    for (at, looked) in first.into_iter().enumerate() {
        match looked {
            Some(Ok(looked)) => {
                seen.bytes += looked.bytes;
                mattering[at] = looked.matters;
                if let Some(content) = looked.content {
                    same.entry((looked.bytes, content)).or_default().push(at);
                }
                known.absorb(looked.known);
            }
            Some(Err(message)) => {
                seen.problems.push(Problem { source: files[at].name.clone(), message });
            }
            None => {}
        }
    }
    // If copies of a file exist, for instance in a backup directory, only one of them is read.
    let mut copies = BTreeSet::new();
    for mut equal in same.into_values().filter(|equal| equal.len() > 1) {
        equal.sort_by_key(|at| {
            let within = seen.code.within_project(&files[*at].name);
            (source::stands_aside(&within), *at)
        });
        copies.extend(equal.into_iter().skip(1));
    }
    // Files that never contain `mongo` matter if they use a model, or call a function, of another file.
    let text_if_used = |at: usize, file: &File, names: Option<&AhoCorasick>| {
        let may_use = mattering[at] || names.is_some() && matches!(file.kind, FileKind::Code(_));
        if !may_use || copies.contains(&at) {
            return None;
        }
        let text = read(file).ok()?;
        let uses = mattering[at] || names.is_some_and(|names| names.is_match(&text));
        uses.then(|| String::from_utf8_lossy(&text).into_owned())
    };
    // Second pass: what do functions do for their callers?
    let models = name_search(known.model_names());
    let functions = each(&files, threads, stop, |at, file| {
        let text = text_if_used(at, file, models.as_ref())?;
        Some(source::functions(&file.name, &text, file.kind, &known))
    });
    for functions in functions.into_iter().flatten().flatten() {
        known.absorb(functions);
    }
    // Third pass: the facts.
    let names = name_search(known.model_names().chain(known.function_names()));
    let third = each(&files, threads, stop, |at, file| {
        let text = text_if_used(at, file, names.as_ref())?;
        let within = seen.code.within_project(&file.name);
        let read_models = docward_code::declared_models;
        Some(source::scan(&file.name, &within, &text, file.kind, &known, read_models))
    });
    for (at, scanned) in third.into_iter().enumerate() {
        if let Some(Some(scanned)) = scanned {
            take(&mut seen, &files[at].name, scanned);
        }
    }
    // If only a part of a project is read, a name may be used in the unread part.
    let is_whole = seen.code.roots.iter().all(|(_, within)| within.is_empty());
    let sought = source::Sought::of(&seen.code).filter(|_| is_whole);
    if let Some(sought) = sought {
        let (mentions, imported_by) = mentions(&files, &sought, &seen.code, threads, stop);
        if !stop() {
            seen.code.mentions = Some(mentions);
            seen.code.imported_by = imported_by;
        }
    }
    // Scripts that users start by hand serve no requests, so pool rules do not apply to them.
    let is_of_script = |client: &ClientUri| {
        client.site.as_ref().is_some_and(|site| seen.code.is_hand_run(&site.location.file))
    };
    seen.clients.retain(|client| !is_of_script(client));
    seen
}

/// The occurrences of names in all files, and the files that no other file imports.
fn mentions(
    files: &[File],
    sought: &source::Sought,
    code: &Code,
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> (Mentioned, BTreeMap<String, BTreeSet<String>>) {
    let looked = each(files, threads, stop, |_, file| {
        if file.kind == FileKind::Schema {
            return None;
        }
        let text = read(file).ok().filter(|text| !source::is_written_by_tools(text, file.kind))?;
        let within = code.within_project(&file.name);
        let module = source::module(file.kind, &within, &text);
        Some((sought.look(&file.name, &within, file.kind, &text), module))
    });
    let mut all = Mentioned::default();
    let mut modules = BTreeMap::new();
    let mut shown = BTreeMap::new();
    for (file, looked) in files.iter().zip(looked) {
        let Some(Some((mentions, module))) = looked else { continue };
        all.absorb(mentions);
        if let Some(module) = module {
            let within = code.within_project(&file.name);
            shown.insert(within.clone(), file.name.clone());
            modules.insert(within, module);
        }
    }
    // Settings refer to the files they start by name.
    let settings = || {
        let is_setting =
            |file: &&File| file.kind == FileKind::Settings || file.name.ends_with("setup.py");
        let settings = files.iter().filter(is_setting);
        settings
            .filter(|file| !file.name.ends_with("tsconfig.json"))
            .filter_map(|file| read(file).ok())
    };
    let settings: std::cell::LazyCell<Vec<Vec<u8>>, _> =
        std::cell::LazyCell::new(|| settings().collect());
    let named = |name: &str| {
        settings.iter().any(|text| memchr::memmem::find(text, name.as_bytes()).is_some())
    };
    // Users of a package call the exports of its first file.
    for package in files.iter().filter(|file| file.path.ends_with("package.json")) {
        let within = code.within_project(&package.name);
        let entry = read(package).ok().and_then(|text| source::entry_of_package(&within, &text));
        let file = entry.and_then(|entry| shown.get(&entry));
        for method in code.methods.iter().filter(|method| Some(&method.file) == file) {
            all.methods.entry(method.name.clone()).or_default().insert(None);
        }
    }
    let unreached = source::unreached(&modules, named);
    all.unreached = unreached.into_iter().filter_map(|file| shown.get(&file).cloned()).collect();
    let as_shown = |file: String| shown.get(&file).cloned();
    let imported_by = source::importers(&modules).into_iter().filter_map(|(file, by)| {
        Some((as_shown(file)?, by.into_iter().filter_map(as_shown).collect()))
    });
    (all, imported_by.collect())
}

struct Looked {
    matters: bool,
    bytes: u64,
    /// The hash of its text, for source code that may have copies. A connection string is reported
    /// wherever it occurs.
    content: Option<u64>,
    known: Known,
}

fn look(file: &File) -> Result<Looked, String> {
    let text = read(file)?;
    let matters = source::may_matter(&text) || file.name.ends_with(".mongodb");
    let known = match matters {
        true => source::declarations(&file.name, &String::from_utf8_lossy(&text), file.kind),
        false => Known::default(),
    };
    let may_be_copy = matters
        && matches!(file.kind, FileKind::Code(_))
        && text.len() >= COPIED
        && memchr::memmem::find(&text, b"mongodb://").is_none()
        && memchr::memmem::find(&text, b"mongodb+srv://").is_none();
    let content = may_be_copy.then(|| {
        let mut hasher = DefaultHasher::new();
        hasher.write(&text);
        hasher.finish()
    });
    Ok(Looked { matters, bytes: text.len() as u64, content, known })
}

/// The minimum size for a file to count as a copy: small files are often equal by chance.
const COPIED: usize = 512;

fn read(file: &File) -> Result<Vec<u8>, String> {
    match std::fs::metadata(&file.path) {
        Ok(metadata) if metadata.len() > MAX_FILE => return Ok(Vec::new()),
        Ok(_) => {}
        Err(error) => return Err(format!("cannot be read: {error}")),
    }
    std::fs::read(&file.path).map_err(|error| format!("cannot be read: {error}"))
}

/// A search for names, as far as they can be distinguished from ordinary words.
fn name_search<'k>(names: impl Iterator<Item = &'k str>) -> Option<AhoCorasick> {
    let names: Vec<&str> = names.filter(|name| name.len() > 2).collect();
    if names.is_empty() {
        return None;
    }
    AhoCorasick::new(names).ok()
}

/// Applies a function to every file, in parallel; the results are in file order.
fn each<T: Send>(
    files: &[File],
    threads: usize,
    stop: &(dyn Fn() -> bool + Sync),
    work: impl Fn(usize, &File) -> T + Sync,
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let out: Mutex<Vec<Option<T>>> = Mutex::new(files.iter().map(|_| None).collect());
    let run = || {
        // Results are sent in batches, so that threads rarely wait for each other.
        let mut kept = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at).filter(|_| !stop()) else { break };
            kept.push((at, work(at, file)));
            if kept.len() >= 64 {
                put(&out, &mut kept);
            }
        }
        put(&out, &mut kept);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.max(1) {
            scope.spawn(run);
        }
        run();
    });
    out.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn put<T>(out: &Mutex<Vec<Option<T>>>, kept: &mut Vec<(usize, T)>) {
    let mut out = out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (at, value) in kept.drain(..) {
        out[at] = Some(value);
    }
}

fn take(seen: &mut SourceSeen, file: &str, scanned: Scanned) {
    let Scanned { clients, code, allowed, problems, .. } = scanned;
    seen.clients.extend(clients);
    seen.allowed.extend(allowed.into_iter().map(|allowed| (file.to_owned(), allowed)));
    for (line, message) in problems {
        seen.problems.push(Problem { source: format!("{file}:{line}"), message });
    }
    seen.code.absorb(code);
}

/// The prefix of each path in reports, and within the project. A project begins where git or the
/// settings say, or otherwise at the common parent of all paths.
fn roots(paths: &[PathBuf]) -> Vec<(String, String)> {
    let whole: Vec<(String, PathBuf)> =
        paths.iter().filter_map(|path| Some((shown(path), path.canonicalize().ok()?))).collect();
    let Some((_, first)) = whole.first() else { return Vec::new() };
    let mut common = first.as_path();
    while !whole.iter().all(|(_, path)| path.starts_with(common)) {
        let Some(above) = common.parent() else { return Vec::new() };
        common = above;
    }
    if common.is_file() {
        common = common.parent().unwrap_or(common);
    }
    let marked = |mark: &str| common.ancestors().find(|folder| folder.join(mark).exists());
    let project = marked(".git").or_else(|| marked("docward.toml")).unwrap_or(common);
    let within = |path: &Path| {
        path.strip_prefix(project).unwrap_or(path).display().to_string().replace('\\', "/")
    };
    whole.iter().map(|(shown, path)| (shown.clone(), within(path))).collect()
}

/// A path as reports show it.
fn shown(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    path.display().to_string().replace('\\', "/")
}

/// The files to read, sorted by path.
fn list(request: &SourceRequest, seen: &mut SourceSeen) -> Vec<File> {
    let mut files = Vec::new();
    for path in &request.paths {
        if !path.exists() {
            let message = crate::missing(path);
            seen.problems.push(Problem { source: path.display().to_string(), message });
            continue;
        }
        // Files that git tracks are published, regardless of an ignore file: a `.env` may have been
        // committed before it was ignored. Without git, a `.env` in the tree counts as tracked.
        let whole = path.canonicalize().ok().filter(|whole| whole.is_dir());
        let tracked = whole.as_ref().filter(|whole| is_in_git(whole));
        let tracked = tracked.and_then(|whole| tracked_though_ignored(whole));
        let is_git = tracked.is_some();
        let tracked = tracked.unwrap_or_default();
        let walks_again = !tracked.is_empty() || (whole.is_some() && !is_git);
        let again = walks_again.then(|| walk(path, false)).into_iter().flatten();
        let again = again.filter(|entry| {
            entry.as_ref().is_ok_and(|entry| match is_git {
                true => entry.path().canonicalize().is_ok_and(|whole| tracked.contains(&whole)),
                false => entry.file_name().to_string_lossy().starts_with(".env"),
            })
        });
        let mut settings = BTreeSet::new();
        for entry in walk(path, true).chain(again) {
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    // Both walks may find the same file.
                    let is_setting = entry.file_name().to_string_lossy().starts_with(".env");
                    if is_setting && !settings.insert(entry.path().to_owned()) {
                        continue;
                    }
                    add(entry.into_path(), path, request, &mut files, seen);
                }
                Ok(_) => {}
                Err(error) => {
                    let source = path.display().to_string();
                    seen.problems.push(Problem { source, message: error.to_string() });
                }
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The files below a path, filtered by ignore files; `by_git` includes those of git.
fn walk(path: &Path, by_git: bool) -> ignore::Walk {
    WalkBuilder::new(path)
        // `.env` and `.github` contain settings, so hidden files are included; files to skip are in
        // ignore files.
        .hidden(false)
        .require_git(false)
        .git_ignore(by_git)
        .git_global(by_git)
        .git_exclude(by_git)
        .add_custom_ignore_filename(".docwardignore")
        .filter_entry(|entry| {
            entry.depth() == 0
                || !entry.file_type().is_some_and(|kind| kind.is_dir())
                || !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped)
        })
        .build()
}

/// Returns whether a directory belongs to a git working copy.
fn is_in_git(folder: &Path) -> bool {
    folder.ancestors().any(|above| above.join(".git").exists())
}

/// Files that git tracks although an ignore file matches them, as absolute paths. `None` if git
/// does not answer.
fn tracked_though_ignored(folder: &Path) -> Option<BTreeSet<PathBuf>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"])
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    let listed = String::from_utf8_lossy(&output.stdout);
    let names = listed.split('\0').filter(|name| !name.is_empty());
    Some(names.filter_map(|name| folder.join(name).canonicalize().ok()).collect())
}

fn add(
    path: PathBuf,
    root: &Path,
    request: &SourceRequest,
    files: &mut Vec<File>,
    seen: &mut SourceSeen,
) {
    let name = shown(&path);
    let Some(kind) = FileKind::of(&name) else { return };
    // A file that the user named is always read, whatever its name; directories above the named one
    // do not count.
    let below = path.strip_prefix(root).unwrap_or(&path).display().to_string().replace('\\', "/");
    if !request.tests && !below.is_empty() && source::is_test(&below) {
        seen.tests_left_out += 1;
        return;
    }
    files.push(File { path, name, kind });
}
