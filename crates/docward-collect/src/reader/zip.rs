//! Zips: each member is read like a file in a directory, decompressed as a stream.

use std::{fs::File, io::BufReader, path::Path};

use docward_model::SourceKind;
use zip::{ZipArchive, result::ZipError};

use super::{Reader, catalogue::is_facts, found_in_zip};
use crate::{
    names::{Claim, FileName},
    plan::{self, Found, Item, Origin, Root, What},
    stream::Stream,
    trouble::Trouble,
};

type Zip = ZipArchive<BufReader<File>>;

impl Reader<'_, '_, '_> {
    /// Reads all members of a zip that contain data.
    pub(super) fn read_zip(&mut self, source: usize, path: &Path, display: &str) {
        let opened = File::open(path)
            .map_err(Trouble::opening)
            .and_then(|file| Zip::new(BufReader::new(file)).map_err(Trouble::Zip));
        let mut zip = match opened {
            Ok(zip) => zip,
            Err(trouble) => return self.troubles.add_for(display, &trouble),
        };
        self.note_kind(source, SourceKind::Zip);
        let found = self.members(&mut zip, display);
        let stem = FileName::read(&Root::of(path).name).stem;
        let root = Root { name: stem, parent: String::new() };
        let mut items = plan::arrange(found, &root, &mut self.troubles);
        if items.is_empty() {
            self.troubles.add_for(display, &Trouble::NothingInside);
        }
        self.rename_single(display, &mut items);
        self.expect(&items);
        for item in items.iter().filter(|item| is_facts(item.what)) {
            self.with_member(&mut zip, item, |reader, stream| {
                reader.read_facts(source, item, stream);
            });
        }
        for item in &items {
            if self.is_stopped() {
                return;
            }
            match item.what {
                What::Documents => {
                    self.with_member(&mut zip, item, |reader, stream| {
                        reader.read_documents(source, item, stream);
                    });
                    self.done(item);
                }
                What::Zip => {
                    self.troubles.add_for(&*item.display, &Trouble::NestedZip);
                    self.open_ended -= 1;
                }
                _ => {}
            }
        }
    }

    /// The members of a zip, without those that are clearly not data.
    fn members(&mut self, zip: &mut Zip, display: &str) -> Vec<Found> {
        let mut found = Vec::new();
        for index in 0..zip.len() {
            let member = match zip.by_index_data(index) {
                Ok(member) if !member.is_file() => continue,
                Ok(member) => member,
                Err(error) => {
                    let name = format!("{display}!member {index}");
                    self.troubles.add_for(name, &Trouble::Member(error));
                    continue;
                }
            };
            let name = match member.name() {
                Ok(name) => name.into_owned(),
                Err(_) => String::from_utf8_lossy(member.name_raw()).into_owned(),
            };
            let Some(file) = found_in_zip(&name, index, member.size(), display) else { continue };
            let claim = FileName::read(&file.name).claim;
            if claim == Claim::Foreign {
                continue;
            }
            if member.encrypted() {
                self.troubles.add_for(file.display, &Trouble::Encrypted);
                continue;
            }
            if claim == Claim::Nothing {
                let is_data = zip
                    .by_index(index)
                    .is_ok_and(|member| plan::is_surely_data(Stream::new(member, None, 0.0)));
                if !is_data {
                    continue;
                }
            }
            found.push(file);
        }
        found
    }

    /// Opens a member and calls a function with it.
    fn with_member(
        &mut self,
        zip: &mut Zip,
        item: &Item,
        read: impl FnOnce(&mut Self, Stream<'_>),
    ) {
        let Origin::Member(index) = item.origin else { return };
        match zip.by_index(index) {
            Ok(member) => {
                let (size, packed) = (member.size(), member.compressed_size());
                let scale = if size == 0 { 0.0 } else { packed as f64 / size as f64 };
                read(self, Stream::new(member, Some(size), scale));
            }
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                self.troubles.add_for(&*item.display, &Trouble::Encrypted);
            }
            Err(error) => self.troubles.add_for(&*item.display, &Trouble::Member(error)),
        }
    }
}
