//! What is done for a declared read or write, and where ids live.

use docward_model::Relationship;

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;

/// How a read is done.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadPlan {
    /// It begins with parents.
    Parents {
        /// How many.
        roots: u64,
        /// Children that are fetched from elsewhere.
        fetch: Fetch,
        /// Whether children that are elsewhere are counted.
        count: bool,
        /// The field of children that are elsewhere which is summed.
        sums: Option<String>,
    },
    /// It begins with the parents of one child that several share.
    ParentsOf {
        /// How many; `None` means all.
        limit: Option<u64>,
        /// Whether all of them are read to find those: their ids come from elsewhere, and their order does not.
        all: bool,
    },
    /// It begins with children of one parent.
    ChildrenOf {
        /// How many; `None` means all.
        limit: Option<u64>,
        /// Whether all of them are read to find those.
        all: bool,
        /// Whether the parent is read too.
        parent: bool,
    },
    /// It begins with children of any parent.
    Children {
        /// How many, each of another parent.
        roots: u64,
        /// Whether their parents are read too.
        parent: bool,
    },
}

impl ReadPlan {
    /// Parents that one execution is about.
    pub fn targets(&self) -> u64 {
        match self {
            Self::Parents { roots, .. } | Self::Children { roots, .. } => *roots,
            Self::ChildrenOf { .. } | Self::ParentsOf { .. } => 1,
        }
    }
}

/// Children that are fetched from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// None: they are not wanted, or what is wanted of them is in the parent.
    Nothing,
    /// Pairs alone: they have copies of what is wanted.
    Pairs,
    /// The newest so many.
    Newest(u64),
    /// All.
    All,
}

/// What a write does to documents of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Act {
    Insert,
    Update,
    Delete,
}

/// How a write is done.
#[derive(Clone, Debug, PartialEq)]
pub struct WritePlan {
    /// What is declared to happen to the parent.
    pub parent: Option<Act>,
    /// What is declared to happen to children.
    pub child: Option<Act>,
    /// Whether it is about all children of the parent, not one.
    pub whole: bool,
    /// Whether the parent is changed only because it keeps a preview, a count or a sum.
    pub follows: bool,
    /// Whether children by themselves have copies of what is changed in the parent.
    pub refreshes: bool,
    /// Whether it is all or nothing and needs a transaction.
    pub transaction: bool,
}

/// Where ids live when children are documents of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A child names its parent.
    ParentId,
    /// A parent lists its children, maybe with copies of some of their fields.
    ChildIds,
    /// A child lists its parents.
    ParentIds,
    /// A document for each pair.
    Pairs,
}

impl Link {
    /// The word in JSON and messages: that of the pattern.
    pub fn name(self) -> &'static str {
        match self {
            Self::ParentId => Pattern::ParentInChild.name(),
            Self::ChildIds => Pattern::ChildrenInParent.name(),
            Self::ParentIds => Pattern::ParentsInChild.name(),
            Self::Pairs => Pattern::Junction.name(),
        }
    }

    /// What was decided; what is embedded would be referenced in the usual way.
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
