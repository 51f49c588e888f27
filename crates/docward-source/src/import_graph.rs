//! Finds files of a project that no running file imports: modules of JavaScript, TypeScript and Python that no other file
//! imports, and modules that only such files import.
//!
//! In case of doubt, a file counts as reached. This holds for folders that are loaded as a whole, and for files that a
//! framework finds by path. It also holds for entry points, and for files that settings name.

use std::collections::{BTreeMap, BTreeSet};

use super::{FileKind, Language};

/// The imports of a file, and whether the file is an entry point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// The modules that it imports.
    takes: BTreeSet<Wanted>,
    /// Whether its top level calls functions when the program starts.
    starts: bool,
}

/// A module that another file imports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    /// At this path in the project, without its ending.
    At(String),
    /// The end of a path.
    Ending(String),
    /// Everything in this folder.
    In(String),
    /// Everything in folders of this name.
    Folder(String),
}

/// Folders that a file may load as a whole: it lists their files, and names the folders.
fn loaded_folders(text: &str) -> Vec<Wanted> {
    const LISTS: [&str; 12] = [
        "readdir",
        "glob(",
        "glob.",
        "globSync",
        "walk(",
        "listdir",
        "iter_modules",
        "importlib",
        "requireAll",
        "require-all",
        "autoload",
        "load_extension",
    ];
    if !LISTS.iter().any(|word| text.contains(word)) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for line in text.lines() {
        for quote in ['"', '\'', '`'] {
            for literal in line.split(quote).skip(1).step_by(2).filter(|literal| literal.len() < 80)
            {
                // `./routes/*.js`, `controllers/top-level/`, `cogs.music`.
                let folder = literal.split(['*', '{']).next().unwrap_or_default();
                let folder = folder.trim_matches(['/', '.', '\\']);
                let last = folder.rsplit(['/', '.']).next().unwrap_or_default();
                if !last.is_empty() && !last.contains([' ', '(']) {
                    out.push(Wanted::Folder(last.to_owned()));
                }
            }
        }
    }
    out
}

/// The file that importers of a published package receive, by its `package.json`.
pub fn entry_of_package(within: &str, text: &[u8]) -> Option<String> {
    let package: serde_json::Value = serde_json::from_slice(text).ok()?;
    let is_private = package.get("private").and_then(serde_json::Value::as_bool) == Some(true);
    let main = package.get("main")?.as_str().filter(|_| !is_private)?;
    let main = if main.contains('.') { main.to_owned() } else { format!("{main}.js") };
    Some(joined(folder(within), &main))
}

/// The imports of a file; `None` for languages whose files do not import each other. `within` is its path in the project.
pub fn module(kind: FileKind, within: &str, text: &[u8]) -> Option<Module> {
    let text = String::from_utf8_lossy(text);
    let mut module = match kind {
        FileKind::Code(Language::Python) => Some(of_python(within, &text)),
        FileKind::Code(language) if language.is_script() => Some(of_script(within, &text)),
        // Components of web pages are written in scripts.
        FileKind::OtherCode if within.ends_with(".vue") || within.ends_with(".svelte") => {
            Some(Module { starts: true, ..of_script(within, &text) })
        }
        _ => None,
    }?;
    module.takes.extend(loaded_folders(&text));
    Some(module)
}

fn folder(within: &str) -> &str {
    within.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path without the extension of its name, if the extension shows the language.
fn stem(within: &str) -> &str {
    const ENDINGS: [&str; 11] =
        [".js", ".ts", ".mjs", ".cjs", ".mts", ".cts", ".jsx", ".tsx", ".py", ".vue", ".svelte"];
    ENDINGS.iter().find_map(|ending| within.strip_suffix(ending)).unwrap_or(within)
}

/// `a/b/../c` in normalised form.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn of_script(within: &str, text: &str) -> Module {
    let mut takes = Vec::new();
    for word in ["from", "require", "import"] {
        for (at, _) in text.match_indices(word) {
            let line = text[..at].rsplit('\n').next().unwrap_or_default().trim_start();
            if line.starts_with("//") || line.starts_with('*') {
                continue;
            }
            let rest = text[at + word.len()..].trim_start_matches([' ', '(', '\n', '\t', '\r']);
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) else {
                continue;
            };
            let Some((path, behind)) = rest[1..].split_once(quote) else { continue };
            if path.len() > 300 || path.contains(['\n', ' ']) {
                continue;
            }
            let computed = path
                .find("${")
                .or_else(|| behind.trim_start().starts_with('+').then_some(path.len()));
            let from = folder(within);
            let is_relative = path.starts_with('.');
            if computed.is_some() && !is_relative {
                // A word of a text.
            } else if let Some(end) = computed {
                let upto = path[..end].rsplit_once('/').map_or("", |(folder, _)| folder);
                takes.push(Wanted::In(joined(from, upto)));
            } else if is_relative {
                takes.push(Wanted::At(stem(&joined(from, path)).to_owned()));
            } else if path.contains('/') {
                let path = stem(path.trim_start_matches(['@', '~', '#', '$', '/']));
                takes.push(Wanted::Ending(path.to_owned()));
                if let Some((_, rest)) = path.split_once('/') {
                    takes.push(Wanted::Ending(rest.to_owned()));
                }
            }
        }
    }
    let exports = ["module.exports", "exports.", "export "].iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            at == 0 || text.as_bytes().get(at - 1).is_some_and(|b| matches!(b, b'\n' | b';' | b' '))
        })
    });
    Module { takes: takes.into_iter().collect(), starts: !exports }
}

fn of_python(within: &str, text: &str) -> Module {
    let mut takes = Vec::new();
    let mut starts = false;
    let mut rest = text;
    while let Some(line) = rest.split('\n').next().filter(|_| !rest.is_empty()) {
        let after = rest.get(line.len() + 1..).unwrap_or_default();
        let code = line.trim_start();
        if let Some(import) = code.strip_prefix("from ") {
            let Some((path, names)) = import.split_once(" import") else {
                rest = after;
                continue;
            };
            // Names in parentheses may continue over several lines.
            let names = match names.trim_start().strip_prefix('(') {
                Some(_) => {
                    let at = text.len() - rest.len() + line.find('(').unwrap_or_default();
                    text[at..].split(')').next().unwrap_or_default()
                }
                None => names,
            };
            let path = path.trim();
            let dots = path.chars().take_while(|c| *c == '.').count();
            let parts = path[dots..].replace('.', "/");
            let mut wanted = |path: String| {
                takes.push(match dots {
                    0 => Wanted::Ending(path),
                    dots => Wanted::At(joined(
                        folder(within),
                        &format!("{}{path}", "../".repeat(dots - 1)),
                    )),
                });
            };
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            for name in names.split(|c: char| !is_word(c)).filter(|name| !name.is_empty()) {
                wanted(if parts.is_empty() { name.to_owned() } else { format!("{parts}/{name}") });
            }
            if !parts.is_empty() {
                wanted(parts);
            }
        } else if let Some(import) = code.strip_prefix("import ") {
            for path in import.split(',') {
                let path = path.split_whitespace().next().unwrap_or_default();
                takes.push(Wanted::Ending(path.replace('.', "/")));
            }
        } else if code.contains("__main__") || code.contains("FastAPI(") || code.contains("Flask(")
        {
            starts = true;
        } else if line.starts_with(|c: char| c.is_ascii_alphabetic()) {
            // A call without indentation runs when the file is loaded.
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
            let behind = line.trim_start_matches(is_name);
            starts |=
                behind.starts_with('(') || line.starts_with("while ") || line.starts_with("with ");
        }
        rest = after;
    }
    Module { takes: takes.into_iter().collect(), starts }
}

/// Files with those that import them.
pub fn importers(files: &BTreeMap<String, Module>) -> BTreeMap<String, BTreeSet<String>> {
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, imported) in edges(files) {
        for other in imported {
            out.entry(other.to_owned()).or_default().insert(file.to_owned());
        }
    }
    out
}

/// Files with those that they import.
fn edges(files: &BTreeMap<String, Module>) -> BTreeMap<&str, BTreeSet<&str>> {
    let by_stem: BTreeMap<&str, &str> =
        files.keys().map(|file| (stem(file), file.as_str())).collect();
    // Files by the last part of their path, to find imports by the end of the path.
    let mut by_last: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files.keys() {
        let path = stem(file);
        by_last.entry(path.rsplit('/').next().unwrap_or(path)).or_default().push(file);
        if let Some((of, "index" | "__init__")) = path.rsplit_once('/') {
            by_last.entry(of.rsplit('/').next().unwrap_or(of)).or_default().push(file);
        }
    }
    let at = |path: &str| {
        ["", "/index", "/__init__"]
            .iter()
            .filter_map(|rest| by_stem.get(format!("{path}{rest}").as_str()).copied())
            .collect::<Vec<_>>()
    };
    let ending = |path: &str| -> Vec<&str> {
        let last = path.rsplit('/').next().unwrap_or(path);
        let ends = |file: &&&str| {
            let own = stem(file);
            ["", "/index", "/__init__"].iter().any(|rest| {
                own.strip_suffix(format!("{path}{rest}").as_str())
                    .is_some_and(|before| before.is_empty() || before.ends_with('/'))
            })
        };
        by_last.get(last).into_iter().flatten().filter(ends).copied().collect()
    };
    let mut by_folder: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files.keys() {
        for part in folder(file).split('/').collect::<BTreeSet<_>>() {
            by_folder.entry(part).or_default().push(file);
        }
    }
    let below = |folder: &str| -> Vec<&str> {
        let from = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let inside = files.range(from.clone()..).map(|(file, _)| file.as_str());
        inside.take_while(|file| file.starts_with(&from)).collect()
    };
    let mut taken: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, module) in files {
        let found = module.takes.iter().flat_map(|wanted| match wanted {
            Wanted::At(path) => at(path),
            Wanted::Ending(path) => ending(path),
            Wanted::In(folder) => below(folder),
            Wanted::Folder(name) => by_folder.get(name.as_str()).cloned().unwrap_or_default(),
        });
        taken.entry(file).or_default().extend(found.filter(|other| other != file));
    }
    taken
}

/// Returns the files that no entry point reaches. `named` are words of settings, which may start a file by its name.
pub fn unreached(
    files: &BTreeMap<String, Module>,
    named: impl Fn(&str) -> bool,
) -> BTreeSet<String> {
    let taken = edges(files);
    let mut by_others: BTreeSet<&str> = BTreeSet::new();
    taken.values().for_each(|of| by_others.extend(of));
    let mut folders: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for file in files.keys() {
        let (all, imported) = folders.entry(folder(file)).or_default();
        *all += 1;
        *imported += usize::from(by_others.contains(file.as_str()));
    }
    // If other files import most files of a folder by name, nothing loads the folder as a whole.
    let is_by_name = |file: &str| {
        folders.get(folder(file)).is_some_and(|(all, imported)| {
            let others = all - 1;
            // Models are imported one by one, or all of them. This also holds for a folder called `models_old`.
            let last = folder(file).rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
            let of_models = ["model", "schema"].iter().any(|word| last.starts_with(word));
            let of_models = of_models && *imported > 0;
            of_models || *imported >= 3 || *imported >= 2 && imported * 2 >= others
        })
    };
    let is_forgotten = |file: &str, module: &Module| {
        !module.starts
            && !is_found_by_place(file)
            && is_by_name(file)
            && !named(stem(file).rsplit('/').next().unwrap_or(file))
    };
    // A file that no other file imports is either an entry point or unused.
    let first = files.iter().filter(|(file, _)| !by_others.contains(file.as_str()));
    let (forgotten, begin): (Vec<_>, Vec<_>) =
        first.partition(|(file, module)| is_forgotten(file, module));
    if forgotten.is_empty() {
        return BTreeSet::new();
    }
    let mut ways: Vec<&str> = begin.iter().map(|(file, _)| file.as_str()).collect();
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    while let Some(file) = ways.pop() {
        if reached.insert(file) {
            ways.extend(taken.get(file).into_iter().flatten());
        }
    }
    // A group of files that import only each other may be started by something outside of the project.
    let mut below: Vec<&str> = forgotten.iter().map(|(file, _)| file.as_str()).collect();
    let mut out = BTreeSet::new();
    while let Some(file) = below.pop() {
        if !reached.contains(file) && out.insert(file.to_owned()) {
            below.extend(taken.get(file).into_iter().flatten());
        }
    }
    // If most of a project seems unused, its entry points were not recognised.
    if out.len() * 2 > files.len() { BTreeSet::new() } else { out }
}

/// Whether a framework or a tool finds a file by its place or name.
fn is_found_by_place(file: &str) -> bool {
    const NAMES: [&str; 30] = [
        "index",
        "app.module",
        "main",
        "server",
        "app",
        "www",
        "worker",
        "cli",
        "bot",
        "start",
        "run",
        "handler",
        "lambda",
        "function",
        "setup",
        "manage",
        "wsgi",
        "asgi",
        "settings",
        "urls",
        "admin",
        "apps",
        "models",
        "views",
        "tasks",
        "signals",
        "celery",
        "conftest",
        "__init__",
        "gulpfile",
    ];
    let path = stem(file);
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    NAMES.contains(&name.as_str())
        || name.ends_with(".config")
        || name
            .split(['.', '-', '_'])
            .any(|word| matches!(word, "worker" | "job" | "cron" | "seed" | "cli"))
        || is_routed(file)
}

/// Whether a framework finds the exports of a file by the place of the file.
pub(super) fn is_routed(file: &str) -> bool {
    const FOLDERS: [&str; 22] = [
        "pages",
        "app",
        "api",
        "functions",
        "netlify",
        "lambdas",
        "plugins",
        "commands",
        "events",
        "cogs",
        "migrations",
        "scripts",
        "bin",
        "jobs",
        "cron",
        "crons",
        "listeners",
        "subscribers",
        "public",
        "extensions",
        "tasks",
        "tools",
    ];
    let path = stem(file);
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = name.to_ascii_lowercase();
    // Folders named `app` and `api` higher in the path hold whole programs.
    let last = folders.rsplit('/').next().unwrap_or(folders).to_ascii_lowercase();
    matches!(name.as_str(), "route" | "page" | "layout" | "middleware")
        || name.starts_with(['+', '['])
        || FOLDERS.contains(&last.as_str())
        || folders.split('/').any(|part| part == "pages")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forgotten(files: &[(&str, &str)]) -> Vec<String> {
        let modules = files.iter().filter_map(|(file, text)| {
            Some((file.to_string(), module(FileKind::of(file)?, file, text.as_bytes())?))
        });
        let settings: Vec<&str> = files
            .iter()
            .filter(|(file, _)| file.ends_with(".json"))
            .map(|(_, text)| *text)
            .collect();
        let named = |word: &str| settings.iter().any(|text| text.contains(word));
        unreached(&modules.collect(), named).into_iter().collect()
    }

    const ROUTER: &str = "const c = require('../controllers/carts');\nmodule.exports = router;";

    #[test]
    fn routers_that_nobody_mounts_take_their_controllers_with_them() {
        let server = "require('./routes/users');\nrequire('./routes/orders');\napp.listen(1);";
        let mut files = vec![
            ("server.js", server),
            ("routes/users.js", "module.exports = require('../controllers/users');"),
            ("routes/orders.js", "module.exports = require('../controllers/orders');"),
            ("routes/carts.js", ROUTER),
            ("controllers/users.js", "exports.a = 1;"),
            ("controllers/orders.js", "exports.a = require('../models/order');"),
            (
                "controllers/carts.js",
                "exports.a = [require('../models/cart'), require('../models/order')];",
            ),
            ("models/order.js", "module.exports = 1;"),
            ("models/cart.js", "module.exports = 1;"),
        ];
        let dead = ["controllers/carts.js", "models/cart.js", "routes/carts.js"];
        assert_eq!(forgotten(&files), dead);
        // A setting that starts the file, and a folder that is loaded as a whole.
        files.push(("package.json", "{\"scripts\": {\"carts\": \"node routes/carts\"}}"));
        assert!(forgotten(&files).is_empty());
        files.pop();
        files[0].1 = "fs.readdirSync('routes').forEach(name => require(`./routes/${name}`));";
        assert!(forgotten(&files).is_empty());
        files[0].1 =
            "fs.readdirSync('routes').forEach(name => require(path.join(__dirname, name)));";
        assert!(forgotten(&files).is_empty());
    }

    #[test]
    fn models_that_nobody_takes_in_beside_one_that_somebody_does() {
        let mut files = vec![
            ("backend/middleware/auth.js", "const U = require('../models/User');\nexports.a = U;"),
            ("backend/models/User.js", "module.exports = 1;"),
            ("backend/models/Order.js", "module.exports = 1;"),
            ("mobile/cart.tsx", "export default function Cart() {}"),
        ];
        assert_eq!(forgotten(&files), ["backend/models/Order.js"]);
        files[0].1 = "exports.a = 1;";
        assert!(forgotten(&files).is_empty(), "somebody may load all of them");
        // Other files still import moved files at their old place.
        let moved = [
            (
                "src/app.js",
                "const A = require('./models_old/admin');\nrequire('./orders');\nA.x();",
            ),
            ("src/orders.js", "const O = require('./models/order');\nexports.o = O;"),
            ("src/models_old/admin.js", "module.exports = 1;"),
            ("src/models_old/order.js", "module.exports = 1;"),
        ];
        assert_eq!(forgotten(&moved), ["src/models_old/order.js"]);
    }

    #[test]
    fn modules_are_found_by_alias_and_by_folder() {
        let files = [
            (
                "src/main.ts",
                "import { A } from '@/users';\nimport B from 'src/orders/orders.service';\nimport '#lib/mail.js';",
            ),
            ("src/users/index.ts", "export * from './user.service';"),
            ("src/users/user.service.ts", "export class A {}"),
            ("src/users/old.service.ts", "export class C {}"),
            ("src/users/user.model.ts", "export const U = 1;"),
            ("src/users/user.dto.ts", "export const D = 1; import './user.model';"),
            (
                "src/orders/orders.service.ts",
                "import { D } from '../users/user.dto';\nexport class B {}",
            ),
            ("src/lib/mail.ts", "export const m = 1;"),
        ];
        assert_eq!(forgotten(&files), ["src/users/old.service.ts"]);
    }

    #[test]
    fn modules_of_python_that_nobody_imports() {
        let files = [
            (
                "app/main.py",
                "from fastapi import FastAPI\nfrom app.api.v1 import (\n    users,\n    orders,\n)\napp = FastAPI()\n",
            ),
            ("app/api/v1/users.py", "from ...services.user import UserService\n"),
            (
                "app/api/v1/orders.py",
                "from app.services import order as o\nimport app.services.mail\n",
            ),
            ("app/services/user.py", "class UserService:\n    pass\n"),
            ("app/services/order.py", "def f():\n    pass\n"),
            ("app/services/mail.py", "def f():\n    pass\n"),
            ("app/services/shopping.py", "class Shopping:\n    pass\n"),
            ("app/services/words.py", "TEXT = '''\nAPI模块\n'''\nfrom . import user\n"),
            ("app/services/fill.py", "def f():\n    pass\n\nf()\n"),
        ];
        assert_eq!(forgotten(&files), ["app/services/shopping.py", "app/services/words.py"]);
    }

    #[test]
    fn what_frameworks_find_is_reached() {
        let files = [
            ("a.js", "require('./b'); require('./c'); require('./d')"),
            ("b.js", "export const a = 1"),
            ("c.js", "export const a = 1"),
            ("d.js", "export const a = 1"),
            ("pages/api/x.js", "export default 1"),
            ("commands/x.js", "export default 1"),
            ("worker.js", "export default 1"),
        ];
        assert!(forgotten(&files).is_empty());
    }
}
