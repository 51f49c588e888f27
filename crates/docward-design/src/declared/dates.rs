//! Finds the date field that tells the age of a document, and when documents expire.

use docward_model::{BsonType, DesignModel, DesignWrite, Entity, EntityField, words};

/// Returns the date field with the creation time of a document, as declared or by its name. Other
/// dates, such as a birthday or the start of a subscription, would delete recent documents.
pub(crate) fn coming(entity: &Entity) -> Option<&str> {
    entity.kept_by.as_ref().map(|(by, _)| by.as_str()).or_else(|| coming_among(&dates_of(entity)))
}

/// Returns the creation date among the names of date fields.
pub(crate) fn coming_among<'n>(dates: &[&'n str]) -> Option<&'n str> {
    const MADE: [&str; 9] = [
        "create", "created", "creation", "insert", "inserted", "added", "logged", "received",
        "recorded",
    ];
    /// Events that happen once. A document with such a date records the event.
    const HAPPENED: [&str; 23] = [
        "sent",
        "bought",
        "sold",
        "ordered",
        "placed",
        "posted",
        "submitted",
        "measured",
        "uploaded",
        "requested",
        "played",
        "watched",
        "viewed",
        "visited",
        "clicked",
        "called",
        "said",
        "written",
        "issued",
        "booked",
        "paid",
        "event",
        "log",
    ];
    const WHEN: [&str; 5] = ["time", "timestamp", "ts", "at", "date"];
    let last_says_when =
        |name: &&str| words::split(name).last().is_some_and(|last| WHEN.contains(&last.as_str()));
    let dates = || telling_age(dates);
    let made = dates().find(|name| says(name, &MADE));
    let happened = || dates().find(|name| says(name, &HAPPENED) && last_says_when(name));
    // A name such as `time` without another word.
    made.or_else(happened).or_else(|| dates().find(|name| WHEN[..4].contains(name)))
}

/// Returns the date of a document for its archive, where a mistake loses no data. This is the
/// creation date, or the first date without another meaning.
pub(crate) fn dated(entity: &Entity) -> Option<&str> {
    coming(entity).or_else(|| telling_age(&dates_of(entity)).next())
}

fn dates_of(entity: &Entity) -> Vec<&str> {
    let dates = || entity.fields.iter().filter(|field| field.kind == BsonType::Date);
    // Dates that every document has come first.
    let (always, some): (Vec<&EntityField>, Vec<&EntityField>) =
        dates().partition(|field| field.required && !field.nullable);
    always.into_iter().chain(some).map(|field| field.name.as_str()).collect()
}

/// Returns the dates that may tell the age of a document.
fn telling_age<'n>(dates: &[&'n str]) -> impl Iterator<Item = &'n str> {
    const OTHER: [&str; 43] = [
        "birth",
        "birthday",
        "birthdate",
        "born",
        "dob",
        "due",
        "deadline",
        "expire",
        "expires",
        "expired",
        "expiry",
        "expiration",
        "valid",
        "until",
        "end",
        "ends",
        "ended",
        "start",
        "starts",
        "started",
        "begin",
        "begins",
        "open",
        "opens",
        "close",
        "closes",
        "closed",
        "update",
        "updated",
        "last",
        "modified",
        "next",
        "deleted",
        "delivery",
        "planned",
        "scheduled",
        "hired",
        "founded",
        "renews",
        "renewed",
        "departs",
        "arrives",
        "taken",
    ];
    dates.iter().copied().filter(|name| !says(name, &OTHER))
}

fn says(name: &str, words: &[&str]) -> bool {
    words::split(name).iter().any(|word| words.contains(&word.as_str()))
}

/// Returns the names of the writes that delete documents of an entity.
pub(crate) fn deleting<'m>(model: &'m DesignModel, entity: &str) -> Vec<&'m str> {
    let deletes = |write: &&DesignWrite| write.deletes.iter().any(|gone| gone == entity);
    model.writes.iter().filter(deletes).map(|write| write.name.as_str()).collect()
}

/// Returns the days after which documents of an entity are gone: they expire, or a declared write
/// deletes them.
pub(crate) fn gone_after(model: &DesignModel, entity: &str) -> Option<f64> {
    let is_deleted = || !deleting(model, entity).is_empty();
    let kept = || model.entity(entity)?.lifecycle?.kept_days;
    goes_after(model, entity).or_else(|| kept().filter(|_| is_deleted()))
}

/// Returns the days after which documents of an entity expire, by a date or as a series.
pub(crate) fn goes_after(model: &DesignModel, entity: &str) -> Option<f64> {
    let entity = model.entity(entity)?;
    let dated = entity.series.is_some() || coming(entity).is_some();
    entity.lifecycle?.kept_days.filter(|_| dated)
}

pub(crate) fn date_field(entity: &Entity) -> Option<String> {
    let mut dates = entity.fields.iter().filter(|f| f.kind == BsonType::Date);
    let first = dates.next()?;
    dates.next().is_none().then(|| first.name.clone())
}

/// Returns the date field that decides which documents are newest: the only one, or the creation
/// date.
pub(crate) fn newest_date(entity: &Entity) -> Option<String> {
    date_field(entity).or_else(|| coming(entity).map(str::to_owned))
}

/// Milliseconds per hour.
pub(crate) const HOUR: i64 = 3_600_000;

/// Milliseconds per day.
pub(crate) const DAY: i64 = 24 * HOUR;
