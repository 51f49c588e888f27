//! What must hold whatever a model says: costs do not depend on the order of the file, vetoes look at large
//! children, and nothing lets young documents go.

use docward_design::{
    Bounds, Choice, Design, Naming, Pattern, Purpose, Rank, Verdict, design, document_bytes,
    predictors, quantile, read,
};
use docward_model::ProfileName;

fn designed(text: &str) -> Design {
    let model = read("model.yaml", text).unwrap_or_else(|faults| panic!("{faults:?}"));
    design(&model, ProfileName::Vendor, &Bounds::default())
}

const USER: &str = "
entities:
  user: {count: 1k, fields: {name: string, birthDate: date}, lifecycle: {growth: 1/day, kept: 1 year}}
  photo: {fields: {data: {type: binData, bytes: {typical: 1 MB, p99: 15 MB}}}, lifecycle: {growth: 1/day, kept: forever}}
  address: {fields: {city: string}, lifecycle: {growth: 1/day, kept: forever}}
reads:
  page: {rate: 9/s, from: user, where: [_id], with: [user.photo, user.addresses]}
writes:
  sign up: {rate: 1/s, insert: [user, photo, address]}
relationships:
";
const PHOTO: &str = "  user.photo: {child: photo, children: 1}\n";
const ADDRESSES: &str =
    "  user.addresses: {child: address, children: {p50: 1, p99: 3, max: 5}, growth: bounded}\n";

#[test]
fn er_m_6_er_f_7_a_child_that_is_large_at_p99_is_not_embedded() {
    let design = designed(&format!("{USER}{PHOTO}{ADDRESSES}"));
    let photo = &design.decisions[0];
    assert_eq!(photo.verdict, Verdict::Reference, "{:#?}", photo.ruling);
    assert!(photo.facts.projected() > 15_000_000);
}

#[test]
fn dp_1_costs_do_not_depend_on_the_order_of_the_file() {
    let (one, other) = (
        designed(&format!("{USER}{PHOTO}{ADDRESSES}")),
        designed(&format!("{USER}{ADDRESSES}{PHOTO}")),
    );
    for decision in &one.decisions {
        let same = other.decisions.iter().find(|d| d.relationship == decision.relationship);
        assert_eq!(decision.alternatives, same.unwrap().alternatives, "{}", decision.relationship);
    }
}

#[test]
fn a_birthday_lets_no_document_go() {
    let design = designed(&format!("{USER}{PHOTO}{ADDRESSES}"));
    let user = design.collections.iter().find(|c| c.entity == "user").unwrap();
    assert!(user.indexes.iter().all(|index| index.expire_after.is_none()), "{:?}", user.indexes);
    let advice = design.entities.iter().find(|a| a.entity == "user").unwrap();
    assert!(advice.remarks.iter().any(|r| r.contains("no date field")), "{:?}", advice.remarks);
    let better = USER.replace("birthDate: date", "birthDate: date, createTime: date");
    let design = designed(&format!("{better}{PHOTO}{ADDRESSES}"));
    let user = design.collections.iter().find(|c| c.entity == "user").unwrap();
    let expiring: Vec<_> = user.indexes.iter().filter(|i| i.expire_after.is_some()).collect();
    assert_eq!(expiring.len(), 1);
    assert_eq!(expiring[0].keys, [("createTime".to_owned(), false)]);
}

/// A table of costs and the size of a collection are about the same documents.
#[test]
fn alg_2_predicted_parents_are_the_documents_of_the_design() {
    let folders = ["../../examples/models", "tests/models"];
    let files = folders.iter().flat_map(|folder| {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path())
    });
    let (mut seen, mut differ) = (0, Vec::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let model = read("model.yaml", &text).unwrap();
        let made = design(&model, ProfileName::Neutral, &Bounds::default());
        let naming = Naming::of(&model, ProfileName::Neutral);
        for relationship in &model.relationships {
            let all = predictors(&model, &made, naming, relationship);
            let Some(chosen) = all.first().filter(|_| relationship.parent != relationship.child)
            else {
                continue;
            };
            let decision =
                made.decisions.iter().find(|d| d.relationship == relationship.name).unwrap();
            let whole = made
                .collections
                .iter()
                .find(|c| c.entity == relationship.parent && matches!(c.purpose, Purpose::Entity));
            let Some(whole) = whole else { continue };
            // Whole copies of what parents share are known by an id in the table, by their value in the design.
            if relationship.is_shared() && decision.choice == Some(Choice::Embed) {
                continue;
            }
            // Tables leave out counters that are right now and then, and overflow pages.
            let apart = |pattern: &Pattern| {
                matches!(pattern, Pattern::Approximation { .. } | Pattern::Outlier { .. })
            };
            if decision.patterns.iter().any(apart) {
                continue;
            }
            // Beside another sum of a field of the same name a sum has a longer name.
            let computed = |pattern: &Pattern| matches!(pattern, Pattern::Computed { .. });
            let few = if decision.patterns.iter().any(computed) { 16 } else { 0 };
            let children = decision.facts.children;
            let mean = quantile::mean(children).round() as u64;
            for (rank, children) in [
                (Rank::Typical, children.p50),
                (Rank::Mean, mean),
                (Rank::P99, children.p99),
                (Rank::Max, children.max),
            ] {
                let (predicted, designed) =
                    (chosen.parent_bytes(children, rank), document_bytes(&whole.fields, rank));
                if predicted.abs_diff(designed) > few {
                    let (file, name) = (file.display(), &relationship.name);
                    let patterns = &decision.patterns;
                    differ.push(format!(
                        "{file} {name} {rank:?}: {predicted}, {designed}, {patterns:?}"
                    ));
                }
            }
            seen += 1;
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
    assert!(seen > 30, "{seen}");
}
