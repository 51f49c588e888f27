//! Thresholds that several rules share, or that facts use. A threshold of a single rule is in the
//! file of the rule.
//!
//! The function `limit` of each module returns the configured threshold of the rule at a namespace.

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
        "minimum share of one array in most of the largest documents"
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
        "minimum size of a binary that counts as a file"
    );
    threshold!(
        pub MIN_ENCODED,
        "min-encoded-bytes",
        Int(16_384),
        "bytes",
        "our default",
        "base64 files smaller than this are treated as icons and not reported"
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
        "minimum share for which an object store is the first choice"
    );
    threshold!(
        pub MIN_P95,
        "min-p95-bytes",
        Int(262_144),
        "bytes",
        "DM-05.4, GC-25; our default",
        "minimum 95th percentile of the sizes of large files"
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
        "minimum length of a long array"
    );
    threshold!(
        pub MIN_CORRELATION,
        "min-correlation",
        Float(0.5),
        "rank correlation",
        "ALG-6",
        "minimum correlation between length and age"
    );
    threshold!(
        pub MIN_DOCUMENTS,
        "min-documents",
        Int(50),
        "documents",
        "our default",
        "minimum number of documents of known age, or seen on two dates"
    );
    threshold!(
        pub MIN_DAYS,
        "min-days",
        Int(7),
        "days",
        "our default",
        "minimum number of days that these documents span, or between the two dates"
    );
    threshold!(
        pub HORIZON,
        "horizon-years",
        Int(5),
        "years",
        "our default",
        "period of forecasts; a short array that grows is reported only if it becomes long within it"
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
        "minimum time for which the use of an index was observed"
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
        "minimum number of different values of a shard key"
    );
    threshold!(
        pub PER_SHARD,
        "values-per-shard",
        Int(100),
        "different values per shard",
        "SK-1",
        "minimum number of different values of a shard key for each shard"
    );
    threshold!(
        pub MIN_REPEATS,
        "min-repeats",
        Int(10),
        "documents per value",
        "our default",
        "mean documents per value above which a larger sample hardly adds values"
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
        "share of one value above which Docward warns"
    );
    threshold!(
        pub MIN_DOCUMENTS,
        "min-documents",
        Int(50),
        "documents",
        "our default",
        "minimum number of documents for a share to be meaningful"
    );

    threshold!(
        pub FAIL,
        "fail-share",
        Float(0.30),
        "share of documents",
        "SK-2",
        "share of one value above which the finding is an error"
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
        "minimum ratio of the longest array to the 99th percentile"
    );
    threshold!(
        pub MIN_ELEMENTS,
        "min-elements",
        Int(1000),
        "elements",
        "PT-outlier.1",
        "minimum length of the longest array"
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
        "minimum length of an array of ids that is too wide"
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
        "minimum share of dates among the non-empty strings"
    );
    threshold!(
        pub NAMED_SHARE,
        "named-date-share",
        Float(0.50),
        "share of strings",
        "our default",
        "the same for fields whose name describes a point in time"
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
        "minimum share of 64-bit integers among the non-empty strings"
    );
    threshold!(
        pub MIN_VALUES,
        "min-values",
        Int(20),
        "strings",
        "our default",
        "minimum number of strings in the field"
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
        "minimum share of increasing neighbours for ids to count as increasing"
    );
    threshold!(
        pub MIN_PAIRS,
        "min-pairs",
        Int(100),
        "neighbouring documents",
        "our default",
        "minimum number of neighbours whose order is compared"
    );
    threshold!(
        pub MIN_DOCUMENTS,
        "min-documents",
        Int(1000),
        "documents",
        "our default",
        "minimum number of documents in a collection"
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
        "minimum number of documents that a scan examines"
    );
    threshold!(
        pub MIN_COUNT,
        "min-count",
        Int(3),
        "operations",
        "our default",
        "minimum number of operations of a query shape; fewer are reported as a note"
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
        "minimum number of documents that an operation sorts"
    );
    threshold!(
        pub MIN_COUNT,
        "min-count",
        Int(3),
        "operations",
        "our default",
        "minimum number of operations of a shape"
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
        "minimum correlation between value and document order for a field to count as increasing"
    );
    threshold!(
        pub RISING,
        "rising-share",
        Float(0.95),
        "share of neighbours",
        "DM-10.2",
        "minimum share of increasing neighbours for `_id` to count as increasing"
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
        "minimum share of reads that filter on the key"
    );
    threshold!(
        pub MIN_COUNT,
        "min-count",
        Int(20),
        "reads",
        "our default",
        "minimum number of reads"
    );

    /// The threshold as configured at a namespace.
    pub fn limit(settings: &Settings, namespace: &Namespace, threshold: &Threshold) -> f64 {
        settings.limit("W011", threshold, namespace)
    }
}
