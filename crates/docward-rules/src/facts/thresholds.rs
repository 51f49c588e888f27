//! Thresholds that several rules share, or that facts are computed by. A threshold of one rule only stands in the
//! file of the rule.
//!
//! `limit` of each module reads what is configured for the rule at a namespace.

/// Thresholds of D003.
pub mod d003 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MAX_BYTES,
        "max-bytes",
        Int(102_400),
        "bytes",
        "DM-05.1, GC-02",
        "documents larger than this count as oversized"
    );
    threshold!(
        pub MIN_SHARE,
        "min-share",
        Float(0.5),
        "share of the document's bytes",
        "DM-05.3",
        "share that one array must own, in most of the largest documents"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("D003", threshold, namespace)
    }
}

/// Thresholds of D004.
pub mod d004 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MAX_BYTES,
        "max-bytes",
        Int(262_144),
        "bytes",
        "DM-05.4; our default",
        "binaries of this size or more are files"
    );
    threshold!(
        pub MIN_ENCODED,
        "min-encoded-bytes",
        Int(16_384),
        "bytes",
        "our default",
        "base64 files smaller than this are treated as icons"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("D004", threshold, namespace)
    }
}

/// Thresholds of D005.
pub mod d005 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MAX_SHARE,
        "max-share",
        Float(0.20),
        "share of the collection's bytes",
        "DM-05.6, GC-25; our default",
        "share from which an object store is the first choice"
    );
    threshold!(
        pub MIN_P95,
        "min-p95-bytes",
        Int(262_144),
        "bytes",
        "DM-05.4, GC-25; our default",
        "95th percentile of the sizes from which files are large"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("D005", threshold, namespace)
    }
}

/// Thresholds of D008.
pub mod d008 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MAX_ELEMENTS,
        "max-elements",
        Int(1000),
        "elements",
        "DM-08.1, ALG-6",
        "length from which an array counts as long"
    );
    threshold!(
        pub MIN_CORRELATION,
        "min-correlation",
        Float(0.5),
        "rank correlation",
        "ALG-6",
        "how clearly length must rise with age"
    );
    threshold!(
        pub MIN_DOCUMENTS,
        "min-documents",
        Int(50),
        "documents",
        "our default",
        "documents of known age, or seen on two dates, needed to speak of growth"
    );
    threshold!(
        pub MIN_DAYS,
        "min-days",
        Int(7),
        "days",
        "our default",
        "days those documents must span, or the two dates lie apart"
    );
    threshold!(
        pub HORIZON,
        "horizon-years",
        Int(5),
        "years",
        "our default",
        "how far ahead forecasts look; a short array that grows is reported only if it gets long by then"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("D008", threshold, namespace)
    }
}

/// Thresholds of I007.
pub mod i007 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MIN_DAYS,
        "min-days",
        Int(7),
        "days",
        "our default",
        "indexes observed for a shorter time are not judged"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("I007", threshold, namespace)
    }
}

/// Thresholds of K001.
pub mod k001 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MIN_VALUES,
        "min-values",
        Int(1000),
        "different values",
        "SK-1",
        "different values a shard key needs at least"
    );
    threshold!(
        pub PER_SHARD,
        "values-per-shard",
        Int(100),
        "different values per shard",
        "SK-1",
        "different values a shard key needs for each shard"
    );
    threshold!(
        pub MIN_REPEATS,
        "min-repeats",
        Int(10),
        "documents per value",
        "our default",
        "documents per value from which more documents will hardly bring more values"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("K001", threshold, namespace)
    }
}

/// Thresholds of K002.
pub mod k002 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub WARN,
        "warn-share",
        Float(0.10),
        "share of documents",
        "SK-2",
        "share of one value above which the key is warned about"
    );
    threshold!(
        pub MIN_DOCUMENTS,
        "min-documents",
        Int(50),
        "documents",
        "our default",
        "documents to count before a share says anything"
    );

    threshold!(
        pub FAIL,
        "fail-share",
        Float(0.30),
        "share of documents",
        "SK-2",
        "share of one value above which the key fails"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("K002", threshold, namespace)
    }
}

/// Thresholds of R008.
pub mod r008 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MIN_RATIO,
        "min-ratio",
        Int(10),
        "times the 99th percentile",
        "PT-outlier.1; our default",
        "how much longer than the 99th percentile the longest array must be"
    );
    threshold!(
        pub MIN_ELEMENTS,
        "min-elements",
        Int(1000),
        "elements",
        "PT-outlier.1",
        "the fewest elements the longest array must have"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("R008", threshold, namespace)
    }
}

/// Thresholds of R011.
pub mod r011 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MAX_ELEMENTS,
        "max-elements",
        Int(1000),
        "elements",
        "ER-T.6",
        "length from which an array of ids is too wide"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("R011", threshold, namespace)
    }
}

/// Thresholds of T001.
pub mod t001 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub SHARE,
        "date-share",
        Float(0.90),
        "share of strings",
        "DM-09.1",
        "share of the non-empty strings that must be dates before the field is reported"
    );
    threshold!(
        pub NAMED_SHARE,
        "named-date-share",
        Float(0.50),
        "share of strings",
        "our default",
        "the same for fields whose name says a point in time"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("T001", threshold, namespace)
    }
}

/// Thresholds of T003.
pub mod t003 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub SHARE,
        "digit-share",
        Float(0.99),
        "share of strings",
        "DM-09.4",
        "share of the non-empty strings that must be whole numbers of 64 bits"
    );
    threshold!(
        pub MIN_VALUES,
        "min-values",
        Int(20),
        "strings",
        "our default",
        "strings a field must hold before its digits say anything"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("T003", threshold, namespace)
    }
}

/// Thresholds of T008.
pub mod t008 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub RISING,
        "rising-share",
        Float(0.95),
        "share of neighbours",
        "DM-10.2",
        "share of neighbours that must rise for ids to count as increasing"
    );
    threshold!(
        pub MIN_PAIRS,
        "min-pairs",
        Int(100),
        "neighbouring documents",
        "our default",
        "neighbours to compare before their order says anything"
    );
    threshold!(
        pub MIN_DOCUMENTS,
        "min-documents",
        Int(1000),
        "documents",
        "our default",
        "documents a collection must have before the order of its ids matters"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("T008", threshold, namespace)
    }
}

/// Thresholds of W001.
pub mod w001 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MIN_EXAMINED,
        "min-examined",
        Int(1000),
        "documents",
        "our default",
        "scans of smaller collections are not reported"
    );
    threshold!(
        pub MIN_COUNT,
        "min-count",
        Int(3),
        "operations",
        "our default",
        "fewer operations of a query shape are a note"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("W001", threshold, namespace)
    }
}

/// Thresholds of W003.
pub mod w003 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MIN_SORTED,
        "min-sorted",
        Int(1000),
        "documents per operation",
        "our default",
        "smaller sorts are not reported"
    );
    threshold!(
        pub MIN_COUNT,
        "min-count",
        Int(3),
        "operations",
        "our default",
        "shapes seen less often are not reported"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("W003", threshold, namespace)
    }
}

/// Thresholds of K003.
pub mod k003 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub CORRELATION,
        "min-correlation",
        Float(0.90),
        "rank correlation",
        "our default",
        "correlation of value and order of documents from which a field counts as rising"
    );
    threshold!(
        pub RISING,
        "rising-share",
        Float(0.95),
        "share of neighbours",
        "DM-10.2",
        "share of neighbouring `_id`s that rise from which `_id` counts as rising"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("K003", threshold, namespace)
    }
}

/// Thresholds of W011.
pub mod w011 {
    use docward_model::{Namespace, Settings, Threshold};

    use crate::threshold;

    threshold!(
        pub MIN_TARGETED,
        "min-targeted",
        Float(0.8),
        "share of reads",
        "SK-4",
        "a smaller share of reads with the key is reported"
    );
    threshold!(
        pub MIN_COUNT,
        "min-count",
        Int(20),
        "reads",
        "our default",
        "fewer reads say nothing"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("W011", threshold, namespace)
    }
}
