//! Tests, without a server, the text of functions for separate children: stored figures of the
//! parent, copies beside references, lists and junction documents. `tests/live.rs` runs them.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use docward_design::{Bounds, design, maintain::scripts, read};
use docward_model::ProfileName;

const MODEL: &str = include_str!("models/referenced.yaml");

/// Returns the functions of a model as mongosh code, with their names.
fn functions(text: &str) -> Vec<(String, String)> {
    let model = read("referenced.yaml", text).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let design = design(&model, ProfileName::Neutral, &Bounds::default());
    let scripts = scripts(&model, &design, ProfileName::Neutral);
    let jobs = scripts.into_iter().flat_map(|script| script.jobs);
    jobs.map(|job| (job.name.clone(), job.shell())).collect()
}

/// Returns a function in one line, so that tests do not depend on line breaks.
#[track_caller]
fn function(text: &str, name: &str) -> String {
    let all = functions(text);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let found = all.iter().find(|(known, _)| known == name);
    let text = &found.unwrap_or_else(|| panic!("no {name} among {names:?}")).1;
    let lines: Vec<&str> = text.lines().map(|line| line.trim().trim_start_matches("* ")).collect();
    lines.join(" ")
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
fn pt_computed_2_pt_hybrid_1_a_declared_change_of_a_child_has_a_function_that_its_parents_follow() {
    let change = function(MODEL, "changePatientVisit");
    says(
        &change,
        &[
            // The old values come from the server and not from the caller.
            "const found = db.getCollection(\"visit\").findOneAndUpdate( { _id: visitId, patientId }, { $set: changes }, );",
            "$subtract: [ { $ifNull: [{ $literal: next.cost }, 0] }, { $ifNull: [{ $literal: found.cost }, 0] }, ]",
            "$divide: [\"$costSum\", \"$visitCount\"]",
            "{ _id: found.patientId, recentVisits: parent.recentVisits }, { $set: { recentVisits: shown } }",
            "if (changes.wardId !== undefined) throw",
        ],
    );
    // A visit that a concurrent change added to the preview is not added twice.
    let add = function(MODEL, "addPatientVisit");
    says(&add, &["$ne: [\"$$this.visitId\", { $literal: _id }]"]);
    // Doctors store only a count, which changes of a visit do not affect.
    let names =
        |text: &str| -> Vec<String> { functions(text).into_iter().map(|(name, _)| name).collect() };
    assert!(!names(MODEL).contains(&"changeDoctorVisit".to_owned()));
    let fixed = MODEL.replace("sets: [visit.cost, visit.reason]", "sets: [visit.createTime]");
    assert!(names(&fixed).contains(&"changePatientVisit".to_owned()), "the order changes");
    let unsaid =
        MODEL.replace("update: [visit], sets: [visit.cost, visit.reason]", "update: [visit]");
    assert!(names(&unsaid).contains(&"changePatientVisit".to_owned()), "it may be any field");
    let never =
        MODEL.replace("update: [visit], sets: [visit.cost, visit.reason]", "update: [doctor]");
    assert!(!names(&never).contains(&"changePatientVisit".to_owned()));
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
    assert!(!functions(&bare).iter().any(|(name, _)| name == "refreshCopiesOfStudent"));
}

#[test]
fn pt_extref_2_copies_in_a_list_go_when_their_source_has() {
    says(
        &function(MODEL, "refreshCopiesOfInteract"),
        &["\"interacts.$[one]\": { geneId: interactId, ...pick(found, [\"symbol\", \"name\"]) }"],
    );
}

/// If another client changes a document while it is being upgraded, the function reads it again.
#[test]
fn an_upgrade_of_a_shape_writes_only_over_what_it_has_read() {
    let upgrade = function(MODEL, "upgradePatient");
    says(
        &upgrade,
        &[
            "{ _id, $expr: { $in: [\"$$ROOT\", [{ $literal: before }]] } }",
            "if (done.matchedCount === 0) continue;",
            "const update = { $set: set, $inc: { version: 1 } };",
            "It stores no old version",
        ],
    );
    let plain = function(&MODEL.replace("    keeps-versions: true\n", ""), "upgradePatient");
    assert!(!plain.contains("version: 1") && !plain.contains("no old version"), "{plain}");
}

#[test]
fn pt_computed_1_a_rough_count_goes_down_too_and_nothing_comes_to_a_parent_that_is_not_there() {
    says(&function(MODEL, "removeLike"), &["countLike(db, postId, Math.random(), -1);"]);
    says(
        &function(MODEL, "countLike"),
        &["likeCount: { $max: [0, { $add: [{ $ifNull: [\"$likeCount\", 0] }, by * 100] }] }"],
    );
    let add = function(MODEL, "addLike");
    says(&add, &["if (parent === null) throw new Error(\"there is no such post\");"]);
    assert!(add.find("parent === null") < add.find("insertOne"), "{add}");
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
