//! Decides between embedding and referencing (ALG-5): vetoes, the cardinality gate, votes. Every
//! row of the decision tables (DM-07.*, ER-M.*, ER-T.*, ER-F.*) that applies is listed with its
//! vote. This includes the rows that were outvoted (ER-X.1).

use docward_model::text;

use crate::decide::facts::{Bounds, Facts, Growth, Kind, is_outlier};

/// The vote of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// For embedding.
    Embed,
    /// For referencing.
    Reference,
    /// For referencing, regardless of other rows.
    Veto,
    /// For neither side.
    Abstain,
    /// Unknown, because a fact is missing.
    Open,
}

impl Vote {
    /// Returns the word in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Reference => "reference",
            Self::Veto => "veto",
            Self::Abstain => "abstain",
            Self::Open => "open",
        }
    }

    /// Returns the number in JSON.
    pub fn number(self) -> i32 {
        match self {
            Self::Embed => 1,
            Self::Reference | Self::Veto => -1,
            Self::Abstain | Self::Open => 0,
        }
    }
}

/// The figure or fact that a row judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum RowId {
    Cardinality,
    Growth,
    ChildrenSize,
    /// The size of a parent with its children at the 99th percentile.
    ParentSize,
    CoRead,
    QueriedAlone,
    CoUpdate,
    ChildUpdates,
    Atomicity,
    Sharing,
    Currency,
    /// A constraint on the model as a whole.
    Constraint,
}

/// Rows of the decision tables that judge the same figure, and their vote.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The figure.
    pub id: RowId,
    /// The rows.
    pub rows: &'static [&'static str],
    /// Their vote.
    pub vote: Vote,
    /// The figure in words.
    pub because: String,
}

/// The side that wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Children are embedded in the parent.
    Embed,
    /// Children are separate documents.
    Reference,
}

impl Choice {
    /// Returns the word in messages and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Reference => "reference",
        }
    }

    /// Returns the other side.
    pub fn other(self) -> Self {
        match self {
            Self::Embed => Self::Reference,
            Self::Reference => Self::Embed,
        }
    }
}

/// A choice and its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    /// The choice.
    pub choice: Choice,
    /// The rows that decided before, or instead of, a count.
    pub decided_by: &'static [&'static str],
    /// The reason, as a sentence without a full stop.
    pub how: String,
    /// All rows.
    pub rows: Vec<Row>,
}

impl Ruling {
    /// Returns how many clauses voted for one side.
    pub fn votes(&self, vote: Vote) -> usize {
        self.rows.iter().filter(|row| row.vote == vote).map(|row| row.rows.len()).sum()
    }

    /// Returns the rows that were outvoted.
    pub fn dissent(&self) -> impl Iterator<Item = &Row> {
        let against = self.choice.other();
        self.rows.iter().filter(move |row| match against {
            Choice::Embed => row.vote == Vote::Embed,
            Choice::Reference => row.vote == Vote::Reference,
        })
    }
}

/// Decides between embedding and referencing, with reasons.
pub fn decide(facts: &Facts, bounds: &Bounds) -> Ruling {
    let rows = rows(facts, bounds);
    let (choice, decided_by, how) = gate(facts, bounds, &rows);
    Ruling { choice, decided_by, how, rows }
}

/// Returns the choice without reasons. This is faster, and callers try many facts in a row.
pub(crate) fn choice(facts: &Facts, bounds: &Bounds) -> Choice {
    gate(facts, bounds, &collected(facts, bounds, false)).0
}

/// Returns the maximum number of children that the decision must allow for. A few very large
/// parents are left to overflow pages (PT-outlier.1), but many large ones count.
fn bound(facts: &Facts, bounds: &Bounds) -> u64 {
    let docward_model::Spread { p99, max, .. } = facts.children;
    if max >= bounds.many && !is_outlier(p99, max, bounds) { max } else { p99 }
}

/// Returns every row of the tables.
pub fn rows(facts: &Facts, bounds: &Bounds) -> Vec<Row> {
    collected(facts, bounds, true)
}

fn collected(facts: &Facts, bounds: &Bounds, in_words: bool) -> Vec<Row> {
    let mut found = Rows { found: Vec::with_capacity(16), in_words };
    found.cardinality(facts, bounds);
    found.growth(facts, bounds);
    if facts.kind == Kind::ManyToMany {
        found.too_many(facts, bounds, &["ER-T.6", "ER-F.6", "LM-7"]);
    }
    found.size(facts, bounds);
    found.reads(facts, bounds);
    found.writes(facts, bounds);
    found.sharing(facts);
    found.found
}

struct Rows {
    found: Vec<Row>,
    /// Whether the caller needs reasons in words.
    in_words: bool,
}

impl Rows {
    fn say(
        &mut self,
        id: RowId,
        rows: &'static [&'static str],
        vote: Vote,
        because: impl Into<String>,
    ) {
        let because = if self.in_words { because.into() } else { String::new() };
        self.found.push(Row { id, rows, vote, because });
    }

    /// Returns text that is only built if the caller needs it.
    fn words(&self, words: impl FnOnce() -> String) -> String {
        if self.in_words { words() } else { String::new() }
    }

    fn cardinality(&mut self, facts: &Facts, bounds: &Bounds) {
        match facts.kind {
            Kind::ManyToMany => {
                self.say(
                    RowId::Cardinality,
                    &["ER-M.3", "ER-T.6", "DM-07.5"],
                    Vote::Reference,
                    "many to many",
                );
                return;
            }
            Kind::ManyToOne => {
                let because = "many children share one parent";
                self.say(RowId::Cardinality, &["ER-M.3", "DM-07.5"], Vote::Reference, because);
                return;
            }
            Kind::OneToOne | Kind::OneToMany => {}
        }
        let most = bound(facts, bounds);
        let counted = self
            .words(|| format!("{} {}", text::count(most), text::form(most, "child", "children")));
        if most < bounds.few && facts.growth.is_endless() && !facts.is_paged(bounds) {
            let because = self.words(|| {
                format!("{counted} per parent at p99, and the number grows without limit")
            });
            self.say(
                RowId::Cardinality,
                &["ER-F.6", "ER-M.3", "DM-07.5"],
                Vote::Reference,
                because,
            );
        } else if most < bounds.few {
            let because =
                self.words(|| format!("{counted} per parent at p99, below {}", bounds.few));
            let rows = &["ER-T.1", "ER-F.6", "ER-M.3", "DM-07.5", "LM-7"];
            self.say(RowId::Cardinality, rows, Vote::Embed, because);
        } else if most < bounds.many {
            let figure = self.words(|| format!("{counted} per parent at p99"));
            self.say(
                RowId::Cardinality,
                &["ER-M.3", "ER-F.6", "DM-07.5"],
                Vote::Reference,
                figure.clone(),
            );
            self.branches(facts, bounds, &figure);
        } else {
            let rows: &[&str] = if facts.lists_ids || facts.growth == Growth::Endless {
                &["ER-T.5", "ER-F.6", "ER-M.3", "DM-07.5", "LM-7"]
            } else {
                &["ER-F.6", "ER-M.3", "DM-07.5", "LM-7"]
            };
            self.too_many(facts, bounds, rows);
        }
    }

    /// Adds a veto if a list is too long to be embedded completely, even if it is shared (GC-06).
    fn too_many(&mut self, facts: &Facts, bounds: &Bounds, rows: &'static [&'static str]) {
        let most = bound(facts, bounds);
        if most < bounds.many {
            return;
        }
        let bound = if most > facts.children.p99 { "at most" } else { "at p99" };
        let because = self.words(|| {
            format!(
                "{} children per parent {bound} (limit {})",
                text::count(most),
                text::count(bounds.many)
            )
        });
        self.say(RowId::Cardinality, rows, Vote::Veto, because);
    }

    /// Applies the branches of the tree for 50 to 999 children.
    fn branches(&mut self, facts: &Facts, bounds: &Bounds, figure: &str) {
        let (co_read, atomic) = (facts.co_read, facts.atomic);
        if co_read.is_none() && atomic.is_none() {
            let because = "children are embedded only if they are always read with the parent";
            self.say(RowId::Cardinality, &["ER-T.2", "ER-T.3", "LM-7"], Vote::Open, because);
            return;
        }
        match co_read {
            Some(share) if share >= bounds.mostly => {
                let because = self.words(|| {
                    format!("{figure}, and {} of the reads fetch both", text::percent(share))
                });
                self.say(RowId::Cardinality, &["ER-T.2", "LM-7"], Vote::Embed, because);
            }
            Some(share) => {
                let because = self.words(|| {
                    format!("{figure}, and only {} of the reads fetch both", text::percent(share))
                });
                self.say(RowId::Cardinality, &["ER-T.3", "LM-7"], Vote::Reference, because);
            }
            None => self.say(
                RowId::Cardinality,
                &["ER-T.2", "ER-T.3"],
                Vote::Open,
                "the reads of the children are unknown",
            ),
        }
        if atomic == Some(true) {
            self.say(
                RowId::Cardinality,
                &["ER-T.4"],
                Vote::Embed,
                "parent and children must change atomically",
            );
        }
    }

    fn growth(&mut self, facts: &Facts, bounds: &Bounds) {
        match &facts.growth {
            Growth::Endless if facts.is_paged(bounds) => self.say(
                RowId::Growth,
                &["PT-outlier.1", "AP-S4.1"],
                Vote::Abstain,
                "the number per parent grows without limit, but overflow pages bound the list",
            ),
            Growth::Endless => {
                let because = "the number per parent grows without limit, so the list is unbounded";
                let rows: &[&str] = match facts.kind {
                    Kind::ManyToMany => &["DM-08.2", "CK-8", "ER-T.6"],
                    _ => &["DM-08.2", "CK-8", "ER-T.5"],
                };
                self.say(RowId::Growth, rows, Vote::Veto, because);
            }
            Growth::CutLate(newest) => {
                let because = self.words(|| {
                    format!(
                        "the newest {} are kept, which is more than a list can contain",
                        text::count(*newest)
                    )
                });
                self.say(RowId::Growth, &["DM-08.1", "GC-06", "LM-7"], Vote::Veto, because);
            }
            Growth::LooksEndless(why) => {
                self.say(RowId::Growth, &["DM-08.2"], Vote::Reference, why.clone())
            }
            Growth::Unknown | Growth::Bounded => {}
        }
    }

    fn size(&mut self, facts: &Facts, bounds: &Bounds) {
        let together = facts.children_bytes();
        let endless = facts.growth.is_endless() && !facts.is_paged(bounds);
        let small = together <= bounds.small_bytes && !endless;
        let large = match facts.child_p99 > facts.child_bytes {
            true => self.words(|| format!(" to {}", text::bytes(facts.child_p99))),
            false => String::new(),
        };
        let figure = self.words(|| {
            format!(
                "{} {} at p99, {}{large} each; the array is {}{}",
                text::count(facts.children.p99),
                text::form(facts.children.p99, "child", "children"),
                text::bytes(facts.child_bytes),
                text::bytes(together),
                if endless { " and grows" } else { "" }
            )
        });
        let vote = if small { Vote::Embed } else { Vote::Reference };
        self.say(RowId::ChildrenSize, &["ER-M.4", "ER-F.3", "DM-07.3"], vote, figure);
        let projected = facts.projected();
        let vote = if projected > bounds.safe_bytes { Vote::Veto } else { Vote::Embed };
        let because =
            self.words(|| format!("the parent would be {} at p99", text::bytes(projected)));
        self.say(RowId::ParentSize, &["ER-M.6", "ER-F.7"], vote, because);
    }

    fn reads(&mut self, facts: &Facts, bounds: &Bounds) {
        let rows = &["ER-M.1", "DM-07.2", "ER-F.1"];
        match facts.co_read {
            None => self.say(
                RowId::CoRead,
                rows,
                Vote::Open,
                "it is unknown whether parent and children are read together",
            ),
            Some(share) => {
                let vote = if share >= bounds.mostly {
                    Vote::Embed
                } else if share <= bounds.often {
                    Vote::Reference
                } else {
                    Vote::Abstain
                };
                let because =
                    self.words(|| format!("{} of the reads fetch both", text::percent(share)));
                self.say(RowId::CoRead, rows, vote, because);
            }
        }
        match facts.queried_alone {
            None => self.say(
                RowId::QueriedAlone,
                &["ER-M.7"],
                Vote::Open,
                "it is unknown whether children are read without their parent",
            ),
            Some(share) if share > 0.0 => {
                let because = self.words(|| {
                    format!(
                        "{} of the reads of the child do not read its parent",
                        text::percent(share)
                    )
                });
                self.say(RowId::QueriedAlone, &["ER-M.7"], Vote::Reference, because);
            }
            Some(_) => self.say(
                RowId::QueriedAlone,
                &["ER-M.7"],
                Vote::Embed,
                "every read of the child also reads its parent",
            ),
        }
    }

    fn writes(&mut self, facts: &Facts, bounds: &Bounds) {
        match (facts.co_update, facts.child_only_update, facts.atomic) {
            (None, None, None) => {
                self.say(
                    RowId::CoUpdate,
                    &["ER-M.2"],
                    Vote::Open,
                    "it is unknown whether parent and children are written together",
                );
            }
            (_, _, Some(true)) => {
                self.say(
                    RowId::CoUpdate,
                    &["ER-M.2"],
                    Vote::Embed,
                    "parent and children are written together atomically",
                );
            }
            (Some(share), _, _) if share >= bounds.mostly => {
                let because =
                    self.words(|| format!("{} of the writes change both", text::percent(share)));
                self.say(RowId::CoUpdate, &["ER-M.2"], Vote::Embed, because);
            }
            (_, Some(share), _) if share > bounds.often => {
                let because = self.words(|| {
                    format!("{} of the updates change only children", text::percent(share))
                });
                self.say(RowId::CoUpdate, &["ER-M.2"], Vote::Reference, because);
            }
            _ => self.say(
                RowId::CoUpdate,
                &["ER-M.2"],
                Vote::Abstain,
                "some writes change both, some only one",
            ),
        }
        let rows = &["DM-07.4", "ER-F.2"];
        match facts.child_only_update {
            None => self.say(
                RowId::ChildUpdates,
                rows,
                Vote::Open,
                "it is unknown how often only children change",
            ),
            Some(share) => {
                let vote = if share >= bounds.often {
                    Vote::Reference
                } else if share <= bounds.rarely {
                    Vote::Embed
                } else {
                    Vote::Abstain
                };
                let because = self.words(|| {
                    format!("{} of the updates change only children", text::percent(share))
                });
                self.say(RowId::ChildUpdates, rows, vote, because);
            }
        }
        match facts.atomic {
            Some(true) => {
                let because = "a single document is always updated atomically";
                self.say(RowId::Atomicity, &["ER-F.4", "DP-3"], Vote::Embed, because);
            }
            Some(false) => self.say(
                RowId::Atomicity,
                &["ER-F.4", "DP-3"],
                Vote::Abstain,
                "parent and children need not change together",
            ),
            None => self.say(
                RowId::Atomicity,
                &["ER-T.4", "ER-F.4"],
                Vote::Open,
                "it is unknown whether parent and children must change together",
            ),
        }
    }

    fn sharing(&mut self, facts: &Facts) {
        let rows = &["ER-M.5", "DM-07.6"];
        match &facts.shared {
            Some(who) => self.say(RowId::Sharing, rows, Vote::Reference, who.clone()),
            None => self.say(RowId::Sharing, rows, Vote::Embed, "the child belongs to one parent"),
        }
        match (facts.must_be_current, &facts.shared) {
            (Some(true), Some(_)) => {
                self.say(
                    RowId::Currency,
                    &["ER-F.5"],
                    Vote::Veto,
                    "copies would be out of date, which is not allowed",
                );
            }
            (Some(true), None) => {
                self.say(
                    RowId::Currency,
                    &["ER-F.5"],
                    Vote::Abstain,
                    "if embedded, it is the only copy and always current",
                );
            }
            (Some(false), Some(_)) => {
                self.say(RowId::Currency, &["ER-F.5"], Vote::Abstain, "copies may be out of date");
            }
            _ => {}
        }
    }
}

/// Decides in the order of ALG-5: vetoes, the gate, then a count.
fn gate(facts: &Facts, bounds: &Bounds, rows: &[Row]) -> (Choice, &'static [&'static str], String) {
    if let Some(row) = rows.iter().find(|row| row.vote == Vote::Veto) {
        return (Choice::Reference, row.rows, format!("vetoed: {}", row.because));
    }
    if matches!(facts.growth, Growth::LooksEndless(_)) {
        return (
            Choice::Reference,
            &["DM-08.2"],
            "the number of children is probably unbounded".to_owned(),
        );
    }
    let alone = facts.queried_alone.unwrap_or(0.0);
    match facts.kind {
        Kind::ManyToOne | Kind::ManyToMany => {
            // Shared children with their own reads or changes must be stored once. Values that are
            // never read alone may be duplicated.
            let changes = facts.child_only_update.unwrap_or(0.0) > 0.0;
            if alone > 0.0 || changes || facts.queried_alone.is_none() {
                let rows: &[&str] = match facts.kind {
                    Kind::ManyToMany => &["ER-T.6", "DM-07.6", "ER-M.5"],
                    _ => &["DM-07.6", "ER-M.5"],
                };
                let how = if alone > 0.0 || changes {
                    "the child is shared, and is read or changed on its own"
                } else {
                    "the child is shared, and no declaration says that it is never read alone"
                };
                return (Choice::Reference, rows, how.to_owned());
            }
        }
        Kind::OneToOne | Kind::OneToMany => {
            let most = bound(facts, bounds);
            let few = most < bounds.few;
            // ALG-5 references a few children that are read alone, and embeds 50 and more that
            // change with their parent. Children that must change atomically with their parent are
            // embedded, regardless of their number (ER-T.4, DP-3).
            if facts.atomic == Some(true) && (!few || alone > bounds.often) {
                let how = "parent and children must change together, and no rule vetoes embedding"
                    .to_owned();
                return (Choice::Embed, &["ER-T.4"], how);
            }
            if few {
                return if alone > bounds.often {
                    let how = format!(
                        "few children, but {} of the reads need only the child",
                        text::percent(alone)
                    );
                    (Choice::Reference, &["ER-M.7", "DM-07.2"], how)
                } else {
                    let how = format!("fewer than {} children per parent", bounds.few);
                    (Choice::Embed, &["ER-T.1", "LM-7"], how)
                };
            }
            if facts.co_read.is_none_or(|share| share < bounds.mostly) {
                let how = format!(
                    "{} or more children, which are not always read with the parent",
                    text::count(bounds.few)
                );
                return (Choice::Reference, &["ER-T.3", "GC-06"], how);
            }
        }
    }
    let count =
        |vote| rows.iter().filter(|row| row.vote == vote).map(|r| r.rows.len()).sum::<usize>();
    let (embed, reference) = (count(Vote::Embed), count(Vote::Reference));
    let how = format!("{embed} votes for embedding, {reference} for referencing");
    if reference > embed {
        (Choice::Reference, &["ER-X.1"], how)
    } else if reference == embed {
        (Choice::Embed, &["DM-07.1"], format!("{how}; in a tie, embed"))
    } else {
        (Choice::Embed, &["ER-X.1"], how)
    }
}

#[cfg(test)]
mod tests;
