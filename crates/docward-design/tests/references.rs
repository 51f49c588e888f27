//! Functions for children that are documents of their own: what a parent keeps of them, copies beside their
//! references, and lists and pairs that lead to them. Their text, without a server; tests/live.rs runs them.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use docward_design::{Bounds, design, maintain::scripts, read};
use docward_model::ProfileName;

const MODEL: &str = include_str!("models/referenced.yaml");

/// The functions of a model by their names, as mongosh takes them.
fn functions(text: &str) -> Vec<(String, String)> {
    let model = read("referenced.yaml", text).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let design = design(&model, ProfileName::Neutral, &Bounds::default());
    let scripts = scripts(&model, &design, ProfileName::Neutral);
    let jobs = scripts.into_iter().flat_map(|script| script.jobs);
    jobs.map(|job| (job.name.clone(), job.shell())).collect()
}

/// A function in one line, so that a test does not depend on how it is broken.
#[track_caller]
fn function(text: &str, name: &str) -> String {
    let all = functions(text);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let found = all.iter().find(|(known, _)| known == name);
    let text = &found.unwrap_or_else(|| panic!("no {name} among {names:?}")).1;
    text.split_whitespace().filter(|word| *word != "*").collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn pt_extref_1_one_function_adds_a_child_with_the_copies_of_all_its_references() {
    for name in ["addPatientVisit", "addDoctorVisit"] {
        let add = function(MODEL, name);
        says(
            &add,
            &[
                "findOne({ _id: visit.wardId }, { title: 1, floor: 1 })",
                "if (ofWardId === null) throw new Error(\"there is no such ward\")",
                "ward: pick(visit.ward ?? ofWardId, [\"title\", \"floor\"])",
                "`ward` is copied from the document that `wardId` names, unless it is given.",
                // Both parents count.
                "visitCount",
            ],
        );
    }
    says(
        &function(MODEL, "addPatientVisit"),
        &[
            "doctor: pick(visit.doctor ?? ofDoctorId, [\"name\"])",
            "getCollection(\"doctor\").updateOne( { _id: visit.doctorId }",
        ],
    );
    says(
        &function(MODEL, "addDoctorVisit"),
        &["getCollection(\"patient\").updateOne( { _id: visit.patientId }"],
    );
    says(
        &function(MODEL, "removePatientVisit"),
        &["getCollection(\"doctor\").updateOne( { _id: found.doctorId }"],
    );
    // Also at the top of a tree.
    says(
        &function(MODEL, "addWard"),
        &["clinic: pick(ward.clinic ?? ofClinicId, [\"name\"])", "ancestors: []"],
    );
}
