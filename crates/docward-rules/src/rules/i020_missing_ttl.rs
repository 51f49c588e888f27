//! DP-2: documents with a time of expiry that are never deleted.

use std::collections::BTreeSet;

use docward_model::{
    BsonType, Collection, Draft, Evidence, FieldPath, Severity, Subject,
    code::{Code, DeclaredField},
};

use crate::{
    Cx, declare_rule,
    facts::{
        code, names, text,
        values::classes::{self, Class},
    },
};

declare_rule! {
    /// # Missing TTL index
    ///
    /// ## What it checks
    /// Looks for dates at the top level whose name is an expiry: `expiresAt`, `expireAt`, `expiry`, `expires_on` and
    /// the like. Reports those without a TTL index:
    /// - in code: models of sessions, tokens, codes, locks, caches and the like, if the project declares no TTL index on
    ///   the field and never deletes by it
    /// - in data: such collections, if their indexes are known and the expiry dates span a week or more
    ///
    /// Only with `--select pedantic`:
    /// - other models and collections: a coupon, a contract or a subscription that has expired is usually kept
    /// - models, if another file of the project declares an expiry that Docward cannot read
    ///
    /// Dates inside embedded documents are not checked: a TTL index deletes the whole document.
    ///
    /// ## Why it matters
    /// The field says when a document is of no more use, but nothing removes it. The collection grows with every login,
    /// and the program must compare dates in each query. If one query forgets it, an expired token is valid again.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// mongoose.model('Session', new mongoose.Schema({user: String, expiresAt: Date}));
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// mongoose.model('Session', new mongoose.Schema({user: String, expiresAt: {type: Date, expires: 0}}));
    /// ```
    ///
    /// ## How to fix
    /// Create the index `{expiresAt: 1}` with `expireAfterSeconds: 0`. The server then deletes each document within about
    /// a minute after the date in the field. It deletes the documents that have expired so far as well.
    ///
    /// ## When to ignore it
    /// The documents are evidence that has to be kept, or another program deletes them.
    I020, "missing-ttl",
    level: Recommended,
    area: Growth,
    severities: [Warn],
    clauses: ["DP-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [],
    thresholds: [],
    data: ["path"],
    check: Deployment(check),
}

/// Words of records that are of no use after their expiry.
const PASSING: [&str; 22] = [
    "session",
    "sessions",
    "token",
    "tokens",
    "otp",
    "otps",
    "verification",
    "verifications",
    "reset",
    "resets",
    "lock",
    "locks",
    "cache",
    "caches",
    "captcha",
    "nonce",
    "nonces",
    "challenge",
    "blacklist",
    "denylist",
    "idempotency",
    "ratelimit",
];
/// Names of expiry dates, in lower case and without underscores.
const EXPIRIES: [&str; 14] = [
    "expires",
    "expiresat",
    "expireat",
    "expiresdate",
    "expireson",
    "expiry",
    "expirydate",
    "expirytime",
    "expiredate",
    "expiretime",
    "expiration",
    "expirationdate",
    "expiredat",
    "deleteafter",
];
const WHY: &str = "documents that have expired stay, so the collection grows without limit and each query must compare dates";
const DAY_MS: i64 = 86_400_000;

fn is_expiry(path: &str) -> bool {
    EXPIRIES.contains(&path.replace('_', "").to_ascii_lowercase().as_str())
}

fn is_passing(name: &str) -> bool {
    names::words(name).iter().any(|word| PASSING.contains(&word.as_str()))
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let mut reported = BTreeSet::new();
    for collection in &evidence.collections {
        if let Some((draft, path)) = of_data(collection, evidence.code.as_ref()) {
            reported.insert((collection.namespace.collection.clone(), path));
            cx.report(draft);
        }
    }
    let Some(found) = &evidence.code else { return };
    let mut models = BTreeSet::new();
    for field in &found.fields {
        let collection = field.collection.clone().unwrap_or_default();
        let has_data = evidence
            .collections
            .iter()
            .any(|c| c.namespace.collection == collection && c.indexes.is_some());
        if has_data
            || reported.contains(&(collection, field.path.clone()))
            || !is_missing(found, field)
            || !models.insert((&field.model, &field.path))
        {
            continue;
        }
        let of = format!("{} {}", field.model, field.path);
        let draft = code::draft(
            evidence,
            &field.place,
            &of,
            format!(
                "`{}` of `{}` is an expiry date, but nothing deletes documents by it",
                field.path, field.model
            ),
            WHY,
            todo(&field.path),
        )
        .severity(Severity::Warn)
        .data("path", field.path.as_str());
        let is_proven = is_passing(&field.model)
            && field.collection.is_some()
            && found.indexes.unread_expiry.is_empty();
        cx.report(if is_proven { draft } else { draft.pedantic() });
    }
}

fn is_missing(found: &Code, field: &DeclaredField) -> bool {
    let indexes = &found.indexes;
    field.is_stored
        && is_expiry(&field.path)
        && field.types.contains(&BsonType::Date)
        && !indexes.expires_by(&field.path)
        && !indexes.deleted_by.contains(&field.path)
        && !indexes.unread_expiry.contains(&field.place.location.file)
}

fn of_data(collection: &Collection, found: Option<&Code>) -> Option<(Draft, String)> {
    let indexes = collection.indexes.as_ref()?;
    let profile = classes::shaped_by_people(collection)?;
    if indexes.iter().any(|index| index.ttl_seconds.is_some()) {
        return None;
    }
    let field = profile
        .top_level()
        .find(|field| is_expiry(&field.name) && classes::is_only(field, Class::Date))?;
    let path = field.path.dotted();
    if found.is_some_and(|found| found.indexes.deleted_by.contains(&path)) {
        return None;
    }
    let (first, last) = field.dates?;
    let days = last.saturating_sub(first) / DAY_MS;
    if days < 7 {
        return None;
    }
    let ns = &collection.namespace;
    let draft = Draft::new(
        Subject::Field(ns.clone(), FieldPath::new(field.path.as_str())),
        format!(
            "`{path}` is an expiry date, but no TTL index deletes by it: dates from {} to {} are stored",
            text::date(first).unwrap_or_default(),
            text::date(last).unwrap_or_default()
        ),
        WHY,
        todo(&path),
        profile.seen(),
    )
    .severity(Severity::Warn)
    .data("path", path.as_str());
    let draft = if is_passing(&ns.collection) { draft } else { draft.pedantic() };
    Some((draft, path))
}

fn todo(path: &str) -> String {
    format!(
        "create the index {{{path}: 1}} with expireAfterSeconds: 0: the server deletes each document after this date"
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_pedantic};

    fn shown(text: &str) -> usize {
        check("I020", text).len()
    }

    fn model(name: &str, field: &str, more: &str) -> String {
        format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst schema = new mongoose.Schema({{user: String, {field}}});\nconst Model = mongoose.model('{name}', schema);\n{more}\n"
        )
    }

    #[test]
    fn dp_2_expiry_dates_of_models_want_a_ttl_index() {
        assert_eq!(shown(&model("Session", "expiresAt: Date", "")), 1);
        assert_eq!(
            shown(&model("RefreshToken", "expires_at: {type: Date, required: true}", "")),
            1
        );
        assert_eq!(shown(&model("Session", "expires: {type: Date}", "")), 1, "a field's name");
        assert_eq!(shown(&model("Session", "expires: {type: Date, expires: 0}", "")), 0);
        for (name, field, more) in [
            ("Session", "expiresAt: {type: Date, expires: 0}", ""),
            ("Session", "expiresAt: {type: Date, index: {expireAfterSeconds: 0}}", ""),
            (
                "Session",
                "expiresAt: Date",
                "schema.index({expiresAt: 1}, {expireAfterSeconds: 0});",
            ),
            (
                "Session",
                "expiresAt: Date",
                "Model.collection.createIndex({expiresAt: 1}, {expireAfterSeconds: 0});",
            ),
            (
                "Session",
                "expiresAt: Date",
                "setInterval(() => Model.deleteMany({expiresAt: {$lt: new Date()}}), 1);",
            ),
            ("Session", "expiresAt: String", ""),
            ("Session", "startedAt: Date", ""),
            ("Coupon", "expiresAt: Date", ""),
            ("User", "resetTokenExpires: Date", ""),
            ("User", "token: {value: String, expiresAt: Date}", ""),
        ] {
            assert_eq!(shown(&model(name, field, more)), 0, "{name} {field} {more}");
        }
        let coupon = check_pedantic("I020", &model("Coupon", "expiresAt: Date", ""));
        assert_eq!(coupon.len(), 1);
    }

    #[test]
    fn dp_2_indexes_of_mongoengine_count() {
        let python = |more: &str| {
            format!(
                "source a.py\nfrom mongoengine import Document, DateTimeField\nclass Token(Document):\n    expires_at = DateTimeField()\n    {more}\n"
            )
        };
        assert_eq!(check_pedantic("I020", &python("")).len(), 1);
        let meta = "meta = {'indexes': [{'fields': ['expires_at'], 'expireAfterSeconds': 0}]}";
        assert!(check_pedantic("I020", &python(meta)).is_empty());
    }

    #[test]
    fn dp_2_expiry_dates_in_data() {
        let data = |name: &str, index: &str, days: u32| {
            let mut body = format!(
                "@ db_shop.{name}\nindex {{\"key\": {{\"_id\": 1}}, \"name\": \"_id_\"}}\n{index}\n"
            );
            for day in 1..=days {
                body.push_str(&format!(
                    "{{\"_id\": {day}, \"expiresAt\": {{\"$date\": \"2024-03-{day:02}T00:00:00Z\"}}}}\n"
                ));
            }
            shown(&body)
        };
        let ttl = "index {\"key\": {\"expiresAt\": 1}, \"name\": \"t\", \"expireAfterSeconds\": 0}";
        assert_eq!(data("t_session", "", 20), 1);
        assert_eq!(data("t_session", ttl, 20), 0);
        assert_eq!(data("t_session", "", 3), 0, "they may still be valid");
        assert_eq!(data("t_coupon", "", 20), 0);
    }
}
