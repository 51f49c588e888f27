//! Which arrays grow by nature, by their names and by what they belong to, and which tell the life of one thing.

use docward_model::code::Append;

use super::{names, words};

/// Whether the name says something of which there is more each day: the statement alone does not tell a list of
/// roles from a list of logins.
pub fn grows_by_nature(path: &str) -> bool {
    const GROWS: [&str; 28] = [
        "event",
        "activity",
        "execution",
        "message",
        "comment",
        "reply",
        "review",
        "notification",
        "alert",
        "vote",
        "like",
        "view",
        "visit",
        "click",
        "session",
        "login",
        "follower",
        "subscriber",
        "transaction",
        "reading",
        "measurement",
        "sample",
        "metric",
        "attempt",
        "audit",
        "trace",
        "feedback",
        "post",
    ];
    // What is written down each time: a `promotionHistory` has as many entries as there were promotions.
    const LOGGED: [&str; 21] = [
        "usage", "access", "api", "audit", "browse", "call", "chat", "command", "debug", "job",
        "location", "order", "play", "price", "request", "search", "server", "system", "task",
        "watch", "worker",
    ];
    // What says nothing by itself: `commentIds`, `messages.items`.
    const VAGUE: [&str; 7] = ["id", "item", "list", "entry", "ref", "data", "record"];
    // `lastMessage.starred` is about stars: the last word counts, or the one before a vague one.
    let mut parts = path.trim_matches(['[', ']']).rsplit('.').filter(|part| !part.starts_with('$'));
    let mut head = || {
        let part = parts.next()?;
        let all: Vec<String> =
            names::words(part).iter().map(|word| words::singular(word)).collect();
        let at = all.iter().rposition(|word| !VAGUE.contains(&word.as_str()))?;
        Some((all[at].clone(), at.checked_sub(1).map(|before| all[before].clone())))
    };
    let head = head().or_else(head);
    head.is_some_and(|(word, before)| match (word.as_str(), before) {
        // Of each thing that is told there is more each day, or it is told of everything.
        ("log" | "history", Some(before)) => {
            GROWS.contains(&before.as_str()) || LOGGED.contains(&before.as_str())
        }
        ("log" | "history", None) => true,
        (word, _) => GROWS.contains(&word),
    })
}

/// Whether the names around say that there is little of it: one thing changes its state a few times, few payments
/// are made for one order, and an order or a job is soon done.
pub fn is_about_few(append: &Append) -> bool {
    let of = |text: &str| -> Vec<String> {
        names::words(text).iter().map(|word| words::singular(word)).collect()
    };
    let path = of(&append.path);
    let has = |all: &[String], wanted: &[&str]| all.iter().any(|w| wanted.contains(&w.as_str()));
    let file = append.place.location.file.rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let mut around = of(stem);
    around.extend(path.iter().cloned());
    around.extend(append.collection.iter().flat_map(|name| of(name)));
    let is_state = has(&path, &["status", "state"]) && has(&path, &["history", "log", "change"]);
    // Where one parcel has been.
    let is_tracked =
        has(&path, &["tracking"]) && has(&path, &["event", "update", "history", "log"]);
    let is_of_order = path.last().is_some_and(|last| last == "transaction")
        && has(&around, &["order", "payment", "invoice", "refund", "booking"]);
    // Where the collection is known, only its name says what the array belongs to.
    let owner = match &append.collection {
        Some(collection) => of(collection),
        None => {
            let function = append.place.function.as_deref().unwrap_or_default();
            let holder = append.of.as_deref().unwrap_or_default();
            [stem, function, holder].into_iter().flat_map(of).collect()
        }
    };
    let is_told = path.last().is_some_and(|last| {
        matches!(
            last.as_str(),
            "history"
                | "event"
                | "timeline"
                | "tracking"
                | "log"
                | "audit"
                | "trail"
                | "attempt"
                | "activity"
                | "transaction"
                | "visit"
                | "session"
        )
    });
    // `orderHistory` has an entry for each order.
    let before = path.len().checked_sub(2).and_then(|at| path.get(at));
    let is_of_many = append.collection.is_none()
        && before.is_some_and(|word| SOON_DONE.contains(&word.as_str()));
    let lives_briefly = is_told && !is_of_many && has(&owner, &SOON_DONE);
    // What is said until a case is closed.
    let is_of_case = path.last().is_some_and(|last| {
        matches!(
            last.as_str(),
            "comment" | "note" | "remark" | "message" | "reply" | "attachment" | "notification"
        )
    }) && has(&owner, &CASES);
    is_state || is_tracked || is_of_order || lives_briefly || is_of_case
}

/// Things that people talk about until they are settled.
const CASES: [&str; 15] = [
    "issue",
    "ticket",
    "claim",
    "complaint",
    "incident",
    "dispute",
    "deviation",
    "inquiry",
    "withdrawal",
    "appointment",
    "renewal",
    "lead",
    "revision",
    "application",
    "request",
];

/// Things that have an end, after which nothing more is written down of them.
const SOON_DONE: [&str; 41] = [
    "payout",
    "payroll",
    "trial",
    "progress",
    "issue",
    "handover",
    "run",
    "analysis",
    "execution",
    "deployment",
    "withdrawal",
    "renewal",
    "lead",
    "policy",
    "ride",
    "trip",
    "voyage",
    "revision",
    "match",
    "order",
    "payment",
    "invoice",
    "refund",
    "booking",
    "reservation",
    "appointment",
    "shipment",
    "delivery",
    "job",
    "task",
    "export",
    "import",
    "assignment",
    "transfer",
    "transaction",
    "claim",
    "request",
    "application",
    "ticket",
    "output",
    "upload",
];
