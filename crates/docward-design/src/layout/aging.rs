//! Determines when documents and buckets of a design are archived or expire.

use docward_model::{DesignModel, Entity};

use crate::decide::decision::Decision;
use crate::decide::pattern::{Pattern, Window};
use crate::decide::vote::Choice;
use crate::declared::dates::dated;
use crate::declared::read_direction;
use crate::layout::fields::Layout;

/// Returns the date field by which documents of an entity, or their buckets, are archived. Also
/// returns a delay in seconds.
pub(crate) fn cooling(layout: &Layout<'_>, entity: &Entity) -> Option<(String, u64)> {
    bucket_aging(layout, entity).or_else(|| Some((dated(entity)?.to_owned(), 0)))
}

/// Returns the date field of a bucket, and a delay in seconds. A bucket expires only when its last
/// reading may.
pub(crate) fn bucket_aging(layout: &Layout<'_>, entity: &Entity) -> Option<(String, u64)> {
    let advice = layout.advice.iter().find(|advice| advice.entity == entity.name)?;
    let window = advice.patterns.iter().find_map(|pattern| match pattern {
        Pattern::Bucket(bucket) => Some(&bucket.window),
        _ => None,
    })?;
    let (word, longer) = match window {
        Window::Day => ("start", 86_400),
        Window::Hour => ("start", 3_600),
        Window::Events(_) => ("end", 0),
    };
    Some((layout.naming.field(&["bucket", word]), longer))
}

/// Whether documents embed data that must be kept longer than the documents. Expiring them would
/// delete that data too early.
pub(crate) fn holds_what_stays(model: &DesignModel, decisions: &[Decision], entity: &str) -> bool {
    let life = |name: &str| model.entity(name)?.lifecycle;
    let Some(goes) = life(entity).and_then(|life| life.kept_days) else { return false };
    let inside = |at: &str| {
        let embedded = decisions.iter().filter(|d| d.choice == Some(Choice::Embed));
        let below = embedded.filter(|d| d.parent == at && d.facts.shared.is_none());
        below.filter_map(|d| Some(model.entity(&d.child)?.name.as_str())).collect()
    };
    let stays = |part: &&str| {
        let own = life(part).filter(|own| !own.kept_open);
        own.is_some_and(|own| own.kept_days.is_none_or(|days| days > goes))
    };
    read_direction::parts(entity, "", inside).iter().any(stays)
}
