//! What an interrupted reading leaves behind, and how a later one goes on with it.
//!
//! Only whole readings (`--full`) of running deployments can go on: of a finished collection the profile
//! and its links are kept, of the one that was being read the profiler itself and the ranges of `_id`s
//! that are left. It travels in the evidence file, packed, in the form of this version of Docward.

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

/// No state of a collection unpacks to more.
const LARGEST: u64 = 1 << 30;

/// A part of a collection between two `_id`s, and how far it was read. Bounds are hexadecimal digits of
/// the BSON type and value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdRange {
    /// The lowest `_id`; from the first one on without.
    pub(crate) from: Option<String>,
    /// Beyond the highest `_id`; up to the last one without.
    pub(crate) to: Option<String>,
    /// The last `_id` that was read.
    pub(crate) after: Option<String>,
    /// Where its next document stands among all, as if ranges lay far apart.
    pub(crate) position: u64,
}

/// A collection of an interrupted reading.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Left {
    /// Read to its end: its links. The profile is in the evidence.
    Whole(String),
    /// Read in part: its profiler and what is left to read.
    Part(String, Vec<IdRange>),
    /// Not read, or in a way that cannot be gone on with: to be read from the start.
    Anew,
}

/// What an interrupted reading leaves besides evidence, by collection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unfinished(pub(crate) BTreeMap<String, Left>);

impl Unfinished {
    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A collection that an earlier reading came to.
#[derive(Clone, Debug)]
pub(crate) enum Resumed {
    /// Nothing more to read.
    Whole(Box<(Profile, Links)>),
    /// To go on with.
    Part(Box<Profiler>, Vec<IdRange>),
}

/// What an earlier reading learnt, ready to go on with.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    pub(crate) collections: BTreeMap<Namespace, Resumed>,
    /// What the server told these collections by.
    uuids: BTreeMap<Namespace, String>,
    /// The deployments it was learnt from, as far as they are known.
    pub deployments: Vec<DeploymentId>,
}

impl Resume {
    /// Unpacks what an interrupted reading left; `None` when it was altered or is another version's.
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

    /// What is known of a collection; nothing if it is another one of the same name by now.
    pub(crate) fn of(&self, namespace: &Namespace, uuid: Option<&str>) -> Option<&Resumed> {
        if self.is_another(namespace, uuid) { None } else { self.collections.get(namespace) }
    }

    /// Whether a collection was dropped and made anew since it was read.
    pub(crate) fn is_another(&self, namespace: &Namespace, uuid: Option<&str>) -> bool {
        let before = self.uuids.get(namespace);
        before.zip(uuid).is_some_and(|(before, now)| before != now)
    }

    /// Whether a deployment is one of those that were read.
    pub fn likeness(&self, deployment: Option<&DeploymentId>) -> Likeness {
        if self.collections.is_empty() && self.deployments.is_empty() {
            return Likeness::Same;
        }
        Likeness::of(deployment, &self.deployments)
    }
}

/// Bytes as text that JSON can hold.
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
