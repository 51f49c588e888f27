//! `design simulate`: the alternatives to store a relationship, built in a scratch database, with
//! the declared operations executed on each.
//!
//! Everything happens in one database that did not exist before, and that is always dropped.
//!
//! Read on: `make` (documents of declared sizes), `run` (the sequence of a simulation), `replay`
//! (the declared mix). Children with one parent are in `store`, `relation` and `write`, shared
//! children in `shared`, time series in `series`.

mod context;
mod make;
mod queries;
mod relation;
mod replay;
mod run;
mod series;
mod shared;
mod store;
mod write;

use docward_design::{
    Decision, Design, Naming, Pattern, Predictor, Readings, ReadingsWay, StorageAlternative,
    Verdict, predictors, quantile, readings,
};
use docward_model::{DesignModel, Relationship};

pub use run::{scratch_name, simulate};

use make::Rng;
use store::LARGEST;

/// The size of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The maximum number of parents of each relationship, and of series of each entity.
    pub parents: u64,
    /// The number of measurements of each time series entity.
    pub readings: u64,
    /// The number of operations per alternative.
    pub operations: u64,
    /// The random seed.
    pub seed: u64,
}

/// The plan of a simulation.
#[derive(Debug)]
pub struct SimulationPlan<'m> {
    model: &'m DesignModel,
    /// Relationships with their alternatives.
    pub relationships: Vec<PlannedSimulation<'m>>,
    /// Time series entities with their alternatives.
    pub series: Vec<PlannedSeries>,
    /// Relationships and entities that cannot be simulated, each with the reason.
    pub skipped: Vec<(String, String)>,
    /// The size of the simulation.
    pub scale: Scale,
}

/// An entity whose measurements are stored in several alternatives.
#[derive(Debug)]
pub struct PlannedSeries {
    readings: Readings,
    ways: Vec<ReadingsWay>,
    /// The number of series, and of measurements in each.
    size: (u64, u64),
}

impl PlannedSeries {
    fn new(readings: Readings, scale: Scale) -> Self {
        // Two days of each series exist for reading, unless that is too much.
        let two_days = (2 * 86_400_000_u64).div_ceil(readings.step.max(1) as u64);
        let each = two_days.clamp(100.min(scale.readings), scale.readings);
        let known = readings.series.map_or(u64::MAX, |series| series.max(1.0) as u64);
        let series = (scale.readings / each).clamp(1, scale.parents.min(known));
        let size = (series, scale.readings / series);
        let mut ways = vec![ReadingsWay::Documents, ReadingsWay::Buckets];
        if !readings.needs_plain {
            ways.push(ReadingsWay::TimeSeries);
        }
        ways.sort_by_key(|way| *way != readings.chosen);
        Self { readings, ways, size }
    }

    /// The name of its entity.
    pub fn name(&self) -> &str {
        &self.readings.entity
    }

    /// The number of documents and bytes in each alternative.
    pub fn sizes(&self) -> Vec<(&'static str, u64, u64)> {
        let size = |way: &ReadingsWay| {
            let (documents, bytes, _) = self.readings.stored(*way, self.size.0, self.size.1);
            (way.name(), documents, bytes)
        };
        self.ways.iter().map(size).collect()
    }
}

/// A relationship to simulate.
#[derive(Debug)]
pub struct PlannedSimulation<'m> {
    relationship: &'m Relationship,
    verdict: Verdict,
    ways: Vec<Predictor>,
    /// The number of children of each parent, unordered.
    counts: Vec<u64>,
    /// The number of distinct children, if parents share them.
    different: Option<u64>,
    /// Notes on parts of the design that are not simulated.
    notes: Vec<String>,
}

/// Patterns that no alternative implements here; a note explains their effect.
fn not_simulated(patterns: &[Pattern], shared: bool) -> Vec<String> {
    let said = patterns.iter().filter_map(|pattern| {
        match pattern {
        Pattern::Outlier { page } => Some(format!(
            "the simulation has no outlier pages: a parent contains all its children, even more \
             than {page} (PT-outlier.1)"
        )),
        Pattern::Approximation { .. } => {
            Some("the simulation has no approximate counts: it counts the children".to_owned())
        }
        Pattern::Subset { .. } if shared => Some(
            "the simulation has no previews of shared children: it fetches the newest (PT-subset.1)"
                .to_owned(),
        ),
        _ => None,
    }
    });
    said.collect()
}

/// The maximum size of an alternative in bytes.
pub const MAX_BYTES: u64 = 8 << 30;

/// The maximum number of documents of an alternative.
pub const MAX_DOCUMENTS: u64 = 50_000_000;

/// Fewer parents than this are not significant.
const FEWEST_PARENTS: u64 = 10;

impl<'m> PlannedSimulation<'m> {
    fn new(
        model: &'m DesignModel,
        relationship: &'m Relationship,
        decision: &Decision,
        ways: &[Predictor],
        scale: Scale,
    ) -> Self {
        let mut counts = quantile::counts(decision.facts.children, scale.parents);
        shuffle(&mut counts, &mut Rng::new(scale.seed));
        let mut ways = ways.to_vec();
        let different = relationship.is_shared().then(|| different(model, relationship, &counts));
        if let Some(different) = different {
            let links: u64 = counts.iter().sum();
            let parents = links as f64 / different as f64;
            ways = ways.into_iter().map(|way| way.shared_by(parents)).collect();
        }
        Self {
            relationship,
            verdict: decision.verdict,
            ways,
            counts,
            different,
            notes: not_simulated(&decision.patterns, relationship.is_shared()),
        }
    }

    /// Whether an alternative would be larger than a simulation may be.
    fn is_too_large(&self) -> bool {
        let is_large = |(_, documents, bytes): &(&str, u64, u64)| {
            *documents > MAX_DOCUMENTS || *bytes > MAX_BYTES
        };
        self.sizes().iter().any(is_large)
    }
}

impl PlannedSimulation<'_> {
    /// The name of the relationship.
    pub fn name(&self) -> &str {
        &self.relationship.name
    }

    /// Notes on parts of the design that are not simulated.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The number of documents and bytes in each alternative.
    pub fn sizes(&self) -> Vec<(&'static str, u64, u64)> {
        let links: u64 = self.counts.iter().sum();
        let parents = self.counts.len() as u64;
        let children = self.different.unwrap_or(links);
        let size = |way: &Predictor| match way.way {
            StorageAlternative::Embed => {
                let most = way.fitting(LARGEST);
                let cut: Vec<u64> = self.counts.iter().map(|n| (*n).min(most)).collect();
                (way.name(), parents, way.storage(&cut, children).0)
            }
            _ => {
                let pairs = if way.is_paired() { links } else { 0 };
                (way.name(), parents + children + pairs, way.storage(&self.counts, children).0)
            }
        };
        self.ways.iter().map(size).collect()
    }
}

impl<'m> SimulationPlan<'m> {
    /// Plans a simulation of all relationships and series, or of the named ones.
    pub fn new(
        model: &'m DesignModel,
        design: &Design,
        naming: Naming,
        names: &[String],
        scale: Scale,
    ) -> Self {
        let (relationships, series, skipped) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan = Self { model, relationships, series, skipped, scale };
        let is_series = |name: &str| model.entity(name).is_some_and(|e| e.series.is_some());
        for entity in model.entities.iter().filter(|entity| entity.series.is_some()) {
            if !names.is_empty() && !names.contains(&entity.name) {
                continue;
            }
            match readings(model, design, naming, entity) {
                Ok(readings) => plan.series.push(PlannedSeries::new(readings, scale)),
                Err(why) => plan.skipped.push((entity.name.clone(), why)),
            }
        }
        for relationship in &model.relationships {
            let name = &relationship.name;
            if !names.is_empty() && !names.contains(name) {
                continue;
            }
            let decision = design.decisions.iter().find(|d| d.relationship == *name);
            let why = match decision {
                None => Some("it was not decided".to_owned()),
                Some(decision) if decision.choice.is_none() => {
                    let open = decision.questions.first().map_or("", |q| q.ask.as_str());
                    Some(format!("it is undecided: {open}"))
                }
                Some(_) if relationship.parent == relationship.child => {
                    Some("an entity that is its own parent is not simulated".to_owned())
                }
                Some(_) if names.is_empty() && is_series(&relationship.child) => Some(format!(
                    "`{}` is simulated as a series; name the relationship to simulate its \
                     readings as children",
                    relationship.child
                )),
                Some(_) => None,
            };
            if let Some(why) = why {
                plan.skipped.push((name.clone(), why));
                continue;
            }
            let Some(decision) = decision else { continue };
            let ways = predictors(model, design, naming, relationship);
            let mut parents = scale.parents;
            let mut planned = PlannedSimulation::new(model, relationship, decision, &ways, scale);
            // Each relationship is as large as it can be, so one large list does not stop the others.
            while planned.is_too_large() && parents > FEWEST_PARENTS {
                parents = (parents / 2).max(FEWEST_PARENTS);
                let scale = Scale { parents, ..scale };
                planned = PlannedSimulation::new(model, relationship, decision, &ways, scale);
            }
            if planned.is_too_large() {
                plan.skipped.push((
                    name.clone(),
                    format!(
                        "even {} would need more than {} or {} documents",
                        docward_model::text::plural(parents, "parent"),
                        docward_model::text::bytes(MAX_BYTES),
                        docward_model::text::count(MAX_DOCUMENTS)
                    ),
                ));
                continue;
            }
            let PlannedSimulation { ways, notes, .. } = &mut planned;
            if parents < scale.parents {
                notes.push(format!(
                    "the simulation has {} instead of {}, because more would exceed {} or {} \
                     documents",
                    docward_model::text::plural(parents, "parent"),
                    docward_model::text::count(scale.parents),
                    docward_model::text::bytes(MAX_BYTES),
                    docward_model::text::count(MAX_DOCUMENTS)
                ));
            }
            if let Some(home) = design.home_elsewhere(name) {
                notes.push(format!(
                    "the design stores `{}` in the documents of `{}` (`{}`), but the simulation \
                     stores them in their own collection or in `{}`, so its results do not apply \
                     to the design (DM-07.6)",
                    home.child, home.parent, home.relationship, relationship.parent
                ));
                ways.iter_mut().for_each(|way| way.chosen = false);
            }
            plan.relationships.push(planned);
        }
        plan
    }
}

/// The number of distinct children that parents with these numbers of children share: proportional
/// to the declared counts, or computed from the number of parents per child.
fn different(model: &DesignModel, relationship: &Relationship, counts: &[u64]) -> u64 {
    let declared = |name: &str| model.entity(name).and_then(|entity| entity.count);
    let (parents, links) = (counts.len() as f64, counts.iter().sum::<u64>() as f64);
    let children = match (declared(&relationship.child), declared(&relationship.parent)) {
        (Some(children), Some(all)) if all > 0.0 => parents * children / all,
        _ => links / relationship.parents.max(1.0),
    };
    let most = counts.iter().copied().max().unwrap_or(1);
    (children.round() as u64).clamp(most.max(1), u64::from(u32::MAX))
}

fn shuffle(counts: &mut [u64], rng: &mut Rng) {
    for i in (1..counts.len()).rev() {
        counts.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pt_outlier_1_what_is_left_out_is_said() {
        let said = not_simulated(&[Pattern::Embedded, Pattern::Outlier { page: 900 }], false);
        assert_eq!(said.len(), 1);
        assert!(said[0].ends_with("even more than 900 (PT-outlier.1)"), "{said:?}");
        assert!(not_simulated(&[Pattern::Junction], true).is_empty());
        let newest = || Pattern::Subset { newest: 3, by: "_id".to_owned(), fields: Vec::new() };
        assert_eq!(not_simulated(&[Pattern::Junction, newest()], true).len(), 1);
        assert!(not_simulated(&[Pattern::ParentInChild, newest()], false).is_empty());
    }
}
