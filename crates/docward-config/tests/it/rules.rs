//! A few rules as the registry declares them. The crate does not know the registry, and its tests
//! need every type of threshold and every kind of unit.

use docward_model::{Level, Maturity, RuleMeta, Scope, Threshold, ThresholdValue};

pub(crate) fn all() -> Vec<&'static RuleMeta> {
    vec![&D008, &D009, &D020, &N006, &N008, &N011, &N013, &T002, &T012, &V001]
}

const fn threshold(
    key: &'static str,
    default: ThresholdValue,
    unit: &'static str,
    help: &'static str,
) -> Threshold {
    Threshold { key, default, unit, source: "our default", help }
}

const fn rule(
    code: &'static str,
    name: &'static str,
    thresholds: &'static [&'static Threshold],
    doc: &'static str,
) -> RuleMeta {
    RuleMeta {
        code,
        name,
        level: Level::Prohibited,
        area: docward_model::Area::Hygiene,
        severities: &[docward_model::Severity::Error],
        clauses: &["DM-08.2"],
        maturity: Maturity::Stable,
        scope: Scope::Everywhere,
        needs: &[],
        thresholds,
        data: &[],
        doc,
        file: "",
    }
}

static MAX_ELEMENTS: Threshold = threshold(
    "max-elements",
    ThresholdValue::Int(1000),
    "elements",
    "length from which an array counts as long",
);
static MIN_CORRELATION: Threshold = threshold(
    "min-correlation",
    ThresholdValue::Float(0.5),
    "rank correlation",
    "how clearly length must rise with age",
);
static HORIZON: Threshold =
    threshold("horizon-years", ThresholdValue::Int(5), "years", "how far ahead forecasts look");
static PREFIX: Threshold =
    threshold("prefix", ThresholdValue::Text("t_"), "text", "what a name begins with");
static REQUIRE_MODULE: Threshold = threshold(
    "require-module",
    ThresholdValue::Flag(false),
    "on or off",
    "whether a missing module is a warning",
);
static PREFER: Threshold = threshold(
    "prefer",
    ThresholdValue::Text("camelCase"),
    "camelCase or snake_case",
    "the style to propose",
);
static ALLOW: Threshold = threshold(
    "allow",
    ThresholdValue::Words(&["id", "url"]),
    "names",
    "short names that are words",
);
static MIN_SHARE: Threshold = threshold(
    "min-double-share",
    ThresholdValue::Float(0.01),
    "share of numbers",
    "share of the numbers that must be doubles",
);
static EARLIEST: Threshold = threshold(
    "earliest",
    ThresholdValue::Int(631_152_000),
    "seconds since 1970",
    "the earliest plausible moment",
);

pub(crate) static D008: RuleMeta = rule(
    "D008",
    "unbounded-array",
    &[&MAX_ELEMENTS, &MIN_CORRELATION, &HORIZON],
    "# Unbounded array\n\n## What it checks\nLooks for arrays that grow as long\nas their document lives.\n\n## Why it matters\nx\n",
);
static D009: RuleMeta = rule("D009", "large-array", &[&MAX_ELEMENTS], "# Large array\n");
static D020: RuleMeta = rule("D020", "uncapped-append", &[], "# Uncapped append\n");
static N006: RuleMeta = RuleMeta {
    scope: Scope::HouseNaming,
    ..rule("N006", "collection-without-prefix", &[&PREFIX], "# Collection without prefix\n")
};
static N008: RuleMeta =
    rule("N008", "collection-without-module", &[&REQUIRE_MODULE], "# Collection without module\n");
static N011: RuleMeta = rule("N011", "mixed-field-styles", &[&PREFER], "# Mixed field styles\n");
static N013: RuleMeta =
    rule("N013", "meaningless-abbreviation", &[&ALLOW], "# Meaningless abbreviation\n");
static T002: RuleMeta = RuleMeta {
    level: Level::Recommended,
    area: docward_model::Area::Hygiene,
    severities: &[docward_model::Severity::Warn],
    ..rule("T002", "money-as-double", &[&MIN_SHARE], "# Money as double\n")
};
static T012: RuleMeta = rule("T012", "epoch-as-number", &[&EARLIEST], "# Epoch as number\n");
static V001: RuleMeta = rule("V001", "missing-validator", &[], "# Missing validator\n");
