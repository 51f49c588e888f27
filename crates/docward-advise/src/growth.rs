//! The dates on which limits are reached, for charts: independent of whether the findings are
//! reported, selected, suppressed or known.

use docward_model::{DataValue, Evidence, FieldPath, Finding, GrowthForecast, Settings, text};

use docward_rules::{facts::growth::forecast, judge};

/// The rules that compute such dates.
const RULES: [&str; 3] = ["D002", "D008", "R006"];

/// The data keys of their findings that are dates, with the sizes reached on them; the nearest
/// first.
const SIZES: [(&str, &str); 6] = [
    ("reaches1MbOn", "1 MB"),
    ("largestReaches1048576", "1 MB"),
    ("reaches10MbOn", "10 MB"),
    ("largestReaches10485760", "10 MB"),
    ("full16MbOn", "16 MB"),
    ("largestReaches16777216", "16 MB"),
];

/// The next limit of every growing array and every growing collection. Disabled rules stay
/// disabled.
pub fn forecasts(evidence: &Evidence, settings: &Settings) -> Vec<GrowthForecast> {
    let settings = Settings {
        select: RULES.map(str::to_owned).to_vec(),
        suppressions: Vec::new(),
        ..settings.clone()
    };
    let mut out: Vec<GrowthForecast> = Vec::new();
    for finding in judge(evidence, &settings).findings {
        for forecast in of(&finding) {
            let is_known = |known: &GrowthForecast| {
                (&known.namespace, &known.path) == (&forecast.namespace, &forecast.path)
            };
            if !out.iter().any(is_known) {
                out.push(forecast);
            }
        }
    }
    out
}

/// The forecasts of a finding for its array, and for the document around it.
fn of(finding: &Finding) -> Vec<GrowthForecast> {
    let Some(namespace) = finding.at.namespace() else { return Vec::new() };
    let day = |key: &str| match finding.data.get(key) {
        Some(DataValue::Text(day)) => Some(day.clone()),
        _ => None,
    };
    let rate = |key: &str| match finding.data.get(key) {
        Some(DataValue::Float(n)) => Some(*n),
        Some(DataValue::Int(n)) => Some(*n as f64),
        _ => None,
    };
    let path = finding.at.path();
    let elements = |n: f64| format!("{} elements a day", forecast::pace(n));
    let pace = match (rate("longestPerDay"), rate("largestPerDay"), path) {
        (Some(n), _, Some(path)) => format!("`{path}`, by {}", elements(n)),
        (_, Some(n), _) => format!("the largest, by {} a day", text::bytes(n.round() as u64)),
        _ => return Vec::new(),
    };
    let counted_from = day("countedFrom").unwrap_or_default();
    let forecast = |path: Option<&FieldPath>, what: String, day: String, pace| GrowthForecast {
        namespace: namespace.clone(),
        path: path.cloned(),
        what,
        day,
        pace,
        counted_from: counted_from.clone(),
    };
    let mut out = Vec::new();
    let size = SIZES.iter().find_map(|(key, what)| Some((*what, day(key)?)));
    if let (Some(path), Some(n)) = (path, rate("longestPerDay")) {
        let longest = format!("the longest, by {}", elements(n));
        let long = day("reachesLimitOn").map(|day| {
            let limit = rate("limit").unwrap_or_default() as u64;
            (text::plural(limit, "element"), day)
        });
        // A date for an array's length does not apply to its size in bytes.
        let full = || size.clone().map(|(what, day)| (format!("a document of {what}"), day));
        if let Some((what, day)) = long.or_else(full) {
            out.push(forecast(Some(path), what, day, longest));
        }
    }
    if let Some((what, day)) = size {
        out.push(forecast(None, what.to_owned(), day, pace));
    }
    out
}

#[cfg(test)]
mod tests {
    use docward_rules::testing::Example;

    /// Sixty documents, created one day apart; older documents have longer lists, by five elements
    /// a day.
    fn growing() -> String {
        (0..60_u64).fold(String::new(), |mut body, i| {
            body.push_str(&format!(
                "{{\"_id\": ObjectId(\"{:08x}0000000000000000\"), \"log\": $array({}, {{\"n\": $j}})}}\n",
                1_704_067_200 + i * 86_400,
                1 + (60 - i) * 5
            ));
            body
        })
    }

    #[test]
    fn alg_6_forecasts_do_not_depend_on_what_is_told() {
        let mut example = Example::new("D008", "", &growing());
        let told = super::forecasts(&example.evidence, &example.settings);
        let array = told.iter().find(|f| f.path.is_some()).expect("a forecast");
        assert_eq!(array.what, "1,000 elements");
        // 301 elements in 59 days, 699 remain.
        assert_eq!(array.pace, "the longest, by 5.1 elements a day");
        assert_eq!((array.counted_from.as_str(), array.day.as_str()), ("2024-02-29", "2024-07-15"));
        example.settings.select = vec!["N".to_owned()];
        assert_eq!(super::forecasts(&example.evidence, &example.settings), told);
    }
}
