//! Plans how declared reads and writes are executed, and where ids are stored.

use docward_model::Relationship;

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;

/// The plan that executes a read.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadPlan {
    /// The read begins with parents.
    Parents {
        /// The number of parents.
        roots: u64,
        /// The children that are fetched from other documents.
        fetch: Fetch,
        /// Whether the read counts children in other documents.
        count: bool,
        /// The field that the read sums over children in other documents.
        sums: Option<String>,
    },
    /// The read begins with the parents of one shared child.
    ParentsOf {
        /// The maximum number of parents. `None` means all.
        limit: Option<u64>,
        /// Whether all parents are read to find those. This is necessary if their ids are stored
        /// elsewhere in a different order.
        all: bool,
    },
    /// The read begins with children of one parent.
    ChildrenOf {
        /// The maximum number of children. `None` means all.
        limit: Option<u64>,
        /// Whether all children are read to find those.
        all: bool,
        /// Whether the parent is also read.
        parent: bool,
    },
    /// The read begins with children of any parent.
    Children {
        /// The number of children, each with a different parent.
        roots: u64,
        /// Whether their parents are also read.
        parent: bool,
    },
}

impl ReadPlan {
    /// Returns the number of parents that one execution is about.
    pub fn targets(&self) -> u64 {
        match self {
            Self::Parents { roots, .. } | Self::Children { roots, .. } => *roots,
            Self::ChildrenOf { .. } | Self::ParentsOf { .. } => 1,
        }
    }
}

/// The children that are fetched from other documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// None. The read does not need children, or the parent has all data that the read needs.
    Nothing,
    /// Only junction documents, because they have copies of the fields.
    Pairs,
    /// This many of the newest children.
    Newest(u64),
    /// All children.
    All,
}

/// The operation of a write on documents of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Act {
    Insert,
    Update,
    Delete,
}

/// The plan that executes a write.
#[derive(Clone, Debug, PartialEq)]
pub struct WritePlan {
    /// The declared change of the parent.
    pub parent: Option<Act>,
    /// The declared change of children.
    pub child: Option<Act>,
    /// Whether the write is about all children of the parent and not only one.
    pub whole: bool,
    /// Whether the parent changes only because it stores a preview, a count or a sum.
    pub follows: bool,
    /// Whether the write updates copies of the parent's fields in separate child documents.
    pub refreshes: bool,
    /// Whether the write must be atomic and needs a transaction.
    pub transaction: bool,
}

/// The place where ids are stored if children are separate documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The child stores the id of its parent.
    ParentId,
    /// The parent lists the ids of its children, possibly with copies of some fields.
    ChildIds,
    /// The child lists the ids of its parents.
    ParentIds,
    /// A junction document for each pair.
    Pairs,
}

impl Link {
    /// Returns the word in JSON and messages, which is that of the pattern.
    pub fn name(self) -> &'static str {
        match self {
            Self::ParentId => Pattern::ParentInChild.name(),
            Self::ChildIds => Pattern::ChildrenInParent.name(),
            Self::ParentIds => Pattern::ParentsInChild.name(),
            Self::Pairs => Pattern::Junction.name(),
        }
    }

    /// Returns the link of a decision. For embedded children, returns the link that referencing
    /// would use.
    pub(super) fn of(relationship: &Relationship, decision: &Decision) -> Self {
        let decided = decision.patterns.iter().find_map(|pattern| match pattern {
            Pattern::ParentInChild => Some(Self::ParentId),
            Pattern::ChildrenInParent => Some(Self::ChildIds),
            Pattern::ParentsInChild => Some(Self::ParentIds),
            Pattern::Junction => Some(Self::Pairs),
            _ => None,
        });
        let usual = if relationship.is_shared() { Self::ChildIds } else { Self::ParentId };
        decided.unwrap_or(usual)
    }
}
