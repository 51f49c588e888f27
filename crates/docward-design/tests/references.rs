//! Tests, without a server, the text of functions for separate children: stored figures of the
//! parent, copies beside references, lists and junction documents. `tests/live.rs` runs them.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use crate::common::{of, says};

const MODEL: &str = include_str!("models/referenced.yaml");

#[track_caller]
fn function(text: &str, name: &str) -> String {
    of(text).function(name)
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
                // Both parents store a count.
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
    // The same holds at the top of a tree, whose functions have names of their own.
    says(&function(MODEL, "addClinicWard"), &["addClinicWard(db, clinicId, ward)"]);
    says(
        &function(MODEL, "addWard"),
        &["clinic: pick(ward.clinic ?? ofClinicId, [\"name\"])", "ancestors: []"],
    );
}

#[test]
fn pt_computed_1_what_a_parent_keeps_can_be_worked_out_again_for_pairs_too() {
    says(
        &function(MODEL, "rebuildStudents"),
        &["countDocuments({ courseId })", "studentCount: number"],
    );
}

#[test]
fn pt_extref_2_pt_junction_1_pairs_lead_to_what_is_there_and_their_copies_are_read_and_refreshed() {
    says(
        &function(MODEL, "linkStudent"),
        &[
            "if (parent === null) throw new Error(\"there is no such course\");",
            "if (found === null) throw new Error(\"there is no such student\");",
            // A field that the student lacks is omitted and not null.
            "student: pick(found, [\"name\"])",
        ],
    );
    let list = function(MODEL, "listStudentsOfCourse");
    says(&list, &["getCollection(\"course_student\").find({ courseId })"]);
    assert!(!list.contains("$lookup"), "{list}");
    says(
        &function(MODEL, "refreshCopiesOfStudent"),
        &["Declared writes change `name`", "updateMany( { studentId }, { $set: { student: pick("],
    );
    // The student is too large for copies, so the function looks up the other side.
    let bare = MODEL
        .replace("course.students: [name]", "course.students: all")
        .replace(
            "      name: {type: string, required: false}\n      mail",
            "      photo: {type: binData, bytes: 2 KB}\n      name: {type: string, required: false}\n      mail",
        );
    says(&function(&bare, "listStudentsOfCourse"), &["$lookup"]);
    let pairs = of(&bare).scripts().into_iter().find(|s| s.about == "course.students");
    assert!(pairs.unwrap().jobs.iter().all(|job| job.name != "refreshCopiesOfStudent"));
}

#[test]
fn pt_extref_2_copies_in_a_list_go_when_their_source_has() {
    says(
        &function(MODEL, "refreshCopiesOfInteract"),
        &["\"interacts.$[one]\": { geneId: interactId, ...pick(found, [\"symbol\", \"name\"]) }"],
    );
}

#[test]
fn sn_05_a_preview_by_id_is_sorted_by_the_name_the_id_has_there() {
    let by_id = MODEL.replace("newest: 5, by: createTime", "newest: 5, by: _id");
    says(&function(&by_id, "addPatientVisit"), &["$gt: [\"$$this.visitId\", { $literal: _id }]"]);
    let classic = by_id
        .replace("    sum: {patient.visits: cost}\n", "")
        .replace("sets: [visit.cost, visit.reason]", "sets: [visit.cost]");
    says(&function(&classic, "addPatientVisit"), &["$sort: { visitId: -1 }"]);
    says(&function(&classic, "rebuildPatientVisits"), &[".sort({ _id: -1 }).limit(5)"]);
}

#[test]
fn pt_subset_2_those_of_one_moment_have_one_order() {
    let add = function(MODEL, "addPatientVisit");
    assert!(add.contains("$eq: [") && add.contains("\"$$this.createTime\""), "{add}");
    let rebuild = function(MODEL, "rebuildPatientVisits");
    // The function must not sort all children of a parent for this.
    says(
        &rebuild,
        &[".sort({ createTime: -1, _id: -1 }).limit(", ".sort({ createTime: -1 }).skip("],
    );
}
