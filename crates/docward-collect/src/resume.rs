//! The state that an interrupted run saves, and how a later run continues from it.
//!
//! Only full readings (`--full`) of running deployments can continue. For a finished collection the
//! profile and its links are kept; for the one in progress, the profiler and the remaining ranges
//! of `_id`s. The state is stored in the evidence file, compressed, in the format of this version
//! of Docward.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use docward_model::{Evidence, Namespace, Profile};
use docward_profile::{Links, Profiler};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};

use crate::identity::{DeploymentId, Likeness};

/// The maximum decompressed size of the state of a collection.
const LARGEST: u64 = 1 << 30;

/// A range of a collection between two `_id`s, and the progress of reading it. Bounds are
/// hexadecimal digits of the BSON type and value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdRange {
    /// The lowest `_id`; `None` means from the beginning.
    pub(crate) from: Option<String>,
    /// The exclusive upper bound; `None` means to the end.
    pub(crate) to: Option<String>,
    /// The last `_id` that was read.
    pub(crate) after: Option<String>,
    /// The position of its next document; ranges are treated as if they were far apart.
    pub(crate) position: u64,
}

/// The state of a collection in an interrupted run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Left {
    /// Read completely: its links. The profile is in the evidence.
    Whole(String),
    /// Read partially: its profiler and the remaining ranges.
    Part(String, Vec<IdRange>),
    /// Not read, or not in a resumable way: has to be read from the start.
    Anew,
}

/// The state of an interrupted run in addition to its evidence, by collection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unfinished(pub(crate) BTreeMap<String, Left>);

impl Unfinished {
    /// Returns whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A collection from an earlier run.
#[derive(Clone, Debug)]
pub(crate) enum Resumed {
    /// Read completely.
    Whole(Box<(Profile, Links)>),
    /// Read partially.
    Part(Box<Profiler>, Vec<IdRange>),
}

/// The state of an earlier run, ready to continue.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    pub(crate) collections: BTreeMap<Namespace, Resumed>,
    /// The UUIDs of these collections.
    uuids: BTreeMap<Namespace, String>,
    /// The deployments it came from, as far as they are known.
    pub deployments: Vec<DeploymentId>,
}

impl Resume {
    /// Decompresses the state of an interrupted run; `None` if it was altered or belongs to another
    /// version.
    pub(crate) fn new(
        unfinished: &Unfinished,
        evidence: Evidence,
        deployments: Vec<DeploymentId>,
    ) -> Option<Self> {
        let mut resume = Self { deployments, ..Self::default() };
        for collection in evidence.collections {
            let Some(left) = unfinished.0.get(&collection.namespace.to_string()) else { continue };
            let resumed = match left {
                Left::Whole(links) => {
                    let links = Links::restore(&unpack(links)?)?;
                    Resumed::Whole(Box::new((collection.profile.unwrap_or_default(), links)))
                }
                Left::Part(profiler, ranges) => {
                    let profiler = Profiler::restore(&unpack(profiler)?)?;
                    Resumed::Part(Box::new(profiler), ranges.clone())
                }
                Left::Anew => continue,
            };
            if let Some(uuid) = collection.uuid {
                resume.uuids.insert(collection.namespace.clone(), uuid);
            }
            resume.collections.insert(collection.namespace, resumed);
        }
        Some(resume)
    }

    /// The state of a collection; `None` if another collection has this name now.
    pub(crate) fn of(&self, namespace: &Namespace, uuid: Option<&str>) -> Option<&Resumed> {
        if self.is_another(namespace, uuid) { None } else { self.collections.get(namespace) }
    }

    /// Returns whether a collection was dropped and recreated since it was read.
    pub(crate) fn is_another(&self, namespace: &Namespace, uuid: Option<&str>) -> bool {
        let before = self.uuids.get(namespace);
        before.zip(uuid).is_some_and(|(before, now)| before != now)
    }

    /// Compares a deployment with those that were read.
    pub fn likeness(&self, deployment: Option<&DeploymentId>) -> Likeness {
        if self.collections.is_empty() && self.deployments.is_empty() {
            return Likeness::Same;
        }
        Likeness::of(deployment, &self.deployments)
    }
}

/// Encodes bytes as text that JSON can contain.
pub(crate) fn pack(bytes: &[u8]) -> String {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = packed.write_all(bytes).and_then(|()| packed.finish());
    STANDARD.encode(packed.unwrap_or_default())
}

fn unpack(text: &str) -> Option<Vec<u8>> {
    let packed = STANDARD.decode(text).ok()?;
    let mut bytes = Vec::new();
    let unpacked: io::Result<usize> =
        GzDecoder::new(&packed[..]).take(LARGEST).read_to_end(&mut bytes);
    unpacked.ok().map(|_| bytes)
}
