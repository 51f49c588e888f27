//! Finds the files in a directory or a zip and determines their collections.
//!
//! [`arrange`] does no IO: names in, reading list out. A directory is a database of a dump if it
//! has one of these marks of `mongodump`:
//!
//! - metadata
//! - `system.indexes`
//! - a prelude or an oplog next to it
//! - a parent named `dump`
//!
//! Its files then have real names. Any other data file is *loose*. Its collection is named after
//! the file, and its database after its directory, or `test` at the top. Such names do not count as
//! chosen by a user.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use docward_model::Namespace;

use crate::{
    detect,
    names::{self, Claim, FileName, LOOSE_DATABASE, is_foreign_directory},
    stream::Stream,
    trouble::{Trouble, Troubles, file_name},
};

/// The maximum depth of directories.
const MAX_DEPTH: usize = 32;

/// The maximum number of loose files. Each is a collection and needs additional memory.
const MAX_LOOSE: usize = 10_000;

/// The origin of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    File(PathBuf),
    /// The member of a zip, by number.
    Member(usize),
    Stdin,
}

/// A file that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The directories that contain it, below the named one.
    pub(crate) directories: Vec<String>,
    /// Its name.
    pub(crate) name: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// The origin of its bytes.
    pub(crate) origin: Origin,
    /// Its name in problem messages.
    pub(crate) display: String,
}

/// The content of a file, which determines how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Prelude,
    Metadata,
    SystemIndexes,
    /// Documents or an archive; the content decides.
    Documents,
    Zip,
    /// The oplog of a dump: reported, but not read.
    Oplog,
}

/// A collection, and whether the data itself contains its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) namespace: Namespace,
    pub(crate) real: bool,
}

/// One entry of the reading list.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) what: What,
    pub(crate) origin: Origin,
    pub(crate) name: FileName,
    pub(crate) display: String,
    pub(crate) bytes: u64,
    pub(crate) place: Place,
    /// True if the user named this file.
    pub(crate) named: bool,
}

/// The directory (or zip) that the user named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Root {
    /// Its name.
    pub(crate) name: String,
    /// The name of its parent directory.
    pub(crate) parent: String,
}

impl Root {
    /// The names of a path, with `.` and `..` resolved.
    pub(crate) fn of(path: &Path) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { name: last_name(&path), parent: path.parent().map(last_name).unwrap_or_default() }
    }
}

fn last_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The marks of a dump in one directory.
#[derive(Default)]
struct Marks {
    bson: bool,
    metadata: bool,
    system_indexes: bool,
    prelude: bool,
    oplog: bool,
}

/// Converts the files found to a reading list, in path order. If two files contain the same
/// collection, only one is read.
pub(crate) fn arrange(mut found: Vec<Found>, root: &Root, troubles: &mut Troubles) -> Vec<Item> {
    found.sort_by(|a, b| (&a.directories, &a.name).cmp(&(&b.directories, &b.name)));
    let mut marks: BTreeMap<&[String], Marks> = BTreeMap::new();
    let with_metadata: BTreeSet<(&[String], String)> = found
        .iter()
        .map(|file| (&file.directories[..], FileName::read(&file.name)))
        .filter(|(_, name)| name.claim == Claim::Metadata)
        .map(|(directory, name)| (directory, name.stem))
        .collect();
    let is_oplog = |file: &Found, name: &FileName| {
        (name.claim, name.stem.as_str()) == (Claim::Bson, "oplog")
            && !with_metadata.contains(&(&file.directories[..], "oplog".to_owned()))
    };
    for file in &found {
        let name = FileName::read(&file.name);
        let marks = marks.entry(&file.directories).or_default();
        match name.claim {
            Claim::Bson if is_oplog(file, &name) => marks.oplog = true,
            Claim::Bson => {
                marks.bson = true;
                marks.system_indexes |= name.stem == "system.indexes";
            }
            Claim::Metadata => marks.metadata = true,
            Claim::Prelude => marks.prelude = true,
            _ => {}
        }
    }
    let databases = databases(&marks, root);

    let mut items = Vec::new();
    let mut item_directories = Vec::new();
    for file in &found {
        let name = FileName::read(&file.name);
        let directory = &file.directories[..];
        let in_dump = databases.contains(directory);
        let what = match name.claim {
            Claim::Foreign => continue,
            Claim::Zip => What::Zip,
            Claim::Metadata => What::Metadata,
            Claim::Prelude if in_dump || has_database_below(&databases, directory) => What::Prelude,
            Claim::Bson if is_oplog(file, &name) => What::Oplog,
            Claim::Bson if in_dump && name.stem == "system.indexes" => What::SystemIndexes,
            _ => What::Documents,
        };
        let own_directory = directory.last().unwrap_or(&root.name);
        let place = if in_dump {
            let collection = match name.claim {
                Claim::Bson | Claim::Metadata => name.collection(),
                _ => name.stem.clone(),
            };
            Place {
                namespace: Namespace::new(names::database(own_directory), collection),
                real: true,
            }
        } else {
            let database = match directory.last() {
                Some(directory) => names::database(directory),
                None => LOOSE_DATABASE.to_owned(),
            };
            Place { namespace: Namespace::new(database, name.stem.clone()), real: false }
        };
        items.push(Item {
            what,
            origin: file.origin.clone(),
            name,
            display: file.display.clone(),
            bytes: file.bytes,
            place,
            named: false,
        });
        item_directories.push(directory);
    }
    let mut items = without_twins(items, &item_directories, troubles);
    leave_out_too_many(&mut items, &root.name, troubles);
    items
}

/// Limits the number of loose files.
fn leave_out_too_many(items: &mut Vec<Item>, root: &str, troubles: &mut Troubles) {
    let is_loose = |item: &Item| item.what == What::Documents && !item.place.real;
    let all = items.iter().filter(|item| is_loose(item)).count();
    let Some(left @ 1..) = all.checked_sub(MAX_LOOSE) else { return };
    troubles.add_for(root, &Trouble::TooManyFiles { all, left });
    let mut loose = 0;
    items.retain(|item| {
        loose += usize::from(is_loose(item));
        !is_loose(item) || loose <= MAX_LOOSE
    });
}

/// Removes duplicates of another file for the same collection: `t.bson.gz` next to `t.bson`,
/// `t.json` next to either. Files with the same name in several directories may be parts of one
/// collection, so they stay.
fn without_twins(
    items: Vec<Item>,
    directories: &[&[String]],
    troubles: &mut Troubles,
) -> Vec<Item> {
    let key = |at: usize| {
        let item: &Item = &items[at];
        let is_alone = match item.what {
            What::Documents => matches!(item.name.claim, Claim::Bson | Claim::Json),
            What::Metadata | What::SystemIndexes => true,
            What::Prelude | What::Zip | What::Oplog => false,
        };
        is_alone.then(|| (directories[at], item.what, &item.place.namespace))
    };
    // BSON precedes JSON; the list is sorted, so a plain file precedes its compressed duplicate.
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&at| items[at].name.claim != Claim::Bson);
    let mut first: BTreeMap<_, usize> = BTreeMap::new();
    let mut left_out = BTreeSet::new();
    for at in order {
        if let Some(key) = key(at) {
            let kept = *first.entry(key).or_insert(at);
            if kept != at {
                let beside = file_name(&items[kept].display).to_owned();
                troubles.add_for(items[at].display.as_str(), &Trouble::Twice(beside));
                left_out.insert(at);
            }
        }
    }
    items
        .into_iter()
        .enumerate()
        .filter_map(|(at, item)| (!left_out.contains(&at)).then_some(item))
        .collect()
}

/// The directories that are databases of a dump.
fn databases<'m>(marks: &BTreeMap<&'m [String], Marks>, root: &Root) -> BTreeSet<&'m [String]> {
    let parent_of = |directory: &'m [String]| directory.split_last().map(|(_, parent)| parent);
    let parent_name = |directory: &'m [String]| match directory {
        [] => root.parent.as_str(),
        [_] => root.name.as_str(),
        [.., parent, _] => parent.as_str(),
    };
    let mut databases: BTreeSet<_> = marks
        .iter()
        .filter(|(directory, own)| {
            let above = parent_of(directory).and_then(|parent| marks.get(parent));
            own.metadata
                || own.bson
                    && (own.system_indexes
                        || own.prelude
                        || above.is_some_and(|above| above.prelude || above.oplog)
                        // `SOURCE/db/coll.bson`: the layout of a dump, if the directory name is a
                        // valid database name.
                        || matches!(directory, [name] if !name.contains(['.', ' ', '$', '"']))
                        || parent_name(directory) == "dump")
        })
        .map(|(directory, _)| *directory)
        .collect();
    // A directory of BSON files next to a database of a dump is also a database.
    let parents: BTreeSet<_> =
        databases.iter().filter_map(|directory| parent_of(directory)).collect();
    databases.extend(marks.iter().filter_map(|(directory, own)| {
        let parent = parent_of(directory)?;
        (own.bson && parents.contains(parent)).then_some(*directory)
    }));
    databases
}

fn has_database_below(databases: &BTreeSet<&[String]>, directory: &[String]) -> bool {
    databases
        .iter()
        .any(|database| database.len() == directory.len() + 1 && database.starts_with(directory))
}

/// Finds the files below a directory. A directory that cannot be opened is reported as a problem.
pub(crate) fn walk(root: &Path, troubles: &mut Troubles) -> Vec<Found> {
    let mut walk = Walk { found: Vec::new(), seen: BTreeSet::new(), troubles };
    walk.directory(root, &mut Vec::new());
    walk.found
}

struct Walk<'t> {
    found: Vec<Found>,
    /// The canonical paths of visited directories: links may form a cycle.
    seen: BTreeSet<PathBuf>,
    troubles: &'t mut Troubles,
}

impl Walk<'_> {
    fn directory(&mut self, path: &Path, below: &mut Vec<String>) {
        if below.len() > MAX_DEPTH {
            self.troubles.add_for(path.display().to_string(), &Trouble::TooDeep(MAX_DEPTH));
            return;
        }
        if let Ok(true_path) = path.canonicalize()
            && !self.seen.insert(true_path)
        {
            return;
        }
        let mut entries = Vec::new();
        match std::fs::read_dir(path) {
            Ok(listing) => {
                for entry in listing {
                    match entry {
                        Ok(entry) => entries.push(entry.path()),
                        Err(error) => self.trouble(path, error),
                    }
                }
            }
            Err(error) => self.trouble(path, error),
        }
        entries.sort();
        for entry in entries {
            let name = last_name(&entry);
            match std::fs::metadata(&entry) {
                Ok(metadata) if metadata.is_dir() => {
                    if !is_foreign_directory(&name) {
                        below.push(name);
                        self.directory(&entry, below);
                        below.pop();
                    }
                }
                Ok(metadata) if metadata.is_file() => {
                    self.file(&entry, name, metadata.len(), below);
                }
                // Special files whose names are clearly not data are not reported.
                _ if FileName::read(&name).claim == Claim::Foreign => {}
                Ok(metadata) => {
                    let trouble = Trouble::NoFile(special(&metadata.file_type()));
                    self.troubles.add_for(entry.display().to_string(), &trouble);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let trouble = Trouble::DanglingLink(std::fs::read_link(&entry).ok());
                    self.troubles.add_for(entry.display().to_string(), &trouble);
                }
                Err(error) => self.trouble(&entry, error),
            }
        }
    }

    fn file(&mut self, path: &Path, name: String, bytes: u64, below: &[String]) {
        match FileName::read(&name).claim {
            Claim::Foreign => return,
            Claim::Nothing => match Stream::open(path).map(is_surely_data) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.trouble(path, error),
            },
            _ => {}
        }
        self.found.push(Found {
            directories: below.to_vec(),
            name,
            bytes,
            origin: Origin::File(path.to_owned()),
            display: path.display().to_string(),
        });
    }

    fn trouble(&mut self, path: &Path, error: std::io::Error) {
        self.troubles.add_for(path.display().to_string(), &Trouble::opening(error));
    }
}

/// Describes an entry of a directory that is neither a file nor a directory.
#[cfg(unix)]
fn special(kind: &std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_: &std::fs::FileType) -> &'static str {
    "no file"
}

/// Returns whether a file whose name claims no format certainly contains data.
pub(crate) fn is_surely_data(mut stream: Stream<'_>) -> bool {
    if detect::content(stream.peek(detect::HEAD)) == detect::Content::Gzip {
        stream = stream.gunzip();
    }
    detect::is_surely_data(stream.peek(detect::HEAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content, namespace and `real` flag of every item, for files given as paths below `root`.
    fn arranged(root: &str, files: &[&str]) -> Vec<String> {
        let (parent, name) = root.rsplit_once('/').unwrap_or(("", root));
        let root = Root { name: name.to_owned(), parent: parent.to_owned() };
        let found = files.iter().map(|path| {
            let mut directories: Vec<_> = path.split('/').map(str::to_owned).collect();
            let name = directories.pop().unwrap_or_default();
            let display = (*path).to_owned();
            Found { directories, name, bytes: 0, origin: Origin::Member(0), display }
        });
        let items = arrange(found.collect(), &root, &mut Troubles::default());
        let line = |item: Item| {
            let real = if item.place.real { "real" } else { "loose" };
            format!("{:?} {} {real}", item.what, item.place.namespace)
        };
        items.into_iter().map(line).collect()
    }

    #[test]
    fn too_many_loose_files_are_left_out_and_dumps_are_not() {
        let names: Vec<String> = (0..MAX_LOOSE + 5).map(|n| format!("m{n}.json")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(arranged("backup", &names).len(), MAX_LOOSE);
        let dumped: Vec<String> = names.iter().map(|n| format!("shop/{n}.bson")).collect();
        let dumped: Vec<&str> = dumped.iter().map(String::as_str).collect();
        assert_eq!(arranged("dump", &dumped).len(), names.len());
    }

    #[test]
    fn a_dump_named_at_any_level() {
        let files = ["prelude.json", "shop/a.bson", "shop/a.metadata.json", "shop/b%2Fc.bson.gz"];
        assert_eq!(
            arranged("backup", &files),
            [
                "Prelude test.prelude loose",
                "Documents shop.a real",
                "Metadata shop.a real",
                "Documents shop.b/c real",
            ]
        );
        let above = files.map(|file| format!("monday/{file}"));
        let above: Vec<&str> = above.iter().map(String::as_str).collect();
        assert_eq!(arranged("backups", &above)[1..], arranged("backup", &files)[1..]);
        assert_eq!(
            arranged("dump/shop", &["a.bson", "a.metadata.json"]),
            ["Documents shop.a real", "Metadata shop.a real",]
        );
    }

    #[test]
    fn dumps_of_old_servers_have_no_metadata() {
        assert_eq!(
            arranged("x/shop", &["a.bson", "system.indexes.bson"]),
            ["Documents shop.a real", "SystemIndexes shop.system.indexes real",]
        );
        assert_eq!(arranged("x/dump", &["shop/a.bson"]), ["Documents shop.a real"]);
        assert_eq!(arranged("dump/shop", &["a.bson"]), ["Documents shop.a real"]);
        // A directory next to a database is a database.
        assert_eq!(
            arranged("x", &["a/t.bson", "a/t.metadata.json", "b/t.bson", "c/t.json"]),
            [
                "Documents a.t real",
                "Metadata a.t real",
                "Documents b.t real",
                "Documents c.t loose",
            ]
        );
    }

    #[test]
    fn loose_files_are_named_after_themselves() {
        assert_eq!(
            arranged("data", &["orders.json", "v1.2/users.bson", "README.md"]),
            ["Documents test.orders loose", "Documents v1_2.users loose",]
        );
        assert_eq!(arranged("data", &["prelude.json"]), ["Documents test.prelude loose"]);
    }

    #[test]
    fn the_oplog_is_told_from_a_collection_of_that_name() {
        assert_eq!(
            arranged("dump", &["oplog.bson", "shop/t.bson"]),
            ["Oplog test.oplog loose", "Documents shop.t real",]
        );
        assert_eq!(
            arranged("x/shop", &["oplog.bson", "oplog.metadata.json"]),
            ["Documents shop.oplog real", "Metadata shop.oplog real",]
        );
    }
}
