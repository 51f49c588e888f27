//! DM-09.1: dates declared as text.

use std::collections::BTreeSet;

use docward_model::{
    BsonType, Draft, Evidence, Severity,
    code::{Code, DeclaredField, Meant},
};

use crate::{
    Cx, declare_rule,
    facts::{code, moments, names, words},
};

declare_rule! {
    /// # String date in a model
    ///
    /// ## What it checks
    /// Reports fields of models in source code whose name says a point in time (`createdAt`, `lastLoginDate`,
    /// `expireTime`) and whose type is a string. It is information where the text may be meant: where the name says a day
    /// of the calendar (`dueDate`, `birth_date`, also `lastLeaveDate`; what a program sees last, `lastActiveDate`, is none) and no code gives it the present time
    /// (`new Date().toISOString()`), beside a date of a
    /// related name (`startDate` of `startDay`) or the same as a number (`lastUpdate` of `lastUpdateTime`), where it may be a time of day
    /// (`startTime`, `preferredStartTime`, `scheduledTime`, `visitTime` beside `visitDate`), in what browsers hand over (`expirationTime` beside `endpoint` and
    /// `keys`), in capitals as other systems write them (`LAUNCH_DATE`), in answers of payment
    /// providers (beside `responseCode` and `bankCode`) and other systems (an object in which everything is text, also what they count; parts of a
    /// model that is named after a result, `ScanResult`, and has a date itself), and in structs of Go that documents are only read into.
    /// Lengths of time are no points in time, nor are times of day: those that a comment, a default or a pattern
    /// shows (`"09:00"`, `HH:mm`), days that a comment or a pattern shows (`YYYY-MM-DD`, `MM-DD`, `2024-03-01`, `/^\d{4}-\d{2}-\d{2}$/`; a comment
    /// above the field, its marks or the type of the model counts as one behind it), those of shops that open and close
    /// (`openAt` and `closeAt`), and months (`MM/YY`, what expires beside `cvv` or `cardNumber`). What is shown of one end of a span counts for the other (`startDate` and `endDate`). The fields of a
    /// model are one finding.
    ///
    /// ## Why it matters
    /// Dates as text sort and compare only as long as everybody writes the same form; date operators, TTL indexes
    /// and time series do not work on them.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// const schema = new mongoose.Schema({title: String, createdAt: String});
    /// module.exports = mongoose.model('Post', schema);
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const schema = new mongoose.Schema({title: String, createdAt: Date, timeZone: String});
    /// module.exports = mongoose.model('Post', schema);
    /// ```
    ///
    /// ## How to fix
    /// Declare a date, and convert what is stored with `$toDate`.
    ///
    /// ## When to ignore it
    /// The text is a label of a period (`2024-03`), or a local time whose zone is part of the meaning.
    T021, "string-date-in-model",
    level: Recommended,
    area: Correctness,
    severities: [Warn, Info],
    clauses: ["DM-09.1", "CK-5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["path"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let mut weighed = Vec::new();
    for (field, leaf) in code::fields(evidence, is_time) {
        if is_of_opening(evidence, field, leaf) || is_of_card(evidence, field, leaf) {
            continue;
        }
        let may_be_meant = field.only_read
            || code::is_never_run(evidence, &field.place)
            || is_day(evidence, leaf)
            || moments::may_be_of_day(leaf)
            || has_day_beside(evidence, field, leaf)
            || names::style(leaf) == names::Style::Screaming
            || is_of_others(&field.path)
            || is_answer(evidence, field, leaf)
            || is_of_provider(evidence, field, leaf)
            || is_subscription(evidence, field, leaf)
            || has_date_beside(evidence, field, leaf);
        let severity = if may_be_meant { Severity::Info } else { Severity::Warn };
        // What somebody accepted takes no other field with it.
        let alone = draft(evidence, &[field]).severity(severity);
        match cx.is_accepted(&alone) {
            true => cx.report(alone),
            false => weighed.push((field, severity)),
        }
    }
    for (fields, severity) in code::by_model(evidence, weighed) {
        cx.report(draft(evidence, &fields).severity(severity));
    }
}

fn draft(evidence: &Evidence, fields: &[&DeclaredField]) -> Draft {
    let what = match fields.len() {
        1 => "is a point in time kept as text",
        _ => "are points in time kept as text",
    };
    code::fields_draft(
        evidence,
        fields,
        what,
        "text sorts and compares only while everybody writes one form; date operators and TTL indexes do not work on it",
        "declare a date, and convert what is stored with $toDate",
    )
}

/// Whether a text is the month until which a card is good, as it is printed on it: `expiryDate` beside `cvv`.
fn is_of_card(evidence: &Evidence, field: &DeclaredField, leaf: &str) -> bool {
    let name = names::normalised(leaf);
    (name.contains("expir") || name.contains("validthru"))
        && beside(evidence, field, leaf).any(|other| {
            matches!(
                names::normalised(other).as_str(),
                "cvv" | "cvc" | "cardnumber" | "cardno" | "cardholder" | "cardholdername"
            )
        })
}

/// Whether a field stands in an object in which everything is text: what another system answered, as it came.
fn is_answer(evidence: &Evidence, field: &DeclaredField, leaf: &str) -> bool {
    /// Fewer may be text by nature.
    const FIELDS: usize = 5;
    let parent = field.path.strip_suffix(leaf).unwrap_or_default();
    let beside: Vec<&DeclaredField> = evidence
        .code
        .iter()
        .flat_map(|code| &code.fields)
        .filter(|other| other.model == field.model)
        .filter(|other| {
            let name = other.path.strip_prefix(parent);
            name.is_some_and(|name| !name.is_empty() && !name.contains(['.', '[']))
        })
        .collect();
    let says_number = |other: &&DeclaredField| {
        let name = other.path.strip_prefix(parent).unwrap_or_default();
        names::words(name).iter().any(|word| {
            matches!(
                words::singular(word).as_str(),
                "count"
                    | "total"
                    | "amount"
                    | "index"
                    | "density"
                    | "rating"
                    | "score"
                    | "size"
                    | "bug"
                    | "coverage"
                    | "priority"
                    | "percent"
                    | "number"
                    | "price"
                    | "line"
            )
        })
    };
    let is_all_text = beside.len() >= FIELDS
        && beside.iter().all(|other| other.types.contains(&BsonType::String))
        && beside.iter().any(says_number);
    !parent.is_empty() && (is_all_text || is_result(evidence, field))
}

/// Names of the fields beside one, in the same object of the same model.
fn beside<'a>(
    evidence: &'a Evidence,
    field: &'a DeclaredField,
    leaf: &str,
) -> impl Iterator<Item = &'a str> {
    let parent = field.path.strip_suffix(leaf).unwrap_or_default().to_owned();
    evidence
        .code
        .iter()
        .flat_map(|code| &code.fields)
        .filter(|other| other.model == field.model)
        .filter_map(move |other| other.path.strip_prefix(parent.as_str()))
        .filter(|name| !name.is_empty())
}

/// Whether a field stands among what a payment provider answered, or has the prefix of one.
fn is_of_provider(evidence: &Evidence, field: &DeclaredField, leaf: &str) -> bool {
    const ANSWERED: [&str; 14] = [
        "responsecode",
        "respcode",
        "responsemessage",
        "bankcode",
        "banktranno",
        "cardtype",
        "txnref",
        "txnrefno",
        "transactionno",
        "transactionstatus",
        "authcode",
        "securehash",
        "tmncode",
        "rawresponse",
    ];
    let said: BTreeSet<String> = beside(evidence, field, leaf).map(names::normalised).collect();
    let first = names::words(leaf).into_iter().next().unwrap_or_default();
    matches!(first.as_str(), "txn" | "vnp" | "pp")
        || said.iter().filter(|name| ANSWERED.contains(&name.as_str())).count() >= 2
}

/// Whether a field belongs to the subscription that a browser hands over for pushing messages, as it came.
fn is_subscription(evidence: &Evidence, field: &DeclaredField, leaf: &str) -> bool {
    let has = |wanted: &str| {
        beside(evidence, field, leaf).any(|name| name.split(['.', '[']).next() == Some(wanted))
    };
    names::normalised(leaf) == "expirationtime" && has("endpoint") && has("keys")
}

/// Whether a model is named after a result, and has a date of its own that says when it came.
fn is_result(evidence: &Evidence, field: &DeclaredField) -> bool {
    let all = names::words(&field.model);
    let is_named = all.len() > 1
        && all
            .last()
            .is_some_and(|last| matches!(last.as_str(), "result" | "response" | "webhook"));
    is_named
        && evidence.code.iter().flat_map(|code| &code.fields).any(|other| {
            other.model == field.model
                && other.types.contains(&BsonType::Date)
                && !other.path.contains('.')
        })
}

/// Whether a day of the calendar may be meant: the name says no more, and no code gives it the present time.
fn is_day(evidence: &Evidence, leaf: &str) -> bool {
    let is_stamped = evidence.code.as_ref().is_some_and(|code| code.stamped.contains(leaf));
    names::normalised(leaf) == "datekey" || (moments::may_be_a_day(leaf) && !is_stamped)
}

/// Whether a time stands beside the day that it is of: `visitTime` and `visitDate`.
fn has_day_beside(evidence: &Evidence, field: &DeclaredField, leaf: &str) -> bool {
    let name = names::normalised(leaf);
    let Some(stem) = name.strip_suffix("time").filter(|stem| !stem.is_empty()) else {
        return false;
    };
    let day = format!("{stem}date");
    beside(evidence, field, leaf).any(|other| names::normalised(other) == day)
}

/// Whether a text is one of the two times of day between which something is open: `openAt` and `closeAt`.
fn is_of_opening(evidence: &Evidence, field: &DeclaredField, leaf: &str) -> bool {
    const PAIRS: [(&str, &str); 2] = [("openat", "closeat"), ("opensat", "closesat")];
    let name = names::normalised(leaf);
    let other = PAIRS.iter().find_map(|(open, close)| match name.as_str() {
        name if name == *open => Some(*close),
        name if name == *close => Some(*open),
        _ => None,
    });
    other.is_some_and(|other| {
        beside(evidence, field, leaf).any(|name| names::normalised(name) == other)
    })
}

/// Whether a field stands in what another system answered.
fn is_of_others(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(above, _)| {
        above.split('.').any(|part| {
            matches!(
                names::normalised(part.trim_end_matches("[]")).as_str(),
                "paymentresult"
                    | "paymentresponse"
                    | "paypal"
                    | "stripe"
                    | "razorpay"
                    | "webhook"
                    | "rawdata"
            )
        })
    })
}

/// Whether a field beside it holds the same, or the time of the document, as a date.
fn has_date_beside(evidence: &Evidence, field: &DeclaredField, leaf: &str) -> bool {
    let parent = field.path.strip_suffix(leaf).unwrap_or_default();
    let file = &field.place.location.file;
    evidence.code.iter().flat_map(|code| &code.fields).any(|other| {
        other.model == field.model
            && other.place.location.file == *file
            && other.path.strip_prefix(parent).is_some_and(|name| {
                let is_date = other.types.contains(&BsonType::Date);
                let is_number = other.types.contains(&BsonType::Long)
                    || (other.types.contains(&BsonType::Double)
                        && moments::says_count_of_time(name));
                let shares = moments::shares_word(name, leaf)
                    || (!other.generated && moments::shares_stem(name, leaf));
                (is_date && shares) || (is_number && moments::is_same_moment(name, leaf))
            })
    })
}

fn is_time(_: &Code, field: &DeclaredField, leaf: &str) -> bool {
    let is_text = field.types.contains(&BsonType::String)
        && field.types.iter().all(|kind| matches!(kind, BsonType::String | BsonType::Null));
    // Results of a grouping have dates of their own making.
    let is_result = field.path.starts_with("_id.")
        || field.path.split('.').rev().skip(1).any(|part| {
            matches!(
                part.trim_end_matches("[]"),
                "filter"
                    | "filters"
                    | "query"
                    | "params"
                    | "messages"
                    | "texts"
                    | "labels"
                    | "i18n"
            )
        });
    let is_moment = field.meant != Some(Meant::NoMoment);
    is_text && is_moment && !is_result && field.allowed.is_empty() && moments::says_time(leaf)
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn dm_09_1_classes_of_other_libraries_are_no_documents() {
        let java = |head: &str, mark: &str, field: &str| {
            let text = format!(
                "source A.java\n/* MongoDB, Inc. */\n{head}\n{mark}(\"x\")\npublic class A {{\n  private String id;\n  {field};\n}}\n"
            );
            check("T021", &text).len()
        };
        let spring = "import org.springframework.data.mongodb.core.mapping.Document;";
        assert_eq!(java(spring, "@Document", "private String createdAt"), 1);
        assert_eq!(java(spring, "@Document", "private Duration createdAt"), 0);
        assert_eq!(java(spring, "@Document", "private String cacheTime"), 0);
        let elastic = "import org.springframework.data.elasticsearch.annotations.Document;";
        assert_eq!(java(elastic, "@Document", "private String createdAt"), 0);
        let other = "import org.graylog2.configuration.Documentation;";
        assert_eq!(java(other, "@DocumentationSection", "private String createdAt"), 0);
        assert_eq!(java(spring, "@Documentation", "private String createdAt"), 0);
    }

    #[test]
    fn dm_09_1_days_that_a_comment_or_a_pattern_shows() {
        let python = |remark: &str| {
            let text = format!(
                "source a.py\nfrom beanie import Document\nclass Lead(Document):\n    visit_date: str  # {remark}\n"
            );
            check("T021", &text).len()
        };
        assert_eq!(python("e.g. \"2026-04-10\""), 0);
        assert_eq!(python("e.g. 2026-04-10T08:00"), 1);
        assert_eq!(python("e.g. 2026-04-10 08:00"), 1);
        assert_eq!(python("when they come"), 1);
        let java = |mark: &str| {
            let text = format!(
                "source A.java\nimport org.springframework.data.mongodb.core.mapping.Document;\n@Document\npublic class A {{\n  private String id;\n  {mark}\n  private String visitDate;\n}}\n"
            );
            check("T021", &text).len()
        };
        assert_eq!(java("@JsonFormat(pattern = \"yyyy-MM-dd\")"), 0);
        assert_eq!(java("@JsonFormat(pattern = \"yyyy-MM-dd HH:mm\")"), 1);
        assert_eq!(java("@NotNull"), 1);
    }

    #[test]
    fn dm_09_1_times_of_day_providers_and_other_words_for_one_event() {
        let severity = |fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Visit', new mongoose.Schema({{{fields}}}));"
            );
            check("T021", &text).iter().map(|finding| finding.severity).max()
        };
        assert_eq!(severity("preferredStartTime: String"), Some(Severity::Info));
        assert_eq!(severity("scheduledTime: String"), Some(Severity::Info));
        assert_eq!(severity("blockedTime: String"), Some(Severity::Info));
        assert_eq!(severity("finishedTime: String"), Some(Severity::Warn));
        assert_eq!(severity("visitTime: String"), Some(Severity::Warn));
        assert_eq!(severity("visitTime: String, visitDate: String"), Some(Severity::Info));
        assert_eq!(severity("last_donate_date: String"), Some(Severity::Info));
        assert_eq!(severity("lastSeenDate: String"), Some(Severity::Warn));
        let paid = "payDate: String, responseCode: String, bankCode: String";
        assert_eq!(severity(paid), Some(Severity::Info));
        let stamped = "payTime: String, bankCode: String";
        assert_eq!(severity(stamped), Some(Severity::Warn));
        assert_eq!(severity("expiryDate: String, cvv: String"), None, "the month on a card");
        assert_eq!(severity("txnDateTime: String"), Some(Severity::Info));
        assert_eq!(severity("expiryDateTime: String, expiresAt: Date"), Some(Severity::Info));
        assert_eq!(severity("expiryDateTime: String, paidAt: Date"), Some(Severity::Warn));
        let pushed = "endpoint: String, expirationTime: String, keys: {auth: String}";
        assert_eq!(severity(pushed), Some(Severity::Info));
        assert_eq!(severity(&pushed.replace("endpoint", "name")), Some(Severity::Warn));
        assert_eq!(severity("datetime: String, timestamp: Number"), Some(Severity::Info));
        assert_eq!(severity("datetime: String, count: Number"), Some(Severity::Warn));
        assert_eq!(severity("simplifiedDate: String"), None);
    }

    #[test]
    fn dm_09_1_days_are_information_unless_code_gives_them_a_time() {
        let severity = |field: &str, given: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Task', new mongoose.Schema({{{field}: String}}));\nsource b.js\nconst mongoose = require('mongoose');\nconst Task = require('./a');\nasync function f(id) {{ await Task.create({{{field}: {given}}}); }}\n"
            );
            check("T021", &text)[0].severity
        };
        assert_eq!(severity("dueDate", "id"), Severity::Info);
        assert_eq!(severity("dueDate", "new Date().toISOString()"), Severity::Warn);
        assert_eq!(severity("dueDate", "new Date().toISOString().slice(0, 10)"), Severity::Info);
        assert_eq!(severity("dueDate", "moment().format('YYYY-MM-DD')"), Severity::Info);
        assert_eq!(severity("dueDate", "moment().format('YYYY-MM-DD HH:mm')"), Severity::Warn);
        assert_eq!(severity("createdDate", "id"), Severity::Warn, "a program writes it");
    }

    #[test]
    fn dm_09_1_what_others_answer_is_kept_as_it_came() {
        let severity = |name: &str, fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('{name}', new mongoose.Schema({{{fields}}}));"
            );
            check("T021", &text)[0].severity
        };
        let answer = "detail: {repo: String, scannedTime: String, bugs: String, coverage: String, grade: String}";
        assert_eq!(severity("Scan", answer), Severity::Info);
        let own = answer.replace("coverage: String", "coverage: Number");
        assert_eq!(severity("Scan", &own), Severity::Warn);
        assert_eq!(
            severity("Scan", &answer.replace("bugs", "by").replace("coverage", "of")),
            Severity::Warn
        );
        let top = answer.replace("detail: {", "").replace('}', "");
        assert_eq!(severity("Scan", &top), Severity::Warn, "the model itself");
        assert_eq!(severity("ScanResult", &format!("{own}, scannedAt: Date")), Severity::Info);
        assert_eq!(severity("ScanResult", &own), Severity::Warn);
    }

    #[test]
    fn dm_09_1_the_same_as_a_number() {
        let java = |field: &str| {
            let text = format!(
                "source A.java\nimport org.springframework.data.mongodb.core.mapping.Document;\n@Document\npublic class A {{\n  private String id;\n  private String lastUpdateTime;\n  {field}\n}}\n"
            );
            check("T021", &text)[0].severity
        };
        assert_eq!(java("private Long lastUpdate;"), Severity::Info);
        assert_eq!(java("private Long updates;"), Severity::Warn);
    }

    #[test]
    fn dm_09_1_text_that_may_be_meant_weighs_less() {
        use docward_model::Severity::{Info, Warn};
        let severity = |fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{{fields}}});\nmodule.exports = mongoose.model('Mail', s);"
            );
            check("T021", &text)[0].severity
        };
        assert_eq!(severity("createTime: String"), Warn);
        assert_eq!(severity("loginTime: String, createdAt: Date"), Warn, "another time");
        assert_eq!(severity("startDate: String"), Info, "a day");
        assert_eq!(severity("sentDate: String, sentDateParsed: Date"), Info);
        assert_eq!(severity("date: String, count: Number"), Info, "a day");
        assert_eq!(severity("Date: String, count: Number"), Info, "a day");
    }

    #[test]
    fn dm_09_1_structs_of_go_that_are_stored() {
        let count = |text: &str| check("T021", &format!("source a.go\npackage a\n{text}")).len();
        let class = "type Post struct {\n Title string `bson:\"title\"`\n CreatedAt string `bson:\"createdAt\"`\n}\n";
        assert_eq!(count(class), 0, "a body of a request has tags as well");
        for stored in [
            "func f(c *mongo.Collection) { c.InsertOne(ctx, Post{Title: \"a\"}) }",
            "func f(c *mongo.Collection) { p := &Post{Title: \"a\"}\n c.InsertOne(ctx, p) }",
            "func f(c *mongo.Collection, p *Post) { c.ReplaceOne(ctx, bson.M{\"_id\": 1}, p) }",
            "func f(c *mongo.Collection) {\n var p Post\n c.InsertOne(ctx, p)\n}",
        ] {
            assert_eq!(count(&format!("{class}{stored}")), 1, "{stored}");
        }
        let read = "func f(c *mongo.Collection) { var p Post\n c.Aggregate(ctx, x).Decode(&p) }";
        assert_eq!(count(&format!("{class}{read}")), 0);
        let with_id = class.replace("struct {", "struct {\n ID primitive.ObjectID `bson:\"_id\"`");
        assert_eq!(count(&with_id), 1);
    }

    #[test]
    fn dm_09_1_times_of_day_are_no_points_in_time() {
        use docward_model::Severity::{Info, Warn};
        let found = |fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{\n{fields}\n}});\nmodule.exports = mongoose.model('Slot', s);"
            );
            check("T021", &text).into_iter().map(|f| f.severity).collect::<Vec<_>>()
        };
        for of_day in [
            "startTime: String, // \"09:00\"",
            "endTime: {type: String, default: '18:30'}",
            "activeTime: {\n  type: String,\n  match: /^([01]\\d|2[0-3]):([0-5]\\d)$/,\n}",
            "reminderTime: String // HH:mm",
            "openTime: String",
            "closeTime: String",
        ] {
            assert!(found(of_day).is_empty(), "{of_day}");
        }
        for doubtful in [
            "startTime: String",
            "end_time: String, date: Date",
            "expectedTime: String",
            "LAUNCH_DATE: String",
            "paymentResult: {update_time: String}",
            "experience: [{startDate: String}]",
            "birthDate: String",
            "dateOfBirth: String",
            "dateofbirth: String",
            "end_date: String",
        ] {
            assert_eq!(found(doubtful), [Info], "{doubtful}");
        }
        for event in [
            "createTime: String",
            "create_time: String",
            "loginTime: String",
            "payTime: String",
            "registe_time: String",
            "finishedTime: String",
            "createdAt: String, // 2024-03-01T09:00:00Z",
            "updated_date: String",
        ] {
            assert_eq!(found(event), [Warn], "{event}");
        }
        assert!(found("formatted_created_at: String").is_empty(), "what is shown");
    }

    #[test]
    fn dm_09_1_the_fields_of_a_model_are_one_finding() {
        let text = "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({\n  createdAt: String,\n  updatedAt: String,\n  date: String,\n});\nmodule.exports = mongoose.model('Post', s);";
        let found = check("T021", text);
        let said: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said.contains(&"`createdAt` and `updatedAt` of `Post` are points in time kept as text")
        );
        assert!(said.contains(&"`date` of `Post` is a point in time kept as text"));
        let allowed = text.replace(
            "  updatedAt",
            "  // docward: allow T021 as another system sends it\n  updatedAt",
        );
        assert_eq!(check("T021", &allowed).len(), 2);
    }

    #[test]
    fn dm_09_1_days_and_times_of_day_of_mongoengine() {
        let count = |field: &str| {
            let text = format!(
                "source a.py\nfrom mongoengine import Document, StringField\nclass Plan(Document):\n    {field}\n"
            );
            check("T021", &text).len()
        };
        assert_eq!(count("sent_time = StringField()"), 1);
        assert_eq!(count("sent_time = StringField()  # \"HH:MM\" where the user lives"), 0);
        assert_eq!(count("local_date = StringField()  # \"YYYY-MM-DD\" where the user lives"), 0);
        assert_eq!(count("local_date = StringField()  # YYYY-MM-DD HH:MM:SS"), 1);
    }

    #[test]
    fn dm_09_1_a_time_beside_the_date_of_its_day_may_be_meant() {
        let worst = |fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Visit', new mongoose.Schema({{ {fields} }}));"
            );
            check("T021", &text).iter().map(|finding| finding.severity).max()
        };
        assert_eq!(worst("scheduledDate: Date, scheduledTime: String"), Some(Severity::Info));
        assert_eq!(worst("createdTime: String"), Some(Severity::Warn));
    }

    #[test]
    fn dm_09_1_days_that_a_pattern_a_comment_above_or_the_other_end_shows() {
        let found = |fields: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{\n{fields}\n}});\nmodule.exports = mongoose.model('Stay', s);"
            );
            check("T021", &text).into_iter().map(|f| f.severity).collect::<Vec<_>>()
        };
        for day in [
            "visitDate: {type: String, match: /^\\d{4}-\\d{2}-\\d{2}$/}",
            "visitDate: {\n  type: String,\n  validate: /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/,\n}",
            "visitDate: {type: String, default: () => new Date().toISOString().slice(0, 10)}",
            "// \"MM-DD\", every year\nvisitDate: String",
            "/** DD/MM/YYYY */\nvisitDate: String",
            "startDate: String, // YYYY-MM-DD\nendDate: String",
            "dateFrom: String, // YYYY-MM-DD\ndateTo: String",
            "openAt: String, closeAt: String",
        ] {
            assert!(found(day).is_empty(), "{day}");
        }
        for moment in [
            "createdDate: {type: String, match: /^\\d{4}-\\d{2}-\\d{2}T.*$/}",
            "createdDate: {type: String, match: /^[a-z]+$/}",
            "// YYYY-MM-DD HH:mm\ncreatedDate: String",
            "startDate: String, // YYYY-MM-DD\ncreatedDate: String",
            "otherDate: String, // YYYY-MM-DD\ncreatedDate: String",
            "openedAt: String, closedAt: String",
        ] {
            assert_eq!(found(moment), [Severity::Warn], "{moment}");
        }
    }

    #[test]
    fn dm_09_1_comments_above_marks_and_types() {
        let nest = |remark: &str| {
            let text = format!(
                "source a.schema.ts\nimport {{ Prop, Schema }} from '@nestjs/mongoose';\n@Schema()\nexport class Feast {{\n  {remark}\n  @Prop({{\n    type: String,\n    required: true,\n  }})\n  feastDate: string;\n}}\n"
            );
            check("T021", &text).len()
        };
        assert_eq!(nest("// \"MM-DD\" of each year"), 0);
        assert_eq!(nest("// when it is"), 1);
        let whole = |remark: &str| {
            let text = format!(
                "source a.ts\nimport {{ Schema, model }} from 'mongoose';\n/**\n * {remark}\n */\nexport type AbsenceDocument = {{\n  firstDate: string;\n}};\nconst absenceSchema = new Schema({{\n  firstDate: {{ type: String }},\n  createdAt: {{ type: String }},\n}});\nexport const Absence = model('Absence', absenceSchema);\n"
            );
            check("T021", &text).into_iter().map(|found| found.what).collect::<Vec<_>>()
        };
        let days = whole("Days are kept as \"YYYY-MM-DD\".");
        assert!(days.len() == 1 && !days[0].contains("firstDate"), "{days:?}");
        assert!(
            whole("Days on which somebody is away.").iter().any(|what| what.contains("firstDate"))
        );
    }

    #[test]
    fn dm_09_1_what_expires_is_a_point_in_time() {
        let text = "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Code', new mongoose.Schema({expire_at: String}));";
        assert_eq!(check("T021", text).len(), 1);
    }
}
