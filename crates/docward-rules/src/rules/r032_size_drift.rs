//! DP-2, CK-14: documents have the size that the model predicts.

use docward_model::{Collection, Draft, Subject};

use crate::facts::{schema::declared, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Size drift
    ///
    /// ## What it checks
    /// Compares the size of documents at the 99th percentile with the size that the model predicts for the
    /// collection. Reports collections whose documents have more than 1.5 times that size.
    ///
    /// ## Why it matters
    /// Sizes decide what fits into memory and when a document exceeds 100 KB, 1 MB or 16 MB. The dates in a
    /// design are correct only if its sizes are.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_blog.t_post
    /// model
    /// name: blog
    /// entities:
    ///   post:
    ///     fields: {text: {type: string, bytes: {typical: 20 B, p99: 40 B}}}
    /// ...
    /// x30 {"text": "$pad(2000)"}
    /// ```
    /// The size matches the model:
    /// ```jsonl,clean,ns=db_blog.t_post
    /// model
    /// name: blog
    /// entities:
    ///   post:
    ///     fields: {text: {type: string, bytes: {typical: 1 KB, p99: 2 KB}}}
    /// ...
    /// x30 {"text": "$pad(2000)"}
    /// ```
    ///
    /// ## How to fix
    /// Write the measured sizes into `bytes` of the larger fields, and run `docward design` again.
    ///
    /// ## When to ignore it
    /// The collection has only a few documents, as in tests.
    R032, "size-drift",
    level: Recommended,
    area: Growth,
    clauses: ["DP-2", "CK-14"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents, Design],
    thresholds: [FACTOR],
    data: ["p99", "predictedP99"],
    check: Collection(check),
}

threshold!(
    FACTOR,
    "factor",
    Float(1.5),
    "times the predicted 99th percentile",
    "our default",
    "maximum ratio of the measured to the predicted size (99th percentile)"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(declared) = declared::of(cx) else { return };
    let (Some(plan), Some(profile)) = (declared.plan(collection), &collection.profile) else {
        return;
    };
    // If a relationship is undecided, the model predicts no size.
    if !declared.undecided(&plan.entity).is_empty() {
        return;
    }
    let Some(capacity) =
        declared.sized(&plan.entity).capacity.iter().find(|c| c.collection == plan.name)
    else {
        return;
    };
    let (found, predicted) = (profile.sizes.p99(), capacity.document.1);
    if found as f64 <= predicted as f64 * cx.limit(&FACTOR) {
        return;
    }
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            format!(
                "document size is {} at p99, but the model predicts {}",
                text::bytes(found),
                text::bytes(predicted)
            ),
            "sizes determine what fits into memory and when documents reach limits, so the design's dates are wrong",
            "enter the measured sizes in `bytes` of the larger fields, and run `docward design` again",
            profile.seen(),
        )
        .data("p99", found)
        .data("predictedP99", predicted),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn found(bytes: u64) -> usize {
        let body = format!(
            "model\nname: blog\nentities:\n  post:\n    fields: {{text: {{type: string, bytes: 400 B}}}}\n...\n\
             @ db_blog.t_post\nx30 {{\"text\": \"$pad({bytes})\"}}"
        );
        check("R032", &body).len()
    }

    #[test]
    fn dp_2_ck_14_larger_by_half_is_drift() {
        assert_eq!([found(380), found(600), found(900)], [0, 0, 1]);
    }
}
